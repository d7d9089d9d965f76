"""A transaction that a node has: its sender, what it calls, and what became of it."""

from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import PaidEvent, SentTransaction
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from chalicelib.chains.nodes.accounts import sent
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC
from tests.chains.nodes import test_conversion_logs
from tests.chains.nodes.nodes import NodeResponses, node_of

HASH, TOPIC = "0x" + "ab" * 32, "0x" + "cd" * 32
SENDER, PROXY = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57", address_of(ERC20_FEE_PROXY, "sepolia")
PENDING = {"hash": HASH, "from": SENDER.lower(), "to": PROXY.lower(), "input": "0x1234", "nonce": "0x7", "blockNumber": None}
BLOCK, TOKEN, PAYEE = "0x" + "ef" * 32, "0x" + "aa" * 20, "0x" + "bb" * 20
AMOUNTS = f"{5:064x}{1:064x}{SENDER[2:].lower():0>64}"
PAID = PaidEvent(TOPIC, TOKEN, PAYEE)
LOG = {
    "address": PROXY.lower(), "topics": [ERC20_TRANSFER_TOPIC, TOPIC.upper().replace("0X", "0x")],
    "data": f"0x{TOKEN[2:]:0>64}{PAYEE[2:]:0>64}" + AMOUNTS,
    "transactionHash": HASH, "blockNumber": "0x64", "blockHash": BLOCK, "logIndex": "0x3",
}
RECEIPT = {"transactionHash": HASH, "blockNumber": "0x64", "blockHash": BLOCK, "status": "0x1", "logs": [LOG, {**LOG, "address": SENDER}]}


def read(transaction: Any, receipt: Any) -> SentTransaction | None:
    answers = {"eth_getTransactionByHash": lambda _: transaction, "eth_getTransactionReceipt": lambda _: receipt}
    return sent.read_sent_transaction(node_of("sepolia", NodeResponses(answers)), HASH)


def test_one_that_waits_has_no_block_and_one_of_a_block_has_its_outcome() -> None:
    waiting = SentTransaction(SENDER, PROXY, "0x1234", 7)
    assert read(PENDING, None) == waiting
    assert read(None, None) is None
    assert read(PENDING, RECEIPT) == SentTransaction(SENDER, PROXY, "0x1234", 7, 100, True, (PAID,), BLOCK)
    failed = read(PENDING, {**RECEIPT, "status": "0x0", "logs": []})
    assert failed == SentTransaction(SENDER, PROXY, "0x1234", 7, 100, False, block_hash=BLOCK)
    created = read({**PENDING, "to": None}, None)
    assert created is not None and created.to is None


def test_it_has_paid_the_native_coin_by_an_event_without_a_token() -> None:
    native = {"topics": [NATIVE_TRANSFER_TOPIC, TOPIC], "data": f"0x{PAYEE[2:]:0>64}" + AMOUNTS}
    log = {**LOG, **native, "address": address_of(NATIVE_FEE_PROXY, "sepolia").lower()}
    found = read(PENDING, {**RECEIPT, "logs": [log]})
    assert found is not None and found.paid == (PaidEvent(TOPIC, None, PAYEE),)


@pytest.mark.parametrize("native", [True, False])
def test_it_has_paid_what_a_conversion_proxy_says(native: bool) -> None:
    receipt = {**RECEIPT, "logs": test_conversion_logs.events(native=native)}
    answers = {"eth_getTransactionByHash": lambda _: PENDING, "eth_getTransactionReceipt": lambda _: receipt}
    found = sent.read_sent_transaction(node_of("mainnet", NodeResponses(answers)), HASH)
    assert found is not None and len(found.paid) == 1
    assert found.paid[0].payee == test_conversion_logs.PAYEE


@pytest.mark.parametrize(
    ("transaction", "receipt"),
    [
        (None, RECEIPT),
        ({**PENDING, "hash": TOPIC}, None),
        (PENDING, {**RECEIPT, "transactionHash": TOPIC}),
        ({**PENDING, "input": "0x123"}, None),
        ({**PENDING, "input": None}, None),
        ({**PENDING, "from": "0x12"}, None),
        ({**PENDING, "nonce": "seven"}, None),
        (PENDING, {**RECEIPT, "blockNumber": None}),
        ([], None),
    ],
    ids=str,
)
def test_what_is_not_that_transaction_is_no_answer(transaction: Any, receipt: Any) -> None:
    with pytest.raises(ChainUnavailable):
        read(transaction, receipt)


def test_the_nonce_is_read_after_the_named_block() -> None:
    node = NodeResponses({"eth_getTransactionCount": lambda address, block: "0x8" if (address, block) == (SENDER, "0x64") else "0x0"})
    assert sent.transaction_count(node_of("sepolia", node), SENDER, 100) == 8
