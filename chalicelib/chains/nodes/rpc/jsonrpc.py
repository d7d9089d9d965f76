"""The JSON-RPC client of a node: sends calls, checks responses, and distinguishes the kinds of failure."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.nodes.rpc.http_client import HttpError, HttpResponse, ResponseTimeout, ResponseTooLarge

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""About 40,000 logs; nodes usually return at most 10,000. Parsed JSON takes several times as much memory."""
_LARGEST_RESULTS = {
    "eth_getLogs": MAX_RESPONSE_BYTES,
    "eth_getTransactionByHash": 512 * 1024,  # calldata of 128 kB as hexadecimal text, and its other fields
    "eth_getBlockReceipts": MAX_RESPONSE_BYTES,
    "eth_getTransactionReceipt": MAX_RESPONSE_BYTES,  # twice what a transaction of 2**24 gas can log (full_blocks.py)
    "eth_getBlockByNumber": 2 * 1024 * 1024,  # a header, and the hashes of 30,000 transactions
    "eth_getBlockByHash": 2 * 1024 * 1024,
    "eth_simulateV1": 4 * 1024 * 1024,  # the logs of 1,000 payments
    "eth_getCode": 1024 * 1024,  # several times the longest code of a network
    "eth_call": 256 * 1024,  # what Multicall3 returns for 200 tokens is half as long
}
"""The most bytes of a method's result as JSON. Foreign contracts can make nodes return megabytes."""
_LARGEST_OTHER_RESULT = 64 * 1024
_LARGEST_BATCH = 100
"""Calls in one JSON-RPC batch: nodes refuse larger ones (geth at 1,000, hosted nodes at 100 or more)."""
_LONGEST_REASON = 500
"""Characters of a node's text in the log."""
READ_GAS = 10_000_000
"""The most gas of one read of a contract, which can be anybody's; hundreds of times what a balance or nonce takes."""
_METHOD_NOT_FOUND = -32601
_REVERTED_CODE = 3
_REVERTED = (
    *("revert", "out of gas", "opcode", "invalid jump", "stack ", "evm error", "vm execution error"),
    *("return data out of bounds", "gas uint64 overflow", "max initcode size", "intrinsic gas"),
)
"""Texts by which nodes report that a contract failed, not the node."""
_DELEGATION, _DELEGATION_LENGTH = "0xef0100", 48
_NO_RESULT = object()

RpcCall = tuple[str, list[Any]]
"""A method and its parameters."""


class RpcError(ChainUnavailable):
    """The node responded with an error object, with any HTTP status.

    `reason` is the node's text, from its message and its data, for logs only, not for callers. `data` is often the
    revert data of a contract.
    """

    def __init__(self, network: str, error: Any) -> None:
        super().__init__(f"The {network} node refused a request")
        fields = error if isinstance(error, dict) else {"message": error}
        self.code, self.data = fields.get("code"), fields.get("data")
        texts = [fields.get("message"), None if isinstance(self.data, str) and self.data[:2] == "0x" else self.data]
        self.reason = ": ".join(str(text) for text in texts if text)[:_LONGEST_REASON]

    def says(self, *texts: str) -> bool:
        """Whether the reason contains one of the lower-case texts."""
        return any(text in self.reason.lower() for text in texts)

    @property
    def is_method_unknown(self) -> bool:
        return self.code == _METHOD_NOT_FOUND

    @property
    def is_revert(self) -> bool:
        """Whether a contract failed, not the node."""
        return self.code == _REVERTED_CODE or self.says(*_REVERTED)


class NodeTimeout(ChainUnavailable):
    """The node accepted the request but did not respond in time."""


class NodeResponseTooLarge(ChainUnavailable):
    """The node's response is longer than the results of its calls may be."""


class PostsJson(Protocol):
    """What sends the bodies: an HttpClient, or a node in the same process."""

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse: ...


