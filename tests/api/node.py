"""A node of sepolia that speaks JSON-RPC over real HTTP: it answers what a test sets, in the ABI of an independent library."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eth_abi import decode, encode

_AGGREGATE3, _APPROVE = "82ad56cb", "095ea7b3"
_ETH_BALANCE, _BALANCE_OF, _ALLOWANCE = "4d2301cc", "70a08231", "dd62ed3e"


@dataclass
class Node:
    """What one payer's wallet holds, and how the node behaves. `asked` keeps every method it was asked, in order."""

    native: int = 10**18
    balance: int = 10**12
    allowance: int = 0
    gas_price: int = 10**9
    contracts: set[str] = field(default_factory=set)
    refuses_approval: bool = False
    answers_with: Callable[[list[Any]], bytes] | None = None
    status: int = 200
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def reset(self) -> None:
        """Back to a wallet with money and no allowance, on a node that works."""
        self.native, self.balance, self.allowance, self.gas_price = 10**18, 10**12, 0, 10**9
        self.contracts, self.refuses_approval, self.answers_with, self.status = set(), False, None, 200
        self.asked.clear()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, calls: list[Any]) -> bytes:
        self.asked += [call["method"] for call in calls]
        if self.answers_with is not None:
            return self.answers_with(calls)
        return json.dumps([{"jsonrpc": "2.0", "id": call["id"], **self._one(call)} for call in calls]).encode()

    def _one(self, call: dict[str, Any]) -> dict[str, Any]:
        match call["method"], call["params"]:
            case "eth_gasPrice", _:
                return {"result": hex(self.gas_price)}
            case "eth_getCode", [address, _]:
                return {"result": "0x6001" if address.lower() in self.contracts else "0x"}
            case "eth_call", [{"data": data}, _] if data[2:10] == _AGGREGATE3:
                return {"result": "0x" + self._aggregate(bytes.fromhex(data[10:])).hex()}
            case "eth_call", [{"data": data}, _] if data[2:10] == _APPROVE and self.refuses_approval:
                return {"error": {"code": 3, "message": "execution reverted"}}
            case "eth_call", _:
                return {"result": "0x"}
        return {"error": {"code": -32601, "message": "unknown method"}}

    def _aggregate(self, data: bytes) -> bytes:
        (calls,) = decode(["(address,bool,bytes)[]"], data)
        return encode(["(bool,bytes)[]"], [[(True, self._read(inner)) for _, _, inner in calls]])

    def _read(self, data: bytes) -> bytes:
        held = {_ETH_BALANCE: self.native, _BALANCE_OF: self.balance, _ALLOWANCE: self.allowance}
        return encode(["uint256"], [held[data[:4].hex()]])


def _handler(node: Node) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = node.answer(body if isinstance(body, list) else [body])
            self.send_response(node.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler
