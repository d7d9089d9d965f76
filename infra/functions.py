"""Asks each function of a stage whether it can use what its policy permits (platform/checking.py)."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.platform.storage.store import DUE_INDEX
from infra import APP
from infra.iam import Access, function_name
from infra.stack import DeploymentStopped

AT_ONCE = 4
_EMPTY = {
    "Records": [],
    **dict.fromkeys(("version", "account", "region", "source", "time", "id", "detail-type"), ""),
    "detail": {},
    "resources": [],
}
"""An event of SQS and of EventBridge in one, with nothing in it."""


def check_functions(lambda_: Any, stage: str, functions: Mapping[str, Access | None]) -> list[str]:
    """Invokes each function once; returns a line for each network whose nodes do not answer. Raises DeploymentStopped,
    with a line for each thing that a function cannot use.

    Where None stands for what a function may use, as that of another version, it only has to start: also a version
    that does not know this question. Of the API the health is asked in any case.
    """
    asked = [name for name, access in functions.items() if access is not None or name != "api_handler"]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answered = threads.map(lambda each: _ask(lambda_, stage, each, functions[each]), asked)
        answers = dict(zip(asked, answered, strict=True))
    problems = [f"{function}: {line}" for function, answer in answers.items() for line in _problems(stage, answer)]
    if problems:
        raise DeploymentStopped("\n  ".join(["functions of this stage do not work:", *problems]))
    return list(answers.get("api_handler", {}).get("networks", ()))


def uses_of(function: str, access: Access) -> dict[str, Any]:
    """What a function is asked to use, in the form of platform/checking.py."""
    indexes = {table: list(LISTS[table]) for table in access.lists}
    for table in access.due:
        indexes[table] = [DUE_INDEX, *indexes.get(table, ())]
    return {
        "tables": access.tables,
        "indexes": indexes,
        "queues": access.sends,
        "encrypts_for": access.encrypts_for,
        "decrypts_for": access.decrypts_for,
        "archive": access.archive,
        "rpc_urls": access.rpc_urls,
        "signs": access.signs,
        "networks": function == "api_handler",
    }


def _ask(lambda_: Any, stage: str, function: str, access: Access | None) -> dict[str, Any]:
    event = {**_EMPTY, "check": uses_of(function, access) if access else {}}
    response = lambda_.invoke(FunctionName=function_name(stage, function), Payload=json.dumps(event).encode())
    answer: Any = json.loads(response["Payload"].read())
    if access is None and answer is None:
        return {"problems": [], "settings": None}
    if "FunctionError" in response or not isinstance(answer, dict):
        said = answer.get("errorMessage") if isinstance(answer, dict) else answer
        log_group = f"/aws/lambda/{function_name(stage, function)}"
        return {"problems": [f"it fails: {said}. Its log group is {log_group}"], "settings": None}
    return answer


def _problems(stage: str, answer: dict[str, Any]) -> Iterator[str]:
    yield from answer["problems"]
    own = {"STAGE": stage, "RESOURCE_PREFIX": f"{APP}-{stage}"}
    if answer["settings"] not in (own, None):
        yield f"its settings are of another stage: {answer['settings']}"
