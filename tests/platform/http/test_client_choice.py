"""A session creates for a client id of its account that a body names: its settings hold, and what it limits does not."""

from typing import Any

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Api, Reply, Shop, item
from tests.support.items import payout
from tests.support.signed_in import Dashboard, by_email

REQUEST = {"amount": "12.50", "payee": PAYEE, "invoiceCurrency": "fUSDC-sepolia", "paymentCurrency": "fUSDC-sepolia"}
PREVIEW = {"amount": "100", "currency": "USDC", "flow": "get_paid"}
COMMERCE = {"merchantId": "shop-1", "merchantAddress": PAYEE, "amount": "100000000", "paymentCurrency": "fUSDC-sepolia"}
CREATIONS: dict[str, Any] = {
    "/v2/secure-payments": {"requests": [item()]},
    "/v2/secure-payments/payouts": payout(),
    "/v2/request": REQUEST,
    "/v2/commerce-payments/authorize/calldata": COMMERCE,
}
DOMAIN = ["https://shop.example"]


@pytest.fixture
def dashboard(api: Api) -> Dashboard:
    return by_email(api)


def client_of(dashboard: Dashboard, **settings: Any) -> Any:
    reply = dashboard.send("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": DOMAIN, **settings})
    assert reply.status == 201, reply.json
    return reply.json


def refused(reply: Reply) -> None:
    assert (reply.status, [each["field"] for each in reply.json["errors"]]) == (400, ["clientId"]), reply.json


def test_a_link_of_a_session_is_found_by_the_client_id_that_it_names_and_has_its_fee(dashboard: Dashboard) -> None:
    client = client_of(dashboard, feePercentage="2", feeAddress=FEE_ADDRESS)
    made = dashboard.send("POST", "/v2/secure-payments", {"requests": [item()], "clientId": client["clientId"]})
    assert made.status == 201, made.json
    (link,) = dashboard.get(f"/v2/secure-payments?clientId={client['clientId']}").json["securePayments"]
    assert (link["token"], link["clientId"]) == (made.json["token"], client["clientId"])
    for named, fee in ((client["clientId"], "2"), (None, "0")):
        plan = dashboard.send("POST", "/v2/secure-payments/fees/preview", {**PREVIEW, "clientId": named}).json
        assert float(plan["totalFeesUsd"]) == float(fee)


@pytest.mark.parametrize("path", CREATIONS)
def test_limits_of_a_client_id_alone_do_not_hold_for_a_session(dashboard: Dashboard, path: str) -> None:
    client = client_of(dashboard, allowedPayees=[WALLET], allowedCurrencies=["fUSDC-sepolia"])
    reply = dashboard.send("POST", path, {**CREATIONS[path], "clientId": client["clientId"]})
    assert reply.status == 201, reply.json


@pytest.mark.parametrize("path", [*CREATIONS, "/v2/secure-payments/fees/preview"])
def test_none_but_an_active_client_id_of_the_account_is_named(api: Api, dashboard: Dashboard, path: str) -> None:
    body = CREATIONS.get(path, PREVIEW)
    client = client_of(dashboard)
    for named in ("cli_unknown", "", client_of(by_email(api))["clientId"]):
        refused(dashboard.send("POST", path, {**body, "clientId": named}))
    dashboard.send("PUT", f"/v1/client-ids/{client['id']}", {"status": "inactive"})
    refused(dashboard.send("POST", path, {**body, "clientId": client["clientId"]}))
    assert dashboard.get("/v2/secure-payments").json["securePayments"] == []


def test_a_commerce_payment_of_a_session_has_the_operator_and_times_of_the_client_id(dashboard: Dashboard) -> None:
    client = client_of(dashboard, operatorWalletAddress=WALLET, defaultPreApprovalExpiry=3_600, defaultAuthorizationExpiry=86_400)
    body = {**COMMERCE, "clientId": client["clientId"]}
    made = dashboard.send("POST", "/v2/commerce-payments/authorize/calldata", body).json
    assert made["paymentInfo"]["operator"] == WALLET
    assert int(made["authorizationExpiry"]) - int(made["preApprovalExpiry"]) == 86_400


def test_other_credentials_name_theirs_by_header_alone(api: Api, shop: Shop, dashboard: Dashboard) -> None:
    body = {"requests": [item()], "clientId": client_of(dashboard)["clientId"]}
    for headers, expected in ((shop.by_key, None), (shop.by_client, shop.client_id)):
        token = api.request("POST", "/v2/secure-payments", body, headers).json["token"]
        links = api.get("/v2/secure-payments", shop.by_key).json["securePayments"]
        assert [each["clientId"] for each in links if each["token"] == token] == [expected]
