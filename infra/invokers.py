"""Who may invoke the functions of a stage: its REST API that of the API, its rules those with a schedule.

Chalice adds such a permission, and takes none away: a removal that was killed leaves those of an API that is gone.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from infra import APP
from infra.iam import function_name


def remove_other_invokers(lambda_: Any, stage: str, functions: Iterable[str], api: str) -> None:
    """Takes the permission to invoke `functions` from all but the REST API `api` and own rules; safe to repeat."""
    for function in functions:
        for each in _others(lambda_, stage, function, api):
            lambda_.remove_permission(FunctionName=function_name(stage, function), StatementId=each["Sid"])


def invoker_differences(lambda_: Any, stage: str, function: str, api: str | None) -> Iterator[str]:
    """Yields a line for each permission that `remove_other_invokers` would take away."""
    for each in _others(lambda_, stage, function, api):
        yield f"{function}: {json.dumps(each['Principal'])} may invoke it, for {_source(each) or 'anything'}"


def _others(lambda_: Any, stage: str, function: str, api: str | None) -> list[dict[str, Any]]:
    """The statements of its policy that permit something to others."""
    try:
        policy = lambda_.get_policy(FunctionName=function_name(stage, function))["Policy"]
    except lambda_.exceptions.ResourceNotFoundException:
        return []
    return [each for each in json.loads(policy)["Statement"] if not _is_own(each, stage, function, api)]


def _is_own(statement: dict[str, Any], stage: str, function: str, api: str | None) -> bool:
    match statement["Principal"], _source(statement).split(":")[2:]:
        case {"Service": "apigateway.amazonaws.com"}, [_, _, _, path]:
            return function == "api_handler" and path.partition("/")[0] == api
        case {"Service": "events.amazonaws.com"}, [_, _, _, rule]:
            return bool(rule == f"rule/{APP}-{stage}-{function}-event")
    return False


def _source(statement: dict[str, Any]) -> str:
    """The ARN of what is permitted to invoke, or an empty text."""
    conditions = statement.get("Condition", {}).values()
    return next((str(each["AWS:SourceArn"]) for each in conditions if "AWS:SourceArn" in each), "")
