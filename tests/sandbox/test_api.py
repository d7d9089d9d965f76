"""Test mode over HTTP: credentials that are marked, what they may call, and the operations on a sandbox."""

from typing import Any

import pytest

from chalicelib.accounts.client_ids import flows as client_ids
from tests.fakes.world import PAYEE
from tests.support.client import ORIGIN, Api, Reply, item
from tests.support.opened import by_session
from tests.support.running import running
from tests.support.tenants import Headers, Tenant

LINKS, PAY = "/v2/secure-payments", "/v2/test/pay"


@pytest.fixture
def tenant(api: Api) -> Tenant:
    return Tenant()


@pytest.fixture
def key(tenant: Tenant) -> Headers:
    return tenant.by_test_key()


def link(api: Api, headers: Headers, **fields: Any) -> str:
    made = api.request("POST", LINKS, {"requests": [item(**fields)]}, headers)
    assert made.status == 201, made.body
    token: str = made.json["token"]
    return token


def pay(api: Api, headers: Headers, **body: Any) -> Reply:
    return api.request("POST", PAY, body, headers)


def test_a_key_is_made_for_test_mode_and_says_so(api: Api, tenant: Tenant) -> None:
    session = by_session(tenant.account_id)
    made = api.request("POST", "/v1/api-keys", {"label": "tests", "test": True}, session).json
    assert made["key"].startswith("key_test_") and made["key"].startswith(made["prefix"])
    assert (made["test"], len(made["prefix"])) == (True, 13)
    live = api.request("POST", "/v1/api-keys", {"label": "server"}, session).json
    assert live["test"] is False and not live["key"].startswith("key_test_")
    listed = {each["id"]: each["test"] for each in api.get("/v1/api-keys", session).json}
    assert listed == {made["id"]: True, live["id"]: False}
    changed = api.request("PUT", f"/v1/api-keys/{made['id']}", {"label": "other", "test": False}, session)
    assert changed.json["test"] is True, "it stays what it is"
    assert pay(api, {"x-api-key": made["key"]}, token=link(api, {"x-api-key": made["key"]})).status == 201


@pytest.mark.parametrize("by", ["session", "key"])
def test_a_client_id_is_made_for_test_mode_and_creates_links_in_the_sandbox(api: Api, tenant: Tenant, by: str) -> None:
    path, headers = ("/v1/client-ids", by_session(tenant.account_id)) if by == "session" else ("/v2/client-ids", tenant.by_key())
    made = api.request("POST", path, {"label": "web", "allowedDomains": [ORIGIN], "test": True}, headers).json
    assert made["clientId"].startswith("cli_test_") and made["test"] is True
    listed = api.get(path, headers).json
    assert {each["clientId"]: each["test"] for each in listed} == {made["clientId"]: True, tenant.client_id: False}
    token = link(api, {"x-client-id": made["clientId"], "origin": ORIGIN})
    assert api.get(f"{LINKS}/{token}", tenant.by_test_key()).status == 200
    assert api.get(f"{LINKS}/{token}", tenant.by_key()).status == 404


def test_a_link_is_paid_and_told_by_every_operation_of_the_sandbox(api: Api, tenant: Tenant, key: Headers) -> None:
    token = link(api, key, amount="12.50")
    assert api.get(f"{LINKS}/{token}", key).status == 200
    assert api.get(f"{LINKS}/{token}/pay?wallet={tenant.wallet.address}", key).status == 200
    paid = pay(api, key, token=token)
    assert paid.status == 201 and paid.json["isComplete"] and paid.json["transfersFound"] == 1
    assert api.get(f"{LINKS}/{token}", key).status == 409
    (request,) = api.get("/v2/request", key).json["requests"]
    assert api.get(f"/v2/request/{request['requestId']}/status", key).json["status"] == "paid"
    (payment,) = api.get(f"/v2/payments?requestId={request['requestId']}", key).json["payments"]
    assert payment["sourceTxHash"] == paid.json["transactionHash"]
    assert "payment.confirmed" in api.get("/v2/events", key).body.decode()
    state = api.get("/v2/test", key).json
    assert state["chains"] == [{"network": paid.json["network"], "head": paid.json["blockNumber"] + 1}]


def test_a_request_is_paid_by_its_id_and_a_wrong_token_is_listed(api: Api, key: Headers) -> None:
    body = {"payee": PAYEE, "amount": "5", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}
    made = api.request("POST", "/v2/request", body, key).json
    wrong = pay(api, key, requestId=made["requestId"], currency="USDT-mainnet")
    assert (wrong.status, wrong.json["network"]) == (201, "mainnet")
    listed = api.get(f"/v2/request/{made['requestId']}/transfers", key).body.decode()
    assert wrong.json["transactionHash"] in listed
    assert api.get(f"/v2/request/{made['requestId']}/status", key).json["status"] != "paid"
    assert pay(api, key, requestId=made["paymentReference"]).status == 201
    assert api.get(f"/v2/request/{made['requestId']}/status", key).json["status"] == "paid"


