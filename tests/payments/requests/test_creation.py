"""New requests: what is written when a draft holds, and which drafts do not hold."""

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, Forbidden, ValidationFailed
from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.currencies.rules import ConversionFacts
from chalicelib.payments.requests.creation import Draft, create_request, new_request
from chalicelib.payments.requests.field_problems import for_each, parse_field
from chalicelib.payments.requests.records import CustomerInfo, Frequency, Recurrence, Request, RequestStatus
from chalicelib.payments.requests.references import payment_reference
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.requests.targets import LARGEST_CONVERTED, Item, Terms, resolve
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from tests.fakes.world import PAYEE, START, WALLET

TERMS = Terms(False, ConversionFacts(frozenset(("mainnet", "sepolia", "base")), has_price_source=True), {})
OWNER = Owner("acct", "cli_a", "https://shop.example", mode=Mode.CLIENT_ID)
FUSDC = token_with_id("fUSDC-sepolia")
assert FUSDC is not None
BOUND = Destination(PAYEE, 11155111, FUSDC.address)
ITEM = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")


def made(bound: Destination | None = None, terms: Terms = TERMS, **changes: Any) -> Request:
    counter = itertools.count(1)
    fields = {name: changes.pop(name) for name in list(changes) if name in Item.__dataclass_fields__}  # type: ignore[attr-defined]
    draft = Draft(replace(ITEM, **fields), **changes)
    return create_request(draft, (), OWNER, terms, START, lambda n: next(counter).to_bytes(n, "big"), bound)


def refused(match: str, **changes: Any) -> None:
    with pytest.raises(ValidationFailed, match=match):
        made(**changes)


def test_a_request_has_what_was_asked_for_and_its_owner() -> None:
    recurrence = Recurrence("2101-01-31", Frequency.WEEKLY)
    info = CustomerInfo("Ann")
    request = made(payer=WALLET, reference="O-1", customer_info=info, recurrence=recurrence, original_request_id="01a")
    assert request.payable_id == request.request_id == "01" + f"{1:064x}"
    assert (request.position, request.salt, request.link_token) == (0, f"{2:016x}", None)
    assert request.payment_reference == "0x" + payment_reference(request.request_id, request.salt, PAYEE).hex()
    assert (request.payee, request.network, request.currency) == (PAYEE, "sepolia", "fUSDC-sepolia")
    assert (request.amount, request.paid, request.status) == (12_500_000, 0, RequestStatus.CREATED)
    assert (request.account_id, request.client_id, request.origin) == ("acct", "cli_a", "https://shop.example")
    assert (request.created_at, request.created_with, request.payment_count) == (START, Mode.CLIENT_ID, 0)
    assert (request.payer, request.reference, request.customer_info, request.recurrence) == (
        WALLET,
        "O-1",
        info,
        replace(recurrence, period=1, next_at=datetime(2101, 2, 7, tzinfo=UTC)),
    )
    assert (request.original_request_id, request.original_payment_reference, request.tx_hash) == ("01a", None, None)
    assert (request.invoice_currency, request.listening_since, request.fee_address) == (None, None, None)


def test_a_request_of_a_payable_has_its_place_there() -> None:
    target = resolve(ITEM, (), TERMS, None)
    request = new_request("01M", 3, target, OWNER, START, bytes)
    assert (request.payable_id, request.position, request.link_token) == ("01M", 3, "01M")


@given(st.integers(1, 10**15), st.sampled_from(("USD", "EUR", "JPY", "ETH-mainnet")))
def test_an_amount_is_read_and_written_in_its_invoice_currency(units: int, invoice: str) -> None:
    currency = token_with_id(invoice)
    assert currency is not None
    text = format_amount(units, currency.decimals)
    request = made(amount=text, invoice_currency=invoice, payment_currency="USDC-mainnet")
    assert amount_text(request.amount, request) == text
    assert request.invoice_currency == invoice


