"""Platform fees: the fee of a link, and fee plans, which say who pays what in US dollars."""

from typing import Literal

from chalicelib.base import money
from chalicelib.base.addresses import address_of_family
from chalicelib.base.errors import BadRequest, Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import Token, family_of, find_tokens, token_with_id
from chalicelib.payments.links.records import Flow, PayableLink
from chalicelib.payments.requests.rules import invoice_of

Bearer = Literal["payer", "payee"]

DOLLAR_SYMBOLS = frozenset({"USDC", "USDT", "DAI", "FAU", "fUSDC", "fUSDT"})
"""The tokens that count as one US dollar: those that pay an invoice in USD, and their test tokens on Sepolia. The
catalogue sets no dollar value for other tokens."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


@frozen
class FeePlan:
    """Who pays what for a payment, in units of a dollar, or of a token that counts as one.

    The payer always pays the fee on top of `gross`, and the payees receive `gross`: that is how the fee proxies work.
    `default_bearer` repeats the request's value. The batch contract's own fee is read from the chain and not included.
    """

    flow: Flow
    default_bearer: Bearer
    decimals: int
    gross: BaseUnits
    charged: BaseUnits
    fee: Fee

    @property
    def payer_total(self) -> BaseUnits:
        return BaseUnits(self.gross + self.charged)


def resolve(requested: Fee, client_fee: Fee, family: str, own: OwnAddresses) -> Fee:
    """The fee of a link on a network of that family: the client id's, or the requested one if that is zero or missing.

    Supplement, 4.6. Normalises addresses. Raises BadRequest, also for `own`, which receive nothing (`parse_recipient`).
    """
    checked = _check_requested(requested, family, own)
    if not client_fee.is_charged:
        return checked
    assert client_fee.address is not None
    try:
        address_of_family(client_fee.address, family)
    except BadRequest:
        raise BadRequest(
            f"The fee of this client ID goes to {client_fee.address}, which is not an address of {family}: "
            "change its feeAddress, or set its feePercentage to 0"
        ) from None
    return client_fee


def _check_requested(requested: Fee, family: str, own: OwnAddresses) -> Fee:
    """The requested fee, with its address normalised. Raises BadRequest, also for the zero address: the proxies would
    not transfer such a fee (onchain facts, 3.1)."""
    if requested.percentage is not None:
        money.parse_percentage(requested.percentage)
        if requested.address is None:
            raise BadRequest("feeAddress is required when feePercentage is set")
    if requested.address is None:
        return requested
    try:
        return Fee(requested.percentage, parse_recipient(requested.address, family, own))
    except BadRequest as error:
        raise BadRequest(f"feeAddress: {error.message}") from None


def plan_of(payable: PayableLink) -> FeePlan | None:
    """The plan of a link's full amounts, including what is paid already.

    None unless all are invoiced in US dollars, or all in one dollar token.
    """
    link, requests = payable.link, payable.requests
    invoices = {invoice.id: invoice for invoice in map(invoice_of, requests)}
    if len(invoices) != 1:
        return None
    (invoice,) = invoices.values()
    if invoice.id != "USD" and not _is_dollar(invoice):
        return None
    gross = BaseUnits(sum(request.amount for request in requests))
    charged = BaseUnits(sum(link.fee.on(request.amount) for request in requests))
    return FeePlan(link.flow, "payer", on_chain_decimals(invoice), gross, charged, link.fee)


def preview(amount: str, currency: str, client_fee: Fee, flow: Flow, default_bearer: Bearer) -> FeePlan:
    """The plan of a future payment with a client id's fee. `currency` is an id or a symbol. Raises BadRequest."""
    token = token_with_id(currency) or next(iter(find_tokens(symbol=currency)), None)
    if token is None:
        raise BadRequest(f"Currency {currency[:_MAX_QUOTED]} is not supported; GET /v2/currencies lists the ids")
    if not _is_dollar(token):
        raise BadRequest(f"Fees are previewed in US dollars: {token.id} is not a dollar token such as USDC or USDT")
    try:
        gross = money.parse_amount(amount, token.decimals)
    except BadRequest as error:
        raise ValidationFailed((Problem(("amount",), error.message),)) from None
    fee = resolve(Fee(), client_fee, family_of(token), {})
    return FeePlan(flow, default_bearer, token.decimals, gross, fee.on(gross), fee)


def _is_dollar(token: Token) -> bool:
    return token.symbol in DOLLAR_SYMBOLS and not token.is_fiat
