"""Payment intents over HTTP: what a payer gains by signing again and again, and by moving the tokens away."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.payment_intents import HAD, PAYER, RIGHT, PaymentIntents
from tests.fakes.world import PAYEE, WALLET
from tests.support.client import ORIGIN, Api, Reply, Shop
from tests.support.opened import by_session
from tests.support.rehearsed import few
from tests.support.running import run_on, serving

OTHER = WALLET


class Deployment:
    """The API over the contracts and chains of Permits; a merchant whose API key has payers sign."""

    def __init__(self, api: Api) -> None:
        self.payment_intents = PaymentIntents(rate_limit_scale=100_000)
        run_on(self.payment_intents.services)
        self.shop = Shop(api)
        self.key = self._key()

    def _key(self) -> dict[str, str]:
        body = {"label": "signing", "usesPaymentIntents": True}
        made = self.shop.api.request("POST", "/v1/api-keys", body, by_session(self.shop.account_id))
        assert made.status == 201, made.json
        return {"x-api-key": made.json["key"]}

    def public(self) -> dict[str, str]:
        """A client id alone, which has payers sign."""
        body = {"label": "signing", "allowedDomains": [ORIGIN], "usesPaymentIntents": True, "mayExecute": True}
        made = self.shop.api.request("POST", "/v1/client-ids", body, by_session(self.shop.account_id))
        assert made.status == 201, made.json
        return {"x-client-id": made.json["clientId"], "origin": ORIGIN}

    def call(self, method: str, path: str, body: Any = None, by: dict[str, str] | None = None) -> Reply:
        return self.shop.api.request(method, path, body, by or self.key)

    def request(self, amount: str = "100", invoice: str = "USDC-arbitrum-one") -> str:
        """The path of a new request, which is from then on that of `payment_intents`."""
        body = {"payee": PAYEE, "amount": amount, "invoiceCurrency": invoice, "paymentCurrency": "USDC-arbitrum-one"}
        made = self.call("POST", "/v2/request", body)
        assert made.status == 201, made.json
        found = self.payment_intents.stored(made.json["requestId"])
        self.payment_intents.request = found
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
    with serving() as server:
        yield Deployment(Api(server.server_port))


def test_a_merchant_is_paid_by_the_rates_of_the_time_however_often_a_payer_signs(deployment: Deployment) -> None:
    """A dollar becomes more and more tokens, while the payer signs a dollar every twenty minutes."""
    payment_intents = deployment.payment_intents
    payment_intents.world.prices.set("USD", "USDC", "1")
    request = deployment.request("100", "USD")
    for step in range(4):
        payment_intents.world.prices.set("USD", "USDC", str(1 + step * 0.02))
        offered = deployment.offer(request, "1")
        before = len(payment_intents.sent)
        sent = deployment.sign(offered)
        assert sent.status == 200, sent.json
        for _ in range(12):
            if len(payment_intents.sent) == before:
                payment_intents.minute()
        payment_intents.fill(payment_intents.sent[-1], fee=0)
        payment_intents.settle(4)
        payment_intents.world.advance(900)
    payment_intents.bridge.destination.pay(payment_intents.loaded(), 96_000_000)
    payment_intents.bridge.tick()
    shown = deployment.status(request)
    assert shown["hasBeenPaid"] is False and shown["status"] == "partially_paid"
    assert shown["paidAmount"] == "94.56603773"
    late = deployment.call("GET", f"{request}/pay?wallet={PAYER}").json
    assert late["metadata"]["conversion"]["rate"] == "1.06"


def locked(deployment: Deployment, request: str) -> bool:
    """Whether a payer who has nothing to do with the signatures is refused now."""
    status = deployment.call("GET", f"{request}/pay?wallet={OTHER}").status
    assert status in (200, 423)
    return status == 423


@pytest.mark.parametrize("mode", few(["client"], ["key", "client"]))
def test_a_payer_who_signs_and_moves_the_tokens_away_locks_a_request_for_minutes_at_most(
    deployment: Deployment, mode: str
) -> None:
    """For two hours, each minute: the tokens come back, are signed for if that is possible, and go away again."""
    payment_intents, by = deployment.payment_intents, deployment.key if mode == "key" else deployment.public()
    request, refused, accepted = deployment.request("12.50"), 0, 0
    for _ in range(120):
        payment_intents.balances[PAYER.lower()] = HAD
        offered = deployment.offer(request, by=by)
        if offered.status == 200:
            accepted += deployment.sign(offered, by).status == 200
        payment_intents.balances[PAYER.lower()] = 0
        payment_intents.world.advance(40)
        refused += locked(deployment, request)
        payment_intents.minute()
    assert refused <= 3 and accepted <= (1 if mode == "client" else 10)
    assert payment_intents.made["take"] == 0
    failed = payment_intents.events("payment.failed")
    assert len(failed) == accepted


def test_the_owner_withdraws_a_payment_that_a_payer_has_signed(deployment: Deployment) -> None:
    request = deployment.request("12.50")
    offered = deployment.offer(request)
    assert deployment.sign(offered).status == 200 and locked(deployment, request)
    path = f"/v2/request/payment-intents/{offered.json['paymentIntentId']}"
    assert deployment.call("DELETE", path, by=deployment.shop.by_client).status == 403
    answer = deployment.call("DELETE", path)
    assert answer.status == 200
    assert answer.json == {"paymentIntentId": offered.json["paymentIntentId"], "status": "failed"}
    assert deployment.call("DELETE", path).json == answer.json, "the same again"
    assert not locked(deployment, request)
    assert deployment.status(request)["execution"]["status"] == "failed"
    assert deployment.sign(offered).status == 409
    deployment.payment_intents.settle(10)
    assert deployment.payment_intents.made["take"] == 0
    (event,) = deployment.payment_intents.events("payment.failed")
    assert "withdrawn" in event.body
    other = by_session(Shop(deployment.shop.api).account_id)
    assert deployment.call("DELETE", path, by=other).status == 404


def test_what_was_taken_is_not_withdrawn(deployment: Deployment) -> None:
    offered = deployment.offer(deployment.request("12.50"))
    assert deployment.sign(offered).status == 200
    deployment.payment_intents.run()
    path = f"/v2/request/payment-intents/{offered.json['paymentIntentId']}"
    for _ in range(3):
        refused = deployment.call("DELETE", path)
        assert refused.status == 409, refused.json
        deployment.payment_intents.minute()
    deployment.payment_intents.fill(deployment.payment_intents.sent[-1])
    deployment.payment_intents.settle(4)
    assert deployment.call("DELETE", path).status == 409


def test_what_was_withdrawn_before_it_was_signed_cannot_be_signed(deployment: Deployment) -> None:
    offered = deployment.offer(deployment.request("12.50"))
    path = f"/v2/request/payment-intents/{offered.json['paymentIntentId']}"
    assert deployment.call("DELETE", path).status == 200
    refused = deployment.sign(offered)
    assert refused.status == 409 and "nothing was taken" in refused.message
    assert deployment.payment_intents.events("payment.failed") == []
