"""The template of a stage: what it says, and that a cloud makes it so."""

import ast
import json
import re
from copy import deepcopy
from typing import Any

import pytest

from chalicelib.base import records as base_records
from chalicelib.base.lists import LISTS
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.platform.metrics import (
    COLD_STARTS,
    COUNTED_LINES,
    DELIVERIES,
    FIRST_ATTEMPTS_FAILED,
    LAG,
    MEASURED,
    OUTBOX_AGE,
    PAYMENTS,
    RPC_ERRORS,
)
from chalicelib.platform.storage.store import DUE_INDEX
from infra import stack
from infra.configuration import ROOT, functions_of, stages, variables_of
from infra.iam import ACCESS, function_name
from infra.local.cloud import Cloud
from infra.stack import DeploymentStopped, apply_stack, apply_template, body_of
from infra.stacks import split_into_stacks
from infra.template import whole_template
from infra.verify import find_silenced
from tests.support.sources import nodes_of, reads_code

STAGE = "template"  # which no other test makes in the cloud that they share
PREFIX = f"payment-requests-{STAGE}"
DOCUMENT = whole_template()
CONSUMERS = {
    "announcements": "announce_events",
    "webhooks": "deliver_webhook",
    "webhook-retries": "retry_webhook",
    "scans": "scan_chain",
    "recordings": "record_transfers",
    "relayed": "follow_relayed",
    "recurring": "execute_recurring",
    "payment-intents": "follow_payment_intent",
    "mails": "send_mail",
    "mail-news": "note_mail",
}

SECONDS_BETWEEN_BLOCKS = {
    each.name: each.block_milliseconds / 1000 * (20 if each.family == "tron" else 1) for each in ALL_NETWORKS
}
"""The newest solidified block of Tron, up to which it is read, is about 20 blocks old."""


def resources(kind: str) -> list[dict[str, Any]]:
    return [entry for entry in DOCUMENT["Resources"].values() if entry["Type"] == kind]


def text(value: Any) -> Any:
    """A property with its prefix filled in."""
    return value["Fn::Sub"].replace("${Prefix}", PREFIX).replace("${Stage}", STAGE) if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def made(cloud: Cloud) -> None:
    apply_stack(cloud.client("cloudformation"), STAGE)


def test_the_template_is_small_enough_to_be_sent() -> None:
    assert {end: len(body_of(part)) for end, part in split_into_stacks(DOCUMENT).items() if len(body_of(part)) >= 51_200} == {}


