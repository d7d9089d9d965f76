"""Makes tables ready for more writes than new ones take: the warm throughput that a stage asks for.

A new table or index takes 4,000 write units a second, and grows with what it has taken. `"warm_write_units"` of a
stage in .chalice/config.json says what it takes from the beginning, by table and by index: `{"webhooks": 13000,
"webhooks by_due": 9000}`. AWS bills the difference once, and never lowers it.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from infra import APP
from infra.stack import DeploymentStopped

WITHIN_SECONDS = 900


def warm(dynamodb: Any, stage: str, wanted: Mapping[str, int]) -> None:
    """Raises what is lower than wanted, and waits for it; safe to repeat.

    Raises DeploymentStopped if it takes too long, or if there is no such index.
    """
    for table in sorted({place.partition(" ")[0] for place in wanted}):
        name = f"{APP}-{stage}-{table}"
        if lower := {place: units for place, units, _ in _lower(dynamodb, stage, wanted) if place.split()[0] == table}:
            dynamodb.update_table(TableName=name, **_update(lower))
            _wait(dynamodb, name)


def warm_differences(dynamodb: Any, stage: str, wanted: Mapping[str, int]) -> Iterator[str]:
    """Yields a line for each table and index that is ready for less than wanted."""
    for place, units, there in _lower(dynamodb, stage, wanted):
        yield f"{place}: it is ready for {there} write units a second, and {units} here"


def _lower(dynamodb: Any, stage: str, wanted: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """What is ready for less than wanted: its name, what is wanted and what it has."""
    for place, units in sorted(wanted.items()):
        table, _, index = place.partition(" ")
        found = dynamodb.describe_table(TableName=f"{APP}-{stage}-{table}")["Table"]
        if index:
            indexes = {each["IndexName"]: each for each in found.get("GlobalSecondaryIndexes", ())}
            if index not in indexes:
                raise DeploymentStopped(f'"warm_write_units" of {stage} names {place}, and there is no such index.')
            found = indexes[index]
        there = found.get("WarmThroughput", {}).get("WriteUnitsPerSecond", 0)
        if there < units:
            yield place, units, there


def _update(lower: Mapping[str, int]) -> dict[str, Any]:
    of_index = [
        {"Update": {"IndexName": place.split()[1], "WarmThroughput": {"WriteUnitsPerSecond": units}}}
        for place, units in lower.items()
        if " " in place
    ]
    of_table = [{"WriteUnitsPerSecond": units} for place, units in lower.items() if " " not in place]
    return {
        **({"WarmThroughput": of_table[0]} if of_table else {}),
        **({"GlobalSecondaryIndexUpdates": of_index} if of_index else {}),
    }


def _wait(dynamodb: Any, name: str) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    pause = 0.1
    while True:
        found = dynamodb.describe_table(TableName=name)["Table"]
        warming = [found, *found.get("GlobalSecondaryIndexes", ())]
        if all(each.get("WarmThroughput", {}).get("Status", "ACTIVE") == "ACTIVE" for each in warming):
            return
        if time.monotonic() > deadline:
            raise DeploymentStopped(f"{name} is not ready yet for the writes that the stage asks for: deploy again.")
        time.sleep(pause)
        pause = min(pause * 2, 5)
