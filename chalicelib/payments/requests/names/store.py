"""Reads what the names of a call resolved to."""

from chalicelib.payments.requests.names.records import ResolvedNames
from chalicelib.platform.storage.store import Store


def of_call(store: Store, call_id: str) -> ResolvedNames | None:
    """What an earlier run of the call has found. One read."""
    return store.get(ResolvedNames, ResolvedNames.KEY.of(call_id=call_id))