def test_the_stacks_of_alarms_name_what_the_first_one_holds_and_refer_to_nothing_of_it() -> None:
    stacks = {end: part["Resources"] for end, part in split_into_stacks(DOCUMENT).items()}
    assert sum(map(len, stacks.values())) == len(DOCUMENT["Resources"])
    kinds = {end: {each["Type"] for each in part.values()} for end, part in stacks.items()}
    assert kinds["-alarms"] == {"AWS::CloudWatch::Alarm"}
    assert kinds["-metrics"] == {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"}
    assert not kinds[""] & kinds["-metrics"]
    text = json.dumps([stacks["-alarms"], stacks["-metrics"]])
    assert "Fn::GetAtt" not in text
    assert set(re.findall(r'"Ref": "(\w+)"', text)) == {"Prefix", "Stage", "ManyFunctions"}
    late = stacks["-metrics"]["ScansLateAlarm"]["Properties"]
    assert late["Dimensions"] == [{"Name": "QueueName", "Value": {"Fn::Sub": "${Prefix}-scans"}}]
    assert late["AlarmActions"] == [
        {"Fn::Sub": "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:${Prefix}-alarms"}
    ]


@pytest.mark.usefixtures("made")
def test_every_alarm_rings_at_one_topic_of_the_stage(cloud: Cloud) -> None:
    pages = cloud.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{PREFIX}-")
    found = [each for page in pages for each in page["MetricAlarms"]]
    assert len(found) == len(resources("AWS::CloudWatch::Alarm"))
    topics = {each["TopicArn"] for each in cloud.client("sns").list_topics()["Topics"] if f":{PREFIX}-" in each["TopicArn"]}
    topics = {each for each in topics if not each.endswith("-mail-news")}
    assert {each.rpartition("-")[2] for each in topics} == {"alarms", "tickets"}
    assert {action for alarm in found for action in alarm["AlarmActions"]} == topics
    assert all(len(alarm["AlarmActions"]) == 1 for alarm in found)


@pytest.mark.usefixtures("made")
def test_an_alarm_whose_actions_a_person_has_switched_off_is_named(cloud: Cloud) -> None:
    cloudwatch, alarm = cloud.client("cloudwatch"), f"{PREFIX}-lag-base"
    cloudwatch.disable_alarm_actions(AlarmNames=[alarm])
    found = list(find_silenced(cloudwatch, STAGE))
    cloudwatch.enable_alarm_actions(AlarmNames=[alarm])
    assert found == [f"{alarm}: its actions are switched off, so that nobody hears it"]
    assert list(find_silenced(cloudwatch, STAGE)) == []


def test_every_table_survives_mistakes() -> None:
    found = resources("AWS::DynamoDB::Table")
    assert len(found) == 7
    for table in found:
        properties = table["Properties"]
        assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain"
        assert properties["DeletionProtectionEnabled"] is True
        has_backup = text(properties["TableName"]) != f"{PREFIX}-keys"  # a key that is destroyed is to be gone
        assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": has_backup}
        assert properties["SSESpecification"] == {"SSEEnabled": True}
        assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
        assert properties["BillingMode"] == "PAY_PER_REQUEST"
        is_kept_long = text(properties["TableName"]) == f"{PREFIX}-payments"
        assert properties.get("TableClass") == ("STANDARD_INFREQUENT_ACCESS" if is_kept_long else None)


def test_every_queue_keeps_what_its_consumer_cannot_take() -> None:
    queues = {text(entry["Properties"]["QueueName"]): entry["Properties"] for entry in resources("AWS::SQS::Queue")}
    assert set(queues) == {f"{PREFIX}-{name}{end}" for name in CONSUMERS for end in ("", "-dead")}
    for name, consumer in CONSUMERS.items():
        queue, dead = queues[f"{PREFIX}-{name}"], queues[f"{PREFIX}-{name}-dead"]
        assert queue["RedrivePolicy"]["maxReceiveCount"] == 5
        assert dead["MessageRetentionPeriod"] == 14 * 24 * 3600 > queue["MessageRetentionPeriod"]
        for stage in stages():
            assert queue["VisibilityTimeout"] == 6 * functions_of(stage)[consumer]["lambda_timeout"]


def test_every_function_has_a_log_group_that_forgets_and_an_alarm_for_its_crashes() -> None:
    names = {function_name(STAGE, function) for function in ACCESS}
    groups = {
        text(entry["Properties"]["LogGroupName"]): entry["Properties"] for entry in resources("AWS::Logs::LogGroup")
    }
    assert set(groups) == {*(f"/aws/lambda/{name}" for name in names), f"/aws/apigateway/{PREFIX}"}
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
    names = ("Announcements", "Webhooks", "WebhookRetries", "Scans", "Recordings", "Relayed", "Recurring", "PaymentIntents")
    names += ("Mails", "MailNews")
    dead = {("ApproximateNumberOfMessagesVisible", f"{name}DeadQueue") for name in names}
    assert watched == dead | {("ApproximateAgeOfOldestMessage", f"{name}Queue") for name in names}


def test_every_table_and_index_that_throttles_rings_for_reads_and_writes() -> None:
    watched = [
        (alarm["Properties"]["MetricName"], *(each["Value"] for each in alarm["Properties"]["Dimensions"]))
        for alarm in resources("AWS::CloudWatch::Alarm")
        if alarm["Properties"]["Namespace"] == "AWS/DynamoDB"
    ]
    listed = [
        ("ThrottledRequests", {"Ref": name}, "TransactWriteItems")
        for name in ("PaymentsTable", "WebhooksTable")  # one for all the lists of a table: transactions fill them
    ]
    tables = {name: entry for name, entry in DOCUMENT["Resources"].items() if entry["Type"] == "AWS::DynamoDB::Table"}
    throttles = [
        (metric, {"Ref": name}) for name in tables for metric in ("ReadThrottleEvents", "WriteThrottleEvents")
    ]
    indexes = [
        ("WriteThrottleEvents", {"Ref": name}, index["IndexName"])
        for name, table in tables.items()
        for index in table["Properties"].get("GlobalSecondaryIndexes", ())
        if index["IndexName"] == DUE_INDEX
    ]
    assert sorted(map(str, watched)) == sorted(map(str, throttles + indexes + listed))


def test_every_network_has_an_alarm_of_its_lag_five_minutes_above_what_is_normal() -> None:
    alarms = {
        alarm["Properties"]["Dimensions"][0]["Value"]: alarm["Properties"]
        for alarm in resources("AWS::CloudWatch::Alarm")
        if alarm["Properties"]["MetricName"] == "Lag"
    }
    assert set(alarms) == {each.name for each in ALL_NETWORKS}
    for stage in stages():
        settings = variables_of(stage)
        confirmations = json.loads(settings["CONFIRMATIONS"])
        for each in ALL_NETWORKS:
            normal = confirmations.get(each.name, each.confirmations) * SECONDS_BETWEEN_BLOCKS[each.name]
            assert normal + 300 <= alarms[each.name]["Threshold"] <= 450
            assert text(alarms[each.name]["AlarmName"]) == f"{PREFIX}-lag-{each.name}"
            assert (alarms[each.name]["Statistic"], alarms[each.name]["Period"]) == ("Maximum", 60)


@reads_code
def test_every_alarm_by_a_metric_of_our_own_waits_for_what_the_code_writes() -> None:
    """CloudWatch does not tell whether a metric is ever written."""
    assert not COUNTED_LINES.keys() - warnings_and_errors()
    measured = {each.name: each.dimension for each in MEASURED} | dict.fromkeys(COUNTED_LINES.values())
    alarms = [
        alarm["Properties"]
        for alarm in resources("AWS::CloudWatch::Alarm")
        if alarm["Properties"]["Namespace"] == {"Ref": "Prefix"}
    ]
    watched = {alarm["MetricName"] for alarm in alarms}
    assert set(COUNTED_LINES.values()) <= watched <= measured.keys()
    for alarm in alarms:
        dimensions = [each["Name"] for each in alarm.get("Dimensions", ())]
        assert dimensions == ([measured[alarm["MetricName"]]] if measured[alarm["MetricName"]] else [])
        assert alarm["TreatMissingData"] == "notBreaching"  # a line that is not written counts nothing


def test_the_dashboard_shows_every_metric_that_is_measured_and_every_queue_function_table_and_network() -> None:
    shown = [[]]
    for widget in json.loads(text(DOCUMENT["Resources"]["Dashboard"]["Properties"]["DashboardBody"]))["widgets"]:
        for metric in widget["properties"]["metrics"]:
            names = [each for each in metric if isinstance(each, str)]
            shown.append(names if "..." not in names and "." not in names else repeated(shown[-1], names))
    found = {(namespace, name, *values[1::2]) for namespace, name, *values in shown[1:]}
    functions = [function_name(STAGE, each) for each in ACCESS]
    networks = [each.name for each in ALL_NETWORKS]
    states = ("delivered", "pending", "waiting", "failed")
    wanted = {
        *((PREFIX, metric.name, each) for metric in (PAYMENTS, LAG, RPC_ERRORS) for each in networks),
        *((PREFIX, COLD_STARTS.name, each) for each in functions),
        *((PREFIX, DELIVERIES.name, each) for each in states),
        *((PREFIX, metric.name) for metric in (FIRST_ATTEMPTS_FAILED, OUTBOX_AGE)),
        *(("AWS/Lambda", name, each) for name in ("Errors", "Throttles", "Duration") for each in functions),
        *(("AWS/SQS", "ApproximateAgeOfOldestMessage", f"{PREFIX}-{each}") for each in CONSUMERS),
        *(("AWS/SQS", "ApproximateNumberOfMessagesVisible", f"{PREFIX}-{each}-dead") for each in CONSUMERS),
        *(
            ("AWS/DynamoDB", f"{way}ThrottleEvents", text(each["Properties"]["TableName"]))
            for each in resources("AWS::DynamoDB::Table")
            for way in ("Read", "Write")
        ),
        *(("AWS/ApiGateway", name, "payment-requests", STAGE) for name in ("4XXError", "5XXError", "Latency", "Count")),
    }
    assert wanted <= found
    assert {(PREFIX, name) for name in COUNTED_LINES.values() if name.startswith(("Relayed", "Relayer", "Calls"))} <= found


def repeated(before: list[str], names: list[str]) -> list[str]:
    """The names of a metric that repeats some of those of the metric before it."""
    if names[0] == "...":
        return [*before[: len(before) - len(names) + 1], *names[1:]]
    return [known if name == "." else name for known, name in zip(before, [*names, *before[len(names) :]], strict=True)]


def test_a_rate_that_payments_wait_for_has_an_alarm_within_minutes_and_one_that_is_only_shown_after_hours() -> None:
    alarms = {each["Properties"]["MetricName"]: each["Properties"] for each in resources("AWS::CloudWatch::Alarm")}
    seconds = {name: alarms[name]["Period"] * alarms[name]["DatapointsToAlarm"] for name in ("RatesUnavailable", "RatesNotShown")}
    assert seconds["RatesUnavailable"] <= 300 and seconds["RatesNotShown"] >= 3 * 3600


def warnings_and_errors() -> set[str]:
    """The messages that the code logs as a warning or an error."""
    return {
        str(node.args[0].value)
        for path in (ROOT / "chalicelib").rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("warning", "error")
        if node.args and isinstance(node.args[0], ast.Constant)
    }


def test_a_share_of_receivers_that_fail_rings_if_enough_were_tried() -> None:
    """Of the values 0 and 1 the 80th percentile is above 0 if more than a fifth are 1."""
    (alarm,) = [each["Properties"] for each in resources("AWS::CloudWatch::Alarm") if "ExtendedStatistic" in each["Properties"]]
    assert (alarm["MetricName"], alarm["ExtendedStatistic"]) == (FIRST_ATTEMPTS_FAILED.name, "p80")
    assert (alarm["Threshold"], alarm["ComparisonOperator"], alarm["Period"]) == (0, "GreaterThanThreshold", 900)
    assert alarm["EvaluateLowSampleCountPercentile"] == "ignore"


def test_an_alarm_is_heard_and_says_what_it_means() -> None:
    for alarm in resources("AWS::CloudWatch::Alarm"):
        assert alarm["Properties"]["AlarmActions"] in ([{"Ref": "AlarmTopic"}], [{"Ref": "TicketTopic"}])
        assert len(alarm["Properties"]["AlarmDescription"]) > 20


@pytest.mark.usefixtures("made")
def test_the_tables_are_those_the_code_names(cloud: Cloud) -> None:
    dynamodb = cloud.client("dynamodb")
    made = [name for name in dynamodb.list_tables()["TableNames"] if name.startswith(f"{PREFIX}-")]
    named = [base_records.PAYMENTS, base_records.IDENTITY, base_records.SESSIONS, base_records.WEBHOOKS, base_records.MAILS, base_records.OPS, base_records.KEYS]
    assert sorted(made) == sorted(f"{PREFIX}-{name}" for name in named)
    for name in named:
        table = dynamodb.describe_table(TableName=f"{PREFIX}-{name}")["Table"]
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
        indexes = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}
        due = [DUE_INDEX] if name in (base_records.PAYMENTS, base_records.WEBHOOKS, base_records.IDENTITY, base_records.MAILS) else []
        assert sorted(indexes) == sorted([*due, *LISTS.get(name, ())])
        for index in indexes.values():
            is_list = index["IndexName"] != DUE_INDEX
            keys = [index["IndexName"], "listed_at"] if is_list else ["due_shard", "due_at"]
            assert [key["AttributeName"] for key in index["KeySchema"]] == keys
            assert index["Projection"]["ProjectionType"] == ("ALL" if is_list else "KEYS_ONLY")


