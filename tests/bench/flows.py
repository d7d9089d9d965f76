"""How many DynamoDB calls each flow makes, compared with one call per item."""

from collections.abc import Callable
from functools import partial
from typing import Any

from chalicelib.payments.links import expiry
from chalicelib.payments.scanning import flows as scanning
from chalicelib.webhooks import publisher
from tests.bench.calls import Calls, counted
from tests.bench.deployment import deployed
from tests.bench.figures import Figure
from tests.fakes.world import WALLET, World, in_process_aws
from tests.support.node import Node


def measure() -> list[Figure]:
    return [
        Figure(name, calls.total, "calls", "one call an item", calls.item_by_item, 1, note=f" ({calls})")
        for name, calls in calls_of_flows().items()
    ]


def calls_of_flows() -> dict[str, Calls]:
    """Returns the calls of each flow by its name; those of HTTP requests include the read of the API key."""
    return {**_requests(), **_background()}


def _requests() -> dict[str, Calls]:
    node, wallet = Node(), {"wallet": WALLET}
    try:
        with deployed({"sepolia": node.url}) as deployment:
            client = deployment.services.store.client
            token = deployment.call(deployment.create_link())["token"]
            requests = {
                "create": deployment.create_link(),
                "create of 200 items": deployment.create_link(200),
                "metadata": deployment.read_link(token),
                "metadata with wallet": deployment.read_link(token, wallet),
                "pay": deployment.pay_link(token, wallet),
            }
            return {name: _count(client, partial(deployment.call, event)) for name, event in requests.items()}
    finally:
        node.close()


def _background() -> dict[str, Calls]:
    """Returns the calls of background flows with one webhook: a payment has three events and so three deliveries."""
    with in_process_aws() as client:
        world = World(client)
        world.register_webhook()
        world.scan()

        def tick() -> Calls:
            return _count(client, lambda: scanning.scan(world.services, world.chain.network))

        counts = {"scan tick without a new block": tick()}
        world.chain.mine()
        counts["scan tick without a payment"] = tick()
        world.chain.pay(world.create_link().requests[0])
        world.chain.mine()
        counts["scan tick with one payment"] = tick()
        counts["record one payment"] = _count(client, world.record)
        world.chain.mine()
        counts["scan tick that reads the payment again"] = tick()
        announcement = world.queue.messages.pop(0)
        announced = _count(client, lambda: world.consume(announcement, world.services))
        counts["announce one event with three variants"] = announced
        delivery = world.queue.messages.pop(0)
        counts["deliver one webhook"] = _count(client, lambda: world.consume(delivery, world.services))
        assert len(world.receiver.posted) == 1
        counts["outbox sweep, nothing due"] = _count(client, lambda: publisher.sweep(world.services))
        counts["expiry sweep, nothing due"] = _count(client, lambda: expiry.expire_due(world.services))
        return counts


def _count(client: Any, flow: Callable[[], object]) -> Calls:
    with counted(client) as calls:
        flow()
    return calls
