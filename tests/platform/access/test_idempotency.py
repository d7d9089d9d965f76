"""Idempotency keys: what a repetition is, what each state of a key answers, and which transactions a run makes."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Unprocessable
from chalicelib.base.records import Record
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.idempotency.flows import Journal, claim
from chalicelib.platform.access.idempotency.records import CONFLICT, IdempotentRequest
from chalicelib.platform.access.idempotency.rules import (
    LEASE,
    MAX_KEY_LENGTH,
    RESPONSE_LOST,
    RETENTION,
    begin,
    check_key,
    entropy_of,
    take_key,
)
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.platform.storage import codec
from chalicelib.platform.storage.store import Absent, Delete, Store, WriteConflict
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.records import Event
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import START, World

ASKED = begin("scope", b"body", START, "nonce")
ANSWERED = replace(ASKED, status=201, answer="[]")


def test_a_key_that_holds_an_answer_gives_it_for_a_day() -> None:
    assert take_key(ANSWERED, ASKED, START + RETENTION - timedelta(milliseconds=1)) == ANSWERED
    assert take_key(replace(ANSWERED, version=7), ASKED, START + RETENTION) == replace(ASKED, version=7)
    assert timedelta(hours=24) == RETENTION


def test_a_key_is_taken_while_its_request_runs_and_free_after_the_lease() -> None:
    with pytest.raises(Conflict, match="still running"):
        take_key(ASKED, ASKED, START + LEASE - timedelta(milliseconds=1))
    later = begin("scope", b"body", START + LEASE, "another")
    assert take_key(replace(ASKED, version=3), later, START + LEASE) == replace(later, version=3)


def test_a_request_that_made_something_is_resumed_after_the_lease_as_it_began() -> None:
    stored, later = replace(ASKED, version=3, steps=("1f",)), begin("scope", b"body", START + LEASE, "another")
    assert take_key(stored, later, START + LEASE) == replace(stored, lease_until=START + 2 * LEASE)


def test_a_lease_is_longer_than_a_request_may_run() -> None:
    assert timedelta(seconds=29) < LEASE


@pytest.mark.parametrize("stored", [ASKED, ANSWERED])
def test_another_body_under_a_key_is_refused_in_every_state(stored: object) -> None:
    other = begin("scope", b"another body", START, "nonce")
    with pytest.raises(Unprocessable, match="another body"):
        take_key(stored, other, START)  # type: ignore[arg-type]
    assert take_key(stored, other, START + RETENTION) == other  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a", "x" * MAX_KEY_LENGTH, "550e8400-e29b-41d4-a716-446655440000", "a b", "~!"])
def test_a_printable_key_is_taken(text: str) -> None:
    assert check_key(text) == text


@pytest.mark.parametrize("text", ["", "x" * (MAX_KEY_LENGTH + 1), "é", "a\nb", "\x00", "\x7f", "💸"])
def test_any_other_key_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="1 to 255 printable ASCII characters"):
        check_key(text)


def test_a_request_that_begins_holds_its_key_for_a_minute_and_has_no_answer_yet() -> None:
    assert begin("scope", b"body", START, "nonce") == IdempotentRequest(
        scope_hash=hashlib.sha256(b"scope").hexdigest(),
        body_hash=hashlib.sha256(b"scope\nbody").hexdigest(),
        lease_until=START + timedelta(seconds=60),
        expires_at=START + timedelta(hours=24),
        status=None,
        answer=None,
        is_encrypted=False,
        started_at=START,
        nonce="nonce",
    )


def test_the_start_of_a_request_is_the_time_that_is_stored() -> None:
    request = begin("scope", b"body", START + timedelta(microseconds=1_234_999), "nonce")
    assert request.started_at == START + timedelta(milliseconds=1_234)
    assert codec.decode(IdempotentRequest, codec.encode(request)).started_at == request.started_at


def test_what_is_stored_tells_neither_the_key_nor_the_body() -> None:
    record = str(begin("the-key", b"the-body", START, "nonce"))
    assert "the-key" not in record and "the-body" not in record
    assert begin("a", b"body", START, "nonce").body_hash != begin("b", b"body", START, "nonce").body_hash


# --- random bytes ---


def test_a_request_draws_the_same_bytes_each_time_it_is_run_and_no_bytes_twice() -> None:
    drawn = [[entropy(length) for length in (8, 8, 32, 0)] for entropy in (bytes_of(), bytes_of())]
    assert drawn[0] == drawn[1]
    assert [len(each) for each in drawn[0]] == [8, 8, 32, 0]
    assert len({each[:8] for each in drawn[0]}) == 4


@pytest.mark.parametrize("change", [{"scope": "other"}, {"body": b"x"}, {"nonce": "m"}], ids=str)
def test_any_other_request_or_nonce_draws_other_bytes(change: dict[str, Any]) -> None:
    assert bytes_of(**change)(32) != bytes_of()(32)


def bytes_of(**changes: Any) -> Any:
    facts: dict[str, Any] = {"scope": "scope", "body": b"", "nonce": "n", **changes}
    return entropy_of(**facts)


# --- transactions ---


@pytest.fixture
def services() -> Services:
    return replace(World(client=object()).services, store=MemoryStore())


def account(number: int, **changes: Any) -> Account:
    return replace(Account(f"acct{number}", "shop", START), **changes)


def run(services: Services, later: timedelta = timedelta(0)) -> Journal:
    """A process that takes the key after the last one died."""
    return Journal(services, claim(services, begin("scope", b"", START + later, "nonce")))


def joined(journal: Journal) -> Store:
    return journal.services(bytes_of()).store


def resumed(services: Services) -> Journal:
    stored = services.store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=ASKED.scope_hash))
    assert stored is not None
    return Journal(services, stored)


def test_a_transaction_is_made_with_its_record_or_not_at_all(services: Services) -> None:
    journal = run(services)
    joined(journal).write(account(1), account(2))
    assert resumed(services).record == journal.record
    assert len(journal.record.steps) == 1
    with pytest.raises(WriteConflict):
        joined(journal).write(account(3), account(2))
    assert resumed(services).record == journal.record
    assert services.store.get(Account, account(3).key) is None


def test_a_transaction_prolongs_the_lease(services: Services) -> None:
    journal = run(replace(services, clock=lambda: START + timedelta(seconds=20)))
    joined(journal).write(account(1))
    assert journal.record.lease_until == START + timedelta(seconds=20) + LEASE


def test_a_transaction_is_not_made_again_and_those_after_it_are(services: Services) -> None:
    joined(run(services)).write(account(1))
    journal = resumed(services)
    store = joined(journal)
    store.write(account(1))
    store.write(account(2))
    assert services.store.get(Account, account(1).key) == account(1, version=1)
    assert services.store.get(Account, account(2).key) == account(2, version=1)
    assert not journal.is_response_lost(is_error=True)


def test_a_conflict_is_met_again_in_the_same_place(services: Services) -> None:
    """What decides anew after a conflict, with other random bytes, decides the same when it is resumed."""
    services.store.write(account(1))
    store = joined(run(services))
    for _ in range(2):
        with pytest.raises(WriteConflict):
            store.write(account(1))
    store.write(account(2))
    store.write(account(3))
    journal = resumed(services)
    assert [step == CONFLICT for step in journal.record.steps] == [True, True, False, False]
    for _ in range(2):
        with pytest.raises(WriteConflict):
            joined(journal).write(account(9))
    joined(journal).write(account(2))
    assert services.store.get(Account, account(9).key) is None
    assert journal.is_response_lost(is_error=True)
    assert not journal.is_response_lost(is_error=False)


def test_another_transaction_in_the_place_of_a_recorded_one_ends_the_run(services: Services) -> None:
    store = joined(run(services))
    store.write(account(1))
    store.write(account(2))
    journal = resumed(services)
    joined(journal).write(account(1))
    for number in (3, 2, 4):
        with pytest.raises(Conflict, match=RESPONSE_LOST):
            joined(journal).write(account(number))
    assert services.store.get(Account, account(3).key) is services.store.get(Account, account(4).key) is None
    assert journal.is_response_lost(is_error=False)


ENTRY = AuditEntry("acct", "id", START, "actor", "action", "target", "203.0.113.7", "request-1")
ENDPOINT = Endpoint("id", "acct", None, "https://shop.example", "ciphertext", True, START, Mode.API_KEY)


def test_a_transaction_may_write_an_event_whose_body_is_stored_compressed(services: Services) -> None:
    bodies = [f'{{"event":"payment.failed","text":"{letter * 1000}"}}' for letter in "ab"]
    events = [Event("id", "payment.failed", "acct", None, body, START, published=False) for body in bodies]
    steps = []
    for number, event in enumerate((events[0], events[0], events[1])):
        journal = Journal(services, claim(services, begin(f"scope {number}", b"", START, "nonce")))
        journal.commit(lambda *_: None, [event])
        steps.append(journal.record.steps)
    assert steps[0] == steps[1] != steps[2]


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (account(1), account(1, version=4), True),
        (account(1), account(1, name="other"), False),
        (account(1), account(2), False),
        (account(1), Absent(account(1)), False),
        (Delete(account(1)), Absent(account(1)), False),
        (Delete(account(1)), Delete(account(1, version=4, name="other")), True),
        (Delete(account(1)), Delete(account(2)), False),
        (ENTRY, replace(ENTRY, ip_address="198.51.100.9", request_id="request-2"), True),
        (ENTRY, replace(ENTRY, action="other"), False),
        (ENDPOINT, replace(ENDPOINT, secret_ciphertext="other"), True),
        (ENDPOINT, replace(ENDPOINT, is_active=False), False),
    ],
)
def test_a_transaction_is_known_by_what_it_writes(services: Services, first: Any, second: Any, is_same: bool) -> None:
    steps = []
    for number, each in enumerate((first, second)):
        journal = Journal(services, claim(services, begin(f"scope {number}", b"", START, "nonce")))
        journal.commit(lambda *_: None, [each])
        steps.append(journal.record.steps)
    assert (steps[0] == steps[1]) is is_same
    assert len(steps[0][0]) == 16


def test_what_differs_in_each_run_is_a_field() -> None:
    for kind in (AuditEntry, Endpoint):
        assert kind.UNREPEATABLE.issubset(kind.__annotations__)
    assert not Record.UNREPEATABLE


def test_a_key_is_given_back_unless_somebody_else_has_it(services: Services) -> None:
    journal = run(services)
    journal.release()
    assert services.store.get(IdempotentRequest, ASKED.key) is None
    first = run(services)
    joined(first).write(account(1))
    first.release()
    assert resumed(services).record.lease_until == services.clock()
    first.release()
    assert resumed(services).record.version == first.record.version + 1
