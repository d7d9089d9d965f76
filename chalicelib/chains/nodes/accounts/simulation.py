"""Simulates transactions by a node: the result of each, with the reason of a failure and the gas."""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.reverts import revert_reason
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.readings import StepResult as StepResult
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import quantity

_TRANSACTION_GAS = 2**24
"""The most gas that a transaction can have on Ethereum since EIP-7825; payments take less on every network."""
_SIMULATION_GAS = 50_000_000
"""The most gas of all transactions together; the contract of a payee can use it up. Nodes refuse a simulation with more
(geth, reth), or lower it."""
TOO_LARGE = "the result of the transactions is too large to be checked"
UNKNOWN_STEP = "this node cannot run a transaction after another one; it depends on the steps before it"
_NO_FUNDS = "the sender does not have the native coin that the transaction sends"
_FAILURES = {
    "insufficient funds": _NO_FUNDS,
    "out of gas": "out of gas",
    "opcode": "invalid instruction",
    "invalid jump": "invalid instruction",
}
"""Parts of a node's text for failures without revert data, and the reasons shown instead of the node's text."""


@frozen
class Simulation:
    """The results in the order of the transactions, and the node's method that returned them."""

    method: str
    steps: tuple[StepResult, ...]


_UNFUNDED_STEP = StepResult(False, _NO_FUNDS)
_UNREACHED_STEP = StepResult(None, "a transaction before it cannot be sent")


class Simulator:
    """Simulates by eth_simulateV1, or by eth_call and eth_estimateGas on a node without that method."""

    def __init__(self, node: jsonrpc.JsonRpcClient) -> None:
        self.network = node.network
        self._node = node
        self._has_simulate = True

    @jsonrpc.unavailable_if_malformed
    def run(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """Simulates transactions, each with its sender, one after the other on the state of the newest block.

        Without eth_simulateV1 only the first is run. The others depend on it, so their results are not known. Results
        are not known either if they are too large: contracts of others that take part can return and log anything.
        """
        calls = [_transaction(sender, each) for sender, each in sent]
        if self._has_simulate:
            try:
                return Simulation("eth_simulateV1", self._simulate_calls(calls))
            except jsonrpc.NodeResponseTooLarge:
                return Simulation("eth_simulateV1", tuple(StepResult(None, TOO_LARGE) for _ in calls))
            except jsonrpc.RpcError as error:
                self._has_simulate = not error.is_method_unknown
        rest = (StepResult(None, UNKNOWN_STEP) for _ in calls[1:])
        return Simulation("eth_call", (self._first_step(*sent[0]), *rest))

    def _first_step(self, sender: str, first: Transaction) -> StepResult:
        gas = _TRANSACTION_GAS
        try:
            returned, estimate = self._node.outcomes([call_of(sender, first, gas), estimate_of(sender, first, gas)])
        except jsonrpc.NodeResponseTooLarge:
            return StepResult(None, TOO_LARGE)
        return step_of_call(returned, estimate)

    def _simulate_calls(self, calls: list[dict[str, str]]) -> tuple[StepResult, ...]:
        """Simulates the calls by eth_simulateV1 in one block, unsigned and without gas fees, each after the one before.

        Nodes refuse the whole block if a sender lacks the native coin that a call sends. The last call that sends the
        coin is then taken as the one that fails, and the calls before it are simulated again without it.
        """
        gas = min(len(calls) * _TRANSACTION_GAS, _SIMULATION_GAS)
        block = {"blockOverrides": {"gasLimit": hex(gas)}, "calls": calls}
        try:
            blocks = self._node.call("eth_simulateV1", {"blockStateCalls": [block], "validation": False}, "latest")
        except jsonrpc.RpcError as error:
            cut = next((i for i in reversed(range(len(calls))) if int(calls[i]["value"], 16)), None)
            if cut is None or not _lacks_funds(error):
                raise
            before = self._simulate_calls(calls[:cut]) if cut else ()
            here = _UNREACHED_STEP if _UNFUNDED_STEP in before else _UNFUNDED_STEP
            return (*before, here, *(_UNREACHED_STEP for _ in calls[cut + 1 :]))
        steps = tuple(_step_of_simulation(call) for call in blocks[0]["calls"])
        if len(steps) != len(calls):
            raise ChainUnavailable(f"The {self.network} node ran other calls than it was given")
        return steps


def call_of(sender: str, each: Transaction, gas: int, block: str = "latest") -> jsonrpc.RpcCall:
    """Runs a transaction on the state after a block, with the most gas that it may take."""
    return "eth_call", [{**_transaction(sender, each), "gas": hex(gas)}, block]


def estimate_of(sender: str, each: Transaction, gas: int) -> jsonrpc.RpcCall:
    """Estimates the gas of a transaction on the newest state, with the most gas that it may take."""
    return "eth_estimateGas", [{**_transaction(sender, each), "gas": hex(gas)}]


def _transaction(sender: str, each: Transaction) -> dict[str, str]:
    return {"from": hex_address(sender), "to": hex_address(each.to), "data": each.data, "value": hex(each.value)}


def _step_of_simulation(call: Mapping[str, Any]) -> StepResult:
    """The step of one call's result from eth_simulateV1."""
    gas = quantity(call["gasUsed"])
    if quantity(call["status"]) == 1:
        return StepResult(True, None, gas)
    failure = call.get("error") or {}
    return StepResult(False, _reason(failure.get("message"), call.get("returnData"), failure.get("data")), gas)


def step_of_call(returned: Any, estimate: Any) -> StepResult:
    """The step of what `call_of` and `estimate_of` (or None) led to. Raises the RpcError if the node itself failed."""
    if isinstance(returned, jsonrpc.RpcError):
        if not returned.is_revert and not _lacks_funds(returned):
            raise returned
        return StepResult(False, _reason(returned.reason, returned.data))
    return StepResult(
        True, None, None if estimate is None or isinstance(estimate, jsonrpc.RpcError) else quantity(estimate)
    )


def _lacks_funds(error: jsonrpc.RpcError) -> bool:
    """Whether the node refused a call because its sender has less of the native coin than the call sends."""
    return error.says("insufficient funds", "insufficient balance")


def _reason(message: Any, *candidates: Any) -> str:
    """The reason of a failure: from the first candidate with revert data, or one that matches the node's message."""
    for candidate in candidates:
        data = candidate.get("data") if isinstance(candidate, dict) else candidate
        if isinstance(data, str) and len(data) > 2:
            return revert_reason(bytes.fromhex(data.removeprefix("0x")))
    text = str(message).lower()
    return next((reason for part, reason in _FAILURES.items() if part in text), revert_reason(b""))
