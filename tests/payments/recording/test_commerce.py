"""Commerce payments: what the recorder makes of the events of the escrow, and what it tells of them."""

import json
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.records import CommercePayment, EntryState, EscrowEntry, OperationKind
from chalicelib.commerce.core.rules import Operation, Refusal, begin_operation, reserve
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.recording import flows
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Direction, Payment, PaymentStatus, SentRefund
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.scanning.rules import LEASE
from chalicelib.webhooks.publisher import sweep as sweep_outbox
from tests.fakes.commerce import (
    BUYER,
    HOUR,
    OTHER,
    FakeEscrow,
    ask_as,
    hash_with,
    load_commerce,
    load_payable,
    store_commerce,
)
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import PAYEE, World, in_process_aws
from tests.support.rehearsed import few

Kind = EscrowEventKind
FEES = "0x" + "9" * 40


@pytest.fixture
def errors(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The errors that are logged."""
    found = list[str]()
    monkeypatch.setattr(world.services.log, "error", lambda message, **_: found.append(message))
    return found


def started(world: World, **changes: Any) -> tuple[CommercePayment, FakeEscrow]:
    world.register_webhook()
    world.tick()
    payment = store_commerce(world, **changes)
    return payment, FakeEscrow(world.chain, payment)


def totals(world: World, payment: CommercePayment) -> dict[str, int]:
    """The totals that are not zero."""
    found = load_commerce(world.services, payment)
    names = ("authorized", "captured", "fees", "voided", "reclaimed", "refunded", "capturable")
    return {name: getattr(found, name) for name in names if getattr(found, name)}


def request_of(world: World, payment: CommercePayment) -> Request:
    (request,) = load_payable(world.services, payment).requests
    return request


def payments_of(world: World, payment: CommercePayment) -> list[Payment]:
    return [
        each
        for each in payment_store.payments(world.services.store, payment.request_id)
        if each.status is PaymentStatus.CONFIRMED
    ]


def entries(world: World, payment: CommercePayment) -> list[tuple[str, int, EntryState]]:
    keys = EscrowEntry.KEY.all(request_id=payment.request_id)
    found = world.services.store.query(EscrowEntry, keys)
    return [(each.kind.value, each.amount, each.state) for each in found]


def bodies(world: World) -> list[dict[str, Any]]:
    world.drain()
    copies = (".client_id", ".checkout")
    return [json.loads(each.body) for each in world.receiver.posted if not each.event.endswith(copies)]


def notified(world: World) -> list[str]:
    return [each["event"] for each in bodies(world)]


def test_an_authorization_is_no_payment_and_tells_nobody(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.PRE_APPROVED)
    escrow.log(Kind.AUTHORIZED, 100)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "capturable": 100}
    found = load_commerce(world.services, payment)
    assert (found.pre_approved_by, found.payer, found.check_at) == ((BUYER,), BUYER, found.changed_at)
    assert (request_of(world, payment).status, payments_of(world, payment), notified(world)) == (RequestStatus.CREATED, [], [])
    assert entries(world, payment) == [("authorized", 100, EntryState.POSTED)]


def test_a_fork_takes_back_a_pre_approval_or_moves_it(world: World) -> None:
    payment, escrow = started(world, buyer=None)
    ask_as(world.services, payment, BUYER)
    escrow.log(Kind.PRE_APPROVED)
    world.scan()
    world.chain.fork(3, moved_by=1)
    world.scan()
    assert load_commerce(world.services, payment).pre_approved_by == (BUYER,)
    world.chain.fork(6)
    world.scan()
    assert load_commerce(world.services, payment).pre_approved_by == ()


def test_more_captures_than_fit_into_a_transaction_are_all_recorded(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    for _ in range(25):
        escrow.log_too(Kind.CAPTURED, 2, 1000, FEES)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 50, "capturable": 50}
    assert len(payments_of(world, payment)) == 25
    world.chain.fork(3, moved_by=1)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 50, "capturable": 50}
    world.chain.fork(6)
    world.scan()
    assert (totals(world, payment), payments_of(world, payment)) == ({}, [])


def test_captures_are_payments_with_what_the_merchant_got_and_the_fee(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    escrow.log(Kind.CAPTURED, 60, 250, FEES)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 60, "fees": 1, "capturable": 40}
    (paid,) = payments_of(world, payment)
    assert (paid.amount, paid.fee_amount, paid.fee_address, paid.value, paid.payer) == (59, 1, FEES, 60, BUYER)
    assert (paid.payee, paid.currency, request_of(world, payment).paid) == (PAYEE, "fUSDC-sepolia", 60)
    (body,) = bodies(world)
    assert (body["event"], body["amount"], body["expectedAmount"]) == ("payment.partial", "0.00006", "0.0001")
    assert (body["payerAddress"], body["fees"][0]["amount"]) == (BUYER, "0.000001")
    escrow.log(Kind.CAPTURED, 40)
    world.scan()
    assert notified(world) == ["payment.partial", "payment.confirmed"]
    payable = load_payable(world.services, payment)
    assert payable.link is not None and payable.link.status is LinkStatus.COMPLETED


def test_a_charge_is_a_payment_at_once_and_expects_what_was_charged(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.CHARGED, 70, 1000, FEES)
    world.scan()
    assert totals(world, payment) == {"authorized": 70, "captured": 70, "fees": 7}
    request = request_of(world, payment)
    assert (request.amount, request.status, notified(world)) == (70, RequestStatus.PAID, ["payment.confirmed"])


@pytest.mark.parametrize(("kind", "reason"), [(Kind.VOIDED, "voided"), (Kind.RECLAIMED, "reclaimed")])
def test_an_authorization_that_ends_without_a_capture_has_failed(world: World, kind: Kind, reason: str) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    log = escrow.log(kind, 100)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, reason: 100}
    (body,) = bodies(world)
    assert (body["event"], body["subStatus"], body["failureReason"]) == ("payment.failed", "failed", reason)
    assert (body["amount"], body["totalAmountPaid"], body["txHash"]) == ("0.0001", "0", log["transactionHash"])


@pytest.mark.parametrize("end", [Kind.VOIDED, Kind.RECLAIMED])
def test_after_the_end_of_the_rest_what_was_captured_is_all_that_was_expected(world: World, end: Kind) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    escrow.log(Kind.CAPTURED, 60)
    world.scan()
    log = escrow.log(end, 40)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 60, end.value: 40}
    assert notified(world) == ["payment.partial", "payment.confirmed"]
    request = request_of(world, payment)
    assert (request.status, request.amount, request.paid) == (RequestStatus.PAID, 60, 60)
    body = bodies(world)[-1]
    assert (body["amount"], body["totalAmountPaid"], body["expectedAmount"]) == ("0", "0.00006", "0.00006")
    assert (body["txHash"], body["payerAddress"], body["fees"]) == (log["transactionHash"], BUYER, [])
    link = load_payable(world.services, payment).link
    assert link is not None and link.status is LinkStatus.COMPLETED
    assert len(payments_of(world, payment)) == 1, "the end is no payment"
    dropped = world.chain.fork(3)
    world.scan()
    link, request = load_payable(world.services, payment).link, request_of(world, payment)
    assert (request.status, request.amount) == (RequestStatus.PARTIALLY_PAID, 100)
    assert link is not None and link.status is not LinkStatus.COMPLETED
    assert notified(world) == ["payment.partial", "payment.confirmed", "payment.failed"]
    body = bodies(world)[-1]
    assert (body["failureReason"], body["txHash"]) == ("chain_reorganization", log["transactionHash"])
    assert (body["amount"], body["totalAmountPaid"], body["expectedAmount"]) == ("0", "0.00006", "0.0001")
    world.chain.restore(dropped)
    world.scan()
    world.scan()
    assert notified(world)[3:] == ["payment.confirmed"]


def test_a_fork_that_removes_the_last_capture_and_the_void_after_it_tells_each(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    world.scan()
    escrow.log(Kind.CAPTURED, 60)
    escrow.log(Kind.VOIDED, 40)
    world.scan()
    assert notified(world) == ["payment.partial", "payment.confirmed"]
    world.chain.fork(4)
    world.scan()
    request = request_of(world, payment)
    assert (request.status, request.amount, request.paid) == (RequestStatus.CREATED, 100, 0)
    assert bodies(world)[-1]["totalAmountPaid"] == "0"
    assert set(notified(world)[2:]) == {"payment.failed"}


def test_refunds_are_told_and_leave_what_was_paid(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.CHARGED, 100)
    log = escrow.log(Kind.REFUNDED, 10)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 100, "refunded": 10}
    body = bodies(world)[-1]
    assert (body["event"], body["refundedTo"], body["refundAmount"]) == ("payment.refunded", BUYER, "0.00001")
    assert (body["txHash"], request_of(world, payment).paid) == (log["transactionHash"], 100)


def test_refunds_are_lines_of_their_own_that_subtract_and_that_a_fork_moves_or_takes_back(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.CHARGED, 100, fee_bps=100, fee_receiver=FEES)
    world.scan()
    escrow.log(Kind.REFUNDED, 60)
    escrow.log(Kind.REFUNDED, 40)
    world.scan()

    def lines() -> list[tuple[int, int | None, str, str]]:
        keys = SentRefund.KEY.all(request_id=payment.request_id)
        found = world.services.store.query(SentRefund, keys)
        assert all(each.direction is Direction.OUT and each.payee == BUYER for each in found)
        assert all(each.is_counted is (each.status is PaymentStatus.CONFIRMED) for each in found)
        return sorted((each.amount, each.value, each.payer or "", each.status.value) for each in found)

    confirmed = [(40, 40, PAYEE, "confirmed"), (60, 60, PAYEE, "confirmed")]
    assert lines() == confirmed
    assert (request_of(world, payment).refunded, request_of(world, payment).refund_count) == (100, 2)
    world.chain.fork(3, moved_by=1)
    world.scan()
    world.scan()
    assert (lines(), request_of(world, payment).refunded) == (confirmed, 100)
    dropped = world.chain.fork(9)
    world.scan()
    assert [each[3] for each in lines()] == ["reversed", "reversed"]
    assert (request_of(world, payment).refunded, request_of(world, payment).refund_count) == (0, 0)
    world.chain.restore(dropped)
    world.scan()
    world.scan()
    assert (lines(), request_of(world, payment).refunded) == (confirmed, 100)


def test_a_fork_undoes_a_capture_and_says_so(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    world.scan()
    escrow.log(Kind.CAPTURED, 100)
    world.scan()
    world.chain.fork(3)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "capturable": 100}
    assert (payments_of(world, payment), request_of(world, payment).status) == ([], RequestStatus.CREATED)
    assert notified(world) == ["payment.confirmed", "payment.failed"]
    assert bodies(world)[-1]["failureReason"] == "chain_reorganization"
    assert entries(world, payment) == [("authorized", 100, EntryState.POSTED), ("captured", 100, EntryState.VOIDED)]


def test_a_fork_that_moves_the_events_changes_only_their_blocks(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    escrow.log(Kind.CAPTURED, 100)
    world.scan()
    world.chain.fork(4, moved_by=1)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 100}
    assert notified(world) == ["payment.confirmed"]
    posted = [(kind, amount) for kind, amount, state in entries(world, payment) if state is EntryState.POSTED]
    assert posted == [("authorized", 100), ("captured", 100)]


def test_events_that_come_back_after_a_fork_count_once(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    escrow.log(Kind.CAPTURED, 30)
    world.scan()
    dropped = world.chain.fork(4)
    world.scan()
    assert totals(world, payment) == {}
    world.chain.restore(dropped)
    world.scan()
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 30, "capturable": 70}
    (paid,) = payments_of(world, payment)
    assert paid.value == 30


def pending(world: World, payment: CommercePayment, kind: OperationKind, amount: int | None = None) -> None:
    now, stored = world.now, load_commerce(world.services, payment)
    reserved = reserve(stored, Operation(kind, amount), now)  # type: ignore[arg-type]
    assert not isinstance(reserved, Refusal)
    world.services.store.write(begin_operation(stored, reserved, now))


def test_the_event_of_a_pending_operation_ends_it_and_a_fork_makes_it_pending_again(world: World) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    world.scan()
    pending(world, payment, OperationKind.CAPTURE, 60)
    before = load_commerce(world.services, payment).pending
    escrow.log(Kind.CAPTURED, 60)
    world.scan()
    assert load_commerce(world.services, payment).pending is None
    world.chain.fork(3)
    world.scan()
    assert load_commerce(world.services, payment).pending == before
    escrow.log(Kind.CAPTURED, 60)
    world.scan()
    found = load_commerce(world.services, payment)
    assert (found.pending, found.captured) == (None, 60)


def test_an_open_payment_is_of_the_wallet_that_the_escrow_takes_the_money_from(world: World) -> None:
    payment, escrow = started(world, buyer=None)
    for wallet in (OTHER, BUYER):
        ask_as(world.services, payment, wallet)
        FakeEscrow(world.chain, payment, wallet).log(Kind.PRE_APPROVED)
    world.scan()
    found = load_commerce(world.services, payment)
    assert (found.payer, found.payment_hash, found.pre_approved_by) == (None, None, (OTHER, BUYER))
    escrow.log(Kind.AUTHORIZED, 100)
    world.scan()
    found = load_commerce(world.services, payment)
    assert (found.payer, found.payment_hash) == (BUYER, hash_with(payment, BUYER))
    (kept,) = request_store.references(world.services.store, [hash_with(payment, BUYER)])
    (asked,) = request_store.references(world.services.store, [hash_with(payment, OTHER)])
    assert (kept.expires_at, asked.expires_at is not None) == (None, True)
    world.chain.fork(3)
    world.scan()
    found = load_commerce(world.services, payment)
    assert (found.payer, found.payment_hash, found.authorized) == (None, None, 0)


def test_the_money_of_a_second_wallet_is_in_no_books_and_an_error(world: World, errors: list[str]) -> None:
    payment, _ = started(world, buyer=None)
    for wallet in (OTHER, BUYER):
        ask_as(world.services, payment, wallet)
        FakeEscrow(world.chain, payment, wallet).log(Kind.AUTHORIZED, 100)
    world.scan()
    assert load_commerce(world.services, payment).payer == OTHER
    assert totals(world, payment) == {"authorized": 100, "capturable": 100}
    assert errors == ["escrow differs"]


def test_a_capture_without_its_authorization_is_recorded_and_an_error_until_that_is_read(
    world: World, errors: list[str]
) -> None:
    payment, escrow = started(world)
    escrow.log(Kind.AUTHORIZED, 100)
    escrow.log(Kind.CAPTURED, 60)
    missed = world.chain.blocks[-2].logs.pop()
    world.scan()
    assert (totals(world, payment), errors) == ({"captured": 60}, ["escrow differs"])
    world.chain.blocks[-4].logs.append(missed)
    world.advance(700)
    world.scan()
    assert totals(world, payment) == {"authorized": 100, "captured": 60, "capturable": 40}


def test_what_is_paid_beside_the_escrow_is_no_payment(world: World) -> None:
    payment, _ = started(world)
    world.chain.pay(request_of(world, payment))
    world.scan()
    assert (payments_of(world, payment), notified(world)) == ([], [])
    (stray,) = payment_store.list_unmatched_transfers(world.services.store, payment.request_id)
    assert stray.reason == "wrong_payee"


def test_events_of_another_contract_or_hash_have_no_effect(world: World) -> None:
    payment, escrow = started(world)
    log = escrow.log(Kind.AUTHORIZED, 100)
    log["address"] = "0x" + "a" * 40
    stranger = escrow.log(Kind.AUTHORIZED, 100)
    stranger["topics"][1] = "0x" + "b" * 64
    world.scan()
    assert (totals(world, payment), entries(world, payment)) == ({}, [])


@pytest.mark.parametrize("calls", few(range(1, 40, 3), range(1, 40)))
def test_a_crash_at_any_call_leaves_the_books_and_events_complete_in_the_end(calls: int) -> None:
    with in_process_aws():
        world = World()
        payment, escrow = started(world)
        escrow.log(Kind.AUTHORIZED, 100)
        escrow.log(Kind.CAPTURED, 60)
        escrow.log(Kind.VOIDED, 40)
        world.chain.mine(2)
        tripwire = Tripwire(calls)
        dying = world.start(client=FragileClient(world.client, tripwire))
        with suppress(Crash):
            scan_chain(dying, json.dumps({"network": "sepolia"}))
            flows.record_payable(dying, payment.payable_id)
        world.advance(LEASE.total_seconds() + 61)
        world.tick()
        flows.queue_overdue(world.services)
        world.record()
        world.drain()
        sweep_outbox(world.services)
        assert totals(world, payment) == {"authorized": 100, "captured": 60, "voided": 40}
        assert set(notified(world)) == {"payment.partial", "payment.confirmed"}
        assert len(payments_of(world, payment)) == 1


def test_times_are_those_of_the_blocks(world: World) -> None:
    payment, escrow = started(world)
    assert payment.pre_approval_expiry == payment.created_at + HOUR
    escrow.log(Kind.AUTHORIZED, 100)
    number = len(world.chain.blocks) - 1
    world.scan()
    (entry,) = world.services.store.query(EscrowEntry, EscrowEntry.KEY.all(request_id=payment.request_id))
    assert entry.at == world.chain.block_facts([number])[number].time
