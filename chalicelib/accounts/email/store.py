"""Reads what links in e-mails permit."""

from chalicelib.accounts.email.records import EmailToken
from chalicelib.accounts.email.rules import is_token
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.storage.store import Store


def token(store: Store, text: str) -> EmailToken | None:
    """What the token of a link permits, if it was not used. One read; none for a text that cannot be a token."""
    if not is_token(text):
        return None
    return store.get(EmailToken, EmailToken.KEY.of(token_hash=credential_hash(text)))
