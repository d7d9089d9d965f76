"""Reads people, their identities, and memberships by account or by person."""

from collections.abc import Iterable

from chalicelib.base.records import Key, Record
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import (
    Identity,
    Membership,
    MembershipPointer,
    Person,
    is_email,
    name_hash,
)
from chalicelib.platform.storage.store import Store


def identity(store: Store, name: str) -> Identity | None:
    """The identity of a wallet name (`Wallet.name`) or an e-mail address in lower case. One read."""
    return store.get(Identity, Identity.KEY.of(name_hash=name_hash(name)))


def identities(store: Store, names: Iterable[str]) -> list[Identity]:
    """The identities that exist among these names. One read."""
    return list(store.get_many({Identity.KEY.of(name_hash=name_hash(name)): Identity for name in names}).values())


def list_confirmed_addresses(store: Store, person: Person) -> tuple[str, ...]:
    """The e-mail addresses of a person that are confirmed, the oldest first. One read, if there are any."""
    names = [each for each in person.identities if is_email(each)]
    confirmed = {each.name for each in identities(store, names) if each.verified_at is not None} if names else set()
    return tuple(each for each in names if each in confirmed)


def find_person(store: Store, person_id: str) -> Person | None:
    """One read."""
    return store.get(Person, Person.KEY.of(person_id=person_id))


def find_people(store: Store, person_ids: Iterable[str]) -> dict[str, Person]:
    """People by their ids. One read for up to a hundred."""
    wanted = {Person.KEY.of(person_id=each): Person for each in person_ids}
    return {each.person_id: each for each in store.get_many(wanted).values()}


def find_membership(store: Store, account_id: str, person_id: str) -> Membership | None:
    """One read."""
    return store.get(Membership, Membership.KEY.of(account_id=account_id, person_id=person_id))


def members(store: Store, account_id: str) -> tuple[Membership, ...]:
    """The memberships of an account. One query."""
    return store.query(Membership, Membership.KEY.all(account_id=account_id))


def accounts_of(store: Store, person_id: str) -> list[tuple[Account, Membership]]:
    """The accounts of a person with their memberships, the oldest membership first. One query, one read."""
    pointers = memberships_of(store, person_id)
    keys = [(Account.KEY.of(account_id=each.account_id), Membership.KEY.of_record(each)) for each in pointers]
    wanted: dict[Key, type[Record]] = {account: Account for account, _ in keys}
    found = store.get_many(wanted | {membership: Membership for _, membership in keys})
    pairs = [(found[account], found[membership]) for account, membership in keys if membership in found]
    return sorted(pairs, key=lambda pair: str(pair[1].joined_at))


def memberships_of(store: Store, person_id: str) -> tuple[MembershipPointer, ...]:
    """The pointers to the accounts of a person. One query."""
    return store.query(MembershipPointer, MembershipPointer.KEY.all(person_id=person_id))
