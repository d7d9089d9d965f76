"""Reads of the records of the service's own accounts."""

from collections.abc import Sequence

from chalicelib.base.records import Key, Record
from chalicelib.relayer.records import RelayedCall, RelayedTransaction, RelayerAccount, RelayerProgress
from chalicelib.storage.store import Store


def call(store: Store, call_key: str) -> RelayedCall | None:
    return store.get(RelayedCall, RelayedCall.KEY.of(call_key=call_key))


def account_with_calls(
    store: Store, network: str, sender: str, call_keys: Sequence[str]
) -> tuple[RelayerAccount | None, dict[str, RelayedCall]]:
    """The account, and those of the calls that were accepted, by their keys. One read."""
    account_key = RelayerAccount.KEY.of(network=network, sender=sender)
    keys = {RelayedCall.KEY.of(call_key=each): each for each in call_keys}
    wanted: dict[Key, type[Record]] = {account_key: RelayerAccount, **dict.fromkeys(keys, RelayedCall)}
    found = store.get_many(wanted)
    return found.get(account_key), {keys[key]: record for key, record in found.items() if key in keys}


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
