"""Removes a stage: functions, API, roles, schedules, queues, logs, alarms; and what holds data, if that is asked for.

    python -m infra.recovery.destroy --stage prod [--with-data]      # what `make destroy` runs

It asks for the name of the stage. Tables, keys, secrets and the archive stay in the stack `payment-requests-<stage>`,
the tables with their deletion protection, and `make deploy` completes that stack again. With `--with-data` they are
deleted as well; keys can be had back for 30 days. All steps can be repeated.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import APP
from infra.account import read_deployed_record, rest_api_id
from infra.configuration import stages
from infra.hosts import stack_of
from infra.local.pythons import HERE
from infra.packaging.package import chalice, project_copy
from infra.recovery.confirming import is_confirmed
from infra.recovery.restore import drop_copies
from infra.stack import DeploymentStopped, delete_stack, has_stack, reduce_stack, stack_names
from infra.tables import check_restores
from infra.target import Target, step, target_of
from infra.waf import apply_waf

KEY_DAYS = 30
"""How long a deleted key can be had back: that of the service's own account owns money."""


def destroy(target: Target, with_data: bool) -> None:
    """Removes the stage. Raises DeploymentStopped, with the name of the step that failed.

    Its lock goes with its bucket, before the first stack is reduced or deleted; CloudFormation does one thing at a time
    with a stack.
    """
    cloudformation, versions = target.client("cloudformation"), target.versions()
    with ExitStack() as ending:
        if versions.has_bucket():
            with step("The lock"):
                ending.enter_context(versions.lock.hold("make destroy"))
        if not with_data:
            with step("The tables"):
                check_restores(target.client("dynamodb"), target.stage)
        _remove_all_but_first_stack(target, with_data)
    first = stack_names(target.stage)[0]
    with step(f"The stack {first}"):
        if with_data:
            delete_stack(cloudformation, first)
        elif has_stack(cloudformation, first):
            reduce_stack(cloudformation, target.stage)


def _remove_all_but_first_stack(target: Target, with_data: bool) -> None:
    """Removes what the stage has, and what the first stack holds of data and builds."""
    cloudformation = target.client("cloudformation")
    first, *others = stack_names(target.stage)
    with step("The firewall"):
        apply_waf(target.client, False, rest_api_id(target.client, target.stage), target.stage)
    for name in (stack_of(target.stage), *reversed(others)):
        with step(f"The stack {name}"):
            delete_stack(cloudformation, name)
    settings = {**target.settings, "lambda_python": HERE}  # nothing of it will run
    with step("Functions and API"), project_copy(target.stage, settings, layer=False) as copy:
        record = copy / ".chalice" / "deployed" / f"{target.stage}.json"
        record.parent.mkdir()
        record.write_text(json.dumps(read_deployed_record(target.client, target.stage)))
        chalice(copy, ["delete", "--stage", target.stage], HERE, target.environment)
    if not has_stack(cloudformation, first):
        return
    with step("The builds"):
        target.versions().empty()
    if with_data:
        with step("The data"):
            drop_copies(target.client("dynamodb"), target.stage)
            for resource in cloudformation.describe_stack_resources(StackName=first)["StackResources"]:
                _delete(target.client, resource["ResourceType"], resource.get("PhysicalResourceId"))


def _delete(client: Callable[[str], Any], kind: str, name: str | None) -> None:
    """Deletes one resource that holds data, unless it has gone."""
    if name is None:
        return
    try:
        match kind:
            case "AWS::DynamoDB::Table":
                _delete_table(client("dynamodb"), name)
            case "AWS::SecretsManager::Secret":
                client("secretsmanager").delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
            case "AWS::KMS::Key":
                client("kms").schedule_key_deletion(KeyId=name, PendingWindowInDays=KEY_DAYS)
            case "AWS::S3::Bucket" if "-archive-" in name:
                _delete_bucket(client("s3"), name)
    except ClientError as error:
        if error.response["Error"]["Code"] not in (
            "ResourceNotFoundException",
            "NoSuchBucket",
            "NotFoundException",
            "KMSInvalidStateException",  # its deletion is scheduled
        ):
            raise


def _delete_table(dynamodb: Any, name: str) -> None:
    """Deletes a table, unless that has begun, and returns when it is gone: its name is free for the next deployment."""
    table = dynamodb.describe_table(TableName=name)["Table"]
    if table["TableStatus"] != "DELETING":
        if table.get("DeletionProtectionEnabled"):
            dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            dynamodb.get_waiter("table_exists").wait(TableName=name)
        dynamodb.delete_table(TableName=name)
    dynamodb.get_waiter("table_not_exists").wait(TableName=name)


def _delete_bucket(s3: Any, name: str) -> None:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
        for each in page.get("Contents", ()):
            s3.delete_object(Bucket=name, Key=each["Key"])
    s3.delete_bucket(Bucket=name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.recovery.destroy", description="Remove a stage.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--with-data", action="store_true", help="delete tables, keys, secrets and the archive, too")
    arguments = parser.parse_args()
    stage = arguments.stage
    what = " AND ALL ITS DATA" if arguments.with_data else "; its tables, keys, secrets and archive stay"
    if not is_confirmed(f"This removes {stage}{what}", stage):
        return 1
    try:
        destroy(target_of(stage), arguments.with_data)
    except DeploymentStopped as stopped:
        print(f"{stopped}\nRun the same command again once the cause is removed.", file=sys.stderr)
        return stopped.status
    except (BotoCoreError, ClientError) as error:
        print(f"AWS did not do it: {error}", file=sys.stderr)
        return 1
    kept = "" if arguments.with_data else f" Its data is in the stack {APP}-{stage}; `make deploy` brings it back."
    print(f"{stage} is removed.{kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
