"""Makes a change that has waited: runs the view of its operation again, as its asker, in one transaction with its end.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from chalicelib.accounts.changes import delay, rules, store
from chalicelib.accounts.changes.effects import effects_of
from chalicelib.accounts.changes.records import Asker, ChangeState, PendingChange
from chalicelib.base.errors import Conflict, Forbidden, ServiceError, TooManyRequests
from chalicelib.base.records import Record
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Caller, Member
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership
from chalicelib.platform.access.permissions import check_permitted
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import PROOFS
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.http.parsing import call_of
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.store import Write, WriteConflict
from chalicelib.webhooks.flows import event_context, queue_publishing
from chalicelib.webhooks.records import Event

_BUDGET = timedelta(seconds=40)
"""A run begins no change later than this; its function has 60 s."""
_BATCH = 100
_RETRY = timedelta(hours=1)
"""When a change is looked at again whose notice was not sent yet."""
_OTHER = "what it would do now is not what it was asked for and shown"
BY_DELAY = "service"


def apply(
    services: Services,
    by: Actor,
    change: PendingChange,
    approval: Sequence[Record] = (),
    standing: Sequence[Membership] = (),
) -> PendingChange:
    """Makes a change, with its end and what tells of it in the same transaction. `approval` tells of the last approval.

    The transaction requires that nobody of `standing`, who stand for it, nor its asker was changed meanwhile. Raises
    Conflict if it no longer applies, and was ended as failed, or if it was decided meanwhile.
    """
    context = event_context(services)
    settled = rules.end_change(change, ChangeState.APPLIED, by, context.now)
    notices = (*approval, *rules.notices(settled, "applied", by, context))
    guards, is_made = list[Record](standing), False

    def settle(make: Callable[..., None], writes: Sequence[Write]) -> None:
        nonlocal is_made
        own = redirecting_own(services, writes, change.account_id, change.asker.person_id)
        if own and effects_of(services.store, change.account_id, own) != change.effects:
            raise Conflict(_OTHER)
        try:
            make(*writes, *(() if is_made else (settled, *notices, *store.require_unchanged(guards, writes))))
        except WriteConflict:
            _check_as_read(services, change)
            raise
        is_made = True

    try:
        caller, known = _caller(services, change)
        guards += known
        _run(replace(services, store=services.store.with_join(settle)), change, caller)
    except ServiceError as error:
        if is_made or error.status >= 500 or isinstance(error, TooManyRequests):
            raise
        _check_as_read(services, change)
        end(services, by, change, ChangeState.FAILED, error.message)
        raise Conflict(f"This change no longer applies: {error.message}") from None
    if not is_made:  # what it wanted is so already
        services.store.write(settled, *notices)
    queue_publishing(services, [each for each in notices if isinstance(each, Event)])
    return settled


def end(
    services: Services, by: Actor, change: PendingChange, state: ChangeState, reason: str | None = None
) -> PendingChange:
    """Ends a change without effect. One transaction."""
    context = event_context(services)
    ended = rules.end_change(change, state, by, context.now, reason)
    entry, event = rules.notices(ended, state.value, by, context)
    services.store.write(ended, entry, event)
    queue_publishing(services, [event])
    return ended


def run_due(services: Services) -> int:
    """Makes the changes whose delay is over, and ends those that have expired. Returns how many. Safe to repeat."""
    now = services.clock()
    due = store.due(services.store, now, _BATCH, services.entropy(1)[0])
    in_time = sweeping.in_time(services.log, services.clock, now + _BUDGET, due)
    return sweeping.each(services.log, in_time, lambda key: _decide(services, store.at(services.store, key)))


def _decide(services: Services, change: PendingChange | None) -> bool:
    now = services.clock()
    if change is None or change.state is not ChangeState.PENDING:
        return False
    by = Actor(change.account_id, BY_DELAY, "", "")
    with suppress(Conflict, WriteConflict):  # it was decided meanwhile, or no longer applies, which is recorded
        if now >= change.expires_at:
            end(services, by, change, ChangeState.EXPIRED)
            return True
        ends_at = delay.ends_at(services, change)
        if ends_at is not None and now >= ends_at:
            apply(services, by, change)
            return True
        if ends_at is None:
            services.log.warning("change waits for its notice", extra={"change_id": change.change_id})
        # Meanwhile it does not stand before those of others that are due.
        services.store.write(replace(change, deferred_to=min(ends_at or now + _RETRY, change.expires_at)))
    return False


def redirecting_own(
    services: Services, writes: Sequence[Write], own: str, person_id: str | None
) -> list[rules.Step]:
    """What a transaction does that redirects money of the account, or who may do so. A read of what it changes, if it
    may.

    Raises Forbidden if it does so in another account that has approvals: a wallet may have destinations in several.
    """
    found = rules.redirecting(store.steps_of(services.store, writes), person_id)
    for account_id in {rules.account_of(each) for each in found} - {own}:
        account = credential_store.account(services.store, account_id)
        if account is not None and account.has_approvals:
            raise Forbidden("This belongs to another account, which has approvals: switch to it first")
    return [each for each in found if rules.account_of(each) == own]


def _check_as_read(services: Services, change: PendingChange) -> None:
    stored = store.change(services.store, change.account_id, change.change_id)
    if stored is None or stored.version != change.version:
        raise Conflict(rules.DECIDED)


def _run(services: Services, change: PendingChange, caller: Caller) -> None:
    operation, api = next((each, api) for each, api in OPERATIONS.items() if each.name == change.operation)
    check_permitted(caller, operation.scope)
    request = HttpRequest(
        request_id=change.asker.request_id,
        method=operation.method,
        path=operation.path,
        route=operation.path,
        parameters=json.loads(change.path),
        query=json.loads(change.query),
        headers={"content-type": "application/json"},
        repeated=frozenset(),
        raw_body=change.body.encode(),
        ip_address=change.asker.ip_address,
    )
    view: Any = getattr(import_module(api), operation.name)
    call = replace(call_of(view, services, caller, request), asked_at=change.asked_at)
    if change.sealed is not None:
        nonce = services.secrets.decrypt(change.sealed, rules.owner_of(change.change_id))
        call = replace(call, entropy=rules.secrets_of(nonce))
    view(call)


_GONE = "whoever asked for it may no longer do so"


def _caller(services: Services, change: PendingChange) -> tuple[Caller, list[Record]]:
    """The asker as the caller that they were, with the rights that they have now, and the records that say so. Raises
    Conflict."""
    asker, now = change.asker, services.clock()
    key = _key(services, change.account_id, asker, now)
    client = _client(services, asker)
    member = _member(services, change.account_id, asker)
    caller = Caller(
        mode=asker.mode,
        account_id=change.account_id,
        actor=asker.name,
        digest="",
        key_scope="",
        tier=Tier.DEFAULT,
        origin=None,
        scopes=key.scopes if key else (),
        key_id=asker.key_id,
        client=client,
        member=member,
    )
    return caller, [each for each in (key, client, member.membership if member else None) if each is not None]


def _key(services: Services, account_id: str, asker: Asker, now: datetime) -> ApiKey | None:
    if asker.key_id is None:
        return None
    key = credential_store.own_credential(services.store, account_id, ApiKey, asker.key_id)
    if key is None or key.status is not CredentialStatus.ACTIVE or (key.expires_at and now >= key.expires_at):
        raise Conflict(_GONE)
    return key


def _client(services: Services, asker: Asker) -> ClientId | None:
    if asker.client_hash is None:
        return None
    client = credential_store.client_id_of(services.store, asker.client_hash)
    if client is None or client.status is not CredentialStatus.ACTIVE:
        raise Conflict(_GONE)
    return client


def _member(services: Services, account_id: str, asker: Asker) -> Member | None:
    if asker.session is None or asker.person_id is None:
        return None
    membership = person_store.find_membership(services.store, account_id, asker.person_id)
    person, account = (
        person_store.find_person(services.store, asker.person_id),
        credential_store.account(services.store, account_id),
    )
    asked = asker.session
    if membership is None or person is None or account is None or membership.joined_at != asked.member_since:
        raise Conflict(_GONE)
    now = services.clock()
    session = Session(
        token_hash="",
        session_id=asked.session_id,
        account_id=account_id,
        person_id=asker.person_id,
        member_since=asked.member_since,
        kind=asked.kind,
        subject=asked.subject,
        created_at=now,
        last_seen_at=now,
        expires_at=now,
        proved_at=now,
        proved_by=PROOFS[asked.kind],
        has_second_factor=asked.has_second_factor,
        chain_id=asked.chain_id,
    )
    return Member(session, account, membership, person)
