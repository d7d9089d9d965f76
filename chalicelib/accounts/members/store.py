"""Reads the members and invitations of an account."""

from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.members.rules import Team
from chalicelib.base.errors import NotFound
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.storage.store import Store


def team(store: Store, account_id: str) -> Team:
    """The members and invitations of an account. One read, two queries. Raises NotFound.

    The account is read first: whoever writes it with what they decided has seen every change.
    """
    account = credential_store.account(store, account_id)
    if account is None:
        raise NotFound("Account not found")
    invitations = store.query(Invitation, Invitation.KEY.all(account_id=account_id))
    return Team(account, person_store.members(store, account_id), invitations)


def invitation(store: Store, account_id: str, invitation_id: str) -> Invitation | None:
    """One read."""
    return store.get(Invitation, Invitation.KEY.of(account_id=account_id, invitation_id=invitation_id))
