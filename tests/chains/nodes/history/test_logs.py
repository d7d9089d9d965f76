"""Events of the fee proxies: which logs count, and the transfer that each becomes."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from base58 import b58decode_check
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.nodes.history.logs import (
    ERC20_TRANSFER_TOPIC,
    NATIVE_TRANSFER_TOPIC,
    BlockFacts,
    InconsistentNode,
    ProxyTransfer,
    decode_transfer,
    with_block_times,
)
from chalicelib.chains.nodes.history.transfers import transfers_of

ADDRESS = st.binary(min_size=20, max_size=20).map(lambda b: "0x" + b.hex())
AMOUNT = st.integers(0, 2**256 - 1)


def log_of(contract: str, topic: str, data: bytes, network: str = "sepolia") -> dict[str, Any]:
    return {
        "address": address_of(contract, network).lower(),
        "topics": [topic, "0x" + "ab" * 32],
        "data": "0x" + data.hex(),
        "transactionHash": "0x" + "01" * 32,
        "logIndex": "0x5",
        "blockNumber": "0x10",
        "blockHash": "0x" + "02" * 32,
    }


@given(ADDRESS, ADDRESS, AMOUNT, AMOUNT, ADDRESS)
def test_an_erc20_transfer_is_decoded_as_an_abi_library_encodes_it(
    token: str, payee: str, amount: int, fee: int, fee_address: str
) -> None:
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, amount, fee, fee_address])
    found = decode_transfer("sepolia", log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data))
    assert found is not None
    assert (found.token_address, found.payee, found.fee_address) == (token, payee, fee_address)
    assert (found.amount, found.fee_amount) == (amount, fee)
    assert (found.log_index, found.block_number) == (5, 16)


@given(ADDRESS, AMOUNT, AMOUNT, ADDRESS)
def test_a_native_transfer_has_no_token(payee: str, amount: int, fee: int, fee_address: str) -> None:
    data = encode(["address", "uint256", "uint256", "address"], [payee, amount, fee, fee_address])
    found = decode_transfer("sepolia", log_of("EthereumFeeProxy", NATIVE_TRANSFER_TOPIC, data))
    assert found is not None
    assert (found.token_address, found.payee, found.amount, found.fee_amount) == (None, payee, amount, fee)


def test_a_tron_transfer_is_that_of_its_proxy_in_hex_and_its_hash_has_no_0x() -> None:
    token, payee = "0x" + "11" * 20, "0x" + "22" * 20
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, 5, 0, "0x" + "00" * 20])
    log = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data, "tron")
    log["address"] = "0x" + b58decode_check(address_of("ERC20FeeProxy", "tron"))[1:].hex()
    found = decode_transfer("tron", log)
    assert found is not None
    assert (found.token_address, found.payee, found.amount) == (token, payee, 5)
    assert (found.tx_hash, found.block_hash) == ("01" * 32, "0x" + "02" * 32)
    assert decode_transfer("tron", {**log, "address": "0x" + "11" * 20}) is None
    native = log_of("ERC20FeeProxy", NATIVE_TRANSFER_TOPIC, data[32:], "tron")
    assert decode_transfer("tron", {**native, "address": log["address"]}) is None


def test_the_topics_are_the_hashes_of_the_published_events() -> None:
    erc20 = b"TransferWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"
    native = b"TransferWithReferenceAndFee(address,uint256,bytes,uint256,address)"
    assert "0x" + keccak256(erc20).hex() == ERC20_TRANSFER_TOPIC
    assert "0x" + keccak256(native).hex() == NATIVE_TRANSFER_TOPIC


GOOD = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, bytes(160))


@pytest.mark.parametrize(
    "change",
    [
        {"address": "0x" + "99" * 20},
        {"address": address_of("EthereumFeeProxy", "sepolia")},
        {"address": address_of("ERC20FeeProxy", "base")},
        {"topics": [NATIVE_TRANSFER_TOPIC, "0x" + "ab" * 32]},
        {"topics": [ERC20_TRANSFER_TOPIC]},
        {"topics": [ERC20_TRANSFER_TOPIC, "0x" + "ab" * 32, "0x" + "ab" * 32]},
        {"topics": []},
        {"address": "0x" + "ff" * 19 + "fe"},
        {"data": "0x"},
        {"data": "0x" + "00" * 128},
        {"data": "0x" + "00" * 192},
        {"removed": True},
    ],
)
def test_a_log_that_is_not_exactly_the_proxys_is_nothing(change: dict[str, Any]) -> None:
    assert decode_transfer("sepolia", GOOD) is not None
    assert decode_transfer("sepolia", GOOD | change) is None


def test_every_field_of_a_log_has_its_place_in_the_transfer() -> None:
    token, payee, fee_address = (f"0x{digit * 40}" for digit in "def")
    data = encode(["address", "address", "uint256", "uint256", "address"], [token, payee, 10**9, 10**7, fee_address])
    log = log_of("ERC20FeeProxy", ERC20_TRANSFER_TOPIC, data) | {
        "topics": [ERC20_TRANSFER_TOPIC.upper().replace("0X", "0x"), "0x" + "AB" * 32],
        "transactionHash": "0x" + "CD" * 32,
        "blockHash": "0x" + "EF" * 32,
        "logIndex": "0x1f",
        "blockNumber": "0xab12",
        "removed": False,
    }
    assert decode_transfer("sepolia", log) == ProxyTransfer(
        network="sepolia",
        token_address=token,
        payee=payee,
        amount=10**9,  # type: ignore[arg-type]
        fee_amount=10**7,  # type: ignore[arg-type]
        fee_address=fee_address,
        reference_topic="0x" + "ab" * 32,
        tx_hash="0x" + "cd" * 32,
        log_index=31,
        block_number=0xAB12,
        block_hash="0x" + "ef" * 32,
    )


def test_a_network_that_the_catalogue_does_not_have_has_no_transfers() -> None:
    assert decode_transfer("moon", GOOD) is None


TX, OTHER_TX = "0x" + "01" * 32, "0x" + "0a" * 32
BLOCK, OTHER_BLOCK = "0x" + "02" * 32, "0x" + "0b" * 32
COIN_TRANSFER = {
    "address": "0x" + "ff" * 19 + "fe",
    "topics": ["0x" + keccak256(b"Transfer(address,address,uint256)").hex(), "0x" + "00" * 32, "0x" + "00" * 32],
    "data": f"0x{5:064x}",
}
"""The log of EIP-7708 for every transfer of the native coin, emitted by the system address."""


def log(index: int, tx: str = TX, number: int = 16, block: str = BLOCK, **changes: Any) -> dict[str, Any]:
    position = {"transactionHash": tx, "logIndex": hex(index), "blockNumber": hex(number), "blockHash": block}
    return {**GOOD, **position, **changes}


def numbers(*logs: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Transaction, log index and the number by which equal events of a transaction differ."""
    found = transfers_of("sepolia", logs)
    return [(each.tx_hash, each.log_index, int(each.event_key.partition("-")[2])) for each in found]


