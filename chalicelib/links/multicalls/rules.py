"""Multicalls: which payouts can be paid together, why others cannot, and their totals.

A child is a payout link, which can still be paid separately. Its `parent_token` is a claim by a multicall. The claim
counts while that multicall exists, is not expired or completed, and can be paid; so a child is held by at most one
multicall. If one child can never be paid again, the multicall holds none of its children, and they can be combined
again without that child.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.bridges import is_bridgeable
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.links.records import Flow, Link, LinkStatus, PaymentType, SecurePayment
from chalicelib.links.rules import LARGEST_TOTAL, fee_on, is_abandoned, status_at
from chalicelib.requests.records import Request

if TYPE_CHECKING:
    from chalicelib.access.callers import Owner


class ExecutionKind(StrEnum):
    EVM_SAME_CHAIN = "evm_same_chain"
    EVM_CROSS_CHAIN = "evm_cross_chain"
    TRON_BATCH = "tron_batch"


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
}
"""What the caller can do (supplement 15.2); `support_required` for the other reasons."""


@frozen
class Child:
    """One child as it is now; `reason` is None if it can be paid. `detail` says more of a route that failed."""

    position: int
    token: str
    payment: SecurePayment | None
    reason: Reason | None
    detail: str | None = None

    @property
    def request(self) -> Request | None:
        """The child's request; None if the link does not exist, or its request was merged into a batch."""
        return self.payment.requests[0] if self.payment and self.payment.requests else None

    @property
    def is_paid(self) -> bool:
        return self.payment is not None and self.payment.is_paid


@frozen
class Cap:
    """The largest number of children that is allowed, the actual number, and which limit that is."""

    maximum: int
    actual: int
    reason: Reason = Reason.TOO_MANY_CHILDREN


@frozen
class CurrencySum:
    """The total of the children in one currency, in base units; `fees` are paid on top of `amount`."""

    network: str
    currency: str
    amount: BaseUnits
    fees: BaseUnits


@frozen
class MulticallDetails:
    """A multicall and its children at the time `now`; `status` is computed from the children.

    `time_status` is the status without regard to payments: `pending`, `awaiting_chain` or `expired`.
    """

    payment: SecurePayment
    children: tuple[Child, ...]
    now: datetime
    status: LinkStatus
    time_status: LinkStatus
    can_execute: bool

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of the children, in order."""
        return tuple(child.request for child in self.children if child.request is not None)


def message_key(reason: Reason) -> str:
    return f"multicall.{reason}"


def recovery_action(reason: Reason) -> str:
    return _RECOVERY.get(reason, "support_required")


class MulticallRefused(BadRequest):
    """A multicall that cannot be created or paid: its blocked children, or the limit that it exceeds."""

    shown_by = "chalicelib.links.multicalls.responses"

    def __init__(self, blocked: Sequence[Child], now: datetime, cap: Cap | None = None) -> None:
        super().__init__("Multicall validation failed")
        self.blocked, self.now, self.cap = tuple(blocked), now, cap


def check_count(count: int, maximum: int, now: datetime, reason: Reason = Reason.TOO_MANY_CHILDREN) -> None:
    """Raises MulticallRefused with a `cap` if there are more children than the deployment allows."""
    if count > maximum:
        raise MulticallRefused((), now, Cap(maximum, count, reason))


def new_parent(
    owner: "Owner",
    child_tokens: Sequence[str],
    kind: ExecutionKind | None,
    found: Mapping[str, SecurePayment],
    now: datetime,
    entropy: Entropy,
) -> Link:
    """A new multicall of these children, with their earliest expiry, and the owner's client id or else theirs."""
    client_ids = {payment.link.client_id for payment in found.values()} - {None}
    return Link(
        token=ids.ulid(now, entropy),
        account_id=owner.account_id,
        client_id=owner.client_id or (client_ids.pop() if len(client_ids) == 1 else None),
        origin=owner.origin,
        payment_type=PaymentType.MULTICALL,
        status=LinkStatus.PENDING,
        created_at=now,
        expires_at=min((payment.link.expires_at for payment in found.values()), default=now),
        fee_percentage=None,
        fee_address=None,
        reference=None,
        payer_identifier=None,
        redirect_url=None,
        redirect_label=None,
        flow=Flow.PAY,
        child_tokens=tuple(child_tokens),
        execution_kind=kind,
    )


