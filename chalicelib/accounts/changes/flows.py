"""Lists, approves, refuses and withdraws changes that wait."""

from chalicelib.accounts.changes import applying, rules, store
from chalicelib.accounts.changes.records import ChangeState, PendingChange
from chalicelib.accounts.changes.verified import find_verified_people
from chalicelib.base.errors import Conflict, Forbidden, NotFound
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.webhooks.flows import event_context, queue_publishing


def page(
    services: Services, account_id: str, before: str | None, limit: int
) -> tuple[tuple[PendingChange, ...], str | None]:
    """Up to `limit` changes that are older than the one `before`, newest first, and the id to go on with. One read."""
    found = store.changes_before(services.store, account_id, before, limit + 1)
    return found[:limit], found[limit - 1].change_id if len(found) > limit else None


def read(services: Services, account_id: str, change_id: str) -> PendingChange:
    """One read. Raises NotFound."""
    change = store.change(services.store, account_id, change_id)
    if change is None:
        raise NotFound("Change not found")
    return change


def approve(services: Services, actor: Actor, member: Member, change_id: str) -> PendingChange:
    """Approves a change, which takes effect if enough people have.

    Raises NotFound, Forbidden (rules.approved), Conflict if it is decided, also at the same moment, or if it no longer
    applies.
    """
    pending = _pending(services, actor.account_id, change_id)
    person_id = member.person.person_id
    known = find_verified_people(services, (person_id, pending.asker.person_id, *pending.approved_by))
    change = rules.approve_change(pending, person_id, member.membership.role, known)
    context = event_context(services)
    notices = rules.notices(change, "approved", actor, context)
    members = person_store.members(services.store, actor.account_id)
    if rules.is_approved(change, members, known):
        return applying.apply(services, actor, change, notices, rules.standing_for(change, members))
    try:
        written = services.store.write(change, *notices)
    except WriteConflict:
        raise Conflict(rules.DECIDED) from None
    queue_publishing(services, notices[1:])
    return written


def refuse(services: Services, actor: Actor, person_id: str, change_id: str) -> PendingChange:
    """Ends a change. Raises NotFound, Forbidden (rules.check_may_refuse), Conflict."""
    change = _pending(services, actor.account_id, change_id)
    rules.check_may_refuse(change, person_id)
    return _end(services, actor, change, ChangeState.REFUSED)


def withdraw(services: Services, actor: Actor, person_id: str, change_id: str) -> PendingChange:
    """Ends a change that the person has asked for. Raises NotFound, Forbidden, Conflict."""
    change = _pending(services, actor.account_id, change_id)
    if change.asker.person_id != person_id:
        raise Forbidden("Somebody else asked for this change: refuse it")
    return _end(services, actor, change, ChangeState.WITHDRAWN)


def _pending(services: Services, account_id: str, change_id: str) -> PendingChange:
    return rules.check_pending(read(services, account_id, change_id), services.clock())


def _end(services: Services, actor: Actor, change: PendingChange, state: ChangeState) -> PendingChange:
    try:
        return applying.end(services, actor, change, state)
    except WriteConflict:
        raise Conflict(rules.DECIDED) from None
