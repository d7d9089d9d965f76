"""Reads payee destinations, and the nonces that wallets sign."""

from chalicelib.accounts.payees.records import ActiveDestination, PayeeDestination, SigningNonce
from chalicelib.platform.storage.store import Store


def destination(store: Store, account_id: str, record_id: str) -> PayeeDestination | None:
    """One destination of an account, active or not. One read."""
    return store.get(PayeeDestination, PayeeDestination.KEY.of(account_id=account_id, record_id=record_id))


def destinations(store: Store, account_id: str) -> tuple[PayeeDestination, ...]:
    """All destinations of an account, oldest first. One query."""
    return store.query(PayeeDestination, PayeeDestination.KEY.all(account_id=account_id))


def active_destination(store: Store, wallet_name: str) -> tuple[ActiveDestination, PayeeDestination] | None:
    """The active destination of a wallet (`Wallet.name`), with the record that points to it. Two reads."""
    pointer = store.get(ActiveDestination, ActiveDestination.KEY.of(wallet_address=wallet_name))
    found = destination(store, pointer.account_id, pointer.record_id) if pointer else None
    return (pointer, found) if pointer and found and found.is_active else None


def nonce(store: Store, text: str) -> SigningNonce | None:
    """The nonce with this text, if it is not used. One read."""
    return store.get(SigningNonce, SigningNonce.KEY.of(nonce=text))
