"""Signed transfers and batches of a delegated account, against an ABI library and eth-account."""

import json
import secrets
from dataclasses import replace

import pytest
from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.delegate import delegated_code, execute_batch

PAYER, TO, TOKEN = "0x" + "0a" * 20, "0x" + "0b" * 20, "0x" + "0c" * 20


def authorization(payer: str = PAYER) -> Authorization:
    return Authorization(TOKEN, "USD Coin", "2", 8453, payer, TO, 12_510_000, 1_773_572_400, "0x" + "ab" * 32)


def test_a_signed_transfer_is_encoded_as_an_abi_library_does() -> None:
    for length in (65, 64, 130, 1_024):
        signature = secrets.token_bytes(length)
        made = erc3009.receive(authorization(), signature)
        kinds = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"]
        values = [PAYER, TO, 12_510_000, 0, 1_773_572_400, bytes.fromhex("ab" * 32), signature]
        name = "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
        assert made.data == "0x" + (keccak(text=name)[:4] + encode(kinds, values)).hex()
        assert (made.to, made.value) == (TOKEN, 0)


def test_what_is_signed_is_what_the_token_hashes() -> None:
    account = Account.create()
    signed = authorization(account.address)
    typed = erc3009.typed_data(signed)
    values = {name: int(each) if each.isdigit() else each for name, each in typed["values"].items()}
    signable = encode_typed_data(typed["domain"], typed["types"], values)
    digest = keccak(b"\x19" + signable.version + signable.header + signable.body)
    assert recover_digest(digest, bytes(account.sign_message(signable).signature)) == account.address
    assert values == {
        "from": account.address, "to": TO, "value": 12_510_000, "validAfter": 0, "validBefore": 1_773_572_400,
        "nonce": "0x" + "ab" * 32,
    }


@pytest.mark.parametrize(
    ("name", "version", "returned_version"), [("USD₮0", "1", "1"), ("USD₮0", "1", None), ("USD Coin", "2", "2")]
)
def test_the_domain_of_a_token_is_what_wallets_sign_with_also_where_its_name_is_not_ascii(
    name: str, version: str, returned_version: str | None
) -> None:
    """USDT0, whose name has a letter of three bytes, as its contracts on arbitrum-one and matic return it."""
    account, value = Account.create(), {"value": 1}
    wanted = {"name": name, "version": version, "chainId": 42161, "verifyingContract": TOKEN}
    separator = encode_typed_data(wanted, {"Any": [{"name": "value", "type": "uint256"}]}, value).header
    texts = [None if each is None else encode(["string"], [each]) for each in (name, returned_version)]
    domain = erc3009.domain((*texts, separator, bytes(32)), TOKEN, 42161)
    assert domain is not None and domain.values == wanted
    other = encode_typed_data({**wanted, "name": "USDT0"}, {"Any": [{"name": "value", "type": "uint256"}]}, value).header
    assert erc3009.domain((*texts, other, bytes(32)), TOKEN, 42161) is None
    signed = replace(authorization(account.address), name=domain.name, token_version=domain.token_version, chain_id=42161)
    typed = json.loads(json.dumps(erc3009.typed_data(signed)))
    assert typed["domain"] == wanted
    values = {name: int(each) if each.isdigit() else each for name, each in typed["values"].items()}
    signable = encode_typed_data(typed["domain"], typed["types"], values)
    digest = keccak(b"\x19" + signable.version + signable.header + signable.body)
    assert recover_digest(digest, bytes(account.sign_message(signable).signature)) == account.address


def test_a_batch_of_calls_is_encoded_as_an_abi_library_does() -> None:
    for lengths in ((), (0,), (4, 356, 0), (33,) * 20):
        calls = [Transaction(TOKEN, "0x" + secrets.token_bytes(each).hex(), each) for each in lengths]
        made = execute_batch(PAYER, calls)
        listed = [(each.to, each.value, bytes.fromhex(each.data[2:])) for each in calls]
        selector = keccak(text="executeBatch((address,uint256,bytes)[])")[:4]
        assert made.data == "0x" + (selector + encode(["(address,uint256,bytes)[]"], [listed])).hex()
        assert (made.to, made.value) == (PAYER, 0)


def test_the_code_of_a_delegated_account_names_the_contract() -> None:
    assert delegated_code(TOKEN).hex() == "ef0100" + "0c" * 20
    assert "0x" + keccak(text="AuthorizationUsed(address,bytes32)").hex() == erc3009.AUTHORIZATION_USED
