"""Password hashes: their form, their parameters, and what may be a password."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.accounts.sign_in.passwords import (
    DUMMY_HASH,
    LANES,
    MEMORY_KIB,
    PASSES,
    SALT_BYTES,
    check_password,
    is_password,
    password_hash,
)
from chalicelib.base.errors import BadRequest

SALT = bytes(range(SALT_BYTES))


def test_a_hash_is_a_phc_string_with_the_stated_parameters() -> None:
    assert (MEMORY_KIB, PASSES, LANES) == (19_456, 2, 1)
    assert password_hash("correct horse", SALT).startswith("$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$")


def test_the_hash_is_what_the_library_itself_accepts() -> None:
    from argon2 import PasswordHasher

    assert PasswordHasher().verify(password_hash("correct horse", SALT), "correct horse")


def test_another_salt_gives_another_hash() -> None:
    assert password_hash("correct horse", SALT) != password_hash("correct horse", bytes(SALT_BYTES))


def test_nobodys_hash_takes_the_same_work_as_a_users() -> None:
    assert password_hash("nobody's password", bytes(SALT_BYTES)) == DUMMY_HASH


def test_nobody_has_no_password() -> None:
    assert not is_password("nobody's password", None)


@pytest.mark.parametrize("password", ["12345678", "x" * 100, "\0" * 8, "a\0bcdefg", "ß" * 100, "🔑" * 8, " " * 8])
def test_a_password_of_8_to_100_characters_opens_its_own_hash_and_no_other_does(password: str) -> None:
    stored = password_hash(password, SALT)
    assert is_password(password, stored)
    assert not is_password(password[:-1] + "!", stored)


def test_what_follows_a_nul_counts() -> None:
    assert not is_password("abcdefg\0x", password_hash("abcdefg\0y", SALT))


@pytest.mark.parametrize("password", ["", "1234567", "x" * 101, "🔑" * 7, "x" * 100_000])
def test_another_length_is_no_password(password: str) -> None:
    for refused in (lambda: password_hash(password, SALT), lambda: is_password(password, DUMMY_HASH)):
        with pytest.raises(BadRequest, match="password must have 8 to 100 characters"):
            refused()
    with pytest.raises(BadRequest, match="password must have 8 to 100 characters"):
        check_password(password)


def test_a_lone_surrogate_is_no_password() -> None:
    with pytest.raises(BadRequest, match="password must be text in UTF-8"):
        password_hash("abcdefgh\ud800", SALT)
    check_password("abcdefgh")


@settings(max_examples=20, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=100))
def test_every_password_opens_its_hash(password: str) -> None:
    assert is_password(password, password_hash(password, SALT))
