"""Blooms: what they exclude of real blocks with all of their logs."""

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.proofs import blooms
from tests.chains.proofs.blocks import recorded


def raw(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def test_no_event_of_a_real_block_is_excluded_by_its_bloom() -> None:
    events = 0
    for each in recorded():
        bloom = raw(each.block["logsBloom"])
        for log in (log for receipt in each.receipts for log in receipt["logs"]):
            if log["topics"]:
                assert blooms.may_have(bloom, [(raw(log["address"]), raw(log["topics"][0]))])
                events += 1
    assert events > 20


def test_a_bloom_has_exactly_the_bits_of_the_logs_of_its_block() -> None:
    checked = 0
    for each in recorded():
        bits = 0
        for log in (log for receipt in each.receipts for log in receipt["logs"]):
            for value in (log["address"], *log["topics"]):
                bits |= blooms._mask((raw(value), raw(value)))
        if each.receipts:
            assert bits.to_bytes(256, "big") == raw(each.block["logsBloom"])
            checked += 1
    assert checked == 5


@given(st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32))
def test_an_empty_bloom_excludes_everything_and_a_full_one_nothing(address: bytes, topic: bytes) -> None:
    assert not blooms.may_have(bytes(256), [(address, topic)])
    assert blooms.may_have(b"\xff" * 256, [(address, topic)])
    assert not blooms.may_have(b"\xff" * 256, [])


def test_contract_and_topic_have_to_be_there_together() -> None:
    log = next(log for each in recorded() for receipt in each.receipts for log in receipt["logs"])
    block = next(each for each in recorded() if each.receipts)
    bloom, there, other = raw(block.block["logsBloom"]), raw(log["address"]), b"\x01" * 32
    assert not blooms.may_have(bloom, [(there, other), (other[:20], raw(log["topics"][0]))])
