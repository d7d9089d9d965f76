"""infra/template.yaml: what it says, and that a cloud makes it so."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chalicelib.base import records as base
from chalicelib.storage.store import DUE_INDEX
from infra import stack
from infra.iam import ACCESS, CHALICE_DIR, function_name
from infra.local.cloud import Cloud
from infra.stack import TEMPLATE, DeploymentStopped, apply_stack

STAGE = "dev"
PREFIX = "payment-requests-dev"
DOCUMENT = yaml.safe_load(TEMPLATE.read_text())
CONSUMERS = {
    "announcements": "announce_events",
    "webhooks": "deliver_webhook",
    "webhook-retries": "retry_webhook",
    "scans": "scan_chain",
}


def resources(kind: str) -> list[dict[str, Any]]:
    return [entry for entry in DOCUMENT["Resources"].values() if entry["Type"] == kind]


def text(value: Any) -> Any:
    """A property with its prefix filled in."""
    return value["Fn::Sub"].replace("${Prefix}", PREFIX) if isinstance(value, dict) else value


@pytest.fixture(scope="session")
def outputs(cloud: Cloud) -> dict[str, str]:
    return apply_stack(cloud.client("cloudformation"), STAGE)


def test_the_template_is_small_enough_to_be_sent() -> None:
    assert len(TEMPLATE.read_bytes()) < 51_200


def test_every_table_survives_mistakes() -> None:
    found = resources("AWS::DynamoDB::Table")
    assert len(found) == 5
    for table in found:
        properties = table["Properties"]
        assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain"
        assert properties["DeletionProtectionEnabled"] is True
        assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert properties["SSESpecification"] == {"SSEEnabled": True}
        assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
        assert properties["BillingMode"] == "PAY_PER_REQUEST"


def test_every_queue_keeps_what_its_consumer_cannot_take() -> None:
    config = json.loads((CHALICE_DIR / "config.json").read_text())
    queues = {text(entry["Properties"]["QueueName"]): entry["Properties"] for entry in resources("AWS::SQS::Queue")}
    assert set(queues) == {f"{PREFIX}-{name}{end}" for name in CONSUMERS for end in ("", "-dead")}
    for name, consumer in CONSUMERS.items():
        queue, dead = queues[f"{PREFIX}-{name}"], queues[f"{PREFIX}-{name}-dead"]
        assert queue["RedrivePolicy"]["maxReceiveCount"] == 5
        assert dead["MessageRetentionPeriod"] == 14 * 24 * 3600 > queue["MessageRetentionPeriod"]
        for stage in config["stages"].values():
            assert queue["VisibilityTimeout"] == 6 * stage["lambda_functions"][consumer]["lambda_timeout"]


def test_every_function_has_a_log_group_that_forgets_and_an_alarm_for_its_crashes() -> None:
    names = {function_name(STAGE, function) for function in ACCESS}
    groups = {
        text(entry["Properties"]["LogGroupName"]): entry["Properties"] for entry in resources("AWS::Logs::LogGroup")
    }
    assert set(groups) == {f"/aws/lambda/{name}" for name in names}
    assert all(group["RetentionInDays"] == 30 for group in groups.values())
    watched = {
        text(dimension["Value"])
        for alarm in resources("AWS::CloudWatch::Alarm")
        if alarm["Properties"]["MetricName"] == "Errors"
        for dimension in alarm["Properties"]["Dimensions"]
    }
    assert watched == names


def test_every_dead_letter_and_every_late_queue_rings() -> None:
    watched = {
        (alarm["Properties"]["MetricName"], alarm["Properties"]["Dimensions"][0]["Value"]["Fn::GetAtt"][0])
        for alarm in resources("AWS::CloudWatch::Alarm")
        if alarm["Properties"]["Namespace"] == "AWS/SQS"
    }
    names = ("Announcements", "Webhooks", "WebhookRetries", "Scans")
    dead = {("ApproximateNumberOfMessagesVisible", f"{name}DeadQueue") for name in names}
    assert watched == dead | {("ApproximateAgeOfOldestMessage", f"{name}Queue") for name in names}


def test_an_alarm_is_heard_and_says_what_it_means() -> None:
    for alarm in resources("AWS::CloudWatch::Alarm"):
        assert alarm["Properties"]["AlarmActions"] == [{"Ref": "AlarmTopic"}]
        assert len(alarm["Properties"]["AlarmDescription"]) > 20


@pytest.mark.usefixtures("outputs")
def test_the_tables_are_those_the_code_names(cloud: Cloud) -> None:
    dynamodb = cloud.client("dynamodb")
    made = [name for name in dynamodb.list_tables()["TableNames"] if name.startswith(f"{PREFIX}-")]
    named = [base.PAYMENTS, base.IDENTITY, base.SESSIONS, base.WEBHOOKS, base.OPS]
    assert sorted(made) == sorted(f"{PREFIX}-{name}" for name in named)
    for name in named:
        table = dynamodb.describe_table(TableName=f"{PREFIX}-{name}")["Table"]
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
        indexes = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}
        assert set(indexes) == ({DUE_INDEX} if name in (base.PAYMENTS, base.WEBHOOKS) else set())
        for index in indexes.values():
            assert [key["AttributeName"] for key in index["KeySchema"]] == ["due_shard", "due_at"]
            assert index["Projection"]["ProjectionType"] == "KEYS_ONLY"


def test_a_message_that_crashes_its_consumer_leads_to_the_dead_letters(cloud: Cloud, outputs: dict[str, str]) -> None:
    sqs = cloud.client("sqs")
    sqs.send_message(QueueUrl=outputs["ScansQueueUrl"], MessageBody="broken")
    for _ in range(5):
        (message,) = sqs.receive_message(QueueUrl=outputs["ScansQueueUrl"])["Messages"]
        sqs.change_message_visibility(
            QueueUrl=outputs["ScansQueueUrl"], ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
        )
    assert "Messages" not in sqs.receive_message(QueueUrl=outputs["ScansQueueUrl"])
    (dead,) = sqs.receive_message(QueueUrl=outputs["ScansDeadQueueUrl"])["Messages"]
    assert dead["Body"] == "broken"


def test_the_node_urls_of_the_operator_survive_an_update(cloud: Cloud, outputs: dict[str, str]) -> None:
    secrets = cloud.client("secretsmanager")
    secrets.put_secret_value(SecretId=f"{PREFIX}-rpc-urls", SecretString='{"sepolia": "http://node"}')
    assert apply_stack(cloud.client("cloudformation"), STAGE) == outputs
    assert secrets.get_secret_value(SecretId=f"{PREFIX}-rpc-urls")["SecretString"] == '{"sepolia": "http://node"}'


def test_a_stack_that_cannot_be_made_says_which_resource_stands_in_the_way(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = yaml.safe_load(TEMPLATE.read_text())
    del broken["Resources"]["ScansLateAlarm"]["Properties"]["MetricName"]
    (tmp_path / "broken.yaml").write_text(yaml.safe_dump(broken))
    monkeypatch.setattr(stack, "TEMPLATE", tmp_path / "broken.yaml")
    with pytest.raises(DeploymentStopped, match=r"CREATE_FAILED:\n  ScansLateAlarm: .*MetricName"):
        apply_stack(cloud.client("cloudformation"), "broken")
