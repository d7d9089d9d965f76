"""The life of a stage in the local cloud, by the commands that operators run, in a checkout of its own.

It is deployed by the README's commands, paid in a browser at its own URL, changed, rolled back, verified, restored to a time
before the payment, removed, and deployed again with its data.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chalicelib.payments.links.records import Link, LinkStatus
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import Queue
from chalicelib.platform.storage.store import Store
from infra import APP, admin
from infra.iam import archive_bucket, function_name
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from tests.deploy.checkout import Checkout
from tests.deploy.outsider import Api
from tests.deploy.ticking import tick
from tests.docs.documents import README
from tests.support.paid_in_browser import pay_in_browser
from tests.support.patience import wait_for
from tests.support.running_browser import running_browser

pytestmark = pytest.mark.xdist_group("deployment")

STAGE = "prod"
"""That of the README's commands. The other tests of the room deploy stage local."""
PREFIX = f"payment-requests-{STAGE}"
AT_ONCE = 5
"""Times the patience, for what several functions do one after the other."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A local cloud that does not enforce IAM, as it asks for permissions that AWS does not and only stage local has."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AUTH", raising=False)
        environment.delenv("AWS_ENDPOINT_URL", raising=False)  # the functions inherit it, and must find this cloud
        with Cloud.start(log=tmp_path_factory.mktemp("cloud") / "cloud.log") as running:
            yield running
            running.child.kill()


@pytest.fixture(scope="module")
def checkout(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"), cloud)


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as running:
        yield running


def test_a_stage_lives_by_the_commands_of_the_documents(cloud: Cloud, chain: Chain, checkout: Checkout) -> None:
    deploying, verifying, rolling_back = commands("Deploy")
    first = checkout.memory(STAGE)
    checkout.set_hosts(STAGE, "none", EXPLORER_URL="https://explorer.merchants.io")

    url = api_url(checkout.make(deploying))
    cloud.put_rpc_urls(PREFIX, {"sepolia": chain.url})
    services = services_of(cloud, url)
    api = Api(url, admin.create_api_key(services, admin.create_account(services, "Merchant"), "test"))
    paid = api.create_link()
    tick(cloud, STAGE)  # the network is read from here on
    before_payment = datetime.now(UTC)
    time.sleep(1)  # a restore is to a whole second
    with running_browser() as browser:
        pay_in_browser(browser, f"{url}/?token={paid}", chain)
    chain.mine(5)
    wait_until_paid(cloud, services, paid)

    checkout.set_memory(STAGE, first + 512)
    checkout.set_hosts(STAGE, "none", API_URL=url, AUTH_URL=url, PAY_URL=url, SESSION_DOMAIN="")
    record = f".chalice/deployed/{STAGE}.json"
    second = f", so Chalice would make a second API: run `make record STAGE={STAGE}` first.\n"
    (checkout.folder / record).unlink(missing_ok=True)
    deploy = f".venv/bin/chalice deploy --stage {STAGE}"
    assert checkout.run(deploy, status=1) == f"There is no {record}{second}"
    gone = {"name": "rest_api", "resource_type": "rest_api", "rest_api_id": "gone", "rest_api_url": ""}
    (checkout.folder / record).parent.mkdir(exist_ok=True)
    (checkout.folder / record).write_text(json.dumps({"resources": [gone], "schema_version": "2.0", "backend": "api"}))
    assert checkout.run(deploy, status=1) == f"{record} differs from what the account has{second}"
    checkout.make(f"record STAGE={STAGE}")
    bucket = archive_bucket(f"{APP}-{STAGE}", "000000000000", "us-east-1")
    assert f"write ARCHIVE_BUCKET='{bucket}', API_URL=" in checkout.run(deploy, status=1)
    checkout.set_hosts(STAGE, "none", ARCHIVE_BUCKET=bucket)
    checkout.run(deploy)  # it makes no second API
    checkout.make(f"finish STAGE={STAGE}")
    assert memory_of_running(cloud) == first + 512
    assert "commit unknown, build" in checkout.make(rolling_back)
    assert memory_of_running(cloud) == first
    assert "goes no further back" in checkout.make(rolling_back, status=1)
    assert f"api_handler: MemorySize is {first}, and {first + 512} here" in checkout.make(verifying, status=1)

    lost, restored_at = api.create_link(), datetime.now(UTC)
    restoring = f"-m infra.recovery.restore --stage {STAGE} --drain-seconds 0 --time {before_payment.isoformat()}"
    said = checkout.run(f".venv/bin/python {restoring}", typed=f"{STAGE}\n")
    assert f"{STAGE} runs again" in said
    assert services.store.get(Link, Link.KEY.of(token=lost)) is None
    wait_until_paid(cloud, services, paid)  # the chain is read again from that time on
    assert services.store.get(Link, Link.KEY.of(token=paid)).completed_at > restored_at, "it was pending before"

    checkout.make(f"destroy STAGE={STAGE}", typed=f"{STAGE}\n")
    assert running(cloud) == []
    assert services.store.get(Link, Link.KEY.of(token=paid)).status is LinkStatus.COMPLETED
    again = replace(api, url=api_url(checkout.make(deploying)))
    assert again.call("GET", f"/v2/secure-payments/{paid}")[0] == 409  # it knows the link, which is paid
    assert again.url != api.url


def commands(section: str) -> list[str]:
    """The `make` commands of the README's section, without the word make."""
    text = README.text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^make (\S+ STAGE=\S+)", text, re.MULTILINE)


def api_url(said: str) -> str:
    return re.findall(r"^API: (\S+)$", said, re.MULTILINE)[0]


def services_of(cloud: Cloud, url: str) -> Services:
    rules = Settings(
        stage=STAGE,
        resource_prefix=PREFIX,
        api_url=url,
        auth_url=url,
        pay_url=url,
        explorer_url=url,
    )
    return replace(assemble(rules), store=Store(PREFIX, cloud.client("dynamodb")), queue=Queue(cloud.client("sqs")))


def wait_until_paid(cloud: Cloud, services: Services, token: str) -> None:
    tick(cloud, STAGE)
    wait_for(
        lambda: services.store.get(Link, Link.KEY.of(token=token)).status is LinkStatus.COMPLETED, AT_ONCE
    )


def memory_of_running(cloud: Cloud) -> int:
    name = function_name(STAGE, "api_handler")
    return int(cloud.client("lambda").get_function_configuration(FunctionName=name)["MemorySize"])


def running(cloud: Cloud) -> list[str]:
    """The functions, roles, schedules and queues of the stage."""
    lambda_, iam, events, sqs = (cloud.client(name) for name in ("lambda", "iam", "events", "sqs"))
    found = [
        each["FunctionName"]
        for page in lambda_.get_paginator("list_functions").paginate()
        for each in page["Functions"]
    ]
    found += [each["RoleName"] for page in iam.get_paginator("list_roles").paginate() for each in page["Roles"]]
    found += [each["Name"] for each in events.list_rules(NamePrefix=PREFIX)["Rules"]]
    found += [url.rpartition("/")[2] for url in sqs.list_queues(QueueNamePrefix=PREFIX).get("QueueUrls", [])]
    return [name for name in found if name.startswith(PREFIX)]
