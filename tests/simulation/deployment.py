"""A deployment on simulated ports: views, workers and schedules as app.py lists them, each in containers of its own."""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

from app import SCHEDULES, Schedule, build, consumers, import_work
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import continue_chain
from chalicelib.platform.storage.sweeping import SweepIncomplete
from infra.local.gateway import Router
from infra.recursion import RECURSIVE
from tests.fakes.crash import Crash
from tests.fakes.escrows import CONTRACTS
from tests.fakes.mails import SENDER
from tests.fakes.prices import FakePrices
from tests.fakes.world import MOST_INVOCATIONS, PREFIX, START, World
from tests.simulation.chain import CONFIRMATIONS, MINUTE, FaultyNode, SimulatedChain, SimulatedChains
from tests.simulation.chance import Chance
from tests.simulation.ports import Log, Receivers, SimulatedKeys, SimulatedQueue, SimulatedStore, Waiting

NETWORKS = ("sepolia", "base", "arbitrum-one", "mainnet")
VISIBILITY = timedelta(seconds=90)
_work = cache(import_work)
MOST_RECEIVED = 5
"""After so many failures a message is in the dead letter queue."""
REPEATED = (timedelta(minutes=10), timedelta(hours=6))
"""When blocks are read again (payments/scanning/rules.py)."""


