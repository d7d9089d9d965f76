"""Runs the view of an operation that may redirect money, and stores its request if that has to wait for approval.

The view runs in both cases, with all its checks. A transaction of it that redirects money (`Record.redirects`) is not
made where the account has approvals: the request is stored instead.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from chalicelib.accounts.changes import rules, store
from chalicelib.accounts.changes.applying import redirecting_own
from chalicelib.accounts.changes.effects import effects_of
from chalicelib.accounts.changes.records import Asker, AskingSession, PendingChange
from chalicelib.accounts.changes.schemas import ChangeAnswer, Waiting
from chalicelib.accounts.changes.verified import find_verified_people
from chalicelib.base import ids
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.http.operation import Operation
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.responses import response_of
from chalicelib.platform.http.view import AnyCall, View
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Write
from chalicelib.webhooks.flows import event_context, queue_publishing

WAITS = 202


def run(operation: Operation, view: View, call: AnyCall, request: HttpRequest) -> Any:
    """What the view returns, or 202 with the change that waits."""
    waiting = list[Write]()

    def hold(apply: Callable[..., None], writes: Sequence[Write]) -> None:
        if waiting or _waits(call, writes):
            waiting.extend(writes)
        else:
            apply(*writes)

    nonce = call.services.entropy(16).hex()
    joined = replace(call.services, store=call.services.store.with_join(hold))
    result = view(replace(call, services=joined, entropy=rules.secrets_of(nonce)))
    if not waiting:
        return result
    change = _ask(call, operation, request, waiting, nonce)
    shown = {"result": json.loads(response_of(result, WAITS).body)} if operation.shows_secret else {}
    return response_of(Waiting(pendingChange=ChangeAnswer.of(change), **shown), WAITS)


def _waits(call: AnyCall, writes: Sequence[Write]) -> bool:
    caller = call.caller
    if not redirecting_own(call.services, writes, caller.account_id, person_of(caller)):
        return False
    return credential_store.has_approvals(call.services.store, caller.account_id)


def person_of(caller: Caller) -> str | None:
    return caller.member.person.person_id if caller.member else None


@retry_conflicts(20)
def _ask(
    call: AnyCall, operation: Operation, request: HttpRequest, waiting: Sequence[Write], nonce: str
) -> PendingChange:
    """Stores the request, with the notice and the event of it, in one transaction. Raises BadRequest if the caller has
    too many open ones."""
    services, caller = call.services, call.caller
    context = event_context(services)
    now, account_id = context.now, caller.account_id
    asker, change_id = _asker(caller, request), ids.ulid(now, services.entropy)
    own_open = rules.with_one_more(store.open_of(services.store, account_id, asker.name), change_id)
    account = credential_store.account(services.store, account_id)
    assert account is not None, "it has approvals"
    steps = store.steps_of(services.store, waiting)
    own = [each for each in rules.redirecting(steps, asker.person_id) if rules.account_of(each) == account_id]
    scope = rules.scope_of(operation.scope, steps)
    members = person_store.members(services.store, account_id)
    known = find_verified_people(services, (person_of(caller), *(each.person_id for each in members)))
    effective = rules.takes_effect_at(account, members, known, scope, person_of(caller), now)
    change = PendingChange(
        account_id=account_id,
        change_id=change_id,
        operation=operation.name,
        path=json.dumps(dict(request.parameters)),
        query=json.dumps(dict(request.query)),
        body=request.raw_body.decode(),
        effects=effects_of(services.store, account_id, own),
        scope=scope,
        asker=asker,
        asked_at=now,
        expires_at=(effective or now) + rules.LIFETIME,
        notice_id="",
        takes_effect_at=effective,
        sealed=services.secrets.encrypt(nonce, rules.owner_of(change_id)) if operation.shows_secret else None,
    )
    entry, event = rules.notices(change, "requested", call.actor, context)
    services.store.write(replace(change, notice_id=entry.entry_id), own_open, entry, event)
    queue_publishing(services, [event])
    return change


def _asker(caller: Caller, request: HttpRequest) -> Asker:
    session = caller.session
    return Asker(
        mode=caller.mode,
        name=caller.actor,
        ip_address=request.ip_address,
        request_id=request.request_id,
        person_id=person_of(caller),
        session=AskingSession(
            session.session_id,
            session.member_since,
            session.kind,
            session.subject,
            session.has_second_factor,
            session.chain_id,
        ) if session else None,
        key_id=caller.key_id,
        client_hash=caller.client.client_id_hash if caller.client else None,
    )
