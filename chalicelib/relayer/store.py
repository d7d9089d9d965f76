"""Reads of the records of the service's own accounts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Key, Record
from chalicelib.platform.own_accounts import store as own_accounts
from chalicelib.platform.storage.store import Store
from chalicelib.relayer.records import (
    AccountUse,
    RelayedCall,
    RelayedTransaction,
    RelayerAccount,
    RelayerProgress,
    Reverts,
    Source,
    TakenFunds,
)


@frozen
class Known:
    """An account; those of some calls that were accepted, by key; what open calls take, by where they take it from;
    what calls may cost today, by the account of this service that they are for; `uncounted` as in `Limits`."""

    account: RelayerAccount | None
    calls: Mapping[str, RelayedCall]
    taken: Mapping[Source, int]
    uses: Mapping[str, AccountUse] = field(default_factory=dict)
    reverts: Mapping[str, Reverts] = field(default_factory=dict)
    uncounted: frozenset[str] = frozenset()


def call(store: Store, call_key: str) -> RelayedCall | None:
    return store.get(RelayedCall, RelayedCall.KEY.of(call_key=call_key))


def calls(store: Store, call_keys: Iterable[str]) -> dict[str, RelayedCall]:
    """The calls with these keys that were accepted, by key; in batches of 100."""
    found = store.get_many({RelayedCall.KEY.of(call_key=each): RelayedCall for each in call_keys})
    return {each.call_key: each for each in found.values()}


def find_known(
    store: Store,
    network: str,
    sender: str,
    call_keys: Sequence[str],
    counters: Sequence[TakenFunds],
    uses: Sequence[AccountUse],
    reverts_of: Iterable[str],
) -> Known:
    """What is stored of an account, and up to ten calls with their counts, uses and reverts. One read."""
    account_key = RelayerAccount.KEY.of(network=network, sender=sender)
    wanted: dict[Key, type[Record]] = {account_key: RelayerAccount}
    wanted |= {RelayedCall.KEY.of(call_key=each): RelayedCall for each in call_keys}
    wanted |= {each.key: TakenFunds for each in counters}
    wanted |= {each.key: AccountUse for each in uses}
    wanted |= {Reverts.KEY.of(network=network, account_id=each): Reverts for each in reverts_of}
    found = store.get_many(wanted)
    accepted = {each.call_key: each for each in found.values() if isinstance(each, RelayedCall)}
    used = {each.account_id: each for each in found.values() if isinstance(each, AccountUse)}
    taken = {each.source: each.under_way for each in found.values() if isinstance(each, TakenFunds)}
    reverted = {each.account_id: each for each in found.values() if isinstance(each, Reverts)}
    return Known(found.get(account_key), accepted, taken, used, reverted)


def reverts(store: Store, network: str, account_id: str) -> Reverts | None:
    return store.get(Reverts, Reverts.KEY.of(network=network, account_id=account_id))


def reverts_of_many(store: Store, network: str, names: Iterable[str]) -> dict[str, Reverts]:
    """The counts of reverts that exist, by the name of the account or payer; in batches of 100."""
    keys = {Reverts.KEY.of(network=network, account_id=each): Reverts for each in names}
    return {each.account_id: each for each in store.get_many(keys).values()}


def networks_with_low_balance(store: Store, since: datetime) -> tuple[str, ...]:
    """Where an account had too little for gas when it was last checked, at `since` or later: a former one is checked no
    more. One read, and a second one if there are accounts."""
    accounts = own_accounts.senders(store).accounts
    keys = {RelayerProgress.KEY.of(network=each.network, sender=each.address) for each in accounts}
    found = store.get_many(dict.fromkeys(keys, RelayerProgress)).values() if keys else ()
    return tuple(sorted({each.network for each in found if each.has_low_balance and each.checked_at >= since}))


def account(store: Store, network: str, sender: str) -> RelayerAccount | None:
    return store.get(RelayerAccount, RelayerAccount.KEY.of(network=network, sender=sender))


def progress(store: Store, network: str, sender: str) -> RelayerProgress | None:
    return store.get(RelayerProgress, RelayerProgress.KEY.of(network=network, sender=sender))


def transactions_from(
    store: Store, network: str, sender: str, nonce: int, limit: int
) -> tuple[RelayedTransaction, ...]:
    """The first `limit` transactions of an account from a nonce on."""
    return store.query(
        RelayedTransaction, RelayedTransaction.KEY.starting(network=network, sender=sender, nonce=nonce), limit
    )
