"""What somebody who is signed in makes is made once, however often it is sent under its key, and what it shows once is
shown to whoever sends it again."""

from typing import Any

import pytest

from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.support.client import Api, Reply, stored
from tests.support.examples import headers_for, prepared
from tests.support.running import running
from tests.support.tenants import WAYS, Tenant

COOKIE = next(way for way in WAYS if way.serves == (Mode.SESSION,))
MAKING = [
    known for known in OPERATIONS
    if Mode.SESSION in known.modes and known.takes_idempotency_key and (known.status == 201 or known.shows_secret)
    and known.name != "switch_account"
]  # fmt: skip
"""Without switching, after which the session has another token."""
ONCE = {"idempotency-key": "pressed-again"}
SHOWN = ("key", "secret", "rawKey", "link")
"""The fields of responses that show what cannot be read again."""


def twice(api: Api, known: Operation, headers: dict[str, str], own: Any) -> Reply:
    """The response to what is sent twice, which is the same, and after which nothing more is stored."""
    first = own.send(api, {**headers, **ONCE})
    before = stored()
    again = own.send(api, {**headers, **ONCE})
    assert (again.status, again.body) == (first.status, first.body), known.name
    assert again.headers["idempotent-replayed"] == "true"
    assert stored() == before
    return again


@pytest.mark.parametrize("known", MAKING, ids=lambda known: known.name)
def test_what_is_sent_again_makes_one_thing_and_shows_its_secret_again(api: Api, known: Operation) -> None:
    clear_tables()
    tenant = Tenant()
    headers, own = headers_for(known, tenant, COOKIE), prepared(known, tenant, COOKIE)
    reply = twice(api, known, headers, own)
    assert reply.status == known.status, reply.body
    kept = [each for each, _ in running().store.scan((IdempotentRequest,)) if isinstance(each, IdempotentRequest)]
    secrets = [str(reply.json[name]) for name in SHOWN if reply.json.get(name)]
    assert len(kept) == 1 and not any(each in str(kept[0].answer) for each in secrets), known.name


@pytest.mark.parametrize("known", [known for known in MAKING if known.redirects], ids=lambda known: known.name)
def test_a_change_that_waits_is_asked_for_once(api: Api, known: Operation) -> None:
    clear_tables()
    tenant = Tenant()
    headers, own = headers_for(known, tenant, COOKIE), prepared(known, tenant, COOKIE)
    tenant.switch_approvals_on()
    reply = twice(api, known, headers, own)
    assert reply.status in (known.status, 202), reply.body
    waiting = api.get("/v1/changes", headers).json["changes"]
    assert len(waiting) == (reply.status == 202)
