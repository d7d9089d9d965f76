"""Says of everything that is stored with what, for which client id and about whom it was made."""

from dataclasses import replace
from typing import Any

from chalicelib.commerce.core.records import CommercePayment
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.gasless.records import GaslessPayment
from chalicelib.payments.links.records import Link
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import CustomerInfo, Request
from chalicelib.platform.access.modes import Mode
from chalicelib.recurring.records import RecurringPayment
from tests.support.running import running

_KINDS = (Request, Link, RecurringPayment, CommercePayment, PaymentIntent, GaslessPayment, Payment)


def made_with(
    mode: Mode | None, client_id: str | None, customer: CustomerInfo | None = None, payer: str | None = None
) -> None:
    """With this credential, for this client id or none; with a customer and a payer's name if they are given."""
    store = running().store
    for record, _ in list(store.scan(_KINDS)):
        store.write(_made(record, mode, client_id, customer, payer))


def _made(record: Any, mode: Mode | None, client_id: str | None, customer: CustomerInfo | None, payer: str | None) -> Any:
    if isinstance(record, RecurringPayment):
        return replace(record, template=_made(record.template, mode, client_id, customer, payer))
    of_client = replace(record, client_id=client_id)
    if isinstance(record, Request):
        return replace(of_client, created_with=mode, customer_info=customer or record.customer_info)
    if isinstance(record, Link):
        return replace(of_client, created_with=mode, payer_identifier=payer or record.payer_identifier)
    return of_client
