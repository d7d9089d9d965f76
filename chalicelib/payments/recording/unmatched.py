"""Unmatched transfers: those with a request's reference that do not count for it, and how many of them are stored.

Anybody can make them with a public reference, and most kinds cost only gas. So each kind has its own limit: worthless
tokens, or tokens that somebody sends to another address, do not use up the limit of what the payee received. Transfers
beyond the limit are only logged.
"""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import made_from
from chalicelib.chains.catalogue.tokens import Token, token_of_log
from chalicelib.payments.requests.payments.records import UnmatchedTransfer
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


def may_be_truncated(request: Request) -> bool:
    """Whether the limit of a kind is reached, so that there may be more transfers than are stored."""
    return any(not has_room(request, kind) for kind in UnmatchedKind)


def _count(request: Request, kind: UnmatchedKind) -> int:
    count: int = getattr(request, _COUNTS[kind])
    return count


def unmatched_transfer(request: Request, transfer: LoggedTransfer, reason: str, now: datetime) -> UnmatchedTransfer:
    """The record of a transfer with the request's reference that does not count for it."""
    facts = {"request_id": request.request_id, "reason": reason, "detected_at": now, "paid_at": transfer.paid_at}
    return made_from(UnmatchedTransfer, transfer, **facts)


def token_of(transfer: UnmatchedTransfer) -> Token | None:
    """The token that was sent; None if it is not in the catalogue."""
    return token_of_log(transfer.network, transfer.token_address)
