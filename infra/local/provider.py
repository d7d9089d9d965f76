"""A local compliance and off-ramp provider, which speaks the protocol of chalicelib/platform/outbound/compliance.py.

People, bank accounts and orders stay as they begin until somebody moves them, or walk by themselves through the states
of the case that is named in the person's e-mail address (`ann+kyc_rejected@example.com`) or the name of the bank
account (`Ann, bounced`):

    curl <provider_url>/control/users/<id> -d '{"kycStatus": "approved", "agreementStatus": "completed"}'
    curl <provider_url>/control/bank-accounts/<id> -d '{"status": "approved"}'
    curl <provider_url>/control/orders/<id> -d '{"status": "sending_fiat"}'
    curl <provider_url>/control/events -d '{"hold": true}'         keep events back; false sends them, newest first
    curl <provider_url>/control/replay -d '{"copies": 2}'          send every event again, so many times
    curl <provider_url>/control/steps -d '{}'                      take the next step of every case
    curl <provider_url>/control/state                              everything there is

Each move is told to the service by a signed event.
"""

import hashlib
import hmac
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from infra.local.process import Stoppable
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

ACCOUNT = "local"
SECRET, KEY = "local-provider-secret", "local-provider-key"
SECRETS = {"compliance_api_key": KEY, "compliance_webhook_secret": SECRET}
"""As they stand beside the URLs of nodes."""
USER_CASES: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "approved": ({"kycStatus": "initiated"}, {"kycStatus": "pending"}, {"kycStatus": "approved"},
                 {"agreementStatus": "completed"}),
    "kyc_rejected": ({"kycStatus": "pending"}, {"kycStatus": "rejected"}),
    "kyc_failed": ({"kycStatus": "pending"}, {"kycStatus": "failed"}),
    "kyc_retry": ({"kycStatus": "pending"}, {"kycStatus": "retry_required"}, {"kycStatus": "pending"},
                  {"kycStatus": "approved"}),
    "signed": ({"kycStatus": "approved"}, {"agreementStatus": "pending"}, {"agreementStatus": "signed"},
               {"agreementStatus": "completed"}),
    "agreement_rejected": ({"kycStatus": "approved"}, {"agreementStatus": "pending"},
                           {"agreementStatus": "rejected"}),
    "agreement_failed": ({"kycStatus": "approved"}, {"agreementStatus": "pending"}, {"agreementStatus": "failed"}),
}  # fmt: skip
"""What a person goes through whose e-mail address has the name, by name."""
ACCOUNT_CASES: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "approved": ({"status": "approved"},),
    "account_failed": ({"status": "failed", "reason": "The account number does not exist"},),
}
ORDER_CASES: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "sent": tuple(
        {"status": status}
        for status in ("initiated", "pending_internal_assessment", "ongoing_checks", "sending_fiat", "fiat_sent")
    ),
    "bounced": tuple(
        {"status": status} for status in ("initiated", "ongoing_checks", "sending_fiat", "fiat_sent", "bounced")
    ),
    "retried": tuple(
        {"status": status}
        for status in ("initiated", "ongoing_checks", "retry_required", "ongoing_checks", "sending_fiat", "fiat_sent")
    ),
    "order_failed": ({"status": "initiated"}, {"status": "failed", "reason": "The bank refused the transfer"}),
    "short": ({"status": "initiated"}, {"status": "insufficient_funds"}),
    "cancelled": ({"status": "initiated"}, {"status": "cancelled"}),
    "refunded": ({"status": "initiated"}, {"status": "failed"}, {"status": "refunded"}),
    "unheard_of": ({"status": "initiated"}, {"status": "on_hold"}),
}
"""What orders to a bank account go through whose account name has the name, by name."""
_AMENDABLE = {
    "created": "created",
    "initiated": "initiated",
    "pending_internal_assessment": "pending_internal_assessment",
    "ongoing_checks": "ongoing_checks",
    "insufficient_funds": "initiated",
}
"""In which states an order takes another amount, and the state that it has then."""
_KINDS = {"users": "user", "bank-accounts": "bank_account", "orders": "order"}
_NEEDED = {
    "users": ("email", "firstName", "lastName", "dateOfBirth", "country"),
    "bank-accounts": ("bankName", "accountName", "currency", "country"),
    "orders": ("userId", "bankAccountId", "network", "token", "amount"),
}
Post = Callable[[str, bytes, Mapping[str, str]], int]
"""Posts a body with headers to a URL; returns the status, 0 without an answer."""


