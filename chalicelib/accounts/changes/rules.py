"""Which writes wait, who may approve a change, and what becomes of it.

    pending ── enough people ── applied        an API key counts as nobody: its change takes two people
       │  └─── takes_effect_at ── applied       in an account with a delay
       ├── refused, withdrawn, expired
       └── failed                               what it was asked for does not apply any more
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.accounts.changes.records import ChangeState, OpenChanges, PendingChange
from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.base.ids import Entropy
from chalicelib.base.records import Record
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.idempotency.rules import entropy_of
from chalicelib.platform.access.people.records import Membership, Role
from chalicelib.platform.access.people.roles import APPROVES, OWNERS, SCOPES_OF, check_role
from chalicelib.webhooks.kinds import body_of, new_event, with_sequence
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

Step = tuple[Record | None, Record | None]
"""A record before and after a transaction; None where there is none."""
EYES = 2
"""How many people a change takes that does not wait for the delay, with the one who asked for it."""
LIFETIME = timedelta(days=7)
"""How long a change waits for approval. One with a delay expires so long after it, if it could not take effect."""
MAX_OPEN = 20
"""How many open changes a person, an API key or a client id may have asked for."""
DECIDED = "This change was decided already: read it again"


def redirecting(steps: Iterable[Step], person_id: str | None) -> list[Step]:
    """The steps of a transaction of a person that redirect money."""
    return [step for step in steps if _redirects(step, person_id)]


def _redirects(step: Step, person_id: str | None) -> bool:
    before, after = step
    if after is None:
        return before is not None and before.end_redirects(person_id)
    return after.redirects(before)


def account_of(step: Step) -> str:
    """The account whose money it redirects."""
    before, after = step
    account_id: str = getattr(after or before, "account_id")  # noqa: B009 - every kind that redirects has one
    return account_id


def secrets_of(nonce: str) -> Entropy:
    """What the secrets of a change are drawn from: the same when it takes effect as in the response to its request."""
    return entropy_of("change", b"", nonce)


def owner_of(change_id: str) -> str:
    """For what the nonce is encrypted (infra/iam.py)."""
    return f"change#{change_id}"


def scope_of(operation_scope: str | None, steps: Iterable[Step]) -> str | None:
    """What somebody needs to approve it, besides APPROVES: the scope of the operation, and that of owners for owners.
    """
    is_about_owner = any(getattr(each, "role", None) is Role.OWNER for step in steps for each in step)
    return OWNERS if is_about_owner else operation_scope


def may_approve(role: Role, scope: str | None) -> bool:
    return {APPROVES, scope or APPROVES} <= set(SCOPES_OF[role])


def takes_effect_at(
    account: Account,
    members: Iterable[Membership],
    verified: Collection[str],
    scope: str | None,
    person_id: str | None,
    now: datetime,
) -> datetime | None:
    """When a change takes effect without approval; None if it needs approval.

    Where too few `verified` people may approve it, it takes effect after LIFETIME: no choice locks an account.
    """
    if account.approval_delay_hours:
        return now + timedelta(hours=account.approval_delay_hours)
    able = {each.person_id for each in members if may_approve(each.role, scope)}
    return None if len((able | {person_id}) & set(verified)) >= EYES else now + LIFETIME


def with_one_more(known: OpenChanges, change_id: str) -> OpenChanges:
    """The open changes of an asker with a new one. Raises BadRequest if there are MAX_OPEN already."""
    if len(known.change_ids) >= MAX_OPEN:
        raise BadRequest(f"No more than {MAX_OPEN} open changes: withdraw one, or have them decided")
    return replace(known, change_ids=(*known.change_ids, change_id))


def check_pending(change: PendingChange, now: datetime) -> PendingChange:
    """Raises Conflict if it is decided, or its time is over."""
    if change.state is not ChangeState.PENDING:
        raise Conflict(f"This change is {change.state}")
    if now >= change.expires_at:
        raise Conflict("This change has expired")
    return change


def approve_change(change: PendingChange, person_id: str, role: Role, verified: Collection[str]) -> PendingChange:
    """The change with the approval of a person. Raises Forbidden for one's own, and without the right, or if the person
    is not `verified`; Conflict for a second approval by the same person."""
    if person_id == change.asker.person_id:
        raise Forbidden("You asked for this change yourself: somebody else has to approve it")
    check_role(role, APPROVES)
    check_role(role, change.scope)
    if person_id not in verified:
        raise Forbidden("Your e-mail address is not confirmed: have a link sent to it, and follow that first")
    if person_id in change.approved_by:
        raise Conflict("You have approved this change: it needs another person")
    return replace(change, approved_by=(*change.approved_by, person_id))


def check_may_refuse(change: PendingChange, person_id: str) -> None:
    """Raises Forbidden for a change of one's own membership: whose session was stolen would never be removed."""
    before = [each["before"] for each in json.loads(change.effects) if each["resource"] == Membership.RESOURCE]
    if any(each and each["personId"] == person_id for each in before):
        raise Forbidden("This change is of your own membership: somebody else has to refuse it")


def is_approved(change: PendingChange, members: Iterable[Membership], verified: Collection[str]) -> bool:
    """Whether enough `verified` people stand for it, of those who still may."""
    people = {each.person_id for each in standing_for(change, members)}
    return len((people | {change.asker.person_id}) & set(verified)) >= EYES


def standing_for(change: PendingChange, members: Iterable[Membership]) -> list[Membership]:
    """Who asked for it, and who has approved it and still may."""
    return [
        each for each in members
        if each.person_id == change.asker.person_id
        or (each.person_id in change.approved_by and may_approve(each.role, change.scope))
    ]  # fmt: skip


def end_change(
    change: PendingChange, state: ChangeState, by: Actor, now: datetime, reason: str | None = None
) -> PendingChange:
    """The change as it ends; it keeps no secrets."""
    return replace(change, state=state, decided_at=now, decided_by=by.name, reason=reason, sealed=None)


def notices(change: PendingChange, verb: str, by: Actor, context: EventContext) -> tuple[AuditEntry, Event]:
    """The audit entry, by which owners are notified, and the event of a step of a change."""
    entry = audit.make_entry(by, f"change.{verb}", change.change_id, context.now, context.entropy)
    return replace(entry, operation=change.operation), event_of(change, verb, context)


def event_of(change: PendingChange, verb: str, context: EventContext) -> Event:
    """The event of a step of a change. Their sequences: that it was asked for, each approval, and its end."""
    kind = f"account.change_{verb}"
    facts = {
        "timestamp": iso(context.now),
        "changeId": change.change_id,
        "operation": change.operation,
        "state": change.state.value,
        "askedBy": change.asker.name,
        "approvedBy": [f"person:{each}" for each in change.approved_by],
        "takesEffectAt": iso(change.takes_effect_at) if change.takes_effect_at else None,
        "expiresAt": iso(change.expires_at),
        "decidedBy": change.decided_by,
        "reason": change.reason,
    }
    event = new_event(kind, body_of(kind, facts), change.account_id, None, context)
    is_ended = change.state is not ChangeState.PENDING
    return with_sequence(event, 1 + len(change.approved_by) + is_ended)
