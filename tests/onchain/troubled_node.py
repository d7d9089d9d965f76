"""A node in front of a real chain that fails as a test says: requests and answers are lost, transactions forgotten, and
wrong answers given."""

import json
import threading
from collections.abc import Callable, Sequence
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from infra.local.chain import Chain

SEND = "eth_sendRawTransaction"


class Trouble(StrEnum):
    """What happens to one request."""

    NO_REQUEST = "it is lost"
    NO_ANSWER = "its answer is lost"
    FORGOTTEN = "the transactions that it sends are acknowledged, and dropped"


class TroubledNode:
    """`trouble` is asked about each request by the methods of its calls; it may also act, before the node does.

    `lie` is given the method, the parameters and the result of each call, and returns the result that is told.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.trouble: Callable[[Sequence[str]], Trouble | None] = lambda methods: None
        self.lie: Callable[[str, list[Any], Any], Any] | None = None
        self._session = requests.Session()
        self._session.trust_env = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: bytes) -> bytes | None:
        """The node's answer; None if there is none."""
        calls = json.loads(body)
        calls = calls if isinstance(calls, list) else [calls]
        trouble = self.trouble([call["method"] for call in calls])
        if trouble is Trouble.NO_REQUEST:
            return None
        content = self._session.post(self.chain.url, data=body, headers={"content-type": "application/json"}).content
        if trouble is Trouble.FORGOTTEN:
            self._forget(calls, json.loads(content))
        if trouble is Trouble.NO_ANSWER:
            return None
        return content if self.lie is None else self._lied(calls, json.loads(content))

    def _lied(self, calls: Sequence[dict[str, Any]], answers: Any) -> bytes:
        assert self.lie is not None
        asked = {call["id"]: call for call in calls}
        for answer in answers if isinstance(answers, list) else [answers]:
            call = asked[answer["id"]]
            if "result" in answer:
                answer["result"] = self.lie(call["method"], call["params"], answer["result"])
        return json.dumps(answers).encode()

    def _forget(self, calls: Sequence[dict[str, Any]], answers: Any) -> None:
        sent = {call["id"] for call in calls if call["method"] == SEND}
        for answer in answers if isinstance(answers, list) else [answers]:
            if answer["id"] in sent and "result" in answer:
                self.chain.rpc("anvil_dropTransaction", answer["result"])


def _handler(node: TroubledNode) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = node.answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(504 if content is None else 200)
            self.send_header("content-length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            return

    return Handler
