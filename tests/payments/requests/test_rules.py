"""What is still owed on a request, and in which token."""

from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import amount_text, currency_of, remaining
from tests.fakes.world import START


def request(amount: int = 10, paid: int = 0, currency: str = "fUSDC-sepolia") -> Request:
    return Request(
        payable_id="01M",
        position=0,
        request_id="01R",
        account_id="acct",
        created_at=START,
        salt="salt",
        payment_reference="0x86dfbccad783599a",
        payee="0x" + "11" * 20,
        network="sepolia",
        currency=currency,
        amount=BaseUnits(amount),
        status=RequestStatus.CREATED,
        paid=BaseUnits(paid),
        tx_hash=None,
    )


@pytest.mark.parametrize(("paid", "left"), [(0, 10), (3, 7), (9, 1), (10, 0), (11, 0)])
def test_what_remains_is_what_was_not_paid_and_never_below_zero(paid: int, left: int) -> None:
    assert remaining(request(paid=paid)) == left


def test_a_request_is_paid_in_its_catalogued_token() -> None:
    token = currency_of(request())
    assert (token.id, token.network, token.decimals) == ("fUSDC-sepolia", "sepolia", 6)
    with pytest.raises(AssertionError, match="catalogued currency"):
        currency_of(request(currency="GONE-sepolia"))


@pytest.mark.parametrize(
    ("invoice", "units", "text"),
    [(None, 1_500_000, "1.5"), ("USD", 1_500_000, "0.015"), ("ETH-mainnet", 15 * 10**17, "1.5"), ("JPY", 10**8, "1")],
)
def test_an_amount_is_written_in_the_invoice_currency(invoice: str | None, units: int, text: str) -> None:
    assert amount_text(units, replace(request(), invoice_currency=invoice)) == text
