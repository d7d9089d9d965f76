"""Keeps refunds and their references before their calldata is shown, so that the scanner finds each that is sent."""

from collections.abc import Mapping

from chalicelib.base.frozen import make_from
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Refund
from chalicelib.payments.requests.records import Reference, Request
from chalicelib.payments.transfers.refund_offers import RefundKey
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import with_next_version


@retry_conflicts(3)
def store_refunds(services: Services, wanted: Mapping[RefundKey, tuple[Request, str]]) -> dict[RefundKey, Refund]:
    """The refunds, each of a request to an address, as they are stored; those that are new are stored now.

    Up to two reads and one transaction. Raises WriteConflict after three conflicts with other callers.
    """
    if not wanted:
        return {}
    stored = payment_store.refunds(services.store, wanted.keys())
    missing = {key: each for key, each in wanted.items() if key not in stored}
    if not missing:
        return stored
    found = request_store.references(services.store, {topic for topic, _ in missing})
    known = {reference.topic for reference in found}
    offered, references = [], dict[str, Reference]()
    for (topic, currency), (request, payer) in missing.items():
        now = services.clock()
        offered.append(make_from(Refund, request, topic=topic, currency=currency, payer=payer, offered_at=now))
        if topic not in known:
            references[topic] = Reference(
                topic, request.payable_id, request.position, is_refund=True, account_id=request.account_id
            )
    services.store.write(*offered, *references.values())
    return {**stored, **{(each.topic, each.currency): with_next_version(each) for each in offered}}
