"""Reads and changes the settings of an account."""

from dataclasses import replace
from datetime import timedelta
from typing import TypedDict

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.access.presence import ProofRequired, second_factors_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.relayer import store as relayer_store

CHECKED_WITHIN = timedelta(hours=1)
"""How old the last check of an account may be; one whose key is set is checked every minute."""


class AccountSettings(TypedDict, total=False):
    """Settings by the field name of the record. Settings that are left out do not change."""

    name: str
    requires_second_factor: bool
    has_approvals: bool
    approval_delay_hours: int
    plain_transfers: bool
    business_name: str | None
    business_address: str | None
    tax_id: str | None


def read(services: Services, account_id: str) -> Account:
    """One read. Raises NotFound."""
    account = credential_store.account(services.store, account_id)
    if account is None:
        raise NotFound("Account not found")
    return account


def networks_low_on_gas(services: Services, role: Role) -> list[str] | None:
    """The networks on which the service's own account had too little for gas within the last hour: what it sends waits
    there. None for a role that does not change the account. Two reads at most."""
    if "account:write" not in SCOPES_OF[role]:
        return None
    return list(relayer_store.networks_with_low_balance(services.store, services.clock() - CHECKED_WITHIN))


@retry_conflicts(20)  # every change of a member writes the account, too
def change(services: Services, actor: Actor, member: Member, settings: AccountSettings) -> Account:
    """Changes settings. One read, one transaction; none if nothing differs.

    Raises NotFound. If a second factor is to be demanded by a session that has none itself, raises ProofRequired where
    the person can give one, else Conflict.
    """
    account = read(services, actor.account_id)
    changed = replace(account, **settings)
    if changed.requires_second_factor and not member.session.has_second_factor:
        if proofs := second_factors_of(member):
            message = "Your own session has no second factor: prove your presence by a passkey or a wallet"
            raise ProofRequired(message, "presence_required", proofs)
        raise Conflict("Add a passkey and prove your presence by it first: your own session has no second factor")
    if account.has_approvals is None and not changed.has_approvals:
        changed = replace(changed, has_approvals=None)  # nothing to switch off: two people still find them on
    if changed == account:
        return account
    entry = audit.make_entry(actor, "account.updated", account.account_id, services.clock(), services.entropy)
    services.store.write(changed, entry)
    return changed
