"""The journal as text: in the language of Beancount, and as CSV with a line for each posting."""

import re
from collections.abc import Iterable

from chalicelib.base.timestamps import iso
from chalicelib.books.journal.rules import Entry, Posting
from chalicelib.books.journal.schemas import signed_amount
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.search.payments.export import inert, write_csv

COLUMNS = (
    "entryId", "kind", "timestamp", "account", "amount", "currency", "value", "entryCurrency", "requestId", "reference",
    "network", "txHash", "payer", "payee",
)  # fmt: skip
BEANCOUNT_HEAD = """option "title" "Payments"
option "inferred_tolerance_default" "*:0.000001"
plugin "beancount.plugins.auto_accounts"
"""
"""The tolerance is for a total price, which Beancount divides and multiplies again. Accounts are declared at their
first use, as no part knows those of the others."""
_BREAKS = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")


def table(entries: Iterable[Entry], with_head: bool) -> str:
    """CSV with a line for each posting; the entries of lines are told apart by `entryId`."""
    rows = (_row(entry, posting) for entry in entries for posting in entry.postings)
    return write_csv(rows, COLUMNS if with_head else ())


def beancount(entries: Iterable[Entry], with_head: bool) -> str:
    """Transactions of Beancount 2 and 3. A token is a commodity by its id in upper case (`USDC-BASE`); one that was
    paid for an amount in another currency has that amount as its total price."""
    transactions = (_transaction(each) for each in entries)
    return "\n".join([BEANCOUNT_HEAD, *transactions] if with_head else ["", *transactions])


def commodity(currency: Token) -> str:
    """A currency as Beancount names commodities: capital letters, digits and hyphens, of which a letter is first."""
    name = re.sub("[^A-Z0-9-]", "-", currency.id.upper())
    return name if name[0].isalpha() else f"T-{name}"


def _row(entry: Entry, posting: Posting) -> tuple[str, ...]:
    payment = entry.payment
    return (
        payment.payment_id,
        entry.kind,
        iso(payment.at),
        posting.account,
        signed_amount(posting.amount, posting.currency),
        posting.currency.id,
        signed_amount(posting.value, entry.currency),
        entry.currency.id,
        payment.request_id,
        inert(payment.reference or ""),
        payment.network,
        payment.tx_hash,
        payment.payer or "",
        payment.payee,
    )


def _transaction(entry: Entry) -> str:
    payment = entry.payment
    facts = {
        "id": payment.payment_id,
        "time": iso(payment.at),
        "request": payment.request_id,
        "network": payment.network,
        "transaction": payment.tx_hash,
        "payer": payment.payer or "",
        "payee": payment.payee,
    }
    head = f"{payment.at.date().isoformat()} * {_quote_text(payment.reference or entry.kind)} #{entry.kind}"
    return "\n".join([
        head,
        *(f"  {name}: {_quote_text(text)}" for name, text in facts.items() if text),
        *(f"  {_posting(each, entry.currency)}" for each in entry.postings),
        "",
    ])


def _posting(posting: Posting, invoice: Token) -> str:
    amount = f"{signed_amount(posting.amount, posting.currency)} {commodity(posting.currency)}"
    if posting.currency == invoice:
        return f"{posting.account}  {amount}"
    return f"{posting.account}  {amount} @@ {signed_amount(abs(posting.value), invoice)} {commodity(invoice)}"


def _quote_text(text: str) -> str:
    """A text in quotation marks, on one line."""
    escaped = _BREAKS.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
