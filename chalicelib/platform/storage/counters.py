"""Counts with a limit, each in one conditional write, so that they are exact under concurrent calls."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from chalicelib.platform.storage.clients import THROTTLES, Throttled
from chalicelib.platform.storage.items import ttl_of

Update = Callable[..., Any]
"""DynamoDB's update of one item."""
_REFUSED = "ConditionalCheckFailedException"


def add(update: Update, vanishes_at: datetime | None, limit: int, amount: int) -> int | None:
    """Adds an amount to the attribute `calls` and returns the new count; None, and no change, beyond the limit."""
    if amount > limit:
        return None
    response = _run_update(
        update,
        UpdateExpression="SET #ttl = :ttl ADD calls :amount",
        ConditionExpression="attribute_not_exists(calls) OR calls <= :most",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={
            ":amount": {"N": str(amount)},
            ":most": {"N": str(limit - amount)},
            ":ttl": ttl_of(vanishes_at),
        },
        ReturnValues="UPDATED_NEW",
    )
    return None if response is None else int(response["Attributes"]["calls"]["N"])


def subtract(update: Update, amount: int) -> None:
    """Subtracts from the attribute `calls`, which never goes below 0; does nothing if the record has expired."""
    _run_update(
        update,
        UpdateExpression="ADD calls :less",
        ConditionExpression="calls >= :amount",
        ExpressionAttributeValues={":less": {"N": str(-amount)}, ":amount": {"N": str(amount)}},
    )


def _run_update(update: Update, **parameters: Any) -> Any:
    """The response of an update; None if its condition does not hold. Raises Throttled."""
    from botocore.exceptions import ClientError  # only a process that calls AWS loads botocore

    try:
        return update(**parameters)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == _REFUSED:
            return None
        if code in THROTTLES:
            raise Throttled from error
        raise
