"""Children of a multicall: which of them can be paid, and why the others cannot.

A child is a payout link, which can still be paid separately. Its `parent_token` is a claim by a multicall. The claim
counts while that multicall exists, is not expired or completed, and can be paid; so a child is held by at most one
multicall. If one child can never be paid again, the multicall holds none of its children, and they can be combined
again without that child.
"""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.payments.links.records import Flow, Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import is_abandoned, is_being_signed, status_at
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import Use, may


class Reason(StrEnum):
    """Why a child, or the whole multicall, cannot be paid (supplement 7.1). Children are checked in this order."""

    DUPLICATE_CHILD = "duplicate_child"
    NOT_FOUND = "not_found"
    NOT_OWNED = "not_owned"
    NOT_OUTGOING = "not_outgoing"
    NOT_SINGLE_PAYMENT = "not_single_payment"
    INVALID_CHILD_LINKAGE = "invalid_child_linkage"
    """Another multicall holds it."""
    ALREADY_PAID = "already_paid"
    REQUEST_PROCESSING = "request_processing"
    SECURE_PAYMENT_EXPIRED = "secure_payment_expired"
    SECURE_PAYMENT_NOT_PENDING = "secure_payment_not_pending"
    COMPLIANCE_FAILED = "compliance_failed"
    NOT_PAYABLE_CHILD = "not_payable_child"
    TOO_MANY_CHILDREN = "too_many_children"
    CAP_EXCEEDED = "cap_exceeded"
    """There are more children than are paid from another chain at once."""
    UNSUPPORTED_ROUTE = "unsupported_route"
    """No route leads from the payer's source to the child."""
    QUOTE_UNAVAILABLE = "quote_unavailable"
    """There is no quote of its route at present."""
    UNSUPPORTED_COMBINATION = "unsupported_combination"
    """One payer cannot pay these children together, in whatever kind."""
    EXECUTION_KIND_MISMATCH = "execution_kind_mismatch"
    """They can be paid together, and not in the kind that was asked for."""
    TOTAL_TOO_LARGE = "total_too_large"
    """The children of one currency come to more than a token amount can be."""


_RECOVERY = {
    Reason.DUPLICATE_CHILD: "remove_child",
    Reason.NOT_FOUND: "remove_child",
    Reason.NOT_OWNED: "remove_child",
    Reason.NOT_OUTGOING: "remove_child",
    Reason.ALREADY_PAID: "remove_child",
    Reason.COMPLIANCE_FAILED: "remove_child",
    Reason.REQUEST_PROCESSING: "recreate_after_cooldown",
    Reason.TOO_MANY_CHILDREN: "recreate_reduced",
    Reason.CAP_EXCEEDED: "recreate_reduced",
    Reason.UNSUPPORTED_ROUTE: "switch_route",
    Reason.QUOTE_UNAVAILABLE: "wait_for_quote_refresh",
    Reason.UNSUPPORTED_COMBINATION: "remove_child",
    Reason.EXECUTION_KIND_MISMATCH: "switch_route",
    Reason.TOTAL_TOO_LARGE: "recreate_reduced",
}
"""What the caller can do (supplement 15.2); `support_required` for the other reasons."""


@frozen
class Child:
    """One child as it is now; `reason` is None if it can be paid. `detail` says more of a route that failed."""

    position: int
    token: str
    payable: PayableLink | None
    reason: Reason | None
    detail: str | None = None

    @property
    def request(self) -> Request | None:
        """The child's request; None if the link does not exist, or its request was merged into a batch."""
        return self.payable.requests[0] if self.payable and self.payable.requests else None

    @property
    def is_paid(self) -> bool:
        return self.payable is not None and self.payable.is_paid


@frozen
class Cap:
    """The largest number of children that is allowed, and the actual number."""

    maximum: int
    actual: int


def message_key(reason: Reason) -> str:
    return f"multicall.{reason}"


def recovery_action(reason: Reason) -> str:
    return _RECOVERY.get(reason, "support_required")


