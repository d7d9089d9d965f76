"""A stage whose deployments, rollbacks, restores and removals are killed at random moments, with payments under way.

After each of KILLS kills an operator goes on with the same command or a deployment, and does what its message says. In
the end the stage is the one that was deployed first, and each payment was recorded once and announced.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from chalicelib.payments.links.reading import load
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import Queue
from chalicelib.platform.storage.store import Store
from infra import admin
from infra.account import rest_api_id
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from tests.chaos.deployment import Merchant, merchant
from tests.chaos.inventory import inventory
from tests.deploy.checkout import Checkout
from tests.deploy.outsider import Api
from tests.deploy.ticking import tick
from tests.support.patience import wait_for

KILLS = int(os.environ.get("KILLS", "3"))
SEED = int(os.environ.get("SEED") or time.time())
STAGE = "local"
PREFIX = f"payment-requests-{STAGE}"
PAYER_KEY = "0x" + "17" * 32
LOCK_SECONDS = 6
"""How long the lock of a killed command keeps the next one out; five minutes otherwise."""
ENDED_WITHIN_SECONDS = 600
AT_ONCE = 5
"""Times the patience, for what several functions do one after the other."""
LAUNCHER = f"""
import runpy, sys
from datetime import timedelta
from infra import lock
lock.LOCKED_FOR, lock.RENEWED_EVERY = timedelta(seconds={LOCK_SECONDS}), timedelta(seconds=1)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__")
"""
MODULES = {
    "deploy": "infra.deploy",
    "finish": "infra.deploy",
    "rollback": "infra.recovery.rollback",
    "restore": "infra.recovery.restore",
    "destroy": "infra.recovery.destroy",
}
COMMANDS = ["deploy"] * 3 + ["restore"] * 2 + ["destroy"] * 2 + ["rollback", "finish"]
"""What is killed: what changes most more often."""
LOCKED = "its lock ends in"
RESTORE_FIRST = re.compile(r"end it first by `make restore STAGE=local TIME=(\S+)`")
DEPLOY_FIRST = re.compile(
    r"There is no earlier version|goes no further back|nothing to go back to|run `make deploy STAGE=local` first"
)
"""How a command says that another one has to come first: it has changed nothing."""


@dataclass
class Payment:
    """A link of one request, and the transactions that pay it."""

    token: str
    transactions: list[dict[str, Any]]


class Operator:
    """Runs the commands of a stage in a checkout, and kills some of them."""

    def __init__(self, checkout: Checkout, scratch: Path) -> None:
        self.checkout, self._scratch = checkout, scratch
        self._seconds = Counter[str]()
        """How long a command takes that is not killed."""

    def begin(self, command: str, moment: str = "") -> subprocess.Popen[str]:
        more = {"finish": ["--only-finish"], "restore": ["--drain-seconds", "0", "--time", moment]}.get(command, [])
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, MODULES[command], "--stage", STAGE, *more],
            cwd=self.checkout.folder,
            env={**self.checkout.environment, "TMPDIR": str(self._scratch)},
            stdin=subprocess.PIPE,
            stdout=(self._scratch.parent / "said").open("w"),
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(f"{STAGE}\n")
            process.stdin.close()
        return process

    def end(self, command: str, moment: str) -> None:
        """Runs a command until it succeeds, after what its message says has to come before it."""
        locked_until = time.monotonic() + 2 * LOCK_SECONDS
        while True:
            begun = time.monotonic()
            status = self.begin(command, moment).wait(ENDED_WITHIN_SECONDS)
            said = (self._scratch.parent / "said").read_text()
            if status == 0:
                self._seconds[command] = round(time.monotonic() - begun)
                return
            if LOCKED in said and time.monotonic() < locked_until:
                time.sleep(1)
            elif found := RESTORE_FIRST.search(said):
                assert command != "restore", said
                self.end("restore", found[1])
                locked_until = time.monotonic() + 2 * LOCK_SECONDS
            elif DEPLOY_FIRST.search(said) and command != "deploy":
                self.end("deploy", moment)
                return
            else:
                raise AssertionError(f"after a kill, {command} ended with status {status}: {said}")

    def kill(self, rng: random.Random, command: str, moment: str, pay: Any) -> bool:
        """Runs a command with a payment under way, and kills it; False if it has ended before."""
        lasts = rng.uniform(0.5, self._seconds[command] or self._seconds["deploy"])
        paid_after, number = lasts * rng.random(), rng.choice([signal.SIGKILL, signal.SIGTERM])
        print(f"{command} {moment}: {number.name} after {lasts:.1f} s", flush=True)
        begun = time.monotonic()
        process = self.begin(command, moment)
        time.sleep(paid_after)
        pay()
        time.sleep(max(0, begun + lasts - time.monotonic()))
        process.send_signal(number)
        status = process.wait(ENDED_WITHIN_SECONDS)
        said = (self._scratch.parent / "said").read_text()
        assert number is signal.SIGKILL or status in (0, 1, -number, 128 + number), (status, said)
        return status not in (0, 1)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AUTH", raising=False)
        environment.delenv("AWS_ENDPOINT_URL", raising=False)  # the functions inherit it, and must find this cloud
        with Cloud.start(log=tmp_path_factory.mktemp("cloud") / "cloud.log") as running:
            yield running
            running.child.kill()


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as running:
        yield running


def test_a_stage_whose_commands_are_killed_is_the_same_in_the_end_and_loses_no_payment(
    cloud: Cloud, chain: Chain, tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    print(f"SEED={SEED} KILLS={KILLS}")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "checkout").mkdir()
    operator = Operator(Checkout(tmp_path / "checkout", cloud), scratch)
    first = operator.checkout.memory(STAGE)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    operator.end("deploy", now)
    cloud.put_rpc_urls(PREFIX, {"sepolia": chain.url})
    operator.checkout.set_memory(STAGE, first + 256)  # there is a version to go back to
    operator.end("deploy", now)
    untouched = inventory(cloud, PREFIX)

    services = services_of(cloud)
    api = Api(url_of(cloud), admin.create_api_key(services, admin.create_account(services, "Merchant"), "test"))
    payer = Account.from_key(PAYER_KEY).address
    chain.fund_native(payer, 10**24)
    with merchant() as shop:
        assert api.call("POST", "/v1/webhook", {"url": shop.url})[0] == 201
        payments = [payment_of(api, payer) for _ in range(KILLS)]
        time.sleep(1)  # a restore is to a whole second
        is_removed, killed = False, 0
        left = list(payments)
        while killed < KILLS:
            command = "deploy" if is_removed else rng.choice(COMMANDS)
            moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            has_died = operator.kill(rng, command, moment, lambda: pay(chain, left.pop()) if left else None)
            killed += has_died
            follows = rng.choice([command, "deploy"])
            print(f"  then {follows}", flush=True)
            operator.end(follows, moment)
            is_removed = follows == "destroy"
        operator.end("deploy", now)
        for each in left:
            pay(chain, each)
        verified = operator.checkout.run(".venv/bin/python -m infra.verify --stage local")
        assert verified.endswith("What runs in local is this checkout.\n")
        assert inventory(cloud, PREFIX) == untouched
        assert list(scratch.iterdir()) == []
        assert list((operator.checkout.folder / ".local").glob("chalice-*")) == []
        chain.mine(5)
        tick(cloud, STAGE)
        for each in payments:
            wait_for(lambda each=each: is_paid_once(services, each), AT_ONCE)
            wait_for(lambda each=each: is_announced(services, shop, each), AT_ONCE)


def services_of(cloud: Cloud) -> Services:
    here = cloud.url
    rules = Settings(stage=STAGE, resource_prefix=PREFIX, api_url=here, auth_url=here, pay_url=here, explorer_url=here)
    return replace(assemble(rules), store=Store(PREFIX, cloud.client("dynamodb")), queue=Queue(cloud.client("sqs")))


def url_of(cloud: Cloud) -> str:
    return f"{cloud.url}/restapis/{rest_api_id(cloud.client, STAGE)}/{STAGE}/_user_request_"


def payment_of(api: Api, payer: str) -> Payment:
    token = api.create_link()
    return Payment(token, api.done("GET", f"/v2/secure-payments/{token}/pay?wallet={payer}")["transactions"])


def pay(chain: Chain, payment: Payment) -> None:
    for transaction in payment.transactions:
        assert chain.send(transaction, PAYER_KEY)["status"] == "0x1"
    chain.mine(2)


def is_paid_once(services: Services, payment: Payment) -> bool:
    found = load(services, payment.token)
    assert found is not None
    (request,) = found.requests
    assert request.paid <= request.amount, "recorded twice"
    recorded = payment_store.payments(services.store, request.request_id)
    return found.link.status is LinkStatus.COMPLETED and len(recorded) == 1


def is_announced(services: Services, shop: Merchant, payment: Payment) -> bool:
    found = load(services, payment.token)
    return found is not None and shop.events_of(found)["payment.confirmed"] > 0
