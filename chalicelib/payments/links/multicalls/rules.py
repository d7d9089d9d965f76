"""Multicalls: which payouts can be paid together and how, the status of a multicall, and its totals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chalicelib.base import ids
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.bridges import has_source, is_bridgeable
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.links.multicalls.children import (
    Child,
    Reason,
    SetRefused,
    evaluate_children,
    tokens_of_others,
)
from chalicelib.payments.links.records import Flow, Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import LARGEST_TOTAL, status_at
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, remaining

if TYPE_CHECKING:
    from chalicelib.platform.access.callers import Owner


class ExecutionKind(StrEnum):
    EVM_SAME_CHAIN = "evm_same_chain"
    EVM_CROSS_CHAIN = "evm_cross_chain"
    TRON_BATCH = "tron_batch"


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

    payable: PayableLink
    children: tuple[Child, ...]
    now: datetime
    status: LinkStatus
    time_status: LinkStatus
    can_execute: bool

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of the children, in order."""
        return tuple(child.request for child in self.children if child.request is not None)


def new_parent(
    owner: "Owner",
    child_tokens: Sequence[str],
    kind: ExecutionKind | None,
    found: Mapping[str, PayableLink],
    now: datetime,
    entropy: Entropy,
) -> Link:
    """A new multicall of these children, with their earliest expiry, and the owner's client id or else theirs."""
    client_ids = {payable.link.client_id for payable in found.values()} - {None}
    return Link(
        token=ids.link_token(now, entropy, owner.sandbox),
        account_id=owner.account_id,
        client_id=owner.client_id or (client_ids.pop() if len(client_ids) == 1 else None),
        origin=owner.origin,
        payment_type=PaymentType.MULTICALL,
        status=LinkStatus.PENDING,
        created_at=now,
        expires_at=min((payable.link.expires_at for payable in found.values()), default=now),
        flow=Flow.PAY,
        child_tokens=tuple(child_tokens),
        execution_kind=kind,
        created_with=owner.mode,
    )


def holds_children(parent: Link, found: Mapping[str, PayableLink], now: datetime) -> bool:
    """Whether the claims of a live multicall count: it can be paid now, or after a pending transaction."""
    if parent.status is LinkStatus.ASSEMBLING:
        return True
    children = evaluate_children(parent, found, tokens_of_others(parent, found), now)
    payable_or_pending = (None, Reason.REQUEST_PROCESSING)
    requests = [child.request for child in children if child.request is not None]
    return all(child.reason in payable_or_pending for child in children) and _has_execution_kind(parent, requests)


def check_combination(requested: str | None, children: Sequence[Child]) -> None:
    """Raises SetRefused if the children of a new multicall can never be paid together by one wallet and client id, in
    any kind, or not in the requested one."""
    kind = execution_kind(requested, [child.request for child in children if child.request is not None])
    if kind is ExecutionKind.EVM_CROSS_CHAIN and not has_source(_dues(children)):
        raise _apart(
            "There is no chain and token from which all of these children are paid, as none is exchanged for another "
            "token of its chain and a route takes at least 1 USD: make a multicall of each currency"
        )
    if len({child.payable.link.creator_wallet for child in children if child.payable is not None}) > 1:
        raise _apart("The children name different wallets as creatorWalletAddress: combine each one's")
    if len({child.payable.link.client_id for child in children if child.payable is not None} - {None}) > 1:
        raise _apart("The children belong to client IDs that may not see each other's: combine each one's")
    if any(each.amount + each.fees > LARGEST_TOTAL for each in totals_by_currency(children)):
        too_much = "The children of one currency come to more than a token amount can be: combine fewer of them"
        raise SetRefused(Reason.TOTAL_TOO_LARGE, too_much)


def _dues(children: Sequence[Child]) -> list[tuple[Token, BaseUnits]]:
    """What is left of each child, with its fee."""
    known = [(each.request, each.payable) for each in children if each.request is not None and each.payable is not None]
    owed = [(currency_of(request), remaining(request), payable.link.fee) for request, payable in known]
    return [(token, BaseUnits(amount + fee.on(amount))) for token, amount, fee in owed]


def _apart(detail: str) -> SetRefused:
    return SetRefused(Reason.UNSUPPORTED_COMBINATION, detail)


