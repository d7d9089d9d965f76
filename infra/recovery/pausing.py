"""Stops all writes of a stage: its API answers errors, its queues are not read, its schedules do not fire.

Queues keep their messages. Nothing is lost: what callers were refused they send again, chains are read later.
"""

import time
from datetime import UTC, datetime
from typing import Any

from infra.account import read_deployed_record
from infra.iam import function_name
from infra.stack import DeploymentStopped
from infra.target import Target

SETTLED_WITHIN_SECONDS = 900
"""How long Lambda may take at most to begin or to stop reading a queue; it takes up to some minutes."""


def pause(target: Target, drain_seconds: float | None = None) -> None:
    """Stops the stage, and waits until what runs has ended: by default as long as its slowest function may take."""
    resources = _resources(target)
    _set(target, resources, running=False)
    lambda_ = target.client("lambda")
    for each in _queues(resources):
        while (
            wait_until_settled(lambda_, each["event_uuid"], each["queue"]) != "Disabled"
        ):  # it starts functions until then
            time.sleep(1)
    if drain_seconds is None:
        timeouts = [lambda_.get_function_configuration(FunctionName=name)["Timeout"] for name in _functions(resources)]
        drain_seconds = max(timeouts, default=0)
    time.sleep(drain_seconds)


def is_off(target: Target) -> bool:
    """Whether any part of the stage is switched off: its API, the reading of a queue, or a schedule."""
    resources, lambda_, events = _resources(target), target.client("lambda"), target.client("events")
    function = lambda_.get_function(FunctionName=function_name(target.stage, "api_handler"))
    return (
        function.get("Concurrency", {}).get("ReservedConcurrentExecutions") == 0
        or any(
            wait_until_settled(lambda_, each["event_uuid"], each["queue"]) == "Disabled" for each in _queues(resources)
        )
        or any(events.describe_rule(Name=name)["State"] == "DISABLED" for name in _rules(resources))
    )


def resume(target: Target) -> None:
    """Starts the stage again: all of it, because all of it runs in each deployment.

    It runs in new containers, as those before it remember what the tables had. A changed description has Lambda end
    them.
    """
    resources, lambda_ = _resources(target), target.client("lambda")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name in _functions(resources):
        lambda_.update_function_configuration(FunctionName=name, Description=f"Started again at {now}")
    for name in _functions(resources):
        lambda_.get_waiter("function_updated_v2").wait(FunctionName=name)
    _set(target, resources, running=True)


def _set(target: Target, resources: list[dict[str, str]], running: bool) -> None:
    """Stops the API before the rest and starts it after the rest: if that fails in between, no caller has written."""
    if not running:
        _set_api(target, resources, running)
    lambda_, events = target.client("lambda"), target.client("events")
    for each in _queues(resources):
        if (wait_until_settled(lambda_, each["event_uuid"], each["queue"]) == "Enabled") != running:
            lambda_.update_event_source_mapping(UUID=each["event_uuid"], Enabled=running)
    for name in _rules(resources):
        change: Any = events.enable_rule if running else events.disable_rule
        change(Name=name)
    if running:
        _set_api(target, resources, running)


def _set_api(target: Target, resources: list[dict[str, str]], running: bool) -> None:
    lambda_, name = target.client("lambda"), function_name(target.stage, "api_handler")
    if not any(each["name"] == "api_handler" for each in resources if each["resource_type"] == "lambda_function"):
        return
    if running:
        lambda_.delete_function_concurrency(FunctionName=name)
    else:
        lambda_.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)


def wait_until_settled(lambda_: Any, uuid: str, queue: str) -> str:
    """The state of how Lambda reads a queue, when it is not being changed: until then it takes no other change."""
    deadline = time.monotonic() + SETTLED_WITHIN_SECONDS
    while True:
        state: str = lambda_.get_event_source_mapping(UUID=uuid)["State"]
        if state in ("Enabled", "Disabled"):
            return state
        if time.monotonic() > deadline:
            raise DeploymentStopped(f"Lambda still changes how it reads the queue {queue} ({state}).")
        time.sleep(1)


def _queues(resources: list[dict[str, str]]) -> list[dict[str, str]]:
    return [each for each in resources if each["resource_type"] == "sqs_event"]


def _rules(resources: list[dict[str, str]]) -> list[str]:
    return [each["rule_name"] for each in resources if each["resource_type"] == "cloudwatch_event"]


def _functions(resources: list[dict[str, str]]) -> list[str]:
    return [each["lambda_arn"] for each in resources if each["resource_type"] == "lambda_function"]


def _resources(target: Target) -> list[dict[str, str]]:
    found: list[dict[str, str]] = read_deployed_record(target.client, target.stage)["resources"]
    return found