def test_equal_events_of_a_transaction_are_counted_in_the_order_of_the_chain() -> None:
    logs = [log(9, OTHER_TX, 17, OTHER_BLOCK), log(7), log(3), log(30)]
    assert numbers(*logs) == [(TX, 3, 0), (TX, 7, 1), (TX, 30, 2), (OTHER_TX, 9, 0)]


def test_events_of_transactions_between_each_other_are_counted_apart() -> None:
    assert numbers(log(1), log(2, OTHER_TX), log(3), log(4, OTHER_TX)) == [
        (TX, 1, 0), (OTHER_TX, 2, 0), (TX, 3, 1), (OTHER_TX, 4, 1)
    ]


def test_a_log_that_was_left_out_before_changes_the_identity_of_no_other() -> None:
    kinds, address = ["address", "address", "uint256", "uint256", "address"], "0x" + "d" * 40
    words = [encode(kinds, [address, address, amount, 0, address]) for amount in (1, 2)]
    first, second = (log(index, data="0x" + data.hex()) for index, data in enumerate(words))
    (alone,) = transfers_of("sepolia", [second])
    assert [each.event_key for each in transfers_of("sepolia", [first, second])][1] == alone.event_key


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6, unique=True), st.integers(1, 40), st.data())
def test_other_indices_and_another_block_leave_the_identity_of_every_transfer(
    indices: list[int], shift: int, data: st.DataObject
) -> None:
    """As after a reorganization: other transactions come before, and the logs of others in between."""
    payees = {index: encode(["address"] * 5, ["0x" + f"{index:040x}"] * 5).hex() for index in indices}
    before = [log(index, data="0x" + payees[index]) for index in indices]
    gaps = dict(zip(sorted(indices), sorted(data.draw(st.sets(st.integers(0, 200), min_size=len(indices), max_size=len(indices)))), strict=True))
    after = [log(gaps[index] + shift, number=99, block=OTHER_BLOCK, data="0x" + payees[index]) for index in indices]
    first, second = transfers_of("sepolia", before), transfers_of("sepolia", after)
    assert [(each.tx_hash, each.event_key, each.payee) for each in first] == [(each.tx_hash, each.event_key, each.payee) for each in second]


