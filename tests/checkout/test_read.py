"""GET /v2/secure-payments/:token: what a payer sees of a link, and who sees nothing."""

import re
from datetime import datetime, timedelta

import pytest

from infra import admin
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.api import Configured, stop_time
from tests.support.client import Shop, item
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import TX_HASH, complete, expire, pass_expiry, pay_part

MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CREATE = "/v2/secure-payments"
FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
SPECIFIED = {
    "paymentType",
    "payee",
    "network",
    "amount",
    "paymentCurrency",
    "isNativeCurrency",
    "status",
    "destination",
    "reference",
}
LATER = {
    "invoiceCurrency",
    "invoiceDecimals",
    "requestIds",
    "redirectUrl",
    "redirectLabel",
    "paidAmount",
    "remainingAmount",
    "createdAt",
    "expiresAt",
    "branding",
    "merchant",
    "feePlan",
    "feePercentage",
    "feeAddress",
    "chain",
    "decimals",
    "paymentReference",
}
NATIVE = item(amount="0.5", invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
STRANGE_TOKENS = [
    "01M7VQFVRZV5BJJSN4QTFB4MP3",
    "x",
    "x" * 65,
    "x" * 5000,
    "%F0%9F%92%B8",
    "%FF%FE",
    "%ED%A0%80",
    "a%2Fb",
    "..%2F..%2Fetc",
    "%25",
    "%",
    "%zz",
    "%20",
    "LINK%23x",
    "'%20OR%201=1",
    "pay",
]


def test_a_link_shows_exactly_the_documented_fields(shop: Shop) -> None:
    created = shop.create(reference="INV-1", redirectUrl="https://shop.example/thanks").json
    body = shop.get(f"/v2/secure-payments/{created['token']}").json
    assert set(body) == SPECIFIED | LATER
    assert {name: body[name] for name in SPECIFIED - {"destination"}} == {
        "paymentType": "single",
        "payee": PAYEE,
        "network": "sepolia",
        "amount": "12.5",
        "paymentCurrency": "fUSDC-sepolia",
        "isNativeCurrency": False,
        "status": "pending",
        "reference": "INV-1",
    }
    assert body["requestIds"] == created["requestIds"]
    assert (body["paidAmount"], body["remainingAmount"]) == ("0", "12.5")
    assert (body["redirectUrl"], body["redirectLabel"]) == ("https://shop.example/thanks", "Go Back and Close")


def test_its_destination_can_be_used_to_create_the_next_link(shop: Shop) -> None:
    destination = shop.get(f"/v2/secure-payments/{shop.link()}").json["destination"]
    assert destination == {
        "destinationId": f"{PAYEE}@eip155:11155111#5AB3182D:{FUSDC}",
        "payeeAddress": f"{PAYEE}@eip155:11155111#5AB3182D",
        "tokenAddress": FUSDC,
        "walletAddress": PAYEE,
        "network": "sepolia",
    }
    again = shop.link({"amount": "1", "destinationId": destination["destinationId"]})
    assert shop.get(f"/v2/secure-payments/{again}").json["destination"] == destination


def test_a_link_lives_for_a_week_and_its_times_are_utc_with_milliseconds(shop: Shop) -> None:
    body = shop.get(f"/v2/secure-payments/{shop.link()}").json
    assert MILLISECONDS.fullmatch(body["createdAt"]) and MILLISECONDS.fullmatch(body["expiresAt"])
    created, expires = (datetime.fromisoformat(body[name]) for name in ("createdAt", "expiresAt"))
    assert expires - created == timedelta(days=7)


def test_it_never_shows_calldata_keys_or_the_owner(shop: Shop) -> None:
    text = shop.get(f"/v2/secure-payments/{shop.link(payerIdentifier='jane')}?wallet={WALLET}").body.decode()
    for hidden in ("0xc219a14d", "transactions", shop.account_id, shop.client_id, shop.key, "jane", "salt"):
        assert hidden not in text


def test_a_partial_payment_shows_what_is_left(shop: Shop) -> None:
    token = shop.link()
    pay_part(token, 5_000_000)
    body = shop.get(f"/v2/secure-payments/{token}").json
    assert (body["status"], body["amount"], body["paidAmount"], body["remainingAmount"]) == (
        "pending",
        "12.5",
        "5",
        "7.5",
    )


# --- with a wallet ---


def test_without_a_wallet_no_node_is_asked(shop: Shop, node: Node) -> None:
    shop.get(f"/v2/secure-payments/{shop.link()}")
    assert node.asked == []


def test_a_wallet_shows_its_balance_by_chain_and_token_in_one_multicall(shop: Shop, node: Node) -> None:
    node.balance = 20_000_000
    body = shop.get(f"/v2/secure-payments/{shop.link()}?wallet={WALLET}").json
    assert set(body) == SPECIFIED | LATER | {"paymentOptions"}
    assert body["paymentOptions"] == {
        "SEPOLIA": {"fUSDC": {"balance": "20", "hasEnoughBalance": True, "neededAmount": "12.5"}}
    }
    assert node.asked == ["eth_call", "eth_gasPrice"]


@pytest.mark.parametrize(("balance", "enough"), [(12_624_999, False), (12_625_000, True), (0, False)])
def test_what_is_needed_includes_the_fee(shop: Shop, node: Node, balance: int, enough: bool) -> None:
    node.balance = balance
    token = shop.link(feePercentage="1", feeAddress=FEE_ADDRESS)
    option = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET}").json["paymentOptions"]["SEPOLIA"]["fUSDC"]
    assert (option["neededAmount"], option["hasEnoughBalance"]) == ("12.625", enough)


