"""Roots of the receipts of real blocks, recomputed; and receipts that are not those of the block."""

from typing import Any

import pytest
import rlp
from trie import HexaryTrie

from chalicelib.base.keccak import keccak256
from chalicelib.chains.proofs.receipts import STATE_SYNC_HASHED_FROM, receipts_root, select_proved
from chalicelib.chains.proofs.rlp import encode
from tests.chains.proofs.blocks import Recorded, named, recorded

WHOLE = [each for each in recorded() if each.receipts]


def root(each: Recorded) -> bytes:
    return bytes.fromhex(each.block["receiptsRoot"][2:])


@pytest.mark.parametrize("each", WHOLE, ids=named)
def test_the_receipts_of_a_block_have_its_root(each: Recorded) -> None:
    assert receipts_root(each.receipts) == root(each)


def test_the_recorded_receipts_are_of_mainnet_arbitrum_matic_and_of_deposits_before_and_after_canyon() -> None:
    assert [each.network for each in WHOLE] == [
        "mainnet", "arbitrum-one", "matic", "optimism-sepolia", "optimism-goerli",
    ]  # fmt: skip


def changes(receipts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    first, *others = receipts
    found = {
        "dropped": others,
        "doubled": [first, *receipts],
        "another gas": [{**first, "cumulativeGasUsed": "0x1"}, *others],
        "another status": [{**first, "status": "0x0", "root": None}, *others],
        "another bloom": [{**first, "logsBloom": "0x" + "ff" * 256}, *others],
        "a log more": [{**first, "logs": [*first["logs"], LOG]}, *others],
    }
    if len(receipts) > 1:
        found["reordered"] = list(reversed(receipts))
    with_logs = next((place for place, each in enumerate(receipts) if each["logs"]), None)
    if with_logs is not None:
        each = receipts[with_logs]
        found["a log less"] = [*receipts[:with_logs], {**each, "logs": each["logs"][1:]}, *receipts[with_logs + 1 :]]
        said = {**each["logs"][0], "data": each["logs"][0]["data"] + "00"}
        found["other data"] = [
            *receipts[:with_logs], {**each, "logs": [said, *each["logs"][1:]]}, *receipts[with_logs + 1 :],
        ]  # fmt: skip
    return found


LOG = {"address": "0x" + "ab" * 20, "topics": ["0x" + "cd" * 32], "data": "0x"}


@pytest.mark.parametrize("each", WHOLE, ids=named)
def test_receipts_that_are_dropped_doubled_changed_or_reordered_have_another_root(each: Recorded) -> None:
    for name, changed in changes(each.receipts).items():
        assert receipts_root(changed) != root(each), name


def test_receipts_of_another_block_have_another_root() -> None:
    for each in WHOLE:
        assert [other for other in WHOLE if receipts_root(other.receipts) == root(each)] == [each]


def test_the_nonce_of_a_deposit_is_hashed_with_its_version_and_not_without() -> None:
    canyon, before = WHOLE[3], WHOLE[4]
    stripped = [{**each, "depositReceiptVersion": None} for each in canyon.receipts]
    assert receipts_root(stripped) != root(canyon)
    answered = [{**each, "depositNonce": "0x7"} if each["type"] == "0x7e" else each for each in before.receipts]
    assert receipts_root(answered) == root(before), "a node may tell a nonce that was not hashed then"


def test_the_receipt_of_state_that_bor_receives_is_left_out_before_madhugiri_and_only_there() -> None:
    matic = WHOLE[2]
    derived = {**matic.receipts[0], "transactionHash": STATE_SYNC}
    answered = [*matic.receipts, derived]
    assert receipts_root(select_proved("matic", matic.number, matic.block["hash"], answered)) == root(matic)
    assert STATE_SYNC_HASHED_FROM == 80_084_800, "PIP-74"
    assert list(select_proved("matic", STATE_SYNC_HASHED_FROM, matic.block["hash"], answered)) == answered
    assert list(select_proved("base", matic.number, matic.block["hash"], answered)) == answered
    assert list(select_proved("matic", matic.number, "0x" + "ab" * 32, answered)) == answered, "that is the hash of another block"


STATE_SYNC = "0x" + keccak256(
    b"matic-bor-receipt-" + WHOLE[2].number.to_bytes(8, "big") + bytes.fromhex(WHOLE[2].block["hash"][2:])
).hex()


@pytest.mark.parametrize(
    "change",
    [{"logs": None}, {"cumulativeGasUsed": None}, {"logsBloom": "ab"}, {"logs": [{}]}, {"type": "0x", "status": "x"}],
)
def test_a_receipt_of_another_form_raises_what_readers_of_nodes_expect(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        receipts_root([{**WHOLE[0].receipts[0], **change}])


def test_564_receipts_have_the_root_of_the_library() -> None:
    one = WHOLE[1].receipts[0]
    receipts = [{**one, "cumulativeGasUsed": hex(21_000 * (place + 1))} for place in range(564)]
    trie = HexaryTrie({})
    for place, each in enumerate(receipts):
        logs = [
            [bytes.fromhex(log["address"][2:]), [bytes.fromhex(t[2:]) for t in log["topics"]], bytes.fromhex(log["data"][2:])]
            for log in each["logs"]
        ]
        fields = [int(each["status"], 16), int(each["cumulativeGasUsed"], 16), bytes.fromhex(each["logsBloom"][2:]), logs]
        kind = int(each["type"], 16)
        trie[rlp.encode(place)] = (bytes([kind]) if kind else b"") + rlp.encode(fields)
    assert receipts_root(receipts) == trie.root_hash
    assert encode([]) == rlp.encode([])
