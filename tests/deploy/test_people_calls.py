"""The AWS calls that the code of the commands makes, compared with the policies of who runs them (infra/people.py).

The calls are read from the source: every attribute and every quoted name that is an operation of a service which the
module names. So a command is held to a policy also where no test runs it under one.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache

import botocore.session
import pytest
from botocore import xform_name

from infra.configuration import ROOT
from infra.people import PEOPLE, POLICIES
from infra.template import whole_template

SERVICES = (
    *("apigateway", "cloudformation", "dynamodb", "events", "iam", "kms", "lambda", "s3", "secretsmanager", "sns"),
    *("sqs", "sts", "wafv2"),
)
COMMANDS = {
    "deployer": (
        *("account", "concurrency", "deploy", "functions", "gateway", "hosts", "invokers", "keys", "lock", "record"),
        *("recursion", "stack", "tables", "target", "verify", "versions"),
        *("recovery/destroy", "recovery/pausing", "recovery/restore", "recovery/rollback"),
    ),
    "operator": ("account", "admin", "keys", "nodes", "upkeep", "target", "verify"),
}
"""The modules of infra that a person's commands run."""
NEEDS_NOTHING = {"sts:GetCallerIdentity"}
ONCE_IN_AN_ACCOUNT = {
    *("iam:AttachRolePolicy", "apigateway:GET /account", "apigateway:PATCH /account", "iam:CreateRole"),
}
"""What `python -m infra.gateway` does, which an administrator of the account runs."""
OTHER_NAMES = {
    "lambda:GetLayerVersionByArn": "lambda:GetLayerVersion",
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""Operations whose action IAM calls otherwise."""
OF_WAITERS = {"table_exists": "dynamodb:DescribeTable", "table_not_exists": "dynamodb:DescribeTable"}
TRANSFERS = {"download_file": "s3:GetObject"}


@cache
def operations() -> dict[str, dict[str, str]]:
    """Service -> method of boto3 -> the action that IAM asks for."""
    session = botocore.session.get_session()
    found: dict[str, dict[str, str]] = {}
    for service in SERVICES:
        model = session.get_service_model(service)
        for name in model.operation_names:
            http = model.operation_model(name).http
            action = f"apigateway:{http['method']}" if service == "apigateway" else f"{service}:{name}"
            if service == "apigateway" and http["requestUri"] == "/account":
                action += " /account"
            found.setdefault(service, {})[xform_name(name)] = OTHER_NAMES.get(action, action)
    return found


def called(module: str) -> Iterator[str]:
    """The actions of the calls in a module of infra."""
    text = (ROOT / "infra" / f"{module}.py").read_text()
    services = [each for each in SERVICES if re.search(rf"(?<!infra\.)\b{each}_?\b(?!\.amazonaws)", text)]
    for node in ast.walk(ast.parse(text)):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
        if isinstance(node, ast.Attribute | ast.Constant) and isinstance(name, str):
            yield from (operations()[each][name] for each in services if name in operations()[each])
            yield from (found[name] for found in (OF_WAITERS, TRANSFERS) if name in found)


def permitted(person: str) -> set[str]:
    """The actions of the policies of a person in stage prod."""
    statements = [each for name in POLICIES[person] for each in PEOPLE[name]("prod")["Statement"]]
    return {action for statement in statements for action in statement["Action"]}


@pytest.mark.parametrize(
    ("person", "module"), [(person, each) for person, modules in COMMANDS.items() for each in modules]
)
def test_what_a_command_calls_its_person_may_do(person: str, module: str) -> None:
    needed = set(called(module)) - NEEDS_NOTHING - (ONCE_IN_AN_ACCOUNT if module == "gateway" else set())
    assert needed <= permitted(person), sorted(needed - permitted(person))


def test_the_calls_are_found() -> None:
    assert {"events:EnableRule", "lambda:PutFunctionConcurrency"} <= set(called("recovery/pausing"))
    assert {"dynamodb:RestoreTableToPointInTime", "dynamodb:Scan"} <= set(called("recovery/restore"))
    assert {"sns:ListTopics", "sqs:DeleteMessage"} <= set(called("upkeep"))
    assert "apigateway:POST" in set(called("gateway"))


def test_event_source_mappings_are_made_on_no_resource_as_iam_asks_for_it() -> None:
    (statement,) = [
        each
        for each in PEOPLE["deployer"]("prod")["Statement"]
        if "lambda:CreateEventSourceMapping" in each["Action"]
    ]
    assert statement["Resource"] == ["*"] and "payment-requests-prod-*" in json.dumps(statement["Condition"])


def test_every_log_group_of_the_template_is_one_that_the_deployer_may_make() -> None:
    (statement,) = [
        each
        for each in PEOPLE["stacks"]("prod")["Statement"]
        if "logs:CreateLogGroup" in each["Action"]
    ]
    groups = [each for each in whole_template()["Resources"].values() if each["Type"] == "AWS::Logs::LogGroup"]
    names = [each["Properties"]["LogGroupName"]["Fn::Sub"] for each in groups]
    allowed = [each.split("log-group:")[1].removesuffix(":*") for each in statement["Resource"]]
    for name in names:
        made = name.replace("${Prefix}", "payment-requests-prod")
        assert any(made == each or (each.endswith("*") and made.startswith(each[:-1])) for each in allowed), made
