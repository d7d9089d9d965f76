"""Whatever one node of several says, nothing is paid or ends that the others alone would not have, and what is paid is
recorded once it no longer lies.

Histories by chance: two or three nodes, one of which lies at will in any answers at once, and of three also one that is
silent. It invents payments, leaves some out, has other times, is behind, or is silent itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeReading
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.history.receipts import BlockReceipts
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.payments.links import expiry
from chalicelib.payments.links.records import LinkStatus
from tests.fakes.chain import by_transaction
from tests.fakes.world import in_process_aws
from tests.payments.scanning.test_agreement import AMOUNT, Group, Liar, invent
from tests.support.rehearsed import parts

PER_PART, PARTS = 50, 100
STEPS, STEP_SECONDS = 12, 20
_LATEST = timedelta(minutes=10)
"""After it has stopped to lie: a node that failed is asked last for five minutes, and blocks are read again."""
_BEHIND = timedelta(minutes=59)
"""So much is the chain behind our clock, by which links have expired that can still be paid."""
Logs = Sequence[Mapping[str, Any]]


class Hiding(Liar):
    """A liar that also leaves out the logs of some transactions, in all of its answers."""

    hidden: frozenset[str] = frozenset()

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        return by_transaction(tx_hashes, self._shown(logs_in(super().find_receipts(tx_hashes))))

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        block = super().read_receipts(number, tx_hashes)
        return BlockReceipts(block.hash, {each: self._shown(logs) for each, logs in block.logs.items()})

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        found = super().read_payments(wanted)
        return {number: replace(each, logs=self._shown(each.logs or ())) for number, each in found.items()}

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        reading = super().read_range(blocks, after, headers, again)
        read_again = None if reading.again is None else self._shown(reading.again)
        return replace(reading, logs=self._shown(reading.logs), again=read_again)

    def _shown(self, logs: Logs) -> tuple[Mapping[str, Any], ...]:
        return tuple(log for log in logs if log["transactionHash"] not in self.hidden)


class History:
    def __init__(self, client: Any, seed: int) -> None:
        self.random = Random(seed)
        count = self.random.choice((2, 3))
        self.group = group = Group(client, count, Hiding)
        world = group.world
        group.nodes[0].clock = lambda: world.now - _BEHIND
        places = self.random.sample(range(count), count)
        self.liar = group.nodes[places[0]]
        if count == 3 and self.random.random() < 0.5:
            group.nodes[places[2]].is_down = True
        self.paid, self.unpaid = world.create_link(), world.create_link()
        world.now = self.paid.link.expires_at - timedelta(minutes=2)
        for number in range(4):
            self.step(number)

    def lie(self) -> None:
        liar, random = self.liar, self.random
        assert isinstance(liar, Hiding)
        liar.is_down = random.random() < 0.15
        liar.lag = random.choice((0, 0, 1, 5, 40))
        liar.shift = timedelta(seconds=random.choice((0, 0, 0, 1, -3600, 3600, 8 * 86400)))
        liar.shifts_readings_alone = random.random() < 0.3
        known = [log["transactionHash"] for block in self.group.nodes[0].blocks for log in block.logs]
        liar.hidden = frozenset(each for each in known if random.random() < 0.5)
        if random.random() < 0.5:
            invent(self.group, liar, self.unpaid, random.choice(("of none", "of another block", "of its block")))
        if random.random() < 0.3:
            liar.forged.clear()

    def stop(self) -> None:
        liar = self.liar
        assert isinstance(liar, Hiding)
        liar.is_down, liar.lag, liar.shift, liar.hidden = False, 0, timedelta(0), frozenset()
        liar.forged.clear()

    def step(self, number: int) -> None:
        self.group.tick(STEP_SECONDS, compare=number % 3 == 0)
        expiry.expire_due(self.group.world.services)
        self.check()

    def check(self) -> None:
        world = self.group.world
        assert self.group.paid(self.unpaid) == 0, "an invented payment counts"
        assert self.group.paid(self.paid) in (0, AMOUNT)
        ended = self.group.cursor.agreed_until
        assert ended is None or ended <= world.now - _BEHIND, "it ends by a time that is to come"
        for each in (self.paid, self.unpaid):
            assert world.load(each).link.status is not LinkStatus.EXPIRED, "a link has expired early"

    def run(self) -> None:
        pays_at = self.random.randrange(STEPS)
        for number in range(STEPS):
            self.lie()
            if number == pays_at:
                self.group.nodes[0].pay(self.paid.requests[0])
            self.step(number)
        self.stop()
        until = self.group.world.now + _LATEST
        while self.group.paid(self.paid) == 0:
            assert self.group.world.now < until, "what is paid is held though nobody lies"
            self.step(3 * STEPS)


@pytest.mark.parametrize("part", parts(PARTS))
def test_one_node_that_lies_at_will_confirms_and_ends_nothing_and_delays_no_payment_for_good(part: int) -> None:
    for seed in range(part * PER_PART, (part + 1) * PER_PART):
        with in_process_aws() as client:
            try:
                History(client, seed).run()
            except AssertionError as error:
                raise AssertionError(f"history {seed}: {error}") from error
