"""Reads of what the service's account holds for whom."""

from collections.abc import Iterable

from chalicelib.base.records import Key, Record
from chalicelib.platform.storage.store import Store
from chalicelib.relayer.holdings.records import HeldTokens, HeldTotal
from chalicelib.relayer.holdings.rules import Place


def entries(store: Store, network: str, account: str, places: Iterable[Place]) -> dict[Place, HeldTokens]:
    """The entries at some places that exist. One read of up to 100."""
    return held(store, network, account, places, ())[0]


def held(
    store: Store, network: str, account: str, places: Iterable[Place], tokens: Iterable[str]
) -> tuple[dict[Place, HeldTokens], dict[str, int]]:
    """The entries at some places that exist, and the sums of some tokens. One read of up to 100."""
    wanted: dict[Key, type[Record]] = {
        HeldTokens.KEY.of(network=network, account=account, token=token, owner=owner): HeldTokens
        for token, owner in places
    }
    wanted |= {HeldTotal.KEY.of(network=network, account=account, token=each): HeldTotal for each in tokens}
    found = store.get_many(wanted)
    known = {(each.token, each.owner): each for each in found.values() if isinstance(each, HeldTokens)}
    return known, {each.token: each.held for each in found.values() if isinstance(each, HeldTotal)}


def sums(store: Store, network: str, account: str) -> tuple[HeldTotal, ...]:
    """What is held in all, of each token that the account ever held. One query."""
    return store.query(HeldTotal, HeldTotal.KEY.all(network=network, account=account))
