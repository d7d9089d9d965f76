"""Challenges and sessions: the text that is signed, and when either ends."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import Unauthorized
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people.records import Membership, Person, Role
from chalicelib.platform.access.sessions.records import SessionKind, SessionPointer
from chalicelib.platform.access.sessions.rules import (
    EMAIL_LIFETIME,
    TOUCH_INTERVAL,
    WALLET_IDLE,
    check_session,
    open_session,
    parse_token,
    pointer_of,
    touch_session,
)
from tests.fakes.world import START, WALLET
from tests.support.members import pointer

TICK = timedelta(milliseconds=1)
MEMBER = Membership("acct", "person", Role.OWNER, START)
PERSON = Person("person", ("ann@example.com",), "acct", START)


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


@pytest.mark.parametrize(
    ("kind", "lifetime"), [(SessionKind.WALLET, WALLET_IDLE), (SessionKind.EMAIL, EMAIL_LIFETIME)]
)
def test_a_session_ends_after_its_time(kind: SessionKind, lifetime: timedelta) -> None:
    session, _ = open_session(pointer(), kind, "subject", START, entropy())
    assert check_session(session, MEMBER, PERSON, START + lifetime - TICK) == (session, MEMBER, PERSON)
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(session, MEMBER, PERSON, START + lifetime)
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(None, MEMBER, PERSON, START)


def test_a_session_counts_only_with_the_membership_that_it_was_opened_for() -> None:
    session, _ = open_session(pointer(), SessionKind.EMAIL, "ann@example.com", START, entropy())
    rejoined = replace(MEMBER, joined_at=START + TICK)
    for membership, person in ((None, PERSON), (rejoined, PERSON), (MEMBER, None)):
        with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
            check_session(session, membership, person, START)
    demoted = replace(MEMBER, role=Role.VIEWER, version=7)
    assert check_session(session, demoted, PERSON, START)[1].role is Role.VIEWER


def test_a_wallet_session_is_idle_after_15_minutes_and_an_e_mail_session_lasts_30_days() -> None:
    assert (timedelta(minutes=15), timedelta(days=30)) == (WALLET_IDLE, EMAIL_LIFETIME)


def test_a_token_names_account_and_person_unless_it_is_forged() -> None:
    account_id, person_id = "01KJM9CZ34ACCT000000000000", "01KJM9CZ34PERS000000000000"
    _, token = open_session(pointer(account_id, person_id), SessionKind.EMAIL, "ann@example.com", START, entropy())
    assert parse_token(token) == (account_id, person_id)
    secret = token.rpartition(".")[2]
    for ids in ("", account_id, f"{account_id}.", f".{person_id}", f"{account_id[1:]}.{person_id}", "\udcff." + person_id):
        assert parse_token(f"{ids}.{secret}") is None
    for other in (secret, f"{account_id}.{person_id}.", f"{token} ", ""):
        assert parse_token(other) is None


def test_a_new_password_ends_the_sessions_that_were_opened_before_it() -> None:
    person = replace(PERSON, sessions_since=2)
    for version in (0, 1, 2, 3):
        session, _ = open_session(pointer(), SessionKind.EMAIL, "ann@example.com", START, entropy(), None, version)
        if version < 2:
            with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
                check_session(session, MEMBER, person, START)
        else:
            assert check_session(session, MEMBER, person, START)[0] == session
        assert check_session(session, MEMBER, PERSON, START)[0] == session


def test_a_token_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    session, token = open_session(pointer(), SessionKind.WALLET, WALLET, START, entropy())
    account_id, person_id, secret = token.split(".")
    assert (account_id, person_id, len(secret)) == ("acct", "person", 43) and secret.isalnum()
    assert session.token_hash == credential_hash(token)
    assert token not in repr(session)


def test_use_prolongs_a_wallet_session_and_not_an_e_mail_session() -> None:
    later = START + timedelta(minutes=14)
    wallet, _ = open_session(pointer(), SessionKind.WALLET, WALLET, START, entropy())
    mail, _ = open_session(pointer(), SessionKind.EMAIL, "ann@example.com", START, entropy())
    assert touch_session(wallet, later) == replace(wallet, last_seen_at=later, expires_at=later + WALLET_IDLE)
    assert touch_session(mail, later) == replace(mail, last_seen_at=later)


def test_use_is_not_noted_more_often_than_every_ten_seconds() -> None:
    session, _ = open_session(pointer(), SessionKind.WALLET, WALLET, START, entropy())
    assert touch_session(session, START + TOUCH_INTERVAL - TICK) is None
    assert touch_session(session, START + TOUCH_INTERVAL) is not None
    assert timedelta(seconds=10) == TOUCH_INTERVAL


def test_the_pointer_of_a_session_names_it_ends_with_it_and_has_its_version() -> None:
    opened, _ = open_session(pointer(), SessionKind.WALLET, WALLET, START, entropy())
    session = replace(opened, version=3)
    assert pointer_of(session) == SessionPointer("person", session.session_id, session.token_hash, session.expires_at, version=3)
