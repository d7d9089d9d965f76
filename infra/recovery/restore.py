"""Puts all tables of a stage back to one time, by DynamoDB's point-in-time recovery.

    python -m infra.recovery.restore --stage prod --time 2026-11-22T10:00:00Z      # what `make restore` runs

DynamoDB restores a table to a new one, and no table can be renamed. So each table is restored beside itself, and what
differs is copied back. The tables keep their indexes, settings and backups: a restore can be undone by another one. The
stage is stopped meanwhile. After an interruption run the same command again; the stage stays stopped until it ends.

Four things stay as they are: the table `keys`, which has no backup, so that erased people stay erased; credentials
that were revoked since; sessions that ended since; and the emergency stop, which the operator alone ends. Cursors of
chains go back with their table: each chain is read again from that time on.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.base.records import KEYS, SESSIONS, TABLES
from chalicelib.platform.emergency_stop.records import Stop
from infra import APP
from infra.configuration import stages
from infra.recovery.confirming import is_confirmed
from infra.recovery.pausing import pause, resume
from infra.stack import DeploymentStopped
from infra.tables import BESIDE, table_names
from infra.target import Target, step, target_of

Item = dict[str, Any]
_KNOWN_WITHIN_SECONDS = 120
"""How long DynamoDB may not know a table yet that it restores."""
_SEGMENTS = 8
_READ, _WRITTEN = 100, 25
"""How many items DynamoDB reads and writes by one request at most."""
_REVOKED = {"S": "revoked"}
_STOP = (Stop.KEY.of().pk, Stop.KEY.of().sk)
"""The item by which payments are stopped: an operator stops them before a restore, and they stay so after it."""


@dataclass(frozen=True)
class Changes:
    """How many items of a table were put back, and how many were deleted because they are newer."""

    put: int
    deleted: int


def restore(target: Target, moment: datetime, drain_seconds: float | None = None) -> Iterator[str]:
    """Puts the tables back; yields a line for each step that is done. Raises DeploymentStopped."""
    with ExitStack() as ending:
        with step("The lock"):
            ending.enter_context(target.versions().lock.hold("make restore"))
        yield from _restore(target, moment, drain_seconds)


def _restore(target: Target, moment: datetime, drain_seconds: float | None) -> Iterator[str]:
    dynamodb = target.client("dynamodb")
    with step("The backups"):
        names = _restorable(dynamodb, target.stage, moment)
    with step("The stop of the stage"):
        pause(target, drain_seconds)
        yield f"{target.stage} is stopped: its API answers errors, queues and chains are not read."
    with step("The tables at that time"):
        copies = {name: f"{name}{BESIDE}{moment:%Y%m%dT%H%M%S}" for name in names}
        for name, copy in copies.items():
            _begin(dynamodb, name, copy, moment)
        for copy in copies.values():
            _wait_until_active(dynamodb, copy)
    for name, copy in copies.items():
        with step(f"The table {name}"):
            changes = _copy_back(dynamodb, copy, name)
            yield f"{name}: {changes.put} items put back, {changes.deleted} newer ones deleted."
    with step("The copies"):  # before the start: a second run after it would delete what was written since
        drop_copies(dynamodb, target.stage)
    with step("The start of the stage"):
        resume(target)
        yield f"{target.stage} runs again. Its tables and cursors are as of {moment:%Y-%m-%dT%H:%M:%SZ}."


def _restorable(dynamodb: Any, stage: str, moment: datetime) -> list[str]:
    """All tables but `keys`. Raises DeploymentStopped if one has no backups, or they do not reach the moment."""
    names, earliest, latest = [], moment, moment
    for table in (each for each in TABLES if each != KEYS):
        name = f"{APP}-{stage}-{table}"
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        recovery = backups["PointInTimeRecoveryDescription"]
        if recovery["PointInTimeRecoveryStatus"] != "ENABLED":
            raise DeploymentStopped(f"The table {name} has no backups, and the others would not fit it.")
        names.append(name)
        earliest = max(earliest, recovery["EarliestRestorableDateTime"])
        latest = min(latest, recovery["LatestRestorableDateTime"])
    if earliest > moment or latest < moment:
        ends = [each.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (earliest, latest)]
        bound = f"not before {ends[0]}" if earliest > moment else f"not after {ends[1]}"
        raise DeploymentStopped(f"The tables can be restored to a time {bound}.")
    return names


def _begin(dynamodb: Any, name: str, copy: str, moment: datetime) -> None:
    """Begins to restore a table, without its indexes, unless an earlier run has begun it. A copy that an earlier run
    has deleted is waited for."""
    if _status(dynamodb, copy) == "DELETING":
        dynamodb.get_waiter("table_not_exists").wait(TableName=copy)
    try:
        dynamodb.restore_table_to_point_in_time(
            SourceTableName=name, TargetTableName=copy, RestoreDateTime=moment, GlobalSecondaryIndexOverride=[]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("TableAlreadyExistsException", "TableInUseException"):
            raise


def _wait_until_active(dynamodb: Any, table: str) -> None:
    """DynamoDB limits how long a restore takes; that of an empty table takes some minutes. One that fails has gone."""
    pause_seconds, known_by = 0.1, time.monotonic() + _KNOWN_WITHIN_SECONDS
    while (status := _status(dynamodb, table)) != "ACTIVE":
        if status is None and time.monotonic() > known_by:
            raise DeploymentStopped(f"DynamoDB has no table {table}, although it has begun to restore it.")
        time.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, 10)


def _status(dynamodb: Any, table: str) -> str | None:
    """None if there is no such table, or none yet."""
    try:
        status: str = dynamodb.describe_table(TableName=table)["Table"]["TableStatus"]
    except dynamodb.exceptions.ResourceNotFoundException:
        return None
    return status


def _drop(dynamodb: Any, table: str) -> None:
    """Deletes a copy. One that is being made, by a run that was interrupted, cannot be deleted before it is."""
    while (status := _status(dynamodb, table)) == "CREATING":
        time.sleep(10)
    if status not in ("DELETING", None):
        dynamodb.delete_table(TableName=table)


def _copy_back(dynamodb: Any, copy: str, name: str) -> Changes:
    """Makes a table equal to its copy, but for what stays."""
    with ThreadPoolExecutor(_SEGMENTS) as threads:
        put = sum(threads.map(partial(_put_segment, dynamodb, copy, name), range(_SEGMENTS)))
        deleted = sum(threads.map(partial(_delete_segment, dynamodb, copy, name), range(_SEGMENTS)))
    return Changes(put, deleted)


def _put_segment(dynamodb: Any, copy: str, name: str, segment: int) -> int:
    number = 0
    for page in _pages(dynamodb, copy, segment):
        present = _read(dynamodb, name, page)
        wanted = [item for item in page if _is_put(name, item, present.get(_place(item)))]
        _write(dynamodb, name, [{"PutRequest": {"Item": item}} for item in wanted])
        number += len(wanted)
    return number


def _delete_segment(dynamodb: Any, copy: str, name: str, segment: int) -> int:
    number = 0
    for page in _pages(dynamodb, name, segment):
        kept = _read(dynamodb, copy, page)
        newer = [item for item in page if _place(item) not in kept and _place(item) != _STOP]
        _write(dynamodb, name, [{"DeleteRequest": {"Key": _key(item)}} for item in newer])
        number += len(newer)
    return number


def _is_put(table: str, item: Item, present: Item | None) -> bool:
    """Whether an item of the copy is put back: not a session that ended, nor a credential that was revoked since."""
    if present is None:
        return not table.endswith(f"-{SESSIONS}")
    return present != item and present.get("status") != _REVOKED


def _pages(dynamodb: Any, table: str, segment: int) -> Iterator[list[Item]]:
    options = {"TableName": table, "ConsistentRead": True, "Segment": segment, "TotalSegments": _SEGMENTS}
    for page in dynamodb.get_paginator("scan").paginate(**options, PaginationConfig={"PageSize": _READ}):
        if page["Items"]:
            yield page["Items"]


def _read(dynamodb: Any, table: str, items: list[Item]) -> dict[tuple[str, str], Item]:
    """The items of a table with the keys of these, by their keys."""
    found: dict[tuple[str, str], Item] = {}
    wanted = {table: {"Keys": [_key(item) for item in items], "ConsistentRead": True}}
    for answer in _answers(dynamodb.batch_get_item, wanted, "UnprocessedKeys"):
        found |= {_place(item): item for item in answer["Responses"].get(table, [])}
    return found


def _write(dynamodb: Any, table: str, requests: list[Any]) -> None:
    for first in range(0, len(requests), _WRITTEN):
        wanted = {table: requests[first : first + _WRITTEN]}
        for _ in _answers(dynamodb.batch_write_item, wanted, "UnprocessedItems"):
            pass


def _answers(ask: Callable[..., Any], wanted: Any, left: str) -> Iterator[Any]:
    """The answers to a request, repeated for what DynamoDB has `left`: later each time, as it throttles the table."""
    pause_seconds = 0.05
    while wanted:
        answer = ask(RequestItems=wanted)
        yield answer
        if wanted := answer.get(left):
            time.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, 5)


def _key(item: Item) -> Item:
    return {"pk": item["pk"], "sk": item["sk"]}


def _place(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def drop_copies(dynamodb: Any, stage: str) -> None:
    """Deletes the tables that this and interrupted restores have made."""
    for copy in [name for name in table_names(dynamodb, stage) if BESIDE in name]:
        _drop(dynamodb, copy)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError("write the time as 2026-11-22T10:00:00Z")
    return moment.astimezone(UTC)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.recovery.restore", description="Put all tables back.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--time", type=_moment, required=True, help="2026-11-22T10:00:00Z")
    parser.add_argument("--drain-seconds", type=float, help="for what runs; the longest timeout if omitted")
    arguments = parser.parse_args()
    back = timedelta(seconds=round((datetime.now(UTC) - arguments.time).total_seconds()))
    if not is_confirmed(
        f"This puts all tables of {arguments.stage} back by {back}; what is newer is lost", arguments.stage
    ):
        return 1
    try:
        for line in restore(target_of(arguments.stage), arguments.time, arguments.drain_seconds):
            print(line, flush=True)
    except DeploymentStopped as stopped:
        print(f"{stopped}\nRun the same command again once the cause is removed.", file=sys.stderr)
        return stopped.status
    except (BotoCoreError, ClientError) as error:
        print(f"AWS did not do it: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
