"""Which AWS actions a function makes, as tests record them, and how they are compared with the policies."""

from importlib import import_module
from typing import Any

import pytest

from chalicelib.payments.recording import jobs as recording_jobs
from infra.iam import ACCESS
from infra.local import calls as aws_calls
from infra.local.calls import FLOWS, Call
from tests.fakes.world import World
from tests.support.permissions import granted, problems

EVERY = {permission for function in ACCESS for permission in granted(function)}


@pytest.mark.parametrize(
    ("service", "operation", "params", "expected"),
    [
        ("dynamodb", "GetItem", {"TableName": "payment-requests-local-ops"}, [("dynamodb:GetItem", "ops")]),
        (
            "dynamodb",
            "Query",
            {"TableName": "payment-requests-local-payments", "IndexName": "by_due"},
            [("dynamodb:Query", "payments/index/by_due")],
        ),
        (
            "dynamodb",
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": "payment-requests-local-payments"}},
                    {"ConditionCheck": {"TableName": "payment-requests-local-webhooks"}},
                ]
            },
            [("dynamodb:PutItem", "payments"), ("dynamodb:ConditionCheckItem", "webhooks")],
        ),
        (
            "sqs",
            "SendMessageBatch",
            {"QueueUrl": "http://sqs.test/0/payment-requests-local-scans"},
            [("sqs:SendMessage", "scans")],
        ),
        (
            "kms",
            "Decrypt",
            {"KeyId": "alias/payment-requests-local-secrets", "EncryptionContext": {"owner": "person#1"}},
            [("kms:Decrypt", "secrets person#1")],
        ),
        ("secretsmanager", "GetSecretValue", {"SecretId": "of-others"}, []),
    ],
)
def test_a_call_needs_the_actions_that_iam_checks(
    service: str, operation: str, params: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert list(aws_calls.actions(service, operation, params)) == expected


def test_every_flow_that_stands_for_a_job_exists() -> None:
    for path, name in FLOWS:
        module = import_module("chalicelib." + path.removesuffix(".py").replace("/", "."))
        assert getattr(module, name).__code__.co_filename.endswith(path)


def test_calls_of_a_job_are_recorded_for_its_function_and_those_of_a_test_are_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Call] = []
    monkeypatch.setattr(aws_calls._Recorder, "add", lambda _, call: found.append(call))
    world.services.queue.send("payment-requests-local-scans", [])
    world.create_link()
    assert found == []
    recording_jobs.sweep_transfers(world.services)
    assert set(found) == {Call("sweep_transfers", "dynamodb:Query", "payments/index/by_due")}


def test_what_no_policy_permits_is_named_and_what_nothing_used_after_a_whole_run() -> None:
    stranger = Call("start_scans", "dynamodb:DeleteItem", "identity")
    assert problems({stranger}, whole=False) == ["missing: start_scans made dynamodb:DeleteItem on identity"]
    used = {call._replace(resource=call.resource.replace("*", "1")) for call in EVERY}
    assert problems(used, whole=True) == []
    idle = Call("sweep_transfers", "sqs:SendMessage", "recordings")
    assert problems(used - {idle}, whole=True) == ["unused: sweep_transfers may sqs:SendMessage on recordings"]