def test_a_repeated_log_and_a_removed_log_count_once_and_not_at_all() -> None:
    spelled = log(3, blockHash=BLOCK.upper().replace("0X", "0x"))
    assert numbers(log(3), log(3), spelled, log(5), log(4, removed=True)) == [(TX, 3, 0), (TX, 5, 1)]
    assert numbers(log(3, removed=True), log(3, OTHER_TX, block=OTHER_BLOCK)) == [(OTHER_TX, 3, 0)]


def test_a_log_counts_by_its_emitter_beside_transfers_of_the_native_coin() -> None:
    """EIP-7708: the system address emits a log for each transfer of the coin."""
    alien = log(2, address=COIN_TRANSFER["address"])
    assert numbers(log(1, **COIN_TRANSFER), alien, log(3), log(4, **COIN_TRANSFER), log(5)) == [(TX, 3, 0), (TX, 5, 1)]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (log(3, data="0x" + "01".rjust(320, "0")), "index 3 of block 16"),
        (log(3, block=OTHER_BLOCK), "index 3 of block 16"),
        (log(4, block=OTHER_BLOCK), "different block hashes"),
        (log(4, OTHER_TX, block=OTHER_BLOCK), "different block hashes"),
        (log(4, number=17, block=OTHER_BLOCK), "is in two blocks"),
        (log(3, number=17, block=OTHER_BLOCK), "is in two blocks"),
    ],
)
def test_logs_that_no_chain_has_together_are_a_contradiction(other: dict[str, Any], reason: str) -> None:
    for logs in ([log(3), other], [other, log(3)]):
        with pytest.raises(InconsistentNode) as raised:
            transfers_of("sepolia", logs)
        assert reason in raised.value.reason
        assert raised.value.message == "The sepolia node contradicts itself"


def test_logs_of_two_transactions_may_have_the_same_index_as_some_clients_number_each_transaction_from_0_on() -> None:
    numbered = transfers_of("sepolia", [log(3), log(4), log(3, OTHER_TX)])
    in_block = transfers_of("sepolia", [log(3), log(4), log(9, OTHER_TX)])
    assert len(numbered) == 3
    assert {(each.tx_hash, each.event_key) for each in numbered} == {(each.tx_hash, each.event_key) for each in in_block}


@pytest.mark.parametrize(
    "change",
    [
        {"logIndex": "-0x1"},
        {"logIndex": "3"},
        {"logIndex": None},
        {"logIndex": "0x" + "f" * 17},
        {"blockNumber": "latest"},
        {"blockNumber": 16},
        {"blockHash": "0x02"},
        {"transactionHash": "0x" + "01" * 33},
        {"transactionHash": None},
        {"topics": [ERC20_TRANSFER_TOPIC, "0xab"]},
        {"topics": [ERC20_TRANSFER_TOPIC, 7]},
        {"topics": None},
        {"data": "0xzz"},
        {"data": 7},
        {"address": None},
    ],
)
def test_a_log_of_another_form_is_no_answer_of_a_node(change: dict[str, Any]) -> None:
    with pytest.raises(ChainUnavailable) as raised:
        transfers_of("sepolia", [log(3) | change])
    assert not isinstance(raised.value, InconsistentNode)


def test_a_transfer_gets_the_time_of_its_block_only_if_its_block_is_canonical() -> None:
    time = datetime(2026, 3, 1, tzinfo=UTC)
    first, second = transfers_of("sepolia", [log(3), log(1, OTHER_TX, 17, OTHER_BLOCK)])
    facts = {16: BlockFacts(BLOCK, time), 17: BlockFacts(OTHER_BLOCK, time.replace(year=2027))}
    dated = with_block_times([first, second], facts)
    assert dated == (replace(first, paid_at=time), replace(second, paid_at=time.replace(year=2027)))
    with pytest.raises(InconsistentNode) as raised:
        with_block_times([first, second], {**facts, 17: BlockFacts(BLOCK, time)})
    assert raised.value.reason == f"a log of block 17 has block hash {OTHER_BLOCK}, not {BLOCK}"
    assert with_block_times([], {}) == ()
