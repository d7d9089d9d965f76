"""What the policies of a stage permit, written to be read and reviewed (tests/deploy/permissions.txt).

    python -m infra.readable_policies > tests/deploy/permissions.txt
"""

import re
from typing import Any

from infra import APP
from infra.iam import ACCESS, policy_document
from infra.people import PEOPLE


def list_permissions(stage: str) -> str:
    """What all policies of a stage permit, to be read: a line for each statement, `{}` for the prefix of the stage."""
    policies = {each: policy_document(stage, each) for each in ACCESS} | {
        each: made(stage) for each, made in PEOPLE.items()
    }
    paragraphs = ["\n".join([name, *map(_line, each["Statement"])]) for name, each in policies.items()]
    return "\n\n".join(paragraphs).replace(f"{APP}-{stage}", "{}") + "\n"


def _line(statement: dict[str, Any]) -> str:
    return f"  {_resources(statement)}: {_actions(statement)}{_conditions(statement)}"


def _resources(statement: dict[str, Any]) -> str:
    """The resources, without service, region and account: `table/{}-payments`."""
    return " ".join(re.sub(r"^arn:aws:[a-z0-9]+:[^:]*:[^:]*:", "", name) for name in statement["Resource"])


def _actions(statement: dict[str, Any]) -> str:
    """The actions, with the service before the first of each."""
    by_service: dict[str, list[str]] = {}
    for action in statement["Action"]:
        service, _, name = action.partition(":")
        by_service.setdefault(service, []).append(name)
    return ", ".join(f"{service} {' '.join(names)}" for service, names in by_service.items())


def _conditions(statement: dict[str, Any]) -> str:
    found = [
        f"{key} {test} {' '.join(value) if isinstance(value, list) else value}"
        for test, keys in statement.get("Condition", {}).items()
        for key, value in keys.items()
    ]
    return f"; if {' and '.join(found)}" if found else ""


if __name__ == "__main__":
    print(list_permissions("prod"), end="")
