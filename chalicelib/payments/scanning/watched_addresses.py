"""Addresses for plain transfers: which of a network are watched, and what the blocks say of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.payments.requests.plain_transfers import store as plain_transfer_store
from chalicelib.payments.requests.plain_transfers.records import WatchedAddress
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.protocol import Chain


def addresses(services: Services, network: str) -> tuple[PlainAddress, ...]:
    """The addresses of a network that are watched. One query for each MB, so up to three.

    They are read after the newest block of a tick is known: what is offered later receives transfers only after it.
    """
    found = plain_transfer_store.list_watched(services.store, network) if network != "tron" else ()
    return tuple(map(as_in_logs, found))


def as_in_logs(watched: WatchedAddress) -> PlainAddress:
    """An address as the transfers of its network name it."""
    return PlainAddress(watched.address, watched.token_address, watched.payee, watched.topic)


def transfers(
    chain: "Chain", blocks: BlockRange, watched: Sequence[PlainAddress]
) -> tuple[Mapping[str, Any], ...]:
    """The logs of transfers from these addresses in some blocks. No call to the node if there are none."""
    return cast("EvmChain", chain).read_plain_transfers(blocks, watched) if watched else ()
