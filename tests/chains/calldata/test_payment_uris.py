"""Transactions as URIs: what a wallet reads from them is what would be signed."""

import re
from dataclasses import replace

import pytest
from eth_abi import encode
from eth_utils import keccak

from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.parts import Argument
from chalicelib.chains.calldata.payment_uris import MAX_LENGTH, uri_of
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from tests.chains.calldata.calls import COLLECTOR, EVERY_KIND, PAYEE, PROXY, USDC, native_payment, payment


def uri(name: str, transaction: Transaction, fee_limit: int = 0) -> str | None:
    return uri_of(name, transaction, *explain(name, [transaction]), fee_limit)  # type: ignore[call-arg]


def call_of(text: str) -> tuple[str, int, bytes, int]:
    """Contract, chain, calldata and value as a wallet makes them of an EIP-681 URI."""
    match = re.fullmatch(r"ethereum:(0x\w{40})@(\d+)/(\w+)\?(.*)", text)
    assert match is not None
    pairs = [part.split("=") for part in match[4].split("&")]
    value = sum(int(text) for kind, text in pairs if kind == "value")
    kinds, texts = zip(*(pair for pair in pairs if pair[0] != "value"), strict=True)
    forms = {"uint256": int, "bytes": lambda text: bytes.fromhex(text[2:]), "address": str}
    values = [forms[kind](text) for kind, text in zip(kinds, texts, strict=True)]
    selector = keccak(text=f"{match[3]}({','.join(kinds)})")[:4]
    return match[1], int(match[2]), selector + encode(kinds, values), value


@pytest.mark.parametrize("transaction", [approve(USDC, PROXY, 12_625_000), payment(), payment(fee=0), native_payment()])
def test_a_wallet_makes_the_same_call_of_it(transaction: Transaction) -> None:
    text = uri("base", transaction)
    assert text is not None
    assert call_of(text) == (transaction.to, 8453, bytes.fromhex(transaction.data[2:]), transaction.value)


def test_it_is_spelled_as_eip_681_has_it() -> None:
    assert uri("base", payment()) == (
        f"ethereum:{PROXY}@8453/transferFromWithReferenceAndFee?address={USDC}&address={PAYEE}&uint256=12500000"
        f"&bytes=0x11497d24d1a76c9b&uint256=125000&address={COLLECTOR}"
    )


def test_what_has_lists_or_is_unknown_has_none() -> None:
    for name in ("batch of one token", "batch of many", "batch of the coin", "bundle"):
        assert uri(*EVERY_KIND[name]) is None
    assert uri("base", Transaction(PROXY, "0x12345678", 0)) is None


def test_on_tron_it_holds_contract_data_and_fee_limit() -> None:
    name, transaction = EVERY_KIND["batch on tron"]
    assert uri(name, transaction, 5) == f"tron:{transaction.to}?data={transaction.data}&feeLimit=5"


def test_what_no_code_could_hold_has_none() -> None:
    name, transaction = EVERY_KIND["batch on tron"]
    around = len(f"tron:{transaction.to}?data=0x&feeLimit=1")
    longest = replace(transaction, data="0x" + "ab" * ((2_900 - around) // 2))
    (explanation,) = explain(name, [transaction])
    limit = 10 ** ((2_900 - around) % 2)
    assert len(uri_of(name, longest, explanation, limit) or "") == 2_900
    assert uri_of(name, longest, explanation, 10 * limit) is None
    (explanation,) = explain("base", [payment()])
    long = explanation._replace(arguments=(*explanation.arguments, Argument("_", "bytes", "0x" + "ab" * MAX_LENGTH, None)))
    assert uri_of("base", payment(), long, 0) is None
