"""Totals, states and events of payments, whatever order they come, repeat and vanish in."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from base58 import b58decode_check
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.creation import Draft, create_link
from chalicelib.payments.links.records import Link, LinkStatus, Payable, PayableLink
from chalicelib.payments.links.rules import check_payable, status_at
from chalicelib.payments.recording.matching import (
    MAX_PAYMENTS,
    MAX_SMALL_PAYMENTS,
    SMALL_PART,
    Decision,
    apply,
    must_write_link,
    record,
    reverse,
    subtract,
)
from chalicelib.payments.recording.rules import mismatch
from chalicelib.payments.recording.valuation import Valuation
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import remaining
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning.records import LoggedTransfer
from chalicelib.platform.access.callers import Owner
from chalicelib.webhooks.rules import EventContext
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, draft
from tests.support.errors import body_of

OWNER = Owner("acct", None, None)
CONTEXT = EventContext(START, lambda n: b"\7" * n, "https://explorer.example", "service-network")


def entropy_of(seed: int):  # type: ignore[no-untyped-def]
    counter = itertools.count(seed)
    return lambda n: next(counter).to_bytes(n, "big")


def new_link(amount: str = "10", **changes: object) -> PayableLink:
    return create_link(draft(amount=amount, **changes), OWNER, TERMS, START, entropy_of(1))


def new_payable(amount: str = "10", **changes: object) -> Payable:
    """Returns the payable of a new link."""
    payment = new_link(amount, **changes)
    return Payable(payment.requests, payment.link)


def link_of(payable: Payable) -> Link:
    assert payable.link is not None
    return payable.link


def transfer(amount: int, number: int = 1, **changes: object) -> LoggedTransfer:
    """A logged transfer in a transaction and a block of its own, both called `number`."""
    token = token_with_id("fUSDC-sepolia")
    assert token is not None
    known = LoggedTransfer(
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
        event_key="e-0",
        payable_id="01M",
        paid_at=START,
        detected_at=START,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


class Ledger:
    """Applies decisions as the store would, in memory. `events` has each event and its variants."""

    def __init__(self, payable: Payable) -> None:
        self.state, self.by_transaction, self.events = payable, dict[str, Payment](), list[str]()

    @property
    def shown(self) -> PayableLink:
        return PayableLink(self.state.requests, link_of(self.state))

    @property
    def request(self) -> Request:
        return self.state.requests[0]

    @property
    def payments(self) -> list[Payment]:
        return list(self.by_transaction.values())

    def pay(self, paid: LoggedTransfer) -> Decision | None:
        known = self.by_transaction.get(paid.tx_hash)
        return self._apply(record(self.state, self.request, known, paid, Valuation(paid.amount), CONTEXT))

    def lose(self, payment: Payment) -> Decision | None:
        return self._apply(reverse(self.state, self.request, payment, self.payments, CONTEXT))

    def subtract(self, removed: LoggedTransfer) -> None:
        self._apply(subtract(self.state, self.request, removed, CONTEXT))

    def _apply(self, decision: Decision | None) -> Decision | None:
        if decision is not None:
            for payment in (decision.payment, decision.announced):
                if payment is not None:
                    self.by_transaction[payment.tx_hash] = payment
            self.state = apply(self.state, decision)
            for event in decision.events:
                self.events += [event.kind, *(variant.kind for variant in event.variants)]
        return decision


STEPS = st.lists(st.tuples(st.sampled_from(["pay", "lose"]), st.integers(1, 6), st.integers(1, 12_000_000)))


@given(STEPS)
def test_the_total_is_always_the_sum_of_the_payments_that_stand(steps: list[tuple[str, int, int]]) -> None:
    ledger = Ledger(new_payable())
    for act, number, amount in steps:
        if act == "pay":
            ledger.pay(transfer(amount, number))
        else:
            for payment in [p for p in ledger.payments if p.log_index == number]:
                ledger.lose(payment)
        request = ledger.request
        standing = [p.amount for p in ledger.payments if p.status is PaymentStatus.CONFIRMED]
        assert request.paid == sum(standing)
        assert (request.status is RequestStatus.PAID) == (request.paid >= request.amount)
        assert (link_of(ledger.state).status is LinkStatus.COMPLETED) == (request.status is RequestStatus.PAID)
        assert remaining(request) == max(request.amount - request.paid, 0)


@given(STEPS)
def test_every_repetition_of_a_transfer_changes_nothing(steps: list[tuple[str, int, int]]) -> None:
    once, twice = Ledger(new_payable()), Ledger(new_payable())
    for _, number, amount in steps:
        once.pay(transfer(amount, number))
        twice.pay(transfer(amount, number))
        twice.pay(transfer(amount, number))
    assert once.state == twice.state
    assert once.events == twice.events


def test_one_payment_makes_the_core_event_and_its_checkout_variant() -> None:
    ledger = Ledger(new_payable())
    ledger.pay(transfer(10_000_000))
    assert ledger.events == ["payment.confirmed", "payment.confirmed.checkout"]


def test_the_last_block_is_still_open_at_the_expiry_and_shut_from_it_on() -> None:
    link = link_of(new_payable())
    assert status_at(link, link.expires_at - timedelta(milliseconds=1)) is LinkStatus.PENDING
    assert status_at(link, link.expires_at) is LinkStatus.AWAITING_CHAIN


def test_an_expired_link_is_forbidden_and_a_completed_one_a_conflict_that_names_the_transaction() -> None:
    ledger = Ledger(new_payable())
    with pytest.raises(Forbidden) as forbidden:
        check_payable(ledger.shown, link_of(ledger.state).expires_at)
    assert body_of(forbidden.value)["code"] == "awaiting_chain"
    ledger.pay(transfer(10_000_000))
    with pytest.raises(Conflict) as conflict:
        check_payable(ledger.shown, START)
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
    payable = new_payable()
    assert mismatch(payable, payable.requests[0], transfer(1, **changes)) == reason


def test_a_tron_request_is_matched_by_the_hex_addresses_of_its_log() -> None:
    payee = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
    payable = new_payable(currency="USDT-tron", payee=payee, fee_percentage=None, fee_address=None)
    usdt = "0x" + b58decode_check("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")[1:].hex()
    found = transfer(1, network="tron", token_address=usdt, payee="0x" + b58decode_check(payee)[1:].hex())
    assert mismatch(payable, payable.requests[0], found) is None
    assert mismatch(payable, payable.requests[0], replace(found, token_address="0x" + "33" * 20)) == "wrong_token"
    assert mismatch(payable, payable.requests[0], replace(found, payee="0x" + "33" * 20)) == "wrong_payee"


def test_dust_beyond_a_limit_is_only_summed_up_and_what_completes_the_request_is_told() -> None:
    ledger = Ledger(new_payable())
    for number in range(1, MAX_SMALL_PAYMENTS + 6):
        ledger.pay(transfer(1, number))
    assert ledger.events == ["payment.partial", "payment.partial.checkout"] * MAX_SMALL_PAYMENTS
    assert len(ledger.payments) == ledger.request.payment_count == MAX_SMALL_PAYMENTS
    assert (ledger.request.dust_count, ledger.request.dust_amount) == (5, 5)
    assert ledger.request.paid == MAX_SMALL_PAYMENTS + 5
    ledger.pay(transfer(10_000_000, MAX_SMALL_PAYMENTS + 6))
    assert ledger.events[2 * MAX_SMALL_PAYMENTS :] == ["payment.confirmed", "payment.confirmed.checkout"]
    assert link_of(ledger.state).status is LinkStatus.COMPLETED


@given(st.permutations(range(4)), st.integers(0, 3))
def test_a_link_of_several_requests_is_complete_with_its_last_one_and_reopened_by_losing_any(
    order: list[int], lost: int
) -> None:
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    state = new_payable(items=(item,) * 4)
    assert must_write_link(new_payable(items=(item,) * 2)) and not must_write_link(new_payable())
    payments = {}
    for paid, position in enumerate(order, 1):
        new = transfer(1_000_000, position + 1)
        decision = record(state, state.requests[position], None, new, Valuation(new.amount), CONTEXT)
        assert decision is not None
        assert (decision.link is not None) == (paid == 4)
        state, payments[position] = apply(state, decision), decision.payment
    assert (link_of(state).status, link_of(state).completed_at) == (LinkStatus.COMPLETED, START)
    undone = reverse(state, state.requests[lost], payments[lost], [payments[lost]], CONTEXT)
    assert undone is not None
    state = apply(state, undone)
    assert (link_of(state).status, link_of(state).completed_at) == (LinkStatus.PENDING, None)


@given(st.integers(1, 10**12), st.integers(0, 10_000))
def test_amount_and_fee_of_parts_never_exceed_those_of_the_whole(amount: int, basis_points: int) -> None:
    link = link_of(new_payable(fee_percentage=f"{basis_points // 100}.{basis_points % 100:02}"))
    first, second = BaseUnits(amount // 3), BaseUnits(amount - amount // 3)
    assert link.fee.on(first) + link.fee.on(second) <= link.fee.on(BaseUnits(amount))
    assert link.fee.on(BaseUnits(amount)) - link.fee.on(first) - link.fee.on(second) <= 1


def test_a_draft_is_judged_whole_before_anything_is_made() -> None:
    items = (Item("1", None, PAYEE, "FAU-sepolia", "FAU-sepolia"), Item("0", None, PAYEE, "FAU-sepolia", "FAU-sepolia"))
    with pytest.raises(BadRequest, match="greater than 0"):
        create_link(Draft(items, None, None, None, None, None, None), OWNER, TERMS, START, entropy_of(1))


def test_of_a_request_100_small_payments_are_listed_and_2000_of_any_size() -> None:
    assert (SMALL_PART, MAX_SMALL_PAYMENTS, MAX_PAYMENTS) == (1000, 100, 2000)


def with_payments(count: int, paid: int = 0) -> Payable:
    """The payable of one request for 10, to which so many payments were made before."""
    payable = new_payable()
    (request,) = payable.requests
    status = RequestStatus.PAID if paid >= request.amount else RequestStatus.CREATED
    return replace(payable, requests=(replace(request, payment_count=count, paid=BaseUnits(paid), status=status),))


@pytest.mark.parametrize(
    ("count", "paid", "amount", "is_listed"),
    [
        (99, 0, 1, True),
        (100, 0, 1, False),
        (100, 0, 9_999, False),
        (100, 0, 10_000, True),
        (1_999, 0, 10_000, True),
        (2_000, 0, 10_000, False),
        (2_000, 0, 10_000_000, True),
        (2_000, 9_999_999, 1, True),
        (1_999, 10_000_000, 5_000_000, True),
        (2_000, 10_000_000, 5_000_000, False),
        (100, 10_000_000, 9_999, False),
    ],
    ids=[
        "small, below the limit",
        "small, at the limit",
        "just small",
        "just not small",
        "large, below the limit",
        "large, at the limit",
        "completes the request at once",
        "completes the request with one unit",
        "of a paid request, below the limit",
        "of a paid request, at the limit",
        "of a paid request, small",
    ],
)
def test_a_payment_is_listed_if_it_is_large_enough_or_one_of_the_first_or_completes_the_request(
    count: int, paid: int, amount: int, is_listed: bool
) -> None:
    payable = with_payments(count, paid)
    decision = record(payable, payable.requests[0], None, transfer(amount), Valuation(BaseUnits(amount)), CONTEXT)
    assert decision is not None
    assert (decision.payment is not None) is is_listed
    after = decision.request
    assert after.paid == paid + amount
    assert after.payment_count == count + is_listed
    assert (after.dust_count, after.dust_amount) == ((0, 0) if is_listed else (1, amount))


def test_a_payment_that_is_only_summed_up_can_be_subtracted_again_and_reopens_the_link() -> None:
    ledger = Ledger(with_payments(MAX_PAYMENTS))
    ledger.pay(transfer(5_000, 1))
    assert ledger.payments == []
    ledger.pay(transfer(9_995_000, 2))
    assert link_of(ledger.state).status is LinkStatus.COMPLETED
    notified = list(ledger.events)
    ledger.subtract(transfer(5_000, 1, value=BaseUnits(5_000)))
    assert (ledger.request.paid, ledger.request.dust_count, ledger.request.dust_amount) == (9_995_000, 0, 0)
    assert (ledger.request.status, link_of(ledger.state).status) == (RequestStatus.PARTIALLY_PAID, LinkStatus.PENDING)
    assert ledger.events == [*notified, "payment.failed"], "the merchant was told that it is paid"


def test_a_surplus_is_told_as_unexpected_alone_and_so_is_its_loss() -> None:
    ledger = Ledger(new_payable())
    ledger.pay(transfer(10_000_000, 1))
    notified = list(ledger.events)
    ledger.pay(transfer(5, 2))
    surplus = ledger.payments[1]
    assert (surplus.is_announced, ledger.request.tx_hash) == (False, ledger.payments[0].tx_hash)
    ledger.lose(surplus)
    assert (ledger.events, ledger.request.paid) == ([*notified, *["payment.unexpected"] * 2], 10_000_000)
    assert link_of(ledger.state).status is LinkStatus.COMPLETED


def test_an_announced_payment_that_is_lost_while_a_surplus_keeps_the_request_paid_is_replaced_by_the_surplus() -> None:
    ledger = Ledger(new_payable())
    for number in (1, 2, 3):
        ledger.pay(transfer(10_000_000, number))
    notified, (first, _, newest) = len(ledger.events), ledger.payments
    ledger.lose(first)
    assert ledger.events[notified:] == ["payment.failed", "payment.confirmed", "payment.confirmed.checkout"]
    assert [each.is_announced for each in ledger.payments] == [True, False, True]
    assert ledger.request.tx_hash == newest.tx_hash
    assert link_of(ledger.state).status is LinkStatus.COMPLETED


def test_a_payment_that_comes_back_is_announced_again_if_it_completes_the_request_or_is_a_part() -> None:
    ledger = Ledger(new_payable())
    ledger.pay(transfer(10_000_000))
    ledger.lose(ledger.payments[0])
    ledger.pay(transfer(10_000_000))
    assert ledger.events == [
        "payment.confirmed",
        "payment.confirmed.checkout",
        "payment.failed",
        "payment.confirmed",
        "payment.confirmed.checkout",
    ]
    (payment,) = ledger.payments
    assert (payment.status, payment.is_announced) == (PaymentStatus.CONFIRMED, True)
    assert ledger.request.payment_count == 1


def test_a_payment_that_is_recorded_again_in_another_block_changes_its_block_only() -> None:
    ledger = Ledger(new_payable())
    ledger.pay(transfer(4_000_000, 1))
    before, notified = ledger.request, list(ledger.events)
    moved = transfer(4_000_000, 1, block_number=9, block_hash="0x99", log_index=7, paid_at=START + timedelta(seconds=9))
    decision = ledger.pay(moved)
    assert decision is not None
    assert (ledger.request, ledger.events) == (before, notified)
    (payment,) = ledger.payments
    assert (payment.block_number, payment.block_hash, payment.log_index) == (9, "0x99", 7)
    assert payment.paid_at == START + timedelta(seconds=9)
    assert ledger.pay(moved) is None


def test_a_request_that_loses_its_payments_has_the_hash_of_the_last_one_that_stands() -> None:
    ledger = Ledger(new_payable())
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
    payable = new_payable()
    completed = replace(payable, link=replace(link_of(payable), status=LinkStatus.COMPLETED, completed_at=START))
    later = replace(CONTEXT, now=START + timedelta(hours=1))
    decision = record(
        completed, completed.requests[0], None, transfer(10_000_000), Valuation(BaseUnits(10_000_000)), later
    )
    assert decision is not None
    assert decision.link is None


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_period_of_a_recurring_payout_that_a_fork_makes_unpaid_is_marked_for_it(is_listed: bool) -> None:
    """Not one that is paid all the same, and no other request."""
    for recurring_id, left, marked in (("01R", 5, START), ("01R", 10, None), (None, 5, None)):
        payable = new_payable()
        paid = replace(
            payable.requests[0],
            status=RequestStatus.PAID,
            paid=BaseUnits(5_000_000 + left * 1_000_000),
            payment_count=1,
            recurring_payment_id=recurring_id,
        )
        lost = transfer(5_000_000)
        if is_listed:
            known = record(payable, payable.requests[0], None, lost, Valuation(lost.amount), CONTEXT)
            assert known is not None and known.payment is not None
            undone = reverse(payable, paid, known.payment, [known.payment], CONTEXT)
        else:
            undone = subtract(payable, paid, replace(lost, value=lost.amount), CONTEXT)
        assert undone is not None and undone.request.unpaid_at == marked
