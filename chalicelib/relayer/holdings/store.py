"""Reads of what the service's account holds for whom."""

from collections.abc import Iterable

from chalicelib.base.records import Key, Record
from chalicelib.platform.storage.store import Store
from chalicelib.relayer.holdings.records import Holding, HoldingsTotal
from chalicelib.relayer.holdings.rules import Place


def entries(store: Store, network: str, account: str, places: Iterable[Place]) -> dict[Place, Holding]:
    """The entries at some places that exist. One read of up to 100."""
    return entries_and_sums(store, network, account, places, ())[0]


def entries_and_sums(
    store: Store, network: str, account: str, places: Iterable[Place], tokens: Iterable[str]
) -> tuple[dict[Place, Holding], dict[str, int]]:
    """The entries at some places that exist, and the sums of some tokens. One read of up to 100."""
    wanted: dict[Key, type[Record]] = {
        Holding.KEY.of(network=network, account=account, token=token, owner=owner): Holding
        for token, owner in places
    }
    wanted |= {HoldingsTotal.KEY.of(network=network, account=account, token=each): HoldingsTotal for each in tokens}
    found = store.get_many(wanted)
    known = {(each.token, each.owner): each for each in found.values() if isinstance(each, Holding)}
    return known, {each.token: each.total for each in found.values() if isinstance(each, HoldingsTotal)}


def sums(store: Store, network: str, account: str) -> tuple[HoldingsTotal, ...]:
    """What is held in all, of each token that the account ever held. One query."""
    return store.query(HoldingsTotal, HoldingsTotal.KEY.all(network=network, account=account))
