"""Signatures of wallets: what viem, siwe, tronweb and eth-account sign and hash, and what is refused."""

import os
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.accounts.sign_in.rules import SIGN_IN, Site, new_challenge
from chalicelib.base.addresses import address_bytes, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import (
    MAX_SIGNATURE_BYTES,
    digest_of_typed_data,
    personal_digest,
    recover_digest,
    recover_personal,
    recover_tron,
    signature_bytes,
    tron_digest,
)
from chalicelib.platform.access.sessions.records import Wallet
from tests.oracles.node import ask

from .typed_data import typed_data

KEY = "0x" + "5a" * 32
WALLET = Account.from_key(KEY)
TRON_WALLET = tron_address_of(address_bytes(WALLET.address))
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
MESSAGES = ("", "hello", "žluťoučký kůň 🐎", "line\r\nline\n", "0x68656c6c6f", "x" * 5000)
MAIL: dict[str, Any] = {
    "domain": {"name": "Mail", "chainId": 1},
    "types": {"Mail": [{"name": "to", "type": "address"}, {"name": "n", "type": "uint8"}]},
    "primaryType": "Mail",
    "message": {"to": WALLET.address, "n": 1},
}


def signed(digest: bytes, v: int | None = None) -> bytes:
    signature = bytes(WALLET.unsafe_sign_hash(digest).signature)
    return signature if v is None else signature[:64] + bytes([v])


def hex_of(digest: bytes) -> str:
    return "0x" + digest.hex()


# --- against the wallets' own libraries ---


def test_a_message_that_viem_signs_recovers_to_its_wallet() -> None:
    answers = ask([{"ask": "personal", "key": KEY, "message": message} for message in MESSAGES])
    for message, answer in zip(MESSAGES, answers, strict=True):
        assert hex_of(personal_digest(message)) == answer["digest"]
        assert recover_personal(message, signature_bytes(answer["signature"])) == answer["address"] == WALLET.address


def test_a_message_that_tronweb_signs_recovers_to_its_wallet() -> None:
    answers = ask([{"ask": "tron", "key": KEY, "message": message} for message in MESSAGES])
    for message, answer in zip(MESSAGES, answers, strict=True):
        assert hex_of(tron_digest(message)) == answer["digest"]
        assert recover_tron(message, signature_bytes(answer["signature"])) == answer["address"] == TRON_WALLET


def test_the_older_signing_of_tron_recovers_to_a_stranger() -> None:
    message = hex_of(keccak256(b"a sign-in message"))  # v1 signs nothing but 32 bytes
    (answer,) = ask([{"ask": "tron", "key": KEY, "message": message, "hex": message}])
    assert recover_tron(message, signature_bytes(answer["v1"])) not in (None, TRON_WALLET)
    assert recover_personal(message, signature_bytes(answer["v1"])) not in (None, WALLET.address)


def test_a_wallet_of_one_family_does_not_sign_for_the_other() -> None:
    assert recover_tron("hello", signed(personal_digest("hello"))) not in (None, TRON_WALLET)
    assert recover_personal("hello", signed(tron_digest("hello"))) not in (None, WALLET.address)


def test_typed_data_that_viem_signs_has_our_digest() -> None:
    cases = [typed_data(Random(seed)) for seed in range(150)]
    answers = ask([{"ask": "typed", "key": KEY, "typed": typed} for typed in cases])
    for typed, answer in zip(cases, answers, strict=True):
        digest = digest_of_typed_data(typed)
        assert hex_of(digest) == answer["digest"], typed
        assert recover_digest(digest, signature_bytes(answer["signature"])) == WALLET.address


def test_typed_data_that_tronweb_signs_has_our_digest() -> None:
    cases = [typed_data(Random(seed), tron=True) for seed in range(150)]
    answers = ask([{"ask": "tronTyped", "key": KEY, "typed": typed} for typed in cases])
    for typed, answer in zip(cases, answers, strict=True):
        digest = digest_of_typed_data(typed)
        assert hex_of(digest) == answer["digest"], typed
        assert recover_digest(digest, signature_bytes(answer["signature"])) == WALLET.address
        assert answer["address"] == TRON_WALLET