def execution_kind(requested: str | None, requests: Sequence[Request]) -> ExecutionKind:
    """How these requests are paid together if the payer chooses no source (specification, execution kinds).

    Raises SetRefused with what to change.
    """
    networks, currencies = {request.network for request in requests}, {request.currency for request in requests}
    on_tron = "tron" in networks
    if on_tron and len(networks) > 1:
        raise _apart("Children on tron cannot be paid together with others: make a multicall of each")
    if on_tron and len(currencies) > 1:
        raise _apart("Children on tron have to be of one token: make a multicall of each token")
    derived = ExecutionKind.TRON_BATCH if on_tron else ExecutionKind.EVM_SAME_CHAIN
    is_bridged = len(currencies) > 1 or (requested == ExecutionKind.EVM_CROSS_CHAIN and not on_tron)
    if is_bridged:
        fixed = next((each for each in sorted(currencies) if not _is_bridgeable(each)), None)
        if fixed is not None:
            raise _apart(
                f"{fixed} is not supported in crosschain payment, by which children of several networks or currencies "
                "are paid: make a multicall of each currency"
            )
        derived = ExecutionKind.EVM_CROSS_CHAIN
    if requested not in (None, derived):
        other = f"requestedExecutionKind {requested} does not fit these children: their kind is {derived}"
        raise SetRefused(Reason.EXECUTION_KIND_MISMATCH, other)
    return derived


def _is_bridgeable(currency: str) -> bool:
    token = token_with_id(currency)
    return token is not None and is_bridgeable(token)


def is_cross_chain(requested: str | None, requests: Sequence[Request]) -> bool:
    """Whether these requests can only be paid from another chain; not if they cannot be paid together at all."""
    try:
        return execution_kind(requested, requests) is ExecutionKind.EVM_CROSS_CHAIN
    except SetRefused:
        return False


def multicall_details(payable: PayableLink, children: tuple[Child, ...], now: datetime) -> MulticallDetails:
    """A multicall with its children, its computed status, and whether it can be paid now."""
    time_status = _time_status(payable.link, children, now)
    is_locked = payable.announcements is not None and payable.announcements.is_locking
    is_open = status_at(payable.link, now) is LinkStatus.PENDING
    blocked = is_locked or not is_open or any(child.reason for child in children)
    status = _status(children, time_status)
    details = MulticallDetails(payable, children, now, status, time_status, can_execute=not blocked)
    if blocked or _has_execution_kind(payable.link, details.requests):
        return details
    return replace(details, can_execute=False)


def totals_by_currency(children: Sequence[Child]) -> tuple[CurrencySum, ...]:
    """The full amounts and fees of the children, paid or not, by currency in the order they appear."""
    totals: dict[str, CurrencySum] = {}
    for child in children:
        request = child.request
        if request is None or child.payable is None:
            continue
        zero = CurrencySum(request.network, request.currency, BaseUnits(0), BaseUnits(0))
        before = totals.get(request.currency, zero)
        amount = BaseUnits(before.amount + request.amount)
        fees = BaseUnits(before.fees + child.payable.link.fee.on(request.amount))
        totals[request.currency] = CurrencySum(request.network, request.currency, amount, fees)
    return tuple(totals.values())


def _status(children: Sequence[Child], time_status: LinkStatus) -> LinkStatus:
    paid = sum(child.is_paid for child in children)
    if paid == len(children):
        return LinkStatus.COMPLETED
    is_partial = paid and time_status is not LinkStatus.CANCELLED
    return LinkStatus.PARTIALLY_SETTLED if is_partial else time_status


def _time_status(parent: Link, children: Sequence[Child], now: datetime) -> LinkStatus:
    """The multicall's own status. It is expired when none of its children waits for its network to be read."""
    status = status_at(parent, now)
    if status is not LinkStatus.AWAITING_CHAIN:
        return status
    waiting = (status_at(child.payable.link, now) for child in children if child.payable is not None)
    return status if LinkStatus.AWAITING_CHAIN in waiting else LinkStatus.EXPIRED


def _has_execution_kind(parent: Link, requests: Sequence[Request]) -> bool:
    try:
        execution_kind(parent.execution_kind, requests)
    except SetRefused:
        return False
    return True
