"""The events of the commerce escrow, encoded by eth_abi: only those of the right contract in the documented form count."""

from dataclasses import astuple, replace
from itertools import permutations
from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS, hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, InconsistentNode, ProxyTransfer
from chalicelib.chains.nodes.history.transfers import transfers_of
from tests.chains.calldata.calls import COLLECTOR, ESCROW, INFO, PAYEE, WALLET

INFO_TYPE = f"({','.join(kind for _, kind in MEMBERS)})"
NAME, BLOCK, TX = ("0x" + byte * 32 for byte in ("ab", "bb", "cc"))
PAYER = hex_address(WALLET)
EVENTS: dict[EscrowEventKind, tuple[str, list[Any]]] = {
    EscrowEventKind.PRE_APPROVED: ("PaymentPreApproved(bytes32)", []),
    EscrowEventKind.AUTHORIZED: (f"PaymentAuthorized(bytes32,{INFO_TYPE},uint256,address)", [astuple(INFO), 70, COLLECTOR]),
    EscrowEventKind.CHARGED: (
        f"PaymentCharged(bytes32,{INFO_TYPE},uint256,address,uint16,address)", [astuple(INFO), 70, COLLECTOR, 250, PAYEE],
    ),
    EscrowEventKind.CAPTURED: ("PaymentCaptured(bytes32,uint256,uint16,address)", [60, 250, PAYEE]),
    EscrowEventKind.VOIDED: ("PaymentVoided(bytes32,uint256)", [40]),
    EscrowEventKind.RECLAIMED: ("PaymentReclaimed(bytes32,uint256)", [40]),
    EscrowEventKind.REFUNDED: ("PaymentRefunded(bytes32,uint256,address)", [10, COLLECTOR]),
}  # fmt: skip
MEANT = {
    EscrowEventKind.PRE_APPROVED: LoggedEscrow(EscrowEventKind.PRE_APPROVED, NAME, BaseUnits(0)),
    EscrowEventKind.AUTHORIZED: LoggedEscrow(EscrowEventKind.AUTHORIZED, NAME, BaseUnits(70), PAYER),
    EscrowEventKind.CHARGED: LoggedEscrow(EscrowEventKind.CHARGED, NAME, BaseUnits(70), PAYER, 250, hex_address(PAYEE)),
    EscrowEventKind.CAPTURED: LoggedEscrow(EscrowEventKind.CAPTURED, NAME, BaseUnits(60), None, 250, hex_address(PAYEE)),
    EscrowEventKind.VOIDED: LoggedEscrow(EscrowEventKind.VOIDED, NAME, BaseUnits(40)),
    EscrowEventKind.RECLAIMED: LoggedEscrow(EscrowEventKind.RECLAIMED, NAME, BaseUnits(40)),
    EscrowEventKind.REFUNDED: LoggedEscrow(EscrowEventKind.REFUNDED, NAME, BaseUnits(10)),
}
every_kind = pytest.mark.parametrize("kind", EscrowEventKind)


def log(kind: EscrowEventKind, index: int = 3, values: list[Any] | None = None, **changes: Any) -> dict[str, Any]:
    signature, usual = EVENTS[kind]
    kinds = [INFO_TYPE] if INFO_TYPE in signature else []
    kinds += signature.replace(f"{INFO_TYPE},", "").partition("(")[2][:-1].split(",")[1:]
    emitter = ESCROW.pre_approval if kind is EscrowEventKind.PRE_APPROVED else ESCROW.escrow
    return {
        "address": emitter.lower(),
        "topics": ["0x" + keccak(text=signature).hex(), NAME],
        "data": "0x" + encode(kinds, usual if values is None else values).hex(),
        "transactionHash": TX,
        "logIndex": hex(index),
        "blockNumber": hex(9),
        "blockHash": BLOCK,
        **changes,
    }


def found(*logs: dict[str, Any]) -> tuple[ProxyTransfer, ...]:
    return transfers_of("base", logs, ESCROW)


@every_kind
def test_an_event_is_read_as_it_was_encoded(kind: EscrowEventKind) -> None:
    (transfer,) = found(log(kind))
    assert transfer.escrow == MEANT[kind]
    assert (transfer.amount, transfer.reference_topic) == (MEANT[kind].amount, NAME)
    assert (transfer.tx_hash, transfer.block_number, transfer.block_hash, transfer.log_index) == (TX, 9, BLOCK, 3)
    assert (transfer.token_address, transfer.payee, transfer.fee_amount) == (None, ZERO_ADDRESS, 0)


