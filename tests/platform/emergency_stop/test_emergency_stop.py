"""The emergency stop: what is refused, what is held without loss, what goes on, and how soon containers know."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.emergency_stop import flows
from chalicelib.platform.emergency_stop.flows import PaymentsStopped
from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.services import Services
from chalicelib.recurring.records import RecurringStatus
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import CallStatus
from infra.documents.operations import texts_of
from tests.bench.calls import counted
from tests.fakes.escrows import Commerce
from tests.fakes.payment_intents import PaymentIntents, check_conserved
from tests.fakes.recurring import Recurring
from tests.fakes.world import WALLET, World
from tests.relayer.test_flows import accepted, call
from tests.support.client import Shop
from tests.support.running import running

TO_SIGN = {"transactions", "calldata", "typedData", "primaryType", "verifyingContract"}
"""The fields of responses that hold something to sign."""
SENDING = {
    "activate_recurring",
    "authorize_commerce_payment",
    "broadcast_transaction",
    "delegate_energy",
    "capture_commerce_payment",
    "charge_commerce_payment",
    "refund_commerce_payment",
    "send_gasless_payment",
    "send_gasless_payment_of_link",
    "send_payment_intent",
    "void_commerce_payment",
}
"""Operations without such a field after which the service sends a transaction."""
GOING_ON = {
    "change_recurring": "a cancellation lowers what a contract may take",
    "list_transfers": "the list goes on, without refunds",
    "list_transfers_of_request": "the list goes on, without refunds",
    "read_signing_data": "it moves nothing",
    "reclaim_commerce_calldata": "it can only give a payer back what is held of theirs",
    "reclaim_secure_payment": "the same",
}


def stop(services: Services) -> None:
    flows.stop(services, "a drill")
    services.stops.clear()


def resume(services: Services) -> None:
    flows.resume(services)
    services.stops.clear()


@pytest.fixture
def world(world: World) -> World:
    return World(relayer_keys={"sepolia": "secret"})


@pytest.fixture
def stopped(shop: Shop) -> Iterator[Shop]:
    shop.payable = shop.link()  # type: ignore[attr-defined]
    stop(running())
    yield shop
    resume(running())


def fields(schema: dict[str, Any], schemas: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """The names of all fields of a schema, however deep."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        seen.add(name)
        yield from fields(schemas[name], schemas, seen)
    inner = [*schema.get("properties", {}).values()]
    inner += [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    yield from schema.get("properties", {})
    for part in inner:
        yield from fields(part, schemas, seen)


def test_every_operation_that_gives_something_to_sign_or_sends_something_says_so() -> None:
    found = json.loads(document(OPENAPI, "http://api.test"))
    to_sign = set()
    for path in found["paths"].values():
        for operation in path.values():
            for status, response in operation.get("responses", {}).items():
                for content in response.get("content", {}).values() if status.startswith("2") else ():
                    if TO_SIGN & set(fields(content["schema"], found["components"]["schemas"], set())):
                        to_sign.add(operation["operationId"])
    assert {each.name for each in OPERATIONS if each.moves_money} == (to_sign | SENDING) - GOING_ON.keys()
    assert GOING_ON.keys() <= to_sign


def test_an_operation_that_moves_money_may_answer_503() -> None:
    moving = [each for each in OPERATIONS.items() if each[0].moves_money]
    assert [known.name for known, api in moving if 503 not in texts_of(api, known.name).errors] == []


def test_while_it_lasts_nothing_to_sign_is_handed_out_and_links_are_created_and_read(stopped: Shop) -> None:
    token = stopped.payable  # type: ignore[attr-defined]
    reply = stopped.get(f"/v2/secure-payments/{token}/pay?wallet={WALLET}")
    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, "payments_stopped", "60")
    assert reply.json["message"] == PaymentsStopped().message and b"drill" not in reply.body
    assert stopped.send("POST", "/v2/payouts", {}).status == 503
    assert stopped.get(f"/v2/secure-payments/{token}").status == 200
    assert stopped.create().status == 201
    assert stopped.api.get("/v2/health").json == {"status": "ok", "payments": "stopped"}
    resume(running())
    assert stopped.get(f"/v2/secure-payments/{token}/pay?wallet={WALLET}").status == 200
    assert stopped.api.get("/v2/health").json == {"status": "ok"}


