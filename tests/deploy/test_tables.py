"""What a deployment refuses because of the tables that the account has."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.stack import DeploymentStopped
from infra.tables import check_tables
from tests.deploy.test_restore import KEYS

EMPTY = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}'


def client(service: str) -> Any:
    return boto3.client(service, "us-east-1")  # type: ignore[call-overload]


@pytest.fixture(autouse=True)
def aws() -> Iterator[None]:
    with mock_aws():
        yield


def make(*tables: str) -> None:
    for table in tables:
        client("dynamodb").create_table(TableName=table, **KEYS)


def test_a_new_stage_and_one_with_its_stack_may_be_deployed() -> None:
    make("payment-requests-production-payments", "payment-requests-prod-of-somebody")
    check_tables(client, "prod")
    make("payment-requests-prod-payments")
    client("cloudformation").create_stack(StackName="payment-requests-prod", TemplateBody=EMPTY)
    check_tables(client, "prod")


def test_tables_whose_stack_was_deleted_by_hand_are_named_before_anything_is_made() -> None:
    make("payment-requests-prod-payments", "payment-requests-prod-ops")
    with pytest.raises(DeploymentStopped, match="payment-requests-prod-ops, payment-requests-prod-payments") as stopped:
        check_tables(client, "prod")
    assert '"A stack that was deleted by hand" in infra/runbook.md' in str(stopped.value)


def test_a_restore_that_was_interrupted_is_ended_first() -> None:
    client("cloudformation").create_stack(StackName="payment-requests-prod", TemplateBody=EMPTY)
    make("payment-requests-prod-payments", "payment-requests-prod-payments-restore-20261122T100000")
    with pytest.raises(DeploymentStopped, match="`make restore STAGE=prod TIME=2026-11-22T10:00:00Z`"):
        check_tables(client, "prod")
