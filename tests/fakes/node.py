"""A JSON-RPC node over HTTP, without the network: serves the blocks of a fake chain, and fails in the ways of real nodes.

It stands below the real clients of chalicelib/chains/nodes, so that statuses, errors and malformed answers are read by them.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from chalicelib.chains.catalogue.networks import find_network as known_network
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from chalicelib.chains.nodes.rpc.http_client import HttpResponse, ResponseTimeout
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient
from chalicelib.chains.nodes.tron import TronChain
from tests.fakes.chain import SENDER, FakeChain, transfers_behind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Outage(Enum):
    """What is wrong with a node."""

    NONE = "none"
    TOO_MANY_REQUESTS = "429"
    UNAUTHORIZED = "401"
    TIMEOUT = "timeout"
    NO_LOGS = "[]"
    """It answers that there are no logs, whatever there is."""
    LAGS = "lag"
    """Its newest blocks are 20 blocks old."""
    NO_HEAD = "no head"
    """It does not know its newest block."""
    STANDS_STILL = "standing head"
    """It answers with the chain as it was when the outage began."""
    WRONG_HASHES = "wrong hashes"
    """Its logs have other block hashes than its blocks."""
    REFUSES_LOGS = "refuses logs"
    """It answers everything but queries for logs, so that blocks are read one by one from their receipts."""


class TimedChain(FakeChain):
    """A fake chain whose blocks have times of the test's clock."""

    def __init__(self, network: str, clock: Callable[[], datetime], seed: int = 0) -> None:
        self._clock = clock
        self.times: list[datetime] = []
        super().__init__(network, seed)

    def mine(self, count: int = 1) -> None:
        super().mine(count)
        self.times += [self._clock()] * count

    def header(self, number: int) -> dict[str, Any] | None:
        """The whole header of a block; None if the node answers only what readers of logs need."""
        return None

    def fork(self, depth: int) -> Any:
        del self.times[-depth:]
        return super().fork(depth)


class FakeNode:
    """In the place of `HttpClient`. `outage` says how it fails now."""

    def __init__(self, chain: TimedChain) -> None:
        self.chain, self._outage, self._still = chain, Outage.NONE, 0

    @property
    def outage(self) -> Outage:
        return self._outage

    @outage.setter
    def outage(self, outage: Outage) -> None:
        self._outage, self._still = outage, len(self.chain.blocks)

    def post_json(self, path: str, body: Any, max_bytes: int = 0) -> HttpResponse:
        match self._outage:
            case Outage.TOO_MANY_REQUESTS:
                return HttpResponse(429, b'{"error": "rate limit"}')
            case Outage.UNAUTHORIZED:
                return HttpResponse(401, b"invalid project id")
            case Outage.TIMEOUT:
                raise ResponseTimeout("no answer")
        if path == "/walletsolidity/getnowblock":
            return _json({"block_header": {"raw_data": {"number": self._head - 1}}})
        if isinstance(body, list):
            return _json([self._answer(call) for call in body])
        return _json(self._answer(body))

    @property
    def _head(self) -> int:
        """The number of blocks that the node has."""
        if self._outage is Outage.STANDS_STILL:
            return self._still
        return len(self.chain.blocks) - (20 if self._outage is Outage.LAGS else 0)

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        method, params = call["method"], call["params"]
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"]}
        if method == "eth_getLogs" and self._outage is Outage.REFUSES_LOGS:
            return {**answer, "error": {"code": -32005, "message": "query exceeds max results 20000"}}
        if method == "eth_blockNumber" and self._outage is Outage.NO_HEAD:
            return {**answer, "error": {"code": -32000, "message": "header not found"}}
        if method == "eth_call":  # the recorder asks for the price of a dollar, which it can do without
            return {**answer, "error": {"code": -32000, "message": "no contract of this chain is here"}}
        return {**answer, "result": self._result(method, params)}

    def _result(self, method: str, params: list[Any]) -> Any:
        known = known_network(self.chain.network)
        assert known is not None
        match method:
            case "eth_chainId":
                return hex(known.chain_id)
            case "eth_blockNumber":
                return hex(self._head - 1)
            case "eth_getBlockByNumber":
                return self._block(int(params[0], 16))
            case "eth_getLogs":
                logs = self._logs(int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16))
                topics = params[0].get("topics") or [None]
                if TRANSFER_TOPIC in (topics[0] or ()):
                    logs += [each for log in logs for each in transfers_behind(self.chain.network, log)]
                return logs
            case "eth_getTransactionReceipt":
                return self._receipt(params[0])
            case "eth_getBlockReceipts":
                block = next((each for each in self.chain.blocks[: self._head] if each.hash == params[0]), None)
                hashes = sorted({log["transactionHash"] for log in block.logs}) if block else []
                return [self._receipt(each) for each in hashes] if block else None
        raise AssertionError(f"the scanner does not call {method}")

    def _block(self, number: int) -> dict[str, Any] | None:
        if number >= self._head or (self._outage is Outage.NO_HEAD and number >= self._head - 3):
            return None
        seconds = (self.chain.times[number] - _EPOCH) // timedelta(seconds=1)
        block = self.chain.blocks[number]
        if header := self.chain.header(number):
            return header
        transactions = sorted({log["transactionHash"] for log in block.logs})
        return {"number": hex(number), "hash": block.hash, "timestamp": hex(seconds), "transactions": transactions}

    def _logs(self, first: int, last: int) -> list[dict[str, Any]]:
        if self._outage is Outage.NO_LOGS:
            return []
        logs = [log for block in self.chain.blocks[first : min(last + 1, self._head)] for log in block.logs]
        if self._outage is Outage.WRONG_HASHES:
            return [{**log, "blockHash": "0x" + "ee" * 32} for log in logs]
        return logs

    def _receipt(self, tx_hash: str) -> dict[str, Any] | None:
        for block in self.chain.blocks[: self._head]:
            if logs := [log for log in block.logs if log["transactionHash"] == tx_hash]:
                logs = [*logs, *(each for log in logs for each in transfers_behind(self.chain.network, log))]
                place = {"blockNumber": hex(block.number), "blockHash": block.hash}
                return {**place, "transactionHash": tx_hash, "logs": logs, "from": SENDER, "to": logs[0]["address"]}
        return None


def chain_of(node: FakeNode) -> EvmChain | TronChain:
    """The real client of the node's network, over the fake node."""
    name = node.chain.network
    chain: EvmChain | TronChain
    if name == "tron":
        chain = TronChain(name, "http://node.invalid")
        chain.node = JsonRpcClient(name, node, "/jsonrpc", batches=False)
    else:
        chain = EvmChain(name, "http://node.invalid")
        chain.node = JsonRpcClient(name, node)
    return chain


def _json(value: Any) -> HttpResponse:
    return HttpResponse(200, json.dumps(value).encode())
