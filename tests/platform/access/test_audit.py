"""Entries of the audit log: what they hold, who sees whom, and the cursors of the list."""

import hashlib
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.audit.rules import cursor_after, entries, entry_id_of, make_entry
from tests.fakes.world import START

ANN = Actor("ann", "person:01", "203.0.113.7", "request-1", "01SESSION")


def entropy(n: int) -> bytes:
    return hashlib.shake_256(b"seed").digest(n)


def made(actor: Actor = ANN, *accounts: str) -> tuple[AuditEntry, ...]:
    return entries(actor, "api_key.created", "01KEY", accounts, START, entropy)


def test_an_entry_says_who_did_what_to_what_when_and_from_where() -> None:
    one = make_entry(ANN, "api_key.created", "01KEY", START, entropy)
    assert one == AuditEntry("ann", one.entry_id, START, "person:01", "api_key.created", "01KEY", "203.0.113.7", "request-1", "01SESSION")
    assert len(one.entry_id) == 26


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)),
    st.integers(1, 5_000),
    st.tuples(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16)),
)
def test_entries_sort_in_the_order_they_were_written_to_the_microsecond(
    first: datetime, microseconds: int, randomness: tuple[bytes, bytes]
) -> None:
    """Also those of one millisecond, which is all that a ULID tells apart, whatever their random parts are."""
    earlier = first.replace(tzinfo=UTC)
    one, other = (
        make_entry(ANN, "api_key.created", "01KEY", at, lambda n, random=random: random[:n])  # type: ignore[misc]
        for at, random in zip((earlier, earlier + timedelta(microseconds=microseconds)), randomness, strict=True)
    )
    assert one.entry_id < other.entry_id


def test_an_account_sees_itself_in_full_and_gets_one_entry_also_if_it_is_named_again() -> None:
    (own,) = made(ANN, "ann")
    assert (own.account_id, own.actor, own.ip_address) == ("ann", "person:01", "203.0.113.7")


def test_another_account_sees_neither_the_name_nor_the_address() -> None:
    own, other = made(ANN, "bob")
    assert (own.actor, own.ip_address) == ("person:01", "203.0.113.7")
    assert (other.account_id, other.actor, other.ip_address, other.session_id) == ("bob", "another account", "", None)
    assert (other.action, other.target, other.request_id) == (own.action, own.target, "request-1")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("operator", "operator"),
        ("orchestrator:orc1", "orchestrator:orc1"),
        ("api_key:01", "another account"),
        ("operators", "another account"),
    ],
)
def test_another_account_sees_the_names_of_operators_and_platforms(name: str, shown: str) -> None:
    _, other = made(Actor("ann", name, "203.0.113.7", "request-1"), "bob")
    assert (other.actor, other.ip_address) == (shown, "")


def test_a_cursor_gives_back_the_entry_it_was_made_of() -> None:
    (one,) = made()
    cursor = cursor_after(one)
    assert "=" not in cursor and one.entry_id not in cursor
    assert entry_id_of(cursor) == one.entry_id


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "é", "01M7VQFVRZV5BJJSN4QTFB4MP3"]
    + [urlsafe_b64encode(text).decode() for text in (b"0" * 25, b"0" * 27, b"i" * 26, b"\xff" * 26)],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(BadRequest, match="cursor is not one of this list"):
        entry_id_of(cursor)
