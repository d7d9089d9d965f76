"""Unmatched transfers: those with a request's reference that do not count for it, and how many of them are stored.

Anybody can make them with a public reference, and most kinds cost only gas. So each kind has its own limit: worthless
tokens, or tokens that somebody sends to another address, do not use up the limit of what the payee received. Transfers
beyond the limit are only logged.

What the payee received costs whoever sends it, so a larger amount is never lost for smaller ones: beyond the limit the
LARGEST_PER_TOKEN transfers of each token are stored all the same, and a larger one takes the place of the smallest.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import frozen, make_from
from chalicelib.chains.catalogue.tokens import Token, token_of_log
from chalicelib.payments.requests.payments.records import PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer


class UnmatchedKind(StrEnum):
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - a kind, no secret
    """A token that is not in the catalogue: anybody can create such tokens in any amount."""
    OTHER_PAYEE = "other_payee"
    """A catalogued token, sent to another address than the payee's."""
    RIGHT_PAYEE = "right_payee"
    """A catalogued token that the payee received."""


MAX_PER_KIND = {UnmatchedKind.UNKNOWN_TOKEN: 20, UnmatchedKind.OTHER_PAYEE: 30, UnmatchedKind.RIGHT_PAYEE: 50}
"""The most transfers of a kind that are stored for a request."""
LARGEST_PER_TOKEN = 10
_SMALLEST_PART = 10_000
"""Less than this part of a token is dust, whatever else arrived."""
_COUNTS = {kind: f"{kind}_count" for kind in UnmatchedKind}
"""The field of a request that has their number."""


def kind_of(request: Request, token_address: str | None, payee: str, network: str) -> UnmatchedKind:
    """The kind of a transfer, by its token (None: the native coin), its payee, and its network."""
    if token_of_log(network, token_address) is None:
        return UnmatchedKind.UNKNOWN_TOKEN
    return UnmatchedKind.RIGHT_PAYEE if payee == request.payee_in_logs else UnmatchedKind.OTHER_PAYEE


def has_room(request: Request, kind: UnmatchedKind) -> bool:
    """Whether one more transfer of that kind is stored for the request."""
    return _count(request, kind) < MAX_PER_KIND[kind]


def with_one_more(request: Request, kind: UnmatchedKind) -> Request:
    """The request after one more transfer of that kind is stored for it."""
    one_more: dict[str, Any] = {_COUNTS[kind]: _count(request, kind) + 1}
    return replace(request, **one_more)


@frozen
class Place:
    """Where one more transfer is stored: the request with it, and the stored one that is deleted for it, if any."""

    request: Request
    displaced: UnmatchedTransfer | None = None


def find_place(request: Request, transfer: LoggedTransfer, stored: Iterable[UnmatchedTransfer]) -> Place | None:
    """Where a transfer is stored that is not yet; None if the request has enough of its kind.

    `stored` are the unmatched transfers of the request, needed of those alone that its payee has received.
    """
    kind = kind_of(request, transfer.token_address, transfer.payee, transfer.network)
    if has_room(request, kind):
        return Place(with_one_more(request, kind))
    if kind is not UnmatchedKind.RIGHT_PAYEE:
        return None
    like_it = _of_same_token(request, transfer, stored)
    if len(like_it) < LARGEST_PER_TOKEN:
        return Place(with_one_more(request, kind))
    smallest = min(like_it, key=lambda each: (each.status is PaymentStatus.CONFIRMED, each.amount))
    is_smaller = smallest.status is not PaymentStatus.CONFIRMED or smallest.amount < transfer.amount
    return Place(request, smallest) if is_smaller else None


def is_noticeable(request: Request, transfer: UnmatchedTransfer, stored: Iterable[UnmatchedTransfer]) -> bool:
    """Whether a transfer is announced however many were before: the payee has received less than LARGEST_PER_TOKEN
    others of this token that are at least a tenth of it.

    So whoever wants to hide a payment pays more than its amount to the payee.
    """
    token = token_of(transfer)
    if token is None or kind_of(request, transfer.token_address, transfer.payee, transfer.network) is not (
        UnmatchedKind.RIGHT_PAYEE
    ):
        return False
    as_large = [each for each in _of_same_token(request, transfer, stored) if each.amount * 10 >= transfer.amount]
    return transfer.amount * _SMALLEST_PART >= 10**token.decimals and len(as_large) < LARGEST_PER_TOKEN


def _of_same_token(
    request: Request, transfer: LoggedTransfer | UnmatchedTransfer, stored: Iterable[UnmatchedTransfer]
) -> list[UnmatchedTransfer]:
    """The other transfers of a request that its payee has received in the token of this one."""

    def kind(each: LoggedTransfer | UnmatchedTransfer) -> tuple[str, str | None, str]:
        return each.network, each.token_address, each.payee

    return [
        each
        for each in stored
        if each.request_id == request.request_id
        and kind(each) == kind(transfer)
        and (each.tx_hash, each.event_key) != (transfer.tx_hash, transfer.event_key)
    ]


def may_be_truncated(request: Request) -> bool:
    """Whether the limit of a kind is reached, so that there may be more transfers than are stored."""
    return any(not has_room(request, kind) for kind in UnmatchedKind)


def _count(request: Request, kind: UnmatchedKind) -> int:
    count: int = getattr(request, _COUNTS[kind])
    return count


def unmatched_transfer(request: Request, transfer: LoggedTransfer, reason: str, now: datetime) -> UnmatchedTransfer:
    """The record of a transfer with the request's reference that does not count for it."""
    facts = {"request_id": request.request_id, "reason": reason, "detected_at": now, "paid_at": transfer.paid_at}
    return make_from(UnmatchedTransfer, transfer, **facts, stated_amount=transfer.stated_amount)


def token_of(transfer: UnmatchedTransfer) -> Token | None:
    """The token that was sent; None if it is not in the catalogue."""
    return token_of_log(transfer.network, transfer.token_address)
