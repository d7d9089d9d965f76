"""Creates a request, lists requests and payments, and verifies a webhook. Needs API_URL and API_KEY in the environment.

HOOK_URL is where the service reaches this machine; locally http://127.0.0.1:<port>/hook.
"""

import os
from collections.abc import Callable
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

from payment_requests import Client, Conflict, InvalidSignature, verify_webhook
from payment_requests.models import WebhookEvent

PAYEE = "0x1D2F9A3e8F6b7C4d5E6f708192A3B4C5D6e7F801"


def receive(port: int, secret: str, ask: Callable[[], object]) -> WebhookEvent:
    """The event of the first webhook that is verified, of those that `ask` asks for."""
    events: list[WebhookEvent] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                events.append(verify_webhook(body, dict(self.headers.items()), secret))
                self.send_response(204)
            except InvalidSignature:
                self.send_response(401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        ask()
        while not events:
            server.handle_request()
    return events[0]


def main() -> None:
    hook = os.environ["HOOK_URL"]
    with Client(os.environ["API_URL"], api_key=os.environ["API_KEY"]) as client:
        currency = "fUSDC-sepolia"
        made = client.requests.create(
            {"amount": "12.5", "payee": PAYEE.lower(), "invoiceCurrency": currency, "paymentCurrency": currency}
        )
        print("status", client.requests.get(made["requestId"])["status"])
        print("listed", made["requestId"] in [each["requestId"] for each in client.requests.list(limit=1)])
        print("payments", all(Decimal(payment["amount"]) > 0 for payment in client.payments.list(network="sepolia")))
        client.requests.cancel(made["requestId"])
        try:
            client.requests.pay(made["requestId"], wallet=PAYEE.lower())
        except Conflict as error:
            print("refused", error.status, bool(error.message), bool(error.request_id))
        webhook = client.webhooks.create({"url": hook, "events": ["payment.confirmed"]})
        event = receive(
            urlsplit(hook).port or 80,
            webhook["secret"],
            lambda: client.webhooks.test({"eventType": "payment.confirmed"}),
        )
        print("event", event["event"])
        client.webhooks.delete(webhook["id"])


if __name__ == "__main__":
    main()
