"""The world of these tests, on DynamoDB in memory and on moto's: the store is tested on both."""

from collections.abc import Iterator
from typing import Any

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from tests.fakes.world import World, dynamodb_of_moto, in_process_aws


@pytest.fixture
def memory() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


@pytest.fixture(scope="module")
def client_of_moto() -> Iterator[Any]:
    with dynamodb_of_moto() as client:
        yield client


@pytest.fixture
def moto(client_of_moto: Any) -> World:
    """Its tables are made once for a file, which takes as long as ten tests, and are emptied inside moto. Fixtures that ask
    for it by its name have `client_of_moto` as an argument, so that it is made before a test begins, and not during it."""
    for table in dynamodb_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].tables.values():
        table.items.clear()
    return World(client_of_moto)


@pytest.fixture(params=["memory", "moto"])
def world(request: pytest.FixtureRequest, client_of_moto: Any) -> Any:
    return request.getfixturevalue(request.param)
