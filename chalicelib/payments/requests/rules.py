"""The currencies of a request, what counts for it, the amount still owed, what its payments say, the payee's name."""

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import Conflict
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, require_token, token_with_id
from chalicelib.payments.requests.payments.records import Payment, UnmatchedTransfer
from chalicelib.payments.requests.records import Request


class RequestCancelled(Conflict):
    """Its payee has cancelled the request, so that it can be paid no more."""

    shown_by = "chalicelib.payments.requests.schemas"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"Request {request_id} was cancelled by its payee: do not pay it")


def check_not_cancelled(request: Request) -> None:
    """Raises RequestCancelled."""
    if request.is_cancelled:
        raise RequestCancelled(request.request_id)


def currency_of(request: Request) -> Token:
    """The token that a stored request is paid in."""
    return require_token(request.currency)


def invoice_of(request: Request) -> Token:
    """The currency that a stored request's amount is in."""
    return require_token(request.invoice_currency or request.currency)


def find_mismatch(request: Request, network: str, token_address: str | None, payee: str) -> str | None:
    """Why a transfer with the request's reference does not count for it; None if it counts.

    `token_address`, None for the native coin, and `payee` are as logs write them. Anybody can reuse a public reference,
    so network, token and payee must be the request's, too.
    """
    token = token_with_id(request.currency)
    if token is None or network != request.network:
        return "wrong_network"
    if token_address != (None if token.is_native else hex_address(token.address)):
        return "wrong_token"
    return None if payee == request.payee_in_logs else "wrong_payee"


def remaining(request: Request) -> BaseUnits:
    """The amount still owed, in the units of the request's amount; never below zero, and nothing of a cancelled one."""
    return BaseUnits(0 if request.is_cancelled else max(request.due - request.paid, 0))


def amount_text(units: int, request: Request) -> str:
    """An amount in the units of the request's amount, as decimal text in its invoice currency."""
    return format_amount(units, on_chain_decimals(invoice_of(request)))


def stated_field(transfer: Payment | UnmatchedTransfer, token: Token) -> dict[str, str]:
    """What the transfer's event says was paid, in units of its token, as `statedAmount`; empty if that arrived."""
    stated = transfer.stated_amount
    return {} if stated is None else {"statedAmount": format_amount(stated, token.decimals)}


def name_of(request: Request) -> str | None:
    """The name of the payee that payers are shown: only one by which the address named itself; else None."""
    found = request.payee_name
    return found.name if found is not None and found.is_primary else None