@every_kind
@pytest.mark.parametrize("address", [ESCROW.escrow, ESCROW.pre_approval, ESCROW.operator_refund, PAYEE])
def test_an_event_counts_if_its_own_contract_emitted_it(kind: EscrowEventKind, address: str) -> None:
    emitter = ESCROW.pre_approval if kind is EscrowEventKind.PRE_APPROVED else ESCROW.escrow
    assert len(found(log(kind, address=address.lower()))) == (address == emitter)


@every_kind
def test_an_event_that_was_removed_or_has_another_form_is_none(kind: EscrowEventKind) -> None:
    event = log(kind)
    for other in (
        {"removed": True},
        {"topics": event["topics"][:1]},
        {"topics": [*event["topics"], NAME]},
        {"topics": [ERC20_TRANSFER_TOPIC, NAME]},
        {"data": event["data"] + "00" * 32},
    ):
        assert found({**event, **other}) == ()
    if event["data"] != "0x":
        assert found({**event, "data": event["data"][:-64]}) == ()


@every_kind
def test_without_an_escrow_none_is_read(kind: EscrowEventKind) -> None:
    assert transfers_of("base", [log(kind)]) == ()


def test_terms_that_are_none_make_the_node_unavailable() -> None:
    event = log(EscrowEventKind.AUTHORIZED)
    with pytest.raises(ChainUnavailable):
        found({**event, "data": "0xff" + event["data"][4:]})


@every_kind
def test_what_a_node_repeats_counts_once_and_upper_case_is_the_same(kind: EscrowEventKind) -> None:
    event = log(kind)
    shouting = {**event, "address": event["address"].upper().replace("X", "x"), "topics": [event["topics"][0].upper().replace("X", "x"), NAME.upper().replace("X", "x")]}
    assert found(event, event, shouting) == found(event)


def test_equal_events_of_a_transaction_are_told_apart_whatever_their_index() -> None:
    first, second = found(log(EscrowEventKind.CAPTURED, 3), log(EscrowEventKind.CAPTURED, 5))
    assert first.escrow == second.escrow and first.event_key != second.event_key
    again = found(log(EscrowEventKind.CAPTURED, 30), log(EscrowEventKind.CAPTURED, 50))
    assert [each.event_key for each in again] == [first.event_key, second.event_key]


def test_every_part_of_an_event_is_in_its_key() -> None:
    captures = [[60, 250, PAYEE], [61, 250, PAYEE], [60, 251, PAYEE], [60, 250, WALLET]]
    keys = {each.event_key for values in captures for each in found(log(EscrowEventKind.CAPTURED, values=values))}
    keys |= {each.event_key for kind in (EscrowEventKind.VOIDED, EscrowEventKind.RECLAIMED) for each in found(log(kind))}
    payer = log(EscrowEventKind.AUTHORIZED, values=[astuple(replace(INFO, payer=PAYEE)), 70, COLLECTOR])
    keys |= {each.event_key for event in (log(EscrowEventKind.AUTHORIZED), payer) for each in found(event)}
    assert len(keys) == len(captures) + 4


def test_events_and_payments_come_in_the_order_of_the_chain() -> None:
    words = encode(["address", "address", "uint256", "uint256", "address"], [PAYEE, PAYEE, 1, 0, PAYEE])
    payment = {
        **log(EscrowEventKind.VOIDED, 4),
        "address": address_of(ERC20_FEE_PROXY, "base").lower(),
        "topics": [ERC20_TRANSFER_TOPIC, NAME],
        "data": "0x" + words.hex(),
    }
    events = [log(EscrowEventKind.AUTHORIZED, 3), payment, log(EscrowEventKind.CAPTURED, 5)]
    for order in permutations(events):
        assert [each.log_index for each in found(*order)] == [3, 4, 5]
    assert [each.escrow is None for each in found(*events)] == [False, True, False]


def test_two_events_at_one_index_contradict_each_other() -> None:
    with pytest.raises(InconsistentNode):
        found(log(EscrowEventKind.AUTHORIZED), log(EscrowEventKind.CAPTURED))


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**16 - 1))
def test_any_amount_and_fee_is_read(amount: int, bps: int) -> None:
    (transfer,) = found(log(EscrowEventKind.CAPTURED, values=[amount, bps, WALLET]))
    assert transfer.escrow == LoggedEscrow(EscrowEventKind.CAPTURED, NAME, BaseUnits(amount), None, bps, PAYER)
