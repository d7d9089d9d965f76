"""Commerce payments over HTTP: their published answers, and what is refused, in which words, with nothing written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.escrows import AUTH_CAPTURE_ESCROW
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.commerce.core.records import CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.service import store
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people.records import Role
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Api, Reply, Shop, let_execute
from tests.support.commerce import AMOUNT, CAPTURED, TX_HASH, commerce_payment, executing, expired, with_events
from tests.support.running import running
from tests.support.tenants import Tenant

ROOT = "/v2/commerce-payments"
BODY = {
    "merchantId": "shop-1",
    "merchantAddress": PAYEE,
    "buyerAddress": WALLET,
    "amount": "100000000",
    "paymentCurrency": "fUSDC-sepolia",
}


def send(shop: Shop, method: str, path: str, body: Any = None) -> Reply:
    return shop.api.request(method, path, body, shop.by_key)


def create(shop: Shop, **changes: Any) -> Reply:
    body = {name: value for name, value in {**BODY, **changes}.items() if value is not None}
    return send(shop, "POST", f"{ROOT}/authorize/calldata", body)


def post(shop: Shop, request_id: str, operation: str, **body: Any) -> Reply:
    return send(shop, "POST", f"{ROOT}/{request_id}/{operation}", body)


@contextmanager
def executing_alone(shop: Shop, may_execute: bool) -> Iterator[None]:
    """The client id of the shop with another `mayExecute` for a while."""
    let_execute(shop.client_id, may_execute)
    yield
    let_execute(shop.client_id)


def stored() -> int:
    return sum(1 for _ in running().store.scan([CommercePayment]))


def test_creating_answers_with_what_the_payer_sends_and_signs(shop: Shop) -> None:
    reply = create(shop)
    assert reply.status == 201, reply.json
    body = reply.json
    approval, pre_approval = body["transactions"]
    assert (body["calldata"], body["to"], body["value"]) == (pre_approval["data"], pre_approval["to"], "0")
    assert body["calldata"].startswith("0xc6184c2f") and approval["data"].startswith("0x095ea7b3")
    assert body["paymentInfo"]["receiver"] == PAYEE and body["paymentInfo"]["maxAmount"] == "100000000"
    assert body["signatures"]["erc3009"] is None, "the token has no such transfers"
    permit2 = body["signatures"]["permit2"]["typedData"]["values"]
    assert permit2["permitted"]["amount"] == "100000000" and permit2["deadline"] == body["preApprovalExpiry"]
    status = send(shop, "GET", f"{ROOT}/{body['requestId']}/status").json
    assert (status["status"], status["payer"], status["canCapture"]) == ("PENDING", WALLET, False)
    assert "state" not in status, "the escrow has taken nothing"
    assert status["commercePaymentHash"] == body["commercePaymentHash"]


def test_a_request_says_whether_it_is_a_commerce_payment(shop: Shop) -> None:
    capturable, other = create(shop).json["requestId"], shop.create().json["requestIds"][0]
    assert send(shop, "GET", f"/v2/request/{capturable}").json["isCommercePayment"] is True
    assert "isCommercePayment" not in send(shop, "GET", f"/v2/request/{other}").json


def test_without_a_buyer_the_link_gives_each_wallet_its_transactions(shop: Shop) -> None:
    body = create(shop, buyerAddress=None).json
    assert (body["calldata"], body["to"], body["sender"], body["transactions"]) == (None, None, None, [])
    link = f"/v2/secure-payments/{body['token']}"
    assert send(shop, "GET", f"{link}/pay").status == 400
    made = send(shop, "GET", f"{link}/pay?wallet={WALLET}")
    assert made.status == 200, made.json
    terms = made.json["metadata"]["commerce"]
    assert (terms["maxAmount"], terms["operator"]) == ("100", body["operator"])
    assert [each["data"][:10] for each in made.json["transactions"]] == ["0x095ea7b3", "0xc6184c2f"]
    batch = made.json["metadata"]["calls"]["calls"]
    assert [each["data"] for each in batch] == [each["data"] for each in made.json["transactions"]]
    same = send(shop, "GET", f"/v2/request/{body['requestId']}/pay?wallet={WALLET}").json
    assert [each["data"] for each in same["transactions"]] == [each["data"] for each in made.json["transactions"]]
    shown = send(shop, "GET", f"{link}?wallet={WALLET}").json
    assert shown["commerce"]["status"] == "PENDING" and shown["commerce"]["heldAmount"] == "0"
    assert "ERC20FeeProxy" not in str(made.json)


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"amount": "100.5"}, "amount"),
        ({"amount": "0"}, "amount"),
        ({"amount": str(2**120)}, "amount is larger than the escrow can hold"),
        ({"amount": None}, "amount"),
        ({"maxAmount": "1"}, "maxAmount must not be less than amount"),
        ({"merchantAddress": "0x" + "0" * 40}, "merchantAddress is the zero address"),
        ({"merchantAddress": address_of(AUTH_CAPTURE_ESCROW, "base")}, "merchantAddress is the contract of AuthCaptureEscrow"),
        ({"feeReceiver": require_token("USDC-base").address}, "feeReceiver is the contract of USDC-base"),
        ({"merchantAddress": "nobody"}, "merchantAddress"),
        ({"buyerAddress": PAYEE}, "buyerAddress is the merchant"),
        ({"paymentCurrency": "USDC-mainnet"}, "There is no escrow for commerce payments on mainnet: it is on base"),
        ({"paymentCurrency": "ETH-sepolia-sepolia"}, "choose an ERC-20 token"),
        ({"paymentCurrency": "USD"}, "choose an ERC-20 token"),
        ({"paymentCurrency": "nothing"}, "is not supported"),
        ({"preApprovalExpiry": 1_700_000_000}, "preApprovalExpiry must be in the future"),
        ({"preApprovalExpiry": 4_000_000_000, "authorizationExpiry": 3_999_999_999}, "authorizationExpiry must not be"),
        ({"authorizationExpiry": 4_000_000_000, "refundExpiry": 3_999_999_999}, "refundExpiry must not be before"),
        ({"preApprovalExpiry": 10**12}, "preApprovalExpiry"),
        ({"minFeeBps": 10, "maxFeeBps": 9}, "minFeeBps must not be more than maxFeeBps"),
        ({"maxFeeBps": 10_001}, "maxFeeBps"),
        ({"feeReceiver": "0x" + "0" * 40}, "feeReceiver is the zero address"),
        ({"feeReceiver": ""}, "feeReceiver"),
    ],
)
def test_a_creation_that_cannot_be_is_refused_and_writes_nothing(
    shop: Shop, changes: dict[str, Any], says: str
) -> None:
    before = stored()
    reply = create(shop, **changes)
    assert reply.status == 400 and says in str(reply.message), reply.json
    assert stored() == before


def test_the_published_answers_of_executed_operations(shop: Shop) -> None:
    account = shop.account_id
    capturing = executing(account, OperationKind.CAPTURE, 60_000_000, authorized=AMOUNT)
    capture = {"captureAmount": "60000000", "feeBps": 250, "feeReceiver": PAYEE}
    reply = post(shop, capturing, "capture", **capture)
    assert (reply.status, reply.json["status"], reply.json["captureAmount"]) == (200, "CAPTURING", "60000000")
    assert post(shop, capturing, "capture", **capture).json == reply.json
    other = post(shop, capturing, "void")
    assert other.status == 409 and "pending" in other.message
    status = send(shop, "GET", f"{ROOT}/{capturing}/status").json
    assert (status["status"], status["state"]) == ("CAPTURING", "Authorized"), "until the capture is confirmed"
    assert not status["canCapture"] and not status["canVoid"]


@pytest.mark.parametrize(
    "changes, operation, body, status, says",
    [
        ({"authorized": AMOUNT}, "capture", {"captureAmount": "100000001"}, 400, "captureAmount must be from 1 to"),
        ({"authorized": AMOUNT}, "capture", {"captureAmount": "1.5"}, 400, "captureAmount"),
        ({"authorized": AMOUNT}, "capture", {"captureAmount": "1", "feeBps": 1}, 400, "feeReceiver is missing"),
        ({"authorized": AMOUNT, "max_fee_bps": 5}, "capture", {"captureAmount": "1", "feeBps": 6}, 400, "feeBps must be"),
        ({}, "capture", {"captureAmount": "1"}, 409, "Nothing is held"),
        ({"authorized": AMOUNT, "captured": AMOUNT}, "void", {}, 409, "Nothing is held"),
        ({}, "refund", {"refundAmount": "1"}, 409, "Nothing was captured"),
        (CAPTURED, "refund", {"refundAmount": "60000001"}, 400, "refundAmount must be from 1 to"),
        ({"authorized": AMOUNT}, "authorize", {}, 409, "was authorized before"),
        ({}, "authorize", {"method": "permit2"}, 400, "signature is needed"),
        ({}, "authorize", {"payer": FEE_ADDRESS}, 400, "payer is not"),
        ({}, "authorize", {"amount": "100000001"}, 400, "amount must be from 1 to"),
        ({}, "reclaim/calldata", {}, 409, "Nothing was put into the escrow"),
        ({"is_service_operator": False}, "authorize", {}, 409, "/authorize/calldata"),
    ],
)
def test_an_operation_that_cannot_be_is_refused_in_clear_words(
    shop: Shop, changes: dict[str, Any], operation: str, body: dict[str, Any], status: int, says: str
) -> None:
    request_id = commerce_payment(shop.account_id, **changes).request_id
    reply = post(shop, request_id, operation, **body)
    assert reply.status == status and says in str(reply.message), reply.json


EXECUTED: dict[str, Any] = {"authorize": {}, "charge": {}, "capture": {"captureAmount": "1"}, "void": {}, "refund": {"refundAmount": "1"}}


@pytest.mark.parametrize("operation", EXECUTED)
def test_a_client_id_alone_executes_nothing_unless_its_owner_allows_it(
    shop: Shop, api: Api, operation: str
) -> None:
    made = {"client_id": shop.client_id, "created_with": Mode.CLIENT_ID, "authorized": AMOUNT}
    path, body = f"{ROOT}/{commerce_payment(shop.account_id, **made).request_id}/{operation}", EXECUTED[operation]
    with executing_alone(shop, False):
        reply = api.request("POST", path, body, shop.by_client)
        assert reply.status == 403 and "mayExecute" in reply.message and "x-api-key" in reply.message
        assert api.request("POST", f"{path}/calldata", body, shop.by_client).status in (200, 409)
    reply = api.request("POST", path, body, shop.by_client)
    assert reply.status in (200, 409) and "mayExecute" not in str(reply.json), reply.json


def test_a_client_id_alone_chooses_no_fee(shop: Shop, api: Api) -> None:
    request_id = commerce_payment(shop.account_id, client_id=shop.client_id, authorized=AMOUNT).request_id
    for operation, sent in (("capture", {"captureAmount": "1"}), ("charge", {})):
        for fee in ({"feeBps": 10_000, "feeReceiver": WALLET}, {"feeReceiver": WALLET}):
            reply = api.request("POST", f"{ROOT}/{request_id}/{operation}", {**sent, **fee}, shop.by_client)
            assert reply.status == 403 and "x-api-key" in str(reply.message), reply.json


@pytest.mark.parametrize("suffix", ["", "/calldata"])
@pytest.mark.parametrize(("role", "may"), [(Role.FINANCE, True), (Role.SUPPORT, False)])
def test_finance_captures_voids_and_refunds_in_a_session_and_support_does_not(
    api: Api, role: Role, may: bool, suffix: str
) -> None:
    """What is executed is under way already, so that asking for it again changes nothing."""
    tenant = Tenant()
    for kind, amount, body in (
        (OperationKind.CAPTURE, 1, {"captureAmount": "1"}),
        (OperationKind.VOID, AMOUNT, {}),
        (OperationKind.REFUND, 1, {"refundAmount": "1"}),
    ):
        pending = PendingOperation(1, kind, BaseUnits(amount), running().clock(), transaction_hash=TX_HASH)
        totals = {"authorized": BaseUnits(2 * AMOUNT), "captured": AMOUNT}
        under_way: dict[str, Any] = {} if suffix else {"pending": pending, "operations": 1}
        request_id = commerce_payment(tenant.account_id, **totals, **under_way).request_id
        reply = api.request("POST", f"{ROOT}/{request_id}/{kind.value}{suffix}", body, tenant.by_role(role))
        assert reply.status == (200 if may else 403), reply.json
        assert may or "lacks the scope requests:write" in reply.message


def test_a_session_chooses_no_fee(api: Api) -> None:
    tenant = Tenant()
    request_id = commerce_payment(tenant.account_id, authorized=AMOUNT).request_id
    for operation, sent in (("capture", {"captureAmount": "1"}), ("charge", {})):
        for fee in ({"feeBps": 10_000, "feeReceiver": WALLET}, {"feeReceiver": WALLET}, {"feeBps": 0}):
            reply = api.request("POST", f"{ROOT}/{request_id}/{operation}", {**sent, **fee}, tenant.by_role(Role.OWNER))
            assert reply.status == 403 and "x-api-key" in str(reply.message), reply.json


def test_with_approvals_a_key_takes_a_fee_only_for_the_receiver_that_the_payment_fixes(api: Api) -> None:
    """Whoever has stolen a key would have all that is held. The fee of a payment that names its receiver is taken."""
    tenant = Tenant()
    account = credential_store.account(running().store, tenant.account_id)
    assert account is not None
    running().store.write(replace(account, has_approvals=True))
    for operation, sent in (("capture", {"captureAmount": "1"}), ("charge", {})):
        request_id = commerce_payment(tenant.account_id, authorized=AMOUNT).request_id
        fee = {"feeBps": 10_000, "feeReceiver": WALLET}
        reply = api.request("POST", f"{ROOT}/{request_id}/{operation}", {**sent, **fee}, tenant.by_key())
        assert reply.status == 403 and "approvals" in str(reply.message), reply.json
    request_id = executing(tenant.account_id, OperationKind.CAPTURE, 1, authorized=AMOUNT, fee_receiver=PAYEE)
    sent = {"captureAmount": "1", "feeBps": 250, "feeReceiver": PAYEE}
    assert api.request("POST", f"{ROOT}/{request_id}/capture", sent, tenant.by_key()).status == 200


def test_with_approvals_a_least_fee_needs_its_receiver_from_the_start(api: Api) -> None:
    tenant = Tenant()
    account = credential_store.account(running().store, tenant.account_id)
    assert account is not None
    running().store.write(replace(account, has_approvals=True))
    for receiver, status in ((None, 400), (PAYEE, 201)):
        body = {**BODY, "minFeeBps": 10, "maxFeeBps": 20, "feeReceiver": receiver}
        reply = api.request("POST", f"{ROOT}/authorize/calldata", body, tenant.by_key())
        assert reply.status == status and (status == 201 or "feeReceiver is missing" in str(reply.message)), reply.json


def test_what_a_client_id_alone_creates_is_collected_only_when_it_is_asked_for(shop: Shop, api: Api) -> None:
    body = {name: value for name, value in BODY.items() if name != "buyerAddress"}
    collected = []
    for may_execute in (False, True):
        with executing_alone(shop, may_execute):
            made = api.request("POST", f"{ROOT}/authorize/calldata", body, shop.by_client)
            assert made.status == 201, made.json
        found = store.payment(running().store, made.json["token"])
        collected.append(found.collects_unasked if found is not None else None)
    assert collected == [False, True]


def test_a_client_id_alone_does_not_choose_how_much_is_authorized(shop: Shop, api: Api) -> None:
    body = {name: value for name, value in BODY.items() if name != "buyerAddress"}
    created = api.request("POST", f"{ROOT}/authorize/calldata", body, shop.by_client)
    assert created.status == 201, created.json
    path = f"{ROOT}/{created.json['requestId']}/authorize"
    for amount in ("1", BODY["amount"]):
        reply = api.request("POST", path, {"amount": amount, "payer": WALLET}, shop.by_client)
        assert reply.status == 403 and "x-api-key" in str(reply.message), reply.json
    assert "no wallet" in str(api.request("POST", path, {}, shop.by_client).message).lower()
    status = send(shop, "GET", f"{ROOT}/{created.json['requestId']}/status").json
    assert status["status"] == "PENDING"


def test_a_client_id_alone_executes_nothing_that_was_created_with_a_key(shop: Shop, api: Api) -> None:
    request_id = create(shop, buyerAddress=None).json["requestId"]
    reply = api.request("POST", f"{ROOT}/{request_id}/authorize", {"payer": WALLET}, shop.by_client)
    assert reply.status == 403 and "x-api-key" in str(reply.message), reply.json
    assert send(shop, "GET", f"{ROOT}/{request_id}/status").json["failureReason"] is None


def test_another_merchants_payment_is_not_found(shop: Shop, new_shop: Shop) -> None:
    request_id = with_events(shop.account_id)
    assert send(shop, "GET", f"{ROOT}/{request_id}/status").json["events"][1]["type"] == "CAPTURED"
    for operation in ("authorize", "capture/calldata", "void", "reclaim/calldata"):
        assert post(new_shop, request_id, operation, captureAmount="1").status == 404
    assert send(new_shop, "GET", f"{ROOT}/{request_id}/status").status == 404
    assert send(new_shop, "GET", f"{ROOT}/01{'00' * 32}/status").status == 404


def test_a_payer_takes_back_what_is_held_by_the_link_alone(shop: Shop, new_shop: Shop, api: Api) -> None:
    payment = expired(shop.account_id)
    path = f"/v2/secure-payments/{payment.payable_id}/reclaim"
    reply = api.request("GET", f"{path}?wallet={WALLET.lower()}", None, shop.by_client)
    assert reply.status == 200, reply.json
    (made,) = reply.json["transactions"]
    merchants = post(shop, payment.request_id, "reclaim/calldata").json
    assert (made["to"], made["data"]) == (merchants["to"], merchants["calldata"])
    assert reply.json["metadata"]["hasEnoughBalance"] and not reply.json["metadata"]["needsApproval"]
    assert reply.json["metadata"]["requiredAmount"] == "0"
    as_safe = send(shop, "GET", f"{path}?wallet={WALLET}&isSafe=true").json
    assert made["data"][2:] in as_safe["safeTransaction"]["data"]
    other = send(shop, "GET", f"{path}?wallet={PAYEE}")
    assert (other.status, other.json["creatorWalletAddress"]) == (403, WALLET) and "has paid" in other.message
    for wallet in ("", "?wallet=0x12", "?wallet=TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"):
        assert send(shop, "GET", path + wallet).status == 400
    foreign = send(new_shop, "GET", f"{path}?wallet={WALLET}")
    unknown = send(shop, "GET", f"/v2/secure-payments/01M7W6TC8F5481TMW6M18FVN1N/reclaim?wallet={WALLET}")
    assert foreign.status == unknown.status == 404 and foreign.message == unknown.message


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({}, 409, "Nothing was put into the escrow"),
        ({"authorized": AMOUNT}, 409, "from the authorization's expiry on"),
        ({"authorized": AMOUNT, "reclaimed": AMOUNT}, 409, "Nothing is held"),
        (None, 400, "is not a commerce payment"),
    ],
)
def test_what_cannot_be_taken_back_is_refused_in_clear_words(
    shop: Shop, changes: dict[str, Any] | None, status: int, says: str
) -> None:
    token = shop.link() if changes is None else commerce_payment(shop.account_id, **changes).payable_id
    reply = send(shop, "GET", f"/v2/secure-payments/{token}/reclaim?wallet={WALLET}")
    assert reply.status == status and says in reply.message, reply.json


def test_such_a_link_waits_for_no_announced_transaction(shop: Shop) -> None:
    token = create(shop).json["token"]
    announced = {"chain": "SEPOLIA", "token": "USDC", "safeTxHash": "0x" + "ab" * 32}
    reply = send(shop, "POST", f"/v2/secure-payments/{token}/intent", announced)
    assert reply.status == 400 and "announced" in str(reply.message), reply.json

