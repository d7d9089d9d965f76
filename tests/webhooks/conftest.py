"""Fixtures of tests that send real requests to a receiver on this machine."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chalicelib.platform.outbound.sender import WebhookSender
from tests.fakes.world import World
from tests.support.http_server import Request, Response, serving
from tests.webhooks.inbox import Inbox, Received


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    found = Inbox()

    def answer(sent: Request) -> Response:
        found.received.append(Received(f"http://{sent.headers['host']}{sent.path}", sent.headers, sent.body))
        return Response(found.status)

    with serving(answer) as url:
        found.url = f"{url}/hook"
        yield found


@pytest.fixture
def sending(world: World) -> World:
    """A world of now, because libraries compare timestamps with the clock, with a sender of real requests."""
    world.now = datetime.now(UTC)
    world.services = replace(world.services, sender=WebhookSender(allow_loopback=True))
    return world
