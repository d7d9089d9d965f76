"""Scanning: reads the next confirmed blocks of a network into the transfer log, and follows its forks.

    blocks ── logs ── evidence ── transfers ── known references ── details ── log ── work for the recorder ── cursor

The log and the work are written before the cursor moves, and writing them again changes nothing. So a range is read
again after a crash or a race, never skipped. No request, payment or webhook is read here: the cost of a tick depends on
blocks and events only.
"""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network, find_network, require_network
from chalicelib.chains.nodes.logs import BlockRange
from chalicelib.chains.nodes.nodes import one_node
from chalicelib.chains.nodes.ranges import BlockRefused, Disconnected, RangeTooLarge
from chalicelib.payments.scanning import absence, comparison, nodes, ranges, rules, store
from chalicelib.payments.scanning.again import due_with_new, read_again
from chalicelib.payments.scanning.comparison import NotAgreed
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.records import DEFERRED_COUNTED, Cursor, DeferredTransaction
from chalicelib.payments.scanning.rules import NetworkStatus
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Throttled, WriteConflict

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

_RANGES_PER_TICK = 20
"""The most ranges that one tick reads; the next tick continues from there. Full blocks, which are read one by one,
are limited by time alone."""
_TIME_PER_TICK = timedelta(seconds=20)
"""A tick starts no new range after this time. The process timeout is much longer, because a node's response may take
seconds."""
_REFUSALS_PER_TICK = 16
"""A tick ends after this many ranges that the node refused or timed out on; the next ticks halve the range further. So
many that the longest range is halved down to one block, and what is left of it read, in two ticks."""


def scan(services: Services, name: str, compares_nodes: bool = False) -> int:
    """Runs one tick of a network: reads it up to its newest confirmed block. Returns how many new transfers were found.

    Everything is read from one node. If there are several, `compares_nodes` has the tick look whether they agree; while
    they do not, nothing is read. A block whose transfers no other node says to have waits, and those after it. Does
    nothing while another tick of the network is running. Raises ChainUnavailable, NodesDisagree if another node has
    other blocks, and WriteConflict if another tick was faster all the same.
    """
    lease = rules.take_lease(store.lease(services.store, name), name, services.clock())
    if lease is None:
        return 0
    try:
        taken = services.store.write(lease)
    except WriteConflict:
        return 0
    try:
        return _scan(services, name, compares_nodes)
    except NotAgreed as error:
        cursor = store.cursor(services.store, name)
        if cursor is not None:
            nodes.wait(services, cursor, error)
        return 0
    finally:
        # The next tick can start. The lease ends by itself if another tick has taken it over.
        try_write(services.store, replace(taken, ends_at=services.clock()))


