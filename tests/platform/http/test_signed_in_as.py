"""x-signed-in-as: a call for somebody else than who is signed in is refused, whatever it is, and does nothing."""

import pytest

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.support.client import Api, stored
from tests.support.examples import headers_for, prepared
from tests.support.rehearsed import few
from tests.support.tenants import WAYS, Tenant

BY_SESSION = [known for known in OPERATIONS if Mode.SESSION in known.modes]
CREATION = {"label": "Server"}
COOKIE = next(way for way in WAYS if way.serves == (Mode.SESSION,))


def who(api: Api, headers: dict[str, str]) -> str:
    me = api.get("/v1/auth/me", headers).json
    return f"{me['personId']}/{me['id']}"


@pytest.mark.parametrize("known", few([known for known in BY_SESSION if known.needs_presence], BY_SESSION), ids=lambda known: known.name)
def test_a_call_of_a_session_for_somebody_else_is_refused_and_writes_nothing(api: Api, known: Operation) -> None:
    clear_tables()
    tenant = Tenant()
    headers, own = headers_for(known, tenant, COOKIE), prepared(known, tenant, COOKIE)
    signed_in = who(api, headers)
    person, account = signed_in.split("/")
    other_person, other_account = who(api, Tenant().by_wallet()).split("/")
    before = stored()
    for named in (f"{other_person}/{account}", f"{person}/{other_account}", f"{account}/{person}", person, "/", "x" * 9_000):
        reply = own.send(api, {**headers, "x-signed-in-as": named})
        assert (reply.status, reply.json.get("code")) == (409, "signed_in_as_another"), (named[:60], reply.body)
        assert person not in reply.message and account not in reply.message
    assert stored() == before
    assert own.send(api, {**headers, "x-signed-in-as": signed_in}).status == known.status


def test_a_call_for_another_account_of_the_same_person_is_refused(api: Api) -> None:
    tenant = Tenant()
    headers = tenant.by_wallet()
    before = who(api, headers)
    switched = api.request("POST", "/v1/auth/switch", {"accountId": tenant.other_account(COOKIE)}, {**headers, "x-signed-in-as": before})
    assert switched.status == 200, switched.body
    now = {"cookie": switched.headers["set-cookie"].split(";")[0]}
    assert api.request("POST", "/v1/auth/logout", None, {**now, "x-signed-in-as": before}).status == 409
    assert api.request("POST", "/v1/auth/logout", None, {**now, "x-signed-in-as": who(api, now)}).status == 200


def test_the_header_counts_for_sessions_alone_and_an_empty_one_is_none(api: Api) -> None:
    """Generated clients send every header they know, empty or not; signing in changes who is signed in."""
    tenant = Tenant()
    for headers in ({**tenant.by_key(), "x-signed-in-as": "x/y"}, {**tenant.by_wallet(), "x-signed-in-as": " "}):
        assert api.get("/v1/webhook", headers).status == 200
    ended = {"cookie": "session_token=ended", "x-signed-in-as": "x/y"}
    assert api.get("/v1/webhook", ended).status == 401
    signing_in = {"email": "new@shop.example", "password": "correct horse"}
    for path in ("register", "login"):
        reply = api.request("POST", f"/v1/auth/{path}", signing_in, {**tenant.by_wallet(), "x-signed-in-as": "x/y"})
        assert reply.status in (200, 201), reply.body


def test_a_refusal_is_not_kept_for_an_idempotency_key(api: Api) -> None:
    headers = {**Tenant().by_wallet(), "idempotency-key": "sent-again"}
    refused = api.request("POST", "/v1/api-keys", CREATION, {**headers, "x-signed-in-as": "x/y"})
    made = api.request("POST", "/v1/api-keys", CREATION, {**headers, "x-signed-in-as": who(api, headers)})
    assert (refused.status, made.status) == (409, 201)
