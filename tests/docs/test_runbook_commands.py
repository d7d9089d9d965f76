"""Each command of the documents runs as it is written, in a shell that has nothing of the developer's: copied by an operator,
it does what the text says. What takes a deployment or a node is run by the test that is named here."""

import os
import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.rate_limits.records import Ban
from chalicelib.platform.access.rate_limits.rules import caller_digest
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import Message
from infra import admin, upkeep
from infra.gateway import LOGS_ROLE, allow_access_logs
from infra.local.cloud import Cloud
from tests.docs.documents import ALL, IDS, Document
from tests.fakes.offramps import store_order
from tests.fakes.world import PREFIX
from tests.support.light_passwords import light_passwords
from tests.support.rehearsed import rehearsed

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    ".venv/bin/python -m infra.readable_policies": "deploy/test_policies.py",
    ".venv/bin/python -m infra.stack": "deploy/test_stack.py",
    ".venv/bin/python -m infra.admin set-node": "deploy/test_nodes.py",
    ".venv/bin/python -m infra.admin nodes": "deploy/test_nodes.py",
    ".venv/bin/python -m infra.admin refuse-payout": "deploy/test_admin.py",
    ".venv/bin/python -m infra.check": "check/test_check.py",
    ".venv/bin/python -m infra.explain": "docs/test_commands.py",
    ".venv/bin/python -m infra.try_token": "onchain/test_try_token.py",
    ".venv/bin/python -m infra.listen": "webhooks/test_listen.py",
    ".venv/bin/python -m tests.bench.capacity": "deploy/test_capacity.py",
    ".venv/bin/python .local/": "docs/test_use.py",
    ".venv/bin/chalice": "deploy/test_lifecycle.py",
    'make page-hash URL="$(value': "docs/test_commands.py",
}
"""The tests that run what takes a deployment or a node, by the beginning of the command."""
PASSWORD, CREDENTIAL, ADDRESS = "another horse battery", "a leaked key", "203.0.113.7"
EMAIL = "ann@shop.example"


def commands(document: Document) -> Iterator[str]:
    """The commands of the code blocks, without their comments, and those of `make` and Python within the text."""
    blocks = [re.sub(r"^    ", "", each, flags=re.MULTILINE) for each in re.findall(r"(?:^    \S.*\n)+", document.text, re.MULTILINE)]
    for block in (*blocks, *document.blocks("sh")):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            if re.match(r"(make|\.venv/bin/\w+|aws|export|printf|read) ", line):
                yield line.partition("  #")[0].strip()
    yield from re.findall(r"`((?:make|\.venv/bin/python) [^`]+)`", document.text)


COMMANDS = tuple(dict.fromkeys(command for document in ALL for command in commands(document)))
HERE = [each for each in COMMANDS if not each.startswith(tuple(ELSEWHERE)) and not each.endswith("infra.admin")]
MADE = [each for each in HERE if each.startswith("make ")]
RUN = [each for each in HERE if each not in MADE]


