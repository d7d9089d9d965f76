"""What the users of the load do, run by Locust in an environment of its own (tests/load/requirements.txt).

Each user is a merchant's server and a payer with a wallet of its own. A payment is signed here and broadcast to the
local chain; it counts when the webhook about it has arrived, signed. LOAD has what `python -m tests.load` knows, as
JSON: the description of the stack, the wallets, the URL of the bare route, and where to write what was received.
"""

import hmac
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gevent.event import Event
from gevent.pywsgi import WSGIServer
from locust import HttpUser, constant, events, task

sys.path.append(str(Path(__file__).resolve().parents[2] / "infra" / "local" / "outsiders"))
from payer import Payer

LOAD: dict[str, Any] = json.loads(os.environ["LOAD"])
STACK, WALLETS = LOAD["stack"], list(LOAD["wallets"])
LINKS, WEBHOOKS, PATH = "/v2/secure-payments", "/v1/webhook", "/load-webhook"
NETWORK, CURRENCY, AMOUNT, REFERENCE = "sepolia", "fUSDC-sepolia", "1.25", "load"
CONFIRMED = "payment.confirmed"
ARRIVAL_SECONDS = 90
HEADERS = {"x-api-key": STACK["api_key"], "x-client-id": STACK["client_id"], "origin": STACK["origin"]}


class Webhook:
    """One webhook of the merchant: counts the deliveries by event, and lets payers wait for theirs."""

    def __init__(self) -> None:
        self.received, self.forged = Counter[str](), 0
        self.paid: dict[str, Event] = {}
        self.secret = b""
        self._server = WSGIServer(("127.0.0.1", 0), self._receive, log=None)
        self._server.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{PATH}"

    def _receive(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read()
        signature = hmac.new(self.secret, body, "sha256").hexdigest()
        if hmac.compare_digest(signature, environ.get("HTTP_X_SERVICE_SIGNATURE", "")):
            event = json.loads(body)
            if paid := self.paid.get(str(event.get("requestId"))):
                self.received[event["event"]] += 1
                if event["event"] == CONFIRMED:
                    paid.set()
        else:
            self.forged += 1
        start_response("204 No Content", [])
        return []


WEBHOOK = Webhook()


class User(HttpUser):
    """Waits a little between two tasks, as a server does between orders; the rate is what the stack can take."""

    host = STACK["base_url"]
    wait_time = constant(0.05)

    def on_start(self) -> None:
        self.client.trust_env = False  # all of it is on this machine
        self.payer = Payer(STACK["rpc"][NETWORK], WALLETS.pop())
        self.link = self._create()
        for each in (self.bare, self.read, self.list_payments, self.pay):  # a short run measures every task
            each()

    def _create(self) -> dict[str, Any]:
        item = {"payee": STACK["payee"], "amount": AMOUNT, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        body = {"requests": [item], "reference": REFERENCE}
        made = self.client.post(LINKS, json=body, headers=HEADERS, name="create")
        link: dict[str, Any] = made.json()
        return link

    @task(4)
    def bare(self) -> None:
        self.client.get(LOAD["bare_url"], name="bare route")

    @task(3)
    def create(self) -> None:
        self.link = self._create()

    @task(6)
    def read(self) -> None:
        self.client.get(f"{LINKS}/{self.link['token']}", headers=HEADERS, name="read")

    @task(2)
    def list_payments(self) -> None:
        self.client.get(f"/v2/payments?reference={REFERENCE}&limit=20", headers=HEADERS, name="list")

    @task(2)
    def pay(self) -> None:
        link, self.link = self.link, self._create()
        request_id = link["requestIds"][0]
        arrived = WEBHOOK.paid[request_id] = Event()
        url = f"{LINKS}/{link['token']}/pay?wallet={self.payer.address}"
        asked = self.client.get(url, headers=HEADERS, name="pay")
        error: Exception | None = None
        began = time.monotonic()
        try:
            for transaction in asked.json()["transactions"]:
                self.payer.pay(transaction)
            began = time.monotonic()
            if not arrived.wait(ARRIVAL_SECONDS):
                raise TimeoutError(f"no {CONFIRMED} within {ARRIVAL_SECONDS} s of the block with the payment")
        except Exception as failed:  # Locust counts it, and the load goes on
            error = failed
        taken = (time.monotonic() - began) * 1000
        self.environment.events.request.fire(
            request_type="", name="webhook", response_time=taken, response_length=0, exception=error, context={}
        )


@events.test_start.add_listener
def register(environment: Any, **_: Any) -> None:
    http = environment.runner.user_classes[0](environment).client
    http.trust_env = False
    for each in http.get(WEBHOOKS, headers=HEADERS, name="set up").json():
        if each["url"].endswith(PATH):
            http.delete(f"{WEBHOOKS}/{each['id']}", headers=HEADERS, name="set up")
    made = http.post(WEBHOOKS, json={"url": WEBHOOK.url}, headers=HEADERS, name="set up")
    WEBHOOK.secret = made.json()["secret"].encode()


@events.test_stop.add_listener
def report(environment: Any, **_: Any) -> None:
    paid = [request_id for request_id, event in WEBHOOK.paid.items() if event.is_set()]
    deadline = time.monotonic() + 20
    while sum(WEBHOOK.received.values()) < LOAD["deliveries_of_a_payment"] * len(paid) and time.monotonic() < deadline:
        time.sleep(0.2)  # the other events of the last payments
    errors = [f"{each.name}: {each.error} ({each.occurrences})" for each in environment.stats.errors.values()]
    found = {"payments": len(paid), "deliveries": WEBHOOK.received, "forged": WEBHOOK.forged, "errors": errors}
    Path(LOAD["report"]).write_text(json.dumps(found))
