"""All receipts of a block are read one part after the other: anybody can fill a block, and a process has 512 MB."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.chains.nodes.history.block_headers import BlockLogs, read_block_logs
from chalicelib.chains.nodes.history.full_blocks import LogFilter, logs_of_block
from chalicelib.chains.nodes.rpc.http_client import HttpResponse, ResponseTooLarge
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, NodeTimeout
from chalicelib.chains.proofs.headers import Header
from chalicelib.chains.proofs.receipts import receipts_root
from tests.support.rehearsed import few

BLOCK, PAYING, OTHER, TOPIC = "0x" + "ab" * 32, "0x" + "5a" * 20, "0x" + "5e" * 20, "0x" + "77" * 32
LOGS = 800


def receipt(number: int) -> dict[str, Any]:
    """A payment, and hundreds of logs without any topic."""
    tx_hash = f"0x{number + 1:064x}"
    log = {
        "address": OTHER, "topics": [], "data": "0x", "blockHash": BLOCK, "blockNumber": "0x64",
        "transactionHash": tx_hash, "transactionIndex": hex(number),
    }  # fmt: skip
    logs = [{**log, "logIndex": hex(at)} for at in range(LOGS)]
    logs[7] = {**logs[7], "address": PAYING, "topics": [TOPIC]}
    return {
        "type": "0x2", "status": "0x1", "cumulativeGasUsed": hex(16_700_000 * (number + 1)), "logs": logs,
        "logsBloom": "0x" + "00" * 256, "transactionHash": tx_hash, "blockHash": BLOCK, "blockNumber": "0x64",
    }  # fmt: skip


class Responses:
    """A node with receipts as JSON, of which a response has `most` at most. It may not know the receipts of blocks."""

    def __init__(self, texts: list[str], most: int) -> None:
        self.texts, self.most, self.asked = texts, most, list[int]()

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        calls = body if isinstance(body, list) else [body]
        results = [self._result(each["method"], each["params"]) for each in calls]
        self.asked.append(sum(map(len, results)))
        if sum(map(len, results)) > self.most:
            raise ResponseTooLarge("too long")
        answers = [
            f'{{"id":{call["id"]},"result":{",".join(each) if call["method"] == "eth_getTransactionReceipt" else self._list(call, each)}}}'
            for call, each in zip(calls, results, strict=True)
        ]
        text = f"[{','.join(answers)}]" if isinstance(body, list) else answers[0]
        return HttpResponse(200, text.encode())

    def _result(self, method: str, params: list[Any]) -> list[str]:
        if method == "eth_getTransactionReceipt":
            return [self.texts[int(params[0], 16) - 1]]
        return self.texts if method == "eth_getBlockReceipts" else []

    def _list(self, call: dict[str, Any], texts: list[str]) -> str:
        if call["method"] == "eth_getBlockReceipts":
            return f"[{','.join(texts)}]"
        hashes = [f"0x{number + 1:064x}" for number in range(len(self.texts))]
        return json.dumps({"hash": BLOCK, "transactions": hashes})


def by_headers(node: JsonRpcClient, root: bytes, count: int) -> BlockLogs:
    header = Header(0x64, BLOCK, "0x" + "00" * 32, root, bytes(256))
    return read_block_logs(node, header, lambda log: bool(log["topics"]))


def by_full_block(node: JsonRpcClient, root: bytes, count: int) -> BlockLogs:
    header = {"hash": BLOCK, "transactions": [f"0x{number + 1:064x}" for number in range(count)]}
    logs = logs_of_block(node, header, LogFilter((PAYING,), ((TOPIC,),)), NodeTimeout("too long"))
    assert logs is not None
    return BlockLogs(logs, are_proved=True)


@pytest.fixture(scope="module")
def receipts() -> list[dict[str, Any]]:
    return [receipt(number) for number in range(12)]


@pytest.mark.parametrize("read", [by_headers, by_full_block])
@pytest.mark.parametrize("most", few([2], [1, 2, 5]))
def test_a_block_of_many_long_receipts_takes_no_more_memory_than_two_of_its_responses(
    receipts: list[dict[str, Any]], read: Callable[[JsonRpcClient, bytes, int], BlockLogs], most: int
) -> None:
    texts = [json.dumps(each) for each in receipts]

    def peak(count: int) -> tuple[int, BlockLogs]:
        node = JsonRpcClient("base", Responses(texts[:count], most))
        root = receipts_root(receipts[:count])
        tracemalloc.start()
        try:
            found = read(node, root, count)
            return tracemalloc.get_traced_memory()[1], found
        finally:
            tracemalloc.stop()

    of_one_response, _ = peak(most)
    of_all, found = peak(12)
    assert of_all <= 2 * of_one_response
    assert found.are_proved
    assert [log["transactionHash"] for log in found.logs] == [each["transactionHash"] for each in receipts]


def test_logs_that_are_kept_have_their_place_among_all_logs_of_the_block(receipts: list[dict[str, Any]]) -> None:
    renumbered = [{**each, "logs": [{**log, "logIndex": "0x0"} for log in each["logs"]]} for each in receipts[:3]]
    node = JsonRpcClient("base", Responses([json.dumps(each) for each in renumbered], 3))
    found = by_headers(node, receipts_root(receipts[:3]), 3)
    assert [int(log["logIndex"], 16) for log in found.logs] == [7, LOGS + 7, 2 * LOGS + 7]


def test_receipts_that_have_another_root_prove_nothing(receipts: list[dict[str, Any]]) -> None:
    node = JsonRpcClient("base", Responses([json.dumps(each) for each in receipts[:2]], 2))
    found = by_headers(node, receipts_root(receipts[:3]), 2)
    assert (found.are_proved, len(found.logs)) == (False, 2)
