"""Reads of payment intents."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.platform.storage.store import Store

_LONGEST_ID = 64


def payment_intent(store: Store, intent_id: str) -> PaymentIntent | None:
    """One read."""
    if len(intent_id) > _LONGEST_ID:
        return None
    return store.get(PaymentIntent, PaymentIntent.KEY.of(intent_id=intent_id))


def payment_intents(store: Store, intent_ids: Iterable[str]) -> tuple[PaymentIntent, ...]:
    """The payment intents with these ids that exist, in the order of the ids. One read of up to 100."""
    keys = [PaymentIntent.KEY.of(intent_id=each) for each in intent_ids]
    found = store.get_many(dict.fromkeys(keys, PaymentIntent))
    return tuple(found[key] for key in keys if key in found)


def due(store: Store, now: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """The ids of payment intents that are due, at most `limit` of each of the eight shards. One query for each."""
    for key in store.due(PaymentIntent, now, limit, first_shard):
        yield key.pk.partition("#")[2]
