"""One payment from another chain, every remote step of which can be in trouble, and a payer who pays again if offered.

The payer's first payment always arrives in the end. Whenever the link is offered, the payer pays it a second time on
its own network. What counts are the payments on the chain: one is right, two are the harm that must not be.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from chalicelib.base.errors import ChainUnavailable, ServiceError
from chalicelib.chains.nodes.bridges.deposits import LoggedReturn
from chalicelib.payments.announcements import tracking
from chalicelib.payments.links.records import AnnouncedStatus, LinkStatus
from chalicelib.payments.links.rules import is_payable
from chalicelib.platform.outbound.lifi import RouterStatus, RouterUnavailable
from tests.fakes.bridge import CONFIRMATIONS, MINUTE, Bridge


class Trouble(StrEnum):
    CLEAN = "clean"
    TIMEOUT_AFTER_ACCEPTANCE = "timeout after acceptance"
    ERROR_AFTER_EFFECT = "5xx after effect"
    DUPLICATE = "duplicate answer"
    SLOW = "slow"
    UNREACHABLE = "unreachable for reconciliation"
    SAYS_SAFE = "says safe and is not"


@dataclass(frozen=True)
class Plot:
    """When what happens, in minutes: the node forgets the transaction, it is in a block, reverted in a block that a
    fork removes or for good successful, and a relayer fills the deposit. In which minutes the step is in trouble, and in
    which the destination's node gives no logs to anybody."""

    included: float
    filled: float
    checks: tuple[float, ...]
    trouble: tuple[float, float]
    hidden: tuple[float, float] | None = None
    forgotten: float | None = None
    reverted: float | None = None


_EARLY = (1, 2, 3, 4.5, 6, 7.5, 9, 10.5, 12, 13.5, 15, 18, 21, 24, 26, 28, 31, 36, 46, 125, 130, 140)
_LATE = (1, 3, 6, 9, 12, 30, 60, 90, 110, 119.5, 121, 123, 126, 130, 136, 142, 148, 154, 160, 170, 180)
PENDING = Plot(8, 25, _EARLY, (0, 8), forgotten=2)
"""The node forgets the transaction before it is in a block."""
REVERTED = Plot(6, 25, _EARLY, (2, 9), reverted=3)
"""It is reverted in a block that a fork removes."""
PROMPT = Plot(2, 24.5, _EARLY, (20, 30))
"""It is filled while the destination is in trouble."""
LAST_MINUTE = Plot(2, 119, _LATE, (100, 150), hidden=(119, 128))
"""It is filled just before the deadline, which detection misses and finds when it reads the blocks again."""


@dataclass(frozen=True)
class Step:
    """A remote call: whose method it is, when the story has it in trouble, and the answer that would free the link."""

    owner: str
    method: str
    plot: Plot
    lie: Callable[["Story", Callable[..., Any], tuple[Any, ...]], Any]


