"""Unmatched transfers: those with a request's reference that do not count for it, and how many of them are stored.

Anybody can make them with a public reference, and most kinds cost only gas. So each kind has its own limit: worthless
tokens, or tokens that somebody sends to another address, do not use up the limit of what the payee received. Transfers
beyond the limit are only logged.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from chalicelib.base.addresses import address_of_log, hex_address
from chalicelib.catalogue.networks import network
from chalicelib.catalogue.tokens import Token, token_at, token_with_id
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.requests.records import Request, UnmatchedTransfer


class UnmatchedKind(StrEnum):
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - a kind, no secret
    """A token that is not in the catalogue: anybody can create such tokens in any amount."""
    OTHER_PAYEE = "other_payee"
    """A catalogued token, sent to another address than the payee's."""
    RIGHT_PAYEE = "right_payee"
    """A catalogued token that the payee received."""


MAX_PER_KIND = {UnmatchedKind.UNKNOWN_TOKEN: 20, UnmatchedKind.OTHER_PAYEE: 30, UnmatchedKind.RIGHT_PAYEE: 50}
"""The most transfers of a kind that are stored for a request."""


def kind_of(request: Request, transfer: UnmatchedTransfer) -> UnmatchedKind:
    if token_of(transfer) is None:
        return UnmatchedKind.UNKNOWN_TOKEN
    return UnmatchedKind.RIGHT_PAYEE if transfer.payee == hex_address(request.payee) else UnmatchedKind.OTHER_PAYEE


def count_by_kind(request: Request, stored: Iterable[UnmatchedTransfer]) -> Counter[UnmatchedKind]:
    return Counter(kind_of(request, each) for each in stored)


def has_room(counts: Counter[UnmatchedKind], request: Request, transfer: UnmatchedTransfer) -> bool:
    """Whether one more transfer is stored; `counts` is how many are stored of each kind."""
    kind = kind_of(request, transfer)
    return counts[kind] < MAX_PER_KIND[kind]


def may_be_truncated(request: Request, stored: Iterable[UnmatchedTransfer]) -> bool:
    """Whether the limit of a kind is reached, so that there may be more transfers than are stored."""
    return any(count >= MAX_PER_KIND[kind] for kind, count in count_by_kind(request, stored).items())


def unmatched_transfer(request: Request, transfer: ProxyTransfer, reason: str, now: datetime) -> UnmatchedTransfer:
    """The record of a transfer with the request's reference that does not count for it."""
    return UnmatchedTransfer(
        request_id=request.request_id,
        network=transfer.network,
        block_hash=transfer.block_hash,
        log_index=transfer.log_index,
        block_number=transfer.block_number,
        tx_hash=transfer.tx_hash,
        token_address=transfer.token_address,
        payee=transfer.payee,
        amount=transfer.amount,
        reason=reason,
        detected_at=now,
        paid_at=transfer.paid_at,
    )


def token_of(transfer: UnmatchedTransfer) -> Token | None:
    """The token that was sent; None if it is not in the catalogue."""
    chain = network(transfer.network)
    if chain is None:
        return None
    if transfer.token_address is not None:
        return token_at(chain.name, address_of_log(transfer.token_address, chain.family))
    return token_with_id(chain.native_currency_id) if chain.native_currency_id else None
