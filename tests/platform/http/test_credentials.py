"""Who may call: API keys, client ids with their origins, and both together (specification, Authentication)."""

from dataclasses import replace

import pytest

from chalicelib.accounts.orchestrators.flows import link_client
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from infra import admin
from tests.fakes.world import PREFIX
from tests.support.client import ORIGIN, TABLES, Api, Reply, Shop, item, stored
from tests.support.running import running
from tests.support.tenants import UNKNOWN_CREDENTIAL, Tenant

UNAUTHORIZED = {"statusCode": 401, "message": "Unauthorized", "error": "Unauthorized"}

GUARDED = [
    ("POST", "/v2/secure-payments"),
    ("GET", "/v2/secure-payments/01M7VQFVRZV5BJJSN4QTFB4MP3"),
    ("GET", "/v2/secure-payments/01M7VQFVRZV5BJJSN4QTFB4MP3/pay"),
    ("POST", "/v1/webhook"),
    ("GET", "/v1/webhook"),
    ("PUT", "/v1/webhook/01M7VQFVRZV5BJJSN4QTFB4MP3"),
    ("DELETE", "/v1/webhook/01M7VQFVRZV5BJJSN4QTFB4MP3"),
    ("POST", "/v1/webhook/test"),
]


def create(api: Api, **headers: str) -> Reply:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.request("POST", "/v2/secure-payments", {"requests": [item()]}, sent)


def set_status(credential: str, kind: type, status: CredentialStatus) -> None:
    store = running().store
    record = store.get(kind, kind.KEY.of(credential_hash=credential_hash(credential)))  # type: ignore[attr-defined]
    store.write(replace(record, status=status))


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": ORIGIN},
        {"x-api-key": ""},
        {"x-api-key": "key_unknown"},
        {"x-client-id": ""},
        {"x-client-id": "cli_unknown", "origin": ORIGIN},
        {"x-api-key": "key_unknown", "x-client-id": "cli_unknown", "origin": ORIGIN},
        {"x-api-key": "\xe9\xff" * 50},
        {"authorization": "Bearer something"},
    ],
    ids=str,
)
def test_without_a_known_credential_every_guarded_operation_is_401(
    api: Api, method: str, path: str, headers: dict[str, str]
) -> None:
    body = {} if method == "POST" else None
    reply = api.request(method, path, body, headers)
    of_sessions = ("Session is missing or has ended", "A session is not accepted here")
    sent = tuple(name for name, text in headers.items() if text and name.startswith("x-"))
    named = of_sessions if "authorization" in headers else sent or ("Unauthorized",)
    assert (reply.status, reply.json) == (401, {**UNAUTHORIZED, "message": reply.message})
    assert reply.message.startswith(named)


def test_a_refused_caller_writes_nothing(api: Api, shop: Shop) -> None:
    before = stored()
    create(api, x_api_key="key_unknown")
    create(api, x_client_id=shop.client_id)
    create(api, x_client_id=shop.client_id, origin="https://evil.example")
    assert stored() == before


def test_credentials_go_before_the_body(api: Api) -> None:
    assert api.request("POST", "/v2/secure-payments", b"{not json").status == 401


def test_an_api_key_creates_links(api: Api, shop: Shop) -> None:
    assert create(api, x_api_key=shop.key).status == 201


def test_a_client_id_creates_links_from_its_origin(api: Api, shop: Shop) -> None:
    assert create(api, x_client_id=shop.client_id, origin=ORIGIN).status == 201


def test_header_names_ignore_case(api: Api, shop: Shop) -> None:
    assert create(api, X_Client_Id=shop.client_id, ORIGIN=ORIGIN).status == 201
    assert create(api, X_API_KEY=shop.key).status == 201


@pytest.mark.parametrize("spoil", [str.upper, str.lower, lambda text: text[:-1], lambda text: text + "x"])
def test_a_credential_is_compared_to_the_letter(api: Api, shop: Shop, spoil: object) -> None:
    assert callable(spoil)
    assert create(api, x_api_key=spoil(shop.key)).status == 401
    assert create(api, x_client_id=spoil(shop.client_id), origin=ORIGIN).status == 401


def test_a_key_is_no_client_id_and_a_client_id_is_no_key(api: Api, shop: Shop) -> None:
    assert create(api, x_client_id=shop.key, origin=ORIGIN).status == 401
    assert create(api, x_api_key=shop.client_id).status == 401


