"""What one wallet got and sent as the lines of a bank statement, worth in one fiat currency."""

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.books.journal.rules import Entry, Kind, Posting, wallet_account
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, dollar
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.search.rules import dollars_of


@frozen
class Line:
    """A payment, refund or payout by one of its wallets: `amount` is above 0 for what the wallet got and below 0 for
    what it sent, in the smallest units of a fiat currency, such as cents."""

    payment: Payment
    kind: Kind
    amount: int

    @property
    def day(self) -> date:
        """In UTC."""
        return self.payment.at.date()

    @property
    def other(self) -> str | None:
        """Who paid the wallet, or was paid from it; None if the chain does not tell."""
        return self.payment.payer if self.amount > 0 else self.payment.payee


def lines_of(entries: Iterable[Entry], network: str, wallet: str, currency: Token) -> tuple[tuple[Line, ...], int]:
    """The lines of a wallet, in the order of the entries, and the number of its entries that have no known value in
    the currency.

    That of an invoice in the currency is worth what it counts for the invoice, and in US dollars every payment is by
    the rate that is kept with it. Each amount is rounded to the decimals of the currency; what that leaves of a day
    is added to the line of the day that is first, the newest one of a journal, so that the sum of a day is right.
    """
    account, valued, unknown = wallet_account(network, wallet), list[tuple[Entry, int]](), 0
    for entry in entries:
        posting = next((each for each in entry.postings if each.account == account), None)
        if posting is not None:
            value = _value_in(currency, entry, posting)
            if value is None:
                unknown += 1
            else:
                valued.append((entry, value))
    found = list[Line]()
    unit = 10 ** (on_chain_decimals(currency) - currency.decimals)
    for _, of_day in groupby(valued, key=lambda each: each[0].payment.at.date()):
        day = list(of_day)
        amounts = round_amounts([value for _, value in day], unit)
        found += [Line(entry.payment, entry.kind, amount) for (entry, _), amount in zip(day, amounts, strict=True)]
    return tuple(found), unknown


def round_amounts(values: Sequence[int], unit: int) -> list[int]:
    """Amounts in whole multiples of `unit`, whose sum is the rounded sum of the values: the first has the difference.

    Halves are rounded to the even neighbour."""
    rounded = [_round_half_even(each, unit) for each in values]
    rounded[0] += _round_half_even(sum(values), unit) - sum(rounded)
    return rounded


def amount_text(amount: int, currency: Token) -> str:
    """A signed amount in the smallest units of a fiat currency, with all of its decimals: `-12.50`."""
    digits = f"{abs(amount):0{currency.decimals + 1}}"
    split = len(digits) - currency.decimals
    text = f"{digits[:split]}.{digits[split:]}" if currency.decimals else digits
    return f"-{text}" if amount < 0 else text


def _round_half_even(value: int, unit: int) -> int:
    whole, rest = divmod(value, unit)
    return whole + (2 * rest > unit or (2 * rest == unit and whole % 2 == 1))


def _value_in(currency: Token, entry: Entry, posting: Posting) -> int | None:
    """What a posting is worth, in units of `on_chain_decimals`; None if no rate is known."""
    if entry.currency == currency:
        return posting.value
    if currency != dollar():
        return None
    found = dollars_of(BaseUnits(abs(posting.amount)), entry.payment)
    return found if found is None or posting.amount > 0 else -found
