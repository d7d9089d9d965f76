"""A block of which no query for logs is answered: what is asked for instead, how often, and that nothing is left out."""

import json
from collections import Counter
from typing import Any

import pytest

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.contracts import payment_proxies
from chalicelib.chains.nodes.history import full_blocks
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, RangeReading, read_range
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, BlockRange, Checkpoint, InconsistentNode
from chalicelib.chains.nodes.rpc.http_client import HttpResponse, ResponseTimeout, ResponseTooLarge
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient

NUMBER, HASH, OTHER_HASH, PARENT = 9, "0x" + "ab" * 32, "0x" + "cd" * 32, "0x" + "ee" * 32
PROXIES = [hex_address(each) for each in payment_proxies("mainnet")]
STRANGER = "0x" + "66" * 20
RECEIPT_BYTES = 400


def tx_hash(index: int) -> str:
    return f"0x{index:064x}"


class FullNode:
    """Stands for the HTTP client of a node with one block of `transactions`, each with a log of a proxy and one of a
    stranger's contract. It returns at most `cap` logs to a query and, in one response, `most` bytes."""

    def __init__(self, transactions: int = 120, cap: int = 0, most: int = 10**9) -> None:
        self.transactions, self.cap, self.most = transactions, cap, most
        self.missing = set[str]()
        self.block_hash = HASH
        self.left_out = set[int]()
        self.longest = -1
        self.items = 10**9
        self.calls, self.requests = Counter[str](), list[int]()

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        calls = body if isinstance(body, list) else [body]
        self.calls.update(call["method"] for call in calls)
        self.requests.append(len(calls))
        answers = [{"jsonrpc": "2.0", "id": call["id"], **self._answer(call, at)} for at, call in enumerate(calls)]
        content = json.dumps(answers if isinstance(body, list) else answers[0]).encode()
        if len(content) > self.most:
            raise ResponseTooLarge("too long")
        return HttpResponse(200, content)

    def _answer(self, call: dict[str, Any], place: int) -> dict[str, Any]:
        method, params = call["method"], call["params"]
        if method in self.missing:
            return {"error": {"code": -32601, "message": "the method does not exist"}}
        if method == "eth_getBlockByNumber":
            number = int(params[0], 16)
            header = {"number": params[0], "timestamp": "0x5", "hash": HASH if number == NUMBER else PARENT}
            hashes = [tx_hash(each) for each in range(self.transactions)] if number == NUMBER else []
            return {"result": {**header, "transactions": hashes}}
        if method == "eth_getLogs":
            emitters = params[0]["address"]
            logs = [log for index in range(self.transactions) for log in self.logs(index) if log["address"] in emitters]
            if len(logs) > self.cap:
                return {"error": {"code": -32005, "message": f"query returned more than {self.cap} results"}}
            return {"result": logs}
        if method == "eth_getBlockReceipts":
            assert params == [HASH]
            return {"result": [self.receipt(each) for each in range(self.transactions) if each not in self.left_out]}
        assert method == "eth_getTransactionReceipt"
        if place >= self.items:
            return {"error": {"code": -32003, "message": "response too large"}}
        index = int(params[0], 16)
        return {"result": None if index in self.left_out else self.receipt(index)}

    def logs(self, index: int) -> list[dict[str, Any]]:
        """The first half of the transactions is of the first proxy, the other half of the second."""
        at = {"blockHash": self.block_hash, "blockNumber": hex(NUMBER), "transactionHash": tx_hash(index)}
        log = {"topics": [ERC20_TRANSFER_TOPIC, tx_hash(1)], "data": "0x", **at}
        proxy = PROXIES[index * 2 // self.transactions]
        return [
            {**log, "address": proxy, "logIndex": hex(2 * index)},
            {**log, "address": STRANGER, "logIndex": hex(2 * index + 1)},
        ]

    def receipt(self, index: int) -> dict[str, Any]:
        padding = "f" * (100_000 if index == self.longest else RECEIPT_BYTES)
        return {
            "transactionHash": tx_hash(index),
            "blockHash": self.block_hash,
            "logsBloom": padding,
            "logs": self.logs(index),
        }

    def read(self) -> RangeReading:
        node = JsonRpcClient("mainnet", self)
        return read_range(node, BlockRange(NUMBER, NUMBER), Checkpoint(NUMBER - 1, PARENT))


def assert_all(reading: RangeReading, transactions: int = 120) -> None:
    """Every log of a proxy, once, and no other."""
    assert [int(log["transactionHash"], 16) for log in reading.logs] == list(range(transactions))
    assert {log["address"] for log in reading.logs} == set(PROXIES[:2])
    assert reading.is_full


def test_a_block_whose_logs_are_returned_by_contract_costs_one_request_more() -> None:
    node = FullNode(cap=60)
    assert_all(node.read())
    assert node.calls == {"eth_getBlockByNumber": 3, "eth_getLogs": 1 + len(PROXIES)}
    assert node.requests == [4, len(PROXIES)]


def test_a_block_of_which_one_contract_is_refused_is_read_from_its_receipts_whole() -> None:
    node = FullNode(cap=59)
    assert_all(node.read())
    assert node.requests == [4, len(PROXIES), 1]


def test_a_query_that_timed_out_is_not_repeated_for_each_contract() -> None:
    node = FullNode()
    post = node.post_json

    def slow(path: str, body: Any, max_bytes: int) -> HttpResponse:
        calls = body if isinstance(body, list) else [body]
        if any(call["method"] == "eth_getLogs" for call in calls):
            node.requests.append(0)
            raise ResponseTimeout
        return post(path, body, max_bytes)

    node.post_json = slow  # type: ignore[method-assign]
    assert_all(node.read())
    assert node.requests == [0, 2, 1, 1], "the batch, its headers, and the receipts"


@pytest.mark.parametrize("batches_of", [50, 7, 1])
def test_receipts_of_transactions_are_asked_for_by_fifty_or_as_many_as_the_node_returns(batches_of: int) -> None:
    node = FullNode()
    node.missing = {"eth_getBlockReceipts"}
    node.items = batches_of
    assert_all(node.read())
    assert len(node.requests) - 3 == -(-50 // batches_of) * 2 + -(-20 // batches_of)


def test_a_response_longer_than_we_take_is_asked_for_in_halves() -> None:
    node = FullNode(most=30_000)
    assert_all(node.read())
    assert len(node.requests) <= 25
    assert max(node.requests) == 50


def test_a_receipt_that_no_response_may_hold_refuses_its_block_and_is_looked_for_by_few_requests() -> None:
    node = FullNode(most=30_000)
    node.longest = 70
    with pytest.raises(BlockRefused, match="too much|more than"):
        node.read()
    assert len(node.requests) <= 30
    node.longest = -1
    assert_all(node.read())


def test_a_block_of_20_000_logs_in_2_000_transactions_is_read_by_43_requests_without_its_own_method() -> None:
    node = FullNode(transactions=2_000)
    node.missing = {"eth_getBlockReceipts"}
    assert_all(node.read(), 2_000)
    assert len(node.requests) == 3 + 40


def test_receipts_of_a_block_that_leave_out_a_transaction_are_not_believed() -> None:
    node = FullNode()
    node.left_out = {17}
    with pytest.raises(BlockRefused):
        node.read()
    assert node.calls["eth_getTransactionReceipt"] == 50
    node.left_out = set()
    assert_all(node.read())


def test_no_logs_by_contract_are_no_answer_to_a_query_that_was_refused() -> None:
    """A node may not know how to ask for a block by its hash, and return those of another one: none."""
    node = FullNode(cap=10**9)
    answer = node._answer

    def forgetful(call: dict[str, Any], place: int) -> dict[str, Any]:
        if call["method"] == "eth_getLogs":
            is_by_hash = "blockHash" in call["params"][0]
            return {"result": []} if is_by_hash else {"error": {"code": -32005, "message": "limit exceeded"}}
        return answer(call, place)

    node._answer = forgetful  # type: ignore[method-assign]
    assert_all(node.read())
    assert node.calls["eth_getBlockReceipts"] == 1


@pytest.mark.parametrize("cap", [60, 0], ids=["by contract", "receipts"])
def test_logs_and_receipts_of_another_block_are_a_contradiction(cap: int) -> None:
    node = FullNode(cap=cap)
    node.block_hash = OTHER_HASH
    with pytest.raises(InconsistentNode) as raised:
        node.read()
    assert "another block" in raised.value.reason


def test_a_log_of_another_transaction_in_a_receipt_is_a_contradiction() -> None:
    node = FullNode()
    logs = node.logs
    node.logs = lambda index: logs(index + 1 if index == 5 else index)  # type: ignore[method-assign]
    with pytest.raises(InconsistentNode) as raised:
        node.read()
    assert "another transaction" in raised.value.reason


def test_receipts_are_asked_for_only_as_long_as_a_tick_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_blocks, "MOST_SECONDS", 0)
    node = FullNode()
    node.missing = {"eth_getBlockReceipts"}
    with pytest.raises(BlockRefused):
        node.read()
    assert node.calls["eth_getTransactionReceipt"] == 0


def test_a_node_that_returns_nothing_of_a_block_is_asked_ten_times_at_most() -> None:
    node = FullNode()
    node.missing = {"eth_getBlockReceipts", "eth_getTransactionReceipt"}
    with pytest.raises(BlockRefused):
        node.read()
    assert len(node.requests) <= 10


def test_a_malformed_receipt_is_an_outage() -> None:
    node = FullNode()
    node.receipt = lambda index: {"transactionHash": tx_hash(index)}  # type: ignore[method-assign]
    with pytest.raises(ChainUnavailable):
        node.read()
