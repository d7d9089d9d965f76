"""A node's JSON-RPC for one block that is too full: it returns at most so many logs to a query, and all receipts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.rpc.http_client import HttpResponse
from tests.fakes.chain import Block, FakeChain

MOST_LOGS = 30
"""Real ones return 10,000 or 20,000, and a flood is larger in proportion."""


class CappedHttp:
    """In the place of `HttpClient`: serves headers, logs and receipts of a chain in memory."""

    def __init__(self, chain: FakeChain) -> None:
        self._chain = chain

    def post_json(self, path: str, body: Any, max_bytes: int = 0) -> HttpResponse:
        answer = [self._answer(each) for each in body] if isinstance(body, list) else self._answer(body)
        return HttpResponse(200, json.dumps(answer).encode())

    def _answer(self, call: Mapping[str, Any]) -> dict[str, Any]:
        (asked, *_), answer = call["params"], {"jsonrpc": "2.0", "id": call["id"]}
        match call["method"]:
            case "eth_getBlockByNumber":
                return {**answer, "result": self._header(self._chain.blocks[int(asked, 16)])}
            case "eth_getBlockReceipts":
                return {**answer, "result": self._receipts(self._block(asked))}
            case "eth_getLogs":
                wanted = LogFilter(tuple(asked["address"]), tuple(map(tuple, asked["topics"])))
                logs = [log for log in self._logs(asked) if wanted.takes(log)]
                if len(logs) > MOST_LOGS:
                    return {**answer, "error": {"code": -32005, "message": f"query returned more than {MOST_LOGS} results"}}
                return {**answer, "result": logs}
        raise AssertionError(f"a full block is read without {call['method']}")

    def _block(self, block_hash: str) -> Block:
        return next(each for each in reversed(self._chain.blocks) if each.hash == block_hash)

    def _logs(self, asked: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        if "blockHash" in asked:
            return self._block(asked["blockHash"]).logs
        first, last = (int(asked[each], 16) for each in ("fromBlock", "toBlock"))
        return [log for block in self._chain.blocks[first : last + 1] for log in block.logs]

    def _header(self, block: Block) -> dict[str, Any]:
        facts = self._chain._facts(block.number)
        hashes = list(dict.fromkeys(log["transactionHash"] for log in block.logs))
        seconds = hex(int(facts.time.timestamp()))
        return {"number": hex(block.number), "hash": block.hash, "timestamp": seconds, "transactions": hashes}

    def _receipts(self, block: Block) -> list[dict[str, Any]]:
        place = {"blockNumber": hex(block.number), "blockHash": block.hash}
        return [
            {**place, "transactionHash": each, "logs": [log for log in block.logs if log["transactionHash"] == each]}
            for each in dict.fromkeys(log["transactionHash"] for log in block.logs)
        ]
