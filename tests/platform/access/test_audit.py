"""Entries of the audit log: what they hold, who sees whom, and the cursors of the list."""

import hashlib
from base64 import urlsafe_b64encode

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.audit.rules import cursor_after, entries, entry, entry_id_of
from tests.fakes.world import START

ANN = Actor("ann", "session:01", "203.0.113.7", "request-1")


def entropy(n: int) -> bytes:
    return hashlib.shake_256(b"seed").digest(n)


def made(actor: Actor = ANN, *accounts: str) -> tuple[AuditEntry, ...]:
    return entries(actor, "api_key.created", "01KEY", accounts, START, entropy)


def test_an_entry_says_who_did_what_to_what_when_and_from_where() -> None:
    one = entry(ANN, "api_key.created", "01KEY", START, entropy)
    assert one == AuditEntry("ann", one.entry_id, START, "session:01", "api_key.created", "01KEY", "203.0.113.7", "request-1")
    assert len(one.entry_id) == 26


def test_an_account_sees_itself_in_full_and_gets_one_entry_also_if_it_is_named_again() -> None:
    (own,) = made(ANN, "ann")
    assert (own.account_id, own.actor, own.ip_address) == ("ann", "session:01", "203.0.113.7")


def test_another_account_sees_neither_the_name_nor_the_address() -> None:
    own, other = made(ANN, "bob")
    assert (own.actor, own.ip_address) == ("session:01", "203.0.113.7")
    assert (other.account_id, other.actor, other.ip_address) == ("bob", "another account", "")
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
