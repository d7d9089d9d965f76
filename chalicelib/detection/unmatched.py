"""Strays: transfers with a request's reference that do not count for it, and how many of them are kept.

Anybody can make them under a public reference, most kinds of them for nothing. So every kind has places of its own:
worthless tokens, or tokens that somebody sends to himself, cannot take those of what the payee has really received.
What comes when they are taken is in the log alone.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from chalicelib.base.addresses import address_of_log, hex_address
from chalicelib.catalogue.networks import network
from chalicelib.catalogue.tokens import Token, token_at, token_with_id
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.requests.records import Request, StrayTransfer


class Kind(StrEnum):
    UNKNOWN = "unknown"
    """A token that the catalogue does not have: whoever made it makes any amount of it."""
    ELSEWHERE = "elsewhere"
    """It went to somebody else."""
    RECEIVED = "received"
    """The payee has it."""


PLACES = {Kind.UNKNOWN: 20, Kind.ELSEWHERE: 30, Kind.RECEIVED: 50}
"""How many of a kind are kept of a request."""


def kind_of(request: Request, stray: StrayTransfer) -> Kind:
    if token_of(stray) is None:
        return Kind.UNKNOWN
    return Kind.RECEIVED if stray.payee == hex_address(request.payee) else Kind.ELSEWHERE


def kinds_of(request: Request, kept: Iterable[StrayTransfer]) -> Counter[Kind]:
    return Counter(kind_of(request, each) for each in kept)


def has_place(kept: Counter[Kind], request: Request, stray: StrayTransfer) -> bool:
    """Whether one more is kept, beside so many of each kind."""
    kind = kind_of(request, stray)
    return kept[kind] < PLACES[kind]


def are_cut_off(request: Request, kept: Iterable[StrayTransfer]) -> bool:
    """Whether the places of a kind are taken, so that there may have been more than are kept."""
    return any(count >= PLACES[kind] for kind, count in kinds_of(request, kept).items())


def stray_of(request: Request, transfer: ProxyTransfer, reason: str, now: datetime) -> StrayTransfer:
    """What is kept of a transfer with the request's reference that does not count for it."""
    return StrayTransfer(
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


def token_of(stray: StrayTransfer) -> Token | None:
    """What was sent, where the catalogue has it."""
    chain = network(stray.network)
    if chain is None:
        return None
    if stray.token_address is not None:
        return token_at(chain.name, address_of_log(stray.token_address, chain.family))
    return token_with_id(chain.native_currency_id) if chain.native_currency_id else None
