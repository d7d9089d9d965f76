"""Payments from another chain over HTTP: requests and payouts, and queries and bodies that are wrong."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chalicelib.crosschain.service.router.store import find_answers
from chalicelib.platform.outbound.lifi import Lifi
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete
from tests.fakes.router import FakeRouter
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Reply, Shop, item
from tests.support.node import Node
from tests.support.running import run_on, running

SOURCE = f"chain=ETHEREUM&token=USDC&wallet={WALLET}"
PAYOUT = {"payee": PAYEE, "amount": "12.50", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}
FROM_MAINNET = {"chain": "ETHEREUM", "token": "USDC", "payerWallet": WALLET}


@dataclass(frozen=True)
class Answer:
    """What a router answers to everything, after a pause in seconds."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0


@contextmanager
def routed_by(answer: Answer) -> Iterator[None]:
    """Has the app ask a server that answers so, by its own client, and wait for one second."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            released.wait(answer.pause)
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    services = running()
    router = Lifi(f"http://127.0.0.1:{server.server_port}", "test")
    run_on(replace(services, router=router, settings=replace(services.settings, router_seconds=1)))
    try:
        yield
    finally:
        released.set()
        run_on(services)
        server.shutdown()
        server.server_close()
        close_circuit(services)


def close_circuit(services: Services) -> None:
    """Makes what one test did to the router's circuit nothing to the next one."""
    _, circuit = find_answers(services.store, ())
    if circuit is not None:
        services.store.write(Delete(circuit))


@pytest.fixture
def router(shop: Shop, node: Node) -> Iterator[FakeRouter]:
    services = running()
    router = FakeRouter(services.clock)
    run_on(replace(services, router=router))
    yield router
    run_on(services)
    close_circuit(services)


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
    assert (body["metadata"]["amount"], router.calls[0].to_amount) == ("10", 10_100_000)
    assert "rawStep" not in body["metadata"]


def test_a_payout_is_created_with_the_transactions_of_another_chain(shop: Shop, router: FakeRouter) -> None:
    made = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET}, shop.by_key)
    assert made.status == 201
    assert_bridged(made.json)


def requests_of(shop: Shop) -> int:
    total: int = shop.api.request("GET", "/v2/request?limit=1", None, shop.by_key).json["pagination"]["total"]
    return total


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(200, b"<html>Welcome</html>", {"content-type": "text/html"}), "try again"),
        (Answer(200, b"{}"), "try again"),
        (Answer(200, b'{"id": ' + b"[" * 50_000), "try again"),
        (Answer(429, b'{"message": "slow down", "code": 1005}', {"retry-after": "40"}), "try again in 40 seconds"),
        (Answer(500, b""), "try again"),
        (Answer(302, b"", {"location": "http://127.0.0.1:1/"}), "try again"),
        (Answer(200, b"{}", pause=30), "try again"),
        (Answer(404, b'{"message": "No available quotes", "code": 1002}'), "the bridge offers no way now"),
    ],
    ids=["html", "empty", "nested", "429", "500", "redirect", "never", "no route"],
)
def test_a_router_in_trouble_is_a_clear_400_and_nothing_is_created(shop: Shop, answer: Answer, text: str) -> None:
    path, before = f"/v2/secure-payments/{on_base(shop)}", requests_of(shop)
    with routed_by(answer):
        refused = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET}, shop.by_key)
        assert (refused.status, text in refused.message) == (400, True), refused.json
        assert pay(shop, path).status == 400
    assert requests_of(shop) == before
    assert pay(shop, path, f"wallet={WALLET}").status == 200


def test_what_was_refused_for_a_router_in_trouble_is_made_under_its_idempotency_key_later(
    shop: Shop, router: FakeRouter
) -> None:
    """That the router was in trouble is noted, which is no effect of the request."""
    headers = {**shop.by_key, "idempotency-key": f"{shop.key}-1"}
    with routed_by(Answer(500, b"")):
        assert shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET}, headers).status == 400
    made = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET}, headers)
    assert (made.status, "idempotent-replayed" in made.headers) == (201, False), made.json


@pytest.mark.parametrize(
    ("changes", "text"),
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
def test_bodies_of_payouts_that_are_wrong(shop: Shop, router: FakeRouter, changes: dict[str, Any], text: str) -> None:
    reply = shop.api.request("POST", "/v2/payouts", {**PAYOUT, **FROM_MAINNET, **changes}, shop.by_key)
    assert (reply.status, text in str(reply.message)) == (400, True), reply.json
    assert router.calls == []


@pytest.mark.parametrize(
    "query",
    ["chain=ETHEREUM", "token=USDC", "chain=1&token=USDC", "chain=ETHEREUM&token=DAI", "chain=&token=", "chain=SEPOLIA&token=USDC"],
)
def test_queries_that_are_wrong(shop: Shop, router: FakeRouter, query: str) -> None:
    for path in (f"/v2/secure-payments/{on_base(shop)}", request_of(shop)):
        assert pay(shop, path, f"{query}&wallet={WALLET}").status == 400
    assert router.calls == []


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
