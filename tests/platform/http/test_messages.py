"""Every text of the interface's Authentication and Errors sections, by name, and headers that come twice or empty."""

import http.client
import json
from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.credentials import describe_accepted
from tests.support.api import Configured, stop_time
from tests.support.client import ORIGIN, Shop, item, stored
from tests.support.items import payout
from tests.support.patience import patience
from tests.support.stored_links import complete, expire
from tests.support.tenants import UNKNOWN_CREDENTIAL, Tenant

CREATE, UNKNOWN = "/v2/secure-payments", "/v2/secure-payments/01M7VQFVRZV5BJJSN4QTFB4MP3"
TRON_BATCH = "Batch payments are not supported for TRON networks"
Refusal = tuple[int, str]


def refused(shop: Shop, method: str, path: str, headers: dict[str, str], body: Any = None) -> Refusal:
    reply = shop.api.request(method, path, body, headers)
    assert reply.json["statusCode"] == reply.status
    return reply.status, reply.message


# --- Authentication ---


def test_a_missing_credential_is_401_unauthorized_and_an_invalid_one_is_named(shop: Shop) -> None:
    for headers in ({}, {"origin": ORIGIN}):
        assert refused(shop, "GET", UNKNOWN, headers) == (401, "Unauthorized")
    for name in ("x-api-key", "x-client-id"):
        assert refused(shop, "GET", UNKNOWN, {name: "wrong", "origin": ORIGIN}) == (401, f"{name} {UNKNOWN_CREDENTIAL}")


