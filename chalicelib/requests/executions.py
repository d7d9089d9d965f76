"""What a request says of a payment that its payer has signed and the service makes for them."""

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
    """The last payment of a request that its payer has signed: the id of the payment intent, and how far it is."""

    intent_id: str
    status: ExecutionStatus
