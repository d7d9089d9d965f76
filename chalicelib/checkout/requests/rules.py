"""What is paid of a request: how much of its rest, with which fee; and by which route, how fast and at what cost."""

from typing import TYPE_CHECKING

from chalicelib.base import money
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.conversions import on_chain_units
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.payments.links.fees import rules as fees
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests.field_problems import parse_field
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import check_not_cancelled, currency_of, invoice_of, remaining

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.recipients import OwnAddresses

_SOLIDIFIED_AFTER = 19
"""Only solidified blocks of Tron are read: those that 19 of 27 representatives have built on."""
FAST_SECONDS = 60
"""A payment that is confirmed so soon is called fast."""


@frozen
class Part:
    """What a payer asks to pay, as sent: an amount in the invoice currency (None: all that is left), and a fee."""

    amount: str | None = None
    fee: Fee = Fee()


def amount_due(request: Request, text: str | None) -> tuple[BaseUnits, bool]:
    """What is paid of a request: the amount in the text or what is left, whichever is less; and whether that is less
    than the text asks for. Raises RequestCancelled, Conflict if nothing is left, ValidationFailed for a text that is
    not an amount."""
    check_not_cancelled(request)
    left, invoice = remaining(request), invoice_of(request)
    if not left:
        raise Conflict("This request has already been paid")
    if text is None:
        return left, False
    asked = parse_field(("amount",), lambda sent: money.parse_amount(sent, invoice.decimals), text)
    units = on_chain_units(invoice, asked)
    return min(left, units), units > left


def fee_of(request: Request, link: Link | None, requested: Fee, client_fee: Fee, own: "OwnAddresses") -> Fee:
    """The platform fee on a payment: that of the request's link, else of the calling client id, else the requested one
    (supplement, 3.4). Raises BadRequest."""
    if link is None:
        return fees.resolve(requested, client_fee, family_of(currency_of(request)), own)
    if requested != Fee():
        raise BadRequest("This request is part of a link, which has set its fee: omit feePercentage and feeAddress")
    return link.fee


def seconds_to_confirm(chain: Network, confirmations: int) -> int:
    """About how long it takes until a payment that was sent is confirmed, rounded up."""
    blocks = confirmations + (_SOLIDIFIED_AFTER if chain.family == "tron" else 0)
    return -(-blocks * chain.block_milliseconds // 1000)
