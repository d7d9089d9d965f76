"""A deployment whose router answers in memory."""

from collections.abc import Iterator

import pytest

from tests.fakes.world import World, in_process_aws


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client, router_seconds=3)
