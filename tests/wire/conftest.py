"""A deployment over HTTP, set as existing clients need it, with rates of dollars and a payer of its requests."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chalicelib.payments.requests import store as request_store
from tests.fakes.chain import FakeChain
from tests.fakes.world import World
from tests.support.client import Api, Reply, Shop
from tests.support.running import run_on, serving


@dataclass
class Client:
    """Calls the API with one merchant's key. Every answer has to have the asked status."""

    world: World
    shop: Shop

    def call(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        reply: Reply = self.shop.api.request(method, path, body, self.shop.by_key)
        assert reply.status == status, reply.json
        return reply.json if reply.body else None

    def get(self, path: str, status: int = 200) -> Any:
        return self.call("GET", path, None, status)

    def post(self, path: str, body: Any, status: int = 201) -> Any:
        return self.call("POST", path, body, status)

    def set_value_form(self, form: Any) -> None:
        """How values of transactions are written from now on (TRANSACTION_VALUE_FORM)."""
        settings = replace(self.world.services.settings, transaction_value_form=form, rate_limit_scale=100_000)
        self.world.services = replace(self.world.services, settings=settings)
        run_on(self.world.services)

    def paid(self, request_id: str, units: int, fee: int = 0) -> str:
        """Pays so many units of the request's token, a second later, and records it; returns the transaction's hash."""
        self.world.advance(1)
        request = request_store.standing_alone(self.world.services.store, [request_id])[request_id]
        log = self.world.chain.pay(request, units, fee)
        self.world.scan()
        return str(log["transactionHash"])


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    """Serves sepolia and tron, and mainnet for its price feeds."""
    world.services.chains.add(FakeChain("tron"))  # type: ignore[attr-defined]
    for coin, dollars in (("ETH", "2500"), ("DAI", "1"), ("USDC", "1"), ("USDT", "1")):
        world.prices.set(coin, "USD", dollars)
    world.chain.clock = world.clock
    world.scan()
    run_on(world.services)
    with serving() as server:
        client = Client(world, Shop(Api(server.server_port)))
        client.set_value_form("published")
        yield client
