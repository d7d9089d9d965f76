"""Cancelling links and requests: what is refused, what changes at once, and what becomes of money that arrives."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.links import expiry
from chalicelib.payments.links.cancelling import flows
from chalicelib.payments.links.cancelling.rules import AT_ONCE
from chalicelib.payments.links.errors import LinkClosed
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.multicalls.children import Reason
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.requests.executions import begin_execution
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import RequestCancelled, check_not_cancelled, remaining
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.transfers.rules import Classification, ClassifiedTransfer, RecoveryAction, classify
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.callers import Owner
from chalicelib.webhooks.records import Event
from tests.fakes.announcements import SAFE, is_free, record, with_safe
from tests.fakes.commerce import new_payment
from tests.fakes.crash import Crash, FragileClient, FragileWrites, Interruption, Tripwire
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.payouts import store_payouts
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, World

FULL = 12_500_000


def viewer(world: World) -> Viewer:
    return Viewer(world.account_id, None)


def cancel(world: World, payable: PayableLink, services: Any = None) -> PayableLink:
    world.advance(1)  # events of one millisecond have no order
    return flows.cancel_link(services or world.services, payable.link.token, viewer(world), world.actor)


def cancel_request(world: World, request: Request, services: Any = None) -> Request:
    world.advance(1)
    return flows.cancel_request(services or world.services, request.request_id, viewer(world), world.actor)


def notified(world: World) -> list[dict[str, Any]]:
    """The bodies of all events without their variants, in their order."""
    events = sorted((each for each, _ in world.services.store.scan([Event])), key=lambda each: each.event_id)  # type: ignore[attr-defined]
    bodies = [json.loads(each.body) for each in events if isinstance(each, Event)]
    for body in bodies:
        assert_is_described(body)
    return bodies


def kinds(world: World) -> list[str]:
    return [body["event"] for body in notified(world)]


def audited(world: World) -> list[tuple[str, str]]:
    found = (each for each, _ in world.services.store.scan([AuditEntry]))
    return [(each.action, each.target) for each in found if isinstance(each, AuditEntry)]


def listed(world: World, request: Request) -> list[ClassifiedTransfer]:
    """Every transfer of a request, as the list of them classifies it."""
    found = payment_store.payments(world.services.store, request.request_id)
    return list(classify(None, load_request(world.services, request), found, ()))


def batch(world: World, count: int) -> PayableLink:
    item = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    return world.create_link(items=(item,) * count)


def test_a_cancelled_link_says_so_once_and_can_be_paid_no_more(world: World) -> None:
    payment = world.create_link()
    first = cancel(world, payment)
    assert (first.link.status, first.link.cancelled_at) == (LinkStatus.CANCELLED, world.now)
    assert cancel(world, payment) == first == world.load(payment)
    (request,) = first.requests
    assert (request.shown_status, remaining(request), request.cancelled_at) == ("cancelled", 0, first.link.cancelled_at)
    with pytest.raises(LinkClosed) as refused:
        check_payable(world.load(payment), world.now)
    assert refused.value.link_status is LinkStatus.CANCELLED
    assert [(body["event"], body["requestId"], body["reference"]) for body in notified(world)] == [
        ("request.cancelled", request.request_id, "INV-1")
    ]
    assert audited(world) == [("secure_payment.cancelled", payment.link.token)]


def test_a_cancelled_request_says_so_once_and_can_be_paid_no_more(world: World) -> None:
    request = store_request(world.services)
    first = cancel_request(world, request)
    assert (first.status, first.cancelled_at) == (RequestStatus.CANCELLED, world.now)
    assert cancel_request(world, request) == first == load_request(world.services, request)
    with pytest.raises(RequestCancelled):
        check_not_cancelled(first)
    assert kinds(world) == ["request.cancelled"]
    assert audited(world) == [("request.cancelled", request.request_id)]


def test_what_another_account_or_client_id_has_is_not_found(world: World) -> None:
    payment, request = world.create_link(), store_request(world.services, client_id="cli_shop")
    for who in (Viewer("another", None), Viewer(world.account_id, "cli_other")):
        with pytest.raises(NotFound):
            flows.cancel_link(world.services, payment.link.token, who, world.actor)
        with pytest.raises(NotFound):
            flows.cancel_request(world.services, request.request_id, who, world.actor)
    assert kinds(world) == []


def test_a_link_may_be_cancelled_after_its_expiry_too(world: World) -> None:
    waiting, expired = world.create_link(), world.create_link()
    world.expire(expired)
    for payment in (waiting, expired):
        assert cancel(world, payment).link.status is LinkStatus.CANCELLED
    assert expiry.expire_due(world.services) == 0


def test_what_is_paid_is_not_cancelled(world: World) -> None:
    payment, request = world.create_link(), store_request(world.services)
    for each in (payment.requests[0], request):
        world.chain.pay(each)
    world.scan()
    with pytest.raises(Conflict, match="paid already"):
        cancel(world, payment)
    with pytest.raises(Conflict, match="paid already"):
        cancel_request(world, request)
    assert "request.cancelled" not in kinds(world)


def test_a_payment_that_arrives_all_the_same_is_recorded_told_and_offered_to_be_refunded(world: World) -> None:
    for payment in (world.create_link(), None):
        if payment is not None:
            request = cancel(world, payment).requests[0]
        else:
            request = cancel_request(world, store_request(world.services))
        world.advance(1)
        world.chain.pay(request)
        world.scan()
        after = load_request(world.services, request)
        assert (after.status, after.paid, after.received, remaining(after)) == (RequestStatus.CANCELLED, FULL, FULL, 0)
        body = notified(world)[-1]
        assert (body["event"], body["labels"], body["receivedAmount"]) == ("payment.unexpected", ["duplicate"], "12.5")
        (found,) = listed(world, request)
        assert (found.classification, found.action) == (Classification.DUPLICATE, RecoveryAction.REFUND)
        assert found.refundable == FULL
    assert not {"payment.confirmed", "payment.partial"} & set(kinds(world))
    assert payment is None


def test_of_a_request_that_is_paid_in_part_only_what_comes_later_is_not_owed(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=4_000_000)
    world.scan()
    request = cancel(world, payment).requests[0]
    assert (request.status, request.paid, request.due) == (RequestStatus.CANCELLED, 4_000_000, 4_000_000)
    world.advance(1)
    world.chain.pay(request, amount=9_000_000)
    world.scan()
    assert kinds(world) == ["payment.partial", "request.cancelled", "payment.unexpected"]
    body = notified(world)[-1]
    assert (body["totalAmountPaid"], body["expectedAmount"], body["amount"]) == ("13", "12.5", "9")
    assert [(each.classification, each.refundable) for each in listed(world, request)] == [
        (Classification.PARTIAL, 0), (Classification.DUPLICATE, 9_000_000),
    ]


def test_a_payment_that_a_fork_takes_away_and_brings_back_leaves_it_cancelled(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=4_000_000)
    world.scan()
    request = cancel(world, payment).requests[0]
    dropped = world.chain.fork(4)
    world.scan()
    after = load_request(world.services, request)
    assert (after.status, after.paid, remaining(after)) == (RequestStatus.CANCELLED, 0, 0)
    world.chain.restore(dropped)
    world.chain.mine(10)
    world.scan()
    after = load_request(world.services, request)
    assert (after.status, after.paid, remaining(after)) == (RequestStatus.CANCELLED, 4_000_000, 0)
    assert "payment.confirmed" not in kinds(world)


# --- money under way ---


def test_a_transfer_that_was_seen_and_is_not_recorded_is_waited_for(world: World) -> None:
    payment, request = world.create_link(), store_request(world.services)
    for each in (payment.requests[0], request):
        world.chain.pay(each, amount=1)
    world.chain.mine(2)
    scan_chain(world.services, json.dumps({"network": "sepolia"}))
    with pytest.raises(Conflict, match="being recorded"):
        cancel(world, payment)
    with pytest.raises(Conflict, match="being recorded"):
        cancel_request(world, request)
    world.record()
    assert cancel(world, payment).link.status is LinkStatus.CANCELLED
    assert cancel_request(world, request).status is RequestStatus.CANCELLED


def test_an_announced_transaction_is_waited_for_until_its_end_or_its_withdrawal(world: World) -> None:
    with_safe(world)
    payment = world.create_link()
    record(world, payment)
    with pytest.raises(Conflict, match=f"DELETE /v2/secure-payments/{payment.link.token}/intent"):
        cancel(world, payment)
    announcements.withdraw(world.services, payment.link.token, Viewer(world.account_id, None))
    assert cancel(world, payment).link.status is LinkStatus.CANCELLED
    with pytest.raises(LinkClosed):
        record(world, payment)


def test_a_payment_that_its_payer_has_signed_is_waited_for(world: World) -> None:
    request = store_request(world.services)
    world.services.store.write(replace(request, execution=begin_execution(None, "INTENT", is_public=True)))
    with pytest.raises(Conflict, match="DELETE /v2/request/payment-intents/INTENT"):
        cancel_request(world, request)


def test_a_commerce_payment_is_voided_and_not_cancelled(world: World) -> None:
    payment = world.create_link()
    fields = {"payable_id": payment.link.token, "request_id": payment.requests[0].request_id}
    commerce = world.services.store.write(new_payment(world.now, **fields))
    with pytest.raises(Conflict, match="without an authorization nothing is taken"):
        cancel(world, payment)
    world.services.store.write(replace(commerce, authorized=commerce.amount))
    with pytest.raises(Conflict, match="void it"):
        cancel(world, payment)


def test_requests_that_end_otherwise_say_how(world: World) -> None:
    payment, period = world.create_link(), store_request(world.services, recurring_payment_id="RECURRING")
    with pytest.raises(BadRequest, match=f"/v2/secure-payments/{payment.link.token}/cancel"):
        cancel_request(world, payment.requests[0])
    with pytest.raises(BadRequest, match="/v2/payouts/recurring/RECURRING"):
        cancel_request(world, period)


# --- payouts that are paid together ---


def test_a_payout_in_a_batch_is_cancelled_with_the_batch(world: World) -> None:
    made = store_payouts(world.services, world.account_id, 2)
    draft = MergeDraft(tuple(each.link.token for each in made), None, None)
    merged = payouts.combine(world.services, Owner(world.account_id, None, None), draft)
    with pytest.raises(Conflict, match=f"batch {merged.link.token}"):
        cancel(world, made[0])
    assert [each.status for each in cancel(world, merged).requests] == [RequestStatus.CANCELLED] * 2


def test_a_cancelled_multicall_frees_its_payouts_and_a_cancelled_payout_its_multicall(world: World) -> None:
    made = store_payouts(world.services, world.account_id, 3)
    tokens, owner = [each.link.token for each in made], Owner(world.account_id, None, None)
    parent = multicalls.create(world.services, owner, tokens, None).payable
    cancelled = cancel(world, parent)
    assert (cancelled.link.status, cancelled.requests) == (LinkStatus.CANCELLED, ())
    with pytest.raises(LinkClosed) as refused:
        multicall_reading.payable_children(world.services, cancelled, lambda each: check_payable(each, world.now))
    assert refused.value.link_status is LinkStatus.CANCELLED
    found = multicall_reading.details(world.services, cancelled)
    assert (found.status, found.can_execute) == (LinkStatus.CANCELLED, False)
    again = multicalls.create(world.services, owner, tokens, None).payable
    cancel(world, made[0])
    found = multicall_reading.details(world.services, again)
    assert [each.reason for each in found.children] == [Reason.SECURE_PAYMENT_NOT_PENDING, None, None]
    assert multicalls.create(world.services, owner, tokens[1:], None).payable.link.status is LinkStatus.PENDING
    assert kinds(world) == ["request.cancelled"]


def test_an_announcement_of_the_multicall_that_comes_first_keeps_its_payouts(world: World) -> None:
    with_safe(world)
    made = store_payouts(world.services, world.account_id, 2, creator_wallet=SAFE)
    tokens = [each.link.token for each in made]
    parent = multicalls.create(world.services, Owner(world.account_id, None, None), tokens, None).payable

    def announce() -> None:
        record(world, parent)

    services = world.start(FragileClient(world.client, Interruption(1, announce)))
    with pytest.raises(Conflict, match="was announced"):
        cancel(world, made[0], services)
    assert world.load(made[0]).link.status is LinkStatus.PENDING
    assert not is_free(world, parent)


# --- many requests ---


def test_a_link_with_more_requests_than_one_transaction_writes_is_cancelled_at_once_and_finished(world: World) -> None:
    payment, count = batch(world, AT_ONCE + 3), AT_ONCE + 3
    with pytest.raises(Crash):
        cancel(world, payment, world.start(FragileWrites(world.client, Tripwire(2))))
    half = world.load(payment)
    assert half.link.is_being_cancelled
    assert [each.status for each in half.requests] == [RequestStatus.CANCELLED] * count, "as everybody reads them"
    assert kinds(world) == ["request.cancelled"] * AT_ONCE
    world.chain.pay(payment.requests[-1])
    world.scan()
    assert expiry.expire_due(world.services) == 1
    assert kinds(world).count("request.cancelled") == count
    assert kinds(world).count("payment.unexpected") == 1
    done = world.load(payment)
    assert not done.link.is_being_cancelled and {each.cancelled_at for each in done.requests} == {done.link.cancelled_at}
    assert [each.counted_as for each in done.requests] == [RequestStatus.CANCELLED] * count
    assert expiry.expire_due(world.services) == 0