def _scan(services: Services, name: str, compares_nodes: bool) -> int:
    deadline = services.clock() + _TIME_PER_TICK
    every_node, facts = services.chains.of(name), require_network(name)
    confirmations = services.settings.confirmations.get(name, facts.confirmations)
    known = store.cursor(services.store, name)
    is_late = rules.is_late(known, confirmations, nodes.block_time(facts), services.clock())
    chain, head = one_node(every_node, is_late)
    confirmed = rules.height_of_confirmed(head, confirmations)
    cursor = known or _first_cursor(services, chain, facts, head, confirmations)
    if compares_nodes:
        cursor = nodes.compare(services, every_node, facts, confirmations, cursor)
    if cursor.is_paused:
        return 0
    details, policy = Details(services, facts, deadline), absence.policy(services, facts)
    if cursor.unfinished is not None:
        if confirmed < rules.last_logged(cursor):
            return 0
        cursor = _follow_fork(services, chain, details, cursor, confirmed)
    count, reads, refusals, along = 0, 0, 0, None
    while reads < _RANGES_PER_TICK:
        blocks = rules.next_range(cursor, head, confirmations)
        if blocks is None:
            return count + read_again(services, chain, details, policy, cursor, along)
        if services.clock() >= deadline:
            break
        try:
            new = BlockRange(cursor.scanned_to + 1, blocks.last)
            due = due_with_new(chain, cursor, facts, services.clock()) if count == reads == 0 else None
            listed = chain.read_range(blocks, cursor.newest, absence.choose_headers(policy, new), due)
            along = (due, listed.again) if due is not None and listed.again is not None else None
            weighed = absence.weigh(services, chain, policy, cursor, new, listed, deadline)
            absence.check_moves_on(name, policy, weighed)
            matched = ranges.match_transfers(services, chain, weighed.reading.logs, blocks, details.watched)
            comparison.check_number(matched.entries, blocks, details.family)
            found = ranges.not_recorded(services, chain, details, cursor, matched, weighed.proved)
        except Disconnected:
            place = {"network": name, "read_to": cursor.scanned_to}
            services.log.error("fork deeper than the confirmations", extra=place)
            cursor, reads = _follow_fork(services, chain, details, cursor, confirmed), reads + 1
            continue
        except RangeTooLarge as error:
            ranges.log_refusal(services, name, blocks, error)
            cursor, refusals = ranges.store_cursor(services, rules.narrow(cursor, blocks)), refusals + 1
            if refusals == _REFUSALS_PER_TICK or isinstance(error, BlockRefused):
                break
            continue
        except NotAgreed as error:  # this tick reads the blocks before that one
            cursor, head = nodes.wait(services, cursor, error), error.block - 1 + confirmations - 1
            continue
        if found.new or found.alone or found.deferred:
            cursor = ranges.mark_unfinished(services, cursor, blocks, found)
        try:
            ranges.write(services, found)
        except Throttled:
            services.log.warning("transfer log throttled", extra={"network": name})
            ranges.store_cursor(services, rules.narrow(cursor, blocks))
            break
        count, reads = count + len(found.new), reads + (not listed.is_full)
        cursor = absence.note_run(cursor, weighed, services.clock())
        cursor = ranges.advance_cursor(services, chain, cursor, blocks, listed, facts.log_range, weighed.evidence)
        cursor = ranges.store_cursor(services, rules.with_verifications(cursor, services.clock()))
        hint(services, found.payables)
    return count


def status(services: Services) -> tuple[NetworkStatus, ...]:
    """How far each network of this deployment is read. One read, and a query for each network on which transactions are
    deferred; no call to a node.

    If the list of nodes cannot be read, the networks are those that were ever scanned.
    """
    try:
        served = [name for name in services.chains.networks if find_network(name) is not None]
    except Exception:  # whatever Secrets Manager raises: an outage is when the status is needed
        services.log.exception("list of nodes not read")
        served = []
    names = served or [each.name for each in ALL_NETWORKS]
    cursors = store.cursors(services.store, names)
    settings, now = services.settings, services.clock()
    return tuple(
        rules.network_status(
            name,
            cursors.get(name),
            settings.confirmations.get(name, require_network(name).confirmations),
            timedelta(seconds=settings.scan_interval(name)),
            timedelta(seconds=settings.silent_nodes_seconds),
            now,
            _read_deferred(services, cursors.get(name)),
        )
        for name in (served or cursors)
    )


def _read_deferred(services: Services, cursor: Cursor | None) -> tuple[DeferredTransaction, ...]:
    """The first deferred transactions of a network. No read while none is."""
    if cursor is None or cursor.deferred_from is None:
        return ()
    return store.list_deferred(services.store, cursor.network, "", DEFERRED_COUNTED)


def _first_cursor(services: Services, chain: "Chain", facts: Network, head: int, confirmations: int) -> Cursor:
    from chalicelib.payments.scanning.beginning import first_cursor  # most processes see no new network

    return first_cursor(services, chain, facts, head, confirmations)


def _follow_fork(services: Services, chain: "Chain", details: Details, cursor: Cursor, newest: int) -> Cursor:
    from chalicelib.payments.scanning.forks import follow  # most processes see no fork

    return follow(services, chain, details, cursor, newest)
