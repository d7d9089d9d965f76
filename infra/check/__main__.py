"""Checks all that a stage has stored against the invariants: `python -m infra.check --stage local|dev|prod`.

Reads the tables payments, webhooks and ops once, and those of a stage that is in use a second time after `--pause`
seconds: what changed between two reads of one picture is no violation. Prints a line for each violation. Exit status 1
if there are any, 2 if it could not look: no such stage, no access, or a stage that has no events to check.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.base.records import Record
from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.records import Event
from infra import APP
from infra.check.invariants import KINDS, Picture, Violation, violations
from infra.configuration import stages
from infra.stack import DeploymentStopped
from infra.target import target_of

PAUSE_SECONDS = 60


class NothingToCheck(Exception):
    """The stage has no events."""


def records(store: Store) -> Iterator[Record]:
    """All records that the invariants compare."""
    for kinds in KINDS:
        for record, _ in store.scan(kinds):
            yield record


def check(store: Store, pause: float) -> list[Violation]:
    """What breaks an invariant in two pictures of a stage, `pause` seconds apart; the second is taken only if the first
    has violations. Raises NothingToCheck."""
    picture = Picture.of(records(store), datetime.now(UTC))
    if not picture.all(Event):
        raise NothingToCheck
    found = list(violations(picture))
    if not found:
        return []
    time.sleep(pause)
    again = {(each.invariant, each.about): each for each in violations(Picture.of(records(store), datetime.now(UTC)))}
    return [again[key] for key in dict.fromkeys((each.invariant, each.about) for each in found) if key in again]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = ArgumentParser(prog="python -m infra.check", description="Checks what a stage has stored.")
    parser.add_argument("--stage", required=True, help="one of .chalice/config.json")
    parser.add_argument("--pause", type=float, default=PAUSE_SECONDS, help="seconds between two pictures")
    options = parser.parse_args(arguments)
    if options.stage not in stages():
        return _refuse(f"There is no stage {options.stage!r}; there are {', '.join(stages())}.")
    try:
        store = Store(f"{APP}-{options.stage}", target_of(options.stage).client("dynamodb"))
        found = check(store, options.pause)
    except NothingToCheck:
        return _refuse(f"Stage {options.stage} has no events of the last 30 days: nothing was checked.")
    except DeploymentStopped as stopped:
        return _refuse(str(stopped))
    except (BotoCoreError, ClientError) as error:
        return _refuse(f"The tables of stage {options.stage} cannot be read: {error}")
    for each in found:
        print(each)
    print(f"{len(found)} violations" if found else "Every invariant holds.")
    return 1 if found else 0


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
