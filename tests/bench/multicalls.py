"""Combining payouts on a local cloud: DynamoDB calls and time, compared with one call per item.

Both are made by the client that the service has (platform/storage/clients.py).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.records import Link, LinkAnnouncements, PayableLink
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.clients import aws_client
from infra.local.cloud import Cloud
from tests.bench.calls import Calls, counted
from tests.bench.figures import Figure
from tests.fakes.payouts import store_payouts
from tests.fakes.world import PREFIX, World

SIZES = (150, 1000)


def measure() -> list[Figure]:
    figures = []
    with TemporaryDirectory() as folder, Cloud.start(log=Path(folder) / "cloud.log") as cloud:
        cloud.apply_template(PREFIX)
        with pytest.MonkeyPatch.context() as environment:
            for name, value in cloud.environment().items():
                environment.setenv(name, value)
            client = aws_client("dynamodb")
        for count in SIZES:
            world = World(client, seed=count, multicall_max_children=count)
            made = store_payouts(world.services, world.account_id, count)
            one_by_one = _seconds(partial(_item_by_item, world, made))
            calls, seconds = create(world, made)
            name = f"combine {count:,} payouts"
            figures += [
                Figure(name, calls.total, "calls", "one call an item", calls.item_by_item, 0.1, note=f" ({calls})"),
                Figure(name, seconds, "s", "one call an item", one_by_one, 0.15),
            ]
    return figures


def create(world: World, children: list[PayableLink]) -> tuple[Calls, float]:
    """Combines payouts; returns the DynamoDB calls and the seconds that it took."""
    tokens = [child.link.token for child in children]
    with counted(world.client) as calls:
        seconds = _seconds(lambda: multicalls.create(world.services, world.owner, tokens, None))
    return calls, seconds


def _item_by_item(world: World, children: list[PayableLink]) -> None:
    """Makes the same reads and writes with one item each; leaves the links unchanged, so that they can be combined."""
    store = world.services.store
    for child in children:
        token = child.link.token
        store.get(Request, Request.KEY.of(payable_id=token, position=0))
        store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=token))
        link = store.get(Link, Link.KEY.of(token=token))
        assert link is not None
        store.write(replace(link, parent_token=None))


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started
