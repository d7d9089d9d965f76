"""Challenges and sessions: the text that is signed, and when either ends."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import Unauthorized
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.sessions.records import SessionKind, SessionPointer
from chalicelib.platform.access.sessions.rules import (
    EMAIL_LIFETIME,
    TOUCH_INTERVAL,
    WALLET_IDLE,
    account_named_in,
    check_session,
    open_session,
    pointer_of,
    touched,
)
from tests.fakes.world import START, WALLET

TICK = timedelta(milliseconds=1)


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


@pytest.mark.parametrize(
    ("kind", "lifetime"), [(SessionKind.WALLET, WALLET_IDLE), (SessionKind.EMAIL, EMAIL_LIFETIME)]
)
def test_a_session_ends_after_its_time(kind: SessionKind, lifetime: timedelta) -> None:
    session, _ = open_session("acct", kind, "subject", START, entropy())
    assert check_session(session, None, START + lifetime - TICK) is session
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(session, None, START + lifetime)
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(None, None, START)


def test_a_wallet_session_is_idle_after_15_minutes_and_an_e_mail_session_lasts_30_days() -> None:
    assert (timedelta(minutes=15), timedelta(days=30)) == (WALLET_IDLE, EMAIL_LIFETIME)


def test_a_token_names_its_account_unless_it_is_forged() -> None:
    account_id = "01KJM9CZ34ACCT000000000000"
    _, token = open_session(account_id, SessionKind.EMAIL, "ann@example.com", START, entropy())
    assert account_named_in(token) == account_id
    secret = token.partition(".")[2]
    for other in (secret, f".{secret}", f"{account_id}.", f"{account_id[1:]}.{secret}", f"{token} ", "\udcff." + secret, ""):
        assert account_named_in(other) is None


def test_a_new_password_ends_the_sessions_that_were_opened_before_it() -> None:
    account = Account("acct", "ann@example.com", START, sessions_since=2)
    for version in (0, 1, 2, 3):
        session, _ = open_session("acct", SessionKind.EMAIL, "ann@example.com", START, entropy(), None, version)
        if version < 2:
            with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
                check_session(session, account, START)
        else:
            assert check_session(session, account, START) == session
        assert check_session(session, replace(account, sessions_since=0), START) == session


def test_a_token_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    session, token = open_session("acct", SessionKind.WALLET, WALLET, START, entropy())
    account_id, _, secret = token.partition(".")
    assert (account_id, len(secret)) == ("acct", 43) and secret.isalnum()
    assert session.token_hash == credential_hash(token)
    assert token not in repr(session)


def test_use_prolongs_a_wallet_session_and_not_an_e_mail_session() -> None:
    later = START + timedelta(minutes=14)
    wallet, _ = open_session("acct", SessionKind.WALLET, WALLET, START, entropy())
    mail, _ = open_session("acct", SessionKind.EMAIL, "ann@example.com", START, entropy())
    assert touched(wallet, later) == replace(wallet, last_seen_at=later, expires_at=later + WALLET_IDLE)
    assert touched(mail, later) == replace(mail, last_seen_at=later)


def test_use_is_not_noted_more_often_than_every_ten_seconds() -> None:
    session, _ = open_session("acct", SessionKind.WALLET, WALLET, START, entropy())
    assert touched(session, START + TOUCH_INTERVAL - TICK) is None
    assert touched(session, START + TOUCH_INTERVAL) is not None
    assert timedelta(seconds=10) == TOUCH_INTERVAL


def test_the_pointer_of_a_session_names_it_ends_with_it_and_has_its_version() -> None:
    opened, _ = open_session("acct", SessionKind.WALLET, WALLET, START, entropy())
    session = replace(opened, version=3)
    assert pointer_of(session) == SessionPointer("acct", session.session_id, session.token_hash, session.expires_at, 3)
