"""Invoices in another currency than the token that is paid: what the payer is shown, holds, signs and is told."""

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import expect

from infra.local.outsiders.tron_payer import fresh_tron_address
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import NATIVE, Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, Purse, SafePurse, TronPurse
from tests.pages.stack import Stack
from tests.pages.test_answers import Change, forge
from tests.support.client import item
from tests.support.items import FEE
from tests.support.patience import milliseconds
from tests.support.running import restart
from tests.support.stored_links import pay_part

pytestmark = pytest.mark.xdist_group("second browser")
USDC_MAINNET = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
Json = dict[str, Any]


def dollars(payment: str = "fUSDC-sepolia", amount: str = "25.50", **changes: Any) -> Json:
    return item(amount=amount, invoiceCurrency="USD", paymentCurrency=payment, **changes)


def quote_of(stack: Stack, token: str) -> Json:
    """The metadata of /pay without a wallet."""
    metadata: Json = stack.shop.get(f"/v2/secure-payments/{token}/pay").json["metadata"]
    return metadata


@pytest.fixture
def short_quotes(stack: Stack) -> Iterator[None]:
    """Rates are held for ten seconds, and the page begins no payment in the last of them."""
    with stack.lock:
        os.environ["QUOTE_SECONDS"] = "10"
        restart()
    yield
    with stack.lock:
        del os.environ["QUOTE_SECONDS"]
        restart()


def test_dollars_are_paid_in_a_token_at_a_rate_that_is_shown_and_locked(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(dollars(), **FEE)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE, FEE_ADDRESS])
    visitor = new_visitor(purse).open(token)
    visitor.shows("You pay", "25.755 USD", "25.50 USD", "0.255 USD", "Paid in", "fUSDC", "Sepolia")
    visitor.connect(purse)
    amount = quote_of(stack, token)["conversion"]["paymentAmount"]
    paid = Decimal(amount) * 10**6
    fee = paid // 100
    total = (paid + fee).scaleb(-6).normalize()
    visitor.shows(f"Approve and pay {total} fUSDC", f"Allow the payment contract to take {total} fUSDC")
    visitor.shows("1 USD = 1.0002 fUSDC", "Chainlink", "counts at the rate of that time")
    expect(visitor.page.locator("[data-until]").last).to_have_text(re.compile("in 4 minutes"))
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed").shows("25.755 USD")
    stack.assert_completed(token)
    assert ledger.moved() == {FUSDC: [-paid - fee, paid, fee]}


@pytest.mark.parametrize("payment", ["USDC-mainnet", "ETH-mainnet"])
def test_a_contract_converts_and_takes_no_more_than_the_most_that_is_shown(
    stack: Stack, new_visitor: NewVisitor, payment: str
) -> None:
    purse = Purse(stack.mainnet)
    token = stack.shop.link(dollars(payment), **FEE)
    paid_in = NATIVE if "ETH" in payment else USDC_MAINNET
    ledger = Ledger(stack.mainnet, [paid_in], [purse.address, PAYEE, FEE_ADDRESS])
    visitor = new_visitor(purse).open(token).connect(purse)
    most = quote_of(stack, token)["conversion"]["maxToSpend"]
    visitor.shows("Pay about" if paid_in is NATIVE else "Approve and pay about", "At most", most, "takes no more than this")
    visitor.page.locator(".exact summary").last.click()
    visitor.shows("25.50 USD", "0.255 USD", "ConversionProxy.")
    visitor.pay("confirming")
    stack.settle("mainnet")
    visitor.reach("completed")
    stack.assert_completed(token)
    receipts = [stack.mainnet.receipt(each) for each in purse.sent]
    debit, credit, fee = ledger.moved(receipts if paid_in is NATIVE else None)[paid_in]
    assert -debit == credit + fee <= Decimal(most) * 10 ** (18 if paid_in is NATIVE else 6)


def test_several_currencies_are_paid_together_each_at_its_own_rate(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    euros = item(amount="10", invoiceCurrency="EUR", paymentCurrency="FAU-sepolia")
    token = stack.shop.link(dollars(amount="5"), euros, item(amount="1.5"))
    visitor = new_visitor(purse).open(token)
    visitor.shows("5.00 USD, 10.00 EUR, and 1.5 fUSDC", "fUSDC, FAU")
    visitor.connect(purse).shows("1 USD = 1.0002 fUSDC", "1 EUR = 1.0801")
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)


def test_contracts_convert_several_at_once(stack: Stack, new_visitor: NewVisitor) -> None:
    purse = Purse(stack.mainnet)
    token = stack.shop.link(dollars("USDC-mainnet"), dollars("DAI-mainnet", "3"), dollars("ETH-mainnet", "7"))
    new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.settle("mainnet")
    stack.assert_completed(token)