class Provider:
    """What the provider knows, by kind (`users`, `bank-accounts`, `orders`) and id, and the events that it sent.

    `events_url` is where events are posted; None sends none. `details` are what was submitted, `numbers` those of the
    idempotency keys that were taken last. What `state` names is
    read at the start and written after every request.
    """

    def __init__(self, events_url: str | None = None, post: Post | None = None, state: Path | None = None) -> None:
        self.events_url, self._post, self._state = events_url, post or _post, state
        self.resources: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in _KINDS}
        self.details: dict[str, dict[str, Any]] = {}
        self.numbers: dict[str, int] = {}
        self.steps: dict[tuple[str, str], list[Mapping[str, str]]] = {}
        self.events: list[bytes] = []
        self.kept_events: list[bytes] | None = None
        self._lock = threading.RLock()
        if state is not None and state.exists():
            self.resources, self.details, self.numbers = json.loads(state.read_text())

    def respond(self, request: JsonRequest) -> JsonResponse:
        """The answer to one request of the service, or to a command."""
        with self._lock:
            parts = request.path.strip("/").split("/")
            try:
                if parts[0] == "control":
                    return self._command(parts[1:], request.body or {})
                return self._serve(request.method, parts, request.body, request.headers.get("idempotency-key", ""))
            except KeyError:
                return JsonResponse({"error": "unknown"}, 404)
            finally:
                self._keep()

    def move(self, kind: str, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Changes a resource and tells of it. Raises KeyError for an unknown one."""
        with self._lock:
            found = self.resources[kind][id]
            found |= {**changes, "sequence": found["sequence"] + 1}
            self._tell(kind, found)
            return found

    def step(self) -> int:
        """Takes the next step of every case; returns how many were taken."""
        with self._lock:
            waiting = [(place, steps) for place, steps in self.steps.items() if steps]
            for (kind, id), steps in waiting:
                if id in self.resources[kind]:
                    self.move(kind, id, steps.pop(0))
                else:
                    steps.clear()
            if waiting:
                self._keep()
            return len(waiting)

    def _keep(self) -> None:
        if self._state is not None:
            self._state.write_text(json.dumps([self.resources, self.details, self.numbers]))

    def _serve(self, method: str, parts: list[str], body: Any, key: str) -> JsonResponse:
        match method, parts:
            case "PUT", ["users", id, "agreement"]:
                user = self.resources["users"][id]
                if user["agreementStatus"] != "completed":
                    self.move("users", id, {"agreementStatus": "completed"})
                return JsonResponse(user)
            case "PUT", ["users", id]:
                return self._put_user(id, body, key)
            case "PUT", ["users", user_id, "bank-accounts", id] if user_id in self.resources["users"]:
                return self._put("bank-accounts", id, body, lambda: _new_account(id, user_id), user_id)
            case "PUT", ["orders", id]:
                return self._put("orders", id, body, lambda: _new_order(id, body))
            case "GET", [("users" | "orders") as kind, id]:
                return JsonResponse(self.resources[kind][id])
            case "GET", ["users", user_id, "bank-accounts", id]:
                found = self.resources["bank-accounts"][id]
                return JsonResponse(found) if found["userId"] == user_id else JsonResponse({"error": "unknown"}, 404)
            case "DELETE", ["users", id]:
                self._forget(id)
                return JsonResponse({}, 200)
        return JsonResponse({"error": "unknown"}, 404)

    def _put_user(self, id: str, body: Any, key: str) -> JsonResponse:
        number = int(key.rpartition("/")[2] or 0)
        if id in self.resources["users"] and 0 < number <= self.numbers.get(id, 0):
            return JsonResponse(self.resources["users"][id])
        answer = self._put("users", id, body, lambda: _new_user(id, body))
        if answer.status == 200:
            self.numbers[id] = number
        return answer

    def _put(self, kind: str, id: str, body: Any, new: Callable[[], dict[str, Any]], user_id: str = "") -> JsonResponse:
        missing = [name for name in _NEEDED[kind] if not (isinstance(body, dict) and body.get(name))]
        refused = [name for name, text in (body or {}).items() if "refused" in str(text).lower()]
        if missing or refused:
            return JsonResponse({"fields": [*missing, *refused]}, 422)
        found = self.resources[kind].get(id)
        if found is None:
            self.resources[kind][id] = new()
            self.steps[kind, id] = list(self._case(kind, body, user_id))
        elif kind == "orders" and found["status"] in _AMENDABLE and found["amount"] != body["amount"]:
            self.move(kind, id, {"amount": body["amount"], "status": _AMENDABLE[found["status"]]})
        self.details[id] = dict(body)
        return JsonResponse(self.resources[kind][id])

    def _case(self, kind: str, body: Mapping[str, Any], user_id: str) -> tuple[Mapping[str, str], ...]:
        if kind == "users":
            return USER_CASES.get(_case_of_address(body), ())
        if kind == "bank-accounts":
            name = _last_word(body["accountName"])
            if name not in ACCOUNT_CASES:
                is_approved = name in ORDER_CASES or _case_of_address(self.details[user_id]) == "approved"
                name = "approved" if is_approved else name
            return ACCOUNT_CASES.get(name, ())
        account = self.details.get(body["bankAccountId"], {})
        return ORDER_CASES.get(_last_word(account.get("accountName", "")), ())

    def _forget(self, id: str) -> None:
        self.resources["users"].pop(id, None)
        self.details.pop(id, None)
        for account in [each for each in self.resources["bank-accounts"].values() if each["userId"] == id]:
            del self.resources["bank-accounts"][account["id"]]
            self.details.pop(account["id"], None)

    def _command(self, parts: list[str], body: Any) -> JsonResponse:
        match parts:
            case [("users" | "bank-accounts" | "orders") as kind, id]:
                return JsonResponse(self.move(kind, id, body))
            case ["events"]:
                if body.get("hold"):
                    self.kept_events = [] if self.kept_events is None else self.kept_events
                elif self.kept_events is not None:
                    waiting, self.kept_events = self.kept_events, None
                    for raw in reversed(waiting):
                        self._send(raw)
            case ["replay"]:
                for raw in list(self.events) * int(body.get("copies", 1)):
                    self._send(raw)
            case ["steps"]:
                return JsonResponse({"taken": self.step()})
        return JsonResponse({**self.resources, "events": len(self.events)})

    def _tell(self, kind: str, resource: Mapping[str, Any]) -> None:
        event = {"id": f"evt_{uuid4()}", "account": ACCOUNT, "kind": _KINDS[kind], "data": resource}
        raw = json.dumps(event).encode()
        self.events.append(raw)
        if self.kept_events is None:
            self._send(raw)
        else:
            self.kept_events.append(raw)

    def _send(self, raw: bytes) -> None:
        if self.events_url is not None:
            self._post(self.events_url, raw, sign_headers(raw, int(time.time())))


def sign_headers(raw: bytes, timestamp: int, secret: str = SECRET) -> dict[str, str]:
    """The headers of an event."""
    signature = hmac.new(secret.encode(), f"{timestamp}.".encode() + raw, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-provider-timestamp": str(timestamp),
        "x-provider-signature": signature,
    }


class ProviderServer(Stoppable):
    """A running provider, which takes the steps of cases by itself."""

    def __init__(
        self, events_url: str | None, port: int | None = None, step_seconds: float = 1, state: Path | None = None
    ) -> None:
        self.provider = Provider(events_url, _post_later, state)
        self._server = JsonServer("the compliance provider", self.provider.respond, port)
        self.url = self._server.url
        self._ended = threading.Event()
        threading.Thread(target=self._walk, args=(step_seconds,), daemon=True).start()

    def _walk(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            self.provider.step()

    def stop(self) -> None:
        self._ended.set()
        self._server.close()


def _new_user(id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "sequence": 1,
        "kycStatus": "not_started",
        "agreementStatus": "not_started",
        "kycUrl": f"https://kyc.provider.example/{id}",
        "agreementUrl": f"https://agreements.provider.example/?email={quote(str(body['email']), safe='')}",
    }


def _new_account(id: str, user_id: str) -> dict[str, Any]:
    return {"id": id, "userId": user_id, "sequence": 1, "status": "pending", "reason": None}


def _new_order(id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "userId": body["userId"],
        "bankAccountId": body["bankAccountId"],
        "sequence": 1,
        "status": "created",
        "providerId": f"ord_{hashlib.sha256(id.encode()).hexdigest()[:16]}",
        "amount": body["amount"],
        "depositAddress": "0x" + hashlib.sha256(f"deposit {id}".encode()).hexdigest()[:40],
        "fee": "0",
        "reason": None,
    }


def _case_of_address(person: Mapping[str, Any]) -> str:
    return str(person.get("email", "")).partition("@")[0].partition("+")[2]


def _last_word(text: object) -> str:
    return str(text).rpartition(" ")[2]


def _post(url: str, raw: bytes, headers: Mapping[str, str]) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, raw, dict(headers)), timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def _post_later(url: str, raw: bytes, headers: Mapping[str, str]) -> int:
    """Posts in a thread, as the service may be waiting for the answer that this provider is about to give."""
    threading.Thread(target=_post, args=(url, raw, headers), daemon=True).start()
    return 0