def test_a_container_knows_of_it_after_5_seconds_and_reads_it_no_more_often(world: World) -> None:
    with counted(world.client) as calls:
        for _ in range(2):
            assert flows.stopped_since(world.services) is None
    assert dict(calls.by_operation) == {"GetItem": 1}
    flows.stop(world.services, "a drill")
    world.advance(4.9)
    with counted(world.client) as calls:
        assert flows.stopped_since(world.services) is None
    assert dict(calls.by_operation) == {}
    world.advance(0.1)
    assert flows.stopped_since(world.services) == world.now - timedelta(seconds=5)
    flows.resume(world.services)
    world.advance(5)
    assert flows.stopped_since(world.services) is None


def test_a_second_stop_has_the_time_of_the_first_one_and_a_second_resume_does_nothing(world: World) -> None:
    first = flows.stop(world.services, "a drill")
    world.advance(60)
    second = flows.stop(world.services, "no drill")
    assert (second.since, second.reason) == (first.since, "no drill")
    assert flows.resume(world.services) is not None
    assert flows.resume(world.services) is None


def test_calls_are_not_accepted_and_what_was_accepted_is_followed_but_not_sent_again(world: World) -> None:
    relayer_flows.submit(world.services, [call("sent")])
    world.chain.mempool.forget()
    world.advance(100)
    stop(world.services)
    with pytest.raises(PaymentsStopped):
        relayer_flows.submit(world.services, [call("new")])
    assert relayer_flows.outcome(world.services, "new") is None
    assert relayer_flows.submit(world.services, [call("sent")]) == accepted("sent"), "it was accepted before"
    before = len(world.chain.mempool.sent)
    world.relay()
    assert len(world.chain.mempool.sent) == before
    resume(world.services)
    world.relay()
    assert len(world.chain.mempool.sent) > before
    assert relayer_flows.submit(world.services, [call("new")]) == accepted("new")


def test_an_outcome_is_read_while_it_lasts(world: World) -> None:
    relayer_flows.submit(world.services, [call()])
    stop(world.services)
    assert not world.relay()
    found = relayer_flows.outcome(world.services, "payout/1")
    assert found is not None and found.status is CallStatus.SUCCEEDED


def test_payments_are_detected_while_it_lasts_and_their_list_has_no_refunds(world: World) -> None:
    payment = world.create_link()
    stop(world.services)
    log = world.chain.pay(payment.requests[0], amount=20_000_000)
    world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    viewer = Viewer(world.account_id, world.client_id)
    (found,) = transfers.list_of_link(world.services, payment.link.token, viewer).transfers
    assert (found.refund, found.unavailable) == (None, PaymentsStopped().message)


def test_a_recurring_payout_waits_without_a_failed_attempt_and_goes_on_by_itself() -> None:
    shop = Recurring()
    schedule = shop.start()
    stop(shop.services)
    for _ in range(5):  # more than the three failures after which it is paused
        shop.jump(hours=3)
        shop.settle()
    kept = shop.load(schedule)
    assert (kept.status, kept.processed, shop.proxy.made) == (RecurringStatus.ACTIVE, 0, {})
    resume(shop.services)
    shop.settle(5)
    after = shop.load(schedule)
    assert (after.status, after.processed) == (RecurringStatus.ACTIVE, 1)
    assert shop.events("payment.failed") == []


def test_a_signed_payment_waits_and_is_made_once_afterwards() -> None:
    payment_intents = PaymentIntents()
    announced = payment_intents.begun()
    stop(payment_intents.services)
    payment_intents.settle(5)
    assert dict(payment_intents.made) == {} and payment_intents.load(announced).end is None
    resume(payment_intents.services)
    payment_intents.run_until_bridged(announced)
    assert dict(payment_intents.made) == {"take": 1, "approve": 1, "deposit": 1}
    check_conserved(payment_intents)


def test_what_a_payer_has_pre_approved_is_authorized_after_it() -> None:
    commerce = Commerce()
    created = commerce.create()
    stop(commerce.services)
    commerce.pre_approve(created)
    commerce.settle(3)
    assert not commerce.chain.mempool.sent
    resume(commerce.services)
    commerce.settle(3)
    assert commerce.chain.mempool.sent


def test_who_waits_for_nodes_waits_for_the_end_of_the_stop_as_well() -> None:
    assert issubclass(PaymentsStopped, ChainUnavailable)
