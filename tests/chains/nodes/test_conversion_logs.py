"""The events of the conversion proxies: two of them are one payment, and an event without its other is a lie."""

import random
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC
from chalicelib.chains.nodes.history.logs import (
    ERC20_TRANSFER_TOPIC,
    NATIVE_TRANSFER_TOPIC,
    InconsistentNode,
    LoggedConversion,
    ProxyTransfer,
)
from chalicelib.chains.nodes.history.transfers import transfers_of

NETWORK = "mainnet"
ERC20_PROXY, NATIVE_PROXY = (address_of(name, NETWORK) for name in ("Erc20ConversionProxy", "EthConversionProxy"))
USDC, PAYEE = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "0xf17f52151ebef6c7334fad080c5704d77216b732"
COLLECTOR, USD = "0xc5fdf4076b8f3a5357c5e395ab970b5b54098fef", "0x775eb53d00dd0acd3ec1696472105d579b9b386b"
Log = dict[str, Any]


def log(emitter: str, topic: str, types: list[str], values: list[Any], index: int, **changes: Any) -> Log:
    return {
        "address": emitter,
        "topics": [topic, "0x" + "5e" * 32],
        "data": "0x" + encode(types, values).hex(),
        "transactionHash": "0x" + "aa" * 32,
        "blockHash": "0x" + "bb" * 32,
        "blockNumber": "0x64",
        "logIndex": hex(index),
        **changes,
    }


def events(index: int = 7, native: bool = False, amount: int = 1_250_000_000, **changes: Any) -> list[Log]:
    """The two events of a payment; the second has the next log index."""
    emitter, token = (NATIVE_PROXY, []) if native else (ERC20_PROXY, [USDC])
    topic = NATIVE_TRANSFER_TOPIC if native else ERC20_TRANSFER_TOPIC
    types = [*["address" for _ in token], "address", "uint256", "uint256", "address"]
    converted = ["uint256", "address", "uint256", "uint256"]
    return [
        log(emitter, topic, types, [*token, PAYEE, 12_503_751, 130_039, COLLECTOR], index, **changes),
        log(emitter, CONVERSION_TOPIC, converted, [amount, USD, 13_000_000, 3600], index + 1, **changes),
    ]


@pytest.mark.parametrize("native", [False, True])
def test_two_events_are_one_payment_in_the_currency_of_the_invoice(native: bool) -> None:
    (transfer,) = transfers_of(NETWORK, events(native=native))
    assert transfer.conversion == LoggedConversion(USD, 1_250_000_000, 13_000_000, 3600)  # type: ignore[arg-type]
    assert (transfer.token_address, transfer.payee) == (None if native else USDC, PAYEE)
    assert (transfer.amount, transfer.fee_amount, transfer.fee_address) == (12_503_751, 130_039, COLLECTOR)
    assert (transfer.reference_topic, transfer.tx_hash) == ("0x" + "5e" * 32, "0x" + "aa" * 32)
    assert (transfer.block_number, transfer.log_index) == (100, 7)
    assert transfer.event_key.endswith("-0")


def conversion_of(transfer: ProxyTransfer) -> LoggedConversion:
    assert transfer.conversion is not None
    return transfer.conversion


def fee_proxy_event(index: int, **changes: Any) -> Log:
    """What the first event of `events` says, of the fee proxy."""
    return {**events(index)[0], "address": address_of("ERC20FeeProxy", NETWORK), **changes}


def test_a_payment_by_a_fee_proxy_has_the_same_key_whatever_conversions_its_transaction_has_too() -> None:
    """Otherwise a node that leaves out logs would make it another payment, or one of the two would hide the other."""
    (alone,) = transfers_of(NETWORK, [fee_proxy_event(20)])
    for index in (7, 30):
        both = transfers_of(NETWORK, [*events(index), fee_proxy_event(20)])
        assert alone in both
        assert len({each.event_key for each in both}) == 2
        assert [each.conversion is None for each in sorted(both, key=lambda each: each.log_index)] == [
            index > 20, index < 20
        ]  # fmt: skip


def test_what_a_fee_proxy_says_is_no_conversion() -> None:
    fee_proxy = {"address": address_of("ERC20FeeProxy", NETWORK)}
    (transfer,) = transfers_of(NETWORK, [{**each, **fee_proxy} for each in events()])
    assert transfer.conversion is None


