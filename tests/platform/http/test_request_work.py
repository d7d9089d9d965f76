"""What a request costs, counted in calls of functions and compared with a bare Chalice route.

That route makes the same calls to DynamoDB with a client as boto3 makes it (tests/bench/handlers.py), of which the
responses are recorded. Here the store makes one call after the other, so that all are counted.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import boto3
import pytest

from chalicelib.platform.storage.store import Store
from tests.bench.deployment import Deployment, fresh_services, request, with_merchant
from tests.bench.handlers import bare_route, record, replayed
from tests.fakes.world import dynamodb_of_moto
from tests.support.function_calls import count_calls


def ask_health(_: Deployment) -> Any:
    return request("GET", "/v2/health")


def read_link(deployment: Deployment) -> Any:
    return deployment.read_link(deployment.call(deployment.create_link())["token"])


MOST: dict[Callable[[Deployment], Any], float] = {ask_health: 3.25, Deployment.create_link: 0.5, read_link: 0.6}
"""Calls of functions by those of the bare route."""


@pytest.mark.parametrize("make_event", MOST)
def test_a_request_calls_few_functions_beside_those_of_a_bare_route(make_event: Callable[[Deployment], Any]) -> None:
    with fresh_services() as services:
        with dynamodb_of_moto():
            one_by_one = replace(services, store=Store(services.store.prefix, at_once=1))
            deployment = with_merchant(one_by_one, {"sepolia": "http://no-node.test"})
            recording, plain = record(deployment, make_event(deployment)), boto3.client("dynamodb")
        bare = bare_route(recording, plain)
        with replayed(recording, one_by_one.store.client), replayed(recording, plain):
            own, theirs = (count_calls(partial(each, recording.event, None)) for each in (deployment.app, bare))
    assert own <= MOST[make_event] * theirs, (own, theirs)
