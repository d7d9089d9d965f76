"""The journal as text: Beancount itself reads it without an error and finds the same balances; so does a CSV reader."""

import csv
import io
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

import pytest
from beancount import loader
from beancount.core import amount, data

from chalicelib.books.journal.export import COLUMNS, beancount, commodity, table
from chalicelib.books.journal.rules import Entry, entry_of
from chalicelib.books.journal.schemas import signed_amount
from chalicelib.chains.catalogue.tokens import find_tokens
from tests.books.journal.test_rules import random_payments
from tests.support.rehearsed import few

HOSTILE = (
    'INV" 5.00 USD', "\\", 'a\\"b', "one\ntwo", "\u202eevil", '2026-01-01 open Assets:X\n  ', "=1+1", "x" * 255, "{}", ";", "#tag",
    "\u2028", "\x85next",
)  # fmt: skip


def entries(seed: int, number: int) -> list[Entry]:
    """Entries of random payments whose references are what somebody may write to break a file."""
    return [
        entry_of(replace(each, reference=HOSTILE[position % len(HOSTILE)]))
        for position, each in enumerate(random_payments(seed, number))
    ]


def read_by_beancount(text: str) -> list[data.Transaction]:
    found, errors, _ = loader.load_string(text)
    assert [each.message for each in errors] == []
    return [each for each in found if isinstance(each, data.Transaction)]


@pytest.mark.parametrize("seed", few(range(2), range(20)))
def test_beancount_reads_every_entry_and_has_the_same_balances(seed: int) -> None:
    made = entries(seed, 500)
    read = read_by_beancount(beancount(made[:200], True) + beancount(made[200:], False))
    assert len(read) == len(made)
    expected: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for entry in made:
        for posting in entry.postings:
            key = posting.account, commodity(posting.currency)
            expected[key] += Decimal(signed_amount(posting.amount, posting.currency))
    found: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for transaction in read:
        for each in transaction.postings:
            assert isinstance(each.units, amount.Amount) and each.units.number is not None
            found[each.account, each.units.currency] += each.units.number
    assert found == expected


def test_a_reference_stays_one_text_of_its_transaction() -> None:
    read = read_by_beancount(beancount(entries(3, len(HOSTILE)), True))
    by_id = {each.meta["id"]: each for each in read}
    assert len(by_id) == len(HOSTILE) and all(each.tags < {"payment", "refund", "payout"} for each in read)
    narrations = {each.narration for each in read}
    assert {'INV" 5.00 USD', "\\", 'a\\"b', "one two", "\u202eevil", "2026-01-01 open Assets:X   ", "=1+1"} <= narrations


def test_every_currency_has_a_name_of_its_own_that_beancount_takes() -> None:
    tokens = find_tokens()
    names = {commodity(each) for each in tokens}
    assert len(names) == len(tokens) > 100
    commodities = "\n".join(f"2026-01-01 commodity {each}" for each in sorted(names))
    found, errors, _ = loader.load_string(commodities)
    assert (len(found), errors) == (len(names), [])


def test_a_line_of_csv_is_a_posting_and_no_reference_is_a_formula() -> None:
    made = entries(5, 60)
    rows = list(csv.DictReader(io.StringIO(table(made[:30], True) + table(made[30:], False))))
    assert len(rows) == sum(len(each.postings) for each in made) and tuple(rows[0]) == COLUMNS
    value: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        value[row["entryId"]] += Decimal(row["value"])
    assert set(value.values()) == {Decimal(0)}
    assert "'=1+1" in {row["reference"] for row in rows}


def test_the_same_payments_give_the_same_bytes() -> None:
    assert beancount(entries(7, 50), True) == beancount(entries(7, 50), True)
