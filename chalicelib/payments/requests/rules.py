"""The currencies of a request, and the amount still owed."""

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.requests.records import Request


def currency_of(request: Request) -> Token:
    """The token that a stored request is paid in."""
    token = token_with_id(request.currency)
    assert token is not None, "a stored request always has a catalogued currency"
    return token


def invoice_of(request: Request) -> Token:
    """The currency that a stored request's amount is in."""
    token = token_with_id(request.invoice_currency or request.currency)
    assert token is not None, "a stored request always has a catalogued currency"
    return token


def remaining(request: Request) -> BaseUnits:
    """The amount still owed, in the units of the request's amount; never below zero."""
    return BaseUnits(max(request.amount - request.paid, 0))


def amount_text(units: int, request: Request) -> str:
    """An amount in the units of the request's amount, as decimal text in its invoice currency."""
    return format_amount(units, on_chain_decimals(invoice_of(request)))