@pytest.mark.parametrize("status", [CredentialStatus.REVOKED, CredentialStatus.INACTIVE])
def test_a_key_that_is_not_active_is_401(api: Api, new_shop: Shop, status: CredentialStatus) -> None:
    set_status(new_shop.key, ApiKey, status)
    reply = create(api, x_api_key=new_shop.key)
    assert (reply.status, reply.json) == (401, {**UNAUTHORIZED, "message": f"x-api-key {UNKNOWN_CREDENTIAL}"})


@pytest.mark.parametrize("status", [CredentialStatus.REVOKED, CredentialStatus.INACTIVE])
def test_a_client_id_that_is_not_active_is_403(api: Api, new_shop: Shop, status: CredentialStatus) -> None:
    set_status(new_shop.client_id, ClientId, status)
    reply = create(api, x_client_id=new_shop.client_id, origin=ORIGIN)
    wanted = {"revoked": "Client ID has been revoked", "inactive": "Client ID is inactive"}
    assert (reply.status, reply.message) == (403, wanted[status])


def test_the_operator_revokes_either_kind(api: Api, new_shop: Shop) -> None:
    assert admin.revoke(running(), new_shop.key) and admin.revoke(running(), new_shop.client_id)
    assert not admin.revoke(running(), "key_unknown")
    assert create(api, x_api_key=new_shop.key).status == 401
    assert create(api, x_client_id=new_shop.client_id, origin=ORIGIN).status == 403


@pytest.mark.parametrize("origin", [None, ""])
def test_a_client_id_with_domains_needs_an_origin(api: Api, shop: Shop, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    reply = create(api, x_client_id=shop.client_id, **headers)
    assert (reply.status, reply.message) == (401, "Origin header is required")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example:8443",
        "https://shop.example:80",
        "https://shop.example.",
        "https://shop.example.evil.example",
        "https://evil-shop.example",
        "https://evilshop.example",
        "https://www.shop.example",
        "https://shop.example/",
        "https://shop.example@evil.example",
        "https://shop.example, https://evil.example",
        "shop.example",
        "null",
        "*",
        "https://",
        "https://shop\xebxample",
    ],
)
def test_an_origin_that_only_resembles_the_allowed_one_is_403(api: Api, shop: Shop, origin: str) -> None:
    reply = create(api, x_client_id=shop.client_id, origin=origin)
    assert reply.status == 403
    assert reply.message == "Origin is not among the allowed domains of this client ID"


def test_an_origin_is_compared_as_browsers_spell_it(api: Api) -> None:
    """Browsers send it in lower case without a default port, and so it is stored, however it was configured."""
    shop = Shop(api, ["HTTPS://Shop.Example:443/", "http://localhost:3000"])
    assert create(api, x_client_id=shop.client_id, origin="https://shop.example").status == 201
    assert create(api, x_client_id=shop.client_id, origin="http://localhost:3000").status == 201
    assert create(api, x_client_id=shop.client_id, origin="http://localhost:3001").status == 403
    assert create(api, x_client_id=shop.client_id, origin="https://SHOP.example").status == 403


def test_a_client_id_without_domains_is_for_servers_and_needs_no_origin(api: Api) -> None:
    shop = Shop(api, [])
    assert create(api, x_client_id=shop.client_id).status == 201
    assert create(api, x_client_id=shop.client_id, origin="https://anything.example").status == 201


def test_an_api_key_beside_a_client_id_needs_no_origin(api: Api, shop: Shop) -> None:
    assert create(api, x_api_key=shop.key, x_client_id=shop.client_id).status == 201


def test_an_api_key_beside_a_client_id_does_not_excuse_a_foreign_origin(api: Api, shop: Shop) -> None:
    reply = create(api, x_api_key=shop.key, x_client_id=shop.client_id, origin="https://evil.example")
    assert reply.status == 403


UNKNOWN = "/v2/request/01M7VQFVRZV5BJJSN4QTFB4MP3"
OF_ANOTHER_ACCOUNT = "belongs to another account than what is sent beside it: send one of the same account, or leave it out"


def test_credentials_of_two_accounts_are_401_and_one_is_named(api: Api, shop: Shop) -> None:
    other, platform = Tenant(), Tenant()
    bearer = other.by_email()["authorization"]
    pair = {name.replace("-", "_"): text for name, text in platform.by_pair().items()}
    by_client = {"x_client_id": shop.client_id, "origin": ORIGIN}
    before = stored()
    for name, headers in (
        ("x-client-id", {"x_api_key": shop.key, "x_client_id": other.client_id}),
        ("x-client-id", {"x_api_key": shop.key, "x_client_id": other.client_id, "origin": ORIGIN}),
        ("authorization", {"x_api_key": shop.key, "authorization": bearer}),
        ("authorization", {**by_client, "authorization": bearer}),
        ("authorization", {"x_api_key": shop.key, **by_client, "authorization": bearer}),
        ("x-api-key", {**pair, "x_api_key": shop.key}),
        ("authorization", {**pair, "authorization": bearer}),
    ):
        reply = create(api, **headers)
        assert (reply.status, reply.message) == (401, f"{name} {OF_ANOTHER_ACCOUNT}"), headers
    assert stored() == before


