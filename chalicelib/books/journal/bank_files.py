"""The lines of a wallet as files that accounting programs import: OFX 2.2, and the CSV of Xero and QuickBooks Online.

Each file has one account and one fiat currency, as these programs want it. They are told apart by the id of a payment
in OFX; what is imported twice as CSV is there twice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from chalicelib.base.frozen import frozen
from chalicelib.base.timestamps import iso
from chalicelib.books.journal.wallet_lines import Line, amount_text
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.search.payments.export import inert, write_csv

_NOT_PRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")
"""What XML cannot contain, and what begins a new line."""
_OFX_HEAD = (
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
    '<?OFX OFXHEADER="200" VERSION="220" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>\n'
)
_MOST_NAME, _MOST_MEMO, _MOST_BANK = 32, 255, 9
"""The characters that OFX has for these; an account has 22."""


@frozen
class Account:
    """The account that a file is of. `now` is when the file is made."""

    network: str
    wallet: str
    currency: Token
    now: datetime


def xero(lines: Sequence[Line], account: Account) -> str:
    """The columns that Xero reads of a bank statement, with a signed amount. Lines of 0 are left out."""
    rows = (
        (
            each.day.isoformat(),
            amount_text(each.amount, account.currency),
            each.other or "",
            f"{each.kind.value} {each.payment.network} {each.payment.tx_hash}",
            inert(_on_one_line(each.payment.reference or "")),
        )
        for each in lines
        if each.amount
    )
    return write_csv(rows, ("Date", "Amount", "Payee", "Description", "Reference"))


def quickbooks(lines: Sequence[Line], account: Account) -> str:
    """The three columns that QuickBooks Online reads, with a signed amount. Lines of 0 are left out."""
    rows = (
        (f"{each.day:%m/%d/%Y}", inert(_description(each)), amount_text(each.amount, account.currency))
        for each in lines
        if each.amount
    )
    return write_csv(rows, ("Date", "Description", "Amount"))


def ofx(lines: Sequence[Line], account: Account) -> str:
    """A statement of OFX 2.2. The balance that OFX requires is the sum of the lines of this file."""
    root = Element("OFX")
    signed_on = SubElement(SubElement(root, "SIGNONMSGSRSV1"), "SONRS")
    _add_status(signed_on)
    _add(signed_on, DTSERVER=_ofx_time(account.now), LANGUAGE="ENG")
    response = SubElement(SubElement(root, "BANKMSGSRSV1"), "STMTTRNRS")
    _add(response, TRNUID="0")
    _add_status(response)
    statement = SubElement(response, "STMTRS")
    _add(statement, CURDEF=account.currency.symbol)
    wallet = f"{account.wallet[:11]}{account.wallet[-11:]}"
    _add(SubElement(statement, "BANKACCTFROM"), BANKID=account.network[:_MOST_BANK], ACCTID=wallet, ACCTTYPE="CHECKING")
    transactions, times = SubElement(statement, "BANKTRANLIST"), [each.payment.at for each in lines] or [account.now]
    _add(transactions, DTSTART=_ofx_time(min(times)), DTEND=_ofx_time(max(times)))
    for each in lines:
        _add(
            SubElement(transactions, "STMTTRN"),
            TRNTYPE="DEBIT" if each.amount < 0 else "CREDIT",
            DTPOSTED=_ofx_time(each.payment.at),
            TRNAMT=amount_text(each.amount, account.currency),
            FITID=each.payment.payment_id,
            NAME=(_on_one_line(each.payment.reference or "") or each.kind.value)[:_MOST_NAME],
            MEMO=_description(each)[:_MOST_MEMO],
        )
    balance = amount_text(sum(each.amount for each in lines), account.currency)
    _add(SubElement(statement, "LEDGERBAL"), BALAMT=balance, DTASOF=_ofx_time(max(times)))
    return _OFX_HEAD + tostring(root, encoding="unicode") + "\n"


FILES: Mapping[str, tuple[Callable[[Sequence[Line], Account], str], str, str]] = {
    "ofx": (ofx, "application/x-ofx", "wallet.ofx"),
    "xero": (xero, "text/csv", "wallet-xero.csv"),
    "quickbooks": (quickbooks, "text/csv", "wallet-quickbooks.csv"),
}
"""By format what writes it, its media type, and the name of the file."""


def _description(line: Line) -> str:
    payment = line.payment
    what = f"{line.kind.value} {_on_one_line(payment.reference or payment.request_id)}"
    return f"{what} {iso(payment.at)} {payment.network} {payment.tx_hash}"


def _on_one_line(text: str) -> str:
    return _NOT_PRINTED.sub(" ", text).strip()


def _ofx_time(instant: datetime) -> str:
    return f"{instant:%Y%m%d%H%M%S}.000[+0:UTC]"


def _add_status(parent: Element) -> None:
    _add(SubElement(parent, "STATUS"), CODE="0", SEVERITY="INFO")


def _add(parent: Element, **texts: str) -> None:
    """Adds elements with these texts, in order."""
    for name, text in texts.items():
        SubElement(parent, name).text = text