class MulticallRefused(BadRequest):
    """A multicall that cannot be created or paid because of some of its children, which are `blocked`."""

    shown_by = "chalicelib.payments.links.multicalls.responses"

    def __init__(self, blocked: Sequence[Child], now: datetime) -> None:
        super().__init__("Multicall validation failed")
        self.blocked, self.now = tuple(blocked), now


class SetRefused(BadRequest):
    """A multicall that cannot be created or paid though each of its children could be. `detail` says what to change, or
    `cap` which number of children is exceeded."""

    shown_by = "chalicelib.payments.links.multicalls.responses"

    def __init__(self, reason: Reason, detail: str | None, cap: Cap | None = None) -> None:
        super().__init__("Multicall validation failed")
        self.reason, self.detail, self.cap = reason, detail, cap


def check_count(count: int, maximum: int, reason: Reason = Reason.TOO_MANY_CHILDREN) -> None:
    """Raises SetRefused with a `cap` if there are more children than the deployment allows."""
    if count > maximum:
        raise SetRefused(reason, None, Cap(maximum, count))


def is_live(parent: Link | None, now: datetime) -> bool:
    """Whether a multicall is pending or assembling, neither expired nor abandoned. Else its claims do not count."""
    if parent is None or is_abandoned(parent, now):
        return False
    return parent.status is LinkStatus.ASSEMBLING or status_at(parent, now) is LinkStatus.PENDING


def tokens_of_others(parent: Link, found: Mapping[str, PayableLink]) -> set[str]:
    """The tokens of the children that another multicall has claimed later."""
    return {token for token, child in found.items() if child.link.parent_token != parent.token}


def evaluate_children(
    parent: Link, found: Mapping[str, PayableLink], claimed: Container[str], now: datetime
) -> tuple[Child, ...]:
    """The children of `parent` in order, with block reasons; `claimed` are the tokens that other multicalls hold."""
    children: list[Child] = []
    before: set[str] = set()
    for position, token in enumerate(parent.child_tokens):
        payable = found.get(token)
        reason = Reason.DUPLICATE_CHILD if token in before else block_reason(payable, parent, token in claimed, now)
        children.append(Child(position, token, payable, reason))
        before.add(token)
    return tuple(children)


def block_reason(payable: PayableLink | None, parent: Link, is_claimed: bool, now: datetime) -> Reason | None:
    """The first reason why a child of `parent` cannot be paid; None if it can. Partly paid children can be paid."""
    if payable is None:
        return Reason.NOT_FOUND
    link, known, status = payable.link, payable.announcements, status_at(payable.link, now)
    is_processing = (known is not None and known.is_locking) or is_being_signed(payable, now)
    in_order = (
        (Reason.NOT_OWNED, not _may_be_combined(parent, payable)),
        (Reason.NOT_OUTGOING, link.flow is not Flow.PAY),
        (Reason.NOT_SINGLE_PAYMENT, link.payment_type is not PaymentType.SINGLE),
        (Reason.INVALID_CHILD_LINKAGE, is_claimed),
        (Reason.ALREADY_PAID, payable.is_paid),
        (Reason.REQUEST_PROCESSING, is_processing),
        (Reason.SECURE_PAYMENT_EXPIRED, status is LinkStatus.EXPIRED),
        (Reason.SECURE_PAYMENT_NOT_PENDING, status in (LinkStatus.INVALIDATED, LinkStatus.CANCELLED)),
        (Reason.COMPLIANCE_FAILED, status is LinkStatus.COMPLIANCE_FAILED),
        (Reason.NOT_PAYABLE_CHILD, status is not LinkStatus.PENDING or not payable.requests),
    )
    return next((reason for reason, applies in in_order if applies), None)


def check_none_blocked(children: Sequence[Child], now: datetime) -> None:
    """Raises MulticallRefused with every child that cannot be paid."""
    blocked = [child for child in children if child.reason is not None]
    if blocked:
        raise MulticallRefused(blocked, now)


def _may_be_combined(parent: Link, payable: PayableLink) -> bool:
    """Whether who has created the parent may change the payout, which no other multicall can hold then."""
    combining = Owner(parent.account_id, parent.client_id, None, mode=parent.created_with)
    return may(combining, Use.CHANGE, payable)
