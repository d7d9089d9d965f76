"""The tables, queues and log groups of a stage, by what the code says of tables, lists, consumers and functions."""

from dataclasses import dataclass
from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.base.records import IDENTITY, KEYS, MAILS, PAYMENTS, TABLES, WEBHOOKS
from chalicelib.platform.storage.store import DUE_INDEX
from infra.configuration import functions_of
from infra.iam import ACCESS

SWEPT = (PAYMENTS, WEBHOOKS, IDENTITY, MAILS)
"""The tables with records that a sweep has to process, and so with the index `by_due`."""
INFREQUENT = (PAYMENTS,)
"""The tables of the class Standard-Infrequent Access: what they hold for months costs more than what is read and
written in them (docs/capacity.md). CloudFormation changes the class of a table without an interruption, at most twice
in 30 days."""
Resources = dict[str, dict[str, Any]]
"""Resources of a template, by their names in it."""


@dataclass(frozen=True)
class Queue:
    """One queue: for how long a message waits for a worker before it is lost, in seconds, and what its alarms say.

    `late_after` is the age of the oldest message, in minutes, at which the alarm of a late queue rings; in `late` its
    words take the place of {}. `wakes` is whether that alarm wakes a person.
    """

    kept: int
    crashed: str
    late_after: int
    late: str
    wakes: bool = False


_FOUR_DAYS, _HOUR, _TWO_WEEKS = 4 * 24 * 3600, 3600, 14 * 24 * 3600

# A message of an hour names work that is in a table and that a schedule queues again; the next tick of a scan reads the
# same blocks.
QUEUES = {
    "webhooks": Queue(
        _FOUR_DAYS, "The delivery of a webhook crashed five times; its", 2,
        "Webhooks wait longer than {} for a worker", True,
    ),
    "webhook-retries": Queue(
        _FOUR_DAYS, "A retry of a webhook crashed five times; its", 5,
        "Retries of webhooks wait longer than {} for a worker",
    ),
    "announcements": Queue(
        _FOUR_DAYS, "The announcement of events crashed five times; its", 2,
        "Events wait longer than {} to be announced", True,
    ),
    "scans": Queue(
        _HOUR, "The scan of a chain crashed five times; its", 5,
        "Scans wait longer than {}; payments are found late", True,
    ),
    "recordings": Queue(
        _HOUR, "Recording the transfers of a link crashed five times; its", 2,
        "Transfers wait longer than {} to be recorded; payments are announced late", True,
    ),
    "relayed": Queue(
        _HOUR, "The check of the service's own transactions crashed five times; its", 5,
        "Checks of the service's own transactions wait longer than {}",
    ),
    "mails": Queue(
        _HOUR, "The sending of an e-mail crashed five times; its", 5,
        "E-mails wait longer than {} for a worker",
    ),
    "mail-news": Queue(
        _FOUR_DAYS, "News of an e-mail that was sent crashed their worker five times; their", 5,
        "News of e-mails that were sent wait longer than {}",
    ),
    "recurring": Queue(
        _HOUR, "Recurring payments crashed their worker five times; the", 5,
        "Recurring payments that are due wait longer than {} for a worker",
    ),
    "payment-intents": Queue(
        _HOUR, "Payments that payers have signed crashed their worker five times; the", 5,
        "Payments that payers have signed wait longer than {} for a worker",
    ),
}


def logical(name: str) -> str:
    """The name in the template of what is called so: `webhook-retries` is WebhookRetries."""
    return name.replace("_", "-").title().replace("-", "")


def name_ending_in(end: str) -> dict[str, str]:
    """A name that begins with that of the stage."""
    return {"Fn::Sub": f"${{Prefix}}{end}"}


def tables() -> Resources:
    """The tables.

    A stack that goes, or a replaced resource, never takes the data with it: Retain and deletion protection. Items that
    may vanish carry `ttl` (epoch seconds). AWS adds one index to a table at a time: infra/stack.py updates a stage in
    steps.
    """
    return {f"{logical(name)}Table": _table(name) for name in TABLES}


def _table(name: str) -> dict[str, Any]:
    """`by_due` holds only what is waiting for a moment, the other indexes are the lists of accounts.

    A key of a person that is destroyed is to be gone, so its table has no backup.
    """
    lists = LISTS.get(name, ())
    has_due = name in SWEPT
    attributes = {"pk": "S", "sk": "S"} | ({"due_shard": "S", "due_at": "N"} if has_due else {})
    attributes |= dict.fromkeys(("listed_at", *lists), "S") if lists else {}
    indexes = [_index(DUE_INDEX, "due_shard", "due_at", "KEYS_ONLY")] if has_due else []
    indexes += [_index(each, each, "listed_at", "ALL") for each in lists]
    properties = {
        "TableName": name_ending_in(f"-{name}"),
        "BillingMode": "PAY_PER_REQUEST",
        **({"TableClass": "STANDARD_INFREQUENT_ACCESS"} if name in INFREQUENT else {}),
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": name != KEYS},
        "SSESpecification": {"SSEEnabled": True},
        "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": kind} for each, kind in attributes.items()],
        "KeySchema": _keys("pk", "sk"),
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    }
    kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    return {"Type": "AWS::DynamoDB::Table", **kept, "Properties": properties}


def _index(name: str, partition: str, sort: str, projected: str) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": _keys(partition, sort), "Projection": {"ProjectionType": projected}}


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def queues() -> Resources:
    """The queues, and the dead letters of each: what has crashed its consumer five times.

    A message that was received is visible again after six times the timeout of its consumer.
    """
    timeouts = {name: own["lambda_timeout"] for name, own in functions_of("prod").items()}
    consumers = {queue: function for function, access in ACCESS.items() for queue in access.consumes}
    made: Resources = {}
    for name, queue in QUEUES.items():
        dead = f"{logical(name)}DeadQueue"
        redrive = {"deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]}, "maxReceiveCount": 5}
        visible = {"VisibilityTimeout": 6 * timeouts[consumers[name]], "RedrivePolicy": redrive}
        made[f"{logical(name)}Queue"] = _queue(name, queue.kept, visible)
        made[dead] = _queue(f"{name}-dead", _TWO_WEEKS, {})
    return made


def _queue(name: str, kept: int, more: dict[str, Any]) -> dict[str, Any]:
    own = {"QueueName": name_ending_in(f"-{name}"), "MessageRetentionPeriod": kept, "SqsManagedSseEnabled": True}
    return {"Type": "AWS::SQS::Queue", "Properties": {**own, **more}}


def log_groups() -> Resources:
    """The log groups: here rather than by the functions, so that none is kept forever."""
    ends = {each: "" if each == "api_handler" else f"-{each}" for each in ACCESS}
    names = {f"{logical(each)}Logs": f"/aws/lambda/${{Prefix}}{end}" for each, end in ends.items()}
    return {
        name: {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": {"Fn::Sub": group}, "RetentionInDays": 30}}
        for name, group in {**names, "ApiAccessLogs": "/aws/apigateway/${Prefix}"}.items()
    }
