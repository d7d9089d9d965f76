"""Reads payers and their bank accounts."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.offramp.payers.records import BankAccount, Payer, PayerName
from chalicelib.platform.storage.store import Store


@frozen
class Due:
    """A payer that is due, or one of the payer's bank accounts."""

    user_id: str
    details_id: str | None


def payer(store: Store, user_id: str) -> Payer | None:
    """One read."""
    return store.get(Payer, Payer.KEY.of(user_id=user_id))


def name(store: Store, name_hash: str) -> PayerName | None:
    """The entry of the merchant's id of a person (rules.name_hash). One read."""
    return store.get(PayerName, PayerName.KEY.of(name_hash=name_hash))


def with_names(store: Store, name_hashes: Iterable[str]) -> dict[str, Payer]:
    """The payers that exist, by the hash of the merchant's id. Two reads for up to 100 of them."""
    keys = {PayerName.KEY.of(name_hash=each): PayerName for each in name_hashes}
    names: list[PayerName] = list(store.get_many(keys).values()) if keys else []
    users = {Payer.KEY.of(user_id=each.user_id): Payer for each in names}
    found = {each.user_id: each for each in store.get_many(users).values()} if users else {}
    return {each.name_hash: found[each.user_id] for each in names if each.user_id in found}


def bank_account(store: Store, user_id: str, details_id: str) -> BankAccount | None:
    """One read."""
    return store.get(BankAccount, BankAccount.KEY.of(user_id=user_id, details_id=details_id))


def bank_accounts(store: Store, user_id: str) -> tuple[BankAccount, ...]:
    """All bank accounts of a payer. One query."""
    return store.query(BankAccount, BankAccount.KEY.all(user_id=user_id))


def due(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[Due]:
    """What was due before an instant, at most `limit` per shard. One query per shard."""
    for key in store.due(Payer, before, limit, first_shard):
        kind, _, details_id = key.sk.partition("#")
        yield Due(key.pk.partition("#")[2], details_id if kind == BankAccount.KEY.kind else None)
