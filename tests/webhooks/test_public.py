"""Webhooks that a client id alone registered, which anybody can send: no personal data until one is confirmed, apart from others."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.offramp.payers import reports
from chalicelib.payments.requests.records import CustomerAddress, CustomerInfo
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import reading as delivery_reading
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.store import find_delivery
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS
from chalicelib.webhooks.kinds import BY_NAME, CORE, KINDS, is_personal
from chalicelib.webhooks.records import message_group
from tests.fakes.world import World
from tests.offramp.payers import people
from tests.support.client import Shop
from tests.support.running import running

OWN, STRANGER = "https://shop.example/own", "https://stranger.example/hook"
CUSTOMER = CustomerInfo("Zelda", "Fitz", "zelda@example.com", CustomerAddress("7 Secret Lane", "Bern", None, "3000", "CH"))


def registered(world: World) -> tuple[Endpoint, Endpoint]:
    """A webhook of the merchant, by a secret credential, and one of a stranger, by the merchant's client id alone."""
    by_key, _ = endpoints.register(world.services, world.actor, world.client_id, Mode.API_KEY, OWN)
    by_client, _ = endpoints.register(world.services, world.actor, world.client_id, Mode.CLIENT_ID, STRANGER)
    return by_key, by_client


def bodies(world: World, url: str) -> list[dict[str, Any]]:
    return [json.loads(posted.body) for posted in world.receiver.posted if posted.url == url]


# --- what is personal ---


EMPTY = {str: "", dict: {}, list: [], bool: False, int: 0, type(None): None}
ABOUT_PERSONS = ("compliance.updated", "payment_detail.updated")
"""Kinds of which only `event` and `timestamp` are not about the person."""
NOT_PERSONAL = {
    "event", "timestamp", "requestId", "requestID", "paymentReference", "explorer", "paymentProcessor",
    "createdWith", "reference", "amount", "totalAmountPaid", "expectedAmount", "excessAmount", "currency",
    "paymentCurrency", "isCryptoToFiat", "conversionRate", "conversionRateSource", "conversionRateDestination",
    "convertedAmountSource", "convertedAmountDestination", "rateProvider", "fees", "recurringPayment",
    "originalRequestId", "originalRequestPaymentReference", "clientId", "origin", "network", "txHash", "payee",
    "payerAddress", "refundedTo", "refundAmount", "subStatus", "failureReason", "offrampId", "labels", "status",
    "receivedAmount", "statedAmount", "untoldCount", "state", "sequence",
}