@dataclass(frozen=True)
class Answer:
    """A response. Its status is 0 if the process died, or the response was lost."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Deployment:
    """The service at `now`. `dead` are messages in dead letter queues, `unexpected` what must not happen at all."""

    def __init__(self, chance: Chance, is_hashed: bool = False, **settings: Any) -> None:
        self.chance, self._overtaking = chance, False
        self.chains = {name: SimulatedChain(name, chance.seed, START) for name in NETWORKS}
        self.nodes = {name: tuple(FaultyNode(each, chance) for _ in range(2)) for name, each in self.chains.items()}
        self.store = SimulatedStore(chance, self._overtake, is_hashed)
        self.dead, self.unexpected = list[Waiting](), list[str]()
        self.failed = Counter[str]()
        """How often each function failed."""
        self.ticks = 0
        known: dict[str, Any] = {"confirmations": dict.fromkeys(NETWORKS, CONFIRMATIONS), "scan_interval_seconds": 60, "safe_service_urls": {}}
        known["mail_sender"] = SENDER
        known |= {"relayer_keys": {"sepolia": "secret", "base": "secret"}, "escrow_contracts": {"sepolia": CONTRACTS}}
        self.world = World(object(), SimulatedChains(self.nodes, lambda: START), chance.seed, **{**known, **settings})
        self.queue = SimulatedQueue(chance, self.world.clock)
        self.receivers = Receivers(chance, self.world.clock)
        self.log, self.prices = Log(), FakePrices(self.world.clock)
        for chain in self.chains.values():
            chain.prices = self.prices
        self._containers: dict[str, Services] = {}
        self._consumers = {each.queue.removeprefix(f"{PREFIX}-"): each for each in consumers(self.world.services.settings)}
        self._app = build(self.world.services.settings, lambda: self.container("api_handler"))
        self._router = Router(list(self._app.routes))

    @property
    def now(self) -> datetime:
        return self.world.now

    def container(self, function: str) -> Services:
        """The services of a function's process; a new process after a crash."""
        if function not in self._containers:
            services: Any = replace(
                self.world.services,
                store=self.store,
                queue=self.queue,
                secrets=SimulatedKeys(self.chance),
                sender=self.receivers,
                chains=SimulatedChains(self.nodes, self.world.clock),
                log=self.log,
                prices=self.prices,
                entropy=self.chance.entropy,
                read_networks=set(),
                last_uses={}, dollar_rates={}, shown_rates={}, stops={}, own_accounts={},
            )  # fmt: skip
            self._containers[function] = services
        return self._containers[function]

    # --- what callers do ---

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """A request through API Gateway and the whole pipeline."""
        path, _, query = path.partition("?")
        matched = self._router.match(path)
        assert matched is not None, path
        event = self._event(method, path, query, matched, body, dict(headers or {}))
        happened = len(self.chance.happened)
        try:
            response: Mapping[str, Any] = self._app(event, None)
        except Crash:
            self._containers.pop("api_handler", None)
            return Answer(0, None)
        text = response["body"]
        answer = Answer(response["statusCode"], json.loads(text) if text else None)
        if answer.status == 500 and len(self.chance.happened) == happened:
            self.unexpected.append(f"500 of {method} {path}: {self.log.trace[-700:]}")
        return answer

    def _event(
        self, method: str, path: str, query: str, matched: tuple[str, dict[str, str]], body: Any, headers: dict[str, str]
    ) -> dict[str, Any]:
        values = parse_qs(query, keep_blank_values=True)
        sent = {"content-type": "application/json", **headers} if body is not None else headers
        context = {
            "resourcePath": matched[0],
            "httpMethod": method,
            "path": path,
            "requestId": self.chance.work,
            "stage": "local",
            "domainName": "api.example",
            "identity": {"sourceIp": "203.0.113.7", "userAgent": None},
        }
        return {
            "resource": matched[0],
            "path": path,
            "httpMethod": method,
            "headers": sent,
            "multiValueHeaders": {name: [value] for name, value in sent.items()},
            "queryStringParameters": {name: each[-1] for name, each in values.items()} or None,
            "multiValueQueryStringParameters": values or None,
            "pathParameters": matched[1] or None,
            "stageVariables": None,
            "requestContext": context,
            "body": None if body is None else json.dumps(body),
            "isBase64Encoded": False,
        }

    # --- what time does ---

    def next_minute(self) -> datetime:
        return self.now.replace(second=0, microsecond=0) + MINUTE

    def due(self) -> datetime | None:
        """The next minute whose schedules have something to do; None if nothing is left. Only what is stored or on a
        chain decides, so that a minute that is skipped would have changed nothing."""
        moments = list(self._moments())
        if not moments:
            return None
        first = min(moments)
        minute = first.replace(second=0, microsecond=0)
        return max(self.next_minute(), minute if minute == first else minute + MINUTE)

    def _moments(self) -> Iterator[datetime]:
        if (first := self.store.first_due()) is not None:
            yield first
        if any(chain.pool or chain.soon or chain.mempool.waiting for chain in self.chains.values()):
            yield self.now
        if self.store.open_transactions:
            yield self.now
        cursors = {each.network: each for each in self.store.all_cursors()}
        for name, chain in self.chains.items():
            if chain.logged:
                yield from self._readings(chain, cursors.get(name))

    def _readings(self, chain: SimulatedChain, cursor: Cursor | None) -> Iterator[datetime]:
        """When blocks with logs are read, and read again."""
        if cursor is None or cursor.scanned_to < chain.logged[-1]:
            yield self.now
            return
        for each, delay in zip(cursor.verifications, REPEATED, strict=False):
            following = bisect_right(chain.logged, each.verified_to)
            if following < len(chain.logged) and chain.logged[following] <= each.target:
                yield each.target_at + delay
            elif chain.logged[-1] > each.verified_to:
                yield self.now + delay

    def move_to(self, moment: datetime) -> None:
        """Lets time pass, and with it blocks, whatever is due meanwhile."""
        self.world.now = max(self.now, moment)
        for chain in self.chains.values():
            chain.pass_to(self.now.replace(second=0, microsecond=0))

    def tick(self, minute: datetime) -> None:
        """A minute begins: blocks, schedules."""
        self.move_to(minute)
        self.ticks += 1
        since = int((minute - START) / MINUTE)
        for schedule in SCHEDULES:
            if since % schedule.minutes == 0:
                with self.chance.working(f"{schedule.name}/{since}"):
                    self._run(schedule)

    def _run(self, schedule: Schedule) -> None:
        self._guarded(schedule.name, lambda services: _work(schedule.work)(services))

    def _guarded(self, function: str, work: Callable[[Services], Any]) -> bool:
        """Runs what a function does; returns False if its process died or failed."""
        happened = len(self.chance.happened)
        try:
            work(self.container(function))
        except Crash:
            self._containers.pop(function, None)
            return False
        except SweepIncomplete:
            return False
        except Exception as error:
            self.failed[function] += 1
            if len(self.chance.happened) == happened:
                self.log.exception()
                self.unexpected.append(f"{function} failed: {type(error).__name__}: {error}: {self.log.trace[-700:]}")
            return False
        return True

    def consume(self, message: Waiting) -> None:
        """Runs the consumer of a message; if that fails, it returns after the visibility timeout."""
        consumer = self._consumers[message.queue]
        work = f"{message.queue}/{sha256(message.body.encode()).hexdigest()[:12]}/{self.now:%d%H%M%S}"
        lineage = (*message.lineage, consumer.name)
        if consumer.name not in RECURSIVE:
            assert lineage.count(consumer.name) <= MOST_INVOCATIONS, f"AWS Lambda would end this chain: {lineage}"
        before, self.queue.lineage = self.queue.lineage, lineage
        with self.chance.working(work), continue_chain(message.body):
            done = self._guarded(consumer.name, lambda services: _work(consumer.work)(services, message.body))
        self.queue.lineage = before
        if not done:
            again = replace(message, due=self.now + VISIBILITY, received=message.received + 1)
            if again.received < MOST_RECEIVED:
                self.queue.put(again)
            else:
                self.dead.append(again)

    def consume_until(self, moment: datetime) -> None:
        """Runs what is due up to a moment, each at its time."""
        while (message := self.queue.take(moment)) is not None:
            self.move_to(message.due)
            self.consume(message)

    def _overtake(self) -> None:
        """Another worker does what is due now, before a write; what it does is not overtaken itself."""
        if not self._overtaking and (message := self.queue.take(self.now)) is not None:
            self._overtaking = True
            try:
                self.consume(message)
            finally:
                self._overtaking = False
