"""Reads what became of a payment from another chain: from the source chain's node, then from the destination chain's.

Calls of one check, at most, besides those of the announced transactions in general (tracking.py):

    at SOURCE     3 to the source's node; 1 more if it does not have the transaction, 1 if it reverted; of a Safe's
                  transaction that is not found 2 and RANGES_PER_CHECK, and 1 to the Safe Transaction Service
    from BRIDGE   1 read of DynamoDB; RANGES_PER_CHECK to the destination's node, 1 after the deadline; 2 for the fill
                  once it is found, with 1 more read; 1 to the router if it was filled and that is not found
    at REFUNDING  those of BRIDGE, and 2 and RANGES_PER_CHECK to the source's node; the first time as many as it takes
                  to find the block of the deadline by halves, 20 among a million

A range that a node refuses costs 1 more for each time it is halved, 10 for 1,000 blocks, and a single block that is
refused as many as chains/nodes/history/full_blocks.py says.

A block counts once it is deep enough: on the source chain by its confirmations, on the destination chain once detection
has read it. Every block that decides something is compared with the canonical one at its height.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.crosschain.core.records import Stage
from chalicelib.payments.announcements.bridges import rules
from chalicelib.payments.announcements.bridges.arrivals import read_arrival
from chalicelib.payments.announcements.bridges.deposits import covers, least_due_of, request_of
from chalicelib.payments.announcements.bridges.observations import Arrival, Observation, SourceObservation
from chalicelib.payments.announcements.bridges.sources import read_refund, read_source_chain
from chalicelib.payments.links.records import AnnouncedTransaction, Payable, PayableLink
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.platform.services import Services

T = TypeVar("T")


def observe_bridge_transfer(
    services: Services, payable: Payable, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, Observation]:
    """The announced transaction with what is known of its Safe's transaction, and what the chains say of it.

    A network that does not answer is added to `unavailable`, and not called again for the others of this run. What it
    would say stays None; the other network is read all the same.
    """
    assert announced.bridge_transfer is not None, "it comes from another chain"
    known, way, source = announced, announced.bridge_transfer, None
    if way.stage is Stage.SOURCE:
        read = _answer(
            services,
            announced.network,
            unavailable,
            lambda: read_source_chain(services, payable, announced, unavailable),
        )
        if read is None:
            return announced, Observation()
        known, source = read[0], _measure_cover(services, payable, announced, read[1])
        after = rules.decide(known, Observation(source), services.clock())
        if not rules.is_on_its_way(after) or after.bridge_transfer is None:
            return known, Observation(source)
        way = after.bridge_transfer  # so that its arrival is looked for in the same check
    arrival = _answer(
        services, way.destination, unavailable, lambda: read_arrival(services, payable, known, way, unavailable)
    )
    refund = None
    if arrival is not None and arrival.outcome is Arrival.EXPIRED:
        refund = _answer(services, announced.network, unavailable, lambda: read_refund(services, known, way))
    return known, Observation(source, arrival, refund)


def _measure_cover(
    services: Services, payable: Payable, announced: AnnouncedTransaction, observation: SourceObservation
) -> SourceObservation:
    """What was read, with whether a deposit for a link covers what is due, if it is read for the first time."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    request = request_of(payable.requests, observation.deposit) if observation.deposit is not None else None
    if not isinstance(payable, PayableLink) or announced.bridge_transfer.deposit is not None:
        return observation
    if request is None or observation.deposit is None:
        return observation
    least: int | None
    try:
        least = least_due_of(services, (payable,), request)
    except RateUnavailable:  # then it is not known to be too little
        least = 0
    return replace(observation, covers=observation.covers and covers(observation.deposit, request, least))


def _answer(services: Services, name: str, unavailable: set[str], read: Callable[[], T]) -> T | None:
    """What a network's nodes answer; None if they do not. A refusal of one range concerns this deposit alone."""
    if name in unavailable:
        return None
    try:
        return read()
    except RangeTooLarge as error:
        services.log.warning("events of the bridge not read", extra={"network": name, "reason": str(error)})
    except NodesDisagree as error:  # about this deposit: the others of this run are read all the same
        services.log.error("announced transaction not checked", extra={"network": name, "reason": error.reason})
    except ChainUnavailable as error:
        facts = {"network": name, "reason": error.reason or error.message}
        services.log.error("announced transaction not checked", extra=facts)
        unavailable.add(name)
    return None
