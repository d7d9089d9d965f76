"""Calls and answers of ENS: equal to those of viem, eth_abi and web3's ens, and never more than their limits."""

import random

import pytest
from ens.constants import UNIVERSAL_RESOLVER_ADDR
from ens.utils import dns_encode_name, raw_name_to_hash
from eth_abi import encode

from chalicelib.base.addresses import address_bytes
from chalicelib.chains.calldata import names
from chalicelib.chains.calldata.names import ETHER, Question
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER
from tests.oracles.node import ask

NAMES = ("alice.eth", "a.b.c.d.eth", "shop.example", "\u0444\u044b\u0432\u0430.eth", "\U0001f468\u200d\U0001f469\u200d\U0001f467.eth", "x" * 63 + ".eth")
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
QUERY = bytes.fromhex("a780bab6")
LOOKUP = bytes.fromhex("556f1830")
QUERIES, LOOKUP_TYPES = ["(address,string[],bytes)[]"], ["address", "string[]", "bytes", "bytes4", "bytes"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_the_node_and_the_wire_format_that_ens_gives_it(name: str) -> None:
    assert names.node_of(name) == bytes(raw_name_to_hash(name))
    assert names.wire_format(name) == bytes(dns_encode_name(name))


@pytest.mark.parametrize("name", ["", ".", "a..eth", ".eth", "eth.", "x" * 256 + ".eth"])
def test_a_name_without_a_wire_format_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="label"):
        names.wire_format(name)


def test_calls_are_those_of_viem_for_every_coin_type() -> None:
    questions = [{"ask": "ens", "name": name, "address": ALICE, "chainId": chain} for name in NAMES for chain in (1, 10, 8453, 11155111)]
    for asked, answer in zip(questions, ask(questions), strict=True):
        coin = names.coin_type(asked["chainId"])
        assert str(coin) == answer["coin"]
        assert names.resolve(asked["name"], coin).data == answer["resolve"]
        assert names.reverse(ALICE, coin).data == answer["reverse"].lower()
        assert answer["resolver"].lower() == UNIVERSAL_RESOLVER.lower() == UNIVERSAL_RESOLVER_ADDR.lower()


def test_an_address_is_read_as_it_was_encoded() -> None:
    raw = address_bytes(ALICE)
    assert names.address_of(encode(["address"], [raw]), ETHER) == ALICE
    assert names.address_of(encode(["bytes"], [raw]), names.coin_type(10)) == ALICE
    assert names.address_of(encode(["address"], [bytes(20)]), ETHER) is None
    assert names.address_of(encode(["bytes"], [b""]), names.coin_type(10)) is None
    assert names.address_of(b"", ETHER) is None
    outer = encode(["bytes", "address"], [b"\x01" * 70, raw])
    assert names.resolver_answer(outer) == b"\x01" * 70
    assert names.primary_name(encode(["string", "address", "address"], ["\U0001f468.eth", raw, raw])) == "\U0001f468.eth"


def test_a_lookup_is_read_and_answered() -> None:
    urls = [f"https://{number}.example" for number in range(9)]
    raw = address_bytes(ALICE)
    lookup = names.lookup_of(LOOKUP + encode(LOOKUP_TYPES, [raw, urls, b"data" * 20, b"\x01\x02\x03\x04", b"extra" * 30]))
    assert lookup is not None
    assert lookup.question == Question(ALICE, tuple(urls[:4]), b"data" * 20)
    answered = lookup.call_with_answer(b"answer" * 9)
    assert (answered.to, answered.data) == (ALICE, "0x01020304" + encode(["bytes", "bytes"], [b"answer" * 9, b"extra" * 30]).hex())
    assert names.lookup_of(b"\x08\xc3\x79\xa0" + bytes(64)) is None


@pytest.mark.parametrize("count", range(5))
def test_the_questions_of_a_batch_are_read_and_their_answers_are_those_of_eth_abi(count: int) -> None:
    raw = address_bytes(ALICE)
    asked = [(raw, [f"https://{number}.example"], b"q" * number) for number in range(count)]
    assert names.questions_of(QUERY + encode(QUERIES, [asked])) == tuple(Question(ALICE, tuple(urls), data) for _, urls, data in asked)
    given = [None if number % 2 else b"a" * (40 * number) for number in range(count)]
    error = bytes.fromhex("08c379a0") + encode(["string"], ["no answer"])
    expected = encode(["bool[]", "bytes[]"], [[each is None for each in given], [error if each is None else each for each in given]])
    assert names.answers(given) == expected


def test_more_questions_than_four_are_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        names.questions_of(QUERY + encode(QUERIES, [[(address_bytes(ALICE), [], b"")] * 5]))


def test_what_was_changed_anywhere_is_read_or_a_value_error_and_never_long() -> None:
    """Lengths and offsets of anybody: 3,000 bytes of each answer are changed, and answers are cut off."""
    chance = random.Random(5)
    raw = address_bytes(ALICE)
    readers = [
        (lambda data: names.lookup_of(LOOKUP + data), encode(LOOKUP_TYPES, [raw, ["https://a.example"] * 3, b"d", b"1234", b"e"])),
        (lambda data: names.questions_of(QUERY + data), encode(QUERIES, [[(raw, ["https://a.example"], b"d")] * 2])),
        (names.resolver_answer, encode(["bytes", "address"], [b"a" * 40, raw])),
        (names.primary_name, encode(["string", "address", "address"], ["alice.eth", raw, raw])),
        (lambda data: names.address_of(data, 0x8000000A), encode(["bytes"], [raw])),
    ]
    for read, whole in readers:
        for _ in range(3_000):
            data = bytearray(whole)
            for _ in range(chance.choice((1, 1, 2, 8))):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 0x20, 0x7F, 0xFF, chance.randrange(256)))
            cut = bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
            try:
                found = read(cut)
            except ValueError:
                continue
            assert len(repr(found)) < 40 * len(whole)
