"""What leads to a request, and the transfers that were made with its reference."""

from collections.abc import Iterable

from chalicelib.requests.records import Payment, Reference, RequestPointer, UnmatchedTransfer
from chalicelib.storage.store import Store

_LONGEST_REQUEST_ID = 66


def pointer(store: Store, request_id: str) -> RequestPointer | None:
    """What leads from a request id to its link. One read."""
    if len(request_id) > _LONGEST_REQUEST_ID:
        return None
    return store.get(RequestPointer, RequestPointer.KEY.of(request_id=request_id))


def references(store: Store, topics: Iterable[str]) -> list[Reference]:
    """Those of the references that exist, by the topics of their logs; in batches of 100."""
    wanted = {Reference.KEY.of(topic=topic): Reference for topic in topics}
    return list(store.get_many(wanted).values())


def payments(store: Store, request_id: str) -> tuple[Payment, ...]:
    """The payments of a request, by the positions of their logs. One query."""
    return store.query(Payment, Payment.KEY.all(request_id=request_id))


def unmatched_transfers(store: Store, request_id: str) -> tuple[UnmatchedTransfer, ...]:
    """The transfers with a request's reference that do not count for it, by the positions of their logs. One query."""
    return store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request_id))
