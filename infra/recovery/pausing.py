"""Stops all writes of a stage: its API answers errors, its queues are not read, its schedules do not fire.

Queues keep their messages. Nothing is lost: what callers were refused they send again, chains are read later.
"""

import time
from typing import Any

from infra.account import deployed_record
from infra.deploy import Target
from infra.iam import function_name


def pause(target: Target, drain_seconds: float | None = None) -> None:
    """Stops the stage, and waits until what runs has ended: by default as long as its slowest function may take."""
    resources = _resources(target)
    _set(target, resources, running=False)
    _wait_until_unread(target, resources)
    if drain_seconds is None:
        lambda_ = target.client("lambda")
        names = [each["lambda_arn"] for each in resources if each["resource_type"] == "lambda_function"]
        timeouts = [lambda_.get_function_configuration(FunctionName=name)["Timeout"] for name in names]
        drain_seconds = max(timeouts, default=0)
    time.sleep(drain_seconds)


def resume(target: Target) -> None:
    """Starts the stage again: all of it, because all of it runs in each deployment."""
    _set(target, _resources(target), running=True)


def _set(target: Target, resources: list[dict[str, str]], running: bool) -> None:
    """Stops the API before the rest and starts it after the rest: if that fails in between, no caller has written."""
    if not running:
        _set_api(target, resources, running)
    lambda_, events = target.client("lambda"), target.client("events")
    for each in resources:
        if each["resource_type"] == "sqs_event":
            lambda_.update_event_source_mapping(UUID=each["event_uuid"], Enabled=running)
        elif each["resource_type"] == "cloudwatch_event":
            change: Any = events.enable_rule if running else events.disable_rule
            change(Name=each["rule_name"])
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


def _wait_until_unread(target: Target, resources: list[dict[str, str]]) -> None:
    """Lambda takes up to some minutes to stop reading a queue, and starts functions until then."""
    lambda_ = target.client("lambda")
    for each in resources:
        if each["resource_type"] == "sqs_event":
            while lambda_.get_event_source_mapping(UUID=each["event_uuid"])["State"] == "Disabling":
                time.sleep(1)


def _resources(target: Target) -> list[dict[str, str]]:
    found: list[dict[str, str]] = deployed_record(target.client, target.stage)["resources"]
    return found