class JsonRpcClient:
    """The client of one node. `rpc_path` is the path of its JSON-RPC API, which is added to the URL.

    Several calls are sent as JSON-RPC batches of at most 100, or in one request each if `batches` is False. `on_error`
    is called for each request without a usable response, and for each that the node refuses, unless a contract failed.
    """

    calls_per_request = _LARGEST_BATCH
    """How many calls one request has at most."""

    def __init__(
        self,
        network: str,
        http: PostsJson,
        rpc_path: str = "",
        *,
        batches: bool = True,
        on_error: Callable[[], None] | None = None,
    ) -> None:
        self.network = network
        self._no_answer = f"The {network} node does not answer"
        self._http = http
        self._rpc_path = rpc_path
        self.calls_per_request = _LARGEST_BATCH if batches else 1
        self._on_error = on_error or (lambda: None)

    def call(self, method: str, *params: Any) -> Any:
        """The result of one call. Raises RpcError or ChainUnavailable."""
        (result,) = self.results([(method, list(params))])
        return result

    def results(self, calls: Sequence[RpcCall]) -> list[Any]:
        """The results of calls, in order. Raises the RpcError of the first call that failed, or ChainUnavailable."""
        outcomes = self.outcomes(calls)
        raise_first_error(outcomes)
        return outcomes

    def outcomes(self, calls: Sequence[RpcCall]) -> list[Any]:
        """The results of calls, in order, with an RpcError for each call that failed. Raises ChainUnavailable."""
        if not calls:
            return []
        bodies = [
            {"jsonrpc": "2.0", "id": position, "method": method, "params": params}
            for position, (method, params) in enumerate(calls)
        ]
        outcomes: list[Any] = []
        if self.calls_per_request > 1:
            for start in range(0, len(bodies), _LARGEST_BATCH):
                batch = bodies[start : start + _LARGEST_BATCH]
                ids = range(start, start + len(batch))
                outcomes += _outcomes(self.network, self._post_calls(batch, calls[start : ids.stop]), ids)
        else:
            for body, call in zip(bodies, calls, strict=True):
                outcomes += _outcomes(self.network, self._post_calls(body, [call]), range(1))
        return outcomes

    def post(self, path: str, body: Any, max_bytes: int) -> Any:
        """Posts JSON to a path of the node and returns the JSON of its response. Raises ChainUnavailable."""
        response, content = self._exchange(path, body, max_bytes)
        if not response.is_success:
            raise ChainUnavailable(self._no_answer) from HttpError(f"status {response.status}")
        return content

    def _post_calls(self, body: Any, calls: Sequence[RpcCall]) -> Any:
        """Posts JSON-RPC calls and returns the responses. Raises the RpcError in a response of another status."""
        largest = sum(_LARGEST_RESULTS.get(method, _LARGEST_OTHER_RESULT) for method, _ in calls)
        response, content = self._exchange(self._rpc_path, body, largest)
        if response.is_success:
            return content
        raise_first_error(list(_errors(self.network, content)))
        raise ChainUnavailable(self._no_answer) from HttpError(f"status {response.status}")

    def _exchange(self, path: str, body: Any, max_bytes: int) -> tuple[HttpResponse, Any]:
        """Posts JSON and returns the response and its JSON. Raises ChainUnavailable."""
        has_failed = True
        try:
            response = self._http.post_json(path, body, max_bytes)
            content = json.loads(response.body)
            has_failed = not response.is_success or any(not error.is_revert for error in _errors(self.network, content))
            return response, content
        except ResponseTimeout as error:
            raise NodeTimeout(f"The {self.network} node takes too long") from error
        except ResponseTooLarge as error:
            raise NodeResponseTooLarge(f"The {self.network} node responds with too much") from error
        except (HttpError, ValueError, RecursionError) as error:
            raise ChainUnavailable(self._no_answer) from error
        finally:
            if has_failed:
                self._on_error()


def contract_read(read: Call, block: str = "latest", gas: int = READ_GAS) -> RpcCall:
    """A contract's function on the state after a block. Addresses are sent as 0x hex, on tron too."""
    return "eth_call", [{"to": hex_address(read.to), "data": read.data, "gas": hex(gas)}, block]


def block_at(number: int) -> RpcCall:
    """A block's header; the result is None if the node does not have the block."""
    return "eth_getBlockByNumber", [hex(number), False]


def code_at(address: str) -> RpcCall:
    """The code of an address; the result is `0x` if it has none."""
    return "eth_getCode", [hex_address(address), "latest"]


def delegates(code: str) -> bool:
    """Whether the code of an address is that of a key which delegates to a contract (EIP-7702)."""
    return len(code) == _DELEGATION_LENGTH and code.startswith(_DELEGATION)


def _errors(network: str, content: Any) -> Iterator[RpcError]:
    """The errors in the response to one call or to a batch."""
    for each in content if isinstance(content, list) else [content]:
        if isinstance(each, dict) and each.get("error"):
            yield RpcError(network, each["error"])


def _outcomes(network: str, responses: Any, ids: range) -> list[Any]:
    """The outcomes of the calls with these ids, in their order: the result of each, or its RpcError.

    A response that is not a list is the response to a single call. Raises ChainUnavailable if the responses are not
    JSON-RPC, and the RpcError if the node responds to the batch with one error.
    """
    if isinstance(responses, dict):
        responses = [{**responses, "id": ids[0]}]
    if not isinstance(responses, list) or not all(map(_is_response, responses)):
        raise ChainUnavailable(f"The {network} node does not answer JSON-RPC")
    by_id = {response.get("id"): _outcome(network, response) for response in responses}
    outcomes = [by_id.get(position, _NO_RESULT) for position in ids]
    if len(responses) != len(ids) or any(outcome is _NO_RESULT for outcome in outcomes):
        raise_first_error(list(by_id.values()))
        raise ChainUnavailable(f"The {network} node does not answer batches")
    return outcomes


def _is_response(each: Any) -> bool:
    return isinstance(each, dict) and not isinstance(each.get("id"), list | dict)


def raise_first_error(outcomes: Sequence[Any]) -> None:
    """Raises the first RpcError among outcomes, if there is one."""
    for outcome in outcomes:
        if isinstance(outcome, RpcError):
            raise outcome


def _outcome(network: str, response: dict[str, Any]) -> Any:
    if response.get("error"):
        return RpcError(network, response["error"])
    return response.get("result", _NO_RESULT)


class _OfNetwork(Protocol):
    @property
    def network(self) -> str: ...


N = TypeVar("N", bound=_OfNetwork)
P = ParamSpec("P")
T = TypeVar("T")


def on_node(read: Callable[Concatenate[JsonRpcClient, P], T]) -> Callable[Concatenate[Any, P], T]:
    """`read`, whose first argument is a node, as a method of a chain."""

    @wraps(read)
    def method(chain: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return read(chain.node, *args, **kwargs)

    return method


def unavailable_if_malformed(function: Callable[Concatenate[N, P], T]) -> Callable[Concatenate[N, P], T]:
    """Raises ChainUnavailable if a node's response does not have the documented form and reading it fails.

    For methods and functions whose first argument has the attribute `network`: a chain, or the client of its node.
    """

    @wraps(function)
    def run_checked(node: N, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(node, *args, **kwargs)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ChainUnavailable(f"The {node.network} node does not answer as it should") from error

    return run_checked
