"""Scanning: reads the next confirmed blocks of a network into the transfer log, and follows its forks.

    blocks ── logs ── evidence ── transfers ── known references ── details ── log ── work for the recorder ── cursor

The log and the work are written before the cursor moves, and writing them again changes nothing. So a range is read
again after a crash or a race, never skipped. No request, payment or webhook is read here: the cost of a tick depends on
blocks and events only.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network, find_network, require_network
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, Disconnected, RangeReading, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import one_node
from chalicelib.payments.scanning import ranges, rules, store
from chalicelib.payments.scanning.checks import absence, comparison, nodes
from chalicelib.payments.scanning.checks.absence import Known
from chalicelib.payments.scanning.checks.comparison import NotAgreed
from chalicelib.payments.scanning.checks.second_readings import due_with_new, read_again
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.hints import hint
from chalicelib.payments.scanning.ranges import Found
from chalicelib.payments.scanning.records import DEFERRED_COUNTED, Cursor, DeferredTransaction
from chalicelib.payments.scanning.rules import NetworkStatus
from chalicelib.payments.scanning.transfer_log import Logs, Matched, can_count
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Throttled, WriteConflict, with_next_version

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
    cursor = known or _first_cursor(services, every_node, facts, head, confirmations)
    if compares_nodes:
        cursor = nodes.compare(services, every_node, facts, confirmations, cursor)
    if cursor.is_paused:
        return 0
    tick = _Tick(services, chain, facts, confirmations, deadline, cursor, head)
    if cursor.unfinished is not None:
        if tick.confirmed < rules.last_logged(cursor):
            return 0
        tick.follow_fork()
    return tick.run()


class _Tick:
    """One tick of a network: how far it is, and the number of transfers that it has found."""

    def __init__(
        self,
        services: Services,
        chain: "Chain",
        facts: Network,
        confirmations: int,
        deadline: datetime,
        cursor: Cursor,
        head: int,
    ) -> None:
        self.services, self.chain, self.facts, self.deadline = services, chain, facts, deadline
        self.confirmations = confirmations
        self.details, self.policy = Details(services, facts, deadline), absence.policy(services, facts)
        self.cursor, self.head, self.is_limited = cursor, head, False
        self.count, self.reads, self.refusals = 0, 0, 0
        self.along: tuple[BlockRange, Logs] | None = None
        self.deferred: list[DeferredTransaction] = []

    def run(self) -> int:
        """Reads range after range as long as there is time; returns the number of new transfers."""
        while self.reads < _RANGES_PER_TICK:
            blocks = rules.next_range(self.cursor, self.head, self.confirmations)
            if blocks is None:
                place = self.services, self.chain, self.details, self.policy, self.cursor
                return self.count + read_again(*place, self.along, self.deferred)
            if self.services.clock() >= self.deadline or not self._read(blocks):
                break
        return self.count

    @property
    def confirmed(self) -> int:
        return rules.height_of_confirmed(self.head, self.confirmations)

    def follow_fork(self) -> None:
        self._limit_head()
        self.cursor = _follow_fork(self.services, self.chain, self.details, self.cursor, self.confirmed)

    def _read(self, blocks: BlockRange) -> bool:
        """Reads and records a range, or makes the next one smaller; whether the tick goes on."""
        services, name, cursor = self.services, self.facts.name, self.cursor
        try:
            new = BlockRange(cursor.scanned_to + 1, blocks.last)
            is_first = self.count == self.reads == 0
            due = due_with_new(self.chain, cursor, self.facts, services.clock()) if is_first else None
            headers = absence.choose_headers(self.policy, new)
            listed = self.chain.read_range(blocks, cursor.newest, headers, due)
            self.along = (due, listed.again) if due is not None and listed.again is not None else None
            weighed = absence.weigh(services, self.chain, self.policy, cursor, new, listed, self.deadline)
            absence.check_moves_on(name, self.policy, weighed)
            matched = ranges.match_transfers(services, self.chain, weighed.reading.logs, blocks, self.details.watched)
            comparison.check_number(matched.entries, blocks, self.details.family)
            if not self._is_deep(matched):
                return True
            found = ranges.not_recorded(services, self.chain, self.details, cursor, matched, weighed.proved)
        except Disconnected:
            place = {"network": name, "read_to": cursor.scanned_to}
            services.log.error("fork deeper than the confirmations", extra=place)
            self.follow_fork()
            self.reads += 1
        except RangeTooLarge as error:
            ranges.log_refusal(services, name, blocks, error)
            self.cursor, self.refusals = ranges.store_cursor(services, rules.narrow(cursor, blocks)), self.refusals + 1
            return self.refusals < _REFUSALS_PER_TICK and not isinstance(error, BlockRefused)
        except NotAgreed as error:  # this tick reads the blocks before that one
            self.cursor, self.head = nodes.wait(services, cursor, error), error.block - 1 + self.confirmations - 1
        else:
            return self._record(blocks, listed, weighed, found)
        return True

    def _is_deep(self, matched: Matched) -> bool:
        """Whether new transfers are confirmed by the newest block of another node, too; if not, this tick reads blocks
        up to those that are."""
        new = [each.block_number for each in matched.to_compare if can_count(each)]
        if new:
            self._limit_head()
        return not new or max(new) <= self.confirmed

    def _limit_head(self) -> None:
        if not self.is_limited:
            self.head = nodes.limit_head(self.services, self.chain, self.head, self.cursor)
            self.is_limited = True

    def _record(self, blocks: BlockRange, listed: RangeReading, weighed: Known, found: Found) -> bool:
        """Writes what was found in a range, then moves the cursor behind it; whether the tick goes on."""
        services = self.services
        if found.new or found.alone or found.deferred:
            self.cursor = ranges.mark_unfinished(services, self.cursor, blocks, found)
        try:
            ranges.write(services, found)
        except Throttled:
            services.log.warning("transfer log throttled", extra={"network": self.facts.name})
            ranges.store_cursor(services, rules.narrow(self.cursor, blocks))
            return False
        self.count, self.reads = self.count + len(found.new), self.reads + (not listed.is_full)
        self.deferred += map(with_next_version, ranges.deferred_transactions(found))
        cursor = absence.note_run(self.cursor, weighed, services.clock())
        log_range, evidence = self.facts.log_range, weighed.evidence
        cursor = ranges.advance_cursor(services, self.chain, cursor, blocks, listed, log_range, evidence)
        self.cursor = ranges.store_cursor(services, rules.with_verifications(cursor, services.clock()))
        hint(services, found.payables)
        return True


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
    from chalicelib.payments.scanning.first_block import first_cursor  # most processes see no new network

    return first_cursor(services, chain, facts, head, confirmations)


def _follow_fork(services: Services, chain: "Chain", details: Details, cursor: Cursor, newest: int) -> Cursor:
    from chalicelib.payments.scanning.forks import follow  # most processes see no fork

    return follow(services, chain, details, cursor, newest)
