"""Platform fees: which one a link carries, and the plan of who pays what, in US dollars."""

from dataclasses import dataclass
from typing import Literal

from chalicelib.base import money
from chalicelib.base.addresses import address_bytes, address_of_family
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.catalogue.tokens import Token, family_of, find_tokens, token_with_id
from chalicelib.links.records import Flow, SecurePayment
from chalicelib.links.rules import fee_on

Bearer = Literal["payer", "payee"]

DOLLAR_SYMBOLS = frozenset({"USDC", "USDT", "DAI", "FAU", "fUSDC", "fUSDT"})
"""The tokens that count as one dollar: those that an invoice in USD is paid in, and the test tokens that stand for them
on Sepolia. Other tokens with a dollar in their name are not at par by any rule of the catalogue."""
_SHOWN = 80  # characters of a text that was sent, in the message that refuses it


@dataclass(frozen=True)
class FeePlan:
    """What a payment costs whom, in base units of a token that is worth one dollar.

    The payer always bears the fee, on top of `gross`, which reaches the payees whole: that is what the fee proxies do.
    `default_bearer` repeats what was asked for. The batch contract's own fee is not in it: it is read from the chain.
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


def resolve(asked: Fee, of_client: Fee, family: str) -> Fee:
    """The fee of a link on a network of that family: the client id's, unless that is zero or none; then the request's
    (supplement, 4.6). Addresses in their one spelling. Raises BadRequest."""
    checked = _checked(asked, family)
    if not of_client.is_charged:
        return checked
    assert of_client.address is not None
    try:
        address_of_family(of_client.address, family)
    except BadRequest:
        raise BadRequest(
            f"The fee of this client ID goes to {of_client.address}, which is no {family} address: "
            "change its feeAddress, or set its feePercentage to 0"
        ) from None
    return of_client


def _checked(asked: Fee, family: str) -> Fee:
    """A fee with the zero address would be shown but never moved (onchain facts, 3.1)."""
    if asked.percentage is not None:
        money.parse_percentage(asked.percentage)
        if asked.address is None:
            raise BadRequest("feeAddress is required when feePercentage is set")
    if asked.address is None:
        return asked
    try:
        address = address_of_family(asked.address, family)
    except BadRequest as error:
        raise BadRequest(f"feeAddress: {error.message}") from None
    if not any(address_bytes(address)):
        raise BadRequest("feeAddress is the zero address: give the address that receives the fee")
    return Fee(asked.percentage, address)


def plan_of(payment: SecurePayment) -> FeePlan | None:
    """The plan of a link's whole amounts, whatever is paid of them; None where they are not all in one dollar token."""
    link, requests = payment.link, payment.requests
    currencies = {request.currency for request in requests}
    token = token_with_id(currencies.pop()) if len(currencies) == 1 else None
    if token is None or not _is_dollar(token):
        return None
    gross = BaseUnits(sum(request.amount for request in requests))
    charged = BaseUnits(sum(fee_on(request.amount, link) for request in requests))
    return FeePlan(link.flow, "payer", token.decimals, gross, charged, Fee(link.fee_percentage, link.fee_address))


def preview(amount: str, currency: str, of_client: Fee, flow: Flow, default_bearer: Bearer) -> FeePlan:
    """The plan of a payment that a client id would make. `currency` is an id, or a symbol alone. Raises BadRequest."""
    token = token_with_id(currency) or next((t for t in find_tokens() if t.symbol == currency), None)
    if token is None:
        raise BadRequest(f"Currency {currency[:_SHOWN]} is not supported; GET /v2/currencies lists the ids")
    if not _is_dollar(token):
        raise BadRequest(f"Fees are previewed in US dollars: {token.id} is not a dollar token such as USDC or USDT")
    try:
        gross = money.parse_amount(amount, token.decimals)
    except BadRequest as error:
        raise BadRequest(f"amount: {error.message}") from None
    fee = resolve(Fee(), of_client, family_of(token))
    percentage = fee.percentage if fee.is_charged else None
    charged = money.fee_of(gross, money.parse_percentage(percentage or "0"))
    return FeePlan(flow, default_bearer, token.decimals, gross, charged, fee)


def _is_dollar(token: Token) -> bool:
    return token.symbol in DOLLAR_SYMBOLS and not token.is_fiat