def test_what_is_needed_is_what_is_left(shop: Shop) -> None:
    token = shop.link()
    pay_part(token, 5_000_000)
    body = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET}").json
    assert body["paymentOptions"]["SEPOLIA"]["fUSDC"]["neededAmount"] == "7.5"


def test_a_native_link_shows_the_native_balance(shop: Shop, node: Node) -> None:
    node.native = 4 * 10**17
    body = shop.get(f"/v2/secure-payments/{shop.link(NATIVE)}?wallet={WALLET}").json
    assert body["isNativeCurrency"] is True
    assert body["paymentOptions"] == {
        "SEPOLIA": {"ETH-sepolia": {"balance": "0.4", "hasEnoughBalance": False, "neededAmount": "0.5"}}
    }


@pytest.mark.parametrize(("currency", "labels"), [("USDC-base", {"BASE", "ETHEREUM"}), ("DAI-base", {"BASE"})])
def test_each_network_has_its_chain_label(shop: Shop, currency: str, labels: set[str]) -> None:
    """This deployment has nodes of base and mainnet; what the bridge carries is shown for both."""
    token = shop.link(item(invoiceCurrency=currency, paymentCurrency=currency))
    assert set(shop.get(f"/v2/secure-payments/{token}?wallet={WALLET}").json["paymentOptions"]) == labels


@pytest.mark.parametrize(
    "wallet", ["", "0x", "0x1234", WALLET[2:], WALLET + "00", WALLET.replace("aB", "Ab"), "jane.eth", "%01", "%F0%9F%92%B8"]
)
@pytest.mark.parametrize("path", ["", "/pay"])
def test_an_invalid_wallet_is_refused(shop: Shop, node: Node, wallet: str, path: str) -> None:
    reply = shop.get(f"/v2/secure-payments/{shop.link()}{path}?wallet={wallet}")
    assert (reply.status, reply.message) == (400, "wallet: Invalid Ethereum address")
    assert node.asked == []


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_wallet_with_the_character_zero_is_refused(shop: Shop, node: Node, path: str) -> None:
    reply = shop.get(f"/v2/secure-payments/{shop.link()}{path}?wallet=%00")
    assert reply.status == 400 and "wallet must not contain the character U+0000" in str(reply.message)
    assert node.asked == []


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_wallet_given_twice_is_refused(shop: Shop, path: str) -> None:
    reply = shop.get(f"/v2/secure-payments/{shop.link()}{path}?wallet={WALLET}&wallet={PAYEE}")
    assert (reply.status, reply.message) == (400, "wallet is given more than once")


def test_a_wallet_in_lower_case_is_the_same_wallet(shop: Shop) -> None:
    assert shop.get(f"/v2/secure-payments/{shop.link()}?wallet={WALLET.lower()}").status == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_node_that_fails_is_503_with_retry_after(shop: Shop, node: Node, status: int) -> None:
    token = shop.link()
    node.status = status
    reply = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET}")
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert node.url not in reply.body.decode()
    assert shop.get(f"/v2/secure-payments/{token}").status == 200


# --- what is not shown ---


@pytest.mark.parametrize("path", ["", "/pay"])
@pytest.mark.parametrize("token", STRANGE_TOKENS, ids=lambda token: token[:20])
def test_an_unknown_token_is_404(shop: Shop, token: str, path: str) -> None:
    reply = shop.get(f"/v2/secure-payments/{token}{path}")
    assert (reply.status, reply.message) == (404, "Secure payment not found")


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_token_is_compared_to_the_letter(shop: Shop, path: str) -> None:
    token = shop.link()
    for near in (token.lower(), token[:-1], token + "0", "%20" + token):
        assert shop.get(f"/v2/secure-payments/{near}{path}").status == 404