def _later(story: "Story", read: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    return {number: replace(facts, time=facts.time + timedelta(hours=5)) for number, facts in read(*given).items()}


def _reverted(story: "Story", read: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """The receipt of a block that is not canonical."""
    known = read(*given)
    if known is None:
        return None
    block = min(known.block or 10**9, len(story.bridge.source.blocks) - CONFIRMATIONS - 1)
    return replace(known, success=False, block=block, block_hash="0x" + "99" * 32, deposits=())


def _returned_before(story: "Story", read: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Tokens that the bridge returned for an earlier deposit of the payer."""
    chain = story.bridge.source
    block = next(each for each in reversed(chain.blocks) if each.time and each.time < story.started + timedelta(minutes=100))
    return (LoggedReturn(10**12, "0x" + "66" * 32, block.number, block.hash),)


STEPS = {
    "announce": Step("story", "announce", PENDING, lambda story, read, given: read(*given)),
    "newest block": Step("source", "head", PENDING, lambda story, read, given: read(*given)),
    "time of the source chain": Step("source", "block_facts", PENDING, _later),
    "transaction": Step("source", "sent_transaction", PENDING, lambda story, read, given: None),
    "receipt": Step("source", "sent_transaction", REVERTED, _reverted),
    "nonce": Step("source", "transaction_count", PENDING, lambda story, read, given: 99),
    "detection": Step("destination", "read_range", PROMPT, lambda story, read, given: read(*given)),
    "recording": Step("world", "record", PROMPT, lambda story, read, given: 0),
    "fill": Step("destination", "fills", PROMPT, lambda story, read, given: ()),
    "receipt of the fill": Step("destination", "find_receipts", PROMPT, lambda story, read, given: {}),
    "state of the deposit": Step("destination", "fill_status", LAST_MINUTE, lambda story, read, given: 0),
    "refund": Step("source", "returns", LAST_MINUTE, _returned_before),
    "router": Step(
        "router",
        "status",
        LAST_MINUTE,
        lambda story, read, given: RouterStatus("DONE", "REFUNDED", story.tx_hash, "0x" + "66" * 32, 8453, "across"),
    ),
}


class Story:
    """A run of a step's plot with a trouble; `payments` are the payments of the link that are on the chain then."""

    def __init__(self, step: Step, trouble: Trouble) -> None:
        self.bridge, self._step, self._trouble = Bridge(), step, trouble
        self.started = self.bridge.world.now
        self.payment = self.bridge.link()
        self.request = self.payment.requests[0]
        self.sent = self.bridge.send(self.payment)
        self.tx_hash = self.sent.tx_hash
        self.paid_again, self._is_announced = 0, False
        self._install()

    def run(self) -> "Story":
        plot, done = self._step.plot, set[str]()
        for minute in (0, *plot.checks):
            self._advance_to(minute)
            self.bridge.destination.hides_logs = plot.hidden is not None and plot.hidden[0] <= minute < plot.hidden[1]
            for name, at in (("forget", plot.forgotten), ("revert", plot.reverted), ("include", plot.included), ("fill", plot.filled)):
                if at is not None and minute >= at and name not in done:
                    done.add(name)
                    getattr(self, f"_{name}")()
            if not self._is_announced:
                self._try(self.announce)
            self._grow()
            self._try(lambda: tracking.track_due(self.bridge.world.services))
            self._pay_if_offered()
        return self

    def announce(self) -> None:
        self.bridge.announce(self.payment, self.sent)
        self._is_announced = True

    @property
    def payments(self) -> int:
        topic = self.request_topic
        logs = [log for block in self.bridge.destination.blocks for log in block.logs]
        return sum(topic in log["topics"] for log in logs)

    @property
    def request_topic(self) -> str:
        from chalicelib.payments.requests.references import reference_topic

        return reference_topic(bytes.fromhex(self.request.payment_reference[2:]))

    @property
    def is_settled(self) -> bool:
        is_completed = self.bridge.world.load(self.payment).link.status is LinkStatus.COMPLETED
        return is_completed and self.bridge.announced(self.payment).status is AnnouncedStatus.SETTLED

    def _advance_to(self, minute: float) -> None:
        self.bridge.world.now = max(self.bridge.world.now, self.started + timedelta(minutes=minute))

    def _grow(self) -> None:
        for chain in (self.bridge.source, self.bridge.destination):
            chain.mine(CONFIRMATIONS)
        self._try(self.bridge.world.tick)

    def _pay_if_offered(self) -> None:
        """The payer has announced the first payment, and pays again if the link is offered all the same."""
        payment = self.bridge.world.load(self.payment)
        if self._is_announced and is_payable(payment, self.bridge.world.now) and self.paid_again < 1:
            self.paid_again += 1
            self.bridge.destination.pay(self.request, self.request.amount, 125_000)

    def _forget(self) -> None:
        self._forgotten = self.bridge.source.transactions.pop(self.tx_hash)
        self.bridge.source.counts[self._forgotten.sender] = 0

    def _revert(self) -> None:
        self.bridge.include(self.sent, success=False)
        self.bridge.source.fork(1)

    def _include(self) -> None:
        if self.tx_hash not in self.bridge.source.transactions:
            self.bridge.source.transactions[self.tx_hash] = self._forgotten
        self.bridge.include(self.sent)

    def _fill(self) -> None:
        filled = self.bridge.fill(self.sent, self.request)
        claim = RouterStatus("DONE", "COMPLETED", self.tx_hash, filled, 42161, "across")
        self.bridge.world.router.statuses[self.tx_hash] = claim

    def _try(self, act: Callable[[], Any]) -> None:
        """Runs a job or a call of the payer, which is repeated later if it fails."""
        with suppress(ServiceError, RouterUnavailable):
            act()

    @property
    def _is_in_trouble(self) -> bool:
        first, end = self._step.plot.trouble
        passed = (self.bridge.world.now - self.started) / timedelta(minutes=1)
        return first <= passed < end

    def _install(self) -> None:
        owner: Any = {
            "story": self, "source": self.bridge.source, "destination": self.bridge.destination,
            "router": self.bridge.world.router, "world": self.bridge.world,
        }[self._step.owner]
        read = getattr(owner, self._step.method)
        setattr(owner, self._step.method, lambda *given: self._troubled(read, *given))

    def _troubled(self, read: Callable[..., Any], *given: Any) -> Any:
        if not self._is_in_trouble or self._trouble is Trouble.CLEAN:
            return read(*given)
        failure = RouterUnavailable("no answer") if self._step.owner == "router" else ChainUnavailable("no answer")
        match self._trouble:
            case Trouble.TIMEOUT_AFTER_ACCEPTANCE | Trouble.ERROR_AFTER_EFFECT:
                read(*given)
                self._is_announced = self._is_announced and self._step.owner != "story"
                raise failure
            case Trouble.DUPLICATE:
                found = read(*given)
                return (*found, *found) if isinstance(found, tuple) else read(*given)
            case Trouble.SLOW:
                self.bridge.world.advance(MINUTE / 2)
                return read(*given)
            case Trouble.SAYS_SAFE:
                return self._step.lie(self, read, given)
        raise failure
