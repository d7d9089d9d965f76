"""Reads of payments, refunds and unmatched transfers."""

from collections.abc import Iterable

from chalicelib.payments.requests.payments.records import Payment, Refund, UnmatchedTransfer
from chalicelib.platform.storage.store import Store


def payments(store: Store, request_id: str) -> tuple[Payment, ...]:
    """The payments of a request, in the order of their log positions. One query."""
    return store.query(Payment, Payment.KEY.all(request_id=request_id))


def payments_by(store: Store, request_id: str, network: str, tx_hash: str) -> tuple[Payment, ...]:
    """The payments of a request by one transaction. One query."""
    return store.query(Payment, Payment.KEY.all(request_id=request_id, network=network, tx_hash=tx_hash))


def list_unmatched_transfers(store: Store, request_id: str) -> tuple[UnmatchedTransfer, ...]:
    """The unmatched transfers of a request, in the order of their log positions. One query."""
    return store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request_id))


def refunds(store: Store, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Refund]:
    """The refunds by topic and currency, without those that do not exist; read in batches of 100."""
    keys = {Refund.KEY.of(topic=topic, currency=currency): Refund for topic, currency in wanted}
    return {(each.topic, each.currency): each for each in store.get_many(keys).values()} if keys else {}
