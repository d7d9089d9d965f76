"""A merchant's receiver of events, over real HTTP on this machine."""

import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class EventReceiver(ThreadingHTTPServer):
    """`events` are the bodies whose signature by `secret` is right, in the order of their arrival; others get a 401."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secret, self.events = "", list[dict[str, Any]]()
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: EventReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        signature = hmac.new(self.server.secret.encode(), body, "sha256").hexdigest()
        is_genuine = hmac.compare_digest(signature, self.headers["x-service-signature"])
        if is_genuine:
            self.server.events.append(json.loads(body))
        self.send_response(204 if is_genuine else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def receiving_events() -> Iterator[EventReceiver]:
    with EventReceiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.01,), daemon=True).start()
        yield receiver
        receiver.shutdown()
