"""The tables of a stage as an account has them: copies of a restore, and tables that no stack has any more.

A deployment asks before it changes anything.
"""

from collections.abc import Callable
from typing import Any

from chalicelib.base.records import TABLES
from infra import APP
from infra.stack import DeploymentStopped, has_stack

BESIDE = "-restore-"
"""Between the name of a table and the time to which a copy of it was restored."""


def check_tables(client: Callable[[str], Any], stage: str) -> None:
    """Raises DeploymentStopped, with what to do, while the tables are being restored, or if they belong to no stack.

    `client` makes a client of a service.
    """
    names = check_restores(client("dynamodb"), stage)
    own = sorted({f"{APP}-{stage}-{table}" for table in TABLES} & set(names))
    if own and not has_stack(client("cloudformation"), f"{APP}-{stage}"):
        raise DeploymentStopped(
            f"The tables of {stage} ({', '.join(own)}) belong to no stack, so CloudFormation cannot make them: follow"
            ' "A stack that was deleted by hand" in infra/runbook.md.'
        )


def check_restores(dynamodb: Any, stage: str) -> list[str]:
    """Raises DeploymentStopped while the tables are being restored: they are as of two times until that has ended.
    Returns their names."""
    names = table_names(dynamodb, stage)
    if under_way := [name for name in names if BESIDE in name and not _is_going(dynamodb, name)]:
        moment = under_way[0].rpartition(BESIDE)[2]
        raise DeploymentStopped(
            f"A restore of {stage} is under way or was interrupted ({under_way[0]}): end it first by"
            f" `make restore STAGE={stage} TIME={_format_moment(moment)}`."
        )
    return names


def table_names(dynamodb: Any, stage: str) -> list[str]:
    """The tables whose names begin as those of the stage."""
    pages = dynamodb.get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"] if name.startswith(f"{APP}-{stage}-")]


def _is_going(dynamodb: Any, table: str) -> bool:
    status: str = dynamodb.describe_table(TableName=table)["Table"]["TableStatus"]
    return status == "DELETING"


def _format_moment(moment: str) -> str:
    """20261122T100000 as an operator writes it."""
    return f"{moment[:4]}-{moment[4:6]}-{moment[6:11]}:{moment[11:13]}:{moment[13:]}Z"