def test_what_names_no_other_account_is_not_looked_at_beside_a_valid_credential(api: Api, shop: Shop) -> None:
    """A cookie too, as browsers send it by themselves with what a page sends to its own host."""
    other = Tenant()
    cookie = other.by_wallet()["cookie"]
    own, pair = other.by_key(), other.by_pair()
    for headers in (
        {"x-api-key": shop.key, "authorization": "Bearer something"},
        {"x-api-key": shop.key, "authorization": f"Bearer {shop.key}"},
        {"x-api-key": shop.key, "authorization": "Basic eDp5"},
        {"x-api-key": shop.key, "cookie": cookie},
        {"x-api-key": shop.key, "x-orchestrator-key": "orc_live_unknown"},
        {**own, **other.by_email()},
        {**pair, **own, **other.by_email()},
        {**pair, "x-api-key": "key_unknown"},
    ):
        assert api.get(UNKNOWN, headers).status == 404, headers


def test_a_platforms_own_key_does_not_contradict_its_orchestrators_key(api: Api) -> None:
    merchant, platform = Tenant(), Tenant()
    key = platform.by_orchestrator_key()
    orchestrator_id = platform.orchestrator.orchestrator_id
    running().store.write(replace(merchant.client, admits_orchestrator=orchestrator_id))
    link_client(running(), platform.actor, orchestrator_id, merchant.client_id)
    for beside in (platform.by_key(), platform.by_email(), merchant.by_key(), merchant.by_email()):
        assert api.get(UNKNOWN, {**key, **merchant.by_client(), **beside}).status == 404


def test_one_wrong_credential_is_named(api: Api) -> None:
    platform = {"x-orchestrator-key": "orc_live_unknown"}
    assert create(api, x_api_key="key_unknown").message == f"x-api-key {UNKNOWN_CREDENTIAL}"
    assert create(api, x_client_id="cli_unknown", origin=ORIGIN).message == f"x-client-id {UNKNOWN_CREDENTIAL}"
    assert api.get("/v2/orchestrators/client-ids", platform).message == f"x-orchestrator-key {UNKNOWN_CREDENTIAL}"


def test_two_wrong_credentials_are_both_named(api: Api) -> None:
    said = "are not known, or not valid any more: send valid ones"
    for name in ("x-api-key", "x-orchestrator-key"):
        reply = create(api, **{name.replace("-", "_"): "unknown", "x_client_id": "cli_unknown", "origin": ORIGIN})
        assert (reply.status, reply.message) == (401, f"{name} and x-client-id {said}")


def test_both_credentials_must_be_right_and_the_wrong_one_is_named(api: Api, shop: Shop) -> None:
    wrong = f"{UNKNOWN_CREDENTIAL}, or leave it out"
    for name, headers in (
        ("x-client-id", {"x_api_key": shop.key, "x_client_id": "cli_unknown"}),
        ("x-client-id", {"x_api_key": shop.key, "x_client_id": "YOUR_CLIENT_ID"}),
        ("x-client-id", {"x_api_key": shop.key, "x_client_id": shop.key + "x"}),
        ("x-api-key", {"x_api_key": "key_unknown", "x_client_id": shop.client_id, "origin": ORIGIN}),
        ("x-orchestrator-key", {"x_orchestrator_key": "orc_live_unknown", "x_client_id": shop.client_id, "origin": ORIGIN}),
    ):
        reply = create(api, **headers)
        assert (reply.status, reply.message) == (401, f"{name} {wrong}")


def test_an_empty_credential_header_counts_as_absent(api: Api, shop: Shop) -> None:
    empty = {"x_api_key": "", "x_client_id": " ", "x_orchestrator_key": ""}
    assert create(api, **{**empty, "x_api_key": shop.key}).status == 201
    assert create(api, **{**empty, "x_client_id": shop.client_id, "origin": ORIGIN}).status == 201
    assert create(api, **empty).json == UNAUTHORIZED
    headers = {name.replace("_", "-"): text for name, text in empty.items()}
    assert api.get("/v2/currencies", headers).status == 200, "which needs none"
    session = {**headers, **Tenant().by_email()}
    assert api.get("/v1/webhook", session).status == 200


