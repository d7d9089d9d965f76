"""Ten thousand payouts that are due at once: how they are fanned out, in calls and in assumed seconds, and one's cost."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.recurring import copy_of
from chalicelib.recurring import running
from chalicelib.recurring.records import RecurringPayment
from chalicelib.relayer.records import Reverts
from chalicelib.relayer.reverts import payer_name
from tests.fakes.crash import Guarded
from tests.fakes.recurring import Recurring

DUE = 10_000
SECONDS = {"store": 0.02, "queue": 0.03, "node": 0.25}
"""Assumed for one call to DynamoDB, SQS for ten messages, and the node, each slower than usual."""
CONCURRENCY = 10
"""How many messages are worked at at the same time, as in app.py."""


class Stopwatch:
    """Counts calls, and adds what they take to the virtual clock."""

    def __init__(self, shop: Recurring, kind: str) -> None:
        self._shop, self._kind = shop, kind

    def guard(self, call: Any) -> Any:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            calls = -(-len(args[1]) // 10) if self._kind == "queue" else 1
            self._shop.calls[self._kind] += calls  # type: ignore[attr-defined]
            self._shop.world.now += timedelta(seconds=calls * SECONDS[self._kind])
            return call(*args, **kwargs)

        return guarded


class Crowd(Recurring):
    def __init__(self, count: int) -> None:
        super().__init__(relayer_daily_limits={"sepolia": "1000000"})
        self.calls: Counter[str] = Counter()
        made = self.start(total_payments=2)
        found = self.load(made)
        (original,) = self.store.all(Request)
        for number in range(1, count):
            request = copy_of(original, self.world.now, self.services.entropy)
            copied = replace(found, recurring_id=f"{number:026}", request_id=request.request_id, version=0)
            self.store._put(copied.key, copied)
            self.store._put(request.key, request)
        payer = payer_name(found.permit.subscriber)
        self.services.store.write(Reverts("sepolia", payer, 0, self.world.now, successes=400))
        self.world.queue.messages.clear()
        self.world.advance(60)

    def timed(self) -> Any:
        services = self.services
        stored = ("get", "get_many", "query", "query_mixed", "page", "write", "put_many")
        store = Guarded(self.store, stored, Stopwatch(self, "store"))
        chain = Guarded(self.world.chain, ("read_account", "run_each", "send_raw", "read_wallet", "read_funds"), Stopwatch(self, "node"))
        chains = SimpleNamespace(of=lambda name: chain, evm=lambda name: chain, networks=("sepolia",))
        return replace(services, store=store, queue=Guarded(services.queue, ("send",), Stopwatch(self, "queue")), chains=chains)

    def seconds_of(self, work: Any) -> float:
        begun = self.world.now
        work()
        return (self.world.now - begun).total_seconds()


def test_ten_thousand_are_handed_out_in_one_tick_and_no_function_takes_a_minute() -> None:
    crowd = Crowd(DUE)
    assert len(crowd.store.all(RecurringPayment)) == DUE
    services = crowd.timed()
    before = sum(crowd.store.calls.values())
    assert crowd.seconds_of(lambda: running.start_due(services)) < 10
    assert sum(crowd.store.calls.values()) - before == 8, "one query for each shard of the index"
    messages = [each for each in crowd.world.queue.messages if each.queue.endswith("recurring")]
    bodies = [json.loads(each.body) for each in messages]
    named = [name for body in bodies for name in body["recurring"]]
    assert len(messages) == DUE // running.PER_MESSAGE and len(set(named)) == DUE
    crowd.calls.clear()
    sample = messages[::100]
    seconds = [crowd.seconds_of(lambda each=each: running.execute_recurring(services, each.body)) for each in sample]
    assert max(seconds) < 6
    assert sum(seconds) / len(seconds) * len(messages) / CONCURRENCY < 5 * 60, "all of them are submitted in five minutes"
    rest = crowd.calls["store"] - 16 * len(sample)
    of_open = 2 * (len(sample) - 1)
    assert of_open < rest <= of_open + len(sample), "for ten payouts: three reads, ten writes, three of the relayer"
    once = 1  # for the first nonce that the account ever has
    assert crowd.calls["node"] == 4 * len(sample) + once, "with one for what their payer has, which is the same of all"
    sent = [each for each in crowd.store.all(RecurringPayment) if each.sent_at is not None]
    assert len(sent) == 10 * len(sample) == len(crowd.world.chain.mempool.sent)


def test_a_second_tick_hands_out_again_what_is_waiting_and_nothing_is_done_twice() -> None:
    crowd = Crowd(30)
    for _ in range(2):
        running.start_due(crowd.services)
    messages = [each for each in crowd.world.queue.messages if each.queue.endswith("recurring")]
    assert len(messages) == 6
    for each in messages:
        running.execute_recurring(crowd.services, each.body)
    assert len({raw.nonce for raw in crowd.world.chain.mempool.sent}) == 30 == len(crowd.world.chain.mempool.sent)
