"""When a commerce payment expires: the one place that compares its times with a clock.

The bounds are those of the contract: it authorizes and charges before the first expiry, captures before the second,
refunds before the third, each excluded; the payer reclaims from the second on. A void has no bound.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.commerce.core.records import CommercePayment, OperationKind

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

KEPT_AFTER = timedelta(days=7)
"""How long after the time to pay a wallet is over its entry is kept: blocks may be read late."""


def last_moment(payment: CommercePayment, kind: OperationKind) -> datetime | None:
    """From when on the escrow refuses an operation; None if it never does."""
    return {
        OperationKind.AUTHORIZE: payment.pre_approval_expiry,
        OperationKind.CHARGE: payment.pre_approval_expiry,
        OperationKind.CAPTURE: payment.authorization_expiry,
        OperationKind.REFUND: payment.refund_expiry,
    }.get(kind)


def is_too_late(payment: CommercePayment, kind: OperationKind, now: datetime) -> bool:
    """Whether the escrow refuses an operation because its time is over."""
    last = last_moment(payment, kind)
    return last is not None and now >= last


def next_expiry(payment: CommercePayment) -> datetime:
    """Until when the next step has to be made: taking the money, or capturing what is held."""
    return payment.authorization_expiry if payment.is_collected else payment.pre_approval_expiry


def has_expired(payment: CommercePayment, now: datetime) -> bool:
    """Whether the next step comes too late by the clock, by which nothing ends."""
    is_open = payment.capturable > 0 or not payment.is_collected
    return is_open and now >= next_expiry(payment)


def has_ended(payment: CommercePayment, read_until: "Agreed[datetime] | None") -> bool:
    """Whether the next step came too late, by the instant up to which its network was read; None if that is not
    known."""
    return read_until is not None and has_expired(payment, read_until.value)


def can_reclaim(payment: CommercePayment, now: datetime) -> bool:
    """Whether the payer may take back what is held."""
    return payment.capturable > 0 and is_too_late(payment, OperationKind.CAPTURE, now)


def vanishes_at(payment: CommercePayment) -> datetime | None:
    """When the entry vanishes that finds the payment of a wallet which has not paid; None for that of the buyer."""
    return None if payment.buyer is not None else payment.pre_approval_expiry + KEPT_AFTER
