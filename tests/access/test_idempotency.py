"""Idempotency keys: what a repetition is, and what each state of a key answers."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.access.idempotency.records import IdempotentRequest
from chalicelib.access.idempotency.rules import LEASE, MAX_KEY_LENGTH, RETENTION, begin, check_key, taken
from chalicelib.base.errors import BadRequest, Conflict, Unprocessable
from tests.fakes.world import START

ASKED = begin("scope", b"body", START, "nonce")
ANSWERED = replace(ASKED, status=201, answer="[]")


def test_a_key_that_holds_an_answer_gives_it_for_a_day() -> None:
    assert taken(ANSWERED, ASKED, START + RETENTION - timedelta(milliseconds=1)) == ANSWERED
    assert taken(ANSWERED, ASKED, START + RETENTION) is None
    assert timedelta(hours=24) == RETENTION


def test_a_key_is_taken_while_its_request_runs_and_free_after_the_lease() -> None:
    with pytest.raises(Conflict, match="still running"):
        taken(ASKED, ASKED, START + LEASE - timedelta(milliseconds=1))
    assert taken(ASKED, ASKED, START + LEASE) is None


def test_a_lease_is_longer_than_a_request_may_run() -> None:
    assert timedelta(seconds=29) < LEASE


@pytest.mark.parametrize("stored", [ASKED, ANSWERED])
def test_another_body_under_a_key_is_refused_in_every_state(stored: object) -> None:
    other = begin("scope", b"another body", START, "nonce")
    with pytest.raises(Unprocessable, match="another body"):
        taken(stored, other, START)  # type: ignore[arg-type]
    assert taken(stored, other, START + RETENTION) is None  # type: ignore[arg-type]


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
    )


def test_what_is_stored_tells_neither_the_key_nor_the_body() -> None:
    record = str(begin("the-key", b"the-body", START, "nonce"))
    assert "the-key" not in record and "the-body" not in record
    assert begin("a", b"body", START, "nonce").body_hash != begin("b", b"body", START, "nonce").body_hash