def test_an_age_that_is_longer_than_what_can_be_stored_is_taken_for_a_long_one() -> None:
    """A payer chooses it; a network must not stop at it."""
    first, second = events()
    words = second["data"][:-64] + f"{MAX_UINT256:064x}"
    (transfer,) = transfers_of(NETWORK, [first, {**second, "data": words}])
    assert conversion_of(transfer).max_rate_age == 2**62


def test_equal_payments_of_a_transaction_have_keys_of_their_own() -> None:
    found = transfers_of(NETWORK, [*events(20), *events(7)])
    assert [each.log_index for each in found] == [7, 20]
    first, second = (each.event_key for each in found)
    assert (first[:-1], first[-1], second[-1]) == (second[:-1], "0", "1")


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_of_logs_gives_the_same_payments(count: int, chance: random.Random) -> None:
    logs = [
        each
        for number in range(count)
        for each in events(10 * number, chance.random() < 0.5, amount=number + 1, blockNumber=hex(100 + number // 3),
                           blockHash=f"0x{number // 3:064x}", transactionHash=f"0x{number:064x}")
    ]  # fmt: skip
    mixed = [*logs, *chance.sample(logs, len(logs) // 2)]
    chance.shuffle(mixed)
    found = transfers_of(NETWORK, mixed)
    assert found == transfers_of(NETWORK, logs)
    assert [conversion_of(each).amount for each in found] == list(range(1, count + 1))


@pytest.mark.parametrize("missing", [0, 1])
def test_one_event_without_the_other_is_a_node_that_leaves_out_logs(missing: int) -> None:
    left = events()[1 - missing]
    with pytest.raises(InconsistentNode):
        transfers_of(NETWORK, [left])
    with pytest.raises(InconsistentNode):
        transfers_of(NETWORK, [left, *events(40)])


def test_events_that_are_not_one_after_the_other_are_no_payment() -> None:
    first, second = events()
    apart = {**second, "logIndex": "0x9"}
    with pytest.raises(InconsistentNode) as refused:
        transfers_of(NETWORK, [first, apart])
    assert "log index 9" in refused.value.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"topics": [CONVERSION_TOPIC, "0x" + "6f" * 32]},
        {"transactionHash": "0x" + "cc" * 32},
        {"blockHash": "0x" + "cc" * 32},
    ],
)
def test_events_of_different_references_transactions_or_blocks_are_no_payment(changes: dict[str, Any]) -> None:
    first, second = events()
    with pytest.raises(InconsistentNode):
        transfers_of(NETWORK, [first, {**second, **changes}])


@pytest.mark.parametrize(
    ("network", "changes"),
    [
        (NETWORK, {"address": "0x" + "12" * 20}),  # any contract can emit these topics
        (NETWORK, {"removed": True}),
        (NETWORK, {"topics": [CONVERSION_TOPIC]}),
        (NETWORK, {"topics": ["0x" + "12" * 32, "0x" + "5e" * 32]}),
        (NETWORK, {"data": "0x" + "00" * 31}),
        ("base", {}),  # nothing converts there
    ],
)
def test_logs_of_others_are_skipped(network: str, changes: dict[str, Any]) -> None:
    assert transfers_of(network, [{**each, **changes} for each in events()]) == ()


@pytest.mark.parametrize(
    "changes",
    [{"logIndex": "7"}, {"blockHash": None}, {"transactionHash": "0x12"}, {"data": "0xzz"}, {"topics": None}],
)
def test_a_log_of_another_form_is_a_node_that_cannot_be_used(changes: dict[str, Any]) -> None:
    for position in (0, 1):
        logs = events()
        logs[position] = {**logs[position], **changes}
        with pytest.raises(ChainUnavailable):
            transfers_of(NETWORK, logs)


def test_a_node_that_says_two_things_of_one_place_contradicts_itself() -> None:
    first, second = events()
    with pytest.raises(InconsistentNode):
        transfers_of(NETWORK, [first, second, {**first, "blockHash": "0x" + "cc" * 32}])


def test_a_transfer_says_what_was_paid_and_the_conversion_what_was_owed() -> None:
    (one,) = transfers_of(NETWORK, events(amount=1))
    (other,) = transfers_of(NETWORK, events(amount=2))
    assert (conversion_of(one).amount, conversion_of(other).amount) == (1, 2)
    assert replace(one, conversion=other.conversion, event_key=other.event_key) == other
    assert one.event_key != other.event_key
