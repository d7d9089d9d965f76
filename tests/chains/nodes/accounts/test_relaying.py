"""What a node is asked about the service's own account, and how its answers are read: prices, dry runs, receipts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts import relaying
from chalicelib.chains.nodes.accounts.relaying import UNKNOWN
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.readings import AccountReading, Receipt, StepResult
from chalicelib.chains.nodes.rpc.http_client import HttpResponse, ResponseTimeout
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient
from chalicelib.chains.nodes.rpc.receipts import find_receipts

SENDER, TO = "0x" + "aB" * 20, "0x" + "22" * 20
HASH, BLOCK_HASH = "0x" + "12" * 32, "0x" + "34" * 32
HANGS = Transaction(TO, "0xdead", 0)
WORKS = Transaction(TO, "0x01", 5)
REVERTS = Transaction(TO, "0xbad0", 0)
REVERTED = {"error": {"code": 3, "message": "execution reverted", "data": "0x08c379a0" + f"{32:064x}{2:064x}" + b"no".hex().ljust(64, "0")}}
METHOD_UNKNOWN = {"error": {"code": -32601, "message": "the method eth_maxPriorityFeePerGas does not exist"}}
ACCOUNT: dict[str, Any] = {
    "eth_chainId": "0xaa36a7",
    "eth_getBlockByNumber": {"number": "0x64", "baseFeePerGas": "0x3b9aca00"},
    "eth_getTransactionCount": "0x5",
    "eth_getBalance": hex(10**30),
    "eth_gasPrice": "0x4a817c80",
    "eth_maxPriorityFeePerGas": "0x5f5e100",
}


class Node:
    """Stands for the HTTP client of a node: `answers` gives the response to each call, or what is raised instead."""

    def __init__(self, answers: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.answers, self.requests = answers, 0
        self.sent: list[dict[str, Any]] = []

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        self.requests += 1
        self.sent += body
        return HttpResponse(200, json.dumps([{"id": call["id"], **self.answers(call)} for call in body]).encode())


def node_of(answers: Callable[[dict[str, Any]], dict[str, Any]]) -> tuple[JsonRpcClient, Node]:
    http = Node(answers)
    return JsonRpcClient("sepolia", http), http


def account(**changes: Any) -> JsonRpcClient:
    """A node with the account; `changes` are the results of methods, or whole responses with an error."""
    results = ACCOUNT | changes

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        result = results[call["method"]]
        return result if isinstance(result, dict) and "error" in result else {"result": result}

    return node_of(answer)[0]


def test_an_account_is_read_with_the_prices_of_gas_in_one_request() -> None:
    node, http = node_of(lambda call: {"result": ACCOUNT[call["method"]]})
    assert relaying.read_account(node, SENDER) == AccountReading(100, 5, 10**30, 10**9, 10**8)  # type: ignore[arg-type]
    assert http.requests == 1


def test_a_node_that_suggests_no_tip_has_one_in_its_gas_price() -> None:
    assert relaying.read_account(account(eth_maxPriorityFeePerGas=METHOD_UNKNOWN), SENDER).tip == 0x4A817C80 - 10**9
    cheap = account(eth_maxPriorityFeePerGas=METHOD_UNKNOWN, eth_gasPrice="0x1")
    assert relaying.read_account(cheap, SENDER).tip == 0


def test_a_network_without_a_base_fee_has_none() -> None:
    assert relaying.read_account(account(eth_getBlockByNumber={"number": "0x64"}), SENDER).base_fee == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"eth_chainId": "0x1"},
        {"eth_getBlockByNumber": None},
        {"eth_getBlockByNumber": {"number": "100"}},
        {"eth_getTransactionCount": "5"},
        {"eth_getTransactionCount": None},
        {"eth_getBalance": {"error": {"code": -32000, "message": "header not found"}}},
        {"eth_getBalance": "0x" + "f" * 65},
        {"eth_gasPrice": "-0x1", "eth_maxPriorityFeePerGas": METHOD_UNKNOWN},
        {"eth_maxPriorityFeePerGas": "a lot"},
        {"eth_maxPriorityFeePerGas": hex(2**96)},
    ],
)
def test_an_answer_in_another_form_is_none(changes: dict[str, Any]) -> None:
    with pytest.raises(ChainUnavailable):
        relaying.read_account(account(**changes), SENDER)


def runs(call: dict[str, Any]) -> dict[str, Any]:
    """A node that runs calls, but hangs at one and at batches with it."""
    data = call["params"][0]["data"]
    if data == HANGS.data:
        raise ResponseTimeout("no answer in time")
    if data == REVERTS.data:
        return REVERTED
    return {"result": "0x" if call["method"] == "eth_call" else "0xc350"}


def test_calls_are_run_each_alone_with_the_most_gas_they_may_take() -> None:
    node, http = node_of(runs)
    found = relaying.run_each(node, SENDER, [(WORKS, 70_000), (REVERTS, 80_000)])
    assert found == (StepResult(True, None, 50_000), StepResult(False, "no"))
    assert http.requests == 1
    first = {"from": SENDER.lower(), "to": TO, "data": "0x01", "value": "0x5", "gas": hex(70_000)}
    assert [(each["method"], each["params"]) for each in http.sent[:2]] == [
        ("eth_call", [first, "latest"]),
        ("eth_estimateGas", [first]),
    ]


def test_a_call_that_the_node_cannot_run_spoils_no_other() -> None:
    node, _ = node_of(runs)
    found = relaying.run_each(node, SENDER, [(WORKS, 10**5), (HANGS, 10**5), (REVERTS, 10**5)])
    assert found == (StepResult(True, None, 50_000), StepResult(None, UNKNOWN), StepResult(False, "no"))


def test_a_node_that_runs_none_is_unavailable() -> None:
    with pytest.raises(ChainUnavailable):
        relaying.run_each(node_of(runs)[0], SENDER, [(HANGS, 10**5)])
    with pytest.raises(ChainUnavailable):
        relaying.run_each(node_of(runs)[0], SENDER, [(HANGS, 10**5), (HANGS, 10**5)])


def test_what_a_node_says_against_transactions_is_returned_and_not_raised() -> None:
    def answer(call: dict[str, Any]) -> dict[str, Any]:
        refused = {"error": {"code": -32000, "message": "nonce too low"}}
        return refused if call["params"] == ["0x02aa"] else {"result": HASH}

    assert relaying.send_raw(node_of(answer)[0], ["0x02aa", "0x02bb"]) == ("nonce too low", None)


def receipt(**changes: Any) -> dict[str, Any]:
    return {
        "transactionHash": HASH,
        "blockNumber": "0x64",
        "blockHash": BLOCK_HASH,
        "status": "0x1",
        "gasUsed": "0x5208",
        "effectiveGasPrice": "0x3b9aca00",
        **changes,
    }


def test_receipts_tell_the_block_the_success_and_the_cost() -> None:
    other = "0x" + "56" * 32
    node, http = node_of(lambda call: {"result": receipt() if call["params"] == [HASH] else None})
    assert relaying.receipts_of(node, [HASH, other]) == {HASH: Receipt(HASH, 100, BLOCK_HASH, True, 21_000 * 10**9)}  # type: ignore[arg-type]
    assert http.requests == 1
    failed, _ = node_of(lambda call: {"result": receipt(status="0x0")})
    assert relaying.receipts_of(failed, [HASH])[HASH].success is False


def test_a_receipt_that_is_refused_keeps_no_other_from_being_read_and_is_not_taken_for_none() -> None:
    other, refused = "0x" + "56" * 32, {"error": {"code": -32000, "message": "response too large"}}
    node, _ = node_of(lambda call: {"result": receipt()} if call["params"] == [HASH] else refused)
    assert find_receipts(node, [HASH, other]) == {HASH: receipt()}
    for asked in ([HASH, other], [other]):
        with pytest.raises(ChainUnavailable):
            relaying.receipts_of(node, asked)


def test_a_receipt_of_another_transaction_or_in_another_form_is_none() -> None:
    with pytest.raises(InconsistentNode):
        relaying.receipts_of(node_of(lambda call: {"result": receipt(transactionHash=BLOCK_HASH)})[0], [HASH])
    for broken in (receipt(blockNumber=None), receipt(status=None), receipt(blockHash="0x12"), receipt(gasUsed="many")):
        with pytest.raises(ChainUnavailable):
            relaying.receipts_of(node_of(lambda call, found=broken: {"result": found})[0], [HASH])


def test_a_failed_transaction_is_run_again_on_the_state_before_its_block() -> None:
    node, http = node_of(runs)
    assert relaying.replay_transaction(node, SENDER, REVERTS, 10**5, 100) == StepResult(False, "no")
    assert http.sent[0]["params"][1] == "0x63"


def test_a_node_without_that_state_does_not_know_why() -> None:
    pruned = node_of(lambda call: {"error": {"code": -32000, "message": "missing trie node"}})[0]
    assert relaying.replay_transaction(pruned, SENDER, REVERTS, 10**5, 100) == StepResult(None)