def test_a_converted_amount_has_a_largest() -> None:
    largest = LARGEST_CONVERTED // 10**6
    dollars = {"invoice_currency": "USD", "payment_currency": "USDC-mainnet"}
    assert made(amount=format_amount(largest, 2), **dollars).amount == largest * 10**6
    refused("amount is too large to be converted", amount=format_amount(largest + 1, 2), **dollars)
    assert made(amount=str(10**60)).amount == 10**66, "what is not converted may be larger"


def test_a_currency_that_cannot_be_converted_is_refused_with_what_can() -> None:
    refused(
        "invoiceCurrency: USD cannot be paid in fUSDT-sepolia here; GET /v2/currencies/USD/conversion-routes lists",
        invoice_currency="USD",
        payment_currency="fUSDT-sepolia",
        terms=replace(TERMS, conversions=ConversionFacts(frozenset(("sepolia",)), has_price_source=True)),
    )


def test_the_wallet_of_a_bound_destination_is_the_payee_where_none_is_named() -> None:
    assert made(bound=BOUND, payee=None).payee == PAYEE
    assert made(bound=BOUND).payee == PAYEE
    refused("payee is required", payee=None)
    for other in ({"payee": WALLET}, {"invoice_currency": "FAU-sepolia", "payment_currency": "FAU-sepolia"}):
        with pytest.raises(Forbidden, match="does not match the configured payment destination"):
            made(bound=BOUND, **other)


def test_a_destination_id_names_payee_and_token() -> None:
    target = resolve(Item("1", destination_id(BOUND), None, None, None), (), TERMS, None)
    assert (target.payee, target.token, target.invoice, target.amount) == (PAYEE, FUSDC, None, 1_000_000)


@given(st.integers(-3, 3), st.integers(0, 23), st.integers(-12, 14))
def test_a_recurrence_begins_today_by_utc_or_later(days: int, hour: int, offset: int) -> None:
    local = (START + timedelta(days=days)).replace(hour=hour, tzinfo=None)
    sign = "-" if offset < 0 else "+"
    text = f"{local.isoformat()}{sign}{abs(offset):02}:00"
    day = datetime.fromisoformat(text).astimezone(UTC).date()
    for start, is_day in ((text, day), (local.date().isoformat(), local.date())):
        check_start(start, is_day)


def check_start(text: str, day: date) -> None:
    recurrence = Recurrence(text, Frequency.DAILY)
    if day < START.date():
        refused("recurrence.startDate is in the past", recurrence=recurrence)
    else:
        found = made(recurrence=recurrence).recurrence
        assert found is not None and found.start_date == text


@pytest.mark.parametrize("text", ["", "soon", "2101-13-01", "2101-02-30", "9999-12-31T23:59:59-01:00", "1", "NaN"])
def test_a_start_that_is_no_time_is_refused(text: str) -> None:
    refused("recurrence.startDate must be a date such as 2030-01-31", recurrence=Recurrence(text, Frequency.DAILY))


def test_the_payer_is_an_address_of_the_network_and_not_the_payee() -> None:
    assert made(payer=WALLET.lower()).payer == WALLET
    refused("payer is the payee", payer=PAYEE.lower())
    refused("payer: Invalid EVM address", payer="TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")


def test_the_problems_of_all_entries_are_told_with_their_places() -> None:
    def at_least_two(number: int, path: tuple[str, ...]) -> int:
        if number < 2:
            parse_field((*path, "number"), at_most_nothing, str(number))
        return number

    assert for_each([2, 3], at_least_two) == [2, 3]
    with pytest.raises(ValidationFailed) as raised:
        for_each([1, 2, 0], at_least_two)
    sentences = [problem.sentence for problem in raised.value.problems]
    assert sentences == ["requests.0.number: No 1", "requests.2.number: No 0"]


def at_most_nothing(text: str) -> int:
    raise BadRequest(f"No {text}")