@pytest.mark.parametrize(
    ("method", "path", "name", "needed"),
    [
        ("GET", "/v2/client-ids", "x-client-id", "x-api-key"),
        ("POST", "/v2/payer", "x-client-id", "x-api-key"),
        ("GET", "/v2/client-ids", "A session", "x-api-key"),
        ("GET", "/v2/client-ids", "x-orchestrator-key", "x-api-key"),
        ("GET", "/v1/api-keys", "x-api-key", "a session alone (cookie or authorization: Bearer)"),
        ("GET", "/v2/orchestrators/client-ids", "x-api-key", "x-orchestrator-key"),
        ("GET", UNKNOWN, "A session", "x-api-key, or x-client-id"),
        ("GET", "/v2/currencies", "x-orchestrator-key", "x-api-key, or x-client-id, or no credential"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_credential_of_the_wrong_kind_is_403_and_hears_which_is_needed_and_401_if_it_is_unknown(
    shop: Shop, method: str, path: str, name: str, needed: str, exists: bool
) -> None:
    tenant = Tenant()
    sent = {
        "x-client-id": tenant.by_client() if exists else {"x-client-id": "cli_x", "origin": ORIGIN},
        "x-api-key": tenant.by_key() if exists else {"x-api-key": "key_x"},
        "x-orchestrator-key": tenant.by_orchestrator_key() if exists else {"x-orchestrator-key": "x"},
        "A session": tenant.by_wallet() if exists else {"cookie": "session_token=x"},
    }[name]
    status = 403 if exists else 401
    assert refused(shop, method, path, sent) == (status, f"{name} is not accepted here: send {needed}")


def test_every_kind_is_named_where_several_are_accepted(shop: Shop) -> None:
    several = {"x-api-key": "key_x", "x-client-id": "cli_x"}
    answer = refused(shop, "GET", "/v2/orchestrators/client-ids", several)
    assert answer == (401, "x-api-key is not accepted here: send x-orchestrator-key")
    everything = "x-orchestrator-key with x-client-id, or x-api-key, or x-client-id, or a session alone"
    assert everything in describe_accepted(CREDENTIALS)


def test_a_client_id_without_its_origin_is_401(shop: Shop) -> None:
    assert refused(shop, "GET", UNKNOWN, {"x-client-id": shop.client_id}) == (401, "Origin header is required")


def test_a_revoked_or_inactive_client_id_is_403(shop: Shop) -> None:
    for status, text in ((CredentialStatus.REVOKED, "Client ID has been revoked"), (CredentialStatus.INACTIVE, "Client ID is inactive")):
        tenant = Tenant()
        headers = tenant.spoil(tenant.by_client(), "x-client-id", ClientId, status=status)
        assert refused(shop, "GET", UNKNOWN, headers) == (403, text)


def test_an_origin_that_is_not_allowed_is_403(shop: Shop) -> None:
    headers = {**shop.by_client, "origin": "https://evil.example"}
    assert refused(shop, "GET", UNKNOWN, headers) == (403, "Origin is not among the allowed domains of this client ID")


def test_credentials_of_two_accounts_are_401(shop: Shop) -> None:
    headers = {**shop.by_key, **Tenant().by_client()}
    text = "belongs to another account than what is sent beside it: send one of the same account, or leave it out"
    assert refused(shop, "GET", UNKNOWN, headers) == (401, f"x-client-id {text}")


def test_an_orchestrators_key_without_a_client_id_is_401(shop: Shop) -> None:
    text = "x-client-id is required with x-orchestrator-key"
    assert refused(shop, "POST", CREATE, Tenant().by_orchestrator_key(), {}) == (401, text)


def test_a_session_that_has_ended_is_401(shop: Shop) -> None:
    text = "Session is missing or has ended: sign in again"
    assert refused(shop, "GET", "/v1/auth/me", {"cookie": "session_token=x"}) == (401, text)


def test_an_email_session_where_a_wallet_is_required_is_403(shop: Shop) -> None:
    assert refused(shop, "GET", "/v1/payee-destination", Tenant().by_email()) == (403, "wallet session required")


def test_a_wrong_challenge_and_a_wrong_password_are_401(shop: Shop) -> None:
    answer = {"challengeId": "x", "nonce": "x", "message": "x", "signature": "0x" + "11" * 65}
    text = "Invalid or expired challenge: ask for a new one"
    assert refused(shop, "POST", "/v1/auth/wallet/verify", {}, answer) == (401, text)
    login = {"email": "nobody@shop.example", "password": "wrong horse"}
    assert refused(shop, "POST", "/v1/auth/login", {}, login) == (401, "Wrong e-mail address or password")


def test_too_many_requests_are_429(shop: Shop, configured: Configured) -> None:
    with configured(RATE_LIMIT_SCALE="1"):
        stop_time()
        heard = {refused(shop, "GET", UNKNOWN, shop.by_key) for _ in range(7)}
    assert heard == {(404, "Secure payment not found"), (429, "ThrottlerException: Too Many Requests")}


# --- Errors ---


def test_a_token_that_is_not_in_the_catalogue_is_404(shop: Shop) -> None:
    assert shop.api.get("/v2/currencies?id=NOPE").json == {
        "statusCode": 404,
        "message": "Token not found",
        "error": "Not Found",
    }


def test_first_only_takes_true_or_false(shop: Shop) -> None:
    assert shop.api.get("/v2/currencies?firstOnly=x").json == {
        "statusCode": 400,
        "message": [
            {
                "code": "custom",
                "message": "firstOnly must be 'true' or 'false' if provided",
                "path": ["firstOnly"],
            }
        ],
        "error": "Bad Request",
    }


def test_a_redirect_label_needs_a_redirect_url(shop: Shop) -> None:
    body = {"requests": [item()], "redirectLabel": "Back"}
    text = "redirectLabel cannot be provided without redirectUrl"
    assert refused(shop, "POST", CREATE, shop.by_key, body) == (400, text)


def test_several_requests_on_tron_are_400(shop: Shop) -> None:
    tron = item(payee="TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", invoiceCurrency="USDT-tron", paymentCurrency="USDT-tron")
    assert refused(shop, "POST", CREATE, shop.by_key, {"requests": [tron, tron]}) == (400, TRON_BATCH)
    assert refused(shop, "POST", "/v2/payouts/batch", shop.by_key, {"requests": [tron, tron]}) == (400, TRON_BATCH)


def test_payouts_on_tron_are_not_merged_and_the_advice_stands_beside_the_message(shop: Shop) -> None:
    wallet, payee = (tron_address_of(bytes([first]) * 20) for first in (0x11, 0x22))
    body = payout(network="tron", currency="USDT-tron", recipient=payee, creatorWalletAddress=wallet)
    tokens = [shop.send("POST", f"{CREATE}/payouts", body).json["token"] for _ in range(2)]
    reply = shop.send("POST", f"{CREATE}/batch-payouts", {"tokens": tokens})
    advice = "Combine them by POST /v2/secure-payments/multicall-payouts"
    assert reply.json == {"statusCode": 400, "message": TRON_BATCH, "error": "Bad Request", "advice": advice}


def test_a_link_is_404_when_unknown_403_when_expired_409_when_completed(shop: Shop) -> None:
    expired, completed = shop.link(), shop.link()
    expire(expired)
    complete(completed)
    assert refused(shop, "GET", UNKNOWN, shop.by_key) == (404, "Secure payment not found")
    assert refused(shop, "GET", f"{CREATE}/{expired}", shop.by_key)[0] == 403
    assert refused(shop, "GET", f"{CREATE}/{completed}", shop.by_key)[0] == 409


# --- headers ---


def twice(shop: Shop, method: str, path: str, pairs: list[tuple[str, str]], body: bytes = b"{}") -> tuple[int, Any]:
    """A request whose headers are sent as they stand, also more than once."""
    connection = http.client.HTTPConnection("127.0.0.1", shop.api.port, timeout=patience(2))
    connection.putrequest(method, path)
    typed = any(name.lower() == "content-type" for name, _ in pairs)
    json_type = [] if typed else [("content-type", "application/json")]
    for name, value in [*pairs, *json_type, ("content-length", str(len(body)))]:
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = json.loads(answer.read())
    assert answer.headers["ratelimit-remaining"]
    connection.close()
    return answer.status, text["message"]


@pytest.mark.parametrize("other", ["same", "another"])
@pytest.mark.parametrize(
    "name",
    ["x-api-key", "x-client-id", "x-orchestrator-key", "origin", "authorization", "idempotency-key", "content-type", "x-signed-in-as"],
)
def test_a_header_that_decides_something_and_comes_twice_is_400(shop: Shop, name: str, other: str) -> None:
    before = stored()
    sent = {**shop.by_client, **shop.by_key, "idempotency-key": "k", "cookie": "a=b", "authorization": "Bearer x"}
    first = sent.get(name, "orc_live_x")
    second = first if other == "same" else first + "x"
    pairs = [*((key, value) for key, value in sent.items() if key != name), (name, first), (name.title(), second)]
    assert twice(shop, "POST", CREATE, pairs) == (400, f"The header {name} is sent more than once")
    assert stored() == before


def test_two_spellings_of_a_header_are_that_header_twice(shop: Shop) -> None:
    """API Gateway hands over names as they were sent."""
    from tests.platform.http.test_pipeline import handled

    many = {"X-Api-Key": [shop.key], "x-api-key": ["key_other"]}
    answer = handled("POST", CREATE, headers={"x-api-key": shop.key}, multiValueHeaders=many, body="{}")
    assert (answer["statusCode"], answer["body"]["message"]) == (400, "The header x-api-key is sent more than once")


def test_other_headers_may_come_twice(shop: Shop) -> None:
    pairs = [*shop.by_key.items(), ("accept", "a"), ("accept", "b"), ("x-forwarded-for", "1"), ("x-forwarded-for", "2")]
    assert twice(shop, "POST", CREATE, pairs)[0] == 400
    assert "twice" not in twice(shop, "POST", CREATE, pairs)[1]


@pytest.mark.parametrize("name", ["x-api-key", "x-client-id", "x-orchestrator-key"])
def test_an_empty_credential_is_none(shop: Shop, name: str) -> None:
    for headers in ({}, shop.by_key):
        for path in ("/v2/currencies", UNKNOWN, "/v1/webhook"):
            without = shop.api.get(path, {**headers, "origin": ORIGIN})
            empty = shop.api.get(path, {name: "", **headers, "origin": ORIGIN})
            assert (empty.status, empty.json) == (without.status, without.json)
