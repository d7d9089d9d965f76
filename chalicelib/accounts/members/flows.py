"""Lists members, changes their roles, removes them, and lets them leave.

Each change writes the account, whose version was read before the members were: of two changes at once one is decided
again. So an account never loses its last owner, and nobody changes others after they were removed.
"""

from dataclasses import replace

from chalicelib.accounts.members import store
from chalicelib.accounts.members.rules import (
    Team,
    check_keeps_owner,
    check_manages,
    invitations_by,
    with_approvals,
)
from chalicelib.accounts.sign_in.open_sessions import end_all
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership, Person, Role
from chalicelib.platform.access.people.rules import pointer_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete

ATTEMPTS = 20
"""How often a change is decided again if others change the members of the account at the same time."""


def list_members(services: Services, account_id: str) -> list[tuple[Membership, Person]]:
    """The members of an account, the oldest membership first. One query, one read for up to a hundred."""
    members = person_store.members(services.store, account_id)
    found = person_store.find_people(services.store, (each.person_id for each in members))
    return sorted(((each, found[each.person_id]) for each in members), key=lambda pair: pair[0].joined_at)


@retry_conflicts(ATTEMPTS)
def change_role(services: Services, actor: Actor, by: str | None, person_id: str, role: Role) -> Membership:
    """Gives a member another role, from the next call of any of their sessions on. `by` is None for the operator.

    The invitations that the member has made are withdrawn, but those that the new role may make. Raises NotFound,
    Forbidden, and Conflict for the last owner.
    """
    team = store.team(services.store, actor.account_id)
    member = team.member(person_id)
    check_manages(team, by, member.role, role)
    if member.role is role:
        return member
    check_keeps_owner(team, member)
    changed = replace(member, role=role)
    withdrawn = _withdrawn(services, team, person_id, role)
    account, entry = with_approvals(team, changed), _entry(services, actor, "member.role_changed", person_id)
    services.store.write(account, changed, *withdrawn, entry)
    return changed


@retry_conflicts(ATTEMPTS)
def remove(services: Services, actor: Actor, by: str | None, person_id: str) -> None:
    """Removes a member, whose sessions in the account end in the same transaction. API keys stay as they are.

    Raises NotFound, Forbidden, and Conflict for the last owner.
    """
    team = store.team(services.store, actor.account_id)
    member = team.member(person_id)
    check_manages(team, by, member.role)
    check_keeps_owner(team, member)
    _end(services, actor, team, member, "member.removed")


@retry_conflicts(ATTEMPTS)
def leave(services: Services, actor: Actor, person_id: str) -> None:
    """Ends a person's own membership, and all their sessions in the account. Raises NotFound, Conflict."""
    team = store.team(services.store, actor.account_id)
    member = team.member(person_id)
    check_keeps_owner(team, member)
    _end(services, actor, team, member, "member.left")


def end_sessions(services: Services, actor: Actor, by: str, person_id: str) -> int:
    """Ends the sessions of a member in the account, one transaction each. Returns how many. Raises as `remove`."""
    team = store.team(services.store, actor.account_id)
    check_manages(team, by, team.member(person_id).role)
    return end_all(services, person_id, actor, actor.account_id)


def _end(services: Services, actor: Actor, team: Team, member: Membership, action: str) -> None:
    """Ends a membership, and withdraws the invitations that the member has made."""
    withdrawn = _withdrawn(services, team, member.person_id)
    entry = _entry(services, actor, action, member.person_id)
    services.store.write(team.account, Delete(member), Delete(pointer_of(member)), *withdrawn, entry)


def _withdrawn(services: Services, team: Team, person_id: str, role: Role | None = None) -> list[Delete]:
    return [Delete(each) for each in invitations_by(team, person_id, services.clock(), role)]


def _entry(services: Services, actor: Actor, action: str, person_id: str) -> AuditEntry:
    return audit.make_entry(actor, action, person_id, services.clock(), services.entropy)
