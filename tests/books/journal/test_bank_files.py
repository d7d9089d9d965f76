"""The files of a wallet for accounting programs: ofxtools reads OFX unmodified; CSV has the columns and forms they want."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from ofxtools.Parser import OFXTree

from chalicelib.books.journal.bank_files import FILES, Account, ofx, quickbooks, xero
from chalicelib.books.journal.rules import entry_of
from chalicelib.books.journal.wallet_lines import Line, lines_of
from chalicelib.chains.catalogue.tokens import require_token
from tests.books.journal.test_export import HOSTILE
from tests.books.journal.test_wallet_lines import journal
from tests.support.rehearsed import few

MORE_HOSTILE = ("</NAME><TRNAMT>1</TRNAMT>", "&amp; &#252; ü", "]]>", "<!-- ", "\x00\x0b", "\ud800", "\uffff", "🧾" * 60, " ")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOLLAR = require_token("USD")


def made(seed: int, number: int, reference: str | None = None) -> tuple[tuple[Line, ...], Account]:
    """The lines of random payments of one wallet, whose references are what somebody may write to break a file."""
    texts = (*HOSTILE, *MORE_HOSTILE)
    payments = [
        replace(each, payee="0x" + "aB" * 20, network="sepolia", reference=reference or texts[at % len(texts)])
        for at, each in enumerate(journal(seed, number))
    ]
    account = Account("sepolia", payments[0].payee, DOLLAR, NOW)
    return lines_of(map(entry_of, payments), account.network, account.wallet, DOLLAR)[0], account


def total(lines: tuple[Line, ...]) -> Decimal:
    return Decimal(sum(each.amount for each in lines)).scaleb(-2)


@pytest.mark.parametrize("seed", few(range(3), range(100)))
def test_ofxtools_reads_every_line_with_its_amount_time_and_id(seed: int) -> None:
    lines, account = made(seed, 300)
    assert len(lines) > 20
    tree = OFXTree()
    tree.parse(io.BytesIO(ofx(lines, account).encode()))
    (statement,) = tree.convert().statements
    assert (statement.curdef, statement.account.bankid) == ("USD", "sepolia")
    assert len(statement.account.acctid) == 22
    assert [(each.fitid, each.trnamt, each.dtposted) for each in statement.transactions] == [
        (each.payment.payment_id, Decimal(each.amount).scaleb(-2), each.payment.at.replace(microsecond=0))
        for each in lines
    ]
    assert {each.trntype for each in statement.transactions} <= {"CREDIT", "DEBIT"}
    assert statement.balance.balamt == total(lines) == sum(each.trnamt for each in statement.transactions)


def test_a_file_without_a_line_is_a_statement_too() -> None:
    tree = OFXTree()
    tree.parse(io.BytesIO(ofx((), made(1, 1)[1]).encode()))
    (statement,) = tree.convert().statements
    assert (list(statement.transactions), statement.balance.balamt) == ([], 0)
    assert xero((), made(1, 1)[1]).splitlines() == ["Date,Amount,Payee,Description,Reference"]


@pytest.mark.parametrize("seed", few(range(3), range(100)))
def test_the_csv_of_both_programs_has_the_columns_and_forms_that_they_read(seed: int) -> None:
    lines, account = made(seed, 300)
    shown = [each for each in lines if each.amount]
    for text, columns, form in (
        (xero(lines, account), ["Date", "Amount", "Payee", "Description", "Reference"], "%Y-%m-%d"),
        (quickbooks(lines, account), ["Date", "Description", "Amount"], "%m/%d/%Y"),
    ):
        head, *rows = csv.reader(io.StringIO(text))
        assert head == columns and len(rows) == len(shown) == len(text.splitlines()) - 1
        cells = [dict(zip(head, row, strict=True)) for row in rows]
        assert [datetime.strptime(each["Date"], form).date() for each in cells] == [each.day for each in shown]
        assert sum(Decimal(each["Amount"]) for each in cells) == total(lines)
        assert all(each["Amount"].rpartition(".")[2].isdigit() and len(each["Amount"].rpartition(".")[2]) == 2 for each in cells)
        assert not any(each[name].startswith(tuple("=+-@")) for each in cells for name in columns if name != "Amount")


def test_texts_of_strangers_stay_texts_on_one_line() -> None:
    for reference in (*HOSTILE, *MORE_HOSTILE):
        lines, account = made(3, 4, reference)
        tree = OFXTree()
        tree.parse(io.BytesIO(ofx(lines, account).encode()))
        (statement,) = tree.convert().statements
        assert len(statement.transactions) == len(lines)
        assert all(1 <= len(each.name) <= 32 and len(each.memo) <= 255 for each in statement.transactions)
        for write, _, _ in FILES.values():
            write(lines, account).encode()


def test_the_same_lines_give_the_same_bytes() -> None:
    for write, _, _ in FILES.values():
        assert write(*made(7, 50)) == write(*made(7, 50))
