"""A node that takes the transactions of delegated accounts as geth does (EIP-7702), in front of anvil, which takes any.

A sender with code, or with an authorization that is pending, has at most one transaction in the pool: the next nonce is
refused, and so is a gap; one in the place of another is taken (geth, core/txpool/legacypool, checkDelegationLimit).
"""

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import requests
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from infra.local.chain import Chain

IN_FLIGHT = "in-flight transaction limit reached for delegated accounts"
GAPPED = "gapped-nonce tx from delegated accounts"
_DELEGATING = 4


class GethPool:
    """`refused` are the reasons for which transactions were not taken."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.refused = list[str]()
        self._session = requests.Session()
        self._session.trust_env = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: bytes) -> bytes:
        calls = json.loads(body)
        answers = [self._answer(call) for call in (calls if isinstance(calls, list) else [calls])]
        return json.dumps(answers if isinstance(calls, list) else answers[0]).encode()

    def _answer(self, call: Mapping[str, Any]) -> Any:
        if call["method"] == "eth_sendRawTransaction" and (reason := self._refusal(call["params"][0])) is not None:
            self.refused.append(reason)
            return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32000, "message": reason}}
        return self._session.post(self.chain.url, json=call).json()

    def _refusal(self, raw: str) -> str | None:
        sender, fields = Account.recover_transaction(raw), TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
        mined, pending = (
            int(self.chain.rpc("eth_getTransactionCount", sender, block), 16) for block in ("latest", "pending")
        )
        has_code = self.chain.rpc("eth_getCode", sender, "latest") != "0x"
        if not has_code and fields["type"] != _DELEGATING and pending == mined:
            return None
        if fields["nonce"] > mined and pending > mined:
            return IN_FLIGHT
        return GAPPED if fields["nonce"] > mined else None


def _handler(pool: GethPool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = pool.answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    return Handler