def test_a_percent_encoded_token_is_decoded_once(shop: Shop) -> None:
    token = shop.link()
    encoded = "".join(f"%{ord(character):02X}" for character in token)
    assert shop.get(f"/v2/secure-payments/{encoded}").json["requestIds"]
    assert shop.get(f"/v2/secure-payments/{encoded.replace('%', '%25')}").status == 404


@pytest.mark.parametrize("path", ["", "/pay"])
def test_another_tenants_link_is_as_unknown_as_none(shop: Shop, new_shop: Shop, path: str) -> None:
    token = shop.link()
    mine, theirs = shop.get(f"/v2/secure-payments/{'x' * 26}{path}"), new_shop.get(f"/v2/secure-payments/{token}{path}")
    assert theirs.status == 404
    assert theirs.json == mine.json


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_client_id_sees_its_own_links_and_those_of_the_account_alone(new_shop: Shop, path: str) -> None:
    other = admin.create_client_id(running(), new_shop.account_id, "other", [])
    of_client, reply = new_shop.link(), new_shop.api.request("POST", CREATE, {"requests": [item()]}, new_shop.by_key)
    of_account = reply.json["token"]
    for token, headers, status in (
        (of_client, new_shop.by_client, 200),
        (of_client, new_shop.by_key, 200),
        (of_client, {"x-client-id": other}, 404),
        (of_client, {**new_shop.by_key, "x-client-id": other}, 404),
        (of_account, new_shop.by_client, 200),
        (of_account, {"x-client-id": other}, 200),
    ):
        assert new_shop.api.get(f"{CREATE}/{token}{path}", headers).status == status


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_link_past_its_expiry_is_403_awaiting_chain_before_any_sweep_and_any_node(
    shop: Shop, node: Node, path: str
) -> None:
    token = shop.link()
    pass_expiry(token)
    reply = shop.get(f"/v2/secure-payments/{token}{path}?wallet={WALLET}")
    assert (reply.status, reply.json) == (
        403,
        {
            "statusCode": 403,
            "message": "Secure payment is past its expiry; payments sent before it are still being looked for",
            "error": "Forbidden",
            "code": "awaiting_chain",
            "status": "pending",
            "branding": None,
            "redirectUrl": None,
            "redirectLabel": None,
        },
    )
    assert node.asked == []


@pytest.mark.parametrize("path", ["", "/pay"])
def test_an_expired_link_is_403_before_any_node(shop: Shop, node: Node, path: str) -> None:
    token = shop.link()
    expire(token)
    reply = shop.get(f"/v2/secure-payments/{token}{path}?wallet={WALLET}")
    assert (reply.status, reply.json) == (
        403,
        {
            "statusCode": 403,
            "message": "Secure payment token expired or invalid status",
            "error": "Forbidden",
            "status": "expired",
            "branding": None,
            "redirectUrl": None,
            "redirectLabel": None,
        },
    )
    assert node.asked == []


def test_the_lifetime_of_links_is_a_setting(shop: Shop, configured: Configured) -> None:
    with configured(LINK_LIFETIME_SECONDS="1"):
        clock = stop_time()
        token = shop.link()
        clock.advance(0.99)
        assert shop.get(f"/v2/secure-payments/{token}").status == 200
        clock.advance(0.01)
        assert shop.get(f"/v2/secure-payments/{token}").status == 403


@pytest.mark.parametrize("path", ["", "/pay"])
def test_a_completed_link_is_409_with_the_transaction_that_paid_it(shop: Shop, path: str) -> None:
    created = shop.create().json
    complete(created["token"])
    reply = shop.get(f"/v2/secure-payments/{created['token']}{path}?wallet={WALLET}")
    assert (reply.status, reply.json) == (
        409,
        {
            "statusCode": 409,
            "message": "Secure payment has already been completed",
            "error": "Conflict",
            "status": "completed",
            "branding": None,
            "redirectUrl": None,
            "redirectLabel": None,
            "requestStatuses": [
                {"requestId": created["requestIds"][0], "hasBeenPaid": True, "txHash": TX_HASH}
            ],
        },
    )


def test_a_link_paid_in_time_stays_completed_after_its_expiry(shop: Shop) -> None:
    token = shop.link()
    complete(token)
    expire(token)
    assert shop.get(f"/v2/secure-payments/{token}").status == 409
