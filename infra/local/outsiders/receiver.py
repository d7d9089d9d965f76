"""A merchant's webhook receiver: receives deliveries by HTTP and checks the signature of their raw bytes."""

import hashlib
import hmac
import json
import queue
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """One delivery: headers and raw body."""

    headers: dict[str, str]
    raw: bytes

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(self.raw)
        return payload

    def signature_is_right(self, secret: str) -> bool:
        expected = hmac.new(secret.encode(), self.raw, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.headers.get("x-service-signature", ""))

    def line(self, secret: str) -> str:
        """Returns a line for a log of deliveries."""
        signature = "OK" if self.signature_is_right(secret) else "WRONG"
        delivery = self.headers.get("x-service-delivery", "without an id")
        retries = self.headers.get("x-service-retry-count", "?")
        return f"{self.payload.get('event')}  delivery {delivery}  retry {retries}  signature {signature}"


class Receiver:
    """Listens on a free port of this machine and queues deliveries in their order."""

    def __init__(self, path: str) -> None:
        self._received: queue.Queue[Received] = queue.Queue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()
                receiver._received.put(Received(headers, raw))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{path}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def next(self, deadline: float) -> Received | None:
        """Returns the next delivery, or None if there is none until the deadline (of time.monotonic)."""
        try:
            return self._received.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
