"""What is still owed on a request, and in which token."""

from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.requests.records import Request


def currency_of(request: Request) -> Token:
    """The token a stored request is paid in."""
    found = token_with_id(request.currency)
    assert found is not None, "a stored request always has a catalogued currency"
    return found

def remaining(request: Request) -> BaseUnits:
    """What is still owed, in base units; never below zero."""
    return BaseUnits(max(request.amount - request.paid, 0))
