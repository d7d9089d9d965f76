"""Reads what became of a payment from another chain: from the source chain's node, then from the destination chain's.

Calls of one check, at most, besides those of the announced transactions in general (tracking.py):

    at SOURCE     3 to the source's node; 1 more if it does not have the transaction, 1 if it reverted; of a Safe's
                  transaction that is not found 2 and RANGES_PER_CHECK, and 1 to the Safe Transaction Service
    from BRIDGE   1 read of DynamoDB; RANGES_PER_CHECK to the destination's node, 1 after the deadline; 3 for the fill
                  once it is found, with 1 more read; 1 to the router if it was filled and that is not found
    at REFUNDING  those of BRIDGE, and 2 and RANGES_PER_CHECK to the source's node; the first time as many as it takes
                  to find the block of the deadline by halves, 20 among a million

A range that a node refuses costs 1 more for each time it is halved, 10 for 1,000 blocks, and a single block that is
refused as many as chains/nodes/history/full_blocks.py says.

A block counts once it is deep enough: on the source chain by its confirmations, on the destination chain once detection
has read it. Every block that decides something is compared with the canonical one at its height.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.agreement import agree, comparable_logs, read_agreed_facts
from chalicelib.chains.nodes.bridges.deposits import UNFILLED, LoggedFill, fills_in, sum_of_sent_tokens
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.crosschain.core.records import BridgeTransfer, Deposit, Returned, Stage
from chalicelib.payments.announcements.bridges import rules
from chalicelib.payments.announcements.bridges.deposits import covers, least_due_of, request_of
from chalicelib.payments.announcements.bridges.observations import (
    Arrival,
    ArrivalObservation,
    Observation,
    SourceObservation,
)
from chalicelib.payments.announcements.bridges.sources import read_refund, read_source_chain, search_blocks
from chalicelib.payments.announcements.observing import newest_deep
from chalicelib.payments.links.records import AnnouncedTransaction, Payable, PayableLink
from chalicelib.payments.links.rules import is_read_past
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.rules import currency_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

T = TypeVar("T")


_ROUTER = "router"


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


def read_arrival(
    services: Services,
    payable: Payable,
    announced: AnnouncedTransaction,
    bridge_transfer: BridgeTransfer,
    unavailable: set[str],
) -> ArrivalObservation:
    """What became of a deposit on its destination chain, up to where detection has read that, as the nodes agree.
    Raises ChainUnavailable, RangeTooLarge."""
    cursor = scan_store.cursor(services.store, bridge_transfer.destination)
    deposit = bridge_transfer.deposit
    assert deposit is not None and bridge_transfer.relay_hash is not None, "it was deposited"
    if cursor is None or cursor.ends_until is None:
        raise ChainUnavailable(f"The {bridge_transfer.destination} chain has not been read yet")
    chain, origin = services.chains.evm(bridge_transfer.destination), require_network(announced.network).chain_id
    found, last = _search_fill(chain, cursor, bridge_transfer, origin)
    if found is None and last < cursor.scanned_to:
        return ArrivalObservation(Arrival.OPEN, last)
    if found is None:
        if not is_read_past(deposit.fill_deadline, cursor.ends_until):
            return ArrivalObservation(Arrival.OPEN, last)
        relay_hash, block = bridge_transfer.relay_hash, cursor.scanned_to
        if agree(chain, lambda node: node.fill_status(relay_hash, block)).value in UNFILLED:
            return ArrivalObservation(Arrival.EXPIRED, last)
        found = _find_hinted(services, chain, announced, bridge_transfer, unavailable)
        if found is None or found.block_number > cursor.scanned_to:
            return ArrivalObservation(Arrival.UNCLEAR, last)
    if found.block_number > newest_deep(services, chain):
        return ArrivalObservation(Arrival.OPEN, last)
    if read_agreed_facts(chain, [found.block_number]).value[found.block_number].hash != found.block_hash:
        raise InconsistentNode(chain.network, f"a fill is of block {found.block_hash}, which is not canonical")
    logs = _logs_of_transaction(chain, found.tx_hash)
    return _observe_fill(payable.requests, deposit, found, logs, bridge_transfer.searched_to)


def _search_fill(
    chain: "EvmChain", cursor: Cursor, bridge_transfer: BridgeTransfer, origin_chain_id: int
) -> tuple[LoggedFill | None, int]:
    """The fill, if it is found in the next blocks, and the last block that was searched."""
    assert bridge_transfer.deposit_id is not None, "it was deposited"
    last, span = min(bridge_transfer.searched_to, cursor.scanned_to), max(cursor.range_limit // 2, 1)
    deposit_id = bridge_transfer.deposit_id
    for blocks, found in search_blocks(
        lambda blocks: agree(chain, lambda node: node.fills(origin_chain_id, deposit_id, blocks)).value,
        last,
        cursor.scanned_to,
        span,
    ):
        own = next((each for each in found if each.key == bridge_transfer.fill_key), None)
        if own is not None:
            return own, last
        last = blocks.last
    return None, last


def _find_hinted(
    services: Services,
    chain: "EvmChain",
    announced: AnnouncedTransaction,
    bridge_transfer: BridgeTransfer,
    unavailable: set[str],
) -> LoggedFill | None:
    """The fill in the transaction that the router names, if that has it: its word alone proves nothing."""
    if _ROUTER in unavailable or not services.router.is_configured or announced.transaction_hash is None:
        return None
    source, destination = require_network(announced.network), require_network(bridge_transfer.destination)
    try:
        claim = services.router.status(announced.transaction_hash, source.chain_id, destination.chain_id, None)
    except RouterUnavailable as error:
        services.log.warning("router unavailable", extra={"reason": str(error)})
        unavailable.add(_ROUTER)
        return None
    if claim.receiving_hash is None or claim.receiving_chain_id != destination.chain_id:
        return None
    logs = _logs_of_transaction(chain, claim.receiving_hash)
    return next((each for each in fills_in(chain.network, logs) if each.key == bridge_transfer.fill_key), None)


def _logs_of_transaction(chain: "EvmChain", tx_hash: str) -> tuple[Mapping[str, Any], ...]:
    from chalicelib.chains.nodes.rpc.receipts import logs_in  # most checks find no fill

    return agree(chain, lambda node: logs_in(node.find_receipts([tx_hash])), compared=comparable_logs).value


def _observe_fill(
    requests: Sequence[Request],
    deposit: Deposit,
    fill: LoggedFill,
    logs: Sequence[Mapping[str, Any]],
    searched_to: int,
) -> ArrivalObservation:
    """Whether a fill paid, by the event of the payment that it made; if not, what the payer got there.

    `logs` are those of its transaction, in which others may pay the same request, by fills of their own or directly.
    """
    from chalicelib.chains.nodes.bridges.fills import logs_of_fill, payments_of_fills  # most checks find no fill

    request = request_of(requests, deposit)
    assert request is not None, "the deposit pays a request of the link"
    token, topic = currency_of(request), reference_topic(bytes.fromhex(request.payment_reference[2:]))
    paid = (hex_address(token.address), request.payee_in_logs, deposit.amount, topic)
    own = logs_of_fill(request.network, logs, fill)
    for made, each in ((made, made.payment) for made in payments_of_fills(request.network, logs)):
        is_own = made.fill.key == fill.key
        if is_own and (each.token_address, each.payee, each.amount, each.reference_topic) == paid:
            return ArrivalObservation(Arrival.PAID, searched_to, fill.tx_hash, payment_key=each.event_key)
    got = sum_of_sent_tokens(own, token.address, fill.recipient or "", deposit.fallback)
    returned = Returned(deposit.fallback, token.id, BaseUnits(got)) if got else None
    return ArrivalObservation(Arrival.BOUNCED, searched_to, fill.tx_hash, returned)
