"""What is outside the service, with faults: tables, queues, receivers, keys, threads."""

import heapq
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from botocore.exceptions import ClientError

from chalicelib.base import parallel
from chalicelib.base.records import Key, Record
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.storage.queue import Message
from chalicelib.platform.storage.store import Write
from chalicelib.relayer.records import RelayedTransaction
from tests.fakes.crash import Crash
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PREFIX, PlainSecrets
from tests.simulation.chance import Chance


class SimulatedStore(MemoryStore):
    """Tables whose writers die and are overtaken. `digest` is a hash of every write, if `is_hashed`."""

    def __init__(self, chance: Chance, overtake: Callable[[], None], is_hashed: bool = False) -> None:
        super().__init__()
        self._chance, self._overtake = chance, overtake
        self._moments: list[tuple[datetime, Key]] = []
        self._open: set[Key] = set()
        self._networks = [each.name for each in ALL_NETWORKS]
        self.digest = sha256() if is_hashed else None

    def first_due(self) -> datetime | None:
        """When the first record is due."""
        while self._moments:
            at, key = self._moments[0]
            record = self._records.get(key)
            if record is not None and record.next_due == at:
                return at
            heapq.heappop(self._moments)
        return None

    def all_cursors(self) -> list[Cursor]:
        """How far each network is read."""
        return [found for network in self._networks if (found := self._records.get(Cursor.KEY.of(network=network)))]

    @property
    def open_transactions(self) -> int:
        """How many of the service's own transactions have no outcome yet."""
        return len(self._open)

    def _count(self, operation: str, *resources: str, calls: int = 1) -> None:
        """Nobody asks how many calls a run makes."""

    def _apply(self, *writes: Write) -> None:
        if self._chance.fires("overtaken"):
            self._overtake()
        if self._chance.fires("crash-before"):
            raise Crash
        super()._apply(*writes)
        if self._chance.fires("crash-after"):
            raise Crash

    def put_many(self, records: Iterable[Record]) -> None:
        listed = list(records)
        if len(listed) > 1 and self._chance.fires("half"):
            super().put_many(listed[: len(listed) // 2])
            raise Crash
        super().put_many(listed)

    def _put(self, key: Key, record: Any) -> None:
        super()._put(key, record)
        if record.next_due is not None:
            heapq.heappush(self._moments, (record.next_due, key))
        if isinstance(record, RelayedTransaction):
            (self._open.add if record.closed_at is None else self._open.discard)(key)
        if self.digest is not None:
            self.digest.update(repr(record).encode())


@dataclass(order=True)
class Waiting:
    due: datetime
    number: int
    queue: str = field(compare=False)
    body: str = field(compare=False)
    lineage: tuple[str, ...] = field(compare=False, default=())
    received: int = field(compare=False, default=0)


class SimulatedQueue:
    """SQS: at least once, in any order, now and then later; a message may be lost, as it is only a hint."""

    def __init__(self, chance: Chance, clock: Callable[[], datetime]) -> None:
        self._chance, self._clock, self._number = chance, clock, 0
        self.waiting: list[Waiting] = []
        self.lineage: tuple[str, ...] = ()

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        for message in messages:
            due = self._clock() + timedelta(seconds=message.delay)
            if self._chance.fires("lost"):
                continue
            if self._chance.fires("late"):
                due += timedelta(seconds=45)
            for _ in range(2 if self._chance.fires("twice") else 1):
                self.put(Waiting(due, 0, queue.removeprefix(f"{PREFIX}-"), message.text, self.lineage))

    def put(self, message: Waiting) -> None:
        self._number += 1
        message.number = self._number
        heapq.heappush(self.waiting, message)

    def take(self, until: datetime) -> Waiting | None:
        """The next message that is due by then."""
        return heapq.heappop(self.waiting) if self.waiting and self.waiting[0].due <= until else None

    @property
    def first_due(self) -> datetime | None:
        return self.waiting[0].due if self.waiting else None


@dataclass
class Receivers:
    """The endpoints of all merchants, by URL; `closed` are those that answer nothing for now."""

    chance: Chance
    clock: Callable[[], datetime]
    bodies: dict[str, list[tuple[datetime, str, bytes]]] = field(default_factory=dict)
    """By URL: when, the id of the delivery, and the body, of each request that was answered by 200."""
    closed: set[str] = field(default_factory=set)

    def check(self, url: str) -> None:
        return

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostResult:
        if url in self.closed or self.chance.fires("refuses"):
            return PostResult(500, None)
        if self.chance.fires("silent"):
            return PostResult(None, "no answer in time")
        self.bodies.setdefault(url, []).append((self.clock(), headers["x-service-delivery"], body))
        return PostResult(200, None)


class SimulatedKeys(PlainSecrets):
    """KMS, which throttles now and then."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def encrypt(self, text: str, owner: str) -> str:
        self._answer("Encrypt")
        return super().encrypt(text, owner)

    def decrypt(self, ciphertext: str, owner: str) -> str:
        self._answer("Decrypt")
        return super().decrypt(ciphertext, owner)

    decrypt_once = decrypt

    def _answer(self, operation: str) -> None:
        if self._chance.fires("keys"):
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, operation)


class Log:
    """Keeps the trace of what failed last, and nothing else."""

    trace = ""

    def exception(self, *_: Any, **__: Any) -> None:
        self.trace = traceback.format_exc()

    def __getattr__(self, name: str) -> Any:
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    return


class _Inline:
    """In the place of a pool of threads: each task is done when it is handed over, in the order of handing over."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def submit(self, act: Callable[..., Any], *args: Any) -> "futures.Future[Any]":
        done: futures.Future[Any] = futures.Future()
        try:
            done.set_result(act(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, **_: Any) -> None: ...


@contextmanager
def without_threads() -> Iterator[None]:
    """Threads would take their turns as the machine likes."""
    before = futures.ThreadPoolExecutor
    futures.ThreadPoolExecutor = _Inline  # type: ignore[misc, assignment]
    parallel._pool.cache_clear()
    try:
        yield
    finally:
        futures.ThreadPoolExecutor = before  # type: ignore[misc]
        parallel._pool.cache_clear()
