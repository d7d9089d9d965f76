"""The lines of a wallet: every payment that moved in it once, worth what the journal says, and days with the right sum."""

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby
from random import Random

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.books.journal.rules import entry_of, wallet_account
from chalicelib.books.journal.wallet_lines import amount_text, lines_of, round_amounts
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.payments.requests.payments.records import Direction, Payment
from chalicelib.payments.search.rules import dollars_of
from tests.books.journal.test_rules import random_payments
from tests.support.rehearsed import few

DOLLAR, EURO, YEN = (require_token(name) for name in ("USD", "EUR", "JPY"))
CENT = 10**6
"""A cent in the units of amounts in dollars, which have 8 decimals."""


def journal(seed: int, number: int) -> list[Payment]:
    """Random payments, the newest first, as a journal has them."""
    return sorted(random_payments(seed, number), key=lambda each: each.at, reverse=True)


@pytest.mark.parametrize("seed", few(range(3), range(50)))
def test_the_lines_of_all_wallets_have_what_the_journal_moves_in_them(seed: int) -> None:
    payments = journal(seed, 400)
    entries = [entry_of(each) for each in payments]
    wallets = {(each.network, name or "") for each in payments for name in (each.payer, each.payee)}
    seen = list[str]()
    for network, wallet in wallets:
        lines, unknown = lines_of(entries, network, wallet, DOLLAR)
        seen += [each.payment.payment_id for each in lines]
        account = wallet_account(network, wallet)
        moved = [(each, posting) for each in entries for posting in each.postings if posting.account == account]
        values = [
            posting.value if entry.currency == DOLLAR else dollars_of(BaseUnits(abs(posting.amount)), entry.payment)
            for entry, posting in moved
        ]
        assert (len(lines), unknown) == (sum(each is not None for each in values), values.count(None))
        for line in lines:
            (posting,) = (each for entry, each in moved if entry.payment == line.payment)
            assert line.amount == 0 or (line.amount > 0) == (posting.amount > 0) or abs(line.amount) < len(lines)
    assert len(seen) == len(set(seen))


def test_a_day_has_the_rounded_sum_of_its_values() -> None:
    def round_exactly(value: int) -> int:
        return int((Decimal(value) / CENT).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))

    for seed in range(1_000):
        chance = Random(seed)
        sizes = (10 ** chance.randint(1, 14) for _ in range(chance.randint(1, 40)))
        values = [chance.choice((-1, 1)) * chance.randrange(size) for size in sizes]
        rounded = round_amounts(values, CENT)
        assert sum(rounded) == round_exactly(sum(values)), seed
        assert rounded[1:] == [round_exactly(each) for each in values[1:]], seed


def test_what_rounding_leaves_stands_in_the_newest_line_of_the_day() -> None:
    payments = journal(5, 60)
    lines, _ = lines_of(map(entry_of, payments), payments[0].network, payments[0].payee, DOLLAR)
    days = [list(of_day) for _, of_day in groupby(lines, key=lambda each: each.day)]
    assert [each for day in days for each in day] == list(lines)
    assert all(day == sorted(day, key=lambda each: each.payment.at, reverse=True) for day in days)


def test_an_invoice_in_euros_is_in_the_books_in_euros_and_what_has_no_rate_is_counted() -> None:
    (first, *_) = journal(7, 1)
    in_euros = replace(first, invoice_currency="EUR", currency="fUSDC-sepolia", network="sepolia", is_payout=False)
    in_euros = replace(in_euros, value=BaseUnits(1_234_567_890), direction=Direction.IN, dollar_rate=None)
    entries = [entry_of(in_euros)]
    (line,), unknown = lines_of(entries, "sepolia", in_euros.payee, EURO)
    assert (amount_text(line.amount, EURO), unknown, line.other) == ("12.35", 0, in_euros.payer)
    assert lines_of(entries, "sepolia", in_euros.payee, DOLLAR) == ((), 1)
    assert lines_of(entries, "sepolia", in_euros.payee, YEN) == ((), 1)
    assert lines_of(entries, "base", in_euros.payee, EURO) == ((), 0)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [(1250, "USD", "12.50"), (-5, "USD", "-0.05"), (0, "EUR", "0.00"), (-1250, "JPY", "-1250"), (10**20, "USD", f"1{'0' * 18}.00")],
)
def test_amounts_have_all_decimals_of_their_currency(amount: int, currency: str, text: str) -> None:
    assert amount_text(amount, require_token(currency)) == text
