"""What is asked of the router, what not, and what is learnt from its answers."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.crosschain.service.router.asking import ask
from chalicelib.crosschain.service.router.circuit import OPEN_AFTER, PROBE_LEASE, probing
from chalicelib.crosschain.service.router.records import RouterCircuit
from chalicelib.crosschain.service.router.rules import Purpose
from chalicelib.crosschain.service.router.store import find_answers
from chalicelib.platform.outbound.lifi import QuoteCall, RouterStep, RouterUnavailable
from chalicelib.platform.storage.store import Throttled
from tests.fakes.world import World

from .routes import question, wanted

PURPOSE = Purpose("acct", "link")


def asked(world: World, times: int = 1) -> list[Any]:
    _, circuit = find_answers(world.services.store, [])
    return ask(world.services, [question(wanted())] * times, PURPOSE, circuit, world.now)


def waits(answers: list[Any]) -> list[int | None]:
    return [each.retry_after if isinstance(each, RouterUnavailable) else None for each in answers]


def logged(world: World, monkeypatch: pytest.MonkeyPatch, level: str) -> list[tuple[str, dict[str, Any]]]:
    found = list[tuple[str, dict[str, Any]]]()
    monkeypatch.setattr(world.services.log, level, lambda message, extra: found.append((message, extra)))
    return found


def test_an_open_circuit_tells_the_seconds_rounded_up(world: World) -> None:
    world.router.trouble = RouterUnavailable("busy", 60)
    assert waits(asked(world)) == [60]
    world.now += timedelta(seconds=0.5)
    assert waits(asked(world, 2)) == [60, 60]
    world.now += timedelta(seconds=59)
    assert waits(asked(world)) == [1]
    world.router.trouble = None
    world.now += timedelta(seconds=0.5)
    assert isinstance(asked(world)[0], RouterStep), "for as long as the router asked, and no longer"
    assert len(world.router.calls) == 2


def test_the_operator_is_told_that_the_circuit_opened_and_of_each_failure_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors, warnings = logged(world, monkeypatch, "error"), logged(world, monkeypatch, "warning")
    asked(world)
    assert (errors, warnings) == ([], [])
    world.router.trouble = RouterUnavailable("down")
    for count in range(1, OPEN_AFTER + 1):
        asked(world)
        assert [message for message, _ in errors] == (["router circuit opened"] if count == OPEN_AFTER else [])
    assert warnings == [("router did not answer", {"reasons": ["down"]})] * OPEN_AFTER
    assert errors[0][1]["until"] > world.now.isoformat()


def test_who_loses_the_race_to_probe_asks_nothing(world: World) -> None:
    world.router.trouble = RouterUnavailable("busy", 60)
    asked(world)
    world.advance(60)
    world.router.trouble = None
    _, circuit = find_answers(world.services.store, [])
    other = probing(circuit, world.now)
    assert other is not None
    world.services.store.write(other)
    answers = ask(world.services, [question(wanted())] * 2, PURPOSE, circuit, world.now)
    assert waits(answers) == [PROBE_LEASE.total_seconds()] * 2
    assert len(world.router.calls) == 1


def test_what_cannot_be_counted_is_not_asked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def throttled(*_: object) -> None:
        raise Throttled

    monkeypatch.setattr(world.services.store, "count", throttled)
    assert (waits(asked(world)), world.router.calls) == ([1], [])


def test_the_reasons_of_several_failures_are_told_once_and_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings = logged(world, monkeypatch, "warning")
    questions = [question(wanted(each)) for each in ("BASE", "OPTIMISM", "BASE", "ETHEREUM", "POLYGON", "BNB")]
    reasons = ["slow", "down", "slow", "busy", "late", "mute"]
    troubles = zip(questions, reasons, strict=True)
    world.router.trouble_by_chain = {asked.from_chain: RouterUnavailable(reason) for asked, reason in troubles}
    ask(world.services, questions, PURPOSE, None, world.now)
    assert warnings == [("router did not answer", {"reasons": ["busy", "down", "late", "mute", "slow"]})]


def test_twenty_questions_are_under_way_at_the_same_time_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, running, answer = threading.Lock(), [0, 0], world.router.quote_call

    def quote_call(asked: QuoteCall) -> RouterStep:
        with lock:
            running[0] += 1
            running[1] = max(running)
        time.sleep(0.2)
        with lock:
            running[0] -= 1
        return answer(asked)

    monkeypatch.setattr(world.router, "quote_call", quote_call)
    assert len(asked(world, 21)) == 21
    assert running == [0, 20]


def test_what_two_processes_learn_at_the_same_time_is_written_by_one(world: World) -> None:
    def meanwhile(answer: dict[str, Any]) -> dict[str, Any]:
        world.services.store.write(RouterCircuit(1, 0, None, world.now))
        return {}

    world.router.change = meanwhile
    (answer,) = asked(world)
    assert isinstance(answer, RouterUnavailable)
    _, circuit = find_answers(world.services.store, [])
    assert circuit is not None and circuit.failures == 1
