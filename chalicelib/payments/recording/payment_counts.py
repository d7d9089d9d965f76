"""Counting: what the payments of a transaction add to the daily counts of their accounts.

A payment is counted as long as it is confirmed. `Payment.is_counted` says so, and is written in the same transaction,
so that a payment is counted once, however often it is recorded, reversed, moved to another block or reindexed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import day_of
from chalicelib.payments.requests.list_names import wallet
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import DailyCount
from chalicelib.payments.requests.request_counts import Amounts, shard_of, sums_of

ACCOUNT = "ACCOUNT"
LARGEST = 5
"""The most records that one payment adds to: account, client id, payer, payee, reference."""


class Role(StrEnum):
    """What a wallet is in a payment."""

    PAYER = "payer"
    PAYEE = "payee"
    BOTH = "both"


@frozen
class Facets:
    """What the payments of one count have in common. `role` is that of the wallet in a series of a wallet."""

    currency: str
    invoice_currency: str
    type: str
    role: Role | None = None

    @property
    def name(self) -> str:
        return "|".join((self.currency, self.invoice_currency, self.type, self.role or ""))


def mark_payment(payment: Payment) -> Payment:
    """The payment with the mark that it has to be written with."""
    is_counted = payment.status is PaymentStatus.CONFIRMED and payment.account_id != ""
    return payment if payment.is_counted == is_counted else replace(payment, is_counted=is_counted)


def amounts(before: Iterable[Payment], after: Iterable[Payment]) -> Amounts:
    """What is added to which record when payments are written that are `mark_payment`; `before` are they as stored."""
    known = {payment.key: payment for payment in before}
    return sums_of(
        (record, facets.name, amount)
        for payment in after
        for each, amount in ((known.get(payment.key), -1), (payment, 1))
        if each is not None and each.is_counted
        for record, facets in _counts(each)
    )


def of_client(client_id: str) -> str:
    return f"CLIENT#{client_id}"


def of_wallet(address: str) -> str:
    return f"WALLET#{wallet(address)}"


def of_reference(reference: str) -> str:
    return f"REFERENCE#{reference}"


def _counts(payment: Payment) -> Iterator[tuple[DailyCount, Facets]]:
    """Each record that counts a payment, and what it is counted under."""
    facets = Facets(payment.currency, payment.invoice_currency, payment.type)
    client_id = payment.client_id or ""
    yield _record(payment, ACCOUNT, ""), facets
    if payment.client_id:
        yield _record(payment, of_client(payment.client_id), ""), facets
    for address, role in _roles(payment):
        yield _record(payment, of_wallet(address), client_id), replace(facets, role=role)
    if payment.reference:
        yield _record(payment, of_reference(payment.reference), client_id), facets


def _roles(payment: Payment) -> list[tuple[str, Role]]:
    if payment.payer is None:
        return [(payment.payee, Role.PAYEE)]
    if wallet(payment.payer) == wallet(payment.payee):
        return [(payment.payee, Role.BOTH)]
    return [(payment.payer, Role.PAYER), (payment.payee, Role.PAYEE)]


def _record(payment: Payment, series: str, client_id: str) -> DailyCount:
    """One record of a series. The payments of a request are in one shard."""
    return DailyCount(payment.account_id, series, day_of(payment.at), client_id, shard_of(payment.request_id))
