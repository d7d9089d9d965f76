"""The dashboard of a stage, `payment-requests-<stage>`: what is seen at one glance."""

import json
from typing import Any

from chalicelib.base.records import TABLES
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from infra import APP
from infra.alarms import API, DYNAMODB, LAMBDA, SQS
from infra.iam import ACCESS
from infra.resources import QUEUES, Resources

_OWN = "${Prefix}"
"""The name of the stage, which is the namespace of our own metrics."""
_NETWORKS = [each.name for each in ALL_NETWORKS]
_FUNCTIONS = [_OWN if each == "api_handler" else f"{_OWN}-{each}" for each in ACCESS]
_SAME = "..."
"""CloudWatch repeats the names of the metric before; `.` repeats one of them."""
_RELAYER = (
    *("RelayedStuck", "CallsPostponed", "CallsNotFollowed", "RelayerBalanceLow", "RelayerLimitNear"),
    *("RelayerNonceUsed", "RelayedUnknown", "RelayerHoldingsMissing", "RelayedRemoved"),
)


def dashboard() -> Resources:
    """The one resource. Its body is JSON, as CloudWatch takes it."""
    body = {"Fn::Sub": json.dumps({"widgets": _widgets()}, separators=(",", ":"))}
    properties = {"DashboardName": {"Ref": "Prefix"}, "DashboardBody": body}
    return {"Dashboard": {"Type": "AWS::CloudWatch::Dashboard", "Properties": properties}}


def _widgets() -> list[dict[str, Any]]:
    """Each as wide as a third of the dashboard."""
    api = [API, "Count", "ApiName", APP, "Stage", "${Stage}"]
    queues = [f"{_OWN}-{each}" for each in QUEUES]
    tables = [f"{_OWN}-{each}" for each in TABLES]
    throttled = [_by(DYNAMODB, f"{way}ThrottleEvents", "TableName", tables) for way in ("Read", "Write")]
    dead = [f"{each}-dead" for each in queues]
    return [
        _widget("Payments confirmed, by network", "Sum", 300, _by(_OWN, "PaymentsConfirmed", "Network", _NETWORKS)),
        _widget("Lag, by network (seconds)", "Maximum", 60, _by(_OWN, "Lag", "Network", _NETWORKS)),
        _widget("Failed requests to nodes, by network", "Sum", 300, _by(_OWN, "RpcErrors", "Network", _NETWORKS)),
        _widget(
            "Deliveries, by outcome", "Sum", 300,
            _by(_OWN, "Deliveries", "Outcome", ["delivered", "pending", "waiting", "failed"]),
        ),
        _widget("Share of first attempts at webhooks that failed", "Average", 900, [[_OWN, "FirstAttemptsFailed"]]),
        _widget("Age of the oldest event not announced (seconds)", "Maximum", 60, [[_OWN, "OutboxAge"]]),
        _widget(
            "Age of the oldest message, by queue (seconds)", "Maximum", 60,
            _by(SQS, "ApproximateAgeOfOldestMessage", "QueueName", queues),
        ),
        _widget(
            "Dead letters, by queue", "Maximum", 60, _by(SQS, "ApproximateNumberOfMessagesVisible", "QueueName", dead)
        ),
        _widget(
            "API: calls, 4xx and 5xx", "Sum", 60,
            [api, *([".", name, *["."] * 4] for name in ("4XXError", "5XXError"))],
        ),
        _widget(
            "API: latency (milliseconds)", "p50", 60,
            [[API, "Latency", *api[2:]], *([_SAME, {"stat": each}] for each in ("p95", "p99"))],
        ),
        _of_functions("Functions: errors", "Sum", 60, LAMBDA, "Errors"),
        _of_functions("Functions: throttles", "Sum", 60, LAMBDA, "Throttles"),
        _of_functions("Functions: duration, p95 (milliseconds)", "p95", 300, LAMBDA, "Duration"),
        _of_functions("Functions: cold starts", "Sum", 300, _OWN, "ColdStarts"),
        _widget("Tables: reads and writes that were throttled", "Sum", 60, [*throttled[0], *throttled[1]]),
        _widget(
            "The service's own account", "Sum", 300,
            [[_OWN, _RELAYER[0]], *([".", name] for name in _RELAYER[1:])],
        ),
    ]


def _widget(title: str, stat: str, period: int, metrics: list[list[Any]]) -> dict[str, Any]:
    shown = {"title": title, "stat": stat, "period": period, "region": "${AWS::Region}", "metrics": metrics}
    return {"type": "metric", "width": 8, "height": 6, "properties": shown}


def _of_functions(title: str, stat: str, period: int, namespace: str, metric: str) -> dict[str, Any]:
    return _widget(title, stat, period, _by(namespace, metric, "FunctionName", _FUNCTIONS))


def _by(namespace: str, metric: str, dimension: str, values: list[str]) -> list[list[Any]]:
    """The metric for each value of the dimension."""
    return [[namespace, metric, dimension, values[0]], *([_SAME, each] for each in values[1:])]