@given(random=st.randoms(use_true_random=False))
def test_typed_data_has_the_digest_of_eth_account(random: Random) -> None:
    typed = typed_data(random)
    encoded = encode_typed_data(typed["domain"], typed["types"], typed["message"])
    assert digest_of_typed_data(typed) == keccak256(b"\x19\x01" + encoded.header + encoded.body)


def test_the_libraries_accept_signatures_over_our_digests_and_no_others() -> None:
    typed, tron_typed = typed_data(Random(1)), typed_data(Random(1), tron=True)
    by = {
        "verify": {"message": "hello", "signature": hex_of(signed(personal_digest("hello")))},
        "verifyTyped": {"typed": typed, "signature": hex_of(signed(digest_of_typed_data(typed)))},
    }
    stranger = Account.create().address
    verdicts = ask(
        [{"ask": name, "address": WALLET.address, **question} for name, question in by.items()]
        + [{"ask": name, "address": stranger, **question} for name, question in by.items()]
    )
    assert verdicts == [True, True, False, False]
    tron_signature = hex_of(signed(tron_digest("hello")))
    typed_question = {"typed": tron_typed, "signature": hex_of(signed(digest_of_typed_data(tron_typed)))}
    assert ask(
        [
            {"ask": "verifyTron", "message": "hello", "signature": tron_signature},
            {"ask": "verifyTronTyped", "address": TRON_WALLET, **typed_question},
        ]
    ) == [TRON_WALLET, True]


@pytest.mark.parametrize("domain", ["auth.test", "auth.example.com:8443", "localhost:3000"])
def test_siwe_and_viem_read_our_challenge(domain: str) -> None:
    site = Site(domain, f"https://{domain}", "Acme Pay")
    challenge = new_challenge(Wallet(WALLET.address, 8453), "evm", site, SIGN_IN, datetime(2030, 1, 2, tzinfo=UTC), os.urandom)
    signature = hex_of(signed(personal_digest(challenge.message)))
    (seen,) = ask([{"ask": "siwe", "message": challenge.message, "signature": signature}])
    assert seen == {
        "again": challenge.message,
        "valid": True,
        "address": WALLET.address,
        "nonce": challenge.nonce,
    }


# --- what is refused ---


@pytest.mark.parametrize("v", [0, 1, 27, 28])
def test_v_is_accepted_in_both_spellings(v: int) -> None:
    digest = next(each for each in map(keccak256, map(str.encode, "abcdefgh")) if signed(each)[64] % 27 == v % 27)
    assert recover_digest(digest, signed(digest, v)) == WALLET.address


@pytest.mark.parametrize("v", [2, 3, 4, 26, 29, 30, 31, 35, 36, 37, 38, 127, 255])
def test_any_other_v_is_refused(v: int) -> None:
    digest = keccak256(b"")
    assert recover_digest(digest, signed(digest, v)) is None


