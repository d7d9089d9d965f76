"""How it is known that blocks have no other payments than a node lists: by their headers, or by another node.

    headers ── hashes recomputed, each links to the one before ── the last one agreed on with another node
       │
       ├─ bloom without the payment events ── no payments
       └─ else all receipts, which have the root of the header ── these payments
    where that is not possible: another node with the same last block lists the same
    else: unproved

What is proved takes the place of what was listed. A check that a network has not had for TRIAL only adds what was left
out, and writes to the log where it differs: new checks are wrong more often than nodes are, so there two nodes have to
agree. One that fails for every node stops nothing, and one that cannot be made is counted (CHECKS_NOT_RUN) and proves
nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.log_ranges import RangeReading, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.history.transfers import payment_events
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, agreeing, host_of, others_of
from chalicelib.chains.proofs.blooms import may_have
from chalicelib.chains.proofs.headers import Checked, Forged, Header, NotChecked, find_broken_link
from chalicelib.payments.scanning.records import Cursor, Evidence
from chalicelib.platform.metrics import CHECKS_NOT_RUN
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.networks import AbsencePolicy, Network
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.history.block_headers import BlockLogs
    from chalicelib.chains.nodes.protocol import Chain

HEADERS_AT_ONCE = 200
"""The most blocks of a range of which all headers are read. A longer one is of a network that was not read for a while:
it is corroborated, or proved later."""
RECEIPTS_AT_ONCE = 20
"""In so many blocks of a range receipts are read. Anybody can fill blooms for the gas."""
TRIAL = timedelta(days=7)

Log = Mapping[str, Any]


@frozen
class Known:
    """A range as it is known: with the logs that are proved in place of those that were listed. Which checks ran,
    whether another node refused the range, and the payments and Transfers of tokens of the catalogue of transactions
    with payments in blocks that are proved by receipts."""

    reading: RangeReading
    evidence: Evidence
    headers_ran: bool
    receipts_ran: bool
    refusal: RangeTooLarge | None = None
    proved: Sequence[Log] = ()


def policy(services: Services, facts: "Network") -> "AbsencePolicy":
    """What holds for a network in this deployment. Blocks of tron have no header of this kind."""
    settings, of_network = services.settings, facts.absence
    every = settings.headers_every.get(facts.name, of_network.headers_every) if facts.family == "evm" else 0
    moves_on = "corroborated" if facts.name in settings.scan_waits else of_network.moves_on
    return replace(of_network, headers_every=every, moves_on=moves_on)


def choose_headers(of: "AbsencePolicy", blocks: BlockRange) -> list[int]:
    """The heights of which headers are read with a range; none of too many."""
    every = of.headers_every
    wanted = [number for number in range(blocks.first, blocks.last + 1) if every and number % every == 0]
    return wanted if len(wanted) <= HEADERS_AT_ONCE else []


def weigh(
    services: Services,
    chain: "Chain",
    of: "AbsencePolicy",
    cursor: Cursor,
    blocks: BlockRange,
    reading: RangeReading,
    deadline: datetime,
) -> Known:
    """How the logs of `blocks` are known; `reading`, by one node, may have those of blocks before them, too.

    No proof begins after the deadline. Raises InconsistentNode if the node has forged a header, NodesDisagree if
    another one has another last block, ChainUnavailable if a log does not have the documented form.
    """
    try:
        return _Weighing(services, chain, of, cursor, blocks, reading, deadline).weigh()
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ChainUnavailable(f"The {chain.network} node does not answer as it should") from error


def check_moves_on(network: str, of: "AbsencePolicy", known: Known) -> None:
    """Raises ChainUnavailable if the evidence is less than what the policy moves on with, RangeTooLarge if it may be
    enough for a smaller range."""
    if of.moves_on == "corroborated" and known.evidence is Evidence.UNPROVED:
        raise known.refusal or ChainUnavailable(f"No other {network} node lists the same logs")


def note_run(cursor: Cursor, known: Known, now: datetime) -> Cursor:
    """The cursor with the time of the first run of the checks that ran."""
    headers = cursor.headers_since or (now if known.headers_ran else None)
    receipts = cursor.receipts_since or (now if known.receipts_ran else None)
    return replace(cursor, headers_since=headers, receipts_since=receipts)


class _Weighing:
    """One range on its way to evidence."""

    def __init__(
        self,
        services: Services,
        chain: "Chain",
        of: "AbsencePolicy",
        cursor: Cursor,
        blocks: BlockRange,
        reading: RangeReading,
        deadline: datetime,
    ) -> None:
        self._services, self._chain, self._policy, self._cursor = services, chain, of, cursor
        self._blocks, self._reading, self._deadline = blocks, reading, deadline
        self._others = others_of(chain)
        events = payment_events(chain.network, chain.escrow)
        self._raw_events = [tuple(bytes.fromhex(value[2:]) for value in each) for each in events]
        self._events = {(contract, topic) for contract, *topics in events for topic in topics}
        self._numbers = range(blocks.first, blocks.last + 1)
        self._listed = self._by_block(reading.logs)
        self._proved = dict[int, Sequence[Log]]()
        self._by_receipts, self._doubtful = dict[int, Sequence[Log]](), set[int]()
        self._headers_ran = self._receipts_ran = False
        self._receipts_read = self._not_run = 0
        self._refusal: RangeTooLarge | None = None

    def weigh(self) -> Known:
        headers = self._headers()
        is_whole = self._policy.headers_every == 1 and self._are_linked(headers)
        for header in headers if is_whole or self._policy.headers_every != 1 else ():
            if isinstance(header, Header):
                self._prove(header)
        if not is_whole:
            self._doubt()
        last = {self._blocks.last: self._reading.last.hash}
        is_proved = is_whole and isinstance(self._chain, Node) and bool(agreeing(self._chain, self._others, last))
        if is_proved:
            unproved = [number for number in self._numbers if number not in self._proved]
            proof = Evidence.PROVED_BY_RECEIPTS if self._by_receipts else Evidence.PROVED_BY_BLOOM
            evidence = self._corroborate(unproved) if unproved else proof
        else:
            evidence = self._corroborate(self._numbers)
        reading, has_added, is_contradicted = self._settle()
        if is_contradicted or (has_added and is_proved):
            evidence = self._corroborate(self._numbers, by_lists=is_contradicted)
        if self._not_run:
            self._services.metrics.add(CHECKS_NOT_RUN, self._chain.network, self._not_run)
        is_enforced = is_proved and self._is_enforced(self._cursor.receipts_since)
        by_receipts = self._by_receipts.items() if is_enforced else ()
        proved = [log for number, logs in by_receipts if number in self._proved for log in logs]
        return Known(reading, evidence, self._headers_ran, self._receipts_ran, self._refusal, proved)

    # headers

    def _headers(self) -> Sequence[Checked]:
        if not self._policy.headers_every:
            return ()
        wanted = choose_headers(self._policy, self._blocks)
        found = self._reading.headers or (self._read_headers(self._chain, wanted) if wanted else ())
        if not found:
            self._not_run += len(self._numbers) // self._policy.headers_every
            return ()
        self._not_run += sum(isinstance(each, NotChecked) for each in found)
        self._headers_ran = any(not isinstance(each, NotChecked) for each in found)
        forged = next((each for each in found if isinstance(each, Forged)), None)
        if forged is not None:
            self._judge(forged)
        return found

    def _are_linked(self, headers: Sequence[Checked]) -> bool:
        reason = find_broken_link(headers, self._reading.last.hash)
        if reason is not None and not any(isinstance(each, NotChecked | Forged) for each in headers) and headers:
            self._differs(reason, self._is_enforced(self._cursor.headers_since))
        return reason is None

    def _judge(self, forged: Forged) -> None:
        """Raises InconsistentNode if the header is forged and another node has the right one."""
        reason = f"the hash of block {forged.number} is not that of its fields"
        there = [(each, self._read_headers(each, [forged.number])) for each in self._others]
        honest = next((each for each, found in there if found and isinstance(found[0], Header)), None)
        if honest is None:
            facts = {"network": self._chain.network, "reason": reason}
            self._services.log.error("check fails for every node", extra=facts)
            return
        enforced = self._is_enforced(self._cursor.headers_since)
        self._differs(f"{reason} at {host_of(self._chain)}, but at {honest.host}", enforced)
        if enforced:
            raise InconsistentNode(self._chain.network, reason)

    # receipts

    def _prove(self, header: Header) -> None:
        """Notes the payments of a block if they follow from its header."""
        if not may_have(header.bloom, self._raw_events):
            self._proved[header.number] = ()
            return
        if self._reading.is_full:  # its logs may be from receipts already, which are many
            self._not_run += 1
            return
        has_other_root = False
        for node in (self._chain, *self._others):
            if self._receipts_read >= RECEIPTS_AT_ONCE or self._services.clock() >= self._deadline:
                break
            self._receipts_read += 1
            found = self._block_logs(node, header)
            if found is None:
                continue
            self._receipts_ran = True
            payments = self._payments(found.logs)
            if found.are_proved and self._has_transactions(node, header, payments):
                self._proved[header.number] = payments
                hashes = {log["transactionHash"] for log in payments}
                self._by_receipts[header.number] = [log for log in found.logs if log["transactionHash"] in hashes]
                return
            has_other_root = has_other_root or not found.are_proved
        below = self._policy.receipts_recorded_below
        if has_other_root and (below is None or header.number < below):
            reason = f"the receipts of block {header.number} do not have the root of its header"
            self._services.log.warning("check differs from a node", extra=self._facts(reason))
        else:
            self._not_run += 1

    def _has_transactions(self, node: "Chain | Node", header: Header, payments: Sequence[Log]) -> bool:
        """Whether another node says the same of the payments of a block, as no root proves the hashes of transactions
        here. True if there are no payments, or no other node."""
        others = [each for each in (self._chain, *self._others) if each is not node]
        if not payments or not others:
            return True
        there = (self._block_logs(other, header) for other in others)
        proved = (each for each in there if each is not None and each.are_proved)
        return any(_comparable_logs(self._payments(each.logs)) == _comparable_logs(payments) for each in proved)

    def _block_logs(self, node: "Chain | Node", header: Header) -> "BlockLogs | None":
        try:
            return _evm(node).read_block_logs(header, self._is_payment_or_transfer)
        except ChainUnavailable:
            return None

    def _is_payment_or_transfer(self, log: Log) -> bool:
        from chalicelib.chains.nodes.history.arrivals import is_transfer  # few blocks are read by their receipts

        return bool(self._payments([log])) or is_transfer(self._chain.network, log)

    # other nodes

    def _doubt(self) -> None:
        """Headers of single blocks prove nothing, as they lead nowhere; but they tell which blocks to look up."""
        for number, proved in self._proved.items():
            if _comparable_logs(self._listed.get(number, ())) != _comparable_logs(proved):
                self._doubtful.add(number)
                self._differs(f"the header of block {number} has other logs than are listed", enforced=False)
        self._proved.clear()
        self._by_receipts.clear()

    def _corroborate(self, numbers: Sequence[int], by_lists: bool = False) -> Evidence:
        """Whether another node lists the same logs of these blocks of the range; what differs is looked up, unless
        nothing but lists counts."""
        for other in self._others:
            try:
                theirs: RangeReading = other.read_range(self._blocks, None)
            except ChainUnavailable:
                continue
            except RangeTooLarge as error:
                self._refusal = error
                continue
            if theirs.last.hash != self._reading.last.hash:
                place = f"block {self._blocks.last} is {self._reading.last.hash} at {host_of(self._chain)}"
                raise NodesDisagree(self._chain.network, f"{place} and {theirs.last.hash} at {other.host}")
            there = self._by_block(theirs.logs)
            differing = [
                each
                for each in numbers
                if each in self._doubtful
                or _comparable_logs(self._listed.get(each, ())) != _comparable_logs(there.get(each, ()))
            ]
            for number in differing if not by_lists else ():
                self._look_up(number, other)
            if not differing or (not by_lists and all(number in self._proved for number in differing)):
                return Evidence.CORROBORATED
            reason = f"{host_of(self._chain)} and {other.host} list different logs of block {differing[0]}"
            self._services.log.warning("nodes list different logs", extra=self._facts(reason))
            return Evidence.UNPROVED
        return Evidence.UNPROVED

    def _look_up(self, number: int, other: Node) -> None:
        """Proves a block by its header, on whose hash both nodes agree."""
        self._proved.pop(number, None)  # by headers of one node alone
        if not self._policy.headers_every or self._receipts_read >= RECEIPTS_AT_ONCE:
            return
        for node in (self._chain, other):
            header = next(iter(self._read_headers(node, [number]) or ()), None)
            if isinstance(header, Header) and self._both_have(header, other):
                self._headers_ran = True
                self._prove(header)
                return

    def _both_have(self, header: Header, other: Node) -> bool:
        try:
            hashes = [each.block_hashes([header.number]) for each in (self._chain, other)]
        except ChainUnavailable:
            return False
        return hashes == [{header.number: header.hash}] * 2

    # what follows

    def _settle(self) -> tuple[RangeReading, bool, bool]:
        """The reading with what is proved; whether a check on trial adds to it, and whether one contradicts it."""
        logs = [log for log in self._reading.logs if int(log["blockNumber"], 16) not in self._proved]
        has_added = is_contradicted = False
        for number, proved in self._proved.items():
            listed = self._listed.get(number, ())
            if _comparable_logs(listed) == _comparable_logs(proved):
                logs += proved
                continue
            of_receipts = number in self._by_receipts
            since = self._cursor.receipts_since if of_receipts else self._cursor.headers_since
            enforced = self._is_enforced(since)
            reason = f"{host_of(self._chain) or 'the node'} lists {len(listed)} logs of block {number}"
            self._differs(f"{reason}, which has {len(proved)}", enforced)
            if enforced:
                logs += proved
            else:
                is_within = Counter(map(_event, listed)) <= Counter(map(_event, proved))
                has_added, is_contradicted = True, is_contradicted or not is_within
                there, places = set(map(_event, listed)), set(map(_place, listed))
                logs += [*listed, *(log for log in proved if _event(log) not in there and _place(log) not in places)]
        return replace(self._reading, logs=tuple(logs)), has_added, is_contradicted

    def _differs(self, reason: str, enforced: bool) -> None:
        if enforced:
            self._services.log.error("node lists other logs", extra=self._facts(reason))
            if isinstance(self._chain, Node):
                self._chain.distrust()
        else:
            self._services.log.warning("check differs from a node", extra=self._facts(reason))

    def _is_enforced(self, since: datetime | None) -> bool:
        return since is not None and self._services.clock() - since >= TRIAL

    def _read_headers(self, node: "Chain | Node", numbers: Sequence[int]) -> Sequence[Checked] | None:
        try:
            return _evm(node).read_headers(numbers)
        except ChainUnavailable:
            return None

    def _by_block(self, logs: Iterable[Log]) -> dict[int, list[Log]]:
        found = dict[int, list[Log]]()
        for log in self._payments(logs):
            number = int(log["blockNumber"], 16)
            if self._blocks.first <= number <= self._blocks.last:
                found.setdefault(number, []).append(log)
        return found

    def _payments(self, logs: Iterable[Log]) -> list[Log]:
        """The logs that are payment events: of the contracts that emit these, not of any other."""
        return [
            log for log in logs if log["topics"] and (log["address"].lower(), log["topics"][0].lower()) in self._events
        ]

    def _facts(self, reason: str) -> dict[str, str]:
        return {"network": self._chain.network, "reason": reason}


def _evm(node: "Chain | Node") -> "EvmChain":
    return cast("EvmChain", node)


def _event(log: Log) -> tuple[str, ...]:
    """What a log says, and in which transaction and block."""
    place = log["transactionHash"].lower(), log["blockHash"].lower()
    return (log["address"].lower(), *map(str.lower, log["topics"]), log["data"].lower(), *place)


def _place(log: Log) -> tuple[str, int]:
    return log["transactionHash"].lower(), int(log["logIndex"], 16)


def _comparable_logs(logs: Iterable[Log]) -> list[tuple[Any, ...]]:
    """What logs say and where they are, for comparison: each as often as it is listed, and by its place among those of
    its transaction, as clients number the logs of a block differently."""
    ordered, counts, found = sorted(logs, key=_place), Counter[str](), list[tuple[Any, ...]]()
    for log in ordered:
        found.append((log["transactionHash"].lower(), counts[log["transactionHash"].lower()], *_event(log)))
        counts[log["transactionHash"].lower()] += 1
    return found
