"""Reads passkeys, and the challenges that they sign."""

from chalicelib.accounts.passkeys.records import Passkey, PasskeyChallenge
from chalicelib.platform.storage.store import Store


def passkey(store: Store, person_id: str, passkey_id: str) -> Passkey | None:
    """One read. The key has the first 64 characters of an id, which are those of longer texts, too."""
    found = store.get(Passkey, Passkey.KEY.of(person_id=person_id, passkey_id=passkey_id))
    return found if found is not None and found.passkey_id == passkey_id else None


def passkeys(store: Store, person_id: str) -> tuple[Passkey, ...]:
    """The passkeys of a person. One query."""
    return store.query(Passkey, Passkey.KEY.all(person_id=person_id))


def challenge(store: Store, challenge_hash: str) -> PasskeyChallenge | None:
    """The challenge with this hash, if it is not used. One read."""
    return store.get(PasskeyChallenge, PasskeyChallenge.KEY.of(challenge_hash=challenge_hash))
