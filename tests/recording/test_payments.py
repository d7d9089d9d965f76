"""Totals, states and events of payments, whatever order they come, repeat and vanish in."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from base58 import b58decode_check
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.access.callers import Owner
from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.links.creation import Draft, Item, Terms, create_link
from chalicelib.links.records import LinkStatus, SecurePayment
from chalicelib.links.rules import check_payable, fee_on, status_at
from chalicelib.recording.payments import MAX_ANNOUNCED_PAYMENTS, apply, mismatch, must_write_link, record, reverse
from chalicelib.requests.records import LogPosition, Payment, PaymentStatus, RequestStatus
from chalicelib.requests.rules import remaining
from chalicelib.webhooks.rules import EventContext
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, draft
from tests.support.errors import body_of

OWNER = Owner("acct", None, None)
TERMS = Terms(timedelta(days=7), strict_checksum=False)
CONTEXT = EventContext(START, lambda n: b"\7" * n, "https://explorer.example", "service-network")


def entropy_of(seed: int):  # type: ignore[no-untyped-def]
    counter = itertools.count(seed)
    return lambda n: next(counter).to_bytes(n, "big")


def new_link(amount: str = "10", **changes: object) -> SecurePayment:
    return create_link(draft(amount=amount, **changes), OWNER, TERMS, START, entropy_of(1))


def transfer(amount: int, number: int = 1, **changes: object) -> ProxyTransfer:
    token = token_with_id("fUSDC-sepolia")
    assert token is not None
    known = ProxyTransfer(
        network="sepolia",
        token_address=token.address.lower(),
        payee=PAYEE.lower(),
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(0),
        fee_address=FEE_ADDRESS.lower(),
        reference_topic="0x00",
        tx_hash=f"0x{number:064x}",
        log_index=number,
        block_number=number,
        block_hash=f"0x{number:064x}",
    )
    return replace(known, **changes)  # type: ignore[arg-type]


class Ledger:
    """Applies decisions as the store would, in memory."""

    def __init__(self, payment: SecurePayment) -> None:
        self.state, self.payments, self.events = payment, list[Payment](), list[str]()

    @property
    def by_position(self) -> dict[LogPosition, Payment]:
        return {payment.log_position: payment for payment in self.payments}

    def pay(self, given_transfer: ProxyTransfer) -> None:
        request = self.state.requests[0]
        self._apply(record(self.state, request, self.by_position, given_transfer, CONTEXT))

    def lose(self, payment: Payment) -> None:
        self._apply(reverse(self.state, self.state.requests[0], self.by_position, payment.log_position, CONTEXT))

    def _apply(self, decision) -> None:  # type: ignore[no-untyped-def]
        if decision is None:
            return
        self.payments = [p for p in self.payments if p.log_position != decision.payment.log_position] + [decision.payment]
        self.state = apply(self.state, decision)
        self.events += [event.kind for event in decision.events]


STEPS = st.lists(st.tuples(st.sampled_from(["pay", "lose"]), st.integers(1, 6), st.integers(1, 12_000_000)))


@given(STEPS)
def test_the_total_is_always_the_sum_of_the_payments_that_stand(steps: list[tuple[str, int, int]]) -> None:
    ledger = Ledger(new_link())
    for act, number, amount in steps:
        if act == "pay":
            ledger.pay(transfer(amount, number))
        else:
            for payment in [p for p in ledger.payments if p.log_index == number]:
                ledger.lose(payment)
        request = ledger.state.requests[0]
        standing = [p.amount for p in ledger.payments if p.status is PaymentStatus.CONFIRMED]
        assert request.paid == sum(standing)
        assert (request.status is RequestStatus.PAID) == (request.paid >= request.amount)
        assert (ledger.state.link.status is LinkStatus.COMPLETED) == (request.status is RequestStatus.PAID)
        assert remaining(request) == max(request.amount - request.paid, 0)


@given(STEPS)
def test_every_repetition_of_a_transfer_changes_nothing(steps: list[tuple[str, int, int]]) -> None:
    once, twice = Ledger(new_link()), Ledger(new_link())
    for _, number, amount in steps:
        once.pay(transfer(amount, number))
        twice.pay(transfer(amount, number))
        twice.pay(transfer(amount, number))
    assert once.state == twice.state
    assert once.events == twice.events


def test_one_payment_makes_the_core_event_and_its_checkout_variant() -> None:
    ledger = Ledger(new_link())
    ledger.pay(transfer(10_000_000))
    assert ledger.events == ["payment.confirmed", "payment.confirmed.checkout"]


def test_the_last_block_is_still_open_at_the_expiry_and_shut_from_it_on() -> None:
    link = new_link().link
    assert status_at(link, link.expires_at - timedelta(milliseconds=1)) is LinkStatus.PENDING
    assert status_at(link, link.expires_at) is LinkStatus.AWAITING_CHAIN


def test_an_expired_link_is_forbidden_and_a_completed_one_a_conflict_that_names_the_transaction() -> None:
    ledger = Ledger(new_link())
    with pytest.raises(Forbidden) as forbidden:
        check_payable(ledger.state, ledger.state.link.expires_at)
    assert body_of(forbidden.value)["code"] == "awaiting_chain"
    ledger.pay(transfer(10_000_000))
    with pytest.raises(Conflict) as conflict:
        check_payable(ledger.state, START)
    body = body_of(conflict.value)
    assert (body["message"], body["status"]) == ("Secure payment has already been completed", "completed")
    assert body["requestStatuses"][0]["hasBeenPaid"] is True
    assert body["requestStatuses"][0]["txHash"] == f"0x{1:064x}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"network": "base"}, "wrong_network"),
        ({"token_address": None}, "wrong_token"),
        ({"token_address": "0x" + "33" * 20}, "wrong_token"),
        ({"payee": "0x" + "33" * 20}, "wrong_payee"),
    ],
)
def test_a_transfer_counts_only_with_the_requests_own_network_token_and_payee(
    changes: dict[str, object], reason: str | None
) -> None:
    assert mismatch(new_link().requests[0], transfer(1, **changes)) == reason


def test_a_transfer_of_nothing_is_none_on_whatever_network() -> None:
    assert mismatch(new_link().requests[0], transfer(0, network="base")) == "zero_amount"


def test_a_tron_request_is_matched_by_the_hex_addresses_of_its_log() -> None:
    payee = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
    request = new_link(currency="USDT-tron", payee=payee, fee_percentage=None, fee_address=None).requests[0]
    usdt = "0x" + b58decode_check("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")[1:].hex()
    found = transfer(1, network="tron", token_address=usdt, payee="0x" + b58decode_check(payee)[1:].hex())
    assert mismatch(request, found) is None
    assert mismatch(request, replace(found, token_address="0x" + "33" * 20)) == "wrong_token"
    assert mismatch(request, replace(found, payee="0x" + "33" * 20)) == "wrong_payee"


def test_dust_beyond_a_limit_is_recorded_in_silence_and_what_completes_the_request_is_told() -> None:
    ledger = Ledger(new_link())
    for number in range(1, MAX_ANNOUNCED_PAYMENTS + 6):
        ledger.pay(transfer(1, number))
    assert ledger.events == ["payment.partial", "payment.partial.checkout"] * MAX_ANNOUNCED_PAYMENTS
    assert ledger.state.requests[0].paid == MAX_ANNOUNCED_PAYMENTS + 5
    ledger.pay(transfer(10_000_000, MAX_ANNOUNCED_PAYMENTS + 6))
    assert ledger.events[2 * MAX_ANNOUNCED_PAYMENTS :] == ["payment.confirmed", "payment.confirmed.checkout"]
    assert ledger.state.link.status is LinkStatus.COMPLETED


@given(st.permutations(range(4)), st.integers(0, 3))
def test_a_link_of_several_requests_is_complete_with_its_last_one_and_reopened_by_losing_any(
    order: list[int], lost: int
) -> None:
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    state = new_link(items=(item,) * 4)
    assert must_write_link(state) and not must_write_link(new_link())
    payments = {}
    for paid, position in enumerate(order, 1):
        decision = record(state, state.requests[position], {}, transfer(1_000_000, position + 1), CONTEXT)
        assert decision is not None
        assert (decision.link is not None) == (paid == 4)
        state, payments[position] = apply(state, decision), decision.payment
    assert (state.link.status, state.link.completed_at) == (LinkStatus.COMPLETED, START)
    undone = reverse(state, state.requests[lost], {payments[lost].log_position: payments[lost]}, payments[lost].log_position, CONTEXT)
    assert undone is not None
    state = apply(state, undone)
    assert (state.link.status, state.link.completed_at) == (LinkStatus.PENDING, None)


@given(st.integers(1, 10**12), st.integers(0, 10_000))
def test_amount_and_fee_of_parts_never_exceed_those_of_the_whole(amount: int, basis_points: int) -> None:
    link = new_link(fee_percentage=f"{basis_points // 100}.{basis_points % 100:02}").link
    first, second = BaseUnits(amount // 3), BaseUnits(amount - amount // 3)
    assert fee_on(first, link) + fee_on(second, link) <= fee_on(BaseUnits(amount), link)
    assert fee_on(BaseUnits(amount), link) - fee_on(first, link) - fee_on(second, link) <= 1


def test_a_draft_is_judged_whole_before_anything_is_made() -> None:
    items = (Item("1", None, PAYEE, "FAU-sepolia", "FAU-sepolia"), Item("0", None, PAYEE, "FAU-sepolia", "FAU-sepolia"))
    with pytest.raises(BadRequest, match="greater than 0"):
        create_link(Draft(items, None, None, None, None, None, None), OWNER, TERMS, START, entropy_of(1))


def test_100_payments_of_dust_are_told_of_a_request() -> None:
    assert MAX_ANNOUNCED_PAYMENTS == 100


def test_a_request_that_loses_its_payments_has_the_hash_of_the_last_one_that_stands() -> None:
    ledger = Ledger(new_link())
    for number in (1, 2):
        ledger.pay(transfer(4_000_000, number))
    first, second = ledger.payments
    ledger.lose(second)
    (request,) = ledger.state.requests
    assert (request.tx_hash, request.status, request.paid) == (first.tx_hash, RequestStatus.PARTIALLY_PAID, 4_000_000)
    ledger.lose(first)
    (request,) = ledger.state.requests
    assert (request.tx_hash, request.status, request.paid) == (None, RequestStatus.CREATED, 0)


def test_a_link_that_is_completed_keeps_the_time_of_its_completion() -> None:
    payment = new_link()
    completed = replace(payment, link=replace(payment.link, status=LinkStatus.COMPLETED, completed_at=START))
    later = replace(CONTEXT, now=START + timedelta(hours=1))
    decision = record(completed, completed.requests[0], {}, transfer(10_000_000), later)
    assert decision is not None
    assert decision.link is None
