"""What is due now of each request: in the token that is paid, or in the invoice currency if a contract converts it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import MAX_UINT256, BaseUnits, Fee
from chalicelib.chains.calldata.checkout import Due
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.currencies.rules import Way
from chalicelib.payments.links.records import Payable
from chalicelib.payments.links.rules import LARGEST_TOTAL
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.rates.rules import most_to_spend, to_pay
from chalicelib.payments.requests.field_problems import refuse_field
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining


@frozen
class SourceToken:
    """The token that a payer wants to pay with: a chain label and a symbol, such as BASE and USDC."""

    chain: str
    token: str


@frozen
class Owed:
    """What is paid of one request now: an amount in its invoice currency (as `Request.amount`), and the fee on top."""

    request: Request
    amount: BaseUnits
    fee: Fee

    @property
    def token(self) -> Token:
        return currency_of(self.request)

    @property
    def invoice(self) -> Token:
        return invoice_of(self.request)


@frozen
class Converted:
    """How an amount in an invoice currency is paid in a token, as payers see it.

    `payment_amount` is what the amount costs at the rate, without the fee, in base units of the token. `ends_at` is
    until when a quoted rate is held.
    """

    way: Way
    rate: Rate
    payment_amount: BaseUnits
    ends_at: datetime | None = None


@frozen
class Position:
    """One payment: what is owed, what is due for it, and how it is converted; None if it is paid in its own token."""

    owed: Owed
    due: Due
    converted: Converted | None = None


def amounts_owed(parts: Iterable[Payable]) -> list[Owed]:
    """The remaining amounts of the unpaid requests, in order, with their fees."""
    return [each for part in parts for each in whole_of(part) if each.amount]


def whole_of(payable: Payable) -> list[Owed]:
    """What is left of each request, in order, with its fee; 0 of one that is paid."""
    return [Owed(request, remaining(request), payable.fee_of(request)) for request in payable.requests]


def check_family(network_name: str, address: str, name: str) -> None:
    """Raises BadRequest if an EVM address is given for Tron, or a Tron address for an EVM network."""
    if address.startswith("T") != (network_name == "tron"):
        raise BadRequest(f"{name} is not an address of {network_name}, on which this is paid")


def check_payer(requests: Iterable[Request], payer: str | None, field: str) -> None:
    """Raises BadRequest if the payer's wallet is of another family of networks, ValidationFailed if it is a payee.

    `requests` are those that are paid. `payer` is None if it is not known.
    """
    for request in requests if payer is not None else ():
        assert payer is not None
        check_family(request.network, payer, field)
        if same_address(payer, request.payee):
            raise refuse_field((field,), f"is the payee {request.payee}: give the wallet that pays, or leave it out")


def direct(owed: Owed) -> Position:
    """The payment of an amount in the token in which it is owed."""
    return Position(owed, _due(owed, owed.amount))


def by_quote(owed: Owed, quote: Quote) -> Position:
    """The payment of what an amount costs at a quoted rate."""
    amount = to_pay(owed.amount, quote.rate, owed.invoice, owed.token)
    return Position(owed, _due(owed, amount), Converted(Way.QUOTED, quote.rate, amount, quote.ends_at))


def being_paid(request: Request, fee: Fee, now: datetime) -> Request:
    """The request with the fee of its newest calldata, and since when it is being paid."""
    return replace(
        request,
        listening_since=request.listening_since or now,
        fee_percentage=fee.percentage,
        fee_address=fee.address,
    )


def check_sizes(positions: Sequence[Position]) -> None:
    """Raises BadRequest if an amount with its fee, or the sum of all of them, is larger than a contract can handle."""
    for each in positions:
        if max(each.due.amount + each.due.fee, each.due.debit) > MAX_UINT256:
            raise BadRequest("The amount with its fee is larger than a token amount can be: pay a part of it")
    if len(positions) > 1 and sum(each.due.debit for each in positions) > LARGEST_TOTAL:
        raise BadRequest("The amounts with their fees add up to more than one batch can pay: pay fewer at once")


def by_contract(
    owed: Owed, path: tuple[str, ...], found: PathRate, rate: Rate, slippage_bps: int, max_rate_age: int
) -> Position:
    """The payment of an amount that a contract converts; `found` and `rate` are the rate that it has now.

    Raises BadRequest if the contract would pay nothing, because it rounds down.
    """
    if not owed.amount * found.rate // found.divisor:
        raise BadRequest(f"The amount is worth less than the smallest unit of {owed.token.id}: pay more of it at once")
    units = owed.amount + owed.fee.on(owed.amount)
    conversion = Conversion(path, most_to_spend(units, found, slippage_bps), max_rate_age)
    costs = to_pay(owed.amount, rate, owed.invoice, owed.token)
    return Position(owed, _due(owed, owed.amount, conversion), Converted(Way.ON_CHAIN, rate, costs))


def _due(owed: Owed, amount: BaseUnits, conversion: Conversion | None = None) -> Due:
    return Due(
        token=owed.token,
        payee=owed.request.payee,
        amount=amount,
        fee=owed.fee.on(amount),
        fee_address=owed.fee.address,
        reference=bytes.fromhex(owed.request.payment_reference[2:]),
        conversion=conversion,
    )
