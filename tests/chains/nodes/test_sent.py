"""A transaction that a node has: its sender, what it calls, and what became of it."""

from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes import sent
from tests.chains.nodes.nodes import NodeResponses, node_of

HASH, TOPIC = "0x" + "ab" * 32, "0x" + "cd" * 32
SENDER, PROXY = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57", address_of(ERC20_FEE_PROXY, "sepolia")
PENDING = {"hash": HASH, "from": SENDER.lower(), "to": PROXY.lower(), "input": "0x1234", "nonce": "0x7", "blockNumber": None}
LOG = {"address": PROXY.lower(), "topics": ["0x" + "11" * 32, TOPIC.upper().replace("0X", "0x")]}
BLOCK = "0x" + "ef" * 32
RECEIPT = {"transactionHash": HASH, "blockNumber": "0x64", "blockHash": BLOCK, "status": "0x1", "logs": [LOG, {**LOG, "address": SENDER}]}


def read(transaction: Any, receipt: Any) -> SentTransaction | None:
    answers = {"eth_getTransactionByHash": lambda _: transaction, "eth_getTransactionReceipt": lambda _: receipt}
    return sent.read_sent_transaction(node_of("sepolia", NodeResponses(answers)), HASH)


def test_one_that_waits_has_no_block_and_one_of_a_block_has_its_outcome() -> None:
    waiting = SentTransaction(SENDER, PROXY, "0x1234", 7)
    assert read(PENDING, None) == waiting
    assert read(None, None) is None
    assert read(PENDING, RECEIPT) == SentTransaction(SENDER, PROXY, "0x1234", 7, 100, True, (TOPIC,), BLOCK)
    failed = read(PENDING, {**RECEIPT, "status": "0x0", "logs": []})
    assert failed == SentTransaction(SENDER, PROXY, "0x1234", 7, 100, False, block_hash=BLOCK)
    created = read({**PENDING, "to": None}, None)
    assert created is not None and created.to is None


@pytest.mark.parametrize("proxy", ["ERC20FeeProxy", "EthereumFeeProxy", "Erc20ConversionProxy", "EthConversionProxy"])
def test_it_has_paid_what_a_proxy_of_any_kind_says(proxy: str) -> None:
    receipt = {**RECEIPT, "logs": [{**LOG, "address": address_of(proxy, "mainnet").lower()}]}
    answers = {"eth_getTransactionByHash": lambda _: PENDING, "eth_getTransactionReceipt": lambda _: receipt}
    found = sent.read_sent_transaction(node_of("mainnet", NodeResponses(answers)), HASH)
    assert found is not None and found.paid_topics == (TOPIC,)


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
