"""Random histories of payments, forks, crashes and lost hints: in the end what is stored is what the chain says."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from chalicelib.base.lists import Named, Span, list_of
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Record
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.recording import flows, matching
from chalicelib.payments.recording.payment_counts import ACCOUNT
from chalicelib.payments.recording.rules import requests_by_topic
from chalicelib.payments.requests.list_names import PAYMENT
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import DailyCount, Request, RequestStatus
from chalicelib.payments.requests.request_counts import series_of
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.scanning.rules import LEASE
from chalicelib.platform.storage.store import Write
from chalicelib.webhooks.records import Event
from tests.fakes.chain import GENESIS, Block
from tests.fakes.crash import Crash
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, World
from tests.support.sequences import check_sequences

UNITS_OF_TOKEN = 100
"""What a base unit of fUSDC is in the units of an invoice in dollars, at one dollar for one: 8 decimals for 6."""
HISTORIES = int(os.environ.get("HISTORIES", "80"))
STRANGER = "0x" + "22" * 20


class MortalStore(MemoryStore):
    """A store whose process dies at a write, of which a part may be done, and writes nothing until it is restarted.

    `notified` are the events in the order in which they were committed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.notified, self._writes_left, self._is_after = list[Event](), 10**9, False

    def dies_at(self, write: int, after: bool) -> None:
        self._writes_left, self._is_after = write, after

    def restart(self) -> None:
        self._writes_left = 10**9

    def write(self, *writes: Write) -> Any:
        def act() -> Any:
            stored = super(MortalStore, self).write(*writes)
            self.notified += [each for each in writes if isinstance(each, Event) and each.version == 0]
            return stored

        return self._guarded(act, act)

    def put_many(self, records: Iterable[Record]) -> None:
        listed = list(records)
        part = listed[: -(-len(listed) // 2)]
        self._guarded(lambda: super(MortalStore, self).put_many(listed), lambda: super(MortalStore, self).put_many(part))

    def _guarded(self, act: Callable[[], Any], act_of_the_last: Callable[[], Any]) -> Any:
        self._writes_left -= 1
        if self._writes_left > 0:
            return act()
        if self._writes_left == 0 and self._is_after:
            act_of_the_last()
        raise Crash


@dataclass
class History:
    """A world with links and requests without one, in two tokens and in dollars, and what can happen to it."""

    world: World = field(default_factory=lambda: World(object()))
    store: MortalStore = field(default_factory=MortalStore)
    links: list[PayableLink] = field(default_factory=list)
    alone: list[Request] = field(default_factory=list)
    forks: list[tuple[Block, list[Block]]] = field(default_factory=list)
    """The parent and the blocks of each branch that was removed."""

    def __post_init__(self) -> None:
        self.world.services = replace(self.world.services, store=self.store)
        item = Item("10", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
        self.links = [self.world.create_link(items=(item,)), self.world.create_link(items=(item, item))]
        self.alone = [
            store_request(self.world.services, amount=BaseUnits(10_000_000), currency=currency)
            for currency in ("fUSDC-sepolia", "ETH-sepolia-sepolia")
        ]
        self.alone.append(self.invoice_in_dollars())
        self.world.chain.mine(10)
        self.tick()

    def invoice_in_dollars(self) -> Request:
        """A request that is paid in fUSDC by a quote of one for one, which holds longer than the history lasts."""
        amount = BaseUnits(10_000_000 * UNITS_OF_TOKEN)
        request = store_request(self.world.services, amount=amount, invoice_currency="USD")
        rate = Rate("USD", "fUSDC-sepolia", BaseUnits(1), BaseUnits(1), RateSource.CHAINLINK, GENESIS)
        self.store.write(Quote(request.request_id, 0, rate, GENESIS, GENESIS + timedelta(hours=1)))
        return request

    @property
    def requests(self) -> list[Request]:
        """As they were created."""
        return [request for payment in self.links for request in payment.requests] + self.alone

    def pay(self, request: int, amounts: list[int], payee: str = PAYEE) -> None:
        """One transaction, in a block of its own."""
        paid = self.requests[request % len(self.requests)]
        self.world.chain.mine()
        for amount in amounts:
            self.world.chain.pay_too(paid, amount=amount, payee=payee)

    def confirm(self, request: int, amounts: list[int]) -> None:
        """One transaction that is recorded at once."""
        self.pay(request, amounts)
        self.mine(2)
        self.tick()

    def confirm_and_die(self, request: int, amounts: list[int], write: int, after: bool) -> None:
        """One transaction; the process that finds it dies at a write of the scanner or the recorder."""
        self.pay(request, amounts)
        self.mine(2)
        self.die(write, after)

    def fork(self, depth: int, moved_by: int | None) -> None:
        parent = self.world.chain.blocks[-depth - 1]
        self.forks.append((parent, self.world.chain.fork(depth, moved_by)))

    def replace_first(self, depth: int) -> None:
        """A fork whose branch has the same transactions but the first one."""
        self.fork(depth, 0)
        blocks = self.world.chain.blocks[-depth:]
        next((block.logs for block in blocks if block.logs), list[Any]()).clear()

    def restore(self, index: int) -> None:
        """The branch of an earlier fork wins again, if its parent is still on the chain, with a block more."""
        if not self.forks:
            return
        parent, branch = self.forks[index % len(self.forks)]
        blocks = self.world.chain.blocks
        if parent.number < len(blocks) and blocks[parent.number] is parent:
            current = blocks[parent.number + 1 :]
            self.world.chain.restore(branch)
            self.world.chain.mine(max(len(current) - len(branch), 0) + 1)
            self.forks.append((parent, current))

    def mine(self, count: int) -> None:
        self.world.chain.mine(count)

    def tick(self) -> None:
        self.world.tick()

    def scan(self) -> None:
        """A tick whose hints wait."""
        scan_chain(self.world.services, '{"network": "sepolia"}')

    def lose_hints(self) -> None:
        self.world.queue.messages.clear()

    def die(self, write: int, after: bool) -> None:
        """The process dies at a write of a tick, or of the recorder; another one starts."""
        self.store.dies_at(write, after)
        with suppress(Crash):
            self.tick()
        self.store.restart()

    def wait(self) -> None:
        """Leases end, and the sweep runs."""
        self.world.advance(LEASE.total_seconds())
        flows.queue_overdue(self.world.services)

    def settle(self) -> None:
        """Nothing new happens until all blocks are read and all is recorded."""
        for _ in range(6):
            self.world.chain.mine(4)
            self.wait()
            self.tick()
        self.wait()
        self.world.record()
        cursor = scan_store.cursor(self.store, "sepolia")
        assert cursor is not None
        assert cursor.scanned_to == len(self.world.chain.blocks) - 2
        assert list(scan_store.payables_with_work(self.store, self.world.now, 1000, 0)) == []
        check_sequences(self.store.notified)


AMOUNTS = st.sampled_from([10_000_000, 1, 25_000_000, 4_000_000, 5_000])
DEATHS = st.integers(2, 8), st.booleans()
STEPS = st.one_of(
    st.tuples(st.just("pay"), st.integers(0, 5), st.lists(AMOUNTS, min_size=1, max_size=3)),
    st.tuples(st.just("pay"), st.integers(0, 5), st.lists(AMOUNTS, min_size=1, max_size=2), st.just(STRANGER)),
    st.tuples(st.just("confirm"), st.integers(0, 5), st.lists(AMOUNTS, min_size=1, max_size=2)),
    st.tuples(st.just("confirm"), st.integers(0, 5), st.lists(AMOUNTS, min_size=1, max_size=2)),
    st.tuples(
        st.just("confirm_and_die"), st.integers(0, 5), st.lists(AMOUNTS, min_size=1, max_size=2), *DEATHS
    ),
    st.tuples(st.just("fork"), st.integers(1, 8), st.sampled_from([None, 0, 1, 3])),
    st.tuples(st.just("fork"), st.integers(2, 5), st.none()),
    st.tuples(st.just("replace_first"), st.integers(3, 8)),
    st.tuples(st.just("restore"), st.integers(0, 5)),
    st.tuples(st.just("mine"), st.integers(1, 4)),
    st.tuples(st.just("tick")),
    st.tuples(st.just("tick")),
    st.tuples(st.just("scan")),
    st.tuples(st.just("lose_hints")),
    st.tuples(st.just("die"), *DEATHS),
    st.tuples(st.just("wait")),
)


def transfers_on_the_chain(history: History) -> dict[str, list[tuple[str, int]]]:
    """The (block hash, amount) of each transfer to the payee in a confirmed block, by request."""
    topics = {topic: request.request_id for topic, request in requests_by_topic(history.requests).items()}
    found: dict[str, list[tuple[str, int]]] = {request.request_id: [] for request in history.requests}
    for block in history.world.chain.blocks[:-1]:
        for transfer in transfers_of("sepolia", block.logs):
            if transfer.payee == PAYEE.lower():
                found[topics[transfer.reference_topic]].append((transfer.block_hash, transfer.amount))
    return found


def check(history: History) -> None:
    on_chain = transfers_on_the_chain(history)
    for payment in map(history.world.load, history.links):
        for request in payment.requests:
            check_request(history, request, on_chain[request.request_id])
        is_paid = all(request.status is RequestStatus.PAID for request in payment.requests)
        assert payment.link.status is (LinkStatus.COMPLETED if is_paid else LinkStatus.PENDING)
        assert (payment.link.completed_at is not None) == is_paid
    for request in history.alone:
        check_request(history, load_request(history.world.services, request), on_chain[request.request_id])
    check_list(history)


def check_list(history: History) -> None:
    """The account's list of payments adds up to what its requests are paid, per token; so do the daily counts.

    Requests are counted by their status.
    """
    store, account_id = history.store, history.world.account_id
    every = Span(Named("by_account", list_of(account_id, PAYMENT)))
    standing = [each for each in store.newest(Payment, every, 1000).records if each.status is PaymentStatus.CONFIRMED]
    listed, paid = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for each in standing:
        listed[each.currency, each.invoice_currency] += each.value
    for created in history.requests:
        request = load_request(history.world.services, created)
        paid[request.currency, request.invoice_currency or request.currency] += request.paid - request.dust_amount
    assert +listed == +paid
    daily = store.query(DailyCount, DailyCount.KEY.all(account_id=account_id, series=ACCOUNT))
    assert sum(sum(each.counts.values()) for each in daily) == len(standing)
    by_status = Counter[str]()
    for each in store.query(DailyCount, DailyCount.KEY.all(account_id=account_id, series=series_of(None))):
        by_status.update(each.counts)
    assert +by_status == Counter(load_request(history.world.services, each).status for each in history.requests)


def check_request(history: History, request: Request, transfers: list[tuple[str, int]]) -> None:
    units = UNITS_OF_TOKEN if request.invoice_currency else 1
    assert request.paid == units * sum(amount for _, amount in transfers)
    expected = RequestStatus.PARTIALLY_PAID if request.paid else RequestStatus.CREATED
    assert request.status is (RequestStatus.PAID if request.paid >= request.amount else expected)
    listed = history.store.query(Payment, Payment.KEY.all(request_id=request.request_id))
    standing = [each for each in listed if each.status is PaymentStatus.CONFIRMED]
    assert sum(each.value for each in standing) + request.dust_amount == request.paid
    assert {(each.account_id, each.currency, each.invoice_currency) for each in listed} <= {
        (request.account_id, request.currency, request.invoice_currency or request.currency)
    }
    assert all(each.value == units * each.amount for each in listed)
    assert len(standing) + request.dust_count == len(transfers)
    assert request.payment_count in (len(listed), None if not listed else -1)
    assert request.confirmed_count == len(standing) and request.counted_as is request.status
    assert not Counter((each.block_hash, each.amount) for each in standing) - Counter(transfers)
    check_events(history, request, standing)


def check_events(history: History, request: Request, standing: list[Payment]) -> None:
    """Every payment that was told and vanished has a correction; what stands and was told has none.

    A payment that was not told has a correction only if the request was told to be paid and is not any more without it.
    """
    bodies = [json.loads(event.body) for event in history.store.notified]
    own = [body for body in bodies if body["requestId"] == request.request_id and body["event"] != "payment.unexpected"]
    balance, is_notified_as_paid = Counter[str](), False
    for body in own:
        if body["event"] == "payment.failed" and not balance[body["txHash"]]:
            assert is_notified_as_paid, "no correction comes before what it corrects"
        else:
            balance[body["txHash"]] += -1 if body["event"] == "payment.failed" else 1
        is_notified_as_paid = is_notified_as_paid or body["event"] == "payment.confirmed"
    assert +balance == Counter(each.tx_hash for each in standing if each.is_announced)
    if request.status is RequestStatus.PAID and not request.dust_count:
        notified = [body["txHash"] for body in own if body["event"] == "payment.confirmed"]
        assert any(each.tx_hash in notified for each in standing if each.is_announced)


FORK_AFTER_A_DEATH: list[tuple[Any, ...]] = [
    ("confirm_and_die", 4, [5000], 7, False),
    ("pay", 4, [10_000_000]),
    ("die", 4, False),
    ("fork", 4, None),
]
"""The tick before the fork dies between writing work for a payment, which it has read again, and moving the cursor."""


@pytest.mark.parametrize("small_payments", [1, 100])
@example(steps=FORK_AFTER_A_DEATH)
@settings(max_examples=HISTORIES // 2, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=4, max_size=20))
def test_after_any_history_the_totals_the_statuses_and_the_events_are_those_of_the_chain(
    small_payments: int, steps: list[tuple[Any, ...]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MAX_SMALL_PAYMENTS", small_payments)
        history = History()
        for name, *arguments in steps:
            note(f"{name} {arguments}, {len(history.world.chain.blocks)} blocks")
            getattr(history, name)(*arguments)
        history.settle()
        check(history)
