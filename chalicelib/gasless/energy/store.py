"""Reads of delegations of energy and of what was delegated in a day."""

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
