"""What the status of a request says: what is paid of it, and what that is in US dollars, as far as it is known.

Only USD is a dollar. A payment has the rate of its time, which is kept with it; what is not paid has the rate of now.
"""

from collections.abc import Iterable

from chalicelib.base.addresses import hex_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import dollar
from chalicelib.payments.links.records import LinkStatus, Payable
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import to_pay, value_of
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.payments.search.rules import dollars


@frozen
class Market:
    """The rates of now for what is still owed, each None if it is not known.

    `invoice` is from the invoice currency to the token that is paid, None also if that is the same; `dollar` is from
    USD to that token.
    """

    invoice: Rate | None = None
    dollar: Rate | None = None

    @property
    def shown(self) -> Rate | None:
        return self.invoice or self.dollar


@frozen
class FoundRequest:
    """A request, its payments that count by time, what it is part of, and the rates for what is left of it."""

    request: Request
    payments: tuple[Payment, ...]
    payable: Payable
    market: Market = Market()

    @property
    def is_paid(self) -> bool:
        return self.request.is_settled

    @property
    def is_listening(self) -> bool:
        """Whether a request is still owed and can be paid: its link is open, or its calldata was asked for."""
        if self.request.is_closed:
            return False
        if self.payable.link is not None:
            return self.payable.link.status is LinkStatus.PENDING
        return self.request.listening_since is not None

    @property
    def has_several_rates(self) -> bool:
        """Whether no single rate says what it costs: a part is paid, or there are several payments."""
        return self.request.status is RequestStatus.PARTIALLY_PAID or len(self.payments) > 1

    @property
    def excess(self) -> BaseUnits:
        """What is paid too much, in the units of the request's amount."""
        return BaseUnits(max(self.request.paid - self.request.due, 0))

    @property
    def received(self) -> BaseUnits:
        """What reached the payee, in base units of the token."""
        if self.request.invoice_currency is None:
            return self.request.paid
        return BaseUnits(sum(payment.amount for payment in self.payments))

    @property
    def payer(self) -> str | None:
        """Who has paid; None if that is not known or several have."""
        payers = {payment.payer for payment in self.payments}
        return payers.pop() if len(payers) == 1 else None

    @property
    def rate(self) -> Rate | None:
        """The rate of its only payment, or of now if it is unpaid."""
        if self.has_several_rates:
            return None
        return shown_rate(self.payments[0]) if self.payments else self.market.shown

    @property
    def rate_source(self) -> RateSource | None:
        """Who gave the rates of its payments, and the rate of now if something is left to be paid."""
        rates = [shown_rate(payment) for payment in self.payments]
        rates += [self.market.shown] if remaining(self.request) else []
        sources = {rate.source for rate in rates if rate is not None}
        return sources.pop() if len(sources) == 1 else RateSource.MIXED if sources else None

    @property
    def paid_fees(self) -> BaseUnits:
        """The fees that reached the fee address of the request or its link, in base units of the token."""
        address = self.payable.fee_of(self.request).address
        if address is None:
            return BaseUnits(0)
        with_fee = (each for each in self.payments if each.fee_amount)
        own = (each for each in with_fee if hex_address(each.fee_address) == hex_address(address))
        return BaseUnits(sum(each.fee_amount for each in own))

    @property
    def paid_dollars(self) -> int | None:
        """What is paid in dollars, with 8 decimals; None if that is not known of a part."""
        if invoice_of(self.request) == dollar():
            return self.request.paid
        known = [dollars(payment) for payment in self.payments]
        return None if None in known or self.request.dust_amount else sum(each or 0 for each in known)

    @property
    def remaining_dollars(self) -> int | None:
        """What is left in dollars at the rates of now, with 8 decimals."""
        left, token = remaining(self.request), currency_of(self.request)
        invoice = invoice_of(self.request)
        if not left or invoice == dollar():
            return left
        if self.market.dollar is None:
            return None
        if self.market.invoice is not None:
            left = to_pay(left, self.market.invoice, invoice, token)
        elif invoice != token:
            return None
        return value_of(left, self.market.dollar, dollar(), token)

    @property
    def amount_dollars(self) -> int | None:
        """What a request was paid with and what is left, in dollars with 8 decimals."""
        paid, left = self.paid_dollars, self.remaining_dollars
        return None if paid is None or left is None else paid + left

def shown_rate(payment: Payment) -> Rate | None:
    """The rate that is shown of a payment: of the invoice currency, or of dollars if the invoice is in the token."""
    return payment.rate or payment.dollar_rate


def counting(payments: Iterable[Payment]) -> tuple[Payment, ...]:
    """The payments that count, in the order of their times."""
    confirmed = (each for each in payments if each.status is PaymentStatus.CONFIRMED)
    return tuple(sorted(confirmed, key=lambda each: (each.at, each.payment_id)))
