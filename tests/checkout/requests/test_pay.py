"""GET /v2/request/{requestId}/pay: transactions and metadata, parts of what is owed, fees, and what is refused."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.storage.store import Store, WriteConflict
from infra import admin
from tests.checkout.test_pay import FUSDC, NATIVE_PROXY, approval, erc20_payment, units_in
from tests.checkout.test_tron import FEE_TRON, WALLET_TRON
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.payments.links.test_limited import limit
from tests.payments.links.test_limited import refused as refused_by_limit
from tests.support.client import ORIGIN, Reply, Shop, item, stored
from tests.support.errors import first_problem
from tests.support.items import MISCASED, PAYOUTS, TRON_PAYEE, ZERO, native, payout, tron
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import complete, expire

FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
OTHER = evm_wallet("other").address


def made(shop: Shop, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> str:
    """The id of a new request, of 12.50 fUSDC on sepolia unless a body is given."""
    reply = shop.api.request("POST", "/v2/request", body or item(), headers or shop.by_client)
    assert reply.status == 201, reply.json
    request_id: str = reply.json["requestId"]
    return request_id


def ask(shop: Shop, name: str, headers: dict[str, str] | None = None, **query: str) -> Reply:
    return shop.api.get(f"/v2/request/{name}/pay?{urlencode(query)}", headers or shop.by_client)


def pay(shop: Shop, name: str, **query: str) -> dict[str, Any]:
    reply = ask(shop, name, **query)
    assert reply.status == 200, reply.json
    body: dict[str, Any] = reply.json
    return body


def refusal(shop: Shop, name: str, headers: dict[str, str] | None = None, **query: str) -> tuple[int, str]:
    """Status and first problem of a call that writes nothing."""
    before = stored()
    reply = ask(shop, name, headers, **query)
    assert stored() == before
    return reply.status, first_problem(reply)


def read(request_id: str) -> Request:
    return request_store.standing_alone(running().store, [request_id])[request_id]


def change(request_id: str, **fields: Any) -> None:
    running().store.write(replace(read(request_id), **fields))


# --- transactions and metadata ---


def test_a_token_is_approved_and_paid_with_the_requests_reference(shop: Shop) -> None:
    request_id = made(shop)
    body = pay(shop, request_id, wallet=WALLET, **FEE)
    grant, payment = body["transactions"]
    assert list(grant) == list(payment) == ["data", "to", "value"]
    assert approval(grant)[1] == 12_625_000
    reference = bytes.fromhex(read(request_id).payment_reference[2:])
    assert erc20_payment(payment) == (FUSDC.lower(), PAYEE.lower(), 12_500_000, reference, 125_000, FEE_ADDRESS.lower())
    metadata = body["metadata"]
    assert (metadata["stepsRequired"], metadata["needsApproval"]) == (2, True)
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (0, 1)
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"]) == (True, True)
    assert metadata["platformFee"] == {"percentage": "1", "address": FEE_ADDRESS}
    assert (metadata["amount"], metadata["isAmountCapped"]) == ("12.5", False)
    assert len(metadata["explanation"]) == 2


def test_a_native_payment_needs_no_approval_and_says_so_by_null(shop: Shop) -> None:
    body = pay(shop, made(shop, native()), wallet=WALLET)
    (payment,) = body["transactions"]
    assert (payment["to"], payment["data"][:10], units_in(payment)) == (NATIVE_PROXY, "0xb868980b", 5 * 10**17)
    metadata = body["metadata"]
    assert (metadata["stepsRequired"], metadata["needsApproval"], metadata["paymentTransactionIndex"]) == (1, False, 0)
    assert metadata["approvalTransactionIndex"] is None


def test_without_a_wallet_nothing_is_said_of_one(shop: Shop, node: Node) -> None:
    metadata = pay(shop, made(shop))["metadata"]
    assert node.asked == []
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (0, 1)
    for name in ("hasEnoughBalance", "hasEnoughGas", "hasEnoughAllowance", "balance", "allowance", "nativeBalance"):
        assert name not in metadata


def test_the_former_name_of_wallet_is_understood(shop: Shop) -> None:
    request_id = made(shop)
    assert pay(shop, request_id, payerAddress=WALLET.lower()) == pay(shop, request_id, wallet=WALLET)
    expected = refusal(shop, request_id, wallet=WALLET, payerAddress=WALLET)
    assert expected == (400, "payerAddress is another name of wallet: give one of them")


@pytest.mark.parametrize("name", ["wallet", "payerAddress"])
@pytest.mark.parametrize("payee", [PAYEE, PAYEE.lower(), f"0x{PAYEE[2:].upper()}"])
def test_the_payee_is_not_the_payer(shop: Shop, name: str, payee: str) -> None:
    expected = f"wallet is the payee {PAYEE}: give the wallet that pays, or leave it out"
    for body in (item(), native()):
        assert refusal(shop, made(shop, body), **{name: payee}) == (400, expected)


def test_the_payee_on_tron_is_not_the_payer_either(shop: Shop) -> None:
    status, expected = refusal(shop, made(shop, tron()), wallet=TRON_PAYEE)
    assert (status, expected.split(":")[0]) == (400, f"wallet is the payee {TRON_PAYEE}")


def test_the_payer_may_be_the_one_who_receives_the_fee(shop: Shop) -> None:
    pay(shop, made(shop), wallet=FEE_ADDRESS, **FEE)


def test_the_payee_is_refused_as_the_payer_of_a_requests_link(shop: Shop) -> None:
    request_id = shop.create(item()).json["requestIds"][0]
    assert refusal(shop, request_id, wallet=PAYEE)[0] == 400
    pay(shop, request_id, wallet=WALLET)


def test_a_request_on_tron_is_paid_under_a_fee_limit(shop: Shop) -> None:
    body = pay(shop, made(shop, tron()), wallet=WALLET_TRON, feePercentage="1", feeAddress=FEE_TRON)
    assert [each["feeLimit"] for each in body["transactions"]] == [APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT]
    assert body["transactions"][1]["data"][:10] == "0xc219a14d"


def test_it_is_found_by_its_payment_reference_too(shop: Shop) -> None:
    request_id = made(shop)
    assert pay(shop, read(request_id).payment_reference.upper().replace("0X", "0x")) == pay(shop, request_id)


# --- parts ---


@pytest.mark.parametrize(
    ("asked", "units", "shown", "is_capped"),
    [
        ("5", 5_000_000, "5", False),
        ("0.000001", 1, "0.000001", False),
        ("12.5", 12_500_000, "12.5", False),
        ("12.500001", 12_500_000, "12.5", True),
        ("1000000", 12_500_000, "12.5", True),
    ],
)
def test_a_part_is_paid_and_never_more_than_what_is_left(
    shop: Shop, asked: str, units: int, shown: str, is_capped: bool
) -> None:
    body = pay(shop, made(shop), amount=asked, **FEE)
    assert erc20_payment(body["transactions"][1])[2] == units
    assert (body["metadata"]["amount"], body["metadata"]["isAmountCapped"]) == (shown, is_capped)


def test_after_a_part_was_paid_the_rest_is_asked_for(shop: Shop) -> None:
    request_id = made(shop)
    change(request_id, paid=BaseUnits(4_000_000), status=RequestStatus.PARTIALLY_PAID)
    assert erc20_payment(pay(shop, request_id)["transactions"][1])[2] == 8_500_000
    assert pay(shop, request_id, amount="10")["metadata"]["isAmountCapped"] is True


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("0", "amount must be greater than 0"),
        ("-1", "amount must be a plain decimal number"),
        ("1e3", "amount must be a plain decimal number"),
        ("", "amount must be a plain decimal number"),
        ("1.0000001", "amount has too many decimals: the currency has 6"),
        ("9" * 80, "amount is too large"),
    ],
)
def test_an_amount_that_is_none_is_400(shop: Shop, amount: str, expected: str) -> None:
    status, message = refusal(shop, made(shop), amount=amount)
    assert status == 400 and message.startswith(expected), message


# --- fees ---


def test_the_client_ids_fee_replaces_the_one_that_is_asked_for_unless_it_is_zero(new_shop: Shop) -> None:
    shop = new_shop
    limit(shop, feePercentage="2", feeAddress=OTHER)
    request_id = made(shop)
    assert pay(shop, request_id, **FEE)["metadata"]["platformFee"] == {"percentage": "2", "address": OTHER}
    limit(shop, feePercentage="0")
    assert pay(shop, request_id, **FEE)["metadata"]["platformFee"] == {"percentage": "1", "address": FEE_ADDRESS}
    assert "platformFee" not in pay(shop, request_id)["metadata"]


@pytest.mark.parametrize(
    ("fee", "expected"),
    [
        ({"feePercentage": "1"}, "feePercentage and feeAddress must be given together"),
        ({"feeAddress": FEE_ADDRESS}, "feePercentage and feeAddress must be given together"),
        ({**FEE, "feePercentage": "100.1"}, "feePercentage must be a plain decimal number from 0 to 100"),
        ({**FEE, "feePercentage": "-1"}, "feePercentage must be a plain decimal number from 0 to 100"),
        ({**FEE, "feeAddress": ZERO}, "feeAddress: is the zero address"),
        ({**FEE, "feeAddress": MISCASED}, "feeAddress: "),
        ({**FEE, "feeAddress": FEE_TRON}, "feeAddress: "),
    ],
    ids=str,
)
def test_a_fee_that_cannot_be_paid_is_400(shop: Shop, fee: dict[str, str], expected: str) -> None:
    status, message = refusal(shop, made(shop), **fee)
    assert status == 400 and message.startswith(expected), message


def test_a_fee_in_the_native_coin_goes_to_no_contract(shop: Shop, node: Node) -> None:
    node.contracts.add(FEE_ADDRESS.lower())
    status, message = refusal(shop, made(shop, native()), **FEE)
    assert (status, message) == (
        400,
        "feeAddress is a contract, which cannot receive a fee in ETH-sepolia-sepolia: give a wallet address",
    )


def test_a_limited_client_id_asks_for_no_fee_to_strangers(new_shop: Shop) -> None:
    shop = new_shop
    limit(shop, allowedPayees=[PAYEE])
    request_id = made(shop)
    before = stored()
    refused_by_limit(ask(shop, request_id, **FEE), f"feeAddress {FEE_ADDRESS} is neither its own nor")
    assert stored() == before
    assert ask(shop, request_id, shop.by_key, **FEE).status == 200


def test_the_fee_and_the_time_of_the_first_call_are_stored_once(shop: Shop) -> None:
    request_id = made(shop)
    assert read(request_id).listening_since is None
    pay(shop, request_id, **FEE)
    first = read(request_id)
    assert first.listening_since is not None
    assert (first.fee_percentage, first.fee_address) == ("1", FEE_ADDRESS)
    pay(shop, request_id, wallet=WALLET, amount="1", **FEE)
    assert read(request_id) == first
    pay(shop, request_id, feePercentage="2", feeAddress=OTHER)
    changed = read(request_id)
    assert (changed.fee_percentage, changed.fee_address) == ("2", OTHER)
    assert changed.listening_since == first.listening_since


def test_another_public_client_id_changes_nothing_of_a_request(shop: Shop) -> None:
    """A request that was created with a key can be paid with any client id of the account, which anybody can send."""
    request_id = made(shop, headers=shop.by_key)
    before = read(request_id)
    assert pay(shop, request_id, **FEE)["metadata"]["platformFee"]["percentage"] == "1"
    assert read(request_id) == before
    assert ask(shop, request_id, shop.by_key, **FEE).status == 200
    assert read(request_id).fee_address == FEE_ADDRESS


def test_a_payment_that_is_recorded_meanwhile_is_not_overwritten(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_id = made(shop)
    write, conflicts = Store.write, list[str]()

    def overtaken(self: Store, *writes: Any) -> None:
        if not conflicts and isinstance(writes[0], Request):
            conflicts.append(request_id)
            write(self, replace(read(request_id), paid=BaseUnits(1)))
        try:
            write(self, *writes)
        except WriteConflict:
            conflicts.append("met")
            raise

    monkeypatch.setattr(Store, "write", overtaken)
    pay(shop, request_id, **FEE)
    assert conflicts == [request_id, "met"]
    assert (read(request_id).paid, read(request_id).fee_address) == (1, FEE_ADDRESS)


# --- sources and accounts that are not offered ---


def test_the_requests_own_network_and_token_may_be_named(shop: Shop) -> None:
    request_id = made(shop, item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base"))
    assert pay(shop, request_id, chain="BASE", token="USDC")["transactions"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"chain": "BASE", "token": "USDC"}, "fUSDC is not supported in crosschain payment."),
        ({"chain": "BASE"}, "chain and token must be given together"),
        ({"token": "USDC"}, "chain and token must be given together"),
        ({"chain": "SOLANA", "token": "USDC"}, "chain must be one of"),
        ({"wallet": "0x12"}, "wallet: Invalid Ethereum address"),
        ({"wallet": MISCASED}, "wallet: Invalid Ethereum address"),
        ({"wallet": WALLET_TRON}, "wallet is not an address of sepolia, on which this is paid"),
        ({"payerAddress": "me"}, "payerAddress: Invalid Ethereum address"),
        ({"paymentDetailsId": "fa898aec"}, "This request is paid to a wallet"),
        ({"paymentDetailsId": ""}, "paymentDetailsId must have at least 1 character"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_400(shop: Shop, query: dict[str, str], expected: str) -> None:
    status, message = refusal(shop, made(shop), **query)
    assert status == 400 and message.startswith(expected), message


def test_the_clients_own_name_of_the_payer_changes_nothing(shop: Shop) -> None:
    request_id = made(shop)
    assert pay(shop, request_id, clientUserId="user-123") == pay(shop, request_id)


# --- who and when ---


def test_an_unknown_request_and_that_of_another_account_are_404(shop: Shop, new_shop: Shop) -> None:
    request_id = made(shop)
    for name in ("01" + "0" * 64, "0x" + "0" * 16, "x", "A" * 300):
        assert refusal(shop, name) == (404, "Request not found")
    for headers in (new_shop.by_client, new_shop.by_key):
        assert refusal(shop, request_id, headers) == (404, "Request not found")
    reference = read(request_id).payment_reference
    assert refusal(shop, reference, new_shop.by_key) == (404, "Request not found")


def test_another_client_id_of_the_account_does_not_see_it(shop: Shop) -> None:
    other = admin.create_client_id(running(), shop.account_id, "other", [ORIGIN])
    request_id = made(shop)
    assert refusal(shop, request_id, {"x-client-id": other, "origin": ORIGIN}) == (404, "Request not found")


def test_a_paid_request_is_409(shop: Shop) -> None:
    request_id = made(shop)
    for paid in (12_500_000, 12_500_001):
        change(request_id, paid=BaseUnits(paid), status=RequestStatus.PAID)
        assert refusal(shop, request_id) == (409, "This request has already been paid")


def test_a_request_of_a_link_follows_the_rules_of_the_link(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    payment = link_reading.load(running(), token)
    assert payment is not None
    request_id = payment.requests[0].request_id
    body = pay(shop, request_id, amount="2")
    assert erc20_payment(body["transactions"][1])[2::2] == (2_000_000, 20_000)
    assert body["metadata"]["platformFee"] == {"percentage": "1", "address": FEE_ADDRESS}
    assert link_reading.load(running(), token) == payment, "its link keeps the fee, and nothing is written"
    expected = refusal(shop, request_id, **FEE)
    assert expected == (400, "This request is part of a link, which has set its fee: omit feePercentage and feeAddress")
    expire(token)
    assert refusal(shop, request_id) == (403, "Secure payment token expired or invalid status")


def test_a_request_of_a_completed_link_is_409(shop: Shop) -> None:
    token = shop.link()
    payment = link_reading.load(running(), token)
    assert payment is not None
    complete(token)
    expected = refusal(shop, payment.requests[0].request_id)
    assert expected == (409, "Secure payment has already been completed")


def test_a_request_of_a_link_that_waits_for_a_transaction_is_423(shop: Shop) -> None:
    if running().store.get(Cursor, Cursor.KEY.of(network="sepolia")) is None:
        running().store.write(Cursor("sepolia", 100, (), 2000))
    token = shop.link()
    payment = link_reading.load(running(), token)
    assert payment is not None
    draft = Announcement(None, "0x" + "ab" * 32, None, "SEPOLIA", "USDC", None)
    announcements.record(running(), token, Viewer(shop.account_id, None), draft)
    assert refusal(shop, payment.requests[0].request_id) == (423, "Secure payment is in progress")


def test_a_payouts_request_is_paid_by_its_creator_alone(shop: Shop) -> None:
    token = shop.send("POST", PAYOUTS, payout()).json["token"]
    payment = link_reading.load(running(), token)
    assert payment is not None
    request_id = payment.requests[0].request_id
    assert pay(shop, request_id, wallet=WALLET)["transactions"]
    assert refusal(shop, request_id, wallet=OTHER) == (403, "Only the wallet that created this payout may pay it")
