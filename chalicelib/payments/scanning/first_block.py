"""Where the reading of a network begins."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.chains.nodes.agreement import agree, read_agreed_head
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.scanning import rules
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.networks import Network
    from chalicelib.chains.nodes.protocol import Chain

_CLOCKS_DIFFER_BY = timedelta(minutes=10)
"""The times of blocks may be before those of our clock."""


def first_cursor(services: Services, chain: "Chain", facts: "Network", head: int, confirmations: int) -> Cursor:
    """The cursor of a network that was never read: before every payment of its first request, or, if it has none, one
    range before the newest confirmed block. All nodes that answer have to say the same, and of several at least two:
    one alone could have payments passed over for ever, so that the first reading waits, however long others are silent.
    `head` is the newest block that one node has.

    Up to about 50 calls to each node, the older the first request the more. Raises NodesDisagree, TooFewNodes, and
    ChainUnavailable if no node has the blocks of that time.
    """
    head = min(head, read_agreed_head(chain).value)
    cursor = rules.first_cursor(facts.name, head, confirmations, facts.log_range)
    first = request_store.first_request(services.store, facts.name)
    if first is not None:
        begin = _block_before(chain, first.created_at - _CLOCKS_DIFFER_BY, cursor.scanned_to, facts.log_range)
        cursor = rules.begin_at(cursor, begin)
        place = {"network": facts.name, "block": begin, "first_request": first.created_at.isoformat()}
        services.log.info("reading of a network begins", extra=place)
    return rules.with_verifications(cursor, services.clock())


def _block_before(chain: "Chain", instant: datetime, newest: int, within: int) -> int:
    """A block before an instant, at most `within` blocks before the last such one; at most `newest`, at least 0."""
    low = high = newest
    step = within
    while low > 0 and _time(chain, low) >= instant:
        low, high, step = max(low - step, 0), low, step * 2
    while high - low > within:
        middle = (low + high) // 2
        low, high = (middle, high) if _time(chain, middle) < instant else (low, middle)
    return low


def _time(chain: "Chain", number: int) -> datetime:
    return agree(chain, lambda node: node.block_facts([number])[number].time).value
