"""POST /v2/request: what is accepted and kept, what is refused, in which words, and that nothing of it is written."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.payments.requests import store
from chalicelib.payments.requests.records import CustomerAddress, CustomerInfo, Frequency, Recurrence, Request
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.payments.links.test_limited import bind, limit
from tests.payments.links.test_limited import refused as refused_by_limit
from tests.support.client import ORIGIN, Reply, Shop, item, stored
from tests.support.items import MISCASED, TRON_PAYEE, ZERO, refused
from tests.support.running import running

JOHN = {
    "firstName": "John",
    "lastName": "Doe",
    "email": "john.doe@example.com",
    "address": {
        "street": "123 Main Street",
        "city": "New York",
        "state": "NY",
        "postalCode": "10001",
        "country": "US",
    },
}


def create(shop: Shop, **changes: Any) -> Reply:
    return shop.send("POST", "/v2/request", item(**changes))


def made(shop: Shop, **changes: Any) -> Request:
    reply = create(shop, **changes)
    assert (reply.status, set(reply.json)) == (201, {"paymentReference", "requestId"}), reply.json
    found = store.request(running().store, reply.json["requestId"])
    assert found is not None and found.payment_reference == reply.json["paymentReference"]
    return found


def usd(payment: str = "ETH-mainnet", **changes: Any) -> dict[str, Any]:
    return {"invoiceCurrency": "USD", "paymentCurrency": payment, **changes}


def today(days: int = 0) -> str:
    return (running().clock() + timedelta(days=days)).date().isoformat()


# --- what is kept ---


def test_a_request_has_an_id_and_a_reference_and_nothing_else_is_told(shop: Shop) -> None:
    request = made(shop)
    assert len(request.request_id) == 66 and request.request_id.startswith("01")
    assert len(request.payment_reference) == 18
    assert (request.payee, request.network, request.currency) == (PAYEE, "sepolia", "fUSDC-sepolia")
    assert (request.amount, request.invoice_currency) == (12_500_000, None)
    assert (request.client_id, request.origin, request.created_with) == (shop.client_id, ORIGIN, "clientId")


def test_what_is_said_of_it_is_kept(shop: Shop) -> None:
    request = made(
        shop,
        payer=WALLET.lower(),
        reference="ORDER-2024-001234",
        customerInfo=JOHN,
        recurrence={"startDate": "2101-01-31", "frequency": "MONTHLY"},
        originalRequestId="01abc",
        originalRequestPaymentReference="0xb3581f0b0f74cc61",
        isCryptoToFiatAvailable=False,
    )
    assert (request.payer, request.reference) == (WALLET, "ORDER-2024-001234")
    address = CustomerAddress("123 Main Street", "New York", "NY", "10001", "US")
    assert request.customer_info == CustomerInfo("John", "Doe", "john.doe@example.com", address)
    assert request.recurrence == Recurrence("2101-01-31", Frequency.MONTHLY, False, 1, datetime(2101, 2, 28, tzinfo=UTC))
    assert request.original_request_id == "01abc"
    assert request.original_payment_reference == "0xb3581f0b0f74cc61"


def test_unknown_fields_are_ignored_among_them_fees_which_are_named_when_it_is_paid(shop: Shop) -> None:
    request = made(shop, feePercentage="1", feeAddress=FEE_ADDRESS, destinationId="x", isCryptoToFiatAllowed=True)
    assert (request.fee_percentage, request.fee_address) == (None, None)


def test_an_empty_reference_is_none(shop: Shop) -> None:
    assert made(shop, reference="").reference is None


@pytest.mark.parametrize("text", ["fusdc-sepolia", "FUSDC-SEPOLIA", "usdc-Sepolia"])
def test_a_currency_in_any_case_is_stored_as_it_is_listed(shop: Shop, text: str) -> None:
    assert made(shop, invoiceCurrency=text, paymentCurrency=text).currency == "fUSDC-sepolia"
    assert made(shop, **usd(invoiceCurrency="usd")).invoice_currency == "USD"


def test_an_alias_of_a_currency_is_the_currency(shop: Shop) -> None:
    assert made(shop, invoiceCurrency="USDC-sepolia", paymentCurrency="fUSDC-sepolia").currency == "fUSDC-sepolia"


def test_an_invoice_in_dollars_is_counted_in_the_units_of_the_contracts(shop: Shop) -> None:
    request = made(shop, **usd(amount="12.5"))
    assert (request.amount, request.invoice_currency, request.currency) == (1_250_000_000, "USD", "ETH-mainnet")


def test_a_tron_request_is_for_a_tron_address(shop: Shop) -> None:
    tron = {"invoiceCurrency": "USDT-tron", "paymentCurrency": "USDT-tron"}
    assert made(shop, payee=TRON_PAYEE, **tron).network == "tron"
    refused(create(shop, **tron), "payee: Invalid Tron address")


@pytest.mark.parametrize("start", [0, 1, 3000])
def test_a_recurrence_begins_today_or_later(shop: Shop, start: int) -> None:
    for text in (today(start), f"{today(start)}T00:00:00.000Z", f"{today(start)}T12:00:00+02:00"):
        request = made(shop, recurrence={"startDate": text, "frequency": "DAILY"})
        assert request.recurrence is not None and request.recurrence.start_date == text


# --- who creates it ---


@pytest.mark.parametrize("by", ["by_key", "by_client"])
def test_an_api_key_and_a_client_id_create_requests(shop: Shop, by: str) -> None:
    reply = shop.api.request("POST", "/v2/request", item(), getattr(shop, by))
    assert reply.status == 201


def test_a_client_id_that_is_bound_needs_no_payee(new_shop: Shop) -> None:
    refused(create(new_shop, payee=None), "payee is required (no client ID with an active payee destination is calling)")
    wallet = evm_wallet("bound shop")
    bind(new_shop, wallet)
    assert made(new_shop, payee=None).payee == wallet.address
    other = create(new_shop, payee=None, invoiceCurrency="FAU-sepolia", paymentCurrency="FAU-sepolia")
    elsewhere = create(new_shop)
    for reply in (other, elsewhere):
        assert (reply.status, reply.message) == (403, "Destination does not match the configured payment destination.")


def test_what_a_client_id_creates_alone_is_limited_as_its_links_are(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[PAYEE], allowedCurrencies=["fUSDC-sepolia", "ETH-mainnet"])
    refused_by_limit(create(new_shop, payee=WALLET), f"payee {WALLET} is not in its allowedPayees")
    other = {"invoiceCurrency": "fUSDT-sepolia", "paymentCurrency": "fUSDT-sepolia"}
    refused_by_limit(create(new_shop, **other), "currency fUSDT-sepolia is not in its allowedCurrencies")
    assert create(new_shop).status == create(new_shop, **usd()).status == 201
    assert new_shop.api.request("POST", "/v2/request", item(payee=WALLET), new_shop.by_key).status == 201


def test_a_request_for_a_bank_account_has_no_payee_until_that_is_chosen(shop: Shop) -> None:
    request = made(shop, payee=None, isCryptoToFiatAvailable=True)
    assert (request.payee, request.is_crypto_to_fiat, request.fiat) == ("", True, None)
    assert made(shop, isCryptoToFiatAvailable=True).payee == PAYEE


def test_a_client_id_with_a_destination_of_its_own_creates_none_for_a_bank_account(new_shop: Shop) -> None:
    bind(new_shop, evm_wallet("off-ramp"))
    reply = create(new_shop, payee=None, isCryptoToFiatAvailable=True)
    assert (reply.status, reply.message) == (
        403,
        "This client ID is bound to a payee destination, where its payments go: leave isCryptoToFiatAvailable out",
    )


def test_a_client_id_that_is_limited_to_payees_creates_none_for_a_bank_account(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[PAYEE])
    wanted = "a bank account, which isCryptoToFiatAvailable leads to, is not in its allowedPayees"
    refused_by_limit(create(new_shop, payee=None, isCryptoToFiatAvailable=True), wanted)
    refused_by_limit(create(new_shop, isCryptoToFiatAvailable=True), wanted)


# --- what is refused ---


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"amount": "0"}, "amount must be greater than 0"),
        ({"amount": "-1"}, "amount must be a plain decimal number"),
        ({"amount": 12}, "amount must be a string"),
        ({"amount": None}, "amount is required"),
        ({"amount": "1.0000001"}, "amount has too many decimals: the currency has 6"),
        ({"payee": ZERO}, "payee is the zero address"),
        ({"payee": require_token("fUSDC-sepolia").address}, "payee is the contract of fUSDC-sepolia"),
        ({"payee": require_token("USDC-base").address.lower()}, "payee is the contract of USDC-base"),
        ({"payee": address_of(ERC20_FEE_PROXY, "sepolia")}, "payee is the contract of ERC20FeeProxy"),
        ({"payee": "0x12"}, "payee: Invalid EVM address"),
        ({"payee": MISCASED}, "payee: Invalid EVM address: its upper and lower case do not match the EIP-55 checksum"),
        ({"payee": TRON_PAYEE}, "payee: Invalid EVM address"),
        ({"payee": ""}, "payee must have at least 1 character"),
        ({"payer": PAYEE.lower()}, "payer is the payee: give the wallet that pays, or leave it out"),
        ({"payer": "0x12"}, "payer: Invalid EVM address"),
        ({"invoiceCurrency": None}, "invoiceCurrency is required"),
        ({"paymentCurrency": None}, "paymentCurrency is required"),
        ({"invoiceCurrency": ""}, "invoiceCurrency must have at least 1 character"),
        ({"invoiceCurrency": "NONE-sepolia"}, "Currency NONE-sepolia is not supported; GET /v2/currencies lists the ids"),
        ({"paymentCurrency": "USD"}, "paymentCurrency: USD cannot be paid on a chain; choose a token"),
        ({"invoiceCurrency": "EUR"}, "invoiceCurrency: EUR cannot be paid in fUSDC-sepolia here; GET /v2/currencies/EUR/"),
        (
            {"invoiceCurrency": "fUSDT-sepolia"},
            "fUSDT-sepolia cannot be paid in fUSDC-sepolia here; GET /v2/currencies/fUSDT-sepolia/conversion-routes lists",
        ),
        (usd(amount="1.005"), "amount has too many decimals: the currency has 2"),
        (usd(amount="9" * 40), "amount is too large to be converted to another currency"),
        (usd("USDC-base"), "USD cannot be paid in USDC-base here"),
        (
            {"invoiceCurrency": "USDC-bsc", "paymentCurrency": "USDC-bsc"},
            "This deployment does not serve bsc: payments there would not be seen",
        ),
        ({"isCryptoToFiatAvailable": "false"}, "isCryptoToFiatAvailable must be true or false"),
        ({"reference": "x" * 256}, "reference must have at most 255 characters"),
        ({"originalRequestId": ""}, "originalRequestId must have at least 1 character"),
        ({"originalRequestPaymentReference": ""}, "originalRequestPaymentReference must have at least 1 character"),
        ({"recurrence": {}}, "recurrence.startDate is required"),
        ({"recurrence": {"startDate": "2101-01-01"}}, "recurrence.frequency is required"),
        ({"recurrence": {"startDate": "2101-01-01", "frequency": "HOURLY"}}, "recurrence.frequency"),
        ({"recurrence": {"startDate": "2020-01-01", "frequency": "DAILY"}}, "recurrence.startDate is in the past: give"),
        ({"recurrence": {"startDate": "2101-02-30", "frequency": "DAILY"}}, "recurrence.startDate must be a date such as"),
        (
            {"recurrence": {"startDate": "9999-12-31T23:59:59-23:59", "frequency": "DAILY"}},
            "recurrence.startDate must be a date such as",
        ),
        ({"recurrence": {"startDate": "soon", "frequency": "DAILY"}}, "recurrence.startDate must be a date such as"),
        ({"customerInfo": {"email": "john"}}, "customerInfo.email must be an e-mail address"),
        ({"customerInfo": {"email": "j" * 250 + "@a.example"}}, "customerInfo.email must have at most 255 characters"),
        ({"customerInfo": {"firstName": ""}}, "customerInfo.firstName must have at least 1 character"),
        ({"customerInfo": {"lastName": "x" * 101}}, "customerInfo.lastName must have at most 100 characters"),
        ({"customerInfo": {"address": {"street": "x" * 256}}}, "customerInfo.address.street must have at most 255"),
        ({"customerInfo": {"address": {"city": "x" * 101}}}, "customerInfo.address.city must have at most 100"),
        ({"customerInfo": {"address": {"state": "x" * 101}}}, "customerInfo.address.state must have at most 100"),
        ({"customerInfo": {"address": {"postalCode": "x" * 21}}}, "customerInfo.address.postalCode must have at most 20"),
        ({"customerInfo": {"address": {"country": "USA"}}}, "customerInfo.address.country must have at most 2"),
        ({"customerInfo": "John"}, "customerInfo must be an object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_that_cannot_be_is_refused_with_what_to_change(
    shop: Shop, changes: dict[str, Any], hint: str
) -> None:
    refused(create(shop, **changes), hint)


@pytest.mark.usefixtures("nothing_written")
def test_a_day_that_has_ended_is_in_the_past(shop: Shop) -> None:
    for text in (today(-1), f"{today(-1)}T23:59:59Z"):
        refused(create(shop, recurrence={"startDate": text, "frequency": "WEEKLY"}), "recurrence.startDate is in the past")


def test_a_refused_request_leaves_nothing(shop: Shop) -> None:
    before = stored()
    assert create(shop, payer=PAYEE).status == 400
    assert stored() == before


@pytest.mark.usefixtures("nothing_written")
def test_an_escrow_that_only_the_setting_names_is_no_payee(shop: Shop) -> None:
    escrow = running().settings.escrow_contracts["sepolia"].escrow
    reply = shop.send("POST", "/v2/request", item(payee=escrow))
    refused(reply, "payee", "is the contract of AuthCaptureEscrow")
