"""Stored record: the off-ramp order of a request."""

from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import PAYMENTS, KeyPattern, Record

_PREFIX = "offramp_"


class OrderStatus(StrEnum):
    """What the provider does with an order. The first six follow each other."""

    CREATED = "created"
    INITIATED = "initiated"
    PENDING_INTERNAL_ASSESSMENT = "pending_internal_assessment"
    ONGOING_CHECKS = "ongoing_checks"
    SENDING_FIAT = "sending_fiat"
    FIAT_SENT = "fiat_sent"
    RETRY_REQUIRED = "retry_required"
    """The provider has to try a step again."""
    BOUNCED = "bounced"
    """The bank has returned the money."""
    INSUFFICIENT_FUNDS = "insufficient_funds"
    """Fewer tokens have arrived than were ordered."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUNDED = "refunded"
    """The provider has returned the tokens."""
    LOST = "lost"
    """The provider has not known the order for long: an operator has to find out what became of the money."""
    UNKNOWN = "unknown"
    """A status that this service does not know; Order.provider_status is what the provider calls it."""


def order_id_of(request_id: str) -> str:
    """The id of a request's order: the provider makes one for each id."""
    return f"{_PREFIX}{request_id}"


def request_id_of(order_id: str) -> str | None:
    """The request of an order; None for an id that this service never gives."""
    return order_id.removeprefix(_PREFIX) if order_id.startswith(_PREFIX) else None


@frozen
class Order(Record):
    """The provider's order to send the tokens that pay a request to a bank account.

    `user_id` and `details_id` are of the payer and the bank account. `provider_id` is the provider's own id; `amount`,
    which the provider expects, and `fee` are in units of the token, as text. The
    request's payee is the provider's deposit address. `sequence` is the provider's number of the state that was taken
    last. `paid_at` is since when the recorder knows the request as paid on chain; None while it is not.

    `announced` is how many of the five steps from INITIATED on the merchant was notified of, `aside` the last status
    beside them that it was notified of, None once the provider has left that. `is_settled` says that it was notified of
    the end, by payment.confirmed. `is_counted` says that the payer's `open_orders` include it. `missing_since` is since
    when the provider does not know it, `misses` how often it was asked since then.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{request_id}", "OFFRAMP")
    DUE_GROUP = "OFFRAMP"

    request_id: str
    account_id: str
    user_id: str
    details_id: str
    provider_id: str
    fee: str
    created_at: datetime
    changed_at: datetime
    status: OrderStatus = OrderStatus.CREATED
    provider_status: str = OrderStatus.CREATED.value
    sequence: int = 0
    reason: str | None = None
    paid_at: datetime | None = None
    announced: int = 0
    aside: OrderStatus | None = None
    is_settled: bool = False
    is_counted: bool = False
    check_at: datetime | None = None
    checks: int = 0
    amount: str = ""
    missing_since: datetime | None = None
    misses: int = 0

    @property
    def order_id(self) -> str:
        """The `offrampId` of the interface."""
        return order_id_of(self.request_id)

    @property
    def next_due(self) -> datetime | None:
        """When the order is read at the provider next."""
        return self.check_at
