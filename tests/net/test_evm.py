"""What a node may answer besides the truth: errors in every spelling, nothing, another chain, late, or too little."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core.chainlog import BlockRange, Checkpoint
from chalicelib.core.errors import ChainUnavailable
from chalicelib.net import evm
from chalicelib.net.evm import Chains, Disconnected, EvmChain, RangeTooLarge

HASH = "0x" + "ab" * 32
SPAN = BlockRange(5, 9)

Answer = Callable[[list[dict[str, Any]]], Any]


class Node(ThreadingHTTPServer):
    """A JSON-RPC node that answers as the test says."""

    daemon_threads = True
    answer: Answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def chain(self) -> EvmChain:
        return EvmChain("sepolia", f"http://127.0.0.1:{self.server_address[1]}")

    def results(self, *results: Any) -> None:
        """Answers a batch with these results, in order."""
        self.answer = lambda calls: [
            {"jsonrpc": "2.0", "id": call["id"], "result": result} for call, result in zip(calls, results, strict=True)
        ]

    def error(self, error: Any) -> None:
        self.answer = lambda calls: [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]


class Handler(BaseHTTPRequestHandler):
    server: Node

    def do_POST(self) -> None:
        calls = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.server.answer(calls)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def node() -> Iterator[Node]:
    running = Node()
    yield running
    running.shutdown()


def block(number: int, hash: str = HASH) -> dict[str, str]:
    return {"number": hex(number), "hash": hash}


def test_the_head_of_another_chain_is_refused(node: Node) -> None:
    node.results(hex(56), "0x10")
    with pytest.raises(ChainUnavailable, match="chain 56"):
        node.chain.head()
    node.results(hex(11155111), "0x10")
    assert node.chain.head() == 16


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>busy</html>",
        b"[]",
        b"{}",
        b"null",
        b'"text"',
        b'[{"jsonrpc":"2.0","id":1}]',
        b'{"jsonrpc":"2.0","id":1,"error":"daily limit"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily request limit exceeded"}}',
    ],
)
def test_whatever_is_not_an_answer_means_that_the_chain_is_away(node: Node, answer: bytes) -> None:
    node.answer = lambda calls: answer
    for ask in (
        node.chain.head,
        lambda: node.chain.block_hashes([1]),
        lambda: node.chain.read_range(SPAN, None),
        lambda: node.chain.has_code("0x" + "11" * 20),
        lambda: node.chain.read_wallet("0x" + "11" * 20, None, "0x" + "22" * 20),
        lambda: node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)),
    ):
        with pytest.raises(ChainUnavailable):
            ask()


def test_an_error_that_is_null_is_no_error(node: Node) -> None:
    node.answer = lambda calls: [{"id": c["id"], "result": "0xaa36a7", "error": None} for c in calls]
    assert node.chain.head() == 11155111


@pytest.mark.parametrize(
    "message", ["query returned more than 10000 results", "block range is too large", "exceeds max response size"]
)
def test_a_refused_range_asks_for_a_smaller_one(node: Node, message: str) -> None:
    node.error({"code": -32005, "message": message})
    with pytest.raises(RangeTooLarge):
        node.chain.read_range(SPAN, None)


def test_a_node_out_of_quota_is_away_and_not_asked_for_smaller_ranges(node: Node) -> None:
    node.error({"code": -32005, "message": "daily request limit exceeded"})
    with pytest.raises(ChainUnavailable):
        node.chain.read_range(SPAN, None)


def test_a_node_that_takes_too_long_for_a_range_is_asked_for_less(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evm, "READ_SECONDS", 0.2)

    def slowly(calls: list[dict[str, Any]]) -> bytes:
        time.sleep(1)
        return b"[]"

    node.answer = slowly
    with pytest.raises(RangeTooLarge):
        node.chain.read_range(SPAN, None)


def test_a_block_that_the_node_does_not_have_is_a_lag_and_no_fork(node: Node) -> None:
    node.results(None)
    with pytest.raises(ChainUnavailable, match="lags behind"):
        node.chain.block_hashes([9])
    node.results(block(4), None, [], None)
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    node.results(None, block(9), [], block(9))
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))


def test_a_range_that_does_not_continue_from_the_checkpoint_is_disconnected(node: Node) -> None:
    node.results(block(4, "0x" + "cd" * 32), block(9), [], block(9))
    with pytest.raises(Disconnected):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    node.results(block(4), block(9), [], block(9))
    assert node.chain.read_range(SPAN, Checkpoint(4, HASH)).last_hash == HASH


def test_a_fork_while_the_logs_are_read_is_noticed(node: Node) -> None:
    node.results(block(4), block(9), [], block(9, "0x" + "cd" * 32))
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))


def test_logs_of_blocks_that_were_not_asked_for_are_refused(node: Node) -> None:
    node.results(block(4), block(9), [{"blockNumber": "0xa"}], block(9))
    with pytest.raises(ChainUnavailable, match="other blocks"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))


def test_a_call_that_the_node_refuses_would_revert(node: Node) -> None:
    node.error({"code": 3, "message": "execution reverted"})
    assert node.chain.would_revert("0x" + "11" * 20, "0x" + "22" * 20, "0x")
    node.results("0x")
    assert not node.chain.would_revert("0x" + "11" * 20, "0x" + "22" * 20, "0x")


def test_a_network_without_a_node_is_away() -> None:
    chains = Chains(SimpleNamespace(rpc_urls={"sepolia": "http://127.0.0.1:9"}))
    with pytest.raises(ChainUnavailable, match="no node for base"):
        chains.of("base")
    with pytest.raises(ChainUnavailable, match="does not answer"):
        chains.of("sepolia").head()


@pytest.mark.parametrize("result", [None, 7, [], {}, "", "0x", "zz", True, "0x" + "00" * 32])
def test_a_result_of_another_form_is_no_answer(node: Node, result: Any) -> None:
    node.answer = lambda calls: [{"id": call["id"], "result": result} for call in calls]
    chain, wallet = node.chain, "0x" + "11" * 20
    with pytest.raises(ChainUnavailable):
        chain.read_wallet(wallet, "0x" + "22" * 20, "0x" + "33" * 20)
    with pytest.raises((ChainUnavailable, Disconnected)):
        chain.read_range(SPAN, Checkpoint(4, HASH))
    if not isinstance(result, str | list | dict):
        with pytest.raises(ChainUnavailable):
            chain.has_code(wallet)


@pytest.mark.parametrize(
    ("answer", "verdict"), [("0x01", True), ("0x00", False), ("0x" + "00" * 31 + "01", True), ("0x02", False)]
)
def test_a_wallet_stands_by_a_signature_when_the_validator_says_1(node: Node, answer: str, verdict: bool) -> None:
    node.results(answer)
    assert node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)) is verdict


@pytest.mark.parametrize(
    "message",
    ["execution reverted", "execution reverted: GS026", "Execution reverted", "VM execution error.", "out of gas"]
    + ["invalid opcode: INVALID", "stack underflow (0 <=> 1)", "EVM error InvalidFEOpcode", "invalid jump destination"],
)
def test_a_wallet_that_fails_does_not_stand_by_a_signature(node: Node, message: str) -> None:
    node.error({"code": -32000, "message": message})
    assert node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)) is False


@pytest.mark.parametrize(
    "message", ["daily request limit exceeded", "header not found", "execution aborted (timeout = 5s)", ""]
)
def test_a_node_that_fails_says_nothing_about_a_signature(node: Node, message: str) -> None:
    node.error({"code": -32000, "message": message})
    with pytest.raises(ChainUnavailable):
        node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65))
