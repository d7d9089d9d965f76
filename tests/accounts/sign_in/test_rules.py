"""What wallets sign to sign in, how long it holds, and which texts are e-mail addresses."""

import hashlib
import itertools
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.accounts.sign_in.records import Challenge, Purpose
from chalicelib.accounts.sign_in.rules import (
    CHALLENGE_LIFETIME,
    SIGN_IN,
    Site,
    Wanted,
    check_signed,
    new_challenge,
    user_names,
)
from chalicelib.base.errors import Unauthorized
from chalicelib.platform.access.sessions.records import Wallet
from tests.fakes.world import START, WALLET

SITE = Site("auth.example:8443", "https://auth.example:8443/base", "Shop Pay")
TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
TICK = timedelta(milliseconds=1)


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


def challenge(address: str = WALLET, family: str = "evm", chain_id: int = 8453, wanted: Wanted = SIGN_IN) -> Challenge:
    return new_challenge(Wallet(address, chain_id), family, SITE, wanted, START, entropy())


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
    assert check_signed(asked, asked.nonce, asked.message, SIGN_IN, last) is asked


def test_an_expired_a_used_and_an_altered_challenge_are_refused_with_one_text() -> None:
    asked = challenge()
    text = "Invalid or expired challenge: ask for a new one"
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce, asked.message, SIGN_IN, asked.expires_at)
    with pytest.raises(Unauthorized, match=text):
        check_signed(None, asked.nonce, asked.message, SIGN_IN, START)
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce.upper(), asked.message, SIGN_IN, START)
    with pytest.raises(Unauthorized, match=text):
        check_signed(asked, asked.nonce, asked.message + "\n", SIGN_IN, START)


def test_a_challenge_counts_only_for_its_purpose_and_in_its_session() -> None:
    adding = Wanted(Purpose.ADD, "01SESSION")
    for made, wanted in ((SIGN_IN, adding), (adding, SIGN_IN), (adding, Wanted(Purpose.ADD, "01OTHER"))):
        asked = challenge(wanted=made)
        with pytest.raises(Unauthorized, match="Invalid or expired challenge: ask for a new one"):
            check_signed(asked, asked.nonce, asked.message, wanted, START)
    asked = challenge(wanted=adding)
    assert check_signed(asked, asked.nonce, asked.message, adding, START) is asked
    assert "\n\nAdd this wallet to the ways I sign in to " in asked.message


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 200), st.integers(0, 20))
def test_no_text_but_the_issued_one_is_accepted(text: str, place: int, length: int) -> None:
    asked = challenge()
    altered = asked.message[:place] + text + asked.message[place + length :]
    if altered != asked.message:
        with pytest.raises(Unauthorized):
            check_signed(asked, asked.nonce, altered, SIGN_IN, START)


def test_a_signed_text_names_the_wallet_and_its_contract_on_the_chain_of_the_text() -> None:
    assert user_names(challenge().message) == (WALLET, f"{WALLET}@eip155:8453")
    assert user_names(challenge(TRON, "tron", 728126428).message) == (TRON,)
    assert user_names("another text\n") == ()
