"""Payments from another chain over HTTP: requests and payouts, and queries and bodies that are wrong."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.bridging.store import known
from chalicelib.outbound.lifi import RouterRefused, RouterUnavailable
from chalicelib.storage.store import Delete
from tests.fakes.router import FakeRouter
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Reply, Shop, item
from tests.support.node import Node
from tests.support.running import run_on, running

SOURCE = f"chain=ETHEREUM&token=USDC&wallet={WALLET}"
PAYOUT = {"payee": PAYEE, "amount": "12.50", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}
FROM_MAINNET = {"chain": "ETHEREUM", "token": "USDC", "payerWallet": WALLET}


@pytest.fixture
def router(shop: Shop, node: Node) -> Iterator[FakeRouter]:
    services = running()
    router = FakeRouter(services.clock)
    run_on(replace(services, router=router))
    yield router
    run_on(services)
    _, circuit = known(services.store, ())
    if circuit is not None:  # what one test did to it is nothing to the next one
        services.store.write(Delete(circuit))


def on_base(shop: Shop) -> str:
    return shop.link(item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base"))


def pay(shop: Shop, path: str, query: str = SOURCE) -> Reply:
    return shop.get(f"{path}/pay?{query}")


def request_of(shop: Shop) -> str:
    made = shop.api.request("POST", "/v2/request", PAYOUT, shop.by_key)
    return f"/v2/request/{made.json['requestId']}"


def assert_bridged(body: Any) -> None:
    assert body["metadata"]["routeType"] == "crosschain"
    assert [each["value"] for each in body["transactions"]] == ["0x0", "0x0"]
    assert [each["from"] for each in body["transactions"]] == [WALLET, WALLET]


def test_a_link_is_paid_from_another_chain_with_one_call_to_the_node(shop: Shop, router: FakeRouter, node: Node) -> None:
    token = on_base(shop)
    node.asked.clear()
    assert_bridged(pay(shop, f"/v2/secure-payments/{token}").json)
    assert node.asked == ["eth_call", "eth_gasPrice", "eth_getCode"]


def test_a_request_is_paid_from_another_chain_in_part_and_with_a_fee(shop: Shop, router: FakeRouter) -> None:
    body = pay(shop, request_of(shop), f"{SOURCE}&amount=10&feePercentage=1&feeAddress={FEE_ADDRESS}").json
    assert_bridged(body)
    assert (body["metadata"]["amount"], router.seen[0].to_amount) == ("10", 10_100_000)
    assert "rawStep" not in body["metadata"]


def test_a_payout_is_created_with_the_transactions_of_another_chain(shop: Shop, router: FakeRouter) -> None:
    made = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET}, shop.by_key)
    assert made.status == 201
    assert_bridged(made.json)


@pytest.mark.parametrize("trouble", [RouterUnavailable("HTML"), RouterUnavailable("slow"), RouterUnavailable("busy", 60), RouterRefused(1002, "no")])
def test_a_payout_whose_quote_fails_is_not_created(shop: Shop, router: FakeRouter, trouble: Exception) -> None:
    before = shop.api.request("GET", "/v2/request?limit=100", None, shop.by_key).json["pagination"]["total"]
    router.trouble = trouble
    amount = {"amount": f"12.{id(trouble) % 10**6}"}
    refused = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET, **amount}, shop.by_key)
    assert refused.status == 400, refused.json
    after = shop.api.request("GET", "/v2/request?limit=100", None, shop.by_key).json["pagination"]["total"]
    assert after == before


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"token": None}, "chain and token must be given together"),
        ({"chain": None}, "chain and token must be given together"),
        ({"payerWallet": None}, "payerWallet is needed with chain and token"),
        ({"chain": 8453}, "chain"),
        ({"chain": "base"}, "chain must be one of"),
        ({"token": ["USDC"]}, "token"),
        ({"amount": 12.5}, "amount"),
    ],
    ids=str,
)
def test_bodies_of_payouts_that_are_wrong(shop: Shop, router: FakeRouter, changes: dict[str, Any], told: str) -> None:
    reply = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET, **changes}, shop.by_key)
    assert (reply.status, told in str(reply.message)) == (400, True), reply.json
    assert router.seen == []


@pytest.mark.parametrize(
    "query",
    ["chain=ETHEREUM", "token=USDC", "chain=1&token=USDC", "chain=ETHEREUM&token=DAI", "chain=&token=", "chain=SEPOLIA&token=USDC"],
)
def test_queries_that_are_wrong(shop: Shop, router: FakeRouter, query: str) -> None:
    for path in (f"/v2/secure-payments/{on_base(shop)}", request_of(shop)):
        assert pay(shop, path, f"{query}&wallet={WALLET}").status == 400
    assert router.seen == []


@pytest.mark.parametrize(
    "changes",
    [
        {"action": {"toChainId": "8453"}},
        {"action": {"toChainId": 8453.5}},
        {"action": {"toChainId": True}},
        {"action": {"toAddress": 5}},
        {"action": {"toAddress": "0x12"}},
        {"id": 5},
        {"id": ""},
        {"tool": None},
    ],
    ids=str,
)
def test_steps_that_are_wrong(shop: Shop, router: FakeRouter, changes: dict[str, Any]) -> None:
    path = f"/v2/secure-payments/{on_base(shop)}"
    step = pay(shop, path).json["metadata"]["rawStep"]
    sent = {**step, **changes, "action": {**step["action"], **changes.get("action", {})}}
    assert shop.api.request("POST", f"{path}/refresh-step-transaction", {"step": sent}, shop.by_key).status == 400
    again = shop.api.request("POST", f"{path}/refresh-step-transaction", {"step": step}, shop.by_key)
    assert again.status == 200
    assert_bridged(again.json)
