"""The double entry of a payment or a refund: which accounts of a bookkeeping it changes, and by how much.

A payment is a debit of the wallet that received it and a credit of income, and of what is owed to the payer if it was
more than was due. A fee that the payee has paid, of a capture, is a debit of expenses. One that the payer has paid on
top of the amount never was the payee's, and has no posting. A refund is a credit of the wallet that sent it and a debit
of refunds.
"""

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.tokens import Token, require_token
from chalicelib.payments.requests.payments.records import Direction, Payment

INCOME, RETURNED = "Income:Payments", "Income:Refunds"
FEES, OVERPAID = "Expenses:Fees", "Liabilities:Overpayments"


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
    """What a payment or refund changes. `currency` is that of its invoice, in which the postings add up to 0."""

    payment: Payment
    currency: Token
    postings: tuple[Posting, ...]


def entry_of(payment: Payment) -> Entry:
    """The entry of a payment or refund."""
    token, invoice = require_token(payment.currency), require_token(payment.invoice_currency)
    value = payment.amount if token == invoice else payment.value
    if payment.direction is Direction.OUT:
        wallet = wallet_account(payment.network, payment.payer or "")
        postings = [Posting(RETURNED, value, invoice, value), Posting(wallet, -payment.amount, token, -value)]
    else:
        wallet = wallet_account(payment.network, payment.payee)
        fee = min(payment.fee_amount, max(payment.value - payment.amount, 0)) if token == invoice else 0
        excess = min(payment.excess, value + fee)
        postings = [
            Posting(wallet, payment.amount, token, value),
            Posting(FEES, fee, token, fee),
            Posting(OVERPAID, -excess, invoice, -excess),
            Posting(INCOME, excess - value - fee, invoice, excess - value - fee),
        ]
    return Entry(payment, invoice, tuple(each for each in postings if each.amount or each.value))


def wallet_account(network: str, address: str) -> str:
    """The account of a wallet on a network, as `Assets:Wallets:Base:0x…`. An unknown wallet is `Unknown`."""
    return f"Assets:Wallets:{network.capitalize()}:{address or 'Unknown'}"