def test_the_owners_of_a_safe_pay_dollars(stack: Stack, new_visitor: NewVisitor) -> None:
    token, safe = stack.shop.link(dollars()), SafePurse(stack.chain)
    visitor = new_visitor(safe).open_in_safe(token, "review")
    visitor.shows("1 USD = 1.0002 fUSDC", "Propose to pay 25.505")
    visitor.pay("safe")
    safe.safe.execute(safe.proposed[0])
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)


def test_dollars_are_paid_on_tron(stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(dollars("USDT-tron", payee=fresh_tron_address()))
    visitor = new_visitor(tron_purse).open(token).connect(tron_purse)
    visitor.shows("1 USD = 0.9998 USDT")
    visitor.pay("confirming")
    stack.settle("tron")
    visitor.reach("completed")
    stack.assert_completed(token)


def test_what_is_left_is_told_in_the_currency_of_the_invoice(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(dollars())
    with stack.lock:
        pay_part(token, 20_30 * 10**6)
    visitor = new_visitor(purse).open(token)
    visitor.shows("Left to pay", "5.20 USD", "Paid so far", "20.30 USD")
    visitor.connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")


def test_without_a_wallet_the_rate_is_told_beside_fields_to_copy_and_there_is_no_code_that_would_grow_old(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor().open(stack.shop.link(dollars()))
    visitor.page.locator("#manual summary").click()
    visitor.shows("1 USD = 1.0002 fUSDC", "Rate ends")
    expect(visitor.page.locator(".qr")).to_have_count(1)
    expect(visitor.page.locator("#manual-data-1")).to_have_value(re.compile("^0xc219a14d"))


def test_without_scripts_the_amount_is_told_in_the_currency_of_the_invoice(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(java_script_enabled=False)
    visitor.page.goto(f"{stack.pay_url}/?token={stack.shop.link(dollars())}")
    for each in ("25.50 USD", "Paid in", "fUSDC"):
        assert each in visitor.text
    assert visitor.page.locator("img[src*=qr]").count() == 1


# --- the time of a rate ---


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_wrong_changes_nothing(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, hours: int
) -> None:
    visitor = new_visitor(purse)
    visitor.page.clock.install(time=datetime.now(UTC) + timedelta(hours=hours))
    visitor.open(stack.shop.link(dollars()))
    expect(visitor.page.locator("#countdown")).to_have_text("in 6 days 23 hours")
    visitor.connect(purse)
    expect(visitor.page.locator("[data-until]").last).to_have_text(re.compile("in 4 minutes"))
    visitor.pay("confirming")


@pytest.mark.usefixtures("short_quotes")
def test_a_rate_that_has_ended_is_renewed_and_the_new_amount_is_announced(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(dollars())
    visitor = new_visitor(purse).open(token).connect(purse)
    pay = visitor.page.locator("#pay")
    before = pay.inner_text()
    stack.market.set({"USDC": "0.9950"})
    try:
        visitor.page.locator("#pay").focus()
        expect(visitor.page.locator("#polite")).to_contain_text("There is a new rate. You pay 25.62")
        expect(pay).to_contain_text("25.62")
        assert pay.inner_text() != before
        expect(pay).to_be_focused()
        visitor.shows("1 USD = 1.00503 fUSDC")
        visitor.pay("confirming")
    finally:
        stack.market.set({"USDC": "0.9998"})
    stack.settle()
    visitor.reach("completed")


@pytest.mark.usefixtures("short_quotes")
def test_the_next_rate_is_checked_as_the_first_one(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(dollars())).connect(purse)
    forge(visitor, "/pay", of_calldata(lambda units: units + 1, place=2))
    visitor.reach("unsafe").shows(AMOUNT)
    assert not visitor.can_pay()


@pytest.mark.usefixtures("short_quotes")
def test_fields_to_copy_are_those_of_a_rate_that_is_locked(stack: Stack, new_visitor: NewVisitor) -> None:
    """Where none can be had there are none."""
    visitor = new_visitor().open(stack.shop.link(dollars()))
    visitor.page.locator("#manual summary").click()
    data = visitor.page.locator("#manual-data-1")
    before = data.input_value()
    stack.market.set({"USDC": "0.9950"})
    try:
        expect(data).not_to_have_value(before, timeout=milliseconds())
        stack.market.set({"USDC": "0.90"})
        visitor.shows("There is no exchange rate now")
        assert data.count() == 0
    finally:
        stack.market.set({"USDC": "0.9998"})


@pytest.mark.usefixtures("short_quotes")
def test_what_a_wallet_is_asked_for_is_not_exchanged_when_its_rate_ends(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(dollars("ETH-sepolia-sepolia"))
    purse.says["eth_sendTransaction"] = HANGS
    visitor = new_visitor(purse).open(token).connect(purse).pay_unanswered(purse)
    note = visitor.note(token)
    visitor.shows("Rate ends")
    visitor.shows("This rate has ended. If you have not confirmed yet, reject the request in your wallet")
    expect(visitor.page.locator("#alert")).to_contain_text("This rate has ended.")
    assert visitor.state == "signing"
    assert purse.asked.count("eth_sendTransaction") == 1
    assert visitor.note(token) == note


@pytest.mark.usefixtures("short_quotes")
def test_where_no_new_rate_can_be_had_nothing_is_offered_until_it_can(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """The sources differ for as long as the service keeps the price that it read before."""
    visitor = new_visitor(purse).open(stack.shop.link(dollars())).connect(purse)
    stack.market.set({"USDC": "0.90"})
    try:
        visitor.reach("norate").shows("There is no exchange rate now", "do not agree")
        assert not visitor.can_pay()
        expect(visitor.page.locator("#alert")).to_contain_text("There is no exchange rate now")
    finally:
        stack.market.set({"USDC": "0.9998"})
    visitor.press("Try again").reach("review").pay("confirming")


# --- responses that cannot be trusted ---


def conversion(**changes: Any) -> Change:
    return lambda body: body["metadata"]["conversion"].update(changes)


def of_calldata(change: Callable[[int], int], *, place: int) -> Change:
    """Changes a word of the payment's calldata and the approval alike."""

    def apply(body: Json) -> None:
        for each, at in zip(body["transactions"], (10 + 64, 10 + 64 * place), strict=True):
            word = int(each["data"][at : at + 64], 16)
            each["data"] = each["data"][:at] + f"{change(word):064x}" + each["data"][at + 64 :]

    return apply


def without_conversion(body: Json) -> None:
    del body["metadata"]["conversion"]


def another_rate(body: Json) -> None:
    """The shown rate is lower than that of the calldata."""
    found = body["metadata"]["conversion"]
    found["rateNumerator"] = str(int(found["rateNumerator"]) * 999)
    found["rateDenominator"] = str(int(found["rateDenominator"]) * 1000)


AMOUNT = "The transaction takes another amount."
RATE = "The transaction takes more than the rate that is shown here allows"
NOT_READ = "does not understand"
HOSTILE: list[tuple[Change, str, str]] = [
    (of_calldata(lambda units: units + 1, place=2), "unsafe", AMOUNT),
    (of_calldata(lambda units: units - 1, place=2), "unsafe", AMOUNT),
    (another_rate, "unsafe", AMOUNT),
    (without_conversion, "trouble-odd", NOT_READ),
    (conversion(invoiceCurrency="EUR"), "trouble-odd", NOT_READ),
    (conversion(rateNumerator="-1"), "trouble-odd", NOT_READ),
    (conversion(rateNumerator="1.5"), "trouble-odd", NOT_READ),
    (conversion(rateDenominator="0"), "trouble-odd", NOT_READ),
    (conversion(rateDenominator=1), "unsafe", AMOUNT),
    (conversion(way="later"), "trouble-odd", NOT_READ),
    (conversion(quoteExpiresAt=None), "trouble-odd", NOT_READ),
    (conversion(quoteExpiresAt="soon"), "trouble-odd", NOT_READ),
    (conversion(rateSource=7), "trouble-odd", NOT_READ),
    (conversion(quoteExpiresAt=1_700_000_000), "norate", "There is no exchange rate now"),
]
HOSTILE_ON_CHAIN: list[tuple[Change, str, str]] = [
    (of_calldata(lambda most: most + 1, place=6), "unsafe", RATE),
    (conversion(maxToSpend="28.10"), "unsafe", RATE),
    (conversion(maxRateAge=0), "trouble-odd", NOT_READ),
    (conversion(maxRateAge=10**9), "unsafe", "The transaction cannot be read."),
    (conversion(way="quoted", quoteExpiresAt=4_070_908_800), "unsafe", "a contract that is not known"),
]


@pytest.mark.parametrize(("payment", "hostile"), [("fUSDC-sepolia", HOSTILE), ("USDC-mainnet", HOSTILE_ON_CHAIN)])
def test_more_than_the_rate_that_is_shown_is_never_offered_to_be_signed(
    stack: Stack, new_visitor: NewVisitor, payment: str, hostile: list[tuple[Change, str, str]]
) -> None:
    purse = Purse(stack.mainnet if "mainnet" in payment else stack.chain)
    visitor, token = new_visitor(purse), stack.shop.link(dollars(payment))
    visitor.open(token).connect(purse)
    for change, state, text in hostile:
        visitor.page.unroute_all(behavior="wait")
        forge(visitor, "/pay", change)
        visitor.reload(state).shows(text)
        assert not visitor.can_pay() and purse.sent == []
