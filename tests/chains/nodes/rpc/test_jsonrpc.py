"""JSON-RPC: which responses count as results, in which order, and which failure is raised for the others."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.http_client import HttpError, HttpResponse, ResponseTimeout, ResponseTooLarge
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, NodeResponseTooLarge, NodeTimeout, RpcCall, RpcError

ROOT = Path(__file__).parents[4]
CALLS: list[RpcCall] = [("eth_chainId", []), ("eth_blockNumber", []), ("eth_gasPrice", [])]
ERROR = {"code": -32000, "message": "header not found"}


class Http:
    """Stands for the HTTP client: responds with `responses`, one after the other; `sent` keeps (path, body)."""

    def __init__(self, *responses: Any) -> None:
        self.responses = list(responses)
        self.sent: list[tuple[str, Any]] = []
        self.limits: list[int] = []

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        self.sent.append((path, body))
        self.limits.append(max_bytes)
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        if isinstance(response, HttpResponse):
            return response
        return HttpResponse(200, response if isinstance(response, bytes) else json.dumps(response).encode())


def node(http: Http, **options: Any) -> JsonRpcClient:
    return JsonRpcClient("sepolia", http, **options)


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def test_calls_travel_in_one_batch_and_results_are_ordered_by_id() -> None:
    http = Http([result(2, "c"), result(0, "a"), result(1, "b")])
    assert node(http).results(CALLS) == ["a", "b", "c"]
    ((path, body),) = http.sent
    assert path == ""
    assert [(call["jsonrpc"], call["id"], call["method"]) for call in body] == [
        ("2.0", 0, "eth_chainId"), ("2.0", 1, "eth_blockNumber"), ("2.0", 2, "eth_gasPrice")
    ]


def test_eleven_results_are_ordered_as_numbers() -> None:
    http = Http([result(id, id) for id in reversed(range(11))])
    assert node(http).results([("x", [])] * 11) == list(range(11))


def test_without_batches_each_call_is_a_request_of_its_own() -> None:
    http = Http(result(0, "a"), result("any id", "b"), {"result": "c"})
    assert node(http, rpc_path="/jsonrpc", batches=False).results(CALLS) == ["a", "b", "c"]
    assert [(path, body["method"]) for path, body in http.sent] == [("/jsonrpc", method) for method, _ in CALLS]


def test_no_call_is_no_request() -> None:
    assert node(Http()).results([]) == []


def test_a_null_result_is_a_result_and_a_null_error_is_no_error() -> None:
    assert node(Http([result(0, None)])).call("x") is None
    assert node(Http([{**result(0, 5), "error": None}])).call("x") == 5
    assert node(Http(result(0, 5))).call("x") == 5


@pytest.mark.parametrize(
    "responses",
    [
        [],
        [result(0, 1)],
        [result(0, 1), result(1, 2), result(1, 3)],
        [result(0, 1), result(1, 2), result(3, 3)],
        [result(0, 1), result(1, 2), result(2, 3), result(3, 4)],
        [result(None, 1), result(None, 2), result(None, 3)],
        [result("0", 1), result("1", 2), result("2", 3)],
        [result([], 1), result({}, 2), result(2, 3)],
        [{"result": 1}, {"result": 2}, {"result": 3}],
        [result(0, 1), result(1, 2), {"id": 2}],
        [result(0, 1), result(1, 2), 7],
        {},
        None,
        "text",
        7,
    ],
)
def test_responses_that_cannot_be_matched_with_the_calls_are_refused(responses: Any) -> None:
    with pytest.raises(ChainUnavailable) as raised:
        node(Http(responses)).results(CALLS)
    assert not isinstance(raised.value, RpcError)


@pytest.mark.parametrize(
    "responses",
    [
        [result(0, 1), {"id": 1, "error": ERROR}, result(2, 3)],
        {"id": None, "error": ERROR},
        [{"id": None, "error": ERROR}],
        [{"id": None, "error": ERROR}] * 3,
        {"error": ERROR},
    ],
)
def test_an_error_of_one_call_or_of_all_is_raised(responses: Any) -> None:
    with pytest.raises(RpcError) as raised:
        node(Http(responses)).results(CALLS)
    assert (raised.value.reason, raised.value.code) == ("header not found", -32000)
    assert "header" not in raised.value.message


def test_outcomes_have_the_error_in_the_place_of_its_call() -> None:
    first, second, third = node(Http([{"id": 1, "error": ERROR}, result(2, 3), result(0, 1)])).outcomes(CALLS)
    assert (first, third) == (1, 3)
    assert isinstance(second, RpcError)


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (ResponseTimeout(), NodeTimeout),
        (ResponseTooLarge(), NodeResponseTooLarge),
        (HttpError("connection refused"), ChainUnavailable),
        (HttpResponse(429, b"[]"), ChainUnavailable),
        (HttpResponse(302, b""), ChainUnavailable),
        (b"", ChainUnavailable),
        (b"\xff\xfe", ChainUnavailable),
        (b"[" * 5_000, ChainUnavailable),
        (b"9" * 10_000, ChainUnavailable),
    ],
    ids=lambda value: str(value)[:30],
)
def test_each_kind_of_failure_to_respond_has_its_error(failure: Any, raised: type[Exception]) -> None:
    with pytest.raises(ChainUnavailable) as found:
        node(Http(failure)).results(CALLS)
    assert type(found.value) is raised


def test_a_text_in_place_of_an_error_object_is_its_reason() -> None:
    assert jsonrpc.RpcError("sepolia", "daily limit").reason == "daily limit"
    assert jsonrpc.RpcError("sepolia", 7).says("7")


@pytest.mark.parametrize(("status", "counts"), [(199, False), (200, True), (299, True), (300, False)])
def test_a_response_counts_with_a_status_from_200_to_299(status: int, counts: bool) -> None:
    http = Http(HttpResponse(status, json.dumps([result(0, 5)]).encode()))
    if counts:
        assert node(http).call("x") == 5
    else:
        with pytest.raises(ChainUnavailable):
            node(http).call("x")


def test_contracts_and_blocks_are_asked_for_in_hex() -> None:
    address = "0x" + "aB" * 20
    read = {"to": address.lower(), "data": "0x12", "gas": "0x989680"}
    assert jsonrpc.contract_read(Call(address, "0x12")) == ("eth_call", [read, "latest"])
    assert jsonrpc.contract_read(Call(address, "0x12"), gas=16) == ("eth_call", [{**read, "gas": "0x10"}, "latest"])
    assert jsonrpc.contract_read(Call(address, "0x12"), "0x1f")[1][1] == "0x1f"
    assert jsonrpc.block_at(31) == ("eth_getBlockByNumber", ["0x1f", False])
    assert jsonrpc.code_at(address) == ("eth_getCode", [address.lower(), "latest"])


def test_an_error_says_what_it_is_about() -> None:
    def error(**fields: Any) -> RpcError:
        return RpcError("sepolia", fields)

    assert error(code=-32601).is_method_unknown and not error(code=-32600).is_method_unknown
    assert error(code=3).is_revert and error(message="Execution Reverted").is_revert
    assert error(message="err: intrinsic gas too low: have 10000000, want 10021000").is_revert
    assert not error(code=4).is_revert and not error(message="busy").is_revert
    assert error(data="0x12").data == "0x12" and error().reason == ""
    assert error(message="execution reverted", data="0x12").reason == "execution reverted"
    assert error(message="failed", data="Reverted").reason == "failed: Reverted" and error(data="Reverted").is_revert
    assert error(message="x" * 501).reason == "x" * 500
    assert (error().status, error().message) == (503, "The sepolia node refused a request")


def test_a_response_may_have_32_megabytes() -> None:
    assert jsonrpc.MAX_RESPONSE_BYTES == 33_554_432


@pytest.mark.parametrize("status", [400, 403, 413, 429, 500, 503])
@pytest.mark.parametrize("body", [{"error": ERROR}, [{"id": 0, "error": ERROR}], [{"id": 0, "result": 1}, {"id": 1, "error": ERROR}]])
def test_an_error_object_is_read_whatever_the_status(status: int, body: Any) -> None:
    with pytest.raises(RpcError) as raised:
        node(Http(HttpResponse(status, json.dumps(body).encode()))).results(CALLS)
    assert raised.value.reason == "header not found"


@pytest.mark.parametrize("body", [{"message": "Forbidden"}, {"error": None}, [], [7], None, "text"])
def test_another_body_of_another_status_is_no_answer(body: Any) -> None:
    with pytest.raises(ChainUnavailable) as raised:
        node(Http(HttpResponse(403, json.dumps(body).encode()))).results(CALLS)
    assert type(raised.value) is ChainUnavailable
    with pytest.raises(ChainUnavailable) as raised:
        node(Http(HttpResponse(403, json.dumps({"error": ERROR}).encode()))).post("/wallet/broadcasthex", {}, 100)
    assert type(raised.value) is ChainUnavailable


def test_a_batch_has_at_most_100_calls() -> None:
    http = Http([result(id, id) for id in range(100)], [result(id, id) for id in range(100, 130)])
    assert node(http).results([("x", [])] * 130) == list(range(130))
    assert [len(body) for _, body in http.sent] == [100, 30]
    with pytest.raises(ChainUnavailable, match="batches"):
        node(Http([result(id, id) for id in range(100)], [result(id, id) for id in range(30)])).results([("x", [])] * 130)


@pytest.mark.parametrize(
    ("method", "kilobytes"),
    [
        ("eth_getLogs", 32_768),
        ("eth_getBlockReceipts", 32_768),
        ("eth_getTransactionReceipt", 32_768),
        ("eth_simulateV1", 4_096),
        ("eth_getBlockByNumber", 2_048),
        ("eth_getCode", 1_024),
        ("eth_call", 256),
        ("eth_getBalance", 64),
    ],
)
def test_a_response_may_be_as_long_as_the_results_of_its_calls(method: str, kilobytes: int) -> None:
    http = Http([result(0, 1)], [result(id, id) for id in range(3)])
    node(http).call(method)
    node(http).results([(method, [])] * 2 + [("eth_gasPrice", [])])
    alone = Http(result(0, 1), result(0, 1))
    node(alone, batches=False).results([(method, []), ("eth_gasPrice", [])])
    assert http.limits == [kilobytes * 1024, (2 * kilobytes + 64) * 1024]
    assert alone.limits == [kilobytes * 1024, 64 * 1024]


def test_a_response_that_is_nested_very_deeply_does_not_end_a_process_that_has_signed() -> None:
    """The packages that sign let Python recurse 100,000 deep, which its parser of JSON has no stack for."""
    script = """
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.rpc.http_client import HttpResponse
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient
from chalicelib.relayer.keys.secret import SecretSigner
from chalicelib.relayer.transactions import sign
from tests.relayer.transactions import transaction

class Hostile:
    def post_json(self, path, body, max_bytes):
        return HttpResponse(200, b"[" * max_bytes)

sign(transaction(), SecretSigner(bytes(31) + b"\\1"))
try:
    JsonRpcClient("sepolia", Hostile()).call("eth_call")
except ChainUnavailable as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "The sepolia node does not answer\n"), ended.stderr
