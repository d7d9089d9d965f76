"""Reads of recurring payouts, their periods and their payers' commitments, and of all that is due."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Key, Record
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.store import Store
from chalicelib.recurring.records import Commitment, Period, RecurringPayment
from chalicelib.relayer.records import RelayedCall

_LONGEST_ID = 64


@frozen
class Due:
    """The key of a record that is due: a recurring payout on a network, or a request that recurs (`network` None)."""

    name: str
    network: str | None


def recurring(store: Store, recurring_id: str) -> RecurringPayment | None:
    """A recurring payout; None if there is none. One query."""
    if len(recurring_id) > _LONGEST_ID:
        return None
    found = store.query(RecurringPayment, RecurringPayment.KEY.all(recurring_id=recurring_id), 1)
    return found[0] if found else None


def with_periods(store: Store, recurring_id: str) -> tuple[RecurringPayment | None, tuple[Period, ...]]:
    """A recurring payout with its periods that have requests, in their order. One query."""
    if len(recurring_id) > _LONGEST_ID:
        return None, ()
    found = store.query_mixed((RecurringPayment, Period), RecurringPayment.KEY.partition(recurring_id=recurring_id))
    schedule = next((each for each in found if isinstance(each, RecurringPayment)), None)
    return schedule, tuple(each for each in found if isinstance(each, Period))


def many(store: Store, network: str, recurring_ids: Sequence[str]) -> list[RecurringPayment]:
    """The recurring payouts of one network that exist, in batches of 100."""
    keys = {RecurringPayment.KEY.of(recurring_id=each, network=network): RecurringPayment for each in recurring_ids}
    return list(store.get_many(keys).values()) if keys else []


@frozen
class InWork:
    """What exists for the periods in work: requests and calls of the relayer by id and key, and periods by payout."""

    requests: Mapping[str, Request]
    calls: Mapping[str, RelayedCall]
    periods: Mapping[str, Period]


def in_work(store: Store, schedules: Sequence[RecurringPayment], call_keys: Sequence[str]) -> InWork:
    """What exists for the periods in work of recurring payouts; in batches of 100."""
    wanted: dict[Key, type[Record]] = {_key(each.request_id): Request for each in schedules if each.request_id}
    wanted |= {RelayedCall.KEY.of(call_key=each): RelayedCall for each in call_keys}
    wanted |= {Period.KEY.of(recurring_id=each.recurring_id, number=each.period): Period for each in schedules}
    found = store.get_many(wanted).values() if wanted else ()
    return InWork(
        {each.request_id: each for each in found if isinstance(each, Request)},
        {each.call_key: each for each in found if isinstance(each, RelayedCall)},
        {each.recurring_id: each for each in found if isinstance(each, Period)},
    )


def completing_payment(store: Store, request: Request) -> Payment:
    """The payment by which a request was paid. One query. Raises LookupError if it is not stored."""
    keys = Payment.KEY.all(request_id=request.request_id, network=request.network, tx_hash=request.tx_hash)
    found = store.query(Payment, keys, 1)
    if not found:
        raise LookupError(f"request {request.request_id} is paid without a payment")
    return found[0]


def commitment(store: Store, wanted: Commitment) -> Commitment:
    """A payer's commitment as it is stored; without an amount if there is none. One read."""
    return store.get(Commitment, wanted.key) or wanted


def due(store: Store, now: datetime, limit: int, first_shard: int) -> Iterator[Due]:
    """What is due, at most `limit` of each of the eight shards of the index. One query for each shard."""
    for key in store.due(RecurringPayment, now, limit, first_shard):
        if RecurringPayment.KEY.names(key.pk, key.sk):
            yield Due(key.pk.partition("#")[2], key.sk.partition("#")[2])
        elif Request.KEY.names(key.pk, key.sk):
            yield Due(key.pk.partition("#")[2], None)


def requests(store: Store, request_ids: Sequence[str]) -> Mapping[str, Request]:
    """Requests that stand by themselves, by id; in batches of 100."""
    found = store.get_many({_key(each): Request for each in request_ids})
    return {each.request_id: each for each in found.values()}


def _key(request_id: str) -> Key:
    """The key of a request that stands by itself."""
    return Request.KEY.of(payable_id=request_id, position=0)
