"""Makes the calls of test_client_calls.py with the client in Python, and prints what each led to as JSON."""

import json
import sys
from collections.abc import Callable
from functools import partial

from payment_requests import ApiError, Client, ConnectionFailed, InvalidSignature, verify_webhook
from payment_requests.models import ClaimSigning

url, given = sys.argv[1], json.loads(sys.argv[2])
slept: list[float] = []
SIGNING: ClaimSigning = {"calls": "0x", "announcerSecret": "s"}
client = Client(url, api_key="key", client_id="cli_1", auth_url=f"{url}/auth", sleep=slept.append)


def outcome(call: Callable[[], object]) -> object:
    slept.clear()
    try:
        result = call()
    except ApiError as error:
        known = [error.status, error.code, error.message, error.request_id, error.body]
        return [type(error).__name__, *known, len(slept)]
    except (ConnectionFailed, InvalidSignature) as error:
        return [type(error).__name__, len(slept)]
    return ["returned", result, [each for each in slept if each.is_integer()], len(slept)]


CALLS: dict[str, Callable[[], object]] = {
    "created": lambda: client.requests.create(
        {"amount": "1", "invoiceCurrency": "USD", "paymentCurrency": "USDC-base"}
    ),
    "with own key": lambda: client.requests.cancel("r/1 ?", idempotency_key="mine"),
    "once only": lambda: client.links.claim_signing("t", SIGNING),
    "limited": lambda: client.links.claim_signing("limited", SIGNING),
    "reset once only": lambda: client.links.claim_signing("reset", SIGNING),
    "reset": lambda: client.requests.get("reset"),
    "refused": lambda: client.requests.get("refused"),
    "listed": lambda: list(client.payments.list(network="base", limit=2)),
    "followed": lambda: list(client.events.list_next()),
    "one page": lambda: client.payments.list_page(cursor="c2"),
    "waits": lambda: client.webhooks.create({"url": "https://shop.example/"}),
    "accepted": lambda: client.webhooks.redeliver("w", "d"),
    "no json": lambda: client.service.show_status(),
}
found = {name: outcome(call) for name, call in CALLS.items()}
hooks = [
    outcome(partial(verify_webhook, each["body"].encode(), each["headers"], each["secret"]))
    for each in given
]
print(json.dumps({"calls": found, "hooks": hooks}))
