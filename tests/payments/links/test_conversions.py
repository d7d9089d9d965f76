"""Links whose amounts are in another currency than their payments: created, read and looked up in the invoice currency."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import ValidationFailed
from chalicelib.base.money import format_amount
from chalicelib.payments.currencies.rules import ConversionFacts
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.fees.rules import plan_of
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.requests.targets import LARGEST_CONVERTED, Item
from chalicelib.platform.access.callers import Owner
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, draft
from tests.support.client import Shop, item
from tests.support.items import FEE, refused

FACTS = ConversionFacts(frozenset(("mainnet", "matic", "base", "tron")), has_price_source=True)
USD_BY_CONTRACT = item(amount="12.50", invoiceCurrency="USD", paymentCurrency="USDC-mainnet")


def made(*items: Item, **changes: Any) -> PayableLink:
    terms = replace(TERMS, requests=replace(TERMS.requests, conversions=FACTS))
    return create_link(draft(items=items, **changes), Owner("acct", None, None), terms, START, bytes)


def owed(amount: str, invoice: str, payment: str) -> Item:
    return Item(amount, None, PAYEE, invoice, payment)


@pytest.mark.parametrize(
    ("amount", "invoice", "payment", "units"),
    [
        ("12.50", "USD", "USDC-mainnet", 1_250_000_000),
        ("12.50", "EUR", "ETH-mainnet", 1_250_000_000),
        ("1250", "JPY", "USDC-mainnet", 125_000_000_000),
        ("0.01", "USD", "USDC-base", 1_000_000),
        ("2.5", "USDC-mainnet", "ETH-mainnet", 2_500_000),
    ],
)
def test_an_amount_is_kept_in_the_units_of_its_invoice_currency(
    amount: str, invoice: str, payment: str, units: int
) -> None:
    (request,) = made(owed(amount, invoice, payment)).requests
    assert (request.amount, request.invoice_currency, request.currency) == (units, invoice, payment)
    assert amount_text(request.amount, request) == format_amount(units, 6 if "USDC" in invoice else 8)


@pytest.mark.parametrize(
    ("amount", "invoice", "hint"),
    [("0.001", "USD", "the currency has 2"), ("0.1", "JPY", "the currency has 0"), ("9" * 40, "USD", "is too large to be conv")],
)
def test_an_amount_has_the_decimals_of_its_invoice_currency(amount: str, invoice: str, hint: str) -> None:
    with pytest.raises(ValidationFailed, match=hint):
        made(owed(amount, invoice, "USDC-mainnet"))


def test_what_no_way_leads_to_is_refused() -> None:
    for invoice, payment in (("XAF", "USDC-mainnet"), ("USD", "USDC-bsc"), ("USD", "FAU-sepolia")):
        with pytest.raises(ValidationFailed, match=f"{invoice} cannot be paid in {payment} here; GET /v2/currencies/{invoice}/"):
            made(owed("1", invoice, payment))


def test_a_batch_mixes_currencies_on_one_network() -> None:
    payment = made(
        owed("5", "USD", "USDC-mainnet"), owed("5", "USDC-mainnet", "USDC-mainnet"), owed("5", "EUR", "ETH-mainnet")
    )
    assert [each.amount for each in payment.requests] == [500_000_000, 5_000_000, 500_000_000]
    assert plan_of(payment) is None


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_a_plan_of_dollar_invoices_is_in_dollars(cents: list[int]) -> None:
    items = [owed(format_amount(each, 2), "USD", "ETH-mainnet") for each in cents]
    plan = plan_of(made(*items, fee_percentage="1", fee_address=FEE_ADDRESS))
    assert plan is not None
    assert (plan.decimals, plan.gross, plan.charged) == (8, sum(cents) * 10**6, sum(cents) * 10**4)


def test_the_largest_converted_amount_does_not_count_among_sums_of_tokens() -> None:
    largest = owed(format_amount(LARGEST_CONVERTED // 10**6, 2), "USD", "USDC-mainnet")
    assert len(made(largest, largest, owed("1", "USDC-mainnet", "USDC-mainnet")).requests) == 3


def test_a_link_is_read_in_its_invoice_currency(shop: Shop) -> None:
    token = shop.link(USD_BY_CONTRACT, **FEE)
    shown = shop.get(f"/v2/secure-payments/{token}").json
    assert {name: shown[name] for name in ("amount", "paidAmount", "remainingAmount")} == {
        "amount": "12.5",
        "paidAmount": "0",
        "remainingAmount": "12.5",
    }
    assert (shown["invoiceCurrency"], shown["paymentCurrency"], shown["decimals"]) == ("USD", "USDC-mainnet", 6)
    assert (shown["feePlan"]["grossAmountUsd"], shown["feePlan"]["payerTotalAmountUsd"]) == ("12.5", "12.625")


def test_a_batch_is_read_in_its_invoice_currencies(shop: Shop) -> None:
    direct = item(amount="3", invoiceCurrency="USDC-mainnet", paymentCurrency="USDC-mainnet")
    shown = shop.get(f"/v2/secure-payments/{shop.link(USD_BY_CONTRACT, direct)}").json
    assert shown["amounts"] == shown["remainingAmounts"] == ["12.5", "3"]
    assert shown["invoiceCurrencies"] == ["USD", "USDC-mainnet"]
    assert (shown["paymentCurrencies"], shown["decimals"]) == (["USDC-mainnet"] * 2, [6, 6])


@pytest.mark.usefixtures("nothing_written")
def test_without_a_price_source_only_contracts_convert(shop: Shop) -> None:
    refused(shop.create(item(invoiceCurrency="USD", paymentCurrency="USDC-base")), "USD cannot be paid in USDC-base here")
