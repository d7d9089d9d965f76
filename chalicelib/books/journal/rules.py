"""The double entry of a payment, a refund or a payout: which accounts of a bookkeeping it changes, and by how much.

A payment is a debit of the wallet that received it and a credit of income, and of what is owed to the payer if it was
more than was due. A fee that the payee has paid, of a capture, is a debit of expenses. One that the payer has paid on
top of the amount never was the payee's, and has no posting. A refund is a credit of the wallet that sent it and a debit
of refunds. A payout is a credit of the wallet that paid it, with its fee, and a debit of expenses; what comes back of
it takes that back.
"""

from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.tokens import Token, require_token
from chalicelib.payments.requests.payments.records import Direction, Payment

INCOME, RETURNED = "Income:Payments", "Income:Refunds"
FEES, PAID_OUT, OVERPAID = "Expenses:Fees", "Expenses:Payouts", "Liabilities:Overpayments"


class Kind(StrEnum):
    PAYMENT = "payment"
    REFUND = "refund"
    PAYOUT = "payout"


@frozen
class Posting:
    """A change of one account by `amount`, in base units of `currency`; above 0 it is a debit, below 0 a credit.

    `value` is the same in base units of the entry's currency.
    """

    account: str
    amount: int
    currency: Token
    value: int


@frozen
class Entry:
    """What a payment, refund or payout changes. `currency` is that of the invoice: in it the postings add up to 0."""

    payment: Payment
    currency: Token
    postings: tuple[Posting, ...]

    @property
    def kind(self) -> Kind:
        if self.payment.direction is Direction.OUT:
            return Kind.REFUND
        return Kind.PAYOUT if self.payment.is_payout else Kind.PAYMENT


def entry_of(payment: Payment) -> Entry:
    """The entry of a payment, refund or payout."""
    token, invoice = require_token(payment.currency), require_token(payment.invoice_currency)
    value = payment.amount if token == invoice else payment.value
    fee: int = payment.fee_amount
    payer, payee = (wallet_account(payment.network, each or "") for each in (payment.payer, payment.payee))
    if payment.direction is Direction.OUT and payment.is_payout:
        postings = [Posting(payee, payment.amount, token, value), Posting(PAID_OUT, -value, invoice, -value)]
    elif payment.direction is Direction.OUT:
        postings = [Posting(RETURNED, value, invoice, value), Posting(payer, -payment.amount, token, -value)]
    elif payment.is_payout:
        fee_value = fee if token == invoice else value * fee // (payment.amount or 1)
        postings = [
            Posting(PAID_OUT, value, invoice, value),
            Posting(FEES, fee, token, fee_value),
            Posting(payer, -payment.amount - fee, token, -value - fee_value),
        ]
    else:
        fee = min(fee, max(payment.value - payment.amount, 0)) if token == invoice else 0
        excess = min(payment.excess, value + fee)
        postings = [
            Posting(payee, payment.amount, token, value),
            Posting(FEES, fee, token, fee),
            Posting(OVERPAID, -excess, invoice, -excess),
            Posting(INCOME, excess - value - fee, invoice, excess - value - fee),
        ]
    return Entry(payment, invoice, tuple(each for each in postings if each.amount or each.value))


def wallet_account(network: str, address: str) -> str:
    """The account of a wallet on a network, as `Assets:Wallets:Base:0x…`. An unknown wallet is `Unknown`."""
    return f"Assets:Wallets:{network.capitalize()}:{address or 'Unknown'}"
