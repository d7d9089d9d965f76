"""Accepting what was paid as full payment: what is refused, what changes, and what becomes of what is paid afterwards."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.links import expiry
from chalicelib.payments.links.cancelling import flows as cancelling
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.executions import begin_execution
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import remaining
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.transfers.accepting import flows
from chalicelib.payments.transfers.accepting.rules import check
from chalicelib.payments.transfers.rules import Classification, RecoveryAction
from infra.check.invariants import KINDS, Picture, violations
from tests.fakes.announcements import record, with_safe
from tests.fakes.commerce import new_payment
from tests.fakes.payouts import store_payouts
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, World
from tests.payments.links.cancelling.test_flows import audited, kinds, listed, notified

FULL, PART = 12_500_000, 4_000_000


def accept(world: World, request: Request, services: Any = None) -> Request:
    world.advance(1)  # events of one millisecond have no order
    viewer = Viewer(world.account_id, None)
    return flows.accept(services or world.services, request.request_id, viewer, world.actor)


def paid_in_part(world: World, request: Request, amount: int = PART) -> Request:
    world.chain.pay(request, amount=amount)
    world.scan()
    return load_request(world.services, request)


def assert_sound(world: World) -> None:
    """What is checked of a stage, is true here."""
    stored = [record for kinds in KINDS for record, _ in world.services.store.scan(kinds)]
    assert list(map(str, violations(Picture.of(stored, world.now)))) == []


def test_what_was_paid_of_a_link_is_accepted_once_and_nothing_more_is_owed(world: World) -> None:
    payment = world.create_link()
    paid_in_part(world, payment.requests[0])
    first = accept(world, payment.requests[0])
    assert (first.status, first.paid, first.due, remaining(first)) == (RequestStatus.PAID, PART, PART, 0)
    assert first.accepted_at == world.now
    assert accept(world, payment.requests[0]) == first == load_request(world.services, first)
    link = world.load(payment).link
    assert (link.status, link.completed_at) == (LinkStatus.COMPLETED, first.accepted_at)
    assert kinds(world) == ["payment.partial", "payment.confirmed"]
    body = notified(world)[-1]
    said = [body[name] for name in ("amount", "totalAmountPaid", "expectedAmount", "labels", "reference", "txHash")]
    assert said == ["0", "4", "12.5", ["under"], "INV-1", first.tx_hash]
    assert audited(world) == [("request.accepted", first.request_id)]
    assert_sound(world)


def test_what_was_paid_of_a_request_without_a_link_is_accepted(world: World) -> None:
    request = store_request(world.services)
    paid_in_part(world, request)
    assert accept(world, request).status is RequestStatus.PAID
    assert kinds(world) == ["payment.partial", "payment.confirmed"]


def test_a_link_that_has_expired_is_completed_by_it(world: World) -> None:
    payment = world.create_link()
    paid_in_part(world, payment.requests[0])
    world.expire(payment)
    accept(world, payment.requests[0])
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert expiry.expire_due(world.services) == 0


def test_of_several_requests_the_last_one_completes_the_link(world: World) -> None:
    item = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    payment = world.create_link(items=(item, item))
    for each, status in zip(payment.requests, (LinkStatus.PENDING, LinkStatus.COMPLETED), strict=True):
        paid_in_part(world, each)
        accept(world, each)
        assert world.load(payment).link.status is status
    assert_sound(world)


def test_what_is_paid_afterwards_is_not_owed_and_offered_to_be_refunded(world: World) -> None:
    payment = world.create_link()
    paid_in_part(world, payment.requests[0])
    accept(world, payment.requests[0])
    world.advance(1)
    after = paid_in_part(world, payment.requests[0], FULL - PART)
    assert (after.status, after.paid, after.due, remaining(after)) == (RequestStatus.PAID, FULL, PART, 0)
    body = notified(world)[-1]
    assert (body["event"], body["labels"], body["amount"]) == ("payment.unexpected", ["duplicate"], "8.5")
    found = [(each.classification, each.action, each.refundable) for each in listed(world, after)]
    assert found == [
        (Classification.PARTIAL, RecoveryAction.NONE, 0),
        (Classification.DUPLICATE, RecoveryAction.REFUND, FULL - PART),
    ]
    assert_sound(world)


def test_a_fork_that_takes_an_accepted_payment_away_leaves_that_amount_owed_until_it_is_back(world: World) -> None:
    payment = world.create_link()
    paid_in_part(world, payment.requests[0])
    request = accept(world, payment.requests[0])
    dropped = world.chain.fork(4)
    world.scan()
    after = load_request(world.services, request)
    assert (after.status, after.paid, remaining(after)) == (RequestStatus.CREATED, 0, PART)
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert kinds(world)[-1] == "payment.failed"
    assert_sound(world)
    world.chain.restore(dropped)
    world.chain.mine(10)
    world.scan()
    after = load_request(world.services, request)
    assert (after.status, after.paid, remaining(after)) == (RequestStatus.PAID, PART, 0)
    last = notified(world)[-1]
    assert (last["event"], last["amount"], last["labels"]) == ("payment.confirmed", "4", ["under"])
    assert_sound(world)


def test_what_a_fork_leaves_of_an_accepted_request_is_accepted_anew(world: World) -> None:
    request = store_request(world.services)
    paid_in_part(world, request)
    world.chain.mine(10)
    paid_in_part(world, request, 1_000_000)
    assert accept(world, request).due == 5_000_000
    world.chain.fork(4)
    world.chain.mine(4)
    world.scan()
    left = load_request(world.services, request)
    assert (left.status, remaining(left)) == (RequestStatus.PARTIALLY_PAID, 1_000_000)
    assert accept(world, request).due == PART
    assert_sound(world)


def test_what_another_account_or_client_id_has_is_not_found(world: World) -> None:
    request = store_request(world.services, client_id="cli_shop")
    paid_in_part(world, request)
    for who in (Viewer("another", None), Viewer(world.account_id, "cli_other"), Viewer("another", None, True)):
        with pytest.raises(NotFound):
            flows.accept(world.services, request.request_id, who, world.actor)
    assert kinds(world) == ["payment.partial"]


# --- what is refused ---


def test_only_what_was_paid_in_part_and_is_kept_is_accepted(world: World) -> None:
    unpaid, paid, cancelled, refunded = (store_request(world.services) for _ in range(4))
    with pytest.raises(Conflict, match="No payment of this counts"):
        accept(world, unpaid)
    paid_in_part(world, paid, FULL)
    with pytest.raises(Conflict, match="paid already: what was paid too much"):
        accept(world, paid)
    cancelling.cancel_request(world.services, cancelled.request_id, Viewer(world.account_id, None), world.actor)
    paid_in_part(world, cancelled)
    with pytest.raises(Conflict, match="was cancelled: refund"):
        accept(world, cancelled)
    received = paid_in_part(world, refunded)
    world.services.store.write(replace(received, refunded=received.received, refund_count=1))
    with pytest.raises(Conflict, match="was refunded, so there is nothing"):
        accept(world, refunded)


def test_what_is_paid_in_another_way_says_what_to_do(world: World) -> None:
    period = store_request(world.services, recurring_payment_id="RECURRING")
    to_fiat = store_request(world.services, is_crypto_to_fiat=True)
    (payout,) = store_payouts(world.services, world.account_id, 1)
    escrowed = world.create_link()
    fields = {"payable_id": escrowed.link.token, "request_id": escrowed.requests[0].request_id}
    world.services.store.write(new_payment(world.now, **fields))
    for request, words in (
        (period, "paid whole or not at all"),
        (to_fiat, "ask for the rest"),
        (escrowed.requests[0], "capture what is held, or void it"),
    ):
        with pytest.raises(BadRequest, match=words):
            accept(world, request)
    with pytest.raises(BadRequest, match=f"{payout.link.token}/cancel"):
        check(payout.requests[0], payout)


def test_a_transfer_that_was_seen_and_is_not_recorded_is_waited_for(world: World) -> None:
    request = store_request(world.services)
    paid_in_part(world, request)
    world.chain.pay(request, amount=FULL - PART)
    world.chain.mine(2)
    scan_chain(world.services, json.dumps({"network": "sepolia"}))
    with pytest.raises(Conflict, match="being recorded"):
        accept(world, request)
    world.record()
    with pytest.raises(Conflict, match="paid already"):
        accept(world, request)


def test_an_announced_transaction_is_waited_for_until_its_end_or_its_withdrawal(world: World) -> None:
    with_safe(world)
    payment = world.create_link()
    paid_in_part(world, payment.requests[0])
    record(world, payment)
    with pytest.raises(Conflict, match=f"DELETE /v2/secure-payments/{payment.link.token}/intent"):
        accept(world, payment.requests[0])
    announcements.withdraw(world.services, payment.link.token, Viewer(world.account_id, None))
    assert accept(world, payment.requests[0]).status is RequestStatus.PAID


def test_a_payment_that_its_payer_has_signed_is_waited_for(world: World) -> None:
    request = store_request(world.services)
    received = paid_in_part(world, request)
    world.services.store.write(replace(received, execution=begin_execution(None, "INTENT", is_public=True)))
    with pytest.raises(Conflict, match="DELETE /v2/request/payment-intents/INTENT"):
        accept(world, request)


def test_an_invoice_in_dollars_is_accepted_in_dollars(world: World) -> None:
    request = store_request(world.services, amount=BaseUnits(1_250_000_000), invoice_currency="USD")
    half = replace(request, paid=BaseUnits(625_000_000), status=RequestStatus.PARTIALLY_PAID, tx_hash="0x" + "ab" * 32)
    world.services.store.write(replace(half, received=BaseUnits(6_250_000)))
    after = accept(world, request)
    assert (after.due, remaining(after)) == (625_000_000, 0)
    assert notified(world)[-1]["totalAmountPaid"] == "6.25"