def test_a_key_that_stands_in_every_header_counts_in_its_own(api: Api, shop: Shop) -> None:
    every = ("x_api_key", "x_client_id", "x_orchestrator_key")
    assert create(api, **dict.fromkeys(every, shop.key)).status == 201
    assert create(api, **dict.fromkeys(every, shop.client_id), origin=ORIGIN).status == 201
    assert create(api, **dict.fromkeys(every, shop.client_id)).message == "Origin header is required"
    assert create(api, **dict.fromkeys(every, "key_unknown")).message == f"x-api-key {UNKNOWN_CREDENTIAL}"
    tenant = Tenant()
    platform = tenant.by_orchestrator_key()["x-orchestrator-key"]
    headers = dict.fromkeys(("x-api-key", "x-client-id", "x-orchestrator-key"), platform)
    assert api.get("/v2/orchestrators/client-ids", headers).status == 200
    assert create(api, **dict.fromkeys(every, platform)).message == "x-client-id is required with x-orchestrator-key"


def test_a_key_that_stands_in_every_header_but_its_own_is_401_and_the_headers_are_named(api: Api, shop: Shop) -> None:
    beside_platform = dict.fromkeys(("x-orchestrator-key", "x-client-id"), shop.key)
    beside_key = dict.fromkeys(("x-api-key", "x-client-id"), "orc_live_unknown")
    for headers in (beside_platform, beside_key):
        for session in ({}, Tenant().by_email()):
            reply = api.get(UNKNOWN, {**headers, **session, "origin": ORIGIN})
            assert reply.status == 401 and " and ".join(headers) in reply.message, reply.body
    assert create(api, x_api_key=shop.client_id, x_orchestrator_key=shop.client_id).message.startswith("x-api-key ")
    assert api.get("/v2/currencies", beside_platform).status == 401


def test_where_a_session_is_needed_what_is_sent_of_its_account_beside_it_is_passed_over(api: Api) -> None:
    """Clients that send every credential that they have, or the session's token in each header."""
    tenant, other = Tenant(), Tenant()
    bearer = tenant.by_email()
    token = bearer["authorization"].removeprefix("Bearer ")
    for session in (bearer, {"cookie": f"session_token={token}"}):
        for beside in (tenant.by_key(), tenant.by_client(), {**tenant.by_key(), **tenant.by_client()}):
            assert api.get("/v1/auth/me", {**session, **beside}).status == 200, beside
        for name in ("x-api-key", "x-client-id"):
            foreign = other.by_key() if name == "x-api-key" else other.by_client()
            reply = api.get("/v1/auth/me", {**session, **foreign})
            assert (reply.status, reply.message) == (401, f"{name} {OF_ANOTHER_ACCOUNT}")
            reply = api.get("/v1/auth/me", {**session, name: "unknown"})
            assert (reply.status, reply.message) == (401, f"{name} {UNKNOWN_CREDENTIAL}, or leave it out")
        assert api.get("/v1/auth/me", {**session, **tenant.by_orchestrator_key()}).status == 403
        every = {**session, **dict.fromkeys(("x-api-key", "x-client-id", "x-orchestrator-key"), token)}
        for path in ("/v1/auth/me", "/v1/webhook"):
            assert api.get(path, every).status == 200, path
    assert api.get("/v1/webhook", {"x-api-key": token}).message == f"x-api-key {UNKNOWN_CREDENTIAL}"


def test_an_orchestrators_key_without_a_client_id_leaves_it_to_the_api_key_beside_it(api: Api, shop: Shop) -> None:
    tenant = Tenant()
    platform = tenant.by_orchestrator_key()["x-orchestrator-key"]
    assert create(api, x_api_key=shop.key, x_orchestrator_key=platform).status == 201


def test_no_credential_is_stored_as_it_is(shop: Shop) -> None:
    client = running().store.client
    for name in TABLES:
        for record in client.scan(TableName=f"{PREFIX}-{name}")["Items"]:
            assert shop.key not in str(record)


def test_no_credential_is_logged(api: Api, shop: Shop) -> None:
    create(api, x_api_key=shop.key)
    create(api, x_api_key=shop.key + "x")
    create(api, x_client_id=shop.client_id, origin="https://evil.example")
    assert len(api.log_lines()) == 3
    assert shop.key not in api.log.getvalue()


def test_operations_that_are_only_public_do_not_look_at_credentials(api: Api) -> None:
    for path in ("/v2/health", "/openapi.json"):
        assert api.get(path, {"x-api-key": "wrong", "x-client-id": "wrong"}).status == 200
