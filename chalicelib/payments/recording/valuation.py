"""What a transfer that counts for a request is worth, in the units of the request's amount.

    invoice and payment in one currency           its amount
    converted by the contracts as was asked for   the amount that the event names in the invoice currency, or the part
                                                  of it that arrived
    what a payment intent brings                  by the rate that is locked for it
    everything else                               by the quote that was valid in its block, else by the rate of its time

A conversion is as was asked for if it names the invoice currency, limits the age of its rates (0 is any age) by no more
than checkout does, and moved what the path of the catalogue would have moved, with the tolerance for rates that change
within a block: the payer chooses the path, and the event does not name it.
"""

from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.nodes.history.logs import LoggedConversion
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import part_asked, to_pay, value_of
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.payments.scanning.records import LoggedTransfer

if TYPE_CHECKING:
    from chalicelib.payments.requests.quotes.records import LockedRate

_BASIS = 10_000


@frozen
class Accepted:
    """What a deployment accepts: `tolerance_bps` is how much less than the rest counts as the rest where no quote says
    what it costs, in basis points; `max_rate_age` is that of conversions by the contracts, in seconds."""

    tolerance_bps: int
    max_rate_age: int


@frozen
class ValuationRate:
    """By which rate a transfer is valued: one that was quoted for it, or the rate of the time of its block.

    `asked` is then the rate of the last quote that payers had been given before that, if any. `locked` is set if the
    rate is locked for this payment alone.
    """

    rate: Rate
    is_quoted: bool
    asked: Rate | None = None
    locked: "LockedRate | None" = None


@frozen
class Valuation:
    """What a payment counts for; `rate` is None if invoice and payment are in one currency.

    `dollar_rate` is what one US dollar was in the token, where `rate` does not say it and it is known.
    """

    value: BaseUnits
    rate: Rate | None = None
    type: PaymentKind = PaymentKind.DIRECT
    dollar_rate: Rate | None = None

    @classmethod
    def of_payment(cls, payment: Payment) -> "Valuation":
        """What a stored payment counts for: a fork does not change it, however rates have moved since."""
        return cls(payment.value, payment.rate, payment.type, payment.dollar_rate)

    @classmethod
    def dust(cls, transfer: LoggedTransfer) -> "Valuation":
        """What a transfer that was only added up as dust was added with."""
        assert transfer.value is not None, "it is written when the transfer is summed up"
        return cls(transfer.value)


def needs_valuation_rate(request: Request, transfer: LoggedTransfer, accepted: Accepted) -> bool:
    """Whether a transfer that counts for a request is valued by a quote or a rate."""
    return invoice_of(request) != currency_of(request) and _as_asked(request, transfer, accepted) is None


def value_transfer(
    request: Request, transfer: LoggedTransfer, valuation_rate: ValuationRate | None, accepted: Accepted
) -> Valuation:
    """What a transfer that counts for a request is worth now; `valuation_rate` is there if `needs_valuation_rate`.

    What is asked for the rest of the request is worth that rest exactly, and by a quote, what it asks for a part is
    worth that part. By a rate, what is worth less than the rest by no more than the tolerance is worth the rest:
    whoever paid could not know the rate of the block. Once a quote was given, that is so only for what it asks for the
    rest, or more. What a token keeps is never tolerated.
    """
    invoice, payment = invoice_of(request), currency_of(request)
    if invoice == payment:
        return Valuation(transfer.amount)
    conversion = _as_asked(request, transfer, accepted)
    if conversion is not None:
        value = BaseUnits(conversion.amount * transfer.amount // transfer.said_amount)
        return Valuation(value, _rate_of(request, transfer, conversion), PaymentKind.CONVERSION)
    assert valuation_rate is not None, "it was read before"
    rest, rate = remaining(request), valuation_rate.rate
    if valuation_rate.is_quoted:
        return Valuation(by_quote(request, transfer.amount, rate), rate, PaymentKind.CONVERSION)
    value = value_of(transfer.amount, rate, invoice, payment)
    is_tolerated = transfer.stated_amount is None and _is_within(value, rest, accepted.tolerance_bps)
    if valuation_rate.asked is not None:
        is_tolerated = is_tolerated and transfer.amount >= to_pay(rest, valuation_rate.asked, invoice, payment)
    if (value < rest and is_tolerated) or transfer.amount == to_pay(rest, rate, invoice, payment):
        value = rest
    return Valuation(value, rate, PaymentKind.CONVERSION)


def by_quote(request: Request, amount: BaseUnits, rate: Rate) -> BaseUnits:
    """What an amount of the request's token is worth by a rate that its payer was given: what is asked for the rest is
    worth that rest exactly, and what is asked for a part is worth that part."""
    invoice, payment, rest = invoice_of(request), currency_of(request), remaining(request)
    if amount == to_pay(rest, rate, invoice, payment):
        return rest
    return part_asked(amount, rate, invoice, payment) or value_of(amount, rate, invoice, payment)


def may_be_locked_for(locked: "LockedRate", transfer: LoggedTransfer) -> bool:
    """Whether a transfer has the amount and the time of one for which a rate is locked, whoever has sent it."""
    return transfer.amount == locked.amount and transfer.paid_at <= locked.ends_at


def is_locked_for(locked: "LockedRate", transfer: LoggedTransfer) -> bool:
    """Whether a rate is locked for a transfer that a bridge brought. While its deposit was not read, whether it may be.

    The same deposit is filled once. If its payment is recorded in another transaction, a fork has moved it; another one
    in the transaction of the recorded payment is not the intent's.
    """
    if not may_be_locked_for(locked, transfer):
        return False
    if locked.fill_key is None:
        return transfer.bridged_from == locked.source and same_address(transfer.payer or "", locked.payer)
    is_other = locked.tx_hash == transfer.tx_hash and locked.event_key != transfer.event_key
    return transfer.fill_key == locked.fill_key and not is_other


def _as_asked(request: Request, transfer: LoggedTransfer, accepted: Accepted) -> LoggedConversion | None:
    """The conversion of a transfer if it counts for what it says."""
    said, by_path = transfer.conversion, transfer.path_amount
    if said is None or by_path is None or not said.amount or not 0 < said.max_rate_age <= accepted.max_rate_age:
        return None
    if not transfer.amount or not _is_within(transfer.said_amount, by_path, accepted.tolerance_bps):
        return None
    return said if same_address(said.currency, invoice_of(request).hash) else None


def _is_within(paid: int, due: int, tolerance_bps: int) -> bool:
    """Whether less is missing than the tolerance. What is not due is not missing."""
    return paid * _BASIS >= due * (_BASIS - tolerance_bps)


def _rate_of(request: Request, transfer: LoggedTransfer, conversion: LoggedConversion) -> Rate:
    """The rate at which the contracts converted: what was moved for what was asked for, rounded as they do."""
    invoice, payment = invoice_of(request), currency_of(request)
    return Rate(
        base=invoice.id,
        quote=payment.id,
        numerator=BaseUnits(transfer.said_amount * 10 ** on_chain_decimals(invoice)),
        denominator=BaseUnits(conversion.amount * 10**payment.decimals),
        source=RateSource.CHAINLINK,
        at=transfer.paid_at,
    )
