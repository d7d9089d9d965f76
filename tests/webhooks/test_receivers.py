"""What a merchant's receiver can rely on: over HTTP from the creation of a link to the signed event of its payment."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.payments.links import reading as link_reading
from chalicelib.platform.outbound.sender import WebhookSender
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PAYEE, World
from tests.support.client import ORIGIN, Api, Reply, Shop, item
from tests.support.event_receiver import EventReceiver, receiving_events
from tests.support.node import Node
from tests.support.opened import by_session
from tests.support.running import restart, run_on, running

STRANGER = evm_wallet("stranger").address


@pytest.fixture(scope="module")
def world(deployment: tuple[Api, Node]) -> Iterator[World]:
    """The deployment that the API runs on, with a chain on which tests pay, and a sender of real requests."""
    made = World(running().store.client, rate_limit_scale=100_000)
    made.services = replace(made.services, sender=WebhookSender(allow_loopback=True))
    run_on(made.services)
    yield made
    restart()


@pytest.fixture
def shop(world: World, api: Api) -> Shop:
    return Shop(api)


@pytest.fixture
def receiver(shop: Shop) -> Iterator[EventReceiver]:
    """Registered for the shop's account, as its owner does with the API key."""
    with receiving_events() as made:
        reply = shop.api.request("POST", "/v1/webhook", {"url": made.url}, shop.by_key)
        assert reply.status == 201, reply.json
        made.secret = reply.json["secret"]
        yield made


def pay(world: World, reply: Reply) -> None:
    """Pays a link that was created, in full, and delivers the events."""
    assert reply.status == 201, reply.json
    payment = link_reading.load(world.services, reply.json["token"])
    assert payment is not None
    world.chain.pay(payment.requests[0])
    world.scan()
    world.drain()


def confirmed(receiver: EventReceiver) -> dict[str, Any]:
    (event,) = [each for each in receiver.events if each["event"] == "payment.confirmed"]
    return event


def may_ship(event: dict[str, Any], order: dict[str, Any]) -> bool:
    """The check that docs/webhooks.md asks receivers to make."""
    return (
        event["requestId"] in order["requestIds"]
        and event["payee"] == order["payee"]
        and Decimal(event["expectedAmount"]) == Decimal(order["amount"])
    )


def test_a_plugin_that_reads_client_id_and_origin_finds_them_in_the_core_event(
    world: World, shop: Shop, receiver: EventReceiver
) -> None:
    pay(world, shop.create(reference="order-1"))
    event = confirmed(receiver)
    assert (event["clientId"], event["origin"]) == (shop.client_id, ORIGIN)
    assert [each["event"] for each in receiver.events] == [
        *("payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout")
    ]
    assert all({**each, "event": ""} == {**event, "event": ""} for each in receiver.events)


def test_a_strangers_link_with_the_merchants_reference_is_told_apart(
    world: World, shop: Shop, receiver: EventReceiver
) -> None:
    """All he needs is in the shop's page: the client id and its origin."""
    made = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()], "reference": "order-1"}, shop.by_key)
    order = {"requestIds": made.json["requestIds"], "payee": PAYEE, "amount": "12.50"}
    pay(world, shop.create(item(payee=STRANGER, amount="0.01"), reference="order-1"))
    forged = confirmed(receiver)
    assert (forged["reference"], forged["createdWith"], forged["payee"]) == ("order-1", "clientId", STRANGER)
    assert not may_ship(forged, order)
    receiver.events.clear()
    pay(world, made)
    assert confirmed(receiver)["createdWith"] == "apiKey"
    assert may_ship(confirmed(receiver), order)


def test_with_the_owners_setting_the_stranger_creates_nothing(world: World, shop: Shop, receiver: EventReceiver) -> None:
    (client,) = shop.api.get("/v2/client-ids", shop.by_key).json
    path, setting = f"/v2/client-ids/{client['id']}", {"allowedPayees": [PAYEE], "allowedCurrencies": ["fUSDC-sepolia"]}
    assert shop.api.request("PUT", path, setting, shop.by_key).status == 200
    refused = shop.create(item(payee=STRANGER, amount="0.01"), reference="order-1")
    assert refused.status == 403 and f"payee {STRANGER} is not in its allowedPayees" in refused.message
    pay(world, shop.create())
    assert (confirmed(receiver)["payee"], confirmed(receiver)["createdWith"]) == (PAYEE, "clientId")


def test_the_event_names_each_kind_of_credential(world: World, shop: Shop, receiver: EventReceiver) -> None:
    for headers, kind in (
        (shop.by_key, "apiKey"),
        ({**shop.by_key, "x-client-id": shop.client_id}, "apiKey"),
        (shop.by_client, "clientId"),
        (by_session(shop.account_id), "session"),
    ):
        receiver.events.clear()
        pay(world, shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, headers))
        assert confirmed(receiver)["createdWith"] == kind
        assert ("clientId" in confirmed(receiver)) == ("x-client-id" in headers)


def test_a_receiver_that_refuses_kinds_it_does_not_know_hears_only_what_it_chose(
    world: World, shop: Shop, receiver: EventReceiver
) -> None:
    (webhook,) = shop.api.get("/v1/webhook", shop.by_key).json
    path = f"/v1/webhook/{webhook['id']}"
    assert shop.api.request("PUT", path, {"events": ["payment.confirmed"]}, shop.by_key).status == 200
    pay(world, shop.create())
    assert [each["event"] for each in receiver.events] == ["payment.confirmed"]
    deliveries = shop.api.get(f"{path}/deliveries", shop.by_key).json["deliveries"]
    assert [each["event"] for each in deliveries] == ["payment.confirmed"]
    again = shop.api.request("POST", f"{path}/deliveries/{deliveries[0]['id']}/redeliver", None, shop.by_key)
    assert again.status == 202
    world.drain()
    assert [each["event"] for each in receiver.events] == ["payment.confirmed"] * 2
