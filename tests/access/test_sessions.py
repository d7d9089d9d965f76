"""Challenges and sessions: the text that is signed, and when either ends."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.access.credentials.rules import credential_hash
from chalicelib.access.sessions.records import SessionKind, SessionPointer
from chalicelib.access.sessions.rules import (
    EMAIL_LIFETIME,
    TOUCH_INTERVAL,
    WALLET_IDLE,
    check_session,
    open_session,
    pointer_of,
    touched,
)
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.rules import CHALLENGE_LIFETIME, Site, check_signed, email_address, new_challenge
from chalicelib.base.errors import BadRequest, Unauthorized
from tests.fakes.world import START, WALLET

SITE = Site("auth.example:8443", "https://auth.example:8443/base", "Shop Pay")
TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
TICK = timedelta(milliseconds=1)


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


def challenge(address: str = WALLET, family: str = "evm", chain_id: int = 8453) -> Challenge:
    return new_challenge(address, family, chain_id, SITE, START, entropy())


def test_the_text_for_an_evm_wallet_is_that_of_eip_4361() -> None:
    asked = challenge()
    assert asked.message == (
        "auth.example:8443 wants you to sign in with your Ethereum account:\n"
        f"{WALLET}\n"
        "\n"
        "Sign in to Shop Pay.\n"
        "\n"
        "URI: https://auth.example:8443/base\n"
        "Version: 1\n"
        "Chain ID: 8453\n"
        f"Nonce: {asked.nonce}\n"
        "Issued At: 2026-03-15T10:00:00.000Z\n"
        "Expiration Time: 2026-03-15T10:05:00.000Z"
    )


def test_the_text_for_a_tron_wallet_names_no_chain() -> None:
    asked = challenge(TRON, "tron", 728126428)
    assert asked.message.startswith(
        f"auth.example:8443 wants you to sign in with your Tron account:\n{TRON}\n\nSign in to Shop Pay.\n\n"
    )
    assert "Chain ID" not in asked.message


def test_a_nonce_has_128_random_bits_in_hex_and_a_challenge_lasts_five_minutes() -> None:
    asked = challenge()
    assert len(bytes.fromhex(asked.nonce)) == 16
    assert asked.expires_at - START == timedelta(minutes=5)


def test_the_issued_nonce_and_message_are_accepted_to_the_last_moment() -> None:
    asked = challenge()
    last = START + CHALLENGE_LIFETIME - TICK
    assert check_signed(asked, asked.nonce, asked.message, last) is asked


def test_an_expired_a_used_and_an_altered_challenge_are_refused_with_one_text() -> None:
    asked = challenge()
    text = "Invalid or expired challenge: ask for a new one"
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce, asked.message, asked.expires_at)
    with pytest.raises(Unauthorized, match=text):
        check_signed(None, asked.nonce, asked.message, START)
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce.upper(), asked.message, START)
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce, asked.message + "\n", START)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 200), st.integers(0, 20))
def test_no_text_but_the_issued_one_is_accepted(text: str, place: int, length: int) -> None:
    asked = challenge()
    altered = asked.message[:place] + text + asked.message[place + length :]
    if altered != asked.message:
        with pytest.raises(Unauthorized):
            check_signed(asked, asked.nonce, altered, START)


@pytest.mark.parametrize(
    ("kind", "lifetime"), [(SessionKind.WALLET, WALLET_IDLE), (SessionKind.EMAIL, EMAIL_LIFETIME)]
)
def test_a_session_ends_after_its_time(kind: SessionKind, lifetime: timedelta) -> None:
    session, _ = open_session("acct", kind, "subject", START, entropy())
    assert check_session(session, START + lifetime - TICK) is session
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(session, START + lifetime)
    with pytest.raises(Unauthorized, match="Session is missing or has ended: sign in again"):
        check_session(None, START)


def test_a_wallet_session_is_idle_after_15_minutes_and_an_e_mail_session_lasts_30_days() -> None:
    assert (timedelta(minutes=15), timedelta(days=30)) == (WALLET_IDLE, EMAIL_LIFETIME)


def test_a_token_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    session, token = open_session("acct", SessionKind.WALLET, WALLET, START, entropy())
    assert len(token) == 43 and token.isalnum()
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


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ann@example.com", "ann@example.com"),
        ("Ann.O'Neil+x@Sub.Example.COM", "ann.o'neil+x@sub.example.com"),
        ("ärger@bücher.example", "ärger@bücher.example"),
    ],
)
def test_an_e_mail_address_is_kept_in_lower_case(text: str, address: str) -> None:
    assert email_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "ann@example",
        "ann@.com",
        "ann@example.com.",
        "ann@@example.com",
        "ann@example..com",
        "ann @example.com",
        " ann@example.com",
        "ann@example.com\n",
        "ann\0@example.com",
        "ann\u200b@example.com",
        "ann\ud800@example.com",
        "a" * 65 + "@example.com",
        "ann@" + "example." * 40 + "com",
    ],
)
def test_what_is_not_an_e_mail_address_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="email must be an e-mail address"):
        email_address(text)
