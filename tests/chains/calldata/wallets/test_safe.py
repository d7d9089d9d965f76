"""Bundles for a Safe, against an independent ABI encoder, and the hash its owners sign."""

import pytest
from eth_abi import encode
from eth_account.messages import encode_typed_data
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, bundle, safe_tx_hash
from chalicelib.chains.catalogue.contracts import address_of
from tests.chains.calldata.calls import unbundled

MULTI_SEND = "0x9641d764fc13c8B624c04430C7356C1C7C8102e2"

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
amounts = st.integers(0, MAX_UINT256)
transactions = st.builds(Transaction, addresses, st.binary(max_size=80).map(lambda raw: "0x" + raw.hex()), amounts)


@settings(max_examples=50)
@given(inner=st.lists(transactions, min_size=1, max_size=5))
def test_a_bundle_equals_the_encoding_of_an_abi_library_and_is_unpacked_again(inner: list[Transaction]) -> None:
    packed = b""
    for each in inner:
        data = bytes.fromhex(each.data[2:])
        packed += bytes(1) + bytes.fromhex(each.to[2:]) + encode(["uint256", "uint256"], [each.value, len(data)]) + data
    built = bundle("base", inner)
    expected = "0x" + keccak(text="multiSend(bytes)")[:4].hex() + encode(["bytes"], [packed]).hex()
    assert built == SafeTransaction(MULTI_SEND, 0, expected, 1)
    assert unbundled(built.data) == tuple(inner)


def test_a_bundle_goes_to_the_same_contract_on_every_evm_network() -> None:
    networks = ("mainnet", "arbitrum-one", "optimism", "base", "matic", "bsc", "sepolia")
    assert {address_of("MultiSendCallOnly", network) for network in networks} == {MULTI_SEND}
    with pytest.raises(LookupError):
        bundle("tron", [])


def test_anything_but_a_bundle_is_refused() -> None:
    good = bytes.fromhex(bundle("base", [Transaction(MULTI_SEND, "0x1234", 1)] * 2).data[2:])
    cut = [good[:end] for end in range(len(good))]
    longer = [good + bytes(1), good + bytes(32)]
    delegated = good[:68] + b"\x01" + good[69:]
    empty = bytes.fromhex(bundle("base", []).data[2:])
    padded = good[:-1] + b"\x01"
    for bad in (*cut, *longer, delegated, empty, padded):
        with pytest.raises(ValueError):
            unbundled("0x" + bad.hex())


@settings(max_examples=30)
@given(
    chain_id=st.integers(1, 2**32),
    addresses=st.tuples(addresses, addresses, addresses, addresses),
    numbers=st.tuples(amounts, amounts, amounts, amounts, amounts),
    data=st.binary(max_size=80),
    operation=st.sampled_from([0, 1]),
)
def test_the_hash_is_what_a_wallet_library_signs(
    chain_id: int, addresses: tuple[str, ...], numbers: tuple[int, ...], data: bytes, operation: int
) -> None:
    safe, to, gas_token, refund_receiver = addresses
    value, nonce, safe_tx_gas, base_gas, gas_price = numbers
    kinds = {
        "to": "address",
        "value": "uint256",
        "data": "bytes",
        "operation": "uint8",
        "safeTxGas": "uint256",
        "baseGas": "uint256",
        "gasPrice": "uint256",
        "gasToken": "address",
        "refundReceiver": "address",
        "nonce": "uint256",
    }
    values = to, value, data, operation, safe_tx_gas, base_gas, gas_price, gas_token, refund_receiver, nonce
    signable = encode_typed_data(
        {"chainId": chain_id, "verifyingContract": safe},
        {"SafeTx": [{"name": name, "type": kind} for name, kind in kinds.items()]},
        dict(zip(kinds, values, strict=True)),
    )
    expected = keccak(b"\x19" + signable.version + signable.header + signable.body)
    transaction = SafeTransaction(to, value, "0x" + data.hex(), operation)
    terms = SafeTerms(nonce, safe_tx_gas, base_gas, gas_price, gas_token, refund_receiver)
    assert safe_tx_hash(chain_id, safe, transaction, terms) == "0x" + expected.hex()


def test_a_transaction_refunds_no_gas_unless_its_terms_say_so() -> None:
    assert SafeTerms(7) == SafeTerms(7, 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS)
