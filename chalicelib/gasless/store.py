"""Reads of gasless payments and their batches."""

from collections.abc import Iterable
from datetime import datetime

from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, LastSigned
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import LinkAnnouncements
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.store import Store

_LONGEST_ID = 64


def payment(store: Store, payment_id: str) -> GaslessPayment | None:
    """One read."""
    if len(payment_id) > _LONGEST_ID:
        return None
    return store.get(GaslessPayment, GaslessPayment.KEY.of(payment_id=payment_id))


def last_signed(store: Store, network: str, payer: str) -> LastSigned | None:
    """The gasless payment that a wallet has signed last on a network. One read."""
    return store.get(LastSigned, LastSigned.KEY.of(network=network, payer=payer.lower()))


def payments(store: Store, payment_ids: Iterable[str]) -> tuple[GaslessPayment, ...]:
    """The gasless payments with these ids that exist, in the order of the ids. One read of up to 100."""
    keys = [GaslessPayment.KEY.of(payment_id=each) for each in payment_ids]
    found = store.get_many(dict.fromkeys(keys, GaslessPayment))
    return tuple(found[key] for key in keys if key in found)


def requests(store: Store, made: Iterable[GaslessPayment]) -> dict[str, Request]:
    """The requests of gasless payments that exist, by id. One read, a second one if some are of links."""
    return link_store.find_requests(store, {each.request_id for each in made})


def announcements(store: Store, made: Iterable[GaslessPayment]) -> dict[str, LinkAnnouncements]:
    """The transactions that are announced for the links of gasless payments, by token. One read, none without links."""
    tokens = {each.link_token for each in made if each.link_token is not None}
    return link_store.holding(store, tokens)[0] if tokens else {}


def batches(store: Store, batch_ids: Iterable[str]) -> tuple[GaslessBatch, ...]:
    """The batches with these keys that exist. One read of up to 100."""
    return tuple(store.get_many({GaslessBatch.KEY.of(batch_id=each): GaslessBatch for each in batch_ids}).values())


def batch(store: Store, batch_id: str) -> GaslessBatch | None:
    """One read."""
    return store.get(GaslessBatch, GaslessBatch.KEY.of(batch_id=batch_id))


def due(store: Store, now: datetime, limit: int, first_shard: int) -> tuple[list[str], list[str], list[str]]:
    """The ids of the batches and of the payments, and the wallets of the delegations on Tron, that are due, at most
    `limit` of each of the eight shards. One query for each."""
    keys = list(store.due(GaslessPayment, now, limit, first_shard))
    kinds = (GaslessBatch, GaslessPayment, EnergyDelegation)
    found = [[key.pk.partition("#")[2] for key in keys if kind.KEY.names(*key[1:])] for kind in kinds]
    return found[0], found[1], found[2]
