"""What a payment was worth in US dollars when it was made, by the rate that is kept with it.

No other currency is taken for a dollar: a payment in a stablecoin has the rate of its time.
"""

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import dollar, token_with_id
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.rates.rules import value_of
from chalicelib.payments.requests.payments.records import Payment


def dollar_rate(payment: Payment) -> Rate | None:
    """What one dollar was in the token that was paid; None if it was not kept."""
    return payment.rate if payment.invoice_currency == dollar().id else payment.dollar_rate


def dollars(payment: Payment) -> BaseUnits | None:
    """What was paid in dollars with 8 decimals, without the fee; for an invoice in dollars what it counts for that."""
    return payment.value if payment.invoice_currency == dollar().id else dollars_of(payment.amount, payment)


def dollars_of(units: BaseUnits, payment: Payment) -> BaseUnits | None:
    """An amount of the token that was paid, in dollars with 8 decimals; None if no rate was kept."""
    rate, token = dollar_rate(payment), token_with_id(payment.currency)
    return None if rate is None or token is None else value_of(units, rate, dollar(), token)
