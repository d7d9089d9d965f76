"""Says of everything that is stored with what, for which client id and about whom it was made."""

from dataclasses import fields, replace
from typing import Any

from chalicelib.base.records import PAYMENTS, Record
from chalicelib.payments.requests.records import CustomerInfo, DailyCount
from chalicelib.platform.access.modes import Mode
from chalicelib.recurring.records import RecurringPayment
from infra.documents.data import record_classes
from tests.support.running import running


def names_of(kind: type[Record]) -> set[str]:
    """What a kind of record says of its maker and of persons: its fields, and the properties that stand for them."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return names | {name for name in ("client_id", "created_with") if hasattr(kind, name)}


MADE = tuple(
    kind
    for kind in record_classes()
    if kind.KEY.table == PAYMENTS and "client_id" in names_of(kind) and kind is not DailyCount  # which counts others
)
"""The kinds of records that are made for a client id, or without one."""


def made_with(
    mode: Mode | None, client_id: str | None, customer: CustomerInfo | None = None, payer: str | None = None
) -> None:
    """With this credential, for this client id or none; with a customer and a payer's name if they are given."""
    store = running().store
    for record, _ in list(store.scan(MADE)):
        store.write(_made(record, mode, client_id, customer, payer))


def _made(record: Any, mode: Mode | None, client_id: str | None, customer: CustomerInfo | None, payer: str | None) -> Any:
    if isinstance(record, RecurringPayment):
        return replace(record, template=_made(record.template, mode, client_id, customer, payer))
    known = {"customer_info": customer, "payer_identifier": payer}
    facts = {"client_id": client_id, "created_with": mode} | {name: each for name, each in known.items() if each}
    return replace(record, **{name: each for name, each in facts.items() if name in names_of(type(record))})
