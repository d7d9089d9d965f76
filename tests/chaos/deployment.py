"""The service as processes of their own on a local cloud and a local chain, which a test can kill and start again."""

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import PayableLink
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.webhooks.endpoints import flows as endpoints
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from infra.local.process import Child, free_port
from tests.fakes.world import PREFIX, draft

ACCOUNT, CLIENT = "acct_chaos", "cli_chaos"
OWNER = Owner(ACCOUNT, CLIENT, "https://shop.example")


@dataclass
class Merchant:
    """An HTTP server that counts the deliveries of each event by their ids."""

    url: str
    deliveries: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Event kind and request id by delivery id."""

    def events_of(self, payable: PayableLink) -> Counter[str]:
        ids = {request.request_id for request in payable.requests}
        return Counter(kind for kind, request_id in self.deliveries.values() if request_id in ids)


@contextmanager
def merchant() -> Iterator[Merchant]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            heard.deliveries[self.headers["x-service-delivery"]] = body["event"], body["requestId"]
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard = Merchant(f"http://127.0.0.1:{server.server_address[1]}/hook")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield heard
    finally:
        server.shutdown()


class Deployment:
    """One service process, and the same flows in the test's process, to make links: its clients need `environment`, too."""

    def __init__(self, cloud: Cloud, chain: Chain, folder: Path) -> None:
        self.chain, self._folder, self._port = chain, folder, free_port()
        self.environment = {
            "STAGE": "local",
            "RESOURCE_PREFIX": PREFIX,
            **dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL"), f"http://127.0.0.1:{self._port}"),
            "SCAN_INTERVAL_SECONDS": "1",
            "WEBHOOK_ALLOW_LOOPBACK": "true",
            "SAFE_SERVICE_URLS": "{}",
            **cloud.environment(),
        }
        self.services: Services = assemble(Settings.read(self.environment))
        self._process: Child | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "infra.local.runner", "--port", str(self._port)]
        self._process = Child("service", command, self._folder / "service.log", env={**os.environ, **self.environment})

    def kill(self) -> None:
        """Ends the process at once, whatever it is doing."""
        assert self._process is not None
        self._process.kill()

    def register(self, url: str) -> None:
        endpoints.register(self.services, Actor(ACCOUNT, "chaos", "203.0.113.7", "chaos"), CLIENT, Mode.API_KEY, url)

    def create_link(self, **changes: Any) -> PayableLink:
        return links.create(self.services, OWNER, draft(**changes))
