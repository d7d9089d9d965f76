"""JSON-RPC with a node: what counts as an answer, and how the failures to give one are told apart."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from chalicelib.base.errors import ChainUnavailable

CONNECT_SECONDS, READ_SECONDS = 2, 6
"""Two questions one after the other stay within what API Gateway waits for (29 s)."""
_METHOD_NOT_FOUND = -32601
_REVERTED_CODE = 3
_REVERTED = ("revert", "out of gas", "opcode", "invalid jump", "stack ", "evm error", "vm execution error")
"""How nodes say that a contract failed, and not they."""

Question = tuple[str, list[Any]]
"""A method and its parameters."""


class _OfNetwork(Protocol):
    network: str


S = TypeVar("S", bound=_OfNetwork)
P = ParamSpec("P")
T = TypeVar("T")


class RpcError(ChainUnavailable):
    """The node answered with an error object; `reason` is the node's own text, for us and not for callers."""

    def __init__(self, network: str, failure: Any) -> None:
        super().__init__(f"The {network} node refused a request")
        told = failure if isinstance(failure, dict) else {"message": failure}
        self.reason, self.code, self.data = str(told.get("message", "")), told.get("code"), told.get("data")

    def says(self, *texts: str) -> bool:
        return any(text in self.reason.lower() for text in texts)

    @property
    def is_method_unknown(self) -> bool:
        return self.code == _METHOD_NOT_FOUND

    @property
    def is_revert(self) -> bool:
        """Whether a contract failed, which is an answer, and not the node."""
        return self.code == _REVERTED_CODE or self.says(*_REVERTED)


class TooSlow(ChainUnavailable):
    """The node took the question and did not answer in time."""


def asks(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A question to the node: an answer outside the forms of JSON-RPC is no answer."""

    @wraps(method)
    def ask(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ChainUnavailable(f"The {self.network} node does not answer as it should") from error

    return ask


def results(network: str, answers: Any, count: int) -> list[Any]:
    """What each of `count` questions was answered with: its result, or the RpcError in its place.

    Raises ChainUnavailable for what is no JSON-RPC, RpcError when one error answers for all.
    """
    if isinstance(answers, dict):
        answers = [answers]
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        raise ChainUnavailable(f"The {network} node does not answer JSON-RPC")
    each = [
        RpcError(network, answer["error"]) if answer.get("error") else answer.get("result", _ABSENT)
        for answer in answers
    ]
    if len(each) != count:
        raise_first_error(each)
    if len(each) != count or any(result is _ABSENT for result in each):
        raise ChainUnavailable(f"The {network} node does not answer batches")
    return each


def raise_first_error(each: Sequence[Any]) -> None:
    """Raises the first RpcError among the results, when there is one."""
    for result in each:
        if isinstance(result, RpcError):
            raise result


_ABSENT = object()
