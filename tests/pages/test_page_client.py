"""The payment page's own client id: it shows and pays any link, from the page's origin, and does nothing else."""

import pytest

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS
from tests.fakes.world import WALLET
from tests.support.api import Configured
from tests.support.browser import BY_PAGE, PAGE_CLIENT_ID, PAGE_ORIGIN, get
from tests.support.client import ORIGIN, Api, Shop, stored
from tests.support.items import payout
from tests.support.tenants import Tenant

FOR_PAYERS = {
    ("GET", "/v2/secure-payments/{token}"),
    ("GET", "/v2/secure-payments/{token}/pay"),
    ("GET", "/v2/secure-payments/{token}/reclaim"),
    ("POST", "/v2/secure-payments/{token}/intent"),
    ("POST", "/v2/secure-payments/{token}/signing"),
    ("DELETE", "/v2/secure-payments/{token}/signing"),
    ("POST", "/v2/secure-payments/{token}/gasless/{payment_id}"),
    ("GET", "/v2/secure-payments/{token}/gasless/{payment_id}"),
    ("POST", "/v2/secure-payments/{token}/tron/broadcast"),
    ("POST", "/v2/test/pay/{token}"),
}


def test_it_is_for_what_payers_do() -> None:
    assert {(known.method, known.path) for known in OPERATIONS if known.by_page} == FOR_PAYERS
    assert all(Mode.CLIENT_ID in known.modes for known in OPERATIONS if known.by_page)


def test_what_it_may_not_do_is_not_done_and_takes_no_idempotency_key(shop: Shop) -> None:
    before, headers = stored(), {**BY_PAGE, "idempotency-key": "order-1"}
    for known in OPERATIONS:
        if known.method != "GET" and "{" not in known.path and Mode.CLIENT_ID in known.modes:
            assert shop.api.request(known.method, known.path, {}, headers).status == 403
    assert stored() == before


def test_no_orchestrator_can_link_it(api: Api) -> None:
    reply = api.request(
        "POST", "/v2/orchestrators/client-ids", {"clientId": PAGE_CLIENT_ID}, Tenant().by_orchestrator_key()
    )
    assert reply.status == 404


@pytest.mark.parametrize("path", ["", "/pay"])
def test_it_counts_from_the_pages_origin_alone(api: Api, shop: Shop, path: str) -> None:
    url = f"/v2/secure-payments/{shop.link()}{path}"
    assert api.get(url, BY_PAGE).status == 200
    for origin in (ORIGIN, "https://pay.test", "http://pay.test.evil.example", "http://PAY.test", "null", f"{PAGE_ORIGIN}/"):
        reply = api.get(url, {**BY_PAGE, "origin": origin})
        assert (reply.status, "access-control-allow-credentials" in reply.headers) == (403, False)
    assert api.get(url, {"x-client-id": PAGE_CLIENT_ID}).message == "Origin header is required"


def test_on_one_host_for_everything_a_browser_sends_no_origin_and_need_not(api: Api, shop: Shop) -> None:
    token, alone = shop.link(), {"x-client-id": PAGE_CLIENT_ID, "host": "pay.test"}
    assert api.get(f"/v2/secure-payments/{token}", alone).status == 200
    assert api.get(f"/v2/secure-payments/{token}", {**alone, "host": "api.test"}).status == 401
    assert api.get(f"/v2/secure-payments/{token}", {**alone, "origin": ORIGIN}).status == 403
    for host in ("pay.test:81", "pay.test.evil.example", "evil.example/pay.test", "pay.test@evil.example", ""):
        assert api.get(f"/v2/secure-payments/{token}", {**alone, "host": host}).status == 401
    assert get(api, f"/v2/secure-payments/{token}", alone, "HEAD").status == 405
    announced = api.request("POST", f"/v2/secure-payments/{token}/intent", {}, alone)
    assert (announced.status, announced.message) == (401, "Origin header is required")
    own = {"x-client-id": shop.client_id, "host": "pay.test"}
    assert api.get(f"/v2/secure-payments/{token}", own).status == 401


def test_beside_a_key_it_is_no_client_id(api: Api, shop: Shop) -> None:
    assert api.get(f"/v2/secure-payments/{shop.link()}", {**shop.by_key, **BY_PAGE}).status == 401
    assert api.request("POST", "/v2/secure-payments", {}, {**Tenant().by_orchestrator_key(), **BY_PAGE}).status == 401


def test_a_deployment_may_name_it_otherwise(api: Api, configured: Configured) -> None:
    with configured(PAGE_CLIENT_ID="cli_other"):
        shop = Shop(api)
        url = f"/v2/secure-payments/{shop.link()}"
        assert api.get(url, {**BY_PAGE, "x-client-id": "cli_other"}).status == 200
        assert api.get(url, BY_PAGE).status == 401


def test_it_hears_of_an_unknown_link_what_all_hear(api: Api) -> None:
    reply = api.get("/v2/secure-payments/01M7VR2YNJE8VY59CWNJJJKZPH", BY_PAGE)
    assert (reply.status, reply.message) == (404, "Secure payment not found")


def test_it_is_not_told_what_the_owner_calls_payers_and_recipients(api: Api, shop: Shop) -> None:
    private = ("payer-4711", "recipient-4711")
    sent = shop.send("POST", "/v2/secure-payments/payouts", payout(recipientIdentifier=private[1]))
    assert sent.status == 201, sent.body
    for token in (shop.link(payerIdentifier=private[0]), sent.json["token"]):
        for path in ("", f"?wallet={WALLET}", "/pay", f"/pay?wallet={WALLET}"):
            reply = api.get(f"/v2/secure-payments/{token}{path}", BY_PAGE)
            assert reply.status == 200, reply.body
            assert not any(name.encode() in reply.body for name in (*private, shop.account_id, shop.client_id))


def test_a_link_tells_what_a_page_checks_its_calldata_by(api: Api, shop: Shop) -> None:
    token = shop.link(feePercentage="1", feeAddress=WALLET)
    body = api.get(f"/v2/secure-payments/{token}", BY_PAGE).json
    event = api.get(f"/v2/secure-payments/{token}/pay", BY_PAGE).json["metadata"]["explanation"][1]["expectedEvent"]
    assert body["paymentReference"] == event["paymentReference"]
    assert (body["decimals"], body["feePercentage"], body["feeAddress"]) == (6, "1", event["feeAddress"])
    assert body["chain"] == {
        "chainId": 11155111,
        "name": "Sepolia",
        "label": "SEPOLIA",
        "confirmations": 2,
        "explorerUrl": "https://sepolia.etherscan.io/tx/",
        "publicRpcUrls": ["https://ethereum-sepolia-rpc.publicnode.com"],
        "nativeCurrency": {"name": "Sepolia Ether", "symbol": "ETH", "decimals": 18},
    }


def test_the_confirmations_are_those_of_the_deployment(api: Api, configured: Configured) -> None:
    with configured(CONFIRMATIONS='{"sepolia": 7}'):
        token = Shop(api).link()
        assert api.get(f"/v2/secure-payments/{token}", BY_PAGE).json["chain"]["confirmations"] == 7