@pytest.mark.usefixtures("made")
def test_a_message_that_crashes_its_consumer_leads_to_the_dead_letters(cloud: Cloud) -> None:
    sqs = cloud.client("sqs")
    url, dead_url = (sqs.get_queue_url(QueueName=f"{PREFIX}-scans{end}")["QueueUrl"] for end in ("", "-dead"))
    sqs.send_message(QueueUrl=url, MessageBody="broken")
    for _ in range(5):
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    (dead,) = sqs.receive_message(QueueUrl=dead_url)["Messages"]
    assert dead["Body"] == "broken"


@pytest.mark.usefixtures("made")
def test_the_node_urls_of_the_operator_survive_an_update(cloud: Cloud) -> None:
    """The template has no value for them, so that no update can write one, whatever else it changes."""
    assert DOCUMENT["Resources"]["RpcUrls"]["Properties"].keys() == {"Name", "Description"}
    secrets = cloud.client("secretsmanager")
    secrets.put_secret_value(SecretId=f"{PREFIX}-rpc-urls", SecretString='{"sepolia": "http://node"}')
    apply_stack(cloud.client("cloudformation"), STAGE)
    assert secrets.get_secret_value(SecretId=f"{PREFIX}-rpc-urls")["SecretString"] == '{"sepolia": "http://node"}'


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(("own", "many"), [({"concurrency": 2900}, 2320), ({}, 800)])
def test_the_alarm_of_the_concurrency_follows_the_quota_that_the_stage_names(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, own: dict[str, int], many: int
) -> None:
    monkeypatch.setattr(stack, "config", lambda: {"stages": {STAGE: own}})
    apply_stack(cloud.client("cloudformation"), STAGE)
    found = cloud.client("cloudwatch").describe_alarms(AlarmNames=[f"{PREFIX}-concurrency-near"])
    assert [each["Threshold"] for each in found["MetricAlarms"]] == [many]


