"""What transactions would do now: a node's answers to a simulation, as steps with their reasons and gas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.calldata.reverts import revert_reason
from chalicelib.chain.jsonrpc import RpcError

UNKNOWN_STEP = "this node cannot run a transaction after another one; it depends on the steps before it"
_NO_FUNDS = "the sender does not have the native coin that the transaction sends"
_FAILURES = {
    "insufficient funds": _NO_FUNDS,
    "out of gas": "out of gas",
    "opcode": "invalid instruction",
    "invalid jump": "invalid instruction",
}
"""What a node says of a failure without data, and what we say: its own text is not for callers."""


@dataclass(frozen=True)
class StepResult:
    """One transaction. `success` None: it cannot be said; `gas` is what was used, or estimated (energy on tron)."""

    success: bool | None
    reason: str | None = None
    gas: int | None = None


@dataclass(frozen=True)
class Simulation:
    """Steps in the order of the transactions, and the node's method that ran them."""

    method: str
    steps: tuple[StepResult, ...]


def simulated_step(call: Mapping[str, Any]) -> StepResult:
    """A step from the answer of eth_simulateV1 for one call."""
    gas = int(call["gasUsed"], 16)
    if int(call["status"], 16) == 1:
        return StepResult(True, None, gas)
    failure = call.get("error") or {}
    return StepResult(False, _reason(call.get("returnData"), failure.get("data"), failure.get("message")), gas)


def called_step(answer: Any, estimate: Any) -> StepResult:
    """A step from the answers of eth_call and eth_estimateGas. Raises the RpcError that speaks of the node itself."""
    if isinstance(answer, RpcError):
        if not answer.is_revert and not lacks_funds(answer):
            raise answer
        return StepResult(False, _reason(answer.data, None, answer.reason))
    return StepResult(True, None, None if isinstance(estimate, RpcError) else int(estimate, 16))


def lacks_funds(error: RpcError) -> bool:
    """Whether the sender has less of the native coin than the call sends; nodes then refuse the whole simulation."""
    return error.says("insufficient funds", "insufficient balance")


UNFUNDED_STEP = StepResult(False, _NO_FUNDS)
UNREACHED_STEP = StepResult(None, "a transaction before it cannot be sent")


def _reason(*told: Any) -> str:
    """The reason in revert data, wherever the node put it; else in its words, the last of `told`."""
    *places, message = told
    for place in places:
        data = place.get("data") if isinstance(place, dict) else place
        if isinstance(data, str) and len(data) > 2:
            return revert_reason(bytes.fromhex(data.removeprefix("0x")))
    words = str(message).lower()
    return next((said for text, said in _FAILURES.items() if text in words), revert_reason(b""))
