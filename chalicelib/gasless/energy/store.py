"""Reads of delegations of energy and of what was delegated in a day."""

from collections.abc import Sequence
from datetime import datetime

from chalicelib.gasless.energy.records import ALL, EnergyDelegation, EnergyUse
from chalicelib.platform.storage.store import Store


def delegation(store: Store, wallet: str) -> EnergyDelegation | None:
    """The last delegation to a wallet. One read."""
    return store.get(EnergyDelegation, EnergyDelegation.KEY.of(wallet=wallet))


def uses(store: Store, account_id: str, day: str) -> tuple[EnergyUse, EnergyUse]:
    """What was delegated in a day for all accounts, and for this one. One read."""
    keys = [EnergyUse.KEY.of(account_id=each, day=day) for each in (ALL, account_id)]
    found = store.get_many(dict.fromkeys(keys, EnergyUse))
    of_all, of_account = (found.get(key) for key in keys)
    return of_all or EnergyUse(ALL, day), of_account or EnergyUse(account_id, day)


def due(store: Store, now: datetime, limit: int, first_shard: int) -> Sequence[str]:
    """The wallets of delegations that are to be looked at, at most `limit` of each of the eight shards. One query for
    each."""
    return [key.pk.partition("#")[2] for key in store.due(EnergyDelegation, now, limit, first_shard)]
