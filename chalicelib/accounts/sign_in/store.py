"""The challenges that wallets sign."""

from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.storage.store import Store


def challenge(store: Store, challenge_id: str) -> Challenge | None:
    """One read."""
    return store.get(Challenge, Challenge.KEY.of(challenge_id=challenge_id))
