"""Requests that are paid out to a bank account, with an order that the provider has made."""

import json
from typing import Any

from chalicelib.links import store as link_store
from chalicelib.requests.offramps.records import Order
from chalicelib.requests.records import Request
from chalicelib.services import Services
from tests.fakes.requests import store_request
from tests.fakes.world import World

DEPOSIT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
TOLD = ("event", "subStatus")


def store_order(services: Services, account_id: str = "acct", **changes: Any) -> Request:
    """Writes a request of 12.50 fUSDC that is paid out to a bank account; `changes` are fields of its order."""
    request = store_request(services, account_id, payee=DEPOSIT, client_id="cli_shop", is_crypto_to_fiat=True)
    now = services.clock()
    order = Order(request.request_id, account_id, "user", "details", "ord_1", "0.5", now, now, **changes)
    services.store.write(order)
    return request


def load_order(services: Services, request: Request) -> Order:
    bill = link_store.bill(services.store, request.bill_id)
    assert bill is not None and bill.order is not None
    return bill.order


def bodies(world: World) -> list[dict[str, Any]]:
    """All bodies that the webhook has received by now, in order, without the copies for the client id."""
    world.drain()
    return [json.loads(each.body) for each in world.receiver.posted if not each.event.endswith(".client_id")]


def told(world: World) -> list[tuple[str, str]]:
    """Event and subStatus of each of them."""
    return [(body["event"].removeprefix("payment."), body["subStatus"]) for body in bodies(world)]


def processing(*statuses: str) -> list[tuple[str, str]]:
    return [("processing", status) for status in statuses]
