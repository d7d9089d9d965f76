"""The chains of a payment from another one: their entries in the catalogue, and how far they are read."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.agreement import read_agreed_head
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

T = TypeVar("T")
RANGES_PER_CHECK = 5
"""How many ranges of blocks are searched for one event in one check."""


def newest_deep(services: Services, chain: "EvmChain") -> int:
    """The newest block of a chain that is deep enough at every node that answers. One request to each. Raises
    ChainUnavailable."""
    known = require_network(chain.network)
    return max(
        read_agreed_head(chain).value - services.settings.confirmations.get(known.name, known.confirmations) + 1, 0
    )


def search_blocks(read: Callable[[BlockRange], T], last: int, newest: int, span: int) -> Iterator[tuple[BlockRange, T]]:
    """What `read` finds in the blocks after `last`, at most RANGES_PER_CHECK ranges of up to `span` blocks, each with
    its range.

    A range that the node refuses is halved: anybody can fill the deposits of others with worthless tokens, so that a
    range has more fills than a node returns. Raises RangeTooLarge if a single block is refused.
    """
    for _ in range(RANGES_PER_CHECK):
        if last >= newest:
            return
        blocks = BlockRange(last + 1, min(last + span, newest))
        found = None
        while found is None:
            try:
                found = (read(blocks),)
            except RangeTooLarge:
                if blocks.count == 1:
                    raise
                blocks = blocks.first_half
        span, last = blocks.count, blocks.last
        yield blocks, found[0]
