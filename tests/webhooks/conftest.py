"""Fixtures of tests that send real requests to a receiver on this machine."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chalicelib.platform.outbound.sender import WebhookSender
from tests.fakes.world import World
from tests.webhooks.inbox import Inbox, Received


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    found = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.received.append(Received(f"http://{headers['host']}{self.path}", headers, body))
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def sending(world: World) -> World:
    """A world of now, because libraries compare timestamps with the clock, with a sender of real requests."""
    world.now = datetime.now(UTC)
    world.services = replace(world.services, sender=WebhookSender(allow_loopback=True))
    return world
