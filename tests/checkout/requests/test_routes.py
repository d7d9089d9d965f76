"""GET /v2/request/{requestId}/routes: the direct route with its fees in coins and dollars, and its speed."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, require_network
from chalicelib.checkout.requests import flows
from chalicelib.checkout.requests.rules import Part, seconds_to_confirm
from chalicelib.checkout.requests.schemas import routes_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from tests.chains.catalogue.reviewed_networks import NETWORKS
from tests.checkout.requests.test_pay import ask, change, made
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import store_request
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET, World
from tests.support.client import Shop
from tests.support.items import MISCASED
from tests.support.node import Node

FEE = Fee("1", FEE_ADDRESS)
ALL_THAT_IS_LEFT = Part()


@pytest.fixture
def world() -> Iterator[World]:
    world = World(client=object())
    world.services = replace(world.services, store=MemoryStore())
    yield world


def answer(world: World, request: Request, part: Part = ALL_THAT_IS_LEFT) -> dict[str, Any]:
    owner, viewer = Owner(request.account_id, None, None), Viewer(request.account_id, None)
    direct, others = flows.routes(world.services, request.request_id, owner, viewer, WALLET, part)
    return routes_answer(direct, others, world.services.settings).model_dump(exclude_unset=True)


def test_the_direct_route_costs_gas_and_the_platform_fee(world: World) -> None:
    world.chain.gas_price = 10**9
    body = answer(world, store_request(world.services), Part(fee=FEE))
    (route,) = body["routes"]
    assert (route["id"], route["chain"], route["token"]) == ("REQUEST_NETWORK_PAYMENT", "SEPOLIA", "fUSDC")
    assert (route["fee"], route["price_impact"], route["speed"]) == (0.01, 0, "FAST")
    gas, platform = route["feeBreakdown"]
    assert gas == {
        "type": "gas",
        "stage": "sending",
        "provider": "sepolia",
        "amount": "0.00019",
        "currency": "ETH",
        "network": "sepolia",
    }
    assert (platform["type"], platform["amount"], platform["currency"]) == ("platform", "0.125", "fUSDC")
    assert (platform["receiverAddress"], platform["provider"]) == (FEE_ADDRESS, "service-network")
    assert body["platformFee"] == {"percentage": "1", "address": FEE_ADDRESS}


def test_fees_are_in_dollars_too_where_there_are_rates(world: World) -> None:
    world.prices.set("USD", "ETH", "0.0004")
    world.prices.set("USD", "USDC", "1")
    world.chain.gas_price = 10**9
    (route,) = answer(world, store_request(world.services), Part(fee=FEE))["routes"]
    assert [each["amountInUSD"] for each in route["feeBreakdown"]] == ["0.475", "0.125"]
    assert route["feeInUSD"] == 0.6, "a number"
    world.prices.api.is_down = True
    world.advance(30)
    (route,) = answer(world, store_request(world.services), Part(fee=FEE))["routes"]
    assert "feeInUSD" not in route and not any("amountInUSD" in each for each in route["feeBreakdown"])


def test_a_part_has_the_fee_on_the_part(world: World) -> None:
    (route,) = answer(world, store_request(world.services), Part("5", FEE))["routes"]
    assert route["feeBreakdown"][1]["amount"] == "0.05"


def test_a_quoted_request_has_the_fee_in_its_token(world: World) -> None:
    world.prices.set("USD", "USDC", "1.5")
    request = store_request(world.services, invoice_currency="USD", amount=BaseUnits(10 * 10**8))
    (route,) = answer(world, request, Part(fee=FEE))["routes"]
    assert route["feeBreakdown"][1]["amount"] == "0.15"
    assert len(world.services.store.query(Quote, Quote.KEY.all(request_id=request.request_id))) == 1


def test_without_a_fee_there_is_none_and_nothing_is_stored(world: World) -> None:
    request = store_request(world.services)
    body = answer(world, request)
    assert (body["platformFee"], body["routes"][0]["fee"], len(body["routes"][0]["feeBreakdown"])) == (None, 0, 1)
    assert world.services.store.get(Request, request.key) == request


def test_a_request_that_cannot_be_paid_has_no_route(world: World) -> None:
    paid = store_request(world.services, paid=BaseUnits(12_500_000), status=RequestStatus.PAID)
    assert answer(world, paid) == {"routes": [], "platformFee": None}


def test_an_unknown_request_is_404_and_a_wallet_of_another_family_400(world: World) -> None:
    request = store_request(world.services)
    viewer, owner = Viewer("acct", None), Owner("acct", None, None)
    with pytest.raises(NotFound, match="Request not found"):
        flows.direct_route(world.services, "01" + "0" * 64, owner, viewer, WALLET, Part())
    with pytest.raises(BadRequest, match="wallet is not an address of sepolia"):
        tron = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
        flows.direct_route(world.services, request.request_id, owner, viewer, tron, Part())


def test_the_speed_is_the_time_until_a_payment_is_confirmed() -> None:
    seconds = {chain.name: seconds_to_confirm(chain, chain.confirmations) for chain in ALL_NETWORKS}
    reviewed = {name: ceil(each.seconds) for name, each in NETWORKS.items()}
    assert seconds == {**reviewed, "tron": 60}, "a payment on tron is read once its block is solidified"
    assert seconds_to_confirm(require_network("sepolia"), 10_000) == 120_000
    assert seconds_to_confirm(require_network("arbitrum-one"), 10_001) == 2_501, "rounded up"


@pytest.mark.parametrize(("seconds", "speed"), [(60, "FAST"), (61, 61)])
def test_a_route_of_a_minute_at_most_is_fast(world: World, seconds: int, speed: str | int) -> None:
    request = store_request(world.services)
    owner, viewer = Owner(request.account_id, None, None), Viewer(request.account_id, None)
    direct, _ = flows.routes(world.services, request.request_id, owner, viewer, WALLET, ALL_THAT_IS_LEFT)
    assert direct is not None
    (route,) = routes_answer(replace(direct, seconds=seconds), (), world.services.settings).routes
    assert route.speed == speed


# --- over HTTP ---


def test_the_wallet_is_required(shop: Shop, node: Node) -> None:
    request_id = made(shop)
    for query in ("", "?wallet=", "?wallet=0x12", f"?wallet={MISCASED}", "?wallet=Tron"):
        reply = shop.get(f"/v2/request/{request_id}/routes{query}")
        assert (reply.status, reply.message) == (400, "Invalid or missing wallet address"), query
        assert reply.json["errors"] == [{"field": "wallet", "message": "Invalid or missing wallet address"}]
    reply = shop.get(f"/v2/request/{request_id}/routes?wallet={PAYEE}")
    assert (reply.status, reply.message.split(":")[0]) == (400, f"wallet is the payee {PAYEE}")
    reply = shop.get(f"/v2/request/{request_id}/routes?wallet={WALLET}&feePercentage=1")
    assert (reply.status, reply.message) == (400, "feePercentage and feeAddress must be given together")


def test_a_paid_request_has_no_route_and_no_calldata(shop: Shop) -> None:
    request_id = made(shop)
    change(request_id, paid=BaseUnits(12_500_000), status=RequestStatus.PAID)
    reply = shop.get(f"/v2/request/{request_id}/routes?wallet={WALLET}")
    assert (reply.status, reply.json) == (200, {"routes": [], "platformFee": None})
    assert ask(shop, request_id).status == 409