def test_blocks_reorganisations_and_the_clock_are_moved(api: Api, key: Headers) -> None:
    token = link(api, key)
    paid = pay(api, key, token=token, confirmed=False).json
    network = paid["network"]
    assert api.get(f"{LINKS}/{token}", key).status == 200
    mined = api.request("POST", "/v2/test/blocks", {"network": network, "count": 5}, key).json
    assert mined["head"] == paid["blockNumber"] + 5
    assert api.get(f"{LINKS}/{token}", key).status == 409
    after = api.request("POST", "/v2/test/reorganise", {"network": network, "blocks": 6}, key).json
    assert after["head"] == mined["head"] + 6
    assert api.get(f"{LINKS}/{token}", key).status == 200
    gone = api.request("POST", "/v2/test/clock", {"seconds": 8 * 86_400}, key).json
    assert gone["linksExpired"] == 1
    assert api.get(f"{LINKS}/{token}", key).status == 403


def test_the_same_idempotency_key_pays_once(api: Api, key: Headers) -> None:
    token = link(api, key)
    named = {**key, "idempotency-key": "pay-1"}
    first, second = (pay(api, named, token=token, amount="half") for _ in range(2))
    assert (first.json, second.headers["idempotent-replayed"]) == (second.json, "true")
    (payment,) = api.get(f"/v2/payments?txHash={first.json['transactionHash']}", key).json["payments"]
    assert payment["sourceTxHash"] == first.json["transactionHash"]
    state = api.get("/v2/test", key).json
    assert state["chains"][0]["head"] == first.json["blockNumber"] + 1


def test_a_live_credential_moves_no_chain(api: Api, tenant: Tenant) -> None:
    for method, path, body in (
        ("GET", "/v2/test", None),
        ("POST", PAY, {"token": tenant.link_token()}),
        ("POST", "/v2/test/blocks", {"network": "sepolia", "count": 1}),
        ("POST", "/v2/test/reorganise", {"network": "sepolia", "blocks": 1}),
        ("POST", "/v2/test/clock", {"seconds": 1}),
    ):
        reply = api.request(method, path, body, tenant.by_key())
        assert (reply.status, "needs a credential for test mode" in reply.message) == (403, True)


def test_test_and_live_credentials_together_are_refused_with_what_to_send(api: Api, tenant: Tenant, key: Headers) -> None:
    settings: Any = {"label": "web", "allowed_domains": [ORIGIN], "is_test": True}
    test_client = {"x-client-id": client_ids.create_client_id(running(), tenant.actor, settings).client_id, "origin": ORIGIN}
    for mixed in ({**key, **tenant.by_client()}, {**tenant.by_key(), **test_client}, {**tenant.by_orchestrator_key(), **test_client}):
        reply = api.get("/v2/request", mixed)
        assert (reply.status, "Test credentials and live ones" in reply.message) == (401, True)
    assert api.get("/v2/request", {**key, **test_client}).status == 200
    assert api.get("/v2/request", {**key, **by_session(tenant.account_id)}).status == 200, "a session does not count then"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v2/client-ids"), ("GET", "/v1/audit"), ("GET", "/v2/payee-destination?walletAddress=0x1"),
        ("POST", "/v2/payer"), ("GET", "/v2/payouts/recurring"), ("GET", "/v2/commerce-payments/01/status"),
        ("GET", "/v2/gasless-payments/01"), ("GET", "/v2/secure-payments/01/gasless/01"),
        ("GET", "/v2/archive/requests"), ("GET", "/v2/request/01/plain-transfer"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried_is_refused_in_words(api: Api, key: Headers, method: str, path: str) -> None:
    reply = api.request(method, path, {} if method == "POST" else None, key)
    assert (reply.status, "not available in test mode" in reply.message) == (409, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PAY, {}), (PAY, {"token": "a", "requestId": "b"}), (PAY, {"token": "a", "currency": "NONE"}),
        (PAY, {"token": "a", "currency": "USD"}), (PAY, {"token": "a", "amount": "much"}), (PAY, {"token": "a", "payer": "me"}),
        ("/v2/test/blocks", {"network": "nowhere", "count": 1}), ("/v2/test/blocks", {"network": "sepolia", "count": 1001}),
        ("/v2/test/reorganise", {"network": "sepolia", "blocks": 31}), ("/v2/test/clock", {"seconds": 0}),
        ("/v2/test/clock", {"seconds": 10**10}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(api: Api, key: Headers, path: str, body: Any) -> None:
    if "token" in body and body["token"] == "a":
        body = {**body, "token": link(api, key)}
    assert api.request("POST", path, body, key).status == 400


def test_a_token_that_is_none_is_unknown(api: Api, tenant: Tenant, key: Headers) -> None:
    for token in ("01JXYJKCAHGFTDR15F2D072ESG", "test/x/LINK#1", "../x#y", tenant.link_token(), link(api, Tenant().by_test_key())):
        assert pay(api, key, token=token).status == 404
        assert pay(api, key, requestId=token).status == 404
