"""Payments as CSV (RFC 4180), which spreadsheets open without running what a stranger has written into it."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.conversions import FIAT_DECIMALS_ON_CHAIN
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.payments.rates.rules import invert_rate, rate_text
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.search.payments.schemas import fee_address, format_signed, invoice_amount
from chalicelib.payments.search.rules import dollar_rate, dollars

COLUMNS = (
    "timestamp", "id", "type", "network", "txHash", "payer", "payee", "amount", "paymentCurrency", "paymentCurrencyId",
    "invoiceAmount", "invoiceCurrency", "invoiceCurrencyId", "rate", "rateSource", "rateTime", "feeAmount",
    "feeCurrency", "feeAddress", "requestId", "paymentReference", "reference", "clientId", "amountInUsd", "usdRate",
    "direction", "statedAmount", "isPayout",
)  # fmt: skip
_STARTS_FORMULA = tuple("=+-@＝＋－＠")
"""Spreadsheets in East Asia take the wide signs too."""
_ENDS_CELL = re.compile(r"([;\t\r\n])")
"""Spreadsheets in countries with a decimal comma split cells at semicolons, also within quotation marks: what is before
them ends the cell, and what is quoted with it."""
_AMOUNTS = ("amount", "invoiceAmount", "amountInUsd", "statedAmount")
"""The columns with our own numbers, which may be negative, so that spreadsheets have to read them as numbers."""


def table(payments: Iterable[Payment], with_head: bool) -> str:
    """One line a payment or refund, whose amounts are negative. They are in whole units.

    `rate` is what of the payment currency one invoice unit was, `usdRate` what one unit of the payment currency was in
    US dollars. `statedAmount` is what a payment says itself, if less arrived. What is not known is empty.
    """
    named = (zip(COLUMNS, _row(payment), strict=True) for payment in payments)
    rows = ([cell if column in _AMOUNTS else inert(cell) for column, cell in cells] for cells in named)
    return write_csv(rows, COLUMNS if with_head else ())


def write_csv(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Lines of CSV (RFC 4180), the names of the columns first if they are given."""
    text = io.StringIO()
    csv.writer(text).writerows(chain([head] if head else (), rows))
    return text.getvalue()


def with_mark(text: str, excel: str | None, cursor: str | None) -> str:
    """A part of a table as it is sent: the first one begins with a byte order mark if `excel` is `true`."""
    return f"\ufeff{text}" if excel == "true" and not cursor else text


def inert(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, nor a part of it that some take for a cell of its own: an
    apostrophe stands before what could be one.

    What is not seen before the first sign is passed over, as some spreadsheets drop it, and so are quotation marks.
    """
    return "".join(f"'{part}" if _is_formula(part) else part for part in _ENDS_CELL.split(cell))


def _is_formula(part: str) -> bool:
    visible = (sign for sign in part if sign.isprintable() and not sign.isspace() and sign != '"')
    return next(visible, "") in _STARTS_FORMULA


def _row(payment: Payment) -> tuple[str, ...]:
    token, invoice, rate = require_token(payment.currency), require_token(payment.invoice_currency), payment.rate
    fee, dollar, in_dollars = payment.fee_amount, dollar_rate(payment), dollars(payment)
    stated = payment.stated_amount
    return (
        iso(payment.at),
        payment.payment_id,
        payment.type,
        payment.network,
        payment.tx_hash,
        payment.payer or "",
        payment.payee,
        format_signed(payment, format_amount(payment.amount, token.decimals)),
        token.symbol,
        token.id,
        invoice_amount(payment),
        invoice.symbol,
        invoice.id,
        rate_text(rate) if rate else "",
        rate.source if rate else "",
        iso(rate.at) if rate else "",
        format_amount(fee, token.decimals) if fee else "",
        token.symbol if fee else "",
        fee_address(payment, token) if fee else "",
        payment.request_id,
        payment.payment_reference,
        payment.reference or "",
        payment.client_id or "",
        format_signed(payment, format_amount(in_dollars, FIAT_DECIMALS_ON_CHAIN)) if in_dollars is not None else "",
        rate_text(invert_rate(dollar)) if dollar else "",
        payment.direction,
        format_signed(payment, format_amount(stated, token.decimals)) if stated is not None else "",
        "true" if payment.is_payout else "false",
    )