def test_the_other_form_of_a_signature_is_refused() -> None:
    signature = signed(personal_digest("hello"))
    other_s = (ORDER - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
    twin = signature[:32] + other_s + bytes([55 - signature[64]])
    assert Account._recover_hash(personal_digest("hello"), signature=twin) == WALLET.address  # a lenient library
    assert recover_personal("hello", twin) is None
    assert recover_tron("hello", twin) is None


@pytest.mark.parametrize("r", [0, ORDER, 2**256 - 1])
@pytest.mark.parametrize("s", [0, 1, ORDER // 2, ORDER // 2 + 1, ORDER])
def test_numbers_outside_the_curve_are_refused(r: int, s: int) -> None:
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + b"\x1b"
    assert recover_digest(keccak256(b""), signature) is None


def test_half_the_order_is_the_last_s() -> None:
    r = int.from_bytes(signed(keccak256(b""))[:32], "big")
    words = [r.to_bytes(32, "big") + s.to_bytes(32, "big") + b"\x1b" for s in (ORDER // 2, ORDER // 2 + 1)]
    assert [recover_digest(keccak256(b""), word) is None for word in words] == [False, True]


@given(message=st.text(), signature=st.binary(max_size=200) | st.binary(min_size=65, max_size=65))
def test_garbage_recovers_to_nobody_we_know(message: str, signature: bytes) -> None:
    assert recover_personal(message, signature) != WALLET.address
    assert recover_tron(message, signature) != TRON_WALLET


@given(at=st.integers(0, 64), bit=st.integers(0, 7))
def test_one_changed_bit_is_another_signer(at: int, bit: int) -> None:
    signature = bytearray(signed(personal_digest("hello")))
    signature[at] ^= 1 << bit
    assert recover_personal("hello", bytes(signature)) != WALLET.address


@pytest.mark.parametrize("length", [65, 66, 130, MAX_SIGNATURE_BYTES])
def test_a_signature_is_hexadecimal_with_or_without_0x(length: int) -> None:
    raw = os.urandom(length)
    assert signature_bytes(raw.hex()) == signature_bytes("0x" + raw.hex().upper()) == raw


@pytest.mark.parametrize(
    "text",
    ["", "0x", "0x" + "ab" * 64, "ab" * 64 + "a", "0X" + "ab" * 65, "0x" + "ab" * 65 + "a", " 0x" + "ab" * 65]
    + ["0x" + "ab" * 65 + "\n", "0x" + "zz" * 65, "0x" + "１" * 130, "0x0x" + "ab" * 65]
    + ["ab" * (MAX_SIGNATURE_BYTES + 1)],
)
def test_what_is_not_a_signature_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="Invalid signature"):
        signature_bytes(text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uint8", 256),
        ("uint8", -1),
        ("int8", 128),
        ("uint9", 1),
        ("uint264", 1),
        ("uint0", 0),
        ("uint", 0),
        ("int256", 1),
        ("Mail", {"to": WALLET.address}),
        ("address[]", [WALLET.address]),
        ("trcToken", 1),
        ("bytes4", "0x01020304"),
        ("bytes32", "0x" + "00" * 31),
        ("bytes32", "00" * 32),
        ("bytes", "0x0"),
        ("uint256", "ten"),
        ("bytes4", "0x010203"),
        ("bytes33", "0x" + "00" * 33),
        ("bytes0", "0x"),
        ("bytes", "zz"),
        ("bool", "false"),
        ("string[2]", ["one"]),
        ("Stranger", {}),
        ("address", "0x1234"),
        ("address", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T"),
    ],
)
def test_values_that_are_not_of_their_type_are_refused(kind: str, value: Any) -> None:
    typed = {**MAIL, "types": {"Mail": [{"name": "to", "type": kind}]}, "message": {"to": value}}
    with pytest.raises((ValueError, LookupError, OverflowError, BadRequest)):
        digest_of_typed_data(typed)


def test_a_missing_member_is_refused_and_one_too_many_is_not_signed() -> None:
    with pytest.raises(KeyError):
        digest_of_typed_data({**MAIL, "message": {"to": WALLET.address}})
    assert digest_of_typed_data({**MAIL, "message": {**MAIL["message"], "more": 1}}) == digest_of_typed_data(MAIL)


def test_every_part_of_typed_data_is_in_its_digest() -> None:
    others = [
        {"domain": {"name": "Mail", "chainId": 2}},
        {"domain": {"name": "Mail", "chainId": 1, "version": "1"}},
        {"message": {**MAIL["message"], "n": 2}},
        {"types": {"Mail": list(reversed(MAIL["types"]["Mail"]))}},
    ]
    assert len({digest_of_typed_data({**MAIL, **other}) for other in [{}, *others]}) == 5
