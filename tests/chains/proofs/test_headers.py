"""Hashes of real headers of all networks, recomputed; and headers that are not what they say."""

from typing import Any

import pytest

from chalicelib.chains.proofs.headers import Forged, Header, NotChecked, check_header, find_broken_link
from tests.chains.proofs.blocks import Recorded, named, recorded

EVM = {"mainnet", "sepolia", "arbitrum-one", "optimism", "base", "matic", "bsc"}
MAINNET = next(each for each in recorded() if len(each.block) == 22)
"""It has what every fork up to Prague has added."""
VALUES = {32: "0x" + "ab" * 32, 20: "0x" + "ab" * 20, 8: "0x" + "ab" * 8, 256: "0x" + "ab" * 256}


@pytest.mark.parametrize("each", recorded(), ids=named)
def test_an_honest_header_has_the_hash_of_its_fields(each: Recorded) -> None:
    found = check_header(each.number, each.block)
    assert isinstance(found, Header)
    assert (found.hash, found.parent_hash) == (each.block["hash"], each.block["parentHash"])
    assert "0x" + found.receipts_root.hex() == each.block["receiptsRoot"]
    assert "0x" + found.bloom.hex() == each.block["logsBloom"]


def test_every_evm_network_has_headers_of_several_forks() -> None:
    for network in EVM:
        assert len({len(each.block) for each in recorded() if each.network == network}) > 1 or network == "arbitrum-one"


@pytest.mark.parametrize("each", recorded(), ids=named)
def test_no_field_can_be_changed_unnoticed(each: Recorded) -> None:
    unhashed = {"hash", "l1BlockNumber", "sendCount", "sendRoot", "milliTimestamp"}
    for name in each.block.keys() - unhashed:
        text = each.block[name]
        changed = text[:-1] + ("1" if text[-1:] != "1" else "2") if len(text) > 2 else "0x12"
        assert check_header(each.number, {**each.block, name: changed}) == Forged(each.number), name
    assert check_header(each.number, {**each.block, "hash": "0x" + "ab" * 32}) == Forged(each.number)
    assert check_header(each.number + 1, each.block) == Forged(each.number + 1)


def test_the_order_of_keys_and_what_nodes_tell_besides_say_nothing() -> None:
    unhashed = {"size": "0x1", "transactions": [], "uncles": [], "totalDifficulty": "0x0", "withdrawals": [], "author": "0x0"}
    found = check_header(MAINNET.number, {**dict(reversed(MAINNET.block.items())), **unhashed})
    assert isinstance(found, Header)


@pytest.mark.parametrize("name", ["newForkRoot", "blobSchedule", "Hash"])
def test_with_a_key_that_is_not_known_the_hash_is_not_recomputed(name: str) -> None:
    """It may be hashed since a fork, so the header is neither right nor forged."""
    found = check_header(MAINNET.number, {**MAINNET.block, name: "0x0"})
    assert found == NotChecked(MAINNET.number, f"a header has the unknown key {name}")


def test_of_unknown_keys_the_first_by_name_is_named_and_no_more_than_forty_characters_of_it() -> None:
    found = check_header(MAINNET.number, {**MAINNET.block, **{name + "x" * 50: "0x0" for name in "cdbeaf"}})
    assert found == NotChecked(MAINNET.number, "a header has the unknown key a" + "x" * 39)


@pytest.mark.parametrize("name", ["parentHash", "logsBloom", "nonce", "mixHash", "timestamp"])
def test_a_header_without_a_field_that_all_have_is_not_checked(name: str) -> None:
    for block in ({k: v for k, v in MAINNET.block.items() if k != name}, {**MAINNET.block, name: None}):
        assert check_header(MAINNET.number, block) == NotChecked(MAINNET.number, f"a header has no {name}")


@pytest.mark.parametrize("name", ["baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "requestsHash"])
def test_a_header_without_a_later_field_has_another_hash(name: str) -> None:
    without = {key: value for key, value in MAINNET.block.items() if key != name}
    assert check_header(MAINNET.number, without) == Forged(MAINNET.number)


@pytest.mark.parametrize(("name", "value"), [("blockAccessListHash", VALUES[32]), ("slotNumber", "0x7")])
def test_a_field_of_the_next_fork_is_hashed(name: str, value: str) -> None:
    """So a node that adds one to a header of before is found."""
    assert check_header(MAINNET.number, {**MAINNET.block, name: value}) == Forged(MAINNET.number)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", "25139956"), ("number", "0x"), ("number", "0x1_0"), ("number", 7), ("number", "0x" + "f" * 65),
        ("number", "0x1" + "0" * 64),
        ("parentHash", "0xab"), ("parentHash", "ab" * 32), ("parentHash", "0x" + "g" * 64), ("nonce", []),
        ("logsBloom", "0x00"), ("extraData", "0x 1"), ("extraData", "0x1"), ("miner", True),
    ],
)  # fmt: skip
def test_a_field_of_another_form_is_not_checked_and_raises_nothing(name: str, value: Any) -> None:
    found = check_header(MAINNET.number, {**MAINNET.block, name: value})
    assert found == NotChecked(MAINNET.number, "a field of a header does not have the documented form")


@pytest.mark.parametrize("block", [None, [], "0x1", 7, {}])
def test_what_is_no_header_is_not_checked(block: Any) -> None:
    assert isinstance(check_header(1, block), NotChecked)


def header(number: int, parent: str) -> Header:
    return Header(number, f"0x{number:064x}", parent, b"", b"")


CHAIN = [header(number, f"0x{number - 1:064x}") for number in (5, 6, 7)]


def test_headers_that_lead_to_the_last_block_are_linked() -> None:
    assert find_broken_link(CHAIN, CHAIN[-1].hash) is None
    assert find_broken_link(CHAIN[1:], CHAIN[-1].hash) is None


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([], "lead to the last"),
        (CHAIN[:2], "lead to the last"),
        ([CHAIN[0], CHAIN[2]], "block 7 does not link"),
        (list(reversed(CHAIN)), "block 6 does not link"),
        ([CHAIN[0], Forged(6), CHAIN[2]], "the hash of block 6"),
        ([CHAIN[0], NotChecked(6, "why"), CHAIN[2]], "why"),
    ],
)
def test_headers_that_do_not_lead_there_say_why(headers: Any, reason: str) -> None:
    assert reason in (find_broken_link(headers, CHAIN[-1].hash) or "")
