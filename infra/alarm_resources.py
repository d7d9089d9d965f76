"""The resources of all alarms: of those in infra/alarms.py, and of every queue, function, network and table."""

from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.base.records import PAYMENTS, TABLES
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.platform.storage.store import DUE_INDEX
from infra.alarms import (
    CRASHES,
    DYNAMODB,
    FOUR_OF_FIVE,
    LAG_NAMES,
    LAG_SECONDS,
    LAMBDA,
    OTHERS,
    OWN,
    SLOW_SCHEDULES,
    SQS,
    THREE_OF_FIVE,
    Alarm,
    Dimensions,
    When,
)
from infra.iam import ACCESS
from infra.resources import QUEUES, SWEPT, Resources, logical, name_ending_in


def alarms() -> Resources:
    """The resources of all alarms. Raises ValueError if two have one name."""
    found = [*OWN, *OTHERS, *_of_queues(), *_of_functions(), *_of_schedules(), *_of_networks(), *_of_tables()]
    made = {f"{each.resource or each.metric}Alarm": _resource(each) for each in found}
    if len(made) < len(found):
        raise ValueError("two alarms have the same resource: name another one in infra/alarms.py")
    return made


_MINUTES = {2: "two minutes", 5: "five minutes"}


def _of_queues() -> list[Alarm]:
    late = [
        Alarm(
            f"{name}-late", "ApproximateAgeOfOldestMessage", queue.late.format(_MINUTES[queue.late_after]), When(60, 3),
            queue.wakes, queue.late_after * 60, "Maximum", SQS, (("QueueName", _queue_name(name)),),
            f"{logical(name)}Late",
        )
        for name, queue in QUEUES.items()
    ]
    dead = [
        Alarm(
            f"{name}-dead", "ApproximateNumberOfMessagesVisible", f"{queue.crashed} message waits in the dead letters",
            statistic="Maximum", namespace=SQS, dimensions=(("QueueName", _queue_name(f"{name}-dead")),),
            resource=f"{logical(name)}Dead",
        )
        for name, queue in QUEUES.items()
    ]
    return [*dead, *late]


def _queue_name(name: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [f"{logical(name)}Queue", "QueueName"]}


def _of_functions() -> list[Alarm]:
    return [
        Alarm(
            f"{function}-errors", "Errors", f"{function} crashed in three minutes of five; {follows}", THREE_OF_FIVE,
            wakes, namespace=LAMBDA, dimensions=(("FunctionName", name_ending_in(f"-{function}")),),
            resource=f"{logical(function)}Errors",
        )
        for function, (wakes, follows) in CRASHES.items()
    ]


def _of_schedules() -> list[Alarm]:
    """Each schedule has run once at least in ten minutes, the slow ones in half an hour."""
    schedules = [name for name, access in ACCESS.items() if not access.consumes and name != "api_handler"]
    found = []
    for name in schedules:
        slow = SLOW_SCHEDULES.get(name)
        wakes, follows = CRASHES.get(name) or (False, slow)
        says = f"{name} has not run for {'half an hour' if slow else 'ten minutes'}; {follows}"
        found.append(
            Alarm(
                f"{name}-silent",
                "Invocations",
                says,
                When(900 if slow else 300, 2),
                wakes,
                1,
                namespace=LAMBDA,
                dimensions=(("FunctionName", name_ending_in(f"-{name}")),),
                resource=f"{logical(name)}Silent",
                below_is_bad=True,
            )
        )
    return found


def _of_networks() -> list[Alarm]:
    """That of a test network wakes nobody."""
    says = f"have been seen more than {LAG_SECONDS} seconds late in four minutes of five"
    return [
        Alarm(
            f"lag-{name}", "Lag", f"Payments on {name} {says}", FOUR_OF_FIVE, name != "sepolia", LAG_SECONDS,
            "Maximum", dimensions=(("Network", name),), resource=f"Lag{LAG_NAMES.get(name) or logical(name)}",
        )
        for name in (each.name for each in ALL_NETWORKS)
    ]


def _of_tables() -> list[Alarm]:
    """DynamoDB throttles a hot partition, or all of a table at the limit of the account. An index that throttles has
    metrics of its own, and refuses the writes of its table; `by_due` is read by sweeps alone, and the others are filled
    by transactions."""
    hot = "a hot partition, or the limit of the account"
    listed, due = ("Operation", "TransactWriteItems"), ("GlobalSecondaryIndexName", DUE_INDEX)
    watched: list[tuple[str, str, str, str, Dimensions]] = []
    for table in TABLES:
        watched += [
            (table, "reads", "ReadThrottleEvents", f"reads of the {table} table; {hot}", ()),
            (table, "writes", "WriteThrottleEvents", f"writes of the {table} table; {hot}", ()),
        ]
    for table in SWEPT:
        shard = f"writes of the {table} table because a shard of its index {DUE_INDEX} is hot"
        watched.append((table, "index", "WriteThrottleEvents", shard, (due,)))
    for table in LISTS:
        lists = f"transactions of the {table} table; the lists of an account are hot, or its counts"
        watched.append((table, "lists", "ThrottledRequests", lists, (listed,)))
    return [
        Alarm(
            f"{table}-{kind}-throttled", metric, f"DynamoDB refuses {refused}", THREE_OF_FIVE, table == PAYMENTS,
            namespace=DYNAMODB, dimensions=(("TableName", {"Ref": f"{logical(table)}Table"}), *more),
            resource=f"{logical(table)}{kind.title()}Throttled",
        )
        for table, kind, metric, refused, more in watched
    ]


def _resource(alarm: Alarm) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in alarm.dimensions]
    percentile = {"ExtendedStatistic": alarm.statistic, "EvaluateLowSampleCountPercentile": "ignore"}
    properties = {
        "AlarmName": name_ending_in(f"-{alarm.name}"),
        "AlarmDescription": alarm.says,
        "Namespace": alarm.namespace or {"Ref": "Prefix"},
        "MetricName": alarm.metric,
        **({"Dimensions": dimensions} if dimensions else {}),
        **(percentile if alarm.statistic.startswith("p") else {"Statistic": alarm.statistic}),
        "Period": alarm.when.every,
        "EvaluationPeriods": alarm.when.looks,
        **({} if alarm.when.bad is None else {"DatapointsToAlarm": alarm.when.bad}),
        "Threshold": alarm.above,
        "ComparisonOperator": "LessThanThreshold" if alarm.below_is_bad else "GreaterThanThreshold",
        "TreatMissingData": "breaching" if alarm.below_is_bad else "notBreaching",
        "AlarmActions": [{"Ref": "AlarmTopic" if alarm.wakes else "TicketTopic"}],
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