def is_live(parent: Link | None, now: datetime) -> bool:
    """Whether a multicall is pending or assembling, neither expired nor abandoned. Else its claims do not count."""
    if parent is None or is_abandoned(parent, now):
        return False
    return parent.status is LinkStatus.ASSEMBLING or status_at(parent, now) is LinkStatus.PENDING


def holds_children(parent: Link, found: Mapping[str, SecurePayment], now: datetime) -> bool:
    """Whether the claims of a live multicall count: it can be paid now, or after a pending transaction."""
    if parent.status is LinkStatus.ASSEMBLING:
        return True
    children = evaluate_children(parent, found, claimed_by_others(parent, found), now)
    payable_or_pending = (None, Reason.REQUEST_PROCESSING)
    requests = [child.request for child in children if child.request is not None]
    return all(child.reason in payable_or_pending for child in children) and _has_execution_kind(parent, requests)


def claimed_by_others(parent: Link, found: Mapping[str, SecurePayment]) -> set[str]:
    """The tokens of the children that another multicall has claimed later."""
    return {token for token, child in found.items() if child.link.parent_token != parent.token}


def evaluate_children(
    parent: Link, found: Mapping[str, SecurePayment], held: Container[str], now: datetime
) -> tuple[Child, ...]:
    """The children of `parent` in order, with block reasons; `held` are the tokens that other multicalls hold."""
    children: list[Child] = []
    seen: set[str] = set()
    for position, token in enumerate(parent.child_tokens):
        payment = found.get(token)
        reason = Reason.DUPLICATE_CHILD if token in seen else block_reason(payment, parent, token in held, now)
        children.append(Child(position, token, payment, reason))
        seen.add(token)
    return tuple(children)


def block_reason(payment: SecurePayment | None, parent: Link, is_held: bool, now: datetime) -> Reason | None:
    """The first reason why a child of `parent` cannot be paid; None if it can. Partly paid children can be paid."""
    if payment is None:
        return Reason.NOT_FOUND
    link, intent, status = payment.link, payment.intent, status_at(payment.link, now)
    in_order = (
        (Reason.NOT_OWNED, not _is_visible_to(parent, link)),
        (Reason.NOT_OUTGOING, link.flow is not Flow.PAY),
        (Reason.NOT_SINGLE_PAYMENT, link.payment_type is not PaymentType.SINGLE),
        (Reason.INVALID_CHILD_LINKAGE, is_held),
        (Reason.ALREADY_PAID, payment.is_paid),
        (Reason.REQUEST_PROCESSING, intent is not None and intent.is_locking),
        (Reason.SECURE_PAYMENT_EXPIRED, status is LinkStatus.EXPIRED),
        (Reason.SECURE_PAYMENT_NOT_PENDING, status is LinkStatus.INVALIDATED),
        (Reason.COMPLIANCE_FAILED, status is LinkStatus.COMPLIANCE_FAILED),
        (Reason.NOT_PAYABLE_CHILD, status is not LinkStatus.PENDING or not payment.requests),
    )
    return next((reason for reason, applies in in_order if applies), None)


def check_none_blocked(children: Sequence[Child], now: datetime) -> None:
    """Raises MulticallRefused with every child that cannot be paid."""
    blocked = [child for child in children if child.reason is not None]
    if blocked:
        raise MulticallRefused(blocked, now)


def check_combination(requested: str | None, children: Sequence[Child]) -> None:
    """Raises BadRequest if the children of a new multicall can never be paid together by one wallet and client id, or
    not in the requested kind.

    Without a requested kind, EVM children of any networks and currencies are accepted. `/pay` refuses those that no
    route leads to, and such a multicall holds none of its children.
    """
    requests = [child.request for child in children if child.request is not None]
    if requested is not None or any(request.network == "tron" for request in requests):
        execution_kind(requested, requests)
    if len({child.payment.link.creator_wallet for child in children if child.payment is not None}) > 1:
        raise BadRequest("The children name different wallets as creatorWalletAddress: combine each one's")
    if len({child.payment.link.client_id for child in children if child.payment is not None} - {None}) > 1:
        raise BadRequest("The children belong to client IDs that may not see each other's: combine each one's")
    if any(each.amount + each.fees > LARGEST_TOTAL for each in totals_by_currency(children)):
        raise BadRequest("The children of one currency come to more than a token amount can be: combine fewer of them")


