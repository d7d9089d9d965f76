"""Fixtures: the app behind its local gateway on in-process AWS; one deployment and one merchant per module."""

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.local.provider import ACCOUNT, SECRETS, ProviderServer
from tests.fakes.world import PREFIX, in_process_aws
from tests.support.client import Api, Shop, stored
from tests.support.light_passwords import light_passwords
from tests.support.node import Node
from tests.support.running import restart, run_on, running, serving

STAKE = "account=TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY,daily=10000000,key=secret"
"""On Tron, which gives wallets energy."""


@cache
def moto_client(service: str) -> Any:
    """A client that creates what the app needs: to make one takes longer than all that it does for a file of tests."""
    return boto3.client(service)


def create_cloud(rpc_urls: dict[str, str]) -> None:
    """Creates queues, key and secret with the names of the template."""
    for name in ("announcements", "webhooks", "webhook-retries", "scans", "recordings"):
        moto_client("sqs").create_queue(QueueName=f"{PREFIX}-{name}")
    kms = moto_client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.create_alias(AliasName=f"alias/{PREFIX}-secrets", TargetKeyId=key)
    secrets = {"rpc-urls": json.dumps({**rpc_urls, "gasless_networks": "mainnet", "tron_energy": STAKE}), "relayer-key": "11" * 32}
    for name, text in secrets.items():
        moto_client("secretsmanager").create_secret(Name=f"{PREFIX}-{name}", SecretString=text)


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Api, Node]]:
    node = Node()
    os.environ["RATE_LIMIT_SCALE"] = "100000"  # limits have tests of their own, which set it to 1
    provider = ProviderServer(None, step_seconds=3600)
    os.environ |= {"COMPLIANCE_API_URL": provider.url, "COMPLIANCE_ACCOUNT": ACCOUNT}
    with mock_aws(), in_process_aws(), light_passwords():
        restart()
        create_cloud({**dict.fromkeys(("sepolia", "base", "mainnet", "tron"), node.url), **SECRETS})
        with serving() as server:
            yield Api(server.server_port), node
    node.close()
    provider.stop()
    for name in ("RATE_LIMIT_SCALE", "COMPLIANCE_API_URL", "COMPLIANCE_ACCOUNT"):
        del os.environ[name]


@pytest.fixture
def api(deployment: tuple[Api, Node]) -> Api:
    """A client without credentials; its log has the lines that the app writes during this test."""
    deployment[0].listen()
    return deployment[0]


@pytest.fixture
def node(deployment: tuple[Api, Node]) -> Node:
    deployment[1].reset()
    return deployment[1]


@pytest.fixture(scope="module")
def merchant(deployment: tuple[Api, Node]) -> Shop:
    return Shop(deployment[0])


@pytest.fixture
def shop(merchant: Shop, api: Api, node: Node) -> Shop:
    """The module's merchant, to create links; tests that change credentials or webhooks use `new_shop`."""
    return merchant


@pytest.fixture
def new_shop(api: Api, node: Node) -> Shop:
    return Shop(api)


_days = itertools.count(1)  # today's rate limit windows are used by tests with the real clock
Configured = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def configured(api: Api) -> Configured:
    """`with configured(LINK_LIFETIME_SECONDS="1"):` restarts the services with other settings; a stopped clock is kept."""

    @contextmanager
    def other_settings(**changes: str) -> Iterator[None]:
        before: dict[str, Any] = {name: os.environ.get(name) for name in changes}
        clock = running().clock
        os.environ.update(changes)
        try:
            restart()
            if isinstance(clock, Clock):
                run_on(replace(running(), clock=clock))
            api.listen()
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            restart()
            if isinstance(clock, Clock):
                run_on(replace(running(), clock=clock))

    return other_settings


@dataclass
class Clock:
    """The clock of the services, which only tests advance."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(configured: Configured) -> Iterator[Clock]:
    """The rate limits of production and a stopped clock."""
    with configured(RATE_LIMIT_SCALE="1"):
        yield stop_time()


def stop_time() -> Clock:
    """Replaces the clock of the running services by a stopped one; each call starts at another day."""
    today = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    clock = Clock(today + timedelta(days=next(_days) - 2_000))
    run_on(replace(running(), clock=clock))
    return clock


@pytest.fixture
def nothing_written(shop: Shop) -> Iterator[None]:
    before = stored()
    yield
    assert stored() == before
