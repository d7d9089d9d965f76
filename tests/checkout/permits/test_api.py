"""Payment intents over HTTP: what a payer gains by signing again and again, and by moving the tokens away."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.permits import PAYER, RIGHT, Permits
from tests.fakes.world import PAYEE, in_process_aws
from tests.support.client import Api, Reply, Shop
from tests.support.opened import by_session
from tests.support.running import run_on, serving


class Deployment:
    """The API over the contracts and chains of Permits; a merchant whose API key has payers sign."""

    def __init__(self, client: Any, api: Api) -> None:
        self.permits = Permits(client=client, rate_limit_scale=100_000)
        run_on(self.permits.services)
        self.shop = Shop(api)
        self.key = self._key()

    def _key(self) -> dict[str, str]:
        body = {"label": "signing", "usesPaymentIntents": True}
        made = self.shop.api.request("POST", "/v1/api-keys", body, by_session(self.shop.account_id))
        assert made.status == 201, made.json
        return {"x-api-key": made.json["key"]}

    def call(self, method: str, path: str, body: Any = None, by: dict[str, str] | None = None) -> Reply:
        return self.shop.api.request(method, path, body, by or self.key)

    def request(self, amount: str = "100", invoice: str = "USDC-arbitrum-one") -> str:
        """The path of a new request, which is from then on that of `permits`."""
        body = {"payee": PAYEE, "amount": amount, "invoiceCurrency": invoice, "paymentCurrency": "USDC-arbitrum-one"}
        made = self.call("POST", "/v2/request", body)
        assert made.status == 201, made.json
        found = self.permits.stored(made.json["requestId"])
        self.permits.request = found
        return f"/v2/request/{found.request_id}"

    def offer(self, request: str, amount: str | None = None, by: dict[str, str] | None = None) -> Reply:
        part = f"&amount={amount}" if amount is not None else ""
        return self.call("GET", f"{request}/pay?chain=BASE&token=USDC&wallet={PAYER}{part}", by=by)

    def sign(self, offered: Reply, by: dict[str, str] | None = None) -> Reply:
        assert offered.status == 200, offered.json
        values = json.loads(offered.json["paymentIntent"])["values"]
        signed = {"signature": "0x" + RIGHT.hex(), "nonce": values["nonce"], "deadline": values["deadline"]}
        path = f"/v2/request/payment-intents/{offered.json['paymentIntentId']}"
        return self.call("POST", path, {"signedPaymentIntent": signed}, by)

    def status(self, request: str) -> Any:
        return self.call("GET", request).json


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    with in_process_aws() as client, serving() as server:
        yield Deployment(client, Api(server.server_port))


def test_a_merchant_is_paid_by_the_rates_of_the_time_however_often_a_payer_signs(deployment: Deployment) -> None:
    """A dollar becomes more and more tokens, while the payer signs a dollar every twenty minutes."""
    permits = deployment.permits
    permits.world.prices.set("USD", "USDC", "1")
    request = deployment.request("100", "USD")
    for step in range(4):
        permits.world.prices.set("USD", "USDC", str(1 + step * 0.02))
        offered = deployment.offer(request, "1")
        before = len(permits.sent)
        sent = deployment.sign(offered)
        assert sent.status == 200, sent.json
        for _ in range(12):
            if len(permits.sent) == before:
                permits.minute()
        permits.fill(permits.sent[-1], fee=0)
        permits.settle(4)
        permits.world.advance(900)
    permits.bridge.destination.pay(permits.loaded(), 96_000_000)
    permits.bridge.tick()
    shown = deployment.status(request)
    assert shown["hasBeenPaid"] is False and shown["status"] == "partially_paid"
    assert shown["paidAmount"] == "94.56603773"
    late = deployment.call("GET", f"{request}/pay?wallet={PAYER}").json
    assert late["metadata"]["conversion"]["rate"] == "1.06"