def execution_kind(requested: str | None, requests: Sequence[Request]) -> ExecutionKind:
    """How these requests are paid together if the payer chooses no source (interface.md, execution kinds).

    Raises BadRequest with what to change.
    """
    networks, currencies = {request.network for request in requests}, {request.currency for request in requests}
    on_tron = "tron" in networks
    if on_tron and len(networks) > 1:
        raise BadRequest("Children on tron cannot be paid together with others: make a multicall of each")
    if on_tron and len(currencies) > 1:
        raise BadRequest("Children on tron have to be of one token: make a multicall of each token")
    derived = ExecutionKind.TRON_BATCH if on_tron else ExecutionKind.EVM_SAME_CHAIN
    is_bridged = len(currencies) > 1 or (requested == ExecutionKind.EVM_CROSS_CHAIN and not on_tron)
    if is_bridged:
        fixed = next((each for each in sorted(currencies) if not _is_bridgeable(each)), None)
        if fixed is not None:
            raise BadRequest(
                f"{fixed} is not supported in crosschain payment, by which children of several networks or currencies "
                "are paid: make a multicall of each currency"
            )
        derived = ExecutionKind.EVM_CROSS_CHAIN
    if requested not in (None, derived):
        raise BadRequest(f"requestedExecutionKind {requested} does not fit these children: their kind is {derived}")
    return derived


def _is_bridgeable(currency: str) -> bool:
    token = token_with_id(currency)
    return token is not None and is_bridgeable(token)


def is_cross_chain(requested: str | None, requests: Sequence[Request]) -> bool:
    """Whether these requests can only be paid from another chain; not if they cannot be paid together at all."""
    try:
        return execution_kind(requested, requests) is ExecutionKind.EVM_CROSS_CHAIN
    except BadRequest:
        return False


def multicall_details(payment: SecurePayment, children: tuple[Child, ...], now: datetime) -> MulticallDetails:
    """A multicall with its children, its computed status, and whether it can be paid now."""
    time_status = _time_status(payment.link, children, now)
    is_locked = payment.intent is not None and payment.intent.is_locking
    blocked = is_locked or now >= payment.link.expires_at or any(child.reason for child in children)
    status = _status(children, time_status)
    details = MulticallDetails(payment, children, now, status, time_status, can_execute=not blocked)
    if blocked or _has_execution_kind(payment.link, details.requests):
        return details
    return replace(details, can_execute=False)


def totals_by_currency(children: Sequence[Child]) -> tuple[CurrencySum, ...]:
    """The full amounts and fees of the children, paid or not, by currency in the order they appear."""
    totals: dict[str, CurrencySum] = {}
    for child in children:
        request = child.request
        if request is None or child.payment is None:
            continue
        zero = CurrencySum(request.network, request.currency, BaseUnits(0), BaseUnits(0))
        before = totals.get(request.currency, zero)
        amount = BaseUnits(before.amount + request.amount)
        fees = BaseUnits(before.fees + fee_on(request.amount, child.payment.link))
        totals[request.currency] = CurrencySum(request.network, request.currency, amount, fees)
    return tuple(totals.values())


def _status(children: Sequence[Child], time_status: LinkStatus) -> LinkStatus:
    paid = sum(child.is_paid for child in children)
    if paid == len(children):
        return LinkStatus.COMPLETED
    return LinkStatus.PARTIALLY_SETTLED if paid else time_status


def _time_status(parent: Link, children: Sequence[Child], now: datetime) -> LinkStatus:
    """The multicall's own status. It is expired when none of its children waits for its network to be read."""
    status = status_at(parent, now)
    if status is not LinkStatus.AWAITING_CHAIN:
        return status
    waiting = (status_at(child.payment.link, now) for child in children if child.payment is not None)
    return status if LinkStatus.AWAITING_CHAIN in waiting else LinkStatus.EXPIRED


def _has_execution_kind(parent: Link, requests: Sequence[Request]) -> bool:
    try:
        execution_kind(parent.execution_kind, requests)
    except BadRequest:
        return False
    return True


def _is_visible_to(parent: Link, link: Link) -> bool:
    """Whether the link is of the parent's account and, if both have a client id, of the same client id."""
    return parent.account_id == link.account_id and (
        parent.client_id is None or link.client_id in (parent.client_id, None)
    )
