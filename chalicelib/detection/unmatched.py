"""Unmatched transfers: those with a request's reference that do not count for it, and how many of them are kept.

Anybody can make them under a public reference, most kinds of them at no cost. So each kind has a limit of its own:
worthless tokens, or tokens that somebody sends to himself, do not use up the limit of what the payee really received.
Transfers beyond the limit are only logged.
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


class Kind(StrEnum):
    UNKNOWN = "unknown"
    """A token that the catalogue does not have: whoever made it makes any amount of it."""
    ELSEWHERE = "elsewhere"
    """It went to somebody else."""
    RECEIVED = "received"
    """The payee has it."""


KEPT = {Kind.UNKNOWN: 20, Kind.ELSEWHERE: 30, Kind.RECEIVED: 50}
"""How many transfers of a kind are kept for a request."""


def kind_of(request: Request, transfer: UnmatchedTransfer) -> Kind:
    if token_of(transfer) is None:
        return Kind.UNKNOWN
    return Kind.RECEIVED if transfer.payee == hex_address(request.payee) else Kind.ELSEWHERE


def kinds_of(request: Request, kept: Iterable[UnmatchedTransfer]) -> Counter[Kind]:
    return Counter(kind_of(request, each) for each in kept)


def is_kept(kept: Counter[Kind], request: Request, transfer: UnmatchedTransfer) -> bool:
    """Whether one more is kept, when `kept` are kept of each kind."""
    kind = kind_of(request, transfer)
    return kept[kind] < KEPT[kind]


def are_truncated(request: Request, kept: Iterable[UnmatchedTransfer]) -> bool:
    """Whether the limit of a kind is reached, so that there may have been more transfers than are kept."""
    return any(count >= KEPT[kind] for kind, count in kinds_of(request, kept).items())


def unmatched_of(request: Request, transfer: ProxyTransfer, reason: str, now: datetime) -> UnmatchedTransfer:
    """What is kept of a transfer with the request's reference that does not count for it."""
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
    """What was sent, where the catalogue has it."""
    chain = network(transfer.network)
    if chain is None:
        return None
    if transfer.token_address is not None:
        return token_at(chain.name, address_of_log(transfer.token_address, chain.family))
    return token_with_id(chain.native_currency_id) if chain.native_currency_id else None
