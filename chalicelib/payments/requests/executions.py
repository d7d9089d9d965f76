"""What a request says of a payment that its payer has signed and the service makes for them."""

from dataclasses import replace
from enum import StrEnum

from chalicelib.base.frozen import frozen


class ExecutionStatus(StrEnum):
    PENDING = "pending"
    """It is being made. Until it has ended the request is not offered to be paid again."""
    SETTLED = "settled"
    PARTIAL = "partial"
    """It failed on the request's network, and the payer has the tokens there."""
    REFUNDED = "refunded"
    """The payer has the tokens back on the network that they came from."""
    FAILED = "failed"
    """Nothing was taken from the payer."""


@frozen
class Execution:
    """The last payment of a request that its payer has signed: the id of the payment intent, and how far it is.

    `is_public` means that it was accepted from a client id alone. `unmade` is how many payments of the request were
    accepted and did not pay it, up to this one, and `unmade_public` how many of these from a client id alone.
    """

    intent_id: str
    status: ExecutionStatus
    is_public: bool = False
    unmade: int = 0
    unmade_public: int = 0


def begin_execution(before: Execution | None, intent_id: str, is_public: bool) -> Execution:
    """The next payment after another one, which has ended, or the first."""
    earlier = before or Execution(intent_id, ExecutionStatus.PENDING)
    return replace(earlier, intent_id=intent_id, status=ExecutionStatus.PENDING, is_public=is_public)


def end_execution(execution: Execution, status: ExecutionStatus) -> Execution:
    """The payment at its end, with the numbers of those that did not pay."""
    if status is ExecutionStatus.SETTLED:
        return replace(execution, status=status)
    unmade_public = execution.unmade_public + execution.is_public
    return replace(execution, status=status, unmade=execution.unmade + 1, unmade_public=unmade_public)
