"""What a deployment makes of a stack that CloudFormation has left in an unusual state, or that was deleted by hand."""

import json
import subprocess
import sys
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.base.records import TABLES
from infra.configuration import ROOT
from infra.iam import archive_bucket
from infra.local.cloud import Cloud
from infra.stack import DeploymentStopped, apply_stack, apply_template, body_of, delete_stack, left_template
from infra.tables import check_tables

pytestmark = pytest.mark.xdist_group("deployment")

TEMPLATE: dict[str, Any] = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {}}}}


class CloudFormation:
    """A stack whose rollback was given up: it takes no update until the rollback was continued."""

    def __init__(self, after: str) -> None:
        self.status, self.after = "UPDATE_ROLLBACK_FAILED", after
        self.updated = False

    def describe_stacks(self, StackName: str) -> Any:
        return {"Stacks": [{"StackName": StackName, "StackStatus": self.status, "Outputs": []}]}

    def describe_stack_events(self, StackName: str) -> Any:
        reason = {"ResourceStatus": "UPDATE_FAILED", "ResourceStatusReason": "no access", "LogicalResourceId": "Topic"}
        return {"StackEvents": [reason]}

    def get_template(self, StackName: str) -> Any:
        return {"TemplateBody": TEMPLATE}

    def continue_update_rollback(self, StackName: str) -> None:
        self.status = self.after

    def update_stack(self, **_: Any) -> None:
        if self.status.endswith("ROLLBACK_FAILED"):
            error = {"Code": "ValidationError", "Message": f"{self.status} state and can not be updated"}
            raise ClientError({"Error": error}, "UpdateStack")
        self.updated, self.status = True, "UPDATE_COMPLETE"


def test_a_rollback_that_was_given_up_is_ended_before_the_update() -> None:
    cloud = CloudFormation(after="UPDATE_ROLLBACK_COMPLETE")
    apply_template(cloud, "payment-requests-prod", "prod", TEMPLATE)
    assert cloud.updated


def test_a_rollback_that_fails_again_says_why() -> None:
    with pytest.raises(DeploymentStopped, match=r"ended as UPDATE_ROLLBACK_FAILED:\n  Topic: no access"):
        apply_template(CloudFormation(after="UPDATE_ROLLBACK_FAILED"), "payment-requests-prod", "prod", TEMPLATE)


def test_what_a_stack_leaves_that_was_deleted_by_hand_becomes_part_of_one_again_and_is_completed(cloud: Cloud) -> None:
    cloudformation, kms, stack = cloud.client("cloudformation"), cloud.client("kms"), "payment-requests-left"
    apply_stack(cloudformation, "left")
    cloud.client("dynamodb").put_item(TableName=f"{stack}-ops", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})
    keys = {
        name: kms.describe_key(KeyId=f"alias/{stack}-{end}")["KeyMetadata"]["KeyId"]
        for name, end in (("SecretsKey", "secrets"), ("RelayerKey", "relayer"))
    }
    for each in (f"{stack}-metrics", f"{stack}-alarms", stack):
        delete_stack(cloudformation, each)
    with pytest.raises(DeploymentStopped, match="belong to no stack"):
        check_tables(cloud.client, "left")

    left = left_template()
    identifiers = {name: {"KeyId": key} for name, key in keys.items()}
    identifiers |= {f"{each.title()}Table": {"TableName": f"{stack}-{each}"} for each in TABLES}
    identifiers["Archive"] = {"BucketName": archive_bucket(stack, "000000000000", "us-east-1")}
    secrets = left["Resources"].keys() - identifiers.keys()
    assert {left["Resources"][name]["Type"] for name in secrets} == {"AWS::SecretsManager::Secret"}
    for name in secrets:  # the local cloud imports none
        secret = left["Resources"].pop(name)["Properties"]["Name"]["Fn::Sub"].replace("${Prefix}", stack)
        cloud.client("secretsmanager").delete_secret(SecretId=secret, ForceDeleteWithoutRecovery=True)
    change = {"StackName": stack, "ChangeSetName": "left"}
    cloudformation.create_change_set(
        **change,
        ChangeSetType="IMPORT",
        TemplateBody=body_of(left),
        Parameters=[
            {"ParameterKey": "Prefix", "ParameterValue": stack},
            {"ParameterKey": "Stage", "ParameterValue": "left"},
        ],
        ResourcesToImport=[
            {"ResourceType": left["Resources"][name]["Type"], "LogicalResourceId": name, "ResourceIdentifier": identifier}
            for name, identifier in identifiers.items()
        ],
    )
    cloudformation.get_waiter("change_set_create_complete").wait(**change, WaiterConfig={"Delay": 1})
    cloudformation.execute_change_set(**change)
    cloudformation.get_waiter("stack_import_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})

    check_tables(cloud.client, "left")
    apply_stack(cloudformation, "left")
    assert cloud.client("dynamodb").scan(TableName=f"{stack}-ops")["Count"] == 1
    assert kms.describe_key(KeyId=f"alias/{stack}-secrets")["KeyMetadata"]["KeyId"] == keys["SecretsKey"]


def test_the_template_of_what_is_left_is_printed() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "infra.stack"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(said) == left_template()