@pytest.fixture(scope="module")
def services(cloud: Cloud) -> Iterator[Services]:
    """A stage with what the commands name."""
    with pytest.MonkeyPatch.context() as environment, light_passwords():
        for name, value in cloud.environment().items():
            environment.setenv(name, value)
        services = assemble(Settings.read())
        store_order(services, paid_at=services.clock())
        nobody = Actor("", "user", "", "")
        sign_in_flows.register(services, EMAIL, "correct horse", nobody)
        caller = caller_digest(sha256(CREDENTIAL.encode()).hexdigest(), ADDRESS)
        services.store.write(Ban(caller, services.clock() + timedelta(hours=1)))
        for queue in upkeep.DEAD:
            services.queue.send(f"{PREFIX}-{queue}-dead", [Message({"delivery": "01"}, "group")])
        yield services
        # the cloud is that of other tests, too: the last command may be a stop, and letters are in the queues
        admin.resume(services)
        sqs = cloud.client("sqs")
        for queue in upkeep.DEAD:
            for name in (f"{PREFIX}-{queue}", f"{PREFIX}-{queue}-dead"):
                sqs.purge_queue(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"])


@pytest.fixture(scope="module")
def values(services: Services) -> dict[str, str]:
    """What an operator puts in the place of the ids of the text."""
    account = admin.create_account(services, "Shop Ltd")
    admin.create_api_key(services, account, "leaked")
    (line,) = admin.list_credentials(services, account)
    order = store_order(services, paid_at=services.clock())
    return {"--account 01M...": f"--account {account}", "01M...": line.split()[2], "01ab...": order.request_id}


def filled(command: str, values: dict[str, str]) -> str:
    for text, value in values.items():
        command = command.replace(text, value)
    return command


def run(command: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs it in a new shell that knows where the system's commands are, and the variables given."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **variables}
    shell = ["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=ROOT, env=environment, input=f"{PASSWORD}\n", capture_output=True, text=True, check=False)


def test_every_command_that_is_not_run_here_is_run_by_the_test_that_is_named_here() -> None:
    assert len(RUN) >= 25
    for begin, test in ELSEWHERE.items():
        assert any(each.startswith(begin) for each in COMMANDS), begin
        assert (ROOT / "tests" / test).exists(), begin


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_command_names_the_environment_that_it_needs(document: Document) -> None:
    """Without `.venv/bin/` it would be the system's Python, which has none of the packages."""
    assert re.findall(r"(?<!\.venv/bin/)python3? -m (?:infra|tests)\S*", document.text) == []


@rehearsed
@pytest.mark.parametrize("command", RUN)
def test_a_command_succeeds(services: Services, values: dict[str, str], cloud: Cloud, tmp_path: Path, command: str) -> None:
    variables = {name: os.environ[name] for name in sorted(Settings.variables() & os.environ.keys())}
    done = run(filled(command, values), tmp_path, CREDENTIAL=CREDENTIAL, **variables, **cloud.environment())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", MADE)
def test_a_make_command_is_one_that_make_knows(tmp_path: Path, command: str) -> None:
    """Each does what its target says, which test_structure.py and the tests of the targets look at."""
    done = run(command.replace("make ", "make --dry-run ", 1), tmp_path)
    assert (done.returncode, "There is no room" in done.stdout) == (0, False), done.stderr


def test_a_ban_is_lifted_for_that_caller_alone(services: Services) -> None:
    banned = Ban(caller_digest(sha256(b"banned").hexdigest(), ADDRESS), services.clock() + timedelta(hours=1))
    services.store.write(banned)
    assert upkeep.lift_ban(services, "banned", "203.0.113.8") == "That caller is not banned."
    assert services.store.get(Ban, banned.key) is not None
    assert upkeep.lift_ban(services, "banned", ADDRESS) == "The ban is lifted."
    assert services.store.get(Ban, banned.key) is None
    services.store.write(anonymous := Ban(caller_digest("anonymous", "2001:db8:1:2:3::4"), services.clock()))
    assert upkeep.lift_ban(services, "anonymous", "2001:db8:1:2::9") == "The ban is lifted."
    assert services.store.get(Ban, anonymous.key) is None


def test_dead_letters_are_shown_and_each_goes_back_once(services: Services, cloud: Cloud) -> None:
    services.queue.send(f"{PREFIX}-relayed-dead", [Message({"network": f"n{n}"}, "group") for n in range(12)])
    assert upkeep.dead_letters(services, "relayed")[0].startswith("{")
    sqs = cloud.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{PREFIX}-relayed-dead")["QueueUrl"]
    moved = 0
    while (said := upkeep.send_back(services, "relayed")) != "Moved back: 0.":  # those that were shown come a second later
        moved += int(said.split()[-1].rstrip("."))
        if moved >= 13:
            break
    assert moved == 13, "12, and the one of the fixture"
    left = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    assert left["Attributes"]["ApproximateNumberOfMessages"] == "0"
    assert upkeep.dead_letters(services, "relayed") == ["There are no dead letters."]


def test_api_gateway_gets_its_role_for_logs_once(cloud: Cloud) -> None:
    apigateway, iam = cloud.client("apigateway"), cloud.client("iam")
    allow_access_logs(apigateway, iam)
    role = apigateway.get_account()["cloudwatchRoleArn"]
    assert role.endswith(f":role/{LOGS_ROLE}")
    assert allow_access_logs(apigateway, iam) == f"API Gateway writes its logs already, as {role}."