def test_a_stack_that_cannot_be_made_says_which_resource_stands_in_the_way(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = deepcopy(whole_template())
    del broken["Resources"]["ScansLateAlarm"]["Properties"]["MetricName"]
    monkeypatch.setattr(stack, "whole_template", lambda: broken)
    with pytest.raises(DeploymentStopped, match=r"CREATE_FAILED:\n  ScansLateAlarm: .*MetricName"):
        apply_stack(cloud.client("cloudformation"), "broken")


@pytest.mark.parametrize("status", ["CREATE_FAILED", "UPDATE_FAILED"])
def test_a_creation_that_failed_more_than_once_can_still_be_continued(status: str) -> None:
    done = FailedStack(status)
    apply_template(done, "payment-requests-new", "new", {"Resources": {}})
    assert done.stack["StackStatus"] == "UPDATE_COMPLETE"


class FailedStack:
    """CloudFormation with a stack whose resources were kept after a failure: it has to be updated without rollback."""

    def __init__(self, status: str) -> None:
        self.stack = {"StackName": "payment-requests-new", "StackStatus": status}

    def describe_stacks(self, **_: str) -> Any:
        return {"Stacks": [self.stack]}

    def get_template(self, **_: str) -> Any:
        return {"TemplateBody": {"Resources": {}}}

    def update_stack(self, *, DisableRollback: bool, **_: Any) -> None:
        assert DisableRollback, "To update the stack from this state, use the disable-rollback parameter."
        self.stack["StackStatus"] = "UPDATE_COMPLETE"
