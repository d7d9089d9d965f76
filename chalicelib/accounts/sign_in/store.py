"""Reads the challenges that wallets sign."""

from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.platform.storage.store import Store


def challenge(store: Store, challenge_id: str) -> Challenge | None:
    """The challenge with this id, if it is not used. One read."""
    return store.get(Challenge, Challenge.KEY.of(challenge_id=challenge_id))
