"""Crypto-to-fiat as existing clients use it: from the documented request to the money in a bank account, over HTTP."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from infra.local.provider import SECRET, Provider, sign_headers
from tests.fakes.world import PAYEE, WALLET
from tests.wire.conftest import Client
from tests.wire.published import READ_REQUEST, assert_fits, bodies

PERSON = {**bodies("POST /v2/payer")["individualBeneficiary"], "clientUserId": "ada@example.com"}
BANK = next(iter(bodies("POST /v2/payer/{clientUserId}/payment-details").values()))
REQUEST = bodies("POST /v2/request")["cryptoToFiatRequest"]
IN_TOKENS = {
    "amount": "12.50",
    "invoiceCurrency": "fUSDC-sepolia",
    "paymentCurrency": "fUSDC-sepolia",
    "isCryptoToFiatAvailable": True,
}
PAY, USER = "GET /v2/request/{requestId}/pay", quote("ada@example.com", safe="")


def provider(client: Client) -> Provider:
    found: Provider = client.world.compliance.provider
    return found


def tell(client: Client, raw: bytes | None = None, status: int = 200, secret: str = SECRET, age: int = 0) -> Any:
    """Posts an event of the provider, the newest one by default, signed now."""
    sent = raw or provider(client).events[-1]
    now = int(client.world.now.timestamp()) - age
    reply = client.shop.api.request("POST", "/v2/provider-events", sent, sign_headers(sent, now, secret))
    assert reply.status == status, reply.json
    return reply.json


def move(client: Client, kind: str, id: str, **changes: Any) -> None:
    provider(client).move(kind, id, changes)
    tell(client)


def bank_account(client: Client) -> str:
    """Registers a person who becomes compliant, with an approved bank account; returns its id."""
    user_id = client.post("/v2/payer", PERSON, status=200)["userId"]
    details_id = client.post(f"/v2/payer/{USER}/payment-details", BANK)["payment_detail"]["id"]
    move(client, "users", user_id, kycStatus="approved", agreementStatus="completed")
    move(client, "bank-accounts", details_id, status="approved")
    return str(details_id)


def pay_path(request_id: str, details_id: str, rest: str = "") -> str:
    return f"/v2/request/{request_id}/pay?wallet={WALLET}&clientUserId={USER}&paymentDetailsId={details_id}{rest}"


def read(client: Client, request_id: str) -> Any:
    answer = client.get(f"/v2/request/{request_id}")
    assert_fits(READ_REQUEST, answer)
    return answer


def state(client: Client, request_id: str) -> tuple[str, bool, bool]:
    answer = read(client, request_id)
    return answer["status"], answer["hasBeenPaid"], answer["isListening"]


def paid(client: Client) -> tuple[str, str]:
    """A request that is paid on chain, and the id of its order."""
    details_id = bank_account(client)
    request_id = client.post("/v2/request", IN_TOKENS)["requestId"]
    client.get(pay_path(request_id, details_id))
    client.paid(request_id, 12_500_000)
    return request_id, f"offramp_{request_id}"


def test_the_documented_request_is_paid_in_tokens_at_the_rate_of_now(client: Client) -> None:
    details_id = bank_account(client)
    answer = client.post("/v2/request", REQUEST)
    assert_fits("POST /v2/request", answer)
    assert read(client, answer["requestId"])["payee"] is None
    made = client.get(pay_path(answer["requestId"], details_id))
    assert_fits(PAY, made)
    (order,) = provider(client).resources["orders"].values()
    assert provider(client).details[order["id"]]["amount"] == "25.5"
    assert order["depositAddress"][2:] in made["transactions"][-1]["data"].lower()


def test_from_the_request_to_the_money_in_the_bank(client: Client) -> None:
    request_id, order_id = paid(client)
    assert state(client, request_id) == ("processing", False, False)
    for step in ("initiated", "pending_internal_assessment", "ongoing_checks", "sending_fiat"):
        move(client, "orders", order_id, status=step)
        assert state(client, request_id) == ("processing", False, False)
        assert read(client, request_id)["offramp"]["status"] == step
    move(client, "orders", order_id, status="fiat_sent")
    assert state(client, request_id) == ("paid", True, False)
    listed = client.get("/v2/request?status=paid")["requests"]
    assert [(each["requestId"], each["hasBeenPaid"]) for each in listed] == [(request_id, True)]
    move(client, "orders", order_id, status="bounced", reason="account_closed")
    assert state(client, request_id) == ("failed", False, False)
    assert read(client, request_id)["offramp"]["failureReason"] == "account_closed"
    assert client.get("/v2/request?status=paid")["requests"] == []


def test_a_part_is_paid_to_the_same_deposit_address(client: Client) -> None:
    details_id = bank_account(client)
    request_id = client.post("/v2/request", IN_TOKENS)["requestId"]
    part = client.get(pay_path(request_id, details_id, "&amount=5"))
    assert part["metadata"]["amount"] == "5"
    (order,) = provider(client).resources["orders"].values()
    assert provider(client).details[order["id"]]["amount"] == "12.5"
    client.paid(request_id, 5_000_000)
    assert state(client, request_id) == ("partially_paid", False, True)
    assert client.get(pay_path(request_id, details_id))["metadata"]["amount"] == "7.5"
    client.paid(request_id, 7_500_000)
    assert state(client, request_id) == ("processing", False, False)
    assert client.get(pay_path(request_id, details_id), 409)["message"] == "This request has already been paid"


@pytest.mark.parametrize("query", ["", f"&clientUserId={USER}", "&paymentDetailsId=fa898aec"])
def test_a_request_without_a_payee_needs_both_ids(client: Client, query: str) -> None:
    bank_account(client)
    request_id = client.post("/v2/request", IN_TOKENS)["requestId"]
    answer = client.get(f"/v2/request/{request_id}/pay?wallet={WALLET}{query}", 400)
    assert answer["message"] == "This request is paid out to a bank account: give clientUserId and paymentDetailsId"
    assert client.get(f"/v2/request/{request_id}/routes?wallet={WALLET}")["routes"] == []


def test_a_request_with_a_payee_is_paid_there_until_a_bank_account_is_chosen(client: Client) -> None:
    details_id = bank_account(client)
    request_id = client.post("/v2/request", {**IN_TOKENS, "payee": PAYEE})["requestId"]
    plain = f"/v2/request/{request_id}/pay?wallet={WALLET}"
    assert PAYEE[2:].lower() in client.get(plain)["transactions"][-1]["data"].lower()
    assert PAYEE[2:].lower() not in client.get(pay_path(request_id, details_id))["transactions"][-1]["data"].lower()
    client.get(plain, 400)
    assert read(client, request_id)["payee"] != PAYEE


def test_a_request_for_a_wallet_takes_no_bank_account(client: Client) -> None:
    details_id = bank_account(client)
    request_id = client.post("/v2/request", {**IN_TOKENS, "payee": PAYEE, "isCryptoToFiatAvailable": False})["requestId"]
    answer = client.get(pay_path(request_id, details_id), 400)
    assert answer["message"] == "This request is paid to a wallet: it was created without isCryptoToFiatAvailable"
    assert client.get(f"/v2/request/{request_id}/pay?wallet={WALLET}&clientUserId={USER}")["transactions"]


def test_what_is_too_much_is_the_providers_to_return(client: Client) -> None:
    request_id, _ = paid(client)
    client.paid(request_id, 1_000_000)
    (_, more) = client.get(f"/v2/request/{request_id}/transfers")["transfers"]
    assert (more["classification"], more["refund"]) == ("duplicate", None)
    assert more["refundUnavailable"] == "The off-ramp provider has received it: ask the provider to return it"


def test_a_request_for_a_bank_account_is_in_no_batch(client: Client) -> None:
    request_id = client.post("/v2/request", IN_TOKENS)["requestId"]
    answer = client.post("/v2/payouts/batch", {"requestIds": [request_id], "payer": WALLET}, 400)
    assert answer["message"] == f"Request {request_id} may be paid out to a bank account: pay it by itself"


def test_who_is_not_compliant_is_not_paid_out(client: Client) -> None:
    client.post("/v2/payer", PERSON, status=200)
    details_id = client.post(f"/v2/payer/{USER}/payment-details", BANK)["payment_detail"]["id"]
    request_id = client.post("/v2/request", IN_TOKENS)["requestId"]
    answer = client.get(pay_path(request_id, details_id), 403)
    assert answer["message"].startswith("The payer is not compliant (identity not_started, agreement not_started)")
    assert provider(client).resources["orders"] == {}


def test_a_request_for_a_bank_account_does_not_recur(client: Client) -> None:
    recurrence = {"startDate": "2030-01-01", "frequency": "MONTHLY"}
    answer = client.post("/v2/request", {**IN_TOKENS, "recurrence": recurrence}, 400)
    assert answer["message"].startswith("recurrence cannot be given with isCryptoToFiatAvailable")


def test_without_a_provider_no_request_is_for_a_bank_account(client: Client) -> None:
    client.world.compliance._base_url = ""
    answer = client.post("/v2/request", IN_TOKENS, 400)
    assert answer["message"].startswith("Compliance is only required for off-ramp requests")


# --- events of the provider ---


def test_events_that_are_forged_stale_or_of_others_change_nothing(client: Client) -> None:
    request_id, order_id = paid(client)
    provider(client).move("orders", order_id, {"status": "fiat_sent"})
    event = json.loads(provider(client).events[-1])
    tell(client, secret="guess", status=401)
    tell(client, age=301, status=401)
    tell(client, age=-301, status=401)
    tell(client, json.dumps({**event, "account": "other"}).encode(), 403)
    tell(client, json.dumps({**event, "data": {**event["data"], "id": "offramp_01"}}).encode(), 404)
    tell(client, json.dumps({**event, "data": {**event["data"], "bankAccountId": "other"}}).encode(), 404)
    tell(client, json.dumps({**event, "kind": "coffee"}).encode(), 400)
    tell(client, b"[]", 400)
    assert state(client, request_id)[0] == "processing"
    tell(client)
    assert state(client, request_id)[0] == "paid"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"id": 7}', b"\xff", b"[" * 100_000, b" " * 300_000])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_a_forged_body_of_any_form_is_refused_by_its_signature(client: Client, raw: bytes, content_type: str) -> None:
    headers = {**sign_headers(raw, int(client.world.now.timestamp()), "another secret"), "content-type": content_type}
    reply = client.shop.api.request("POST", "/v2/provider-events", raw, headers)
    assert (reply.status, reply.json["message"]) == (401, "Invalid signature")


def test_a_signed_body_that_is_no_event_is_refused_by_its_form(client: Client) -> None:
    tell(client, b"{", 400)
    tell(client, b" " * 300_000, 413)


def test_a_burst_of_the_provider_is_taken_and_uses_up_no_other_limit(client: Client) -> None:
    bank_account(client)
    for _ in range(60):
        tell(client)
    assert client.shop.api.request("GET", "/v2/currencies").status == 200


def test_events_that_are_replayed_or_late_are_taken_once(client: Client) -> None:
    request_id, order_id = paid(client)
    for step in ("initiated", "ongoing_checks", "fiat_sent"):
        provider(client).move("orders", order_id, {"status": step})
    for raw in reversed(provider(client).events):
        assert tell(client, raw) == {"received": True}
        tell(client, raw)
    assert state(client, request_id) == ("paid", True, False)
