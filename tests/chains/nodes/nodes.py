"""A node for tests of its client's users: an HTTP client that responds by method, without a network."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.chains.nodes.rpc.http_client import HttpResponse
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient


class NodeResponses:
    """Stands for the HTTP client of a node. `results` gives each method's result for its parameters; `sent` keeps calls."""

    def __init__(self, results: Mapping[str, Callable[..., Any]]) -> None:
        self.results = dict(results)
        self.sent: list[tuple[str, list[Any]]] = []
        self.requests = 0

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        self.requests += 1
        self.sent += [(call["method"], call["params"]) for call in body]
        responses = [{"id": call["id"], "result": self.results[call["method"]](*call["params"])} for call in body]
        return HttpResponse(200, json.dumps(responses).encode())


def node_of(network: str, http: NodeResponses) -> JsonRpcClient:
    return JsonRpcClient(network, http)