def test_just_these_fields_are_sent_to_webhooks_that_anybody_can_register() -> None:
    """A field that is added to fields.py as public has to be added here, too."""
    sent = {each.name for kind in CORE if kind.name not in ABOUT_PERSONS for each in kind.fields if not each.is_personal}
    assert sent == NOT_PERSONAL
    for name in ABOUT_PERSONS:
        assert {each.name for each in BY_NAME[name].fields if not each.is_personal} == {"event", "timestamp", "sequence"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_part_of_a_field_that_everybody_is_sent_says_who_the_customer_is(kind: str) -> None:
    for field in BY_NAME[kind].fields:
        assert is_personal(kind, field.name) is field.is_personal
        if not field.is_personal:
            assert {part.name for part in field.parts} <= {"type", "amount", "currency", "id"}, field.name


def test_a_field_that_no_event_has_is_personal() -> None:
    assert all(is_personal(kind, "neverHeardOf") for kind in KINDS)


# --- what is sent ---


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_each_kind_has_each_field_and_the_personal_ones_empty_at_a_public_webhook_at_each_attempt(
    kind: str, world: World
) -> None:
    _, public = registered(world)
    world.receiver.status = 500
    deliveries.send_test(world.services, world.account_id, world.client_id, kind, only_public=False)
    world.drain()
    world.receiver.status = 200
    (delivery,), _ = delivery_reading.page(world.services, public, Listing.FAILED, None, 10)
    delivery_reading.repeat_one(world.services, public, delivery.delivery_id)
    world.drain()
    whole, partial = bodies(world, OWN)[0], bodies(world, STRANGER)
    assert len(partial) == 5, "four attempts, and one after it was sent again"
    expected = {name: EMPTY[type(value)] if is_personal(kind, name) else value for name, value in whole.items()}
    assert all(body == expected for body in partial)
    assert [body.keys() for body in partial] == [whole.keys()] * 5


def test_who_the_customer_is_reaches_the_webhooks_of_secret_credentials_alone(world: World) -> None:
    registered(world)
    (request,) = world.load(world.create_link(payer_identifier="zelda-1", reference="INV-1")).requests
    world.services.store.write(replace(request, customer_info=CUSTOMER))
    world.chain.pay(request)
    world.scan()
    world.drain()
    own = bodies(world, OWN)
    assert {body["customerInfo"]["email"] for body in own} == {"zelda@example.com"} and len(own) == 3
    partial = bodies(world, STRANGER)
    assert len(partial) == 3 and all(body["reference"] == "INV-1" and body["amount"] == "12.5" for body in partial)
    text = str(partial)
    assert not any(each in text for each in ("elda", "Fitz", "Secret", "Bern"))
    assert all((body["customerInfo"], body["payerIdentifier"]) == ({}, "") for body in partial)


def test_an_event_about_a_person_says_nothing_of_the_person(world: World) -> None:
    registered(world)
    person = people.register(world)
    reports.take_user(world.services, people.said(person, 9, "approved", "completed"))
    world.drain()
    (own,), (partial,) = bodies(world, OWN), bodies(world, STRANGER)
    assert own["clientUserId"] == people.NAME
    empty = {"clientUserId": "", "kycStatus": "", "agreementStatus": "", "isCompliant": False, "rawPayload": {}}
    known = {"timestamp": own["timestamp"], "sequence": own["sequence"]}
    assert partial == {"event": "compliance.updated", **known, **empty}


def test_a_webhook_gets_every_value_from_when_the_account_has_confirmed_it(world: World) -> None:
    _, public = registered(world)
    endpoints.change(world.services, world.actor, public, True, public.events, is_confirmed=True)
    person = people.register(world)
    reports.take_user(world.services, people.said(person, 9, "approved", "completed"))
    world.drain()
    assert bodies(world, OWN) == bodies(world, STRANGER)


# --- strangers and the merchant ---


def test_the_webhooks_of_strangers_take_no_room_of_the_merchants_and_none_of_their_urls(world: World) -> None:
    def register(created_with: Mode, number: int) -> None:
        url = f"https://shop.example/{number}"
        endpoints.register(world.services, world.actor, world.client_id, created_with, url)

    for number in range(MAX_ENDPOINTS):
        register(Mode.CLIENT_ID, number)
    with pytest.raises(BadRequest, match="delete one first"):
        register(Mode.CLIENT_ID, MAX_ENDPOINTS)
    for number in range(MAX_ENDPOINTS):
        register(Mode.API_KEY, number)
    with pytest.raises(BadRequest, match="delete one first"):
        register(Mode.SESSION, MAX_ENDPOINTS)
    (public, *_) = endpoints.list_endpoints(world.services, world.account_id, world.client_id, only_public=True)
    endpoints.delete(world.services, world.actor, public)
    with pytest.raises(BadRequest, match="delete one first"):
        register(Mode.API_KEY, MAX_ENDPOINTS)
    register(Mode.CLIENT_ID, int(public.url.rpartition("/")[2]))


def test_a_stranger_whose_receiver_is_dead_waits_in_a_group_of_his_own(world: World) -> None:
    """SQS shares workers by group: attempts, retries and probes."""
    _, public = registered(world)
    world.receiver.status = None
    groups = set[tuple[str, str]]()
    send, record = world.queue.send, groups.add

    def spied(queue: str, messages: Any) -> Any:
        for each in messages:
            name = each.body.get("webhookId") or webhook_of(world, each.body["deliveryId"])
            record((name, each.group))
        return send(queue, messages)

    world.queue.send = spied  # type: ignore[method-assign]
    for _ in range(6):
        deliveries.send_test(world.services, world.account_id, world.client_id, "payment.failed", only_public=False)
    for _ in range(200):
        due = min(world.queue.messages, key=lambda message: message.due, default=None)
        if due is None or due.due > world.now + timedelta(minutes=1):
            break
        world.now = max(world.now, due.due)
        world.queue.messages.remove(due)
        world.consume(due, world.services)
    expected = {(public.webhook_id, f"{world.account_id}/public")}
    assert {each for each in groups if each[0] == public.webhook_id} == expected
    assert {group for name, group in groups if name != public.webhook_id} == {world.account_id}
    assert message_group("acct", is_public=True) != message_group("acct", is_public=False)


def webhook_of(world: World, delivery_id: str) -> str:
    found = world.services.store.get(Delivery, Delivery.KEY.of(delivery_id=delivery_id))
    assert found is not None
    return found.webhook_id


# --- over HTTP ---


@pytest.fixture
def hooks(new_shop: Shop) -> dict[str, str]:
    """The ids of the webhooks of one account, by what registered them."""

    def register(headers: dict[str, str], number: int, **body: str) -> str:
        sent = {"url": f"https://93.184.215.14/{number}", **body}
        reply = new_shop.api.request("POST", "/v1/webhook", sent, headers)
        assert reply.status == 201, reply.body
        return str(reply.json["id"])

    both = {**new_shop.by_key, **new_shop.by_client}
    return {
        "account": register(new_shop.by_key, 1),
        "key and client id": register(both, 2),
        "client id": register(new_shop.by_client, 3),
    }


def test_a_client_id_alone_neither_sees_nor_changes_what_a_secret_credential_registered(
    new_shop: Shop, hooks: dict[str, str]
) -> None:
    assert [each["id"] for each in new_shop.get("/v1/webhook").json] == [hooks["client id"]]
    assert new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"}).json["queued"] == 1
    since = {"since": "2026-01-01T00:00:00Z"}
    unknown = "01M7VQFVRZV5BJJSN4QTFB4MP3"
    for id in (hooks["account"], hooks["key and client id"], unknown):
        path = f"/v1/webhook/{id}"
        delivery = delivery_of(new_shop, id) if id == hooks["key and client id"] else unknown
        replies = [
            new_shop.send("PUT", path),
            new_shop.send("PUT", path, {"events": ["payment.failed"]}),
            new_shop.send("DELETE", path),
            new_shop.get(f"{path}/deliveries"),
            new_shop.send("POST", f"{path}/redeliver", since),
            new_shop.send("POST", f"{path}/deliveries/{delivery}/redeliver"),
        ]
        assert {(reply.status, reply.message) for reply in replies} == {(404, "Webhook not found")}
    own = f"/v1/webhook/{hooks['client id']}"
    delivery = delivery_of(new_shop, hooks["key and client id"])
    assert new_shop.send("POST", f"{own}/deliveries/{delivery}/redeliver").message == "Delivery not found"


def delivery_of(shop: Shop, webhook_id: str) -> str:
    """The id of the newest delivery of a webhook, after a test with the API key and the client id."""
    both = {**shop.by_key, **shop.by_client}
    assert shop.api.request("POST", "/v1/webhook/test", {"eventType": "payment.failed"}, both).json["queued"] == 2
    (newest,) = shop.api.get(f"/v1/webhook/{webhook_id}/deliveries?limit=1", both).json["deliveries"]
    return str(newest["id"])


def test_the_merchant_sees_and_ends_what_strangers_have_registered(new_shop: Shop, hooks: dict[str, str]) -> None:
    both = {**new_shop.by_key, **new_shop.by_client}
    found = {each["id"]: each["createdWith"] for each in new_shop.api.get("/v1/webhook", both).json}
    assert found == {hooks["key and client id"]: "apiKey", hooks["client id"]: "clientId"}
    assert new_shop.api.request("PUT", f"/v1/webhook/{hooks['client id']}", None, both).json["isActive"] is False
    assert new_shop.api.request("DELETE", f"/v1/webhook/{hooks['client id']}", None, both).status == 200
    assert new_shop.get("/v1/webhook").json == []


def test_a_webhook_is_confirmed_by_the_key_alone_and_then_changed_by_it_alone(
    new_shop: Shop, hooks: dict[str, str]
) -> None:
    path, both = f"/v1/webhook/{hooks['client id']}", {**new_shop.by_key, **new_shop.by_client}
    assert [each["confirmed"] for each in new_shop.get("/v1/webhook").json] == [False]
    refused = new_shop.send("PUT", path, {"confirmed": True})
    assert (refused.status, refused.message.partition(":")[0]) == (
        403, "Only the account confirms a webhook, and changes or deletes one that is confirmed",
    )  # fmt: skip
    confirmed = new_shop.api.request("PUT", path, {"confirmed": True}, both).json
    assert (confirmed["confirmed"], confirmed["isActive"], confirmed["createdWith"]) == (True, True, "clientId")
    assert [each["confirmed"] for each in new_shop.get("/v1/webhook").json] == [True]
    actions = [entry["action"] for entry in new_shop.api.get("/v1/audit", new_shop.by_key).json["entries"]]
    assert "webhook.confirmed" in actions
    attempts = [new_shop.send("PUT", path), new_shop.send("PUT", path, {"confirmed": False}), new_shop.send("DELETE", path)]
    assert {each.status for each in attempts} == {403}
    assert new_shop.api.request("PUT", path, {"confirmed": False}, both).json["confirmed"] is False
    assert new_shop.send("DELETE", path).status == 200


def test_a_client_id_alone_reads_no_responses_of_receivers(new_shop: Shop, hooks: dict[str, str]) -> None:
    """A receiver may repeat what it was sent: personal data, once its webhook is confirmed."""
    path, both = f"/v1/webhook/{hooks['client id']}/deliveries", {**new_shop.by_key, **new_shop.by_client}
    new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.failed"})
    (listed,) = new_shop.get(path).json["deliveries"]
    store = running().store
    delivery = find_delivery(store, listed["id"])
    assert delivery is not None
    made = Attempt(delivery.created_at, 200, None, "Zelda Fitz", 9)
    store.write(replace(delivery, state=DeliveryState.DELIVERED, attempts=(made,)))

    def responses(listed: dict[str, Any]) -> list[tuple[int, str]]:
        return [(each["status"], each["response"]) for each in listed["attempts"]]

    assert responses(new_shop.api.get(path, both).json["deliveries"][0]) == [(200, "Zelda Fitz")]
    assert responses(new_shop.get(path).json["deliveries"][0]) == [(200, "")]
    assert responses(new_shop.send("POST", f"{path}/{delivery.delivery_id}/redeliver").json) == [(200, "")]


def test_a_webhook_of_a_secret_credential_needs_no_confirmation(new_shop: Shop, hooks: dict[str, str]) -> None:
    path = f"/v1/webhook/{hooks['account']}"
    assert new_shop.api.request("PUT", path, {"confirmed": False}, new_shop.by_key).json["confirmed"] is True
