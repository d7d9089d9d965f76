"""The service behind its local gateway, on in-process AWS, with a real chain and a real Tron node: what pages talk to.

The page is on one origin (localhost), the API on another (127.0.0.1), as in production. A second chain has price feeds,
which agree with a price source: an amount in dollars is paid in a token of sepolia by a rate that is locked, and in one of
mainnet by the conversion contracts.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto import mock_aws

from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from infra.local.chain import Chain
from infra.local.escrow import LOCAL_ESCROWS
from infra.local.gateway import Server
from infra.local.market import Market
from infra.local.tron import TronNode
from infra.local.tron_blocks import SOLID_AFTER
from tests.fakes.world import in_process_aws
from tests.support.api import create_cloud
from tests.support.client import Api, Shop
from tests.support.running import app, restart, running


class _OneAtATime:
    """The app for many connections: in-process AWS is for one thread."""

    def __init__(self, served: Any) -> None:
        self.routes, self.app_name = served.routes, served.app_name
        self.lock, self._served = threading.Lock(), served
        self.asked: list[str] = []

    def __call__(self, event: Any, context: Any) -> Any:
        with self.lock:
            self.asked.append(f"{event['httpMethod']} {event['path']}")
            return self._served(event, context)


@dataclass
class Stack:
    chain: Chain
    mainnet: Chain
    market: Market
    tron: TronNode
    shop: Shop
    pay_url: str
    api_url: str
    lock: threading.Lock
    asked: list[str]
    """What the service was asked for, as `GET /`: all that a browser does not have itself."""
    others: dict[str, Chain] = field(default_factory=dict)
    """Chains that some tests have beside."""

    def made(self, path: str, body: dict[str, Any]) -> str:
        """The token of what POST /v2/secure-payments<path> made."""
        reply = self.shop.send("POST", f"/v2/secure-payments{path}", body)
        assert reply.status == 201, reply.json
        return str(reply.json["token"])

    def settle(self, name: str = "sepolia") -> None:
        """Mines what confirmations it takes, and the service sees what was paid."""
        self.confirm(name)
        self.record(name)

    def confirm(self, name: str) -> None:
        """Mines what confirmations it takes."""
        self.mine(require_network(name).confirmations, name)

    def record(self, name: str = "sepolia") -> None:
        """The service sees what was paid in confirmed blocks."""
        with self.lock:
            scanning.scan(running(), name)
            for token in list(scan_store.payables_with_work(running().store, running().clock(), 1000, 0)):
                recording.record_payable(running(), token)

    def mine(self, blocks: int = 1, name: str = "sepolia") -> None:
        if name == "tron":
            self.tron.chain.mine(blocks + SOLID_AFTER)
        else:
            {"mainnet": self.mainnet, "sepolia": self.chain, **self.others}[name].mine(blocks)

    def payment(self, token: str) -> PayableLink:
        with self.lock:
            found = link_reading.load(running(), token)
        assert found is not None
        return found

    def assert_completed(self, token: str) -> None:
        """Every request of it was paid what it asked for, exactly."""
        now = self.payment(token)
        assert now.link.status is LinkStatus.COMPLETED
        assert [(r.status, r.paid) for r in now.requests] == [(RequestStatus.PAID, r.amount) for r in now.requests]


@contextmanager
def running_stack() -> Iterator[Stack]:
    before = dict(os.environ)
    server = Server(app, "127.0.0.1", 0)
    served = _OneAtATime(server.app)
    server.app = served  # type: ignore[assignment]
    pay, api = (f"http://{host}:{server.server_port}" for host in ("localhost", "127.0.0.1"))
    frames = json.dumps(["https://app.safe.global", api])
    os.environ |= {"API_URL": api, "AUTH_URL": pay, "PAY_URL": pay, "PAGE_FRAME_ANCESTORS": frames}
    os.environ |= {"RATE_LIMIT_SCALE": "100000", "WEBHOOK_ALLOW_LOOPBACK": "true", "ESCROW_CONTRACTS": json.dumps(LOCAL_ESCROWS)}
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    try:
        with (
            Chain.start("sepolia") as chain,
            Chain.start("mainnet") as mainnet,
            Market(mainnet) as market,
            TronNode.start() as tron,
            mock_aws(),
            in_process_aws(),
        ):
            os.environ["PRICE_API_URL"] = market.url
            restart()
            create_cloud({"sepolia": chain.url, "mainnet": mainnet.url, "tron": tron.url})
            thread.start()
            stack = Stack(chain, mainnet, market, tron, Shop(Api(server.server_port)), pay, api, served.lock, served.asked)
            stack.settle()  # the networks are being read, as they are wherever somebody pays
            yield stack
            server.close()
            thread.join()
    finally:
        os.environ.clear()
        os.environ.update(before)
        restart()
