"""Unmatched transfers: those with a request's reference that do not count for it, and how many of them are stored.

Anybody can make them with a public reference, and most kinds cost only gas. So each kind has its own limit: worthless
tokens, or tokens that somebody sends to another address, do not use up the limit of what the payee received. Transfers
beyond the limit are only logged.
"""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum

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
    count = _count(request, kind) + 1
    match kind:
        case UnmatchedKind.UNKNOWN_TOKEN:
            return replace(request, unknown_token_count=count)
        case UnmatchedKind.OTHER_PAYEE:
            return replace(request, other_payee_count=count)
        case UnmatchedKind.RIGHT_PAYEE:
            return replace(request, right_payee_count=count)


def may_be_truncated(request: Request) -> bool:
    """Whether the limit of a kind is reached, so that there may be more transfers than are stored."""
    return any(not has_room(request, kind) for kind in UnmatchedKind)


def _count(request: Request, kind: UnmatchedKind) -> int:
    return {
        UnmatchedKind.UNKNOWN_TOKEN: request.unknown_token_count,
        UnmatchedKind.OTHER_PAYEE: request.other_payee_count,
        UnmatchedKind.RIGHT_PAYEE: request.right_payee_count,
    }[kind]


def unmatched_transfer(request: Request, transfer: LoggedTransfer, reason: str, now: datetime) -> UnmatchedTransfer:
    """The record of a transfer with the request's reference that does not count for it."""
    return UnmatchedTransfer(
        request_id=request.request_id,
        network=transfer.network,
        block_hash=transfer.block_hash,
        log_index=transfer.log_index,
        block_number=transfer.block_number,
        tx_hash=transfer.tx_hash,
        event_key=transfer.event_key,
        token_address=transfer.token_address,
        payee=transfer.payee,
        amount=transfer.amount,
        reason=reason,
        detected_at=now,
        paid_at=transfer.paid_at,
    )


def token_of(transfer: UnmatchedTransfer) -> Token | None:
    """The token that was sent; None if it is not in the catalogue."""
    return token_of_log(transfer.network, transfer.token_address)
