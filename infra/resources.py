"""The tables, queues and log groups of a stage, by what the code says of tables, lists, consumers and functions."""

from dataclasses import dataclass
from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.base.records import KEYS, PAYMENTS, TABLES, WEBHOOKS
from chalicelib.platform.storage.store import DUE_INDEX
from infra.configuration import functions_of
from infra.iam import ACCESS

Resources = dict[str, dict[str, Any]]
"""Resources of a template, by their names in it."""


@dataclass(frozen=True)
class Queue:
    """One queue: for how long a message waits for a worker before it is lost, in seconds, and what its alarms say.

    `late_after` is the age of the oldest message, in seconds, at which the alarm of a late queue rings; `wakes` is
    whether that one wakes a person.
    """

    kept: int
    dead: str
    late: str
    late_after: int
    wakes: bool = False


_FOUR_DAYS, _HOUR, _TWO_WEEKS = 4 * 24 * 3600, 3600, 14 * 24 * 3600
_WAITS = "message waits in the dead letters"

# A message of an hour names work that is in a table and that a schedule queues again; the next tick of a scan reads the
# same blocks.
QUEUES = {
    "webhooks": Queue(
        _FOUR_DAYS,
        dead=f"The delivery of a webhook crashed five times; its {_WAITS}",
        late="Webhooks wait longer than two minutes for a worker",
        late_after=120,
        wakes=True,
    ),
    "webhook-retries": Queue(
        _FOUR_DAYS,
        dead=f"A retry of a webhook crashed five times; its {_WAITS}",
        late="Retries of webhooks wait longer than five minutes for a worker",
        late_after=300,
    ),
    "announcements": Queue(
        _FOUR_DAYS,
        dead=f"The announcement of events crashed five times; its {_WAITS}",
        late="Events wait longer than two minutes to be announced",
        late_after=120,
        wakes=True,
    ),
    "scans": Queue(
        _HOUR,
        dead=f"The scan of a chain crashed five times; its {_WAITS}",
        late="Scans wait longer than five minutes; payments are found late",
        late_after=300,
        wakes=True,
    ),
    "recordings": Queue(
        _HOUR,
        dead=f"Recording the transfers of a link crashed five times; its {_WAITS}",
        late="Transfers wait longer than two minutes to be recorded; payments are announced late",
        late_after=120,
        wakes=True,
    ),
    "relayed": Queue(
        _HOUR,
        dead=f"The check of the service's own transactions crashed five times; its {_WAITS}",
        late="Checks of the service's own transactions wait longer than five minutes",
        late_after=300,
    ),
    "recurring": Queue(
        _HOUR,
        dead=f"Recurring payments crashed their worker five times; the {_WAITS}",
        late="Recurring payments that are due wait longer than five minutes for a worker",
        late_after=300,
    ),
    "payment-intents": Queue(
        _HOUR,
        dead=f"Payments that payers have signed crashed their worker five times; the {_WAITS}",
        late="Payments that payers have signed wait longer than five minutes for a worker",
        late_after=300,
    ),
}


def logical(name: str) -> str:
    """The name in the template of what is called so: `webhook-retries` is WebhookRetries."""
    return name.replace("_", "-").title().replace("-", "")


def named(end: str) -> dict[str, str]:
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
    has_due = name in (PAYMENTS, WEBHOOKS)
    attributes = {"pk": "S", "sk": "S"} | ({"due_shard": "S", "due_at": "N"} if has_due else {})
    attributes |= dict.fromkeys(("listed_at", *lists), "S") if lists else {}
    indexes = [_index(DUE_INDEX, "due_shard", "due_at", "KEYS_ONLY")] if has_due else []
    indexes += [_index(each, each, "listed_at", "ALL") for each in lists]
    properties = {
        "TableName": named(f"-{name}"),
        "BillingMode": "PAY_PER_REQUEST",
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
    own = {"QueueName": named(f"-{name}"), "MessageRetentionPeriod": kept, "SqsManagedSseEnabled": True}
    return {"Type": "AWS::SQS::Queue", "Properties": {**own, **more}}


def log_groups() -> Resources:
    """The log groups: here rather than by the functions, so that none is kept forever."""
    ends = {each: "" if each == "api_handler" else f"-{each}" for each in ACCESS}
    names = {f"{logical(each)}Logs": f"/aws/lambda/${{Prefix}}{end}" for each, end in ends.items()}
    return {
        name: {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": {"Fn::Sub": group}, "RetentionInDays": 30}}
        for name, group in {**names, "ApiAccessLogs": "/aws/apigateway/${Prefix}"}.items()
    }
