"""Payments of requests that are paid out to a bank account: what the recorder tells of them, and what of their order."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest

from chalicelib.offramp.core.records import OrderStatus
from chalicelib.payments.links import store as link_store
from chalicelib.payments.recording import flows
from chalicelib.payments.recording.causes.offramps import follow_payment
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.publisher import sweep as sweep_outbox
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.offramps import bodies, load_order, notified, processing, store_order
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World, in_process_aws

ALL_STEPS = processing("initiated", "pending_internal_assessment", "ongoing_checks", "sending_fiat", "fiat_sent")


def watched(world: World) -> None:
    world.register_webhook()
    world.tick()


def test_a_paid_request_is_told_of_as_being_processed_and_not_as_confirmed(world: World) -> None:
    watched(world)
    request = store_order(world.services)
    world.chain.pay(request)
    world.scan()
    assert notified(world) == processing("initiated")
    stored, order = load_request(world.services, request), load_order(world.services, request)
    assert (stored.status, stored.fiat, stored.is_settled) == (RequestStatus.PAID, RequestStatus.PROCESSING, False)
    assert (order.announced, order.paid_at is not None, order.check_at) == (1, True, order.paid_at)
    (body,) = bodies(world)
    assert body["offrampId"] == f"offramp_{request.request_id}"
    assert body["rawPayload"] == {"status": "created", "providerId": "ord_1"}
    assert (body["paymentProcessor"], body["isCryptoToFiat"]) == ("service-tech", True)


def test_a_part_is_told_of_as_a_partial_payment(world: World) -> None:
    watched(world)
    request = store_order(world.services)
    world.chain.pay(request, amount=5_000_000)
    world.scan()
    (body,) = bodies(world)
    assert (body["event"], body["isCryptoToFiat"]) == ("payment.partial", True)
    assert body["paymentProcessor"] == "service-network"
    world.chain.pay(request, amount=7_500_000)
    world.scan()
    assert notified(world) == [("partial", ""), *processing("initiated")]


def test_what_the_provider_said_before_the_payment_is_told_with_it(world: World) -> None:
    watched(world)
    status = {"status": OrderStatus.FIAT_SENT, "provider_status": "fiat_sent", "sequence": 6}
    request = store_order(world.services, **status)
    world.chain.pay(request)
    world.scan()
    assert notified(world) == [*ALL_STEPS, ("confirmed", "")]
    confirmed = bodies(world)[-1]
    assert (confirmed["isCryptoToFiat"], confirmed["paymentProcessor"]) == (True, "service-tech")
    assert confirmed["fees"] == [{"type": "crypto-to-fiat", "amount": "0.5", "currency": "fUSDC"}]
    assert confirmed["txHash"] == load_request(world.services, request).tx_hash
    assert load_request(world.services, request).is_settled
    times = [body["timestamp"] for body in bodies(world)[:5]]
    assert times == sorted(set(times))


def test_an_end_whose_payment_is_not_at_hand_waits_and_is_no_crash(world: World) -> None:
    """The recorder reads some payments of a request, not all; the sweep over orders looks for the one that counts."""
    watched(world)
    status = {"status": OrderStatus.FIAT_SENT, "provider_status": "fiat_sent", "sequence": 6}
    request = store_order(world.services, **status)
    payable = link_store.load_payable(world.services.store, request.payable_id)
    assert payable is not None and payable.order is not None
    is_paid = replace(payable.requests[0], status=RequestStatus.PAID)
    found = follow_payment(payable, payable.order, is_paid, None, False, event_context(world.services))
    assert [json.loads(event.body)["subStatus"] for event in found.events] == [step for _, step in ALL_STEPS]
    assert (found.order.is_settled, found.order.check_at) == (False, world.now)
    assert found.request.fiat is RequestStatus.PROCESSING


def test_a_request_that_may_be_paid_out_and_has_no_order_is_paid_as_any_other(world: World) -> None:
    watched(world)
    request = store_request(world.services, world.account_id, client_id=world.client_id, is_crypto_to_fiat=True)
    world.chain.pay(request)
    world.scan()
    (body,) = bodies(world)
    assert (body["event"], body["isCryptoToFiat"]) == ("payment.confirmed", False)
    assert load_request(world.services, request).is_settled


def test_a_transfer_to_a_request_whose_payee_is_not_known_yet_does_not_count(world: World) -> None:
    watched(world)
    request = store_request(world.services, world.account_id, payee="", is_crypto_to_fiat=True)
    world.chain.pay(request, payee="0x" + "00" * 20)
    world.scan()
    stored = load_request(world.services, request)
    assert (stored.status, stored.other_payee_count, notified(world)) == (RequestStatus.CREATED, 1, [])


def test_a_fork_that_removes_the_payment_is_told_and_the_steps_begin_again(world: World) -> None:
    watched(world)
    request = store_order(world.services, status=OrderStatus.ONGOING_CHECKS, provider_status="ongoing_checks", sequence=3)
    world.chain.pay(request)
    world.scan()
    begun = ALL_STEPS[:3]
    assert notified(world) == begun
    world.chain.fork(3)
    world.scan()
    assert notified(world) == [*begun, ("failed", "failed")]
    assert bodies(world)[-1]["failureReason"] == "chain_reorganization"
    assert (load_order(world.services, request).paid_at, load_request(world.services, request).fiat) == (None, None)
    world.chain.pay(request)
    world.scan()
    assert notified(world) == [*begun, ("failed", "failed"), *begun]


def test_more_than_is_owed_changes_nothing_of_the_order(world: World) -> None:
    watched(world)
    request = store_order(world.services)
    world.chain.pay(request)
    world.scan()
    order = load_order(world.services, request)
    world.chain.pay(request)
    world.scan()
    assert load_order(world.services, request) == order
    assert notified(world) == processing("initiated")


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_at_any_call_while_a_payment_is_recorded_tells_of_it_once(before: bool) -> None:
    for fatal in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            watched(world)
            request = store_order(world.services)
            world.chain.pay(request)
            wire = Tripwire(fatal, before)
            with suppress(Crash):
                world.scan(world.start(FragileClient(client, wire)))
            world.advance(600)
            world.scan()
            flows.queue_overdue(world.services)
            world.record()
            sweep_outbox(world.services)
            assert notified(world) == processing("initiated"), fatal
            assert load_order(world.services, request).announced == 1
            if wire.calls < fatal:
                return
    raise AssertionError("the payment takes more calls")
