"""API keys over HTTP: making, listing, changing and revoking them under a session, and what limits them."""

import json
import re
import time
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.access.sessions.records import SessionKind
from tests.fakes.world import PREFIX
from tests.support.client import ORIGIN, TABLES, Api, Reply, Shop, item, stored
from tests.support.opened import by_session
from tests.support.running import running

KEYS = "/v1/api-keys"
ANSWERED = {
    "id", "prefix", "label", "scopes", "expiresAt", "allowedIps", "usesPaymentIntents", "isActive", "createdAt",
    "test",
}


class Dashboard:
    """A merchant's browser, signed in."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.api = shop, shop.api
        self.headers = by_session(shop.account_id)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return self.api.request(method, path, body, {**self.headers, **headers})

    def create(self, **fields: Any) -> Reply:
        return self.send("POST", KEYS, {"label": "server", **fields})

    def created(self, **fields: Any) -> dict[str, Any]:
        reply = self.create(**fields)
        assert reply.status == 201, reply.json
        return reply.json

    def listed(self) -> dict[str, dict[str, Any]]:
        return {key["id"]: key for key in self.send("GET", KEYS).json}

    def actions(self) -> list[tuple[str, str]]:
        """Newest first: what was done to what."""
        entries = self.send("GET", "/v1/audit?limit=100").json["entries"]
        return [(entry["action"], entry["target"]) for entry in entries]


@pytest.fixture
def dashboard(new_shop: Shop) -> Dashboard:
    return Dashboard(new_shop)


def create_link(api: Api, key: str) -> Reply:
    return api.request("POST", "/v2/secure-payments", {"requests": [item()]}, {"x-api-key": key})


def everything_stored() -> str:
    client = running().store.client
    return json.dumps([client.scan(TableName=f"{PREFIX}-{name}")["Items"] for name in TABLES], default=repr)


# --- making ---


def test_a_new_key_is_shown_once_and_works(dashboard: Dashboard) -> None:
    made = dashboard.created()
    assert set(made) == {*ANSWERED, "key"}
    assert re.fullmatch(r"key_[0-9A-Za-z]{43}", made["key"])
    assert made["key"].startswith(made["prefix"]) and len(made["prefix"]) == 8
    assert (made["label"], made["scopes"], made["expiresAt"], made["allowedIps"], made["isActive"]) == (
        "server",
        list(SCOPES),
        None,
        [],
        True,
    )
    assert create_link(dashboard.api, made["key"]).status == 201
    (listed,) = [key for key in dashboard.listed().values() if key["id"] == made["id"]]
    assert set(listed) == {*ANSWERED, "lastUsedAt"}
    assert made["key"] not in json.dumps(listed)


def test_wallet_and_email_sessions_make_keys_alike(new_shop: Shop) -> None:
    for kind in SessionKind:
        reply = new_shop.api.request("POST", KEYS, {"label": "x"}, by_session(new_shop.account_id, kind))
        assert reply.status == 201


def test_no_table_and_no_log_holds_a_key_even_under_an_idempotency_key(dashboard: Dashboard) -> None:
    first = dashboard.send("POST", KEYS, {"label": "x"}, **{"idempotency-key": "make-it-once"})
    again = dashboard.send("POST", KEYS, {"label": "x"}, **{"idempotency-key": "make-it-once"})
    assert first.status == 201 and again.body == first.body
    assert len(dashboard.listed()) == 2, "the shop's own key and this one"
    key = first.json["key"]
    assert create_link(dashboard.api, key).status == 201
    assert key not in everything_stored()
    assert key not in dashboard.api.log.getvalue()


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"label": ""}, "label"),
        ({"label": "x" * 101}, "label"),
        ({"label": None}, "label"),
        ({"label": 5}, "label"),
        ({"scopes": []}, "scopes"),
        ({"scopes": "webhooks:read"}, "scopes"),
        ({"scopes": [5]}, "scopes"),
        ({"scopes": ["webhooks:read", "webhooks:delete"]}, "allowed are secure_payments:read, secure_payments:write"),
        ({"scopes": ["*"]}, "'*' is not a scope; allowed are"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt is in the past"),
        ({"expiresAt": "2999-01-01T00:00:00"}, "expiresAt must be a time in ISO 8601"),
        ({"expiresAt": "tomorrow"}, "expiresAt must be a time in ISO 8601"),
        ({"expiresAt": "9999-12-31T23:59:59-23:59"}, "expiresAt must be a time in ISO 8601"),
        ({"expiresAt": 4_000_000_000}, "expiresAt"),
        ({"allowedIps": ["300.1.1.1"]}, "allowedIps: '300.1.1.1' is not an IP address or range"),
        ({"allowedIps": ["10.0.0.0/33"]}, "allowedIps"),
        ({"allowedIps": [""]}, "allowedIps"),
        ({"allowedIps": "10.0.0.1"}, "allowedIps"),
        ({"allowedIps": ["10.0.0.1"] * 51}, "allowedIps"),
        ({"usesPaymentIntents": "true"}, "usesPaymentIntents must be true or false"),
        ({"usesPaymentIntents": None}, "usesPaymentIntents must be true or false"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_setting_that_cannot_be_is_refused_by_name_and_nothing_is_written(
    dashboard: Dashboard, fields: dict[str, Any], hint: str
) -> None:
    before = stored()
    reply = dashboard.create(**fields)
    assert reply.status == 400 and hint in reply.message, reply.json
    assert stored() == before


def test_ranges_and_scopes_are_kept_in_their_canonical_form(dashboard: Dashboard) -> None:
    ranges = ["203.0.113.9/24", "203.0.113.0/24", "2001:DB8::1"]
    made = dashboard.created(allowedIps=ranges, scopes=["webhooks:write", "audit:read", "webhooks:write"])
    assert made["allowedIps"] == ["203.0.113.0/24", "2001:db8::1/128"]
    assert made["scopes"] == ["webhooks:write", "audit:read"]


def test_whether_payers_sign_is_set_for_each_key(dashboard: Dashboard) -> None:
    assert dashboard.created()["usesPaymentIntents"] is False
    made = dashboard.created(usesPaymentIntents=True)
    assert made["usesPaymentIntents"] is True and dashboard.listed()[made["id"]]["usesPaymentIntents"] is True


# --- limits of a key ---


OPERATIONS = [
    ("POST", "/v2/secure-payments", {"requests": [item()]}, "secure_payments:write", 201),
    ("GET", "/v2/secure-payments/unknown", None, "secure_payments:read", 404),
    ("GET", "/v2/secure-payments/unknown/pay", None, "secure_payments:read", 404),
    ("POST", "/v2/request", item(), "requests:write", 201),
    ("GET", "/v2/request/unknown", None, "requests:read", 404),
    ("PATCH", "/v2/request/unknown", {"isRecurrenceStopped": True}, "requests:write", 404),
    ("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}, "webhooks:write", 201),
    ("GET", "/v1/webhook", None, "webhooks:read", 200),
    ("PUT", "/v1/webhook/unknown", None, "webhooks:write", 404),
    ("DELETE", "/v1/webhook/unknown", None, "webhooks:write", 404),
    ("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"}, "webhooks:write", None),
    ("POST", "/v2/client-ids", {"label": "x", "allowedDomains": [ORIGIN]}, "client_ids:write", 201),
    ("GET", "/v2/client-ids", None, "client_ids:read", 200),
    ("GET", "/v2/client-ids/unknown", None, "client_ids:read", 404),
    ("PUT", "/v2/client-ids/unknown", {"label": "y"}, "client_ids:write", 404),
    ("DELETE", "/v2/client-ids/unknown", None, "client_ids:write", 404),
    ("GET", "/v1/audit", None, "audit:read", 200),
]


def test_a_limited_key_does_what_its_scopes_say_and_is_told_which_one_it_lacks(dashboard: Dashboard) -> None:
    for method, path, body, scope, expected in OPERATIONS:
        allowed = dashboard.created(scopes=[scope])["key"]
        others = dashboard.created(scopes=[each for each in SCOPES if each != scope])["key"]
        reply = dashboard.api.request(method, path, body, {"x-api-key": allowed})
        assert reply.status in ((201, 404) if expected is None else (expected,)), (method, path, reply.json)
        refused = dashboard.api.request(method, path, body, {"x-api-key": others})
        assert (refused.status, refused.message) == (403, f"This API key lacks the scope {scope}")


def test_a_key_with_all_scopes_is_not_limited(dashboard: Dashboard) -> None:
    key = dashboard.created(scopes=list(SCOPES))
    for method, path, body, _, _ in OPERATIONS:
        assert dashboard.api.request(method, path, body, {"x-api-key": key["key"]}).status != 403


def test_a_key_ends_at_its_expiry(dashboard: Dashboard) -> None:
    soon = running().clock() + timedelta(seconds=1.5)
    made = dashboard.created(expiresAt=iso(soon))
    assert made["expiresAt"] == iso(soon)
    assert create_link(dashboard.api, made["key"]).status == 201
    while running().clock() < soon:
        time.sleep(0.02)
    reply = create_link(dashboard.api, made["key"])
    assert (reply.status, reply.message.startswith("x-api-key")) == (401, True)


def test_an_expiry_can_be_set_moved_and_lifted_later(dashboard: Dashboard) -> None:
    key = dashboard.created()
    for wanted in ("2999-01-01T00:00:00.000Z", None):
        reply = dashboard.send("PUT", f"{KEYS}/{key['id']}", {"expiresAt": wanted})
        assert (reply.status, reply.json["expiresAt"]) == (200, wanted)
    refused = dashboard.send("PUT", f"{KEYS}/{key['id']}", {"expiresAt": "2020-01-01T00:00:00Z"})
    assert refused.status == 400


def test_an_expiry_with_another_offset_is_the_same_moment(dashboard: Dashboard) -> None:
    assert dashboard.created(expiresAt="2999-01-01T01:00:00.5+01:00")["expiresAt"] == "2999-01-01T00:00:00.500Z"


def test_a_key_bound_to_addresses_works_from_there_alone(dashboard: Dashboard) -> None:
    inside, outside = dashboard.created(allowedIps=["127.0.0.0/8"]), dashboard.created(allowedIps=["203.0.113.0/24"])
    assert create_link(dashboard.api, inside["key"]).status == 201
    reply = create_link(dashboard.api, outside["key"])
    assert (reply.status, reply.message) == (403, "This API key may not be used from this address")
    dashboard.send("PUT", f"{KEYS}/{outside['id']}", {"allowedIps": None})
    assert create_link(dashboard.api, outside["key"]).status == 201


# --- changing ---


def test_changing_touches_what_was_sent_alone(dashboard: Dashboard) -> None:
    made = dashboard.created(scopes=["webhooks:read"], allowedIps=["10.0.0.0/8"], expiresAt="2999-01-01T00:00:00Z")
    path, expected = f"{KEYS}/{made['id']}", {name: made[name] for name in ANSWERED}
    for change in (
        {"label": "renamed"},
        {"scopes": ["audit:read"]},
        {"allowedIps": ["10.1.0.0/16"]},
        {"isActive": False},
        {"isActive": True},
        {"usesPaymentIntents": True},
        {"usesPaymentIntents": False},
        {},
        {"allowedIps": []},
        {"label": "a", "isActive": False},
    ):
        expected |= change
        reply = dashboard.send("PUT", path, change)
        assert (reply.status, reply.json) == (200, expected)
        read = dashboard.send("GET", path).json
        assert read.pop("lastUsedAt") is None and read == expected
    assert dashboard.send("PUT", path, {"scopes": None}).json["scopes"] == list(SCOPES)


def test_without_a_body_a_key_is_switched_off_and_on(dashboard: Dashboard) -> None:
    made = dashboard.created()
    path = f"{KEYS}/{made['id']}"
    assert dashboard.send("PUT", path).json["isActive"] is False
    assert create_link(dashboard.api, made["key"]).status == 401
    assert dashboard.send("PUT", path).json["isActive"] is True
    assert create_link(dashboard.api, made["key"]).status == 201


def test_a_change_that_cannot_be_is_refused(dashboard: Dashboard) -> None:
    made = dashboard.created()
    before = dashboard.listed()[made["id"]]
    bodies: list[Any] = [
        {"label": None},
        {"label": ""},
        {"isActive": None},
        {"isActive": "true"},
        {"isActive": 1},
        {"scopes": []},
        {"scopes": ["x"]},
        {"allowedIps": ["x"]},
        b"{",
        b"[]",
        b" ",
    ]
    for body in bodies:
        reply = dashboard.send("PUT", f"{KEYS}/{made['id']}", body, **{"content-type": "application/json"})
        assert reply.status == 400, body
        assert dashboard.listed()[made["id"]] == before, body
    assert before["isActive"] is True


def test_revoking_is_for_good(dashboard: Dashboard) -> None:
    made = dashboard.created()
    path = f"{KEYS}/{made['id']}"
    reply = dashboard.send("DELETE", path)
    assert (reply.status, reply.json) == (200, {"id": made["id"], "revoked": True})
    assert create_link(dashboard.api, made["key"]).status == 401
    assert made["id"] not in dashboard.listed()
    for method in ("GET", "PUT", "DELETE"):
        reply = dashboard.send(method, path)
        assert (reply.status, reply.message) == (404, "API key not found")
    assert create_link(dashboard.api, made["key"]).status == 401


def test_keys_are_listed_in_the_order_of_their_creation_with_their_last_use(dashboard: Dashboard) -> None:
    made = [dashboard.created(label=str(number)) for number in range(3)]
    assert [key for key in dashboard.listed() if key in {each["id"] for each in made}] == [key["id"] for key in made]
    create_link(dashboard.api, made[1]["key"])
    used = [dashboard.listed()[key["id"]]["lastUsedAt"] for key in made]
    assert used[0] is used[2] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", used[1])
    assert dashboard.send("GET", f"{KEYS}/{made[1]['id']}").json["lastUsedAt"] == used[1]


# --- who may ---


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_unknown_key_is_404(dashboard: Dashboard, method: str) -> None:
    for id in ("01M7VQFVRZV5BJJSN4QTFB4MP3", "x" * 3000, "%F0%9F%92%B8", "%FF", "a%2Fb", "key_x"):
        reply = dashboard.send(method, f"{KEYS}/{id}")
        assert (id, reply.status, reply.message) == (id, 404, "API key not found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_nobody_reaches_the_key_of_another(dashboard: Dashboard, method: str) -> None:
    made, stranger = dashboard.created(), Dashboard(Shop(dashboard.api))
    assert stranger.send(method, f"{KEYS}/{made['id']}").status == 404
    assert made["id"] not in stranger.listed()
    assert create_link(dashboard.api, made["key"]).status == 201


@pytest.mark.parametrize(
    ("method", "path"), [("POST", KEYS), ("GET", KEYS), *((m, f"{KEYS}/x") for m in ("GET", "PUT", "DELETE"))]
)
def test_only_a_session_manages_keys(new_shop: Shop, method: str, path: str) -> None:
    body = {"label": "x"} if method == "POST" else None
    for headers, status in (
        ({}, 401), (new_shop.by_key, 403), (new_shop.by_client, 403), ({"cookie": "session_token=nonsense"}, 401),
    ):  # fmt: skip
        before = stored()
        assert new_shop.api.request(method, path, body, headers).status == status
        assert stored() == before


def test_every_change_is_in_the_audit_log(dashboard: Dashboard) -> None:
    id = dashboard.created()["id"]
    dashboard.send("PUT", f"{KEYS}/{id}", {"label": "y"})
    dashboard.send("PUT", f"{KEYS}/{id}", {"scopes": ["x"]})
    dashboard.send("DELETE", f"{KEYS}/{id}")
    dashboard.send("DELETE", f"{KEYS}/{id}")
    done = [action for action, target in dashboard.actions() if target == id]
    assert done == ["api_key.revoked", "api_key.updated", "api_key.created"]
