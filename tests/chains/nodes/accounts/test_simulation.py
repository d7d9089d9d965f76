"""What a simulation sends to the node, and which step is taken as the one that lacks the native coin."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts.simulation import UNKNOWN_STEP, Simulator, StepResult
from chalicelib.chains.nodes.rpc.http_client import HttpResponse
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcError

SENDER, TO = "0x" + "aB" * 20, "0x" + "22" * 20
STEP = Transaction(TO, "0x095ea7b3", 0)
NO_FUNDS = StepResult(False, "the sender does not have the native coin that the transaction sends")
UNREACHED = StepResult(None, "a transaction before it cannot be sent")
WORKS = StepResult(True, None, 31)


class FundedNode:
    """Stands for the HTTP client of a node that simulates for a sender with `funds`; `sent` keeps the calls."""

    def __init__(self, funds: int, refusal: str = "insufficient funds for gas * price + value") -> None:
        self.funds, self.refusal = funds, refusal
        self.sent: list[dict[str, Any]] = []

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        self.sent += body
        return HttpResponse(200, json.dumps([{"id": call["id"], **self._response(call)} for call in body]).encode())

    def _response(self, call: dict[str, Any]) -> dict[str, Any]:
        steps = call["params"][0]["blockStateCalls"][0]["calls"] if call["method"] == "eth_simulateV1" else []
        if not steps or sum(int(step["value"], 16) for step in steps) > self.funds:
            return {"error": {"code": -38014, "message": self.refusal}}
        return {"result": [{"calls": [{"status": "0x1", "gasUsed": "0x1f", "returnData": "0x"} for _ in steps]}]}


def steps_of(http: FundedNode, *values: int) -> tuple[StepResult, ...]:
    simulator = Simulator(JsonRpcClient("sepolia", http))
    found = simulator.run([(SENDER, replace(STEP, value=value)) for value in values])
    assert found.method == "eth_simulateV1"
    return found.steps


def test_the_steps_are_sent_as_one_block_on_the_newest_one() -> None:
    http = FundedNode(100)
    assert steps_of(http, 0, 26) == (WORKS, WORKS)
    (call,) = http.sent
    sent = {"from": SENDER.lower(), "to": TO, "data": "0x095ea7b3"}
    calls = [{**sent, "value": "0x0"}, {**sent, "value": "0x1a"}]
    assert call["method"] == "eth_simulateV1"
    block = {"blockOverrides": {"gasLimit": hex(2**25)}, "calls": calls}
    assert call["params"] == [{"blockStateCalls": [block], "validation": False}, "latest"]


@pytest.mark.parametrize(
    ("values", "results"),
    [
        ((5, 6), (WORKS, NO_FUNDS)),
        ((5, 0, 6, 0), (WORKS, WORKS, NO_FUNDS, UNREACHED)),
        ((11,), (NO_FUNDS,)),
        ((11, 0), (NO_FUNDS, UNREACHED)),
        ((11, 6), (NO_FUNDS, UNREACHED)),
        ((0, 11, 0), (WORKS, NO_FUNDS, UNREACHED)),
        ((5, 6, 7), (WORKS, NO_FUNDS, UNREACHED)),
    ],
)
def test_the_last_step_that_sends_the_coin_fails_and_those_before_it_are_run(
    values: tuple[int, ...], results: tuple[StepResult, ...]
) -> None:
    assert steps_of(FundedNode(10), *values) == results


def test_a_node_that_refuses_for_another_reason_is_asked_for_the_first_step_alone_and_for_all_the_next_time() -> None:
    http = FundedNode(10, "daily limit exceeded")
    simulator = Simulator(JsonRpcClient("sepolia", http))
    with pytest.raises(RpcError):
        simulator.run([(SENDER, replace(STEP, value=11))])
    assert [call["method"] for call in http.sent] == ["eth_simulateV1", "eth_call", "eth_estimateGas"]
    step = {"from": SENDER.lower(), "to": TO, "data": "0x095ea7b3", "value": "0xb", "gas": "0x1000000"}
    assert [call["params"] for call in http.sent[1:]] == [[step, "latest"], [step]]
    assert simulator.run([(SENDER, STEP)]).method == "eth_simulateV1"


def test_a_refusal_where_no_step_sends_the_coin_is_no_result_of_a_simulation() -> None:
    simulator = Simulator(JsonRpcClient("sepolia", FundedNode(-1)))
    found = simulator.run([(SENDER, STEP), (SENDER, STEP)])
    assert (found.method, found.steps) == ("eth_call", (NO_FUNDS, StepResult(None, UNKNOWN_STEP)))


def test_another_wording_of_the_same_refusal_counts() -> None:
    assert steps_of(FundedNode(10, "Insufficient Balance for transfer"), 11) == (NO_FUNDS,)
