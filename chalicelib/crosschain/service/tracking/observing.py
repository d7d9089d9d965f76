"""Reads what became of a payment from another chain: from the source chain's node, then from the destination chain's.

Calls of one check, at most, besides those of the intents in general (tracking.py):

    at SOURCE     3 to the source's node; 1 more if it does not have the transaction, 1 if it reverted; of a Safe's
                  transaction that is not found 2 and RANGES_PER_CHECK, and 1 to the Safe Transaction Service
    from BRIDGE   1 read of DynamoDB; RANGES_PER_CHECK to the destination's node, 1 after the deadline; 2 for the fill
                  once it is found, with 1 more read; 1 to the router if it was filled and that is not found
    at REFUNDING  those of BRIDGE, and 2 and RANGES_PER_CHECK to the source's node; the first time as many as it takes
                  to find the block of the deadline by halves, 20 among a million

A range that a node refuses costs 1 more for each time it is halved, 10 for 1,000 blocks, and a single block that is
refused as many as chains/nodes/full_blocks.py says.

A block counts once it is deep enough: on the source chain by its confirmations, on the destination chain once detection
has read it. Every block that decides something is compared with the canonical one at its height.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.ranges import RangeTooLarge
from chalicelib.crosschain.core.records import Crossing, Stage
from chalicelib.crosschain.service.tracking.arrivals import read_arrival
from chalicelib.crosschain.service.tracking.observations import Arrival, Seen, Source, SourceSeen
from chalicelib.crosschain.service.tracking.refunds import read_refund
from chalicelib.crosschain.service.tracking.rules import redirected
from chalicelib.crosschain.service.tracking.sources import read_source_chain
from chalicelib.payments.links.records import Intent, Payable
from chalicelib.platform.services import Services

T = TypeVar("T")


def observed(
    services: Services, payment: Payable, intent: Intent, unavailable: set[str]
) -> tuple[Intent, Seen]:
    """The intent with what is known of its Safe's transaction, and what the chains say of it.

    A network that does not answer is added to `unavailable`, and not called again for the others of this run. What it
    would say stays None; the other network is read all the same.
    """
    crossing, source = intent.crossing, None
    assert crossing is not None, "it comes from another chain"
    if crossing.stage is Stage.SOURCE:
        before = intent
        read = _answer(
            services,
            intent.network,
            unavailable,
            lambda: read_source_chain(services, payment, before, unavailable),
        )
        if read is None:
            return intent, Seen()
        intent, source = read
        crossing = _on_its_way(crossing, source)
    if crossing.stage is Stage.SOURCE:
        return intent, Seen(source)
    way, known = crossing, intent
    arrival = _answer(
        services, way.destination, unavailable, lambda: read_arrival(services, payment, known, way, unavailable)
    )
    refund = None
    if arrival is not None and arrival.outcome is Arrival.EXPIRED:
        refund = _answer(services, intent.network, unavailable, lambda: read_refund(services, known, way))
    return intent, Seen(source, arrival, refund)


def _answer(services: Services, name: str, unavailable: set[str], read: Callable[[], T]) -> T | None:
    """What a network's node answers; None if it does not. A refusal of one range concerns this deposit alone."""
    if name in unavailable:
        return None
    try:
        return read()
    except RangeTooLarge as error:
        services.log.warning("events of the bridge not read", extra={"network": name, "reason": str(error)})
    except ChainUnavailable as error:
        services.log.error("intent not checked", extra={"network": name, "reason": error.message})
        unavailable.add(name)
    return None


def _on_its_way(crossing: Crossing, seen: SourceSeen) -> Crossing:
    """The crossing as it is after what was just read, so that its arrival is looked for in the same check."""
    if seen.outcome is not Source.DEPOSITED:
        return crossing
    return replace(
        redirected(crossing, seen),
        stage=Stage.BRIDGE,
        deposit=seen.deposit,
        deposit_id=seen.deposit_id,
        relay_hash=seen.relay_hash,
        fill_key=seen.fill_key,
        deposited_block=seen.block,
        deposited_at=seen.deposited_at,
    )
