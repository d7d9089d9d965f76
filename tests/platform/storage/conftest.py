"""The world of these tests, on DynamoDB in memory and on moto's: the store is tested on both."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.world import World, dynamodb_of_moto, in_process_aws


@pytest.fixture
def memory() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


@pytest.fixture
def moto() -> Iterator[World]:
    with dynamodb_of_moto() as client:
        yield World(client)


@pytest.fixture(params=["memory", "moto"])
def world(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)
