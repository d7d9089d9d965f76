"""Reading a range: which failures of the log query ask for a smaller range, and which mean that the node is away."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.contracts import payment_proxies
from chalicelib.chains.catalogue.escrows import escrow_contracts
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC
from chalicelib.chains.nodes.escrow.transfers import ESCROW_TOPICS
from chalicelib.chains.nodes.history.arrivals import transfers_to
from chalicelib.chains.nodes.history.log_ranges import (
    MOST_LOGS,
    BlockPayments,
    BlockRefused,
    Disconnected,
    RangeTooLarge,
    read_payments,
    read_range,
    read_transfers,
)
from chalicelib.chains.nodes.history.logs import (
    ERC20_TRANSFER_TOPIC,
    NATIVE_TRANSFER_TOPIC,
    TRANSFER_TOPIC,
    BlockFacts,
    BlockRange,
    Checkpoint,
    InconsistentNode,
)
from chalicelib.chains.nodes.history.transfers import PAYMENT_TOPICS
from chalicelib.chains.nodes.rpc.http_client import HttpError, HttpResponse, ResponseTimeout, ResponseTooLarge
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcError
from chalicelib.chains.nodes.safes.reads import safe_event

HASH, OTHER_HASH = "0x" + "ab" * 32, "0x" + "cd" * 32
SPAN, ONE_BLOCK = BlockRange(5, 9), BlockRange(9, 9)
SAFE, SAFE_TX = "0x" + "5a" * 20, "0x" + "01" * 32


def error(code: Any, message: str, data: Any = None) -> dict[str, Any]:
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


REFUSALS: list[tuple[str, int, Any]] = [
    ("Infura", 200, error(-32602, "range 1000000 exceeds limit of 10000")),
    ("Infura, results", 200, error(-32005, "query returned more than 10000 results", {"from": "0xBDE5F8", "limit": 10000})),
    ("Infura, time", 200, error(-32005, "query timeout exceeded")),
    ("Alchemy", 400, error(-32600, "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]")),
    ("Alchemy, size", 200, error(-32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size")),
    ("QuickNode", 413, error(-32614, "eth_getLogs is limited to a 10,000 range")),
    ("QuickNode, free", 413, error(-32615, "eth_getLogs is limited to a 5 range, upgrade from free plan at https://www.quicknode.com/pricing to increase the limit")),
    ("Ankr", 200, error(-32600, "block range is too wide")),
    ("Chainstack", 403, error(-32002, "Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits")),
    ("BlockPI", 200, error(-32602, "eth_getLogs and eth_newFilter are limited to a 1024 blocks range")),
    ("dRPC", 400, error(35, "ranges over 10000 blocks are not supported on free tier")),
    ("dRPC, time", 408, error(30, "Request timeout on the free tier, please upgrade your tier to the paid one")),
    ("reth", 200, error(-32602, "query exceeds max block range 100000")),
    ("reth, results", 200, error(-32602, "query exceeds max results 20000, retry with the range 24383075-24383096")),
    ("Erigon", 200, error(-32602, "query block range exceeds server limit, narrow your filter: 5.")),
    ("Erigon, older", 200, error(-32005, "block range too large, max range: 1000")),
    ("Nethermind", 200, error(-32005, "Too many logs requested. Max logs per response is 20000.")),
    ("Besu", 200, error(-32602, "Requested range exceeds maximum RPC range limit")),
    ("Besu, 400", 400, error(-32005, "Requested range exceeds maximum RPC range limit")),
    ("geth, BNB Smart Chain", 200, error(-32005, "limit exceeded")),
    ("geth, BNB Smart Chain, span", 200, error(-32000, "exceed maximum block range: 50000")),
    ("geth, pruned", 200, error(4444, "pruned history unavailable")),
    ("scroll", 200, error(-32000, "block range is bigger than maxBlockRange")),
    ("morph", 200, error(-32000, "block range is larger than max block range, block range = 5120, max block range = 5000")),
    ("Cloudflare", 200, error(-32047, "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800")),
    ("TronGrid", 200, error(-32602, "exceed max block range: 5000")),
    ("TronGrid, results", 200, error(-32005, "query returned more than 10000 results")),
    ("text in data alone", 200, error(-32000, "Server error", "block range is too wide")),
    ("text in data, no message", 200, {"code": -32000, "data": {"message": "limit of blocks"}}),
    ("no text", 200, error(-32603, "")),
    ("another language", 500, error(-1, "区块范围过大")),
    ("an error that is a text", 200, "too heavy"),
    ("a proxy's rate limit for heavy methods", 429, error(-32005, "compute units per second exceeded")),
    ("internal", 500, error(-32603, "Internal error")),
]


class LimitedNode:
    """Stands for the HTTP client of a node that answers headers, and refuses log queries of more than `most` blocks.

    The refusal is `refusal` with `status`. If `per_call`, only the log query's response has it; else the whole batch.
    `sent` keeps the methods of each request.
    """

    def __init__(self, status: int, refusal: Any, most: int = 0, per_call: bool = False) -> None:
        self.status, self.refusal, self.most, self.per_call = status, refusal, most, per_call
        self.sent: list[list[str]] = []
        self.heads: dict[int, Any] = {}
        self.logs: Any = []

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        calls = body if isinstance(body, list) else [body]
        self.sent.append([call["method"] for call in calls])
        is_refused = any(self._is_refused(call) for call in calls)
        if is_refused and isinstance(self.refusal, Exception):
            raise self.refusal
        if is_refused and isinstance(self.refusal, bytes):
            return HttpResponse(self.status, self.refusal)
        if is_refused and not self.per_call:
            whole = {"jsonrpc": "2.0", "id": None, "error": self.refusal}
            return HttpResponse(self.status, json.dumps(whole).encode())
        responses = [{"jsonrpc": "2.0", "id": call["id"], **self._outcome(call)} for call in calls]
        content = responses if isinstance(body, list) else responses[0]
        return HttpResponse(self.status if is_refused else 200, json.dumps(content).encode())

    def _is_refused(self, call: dict[str, Any]) -> bool:
        if call["method"] != "eth_getLogs":
            return False
        criteria = call["params"][0]
        if "blockHash" in criteria:
            return True
        return int(criteria["toBlock"], 16) - int(criteria["fromBlock"], 16) >= self.most

    def _outcome(self, call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == "eth_getLogs":
            logs = self.logs(int(call["params"][0]["fromBlock"], 16)) if callable(self.logs) else self.logs
            return {"error": self.refusal} if self._is_refused(call) else {"result": logs}
        if call["method"] == "eth_getBlockReceipts":
            return {"error": error(-32601, "the method does not exist")}
        number = int(call["params"][0], 16)
        return {"result": self.heads.get(number, {"number": hex(number), "hash": HASH, "timestamp": "0x5"})}

    def client(self, batches: bool = True) -> JsonRpcClient:
        return JsonRpcClient("sepolia", self, batches=batches)


class Outage:
    """Stands for the HTTP client of a node that responds to everything in the same way."""

    def __init__(self, response: Any) -> None:
        self.response = response

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        if isinstance(self.response, Exception):
            raise self.response
        assert isinstance(self.response, HttpResponse)
        return self.response


class RecordingNode(LimitedNode):
    """Keeps what its log queries ask for."""

    def __init__(self) -> None:
        super().__init__(200, None, most=10**9)
        self.criteria: list[dict[str, Any]] = []

    def _outcome(self, call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == "eth_getLogs":
            self.criteria.append(call["params"][0])
        return super()._outcome(call)


@pytest.mark.parametrize(("network", "proxies"), [("mainnet", 4), ("matic", 4), ("sepolia", 2), ("tron", 1)])
def test_the_payments_of_all_proxies_and_of_conversions_are_read_by_one_query(network: str, proxies: int) -> None:
    http = RecordingNode()
    read_range(JsonRpcClient(network, http), SPAN, None)
    (criteria,) = http.criteria
    assert criteria["address"] == [hex_address(each) for each in payment_proxies(network)]
    assert len(criteria["address"]) == proxies
    assert criteria["topics"] == [[ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC, CONVERSION_TOPIC]]
    assert len(http.sent) == 1


def test_the_events_of_the_escrow_are_read_by_the_same_query() -> None:
    http, escrow = RecordingNode(), escrow_contracts("base", {})
    assert escrow is not None
    read_range(JsonRpcClient("base", http), SPAN, None, escrow)
    (criteria,) = http.criteria
    emitters = (*payment_proxies("base"), escrow.escrow, escrow.pre_approval)
    assert criteria["address"] == [hex_address(each) for each in emitters]
    assert criteria["topics"] == [[*PAYMENT_TOPICS, *ESCROW_TOPICS]]
    assert len(set(criteria["topics"][0])) == 10
    assert len(http.sent) == 1


def test_blocks_that_are_read_again_come_in_the_same_request_as_new_ones() -> None:
    http = RecordingNode()
    reading = read_range(http.client(), BlockRange(9, 12), Checkpoint(8, HASH), again=BlockRange(5, 5))
    assert reading.again == ()
    assert [(each["fromBlock"], each["toBlock"]) for each in http.criteria] == [("0x9", "0xc"), ("0x5", "0x5")]
    assert len(http.sent) == 1


@pytest.mark.parametrize("per_call", [True, False])
def test_blocks_that_are_read_again_and_refused_do_not_keep_new_ones_from_being_read(per_call: bool) -> None:
    http = LimitedNode(200, error(-32005, "limit exceeded"), most=4, per_call=per_call)
    reading = read_range(http.client(), BlockRange(15, 18), Checkpoint(14, HASH), again=SPAN)
    assert reading.again is None and reading.last.hash == HASH


def test_the_payments_of_single_blocks_are_one_request_with_two_calls_for_each() -> None:
    http = RecordingNode()
    http.heads[7] = None
    found = read_payments(http.client(), dict.fromkeys((5, 7, 9), ()))
    assert set(found) == {5, 9}, "it does not have the other one"
    assert found[9] == BlockPayments(BlockFacts(HASH, datetime.fromtimestamp(5, UTC)), ())
    assert http.sent == [["eth_getBlockByNumber"] * 3 + ["eth_getLogs"] * 3]
    places = [(each["fromBlock"], each["toBlock"], each["topics"]) for each in http.criteria]
    assert places == [(each, each, [[*PAYMENT_TOPICS]]) for each in ("0x5", "0x7", "0x9")]


def test_transfers_are_read_with_the_payments_of_their_blocks_by_one_request() -> None:
    http = RecordingNode()
    token, payee = "0x" + "1c" * 20, "0x" + "f1" * 20
    found = read_payments(http.client(), {5: transfers_to([token], [payee]), 9: transfers_to([token], [payee])})
    assert found[9] == BlockPayments(BlockFacts(HASH, datetime.fromtimestamp(5, UTC)), ())
    assert http.sent == [["eth_getBlockByNumber"] * 2 + ["eth_getLogs"] * 4]
    wanted = [(each["fromBlock"], each["topics"]) for each in http.criteria]
    to_payee = [[TRANSFER_TOPIC], None, ["0x" + "00" * 12 + payee[2:]]]
    assert wanted == [(number, topics) for number in ("0x5", "0x9") for topics in ([[*PAYMENT_TOPICS]], to_payee)]


def test_transfers_of_blocks_whose_payments_are_known_are_read_without_these() -> None:
    http = RecordingNode()
    filters = transfers_to(["0x" + "1c" * 20], ["0x" + "f1" * 20])
    found = read_transfers(http.client(), {5: filters, 9: ()})
    assert found == dict.fromkeys((5, 9), BlockPayments(BlockFacts(HASH, datetime.fromtimestamp(5, UTC)), ()))
    assert http.sent == [["eth_getBlockByNumber"] * 2 + ["eth_getLogs"]]
    http.heads[9] = None
    with pytest.raises(ChainUnavailable):
        read_transfers(http.client(), {5: (), 9: ()})


@pytest.mark.parametrize("refusal", [error(-32005, "limit exceeded"), ResponseTimeout("late")])
def test_transfers_that_a_node_does_not_return_may_have_been_left_out(refusal: Any) -> None:
    http = LimitedNode(200, refusal, most=0)
    (block,) = read_transfers(http.client(), {5: transfers_to(["0x" + "1c" * 20], ["0x" + "f1" * 20])}).values()
    assert block.transfers == ()


@pytest.mark.parametrize("refusal", [error(-32005, "limit exceeded"), ResponseTimeout("late"), ResponseTooLarge("long")])
def test_a_block_whose_payments_a_node_does_not_return_is_known_all_the_same(refusal: Any) -> None:
    http = LimitedNode(200, refusal, most=0)
    assert read_payments(http.client(), {5: ()})[5].logs is None
    if not isinstance(refusal, ResponseTooLarge):
        assert {each.logs for each in read_payments(http.client(), {5: (), 9: ()}).values()} == {None}


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("read", [read_payments, read_transfers])
def test_blocks_with_so_many_logs_that_together_they_are_too_large_are_read_in_smaller_ranges(
    read: Callable[..., dict[int, BlockPayments]], batches: bool
) -> None:
    """Anybody can send 7,000 transfers to a payee in each of many blocks, for nine thousand gas each."""
    http, transfers = RecordingNode(), transfers_to(["0x" + "1c" * 20], ["0x" + "f1" * 20])
    http.logs = lambda number: [{"blockNumber": hex(number)}] * 7_000
    assert 2 * 7_000 < MOST_LOGS < 3 * 7_000
    many = dict.fromkeys(range(5, 65), () if read is read_payments else transfers)
    with pytest.raises(RangeTooLarge):
        read(http.client(batches), many)
    asked = sum(method == "eth_getLogs" for each in http.sent for method in each)
    assert asked <= (100 if batches else 3), "no more is read than one response has"
    found = read(http.client(batches), {5: many[5], 6: many[6]})
    assert [len(each.all_logs) for each in found.values()] == [7_000, 7_000]
    http.logs = lambda number: [{"blockNumber": hex(number)}] * (MOST_LOGS + 1)
    (alone,) = read(http.client(batches), {5: many[5]}).values()
    assert len(alone.all_logs) == MOST_LOGS + 1, "a single block is no smaller"


def test_blocks_whose_logs_are_longer_together_than_a_response_may_be_are_read_in_smaller_ranges() -> None:
    http = LimitedNode(200, ResponseTooLarge("long"), most=0)
    for read in (read_payments, read_transfers):
        with pytest.raises(RangeTooLarge):
            read(http.client(), dict.fromkeys((5, 9), transfers_to(["0x" + "1c" * 20], ["0x" + "f1" * 20])))
    assert len(http.sent) == 2, "none is asked for alone"


def test_a_node_that_gives_logs_of_another_block_than_was_asked_for_contradicts_itself() -> None:
    http = RecordingNode()
    http.logs = [{"blockNumber": "0x6"}]
    with pytest.raises(InconsistentNode):
        read_payments(http.client(), {5: ()})


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("per_call", [True, False])
@pytest.mark.parametrize(("status", "refusal"), [entry[1:] for entry in REFUSALS], ids=[entry[0] for entry in REFUSALS])
def test_a_refused_log_query_asks_for_a_smaller_range_whatever_its_words_and_status(
    status: int, refusal: Any, per_call: bool, batches: bool
) -> None:
    http = LimitedNode(status, refusal, per_call=per_call)
    with pytest.raises(RangeTooLarge) as raised:
        read_range(http.client(batches), SPAN, Checkpoint(4, HASH))
    assert not isinstance(raised.value, BlockRefused)
    with pytest.raises(RangeTooLarge):
        safe_event(http.client(batches), SAFE, SAFE_TX, SPAN)
    with pytest.raises(BlockRefused):
        read_range(http.client(batches), ONE_BLOCK, Checkpoint(4, HASH))
    http.most = 4
    assert read_range(http.client(batches), BlockRange(5, 8), Checkpoint(4, HASH)).last.hash == HASH


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (413, b"<html>Request Entity Too Large</html>"),
        (502, b"<html>Bad Gateway</html>"),
        (504, b""),
        (200, b"not JSON"),
        (200, b'{"jsonrpc": "2.0", "id": 1, "result": null}'),
        (403, b'{"message": "Forbidden"}'),
        (0, ResponseTimeout()),
        (0, ResponseTooLarge()),
        (0, HttpError("connection reset")),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("batches", [True, False])
def test_a_log_query_that_fails_where_headers_are_answered_asks_for_a_smaller_range(
    status: int, refusal: Any, batches: bool
) -> None:
    with pytest.raises(RangeTooLarge):
        read_range(LimitedNode(status, refusal).client(batches), SPAN, Checkpoint(4, HASH))


@pytest.mark.parametrize("logs", [None, "0x", 7, {}, True])
def test_a_result_that_is_no_list_of_logs_asks_for_a_smaller_range(logs: Any) -> None:
    http = LimitedNode(200, None, most=100)
    http.logs = logs
    with pytest.raises(RangeTooLarge, match="no list"):
        read_range(http.client(), SPAN, None)


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(401, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "invalid project id"}}'),
        HttpResponse(429, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32005, "message": "block range: too many requests"}}'),
        HttpResponse(403, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "batch requests are not allowed"}}'),
        HttpResponse(429, b"Too Many Requests"),
        HttpResponse(500, b""),
        HttpResponse(200, b"<html>maintenance</html>"),
        HttpResponse(200, b"[]"),
        HttpResponse(200, b'{"error": "daily limit"}'),
        HttpError("connection refused"),
        ResponseTimeout(),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.parametrize("batches", [True, False])
def test_a_node_that_fails_for_everything_is_away_and_the_range_stays(response: Any, batches: bool) -> None:
    for blocks in (SPAN, ONE_BLOCK):
        node = JsonRpcClient("sepolia", Outage(response), batches=batches)
        with pytest.raises(ChainUnavailable):
            read_range(node, blocks, Checkpoint(4, HASH))
        with pytest.raises(ChainUnavailable):
            safe_event(node, SAFE, SAFE_TX, blocks)


def test_every_call_of_a_batch_that_fails_on_its_own_is_an_outage() -> None:
    responses = [{"id": position, "error": error(429, "over the limit")} for position in range(4)]
    node = JsonRpcClient("sepolia", Outage(HttpResponse(200, json.dumps(responses).encode())))
    with pytest.raises(RpcError, match="refused"):
        read_range(node, SPAN, Checkpoint(4, HASH))


def test_a_batch_that_fails_once_is_read_call_by_call() -> None:
    http = LimitedNode(200, None, most=100)
    post, failures = http.post_json, [HttpResponse(429, b"Too Many Requests")]
    http.post_json = lambda *request: failures.pop() if failures else post(*request)  # type: ignore[method-assign]
    assert read_range(http.client(), SPAN, Checkpoint(4, HASH)).last.hash == HASH
    assert http.sent == [["eth_getBlockByNumber"] * 2, ["eth_getLogs"], ["eth_getBlockByNumber"]]


def test_a_range_is_one_request_and_a_refusal_of_its_log_query_is_no_other() -> None:
    http = LimitedNode(200, error(-32005, "no"), most=100, per_call=True)
    read_range(http.client(), SPAN, Checkpoint(4, HASH))
    http.most = 0
    with pytest.raises(RangeTooLarge):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))
    assert len(http.sent) == 2


def test_a_timeout_is_waited_for_once() -> None:
    http = LimitedNode(0, ResponseTimeout())
    with pytest.raises(RangeTooLarge):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))
    assert sum("eth_getLogs" in methods for methods in http.sent) == 1


def test_a_refusal_beyond_the_nodes_head_is_a_lag() -> None:
    """Nodes refuse a range that ends after their head, which a smaller range would not change."""
    http = LimitedNode(200, error(-32602, "invalid block range params"))
    http.heads[9] = None
    with pytest.raises(ChainUnavailable, match="settled"):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))


def test_a_fork_is_noticed_before_a_refusal() -> None:
    http = LimitedNode(200, error(-32005, "limit exceeded"))
    http.heads[4] = {"number": "0x4", "hash": OTHER_HASH, "timestamp": "0x5"}
    with pytest.raises(Disconnected):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))


def test_the_words_of_a_refusal_are_its_reason() -> None:
    http = LimitedNode(413, error(-32000, "Server error", "range of 5 blocks"))
    with pytest.raises(RangeTooLarge, match="Server error: range of 5 blocks"):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))


@pytest.mark.parametrize("number", ["0x4", "0xa", "0x10000000000000000"])
def test_a_log_of_a_block_outside_the_range_is_a_contradiction(number: str) -> None:
    http = LimitedNode(200, None, most=100)
    http.logs = [{"blockNumber": number}]
    with pytest.raises(ChainUnavailable):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))


@pytest.mark.parametrize("height", [4, 9])
def test_a_header_of_another_height_is_a_contradiction(height: int) -> None:
    http = LimitedNode(200, None, most=100)
    http.heads[height] = {"number": "0x7", "hash": HASH, "timestamp": "0x5"}
    with pytest.raises(InconsistentNode):
        read_range(http.client(), SPAN, Checkpoint(4, HASH))
