"""A pytest plugin: the AWS calls of all tests, recorded by function, compared with the policies of stage prod.

A call that no policy permits fails every run. A permission that no test uses fails a run of the whole suite; a part of
it uses a part of them, and says so.
"""

import os
import shutil
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from infra import APP
from infra.iam import ACCESS, policy_document
from infra.local import calls as aws_calls
from infra.local.calls import Call

OF_LAMBDA = {
    "logs:CreateLogStream": "Lambda writes what a function logs",
    "logs:PutLogEvents": "likewise",
    "sqs:ReceiveMessage": "Lambda polls the queue of a function",
    "sqs:DeleteMessage": "likewise",
    "sqs:GetQueueAttributes": "likewise",
    "xray:PutTraceSegments": "Lambda sends the traces of a function",
    "xray:PutTelemetryRecords": "likewise",
}
"""What AWS itself does under the role of a function, and so no code of ours."""
RARE = {
    Call(
        "deliver_webhook", "dynamodb:DeleteItem", "webhooks"
    ): "a first attempt of a delivery that an earlier version held",
    Call("retry_webhook", "dynamodb:GetItem", "keys"): "another attempt of what deliver_webhook does, by the same code",
    Call("run_commerce", "dynamodb:BatchGetItem", "ops"): "accounts of several networks at once, as run_payment_intents",
    Call(
        "api_handler", "sqs:GetQueueUrl", "relayed"
    ): "an executed payment; its hint is lost where tests have no queue",
    Call("api_handler", "sqs:SendMessage", "relayed"): "likewise",
}
"""What tests use in another function only, or not at all, each with its reason."""
_PREFIX = f"{APP}-prod-"
_found = pytest.StashKey[list[str]]()


def granted(function: str) -> set[Call]:
    """What the policy of a function permits, resources as `Call` names them, with the wildcards of the policy."""
    return {
        Call(function, action, name)
        for statement in policy_document("prod", function)["Statement"]
        for action in statement["Action"]
        if action not in OF_LAMBDA
        for resource in statement["Resource"]
        for name in _names(action, resource, statement.get("Condition", {}))
    }


def _names(action: str, resource: str, condition: dict[str, Any]) -> list[str]:
    if action in ("kms:Sign", "kms:GetPublicKey"):
        return ["relayer*"]  # that of gasless payments, too: the policy knows the tag of both
    if action.startswith("s3:"):
        return ["archive"]
    if action.startswith("kms:"):
        owners = condition.get("StringLike", {}).get("kms:EncryptionContext:owner", ["*"])
        return [f"secrets {owner}" for owner in owners]
    if ":identity/" in resource:  # of the sender, whose name no policy knows; SES asks for it with the configuration set
        return []
    if action == "sts:AssumeRole":  # roles of merchants
        return []
    return [resource.rpartition(_PREFIX)[2].removesuffix("-??????")]


def problems(made: set[Call], whole: bool) -> list[str]:
    """A line for each call that no policy permits; after a `whole` run also for each permission that nothing used."""
    every = {call for function in ACCESS for call in granted(function)}
    missing = [call for call in made if not any(_allows(permission, call) for permission in every)]
    unused = [permission for permission in every if whole and not _is_used(permission, made)]
    lines = [f"missing: {call.function} made {call.action} on {call.resource}" for call in sorted(missing)]
    lines += [f"unused: {call.function} may {call.action} on {call.resource}" for call in sorted(unused)]
    return lines


def _is_used(permission: Call, made: set[Call]) -> bool:
    """A function that signs uses either key, that of test networks or that in KMS, at the same place."""
    signed = Call(permission.function, "secretsmanager:GetSecretValue", "relayer-key") in made
    if permission in RARE or (permission.resource == "relayer*" and signed):
        return True
    return any(_allows(permission, call) for call in made)


def _allows(permission: Call, call: Call) -> bool:
    return permission[:2] == call[:2] and fnmatchcase(call.resource, permission.resource)


def pytest_configure(config: pytest.Config) -> None:
    """The first process chooses the folder; those of xdist and the services that tests start find it."""
    if not hasattr(config, "workerinput"):
        os.environ[aws_calls.VARIABLE] = tempfile.mkdtemp(prefix="aws-calls-")
    aws_calls.record_to(Path(os.environ[aws_calls.VARIABLE]))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workerinput"):
        return
    folder = Path(os.environ[aws_calls.VARIABLE])
    config.stash[_found] = problems(aws_calls.read_calls(folder), _is_whole(session))
    shutil.rmtree(folder)
    if config.stash[_found] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    found = config.stash.get(_found, [])
    if found:
        terminalreporter.section("the policies and the AWS calls of these tests differ (infra/iam.py)")
    for line in found:
        terminalreporter.write_line(line)


def _is_whole(session: pytest.Session) -> bool:
    """Whether every test was run, and none failed or was left out."""
    config = session.config
    chosen = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    chosen = chosen or bool(config.option.keyword or config.option.markexpr or config.getoption("lf", False))
    return not chosen and session.exitstatus == pytest.ExitCode.OK
