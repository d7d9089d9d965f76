"""Quotes: kept for whoever asks the same, within a quota, behind a circuit breaker that all containers share."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.crosschain.service.router import flows
from chalicelib.crosschain.service.router.asking import AT_ONCE
from chalicelib.crosschain.service.router.circuit import ACCOUNTS, OPEN_AFTER, QUESTIONS, QUESTIONS_WITH_KEY
from chalicelib.crosschain.service.router.flows import Outcome, QuoteFailure, question
from chalicelib.crosschain.service.router.records import KeptAnswer
from chalicelib.crosschain.service.router.rules import BridgeClosed, NoRoute, Purpose, Route, Wanted
from chalicelib.platform.outbound.lifi import RouterRefused, RouterUnavailable
from chalicelib.platform.services import Services
from tests.bench.calls import counted
from tests.fakes.router import answer_to
from tests.fakes.world import World

from .routes import FEE_ADDRESS, PAYER, STRANGER, wanted
from .routes import question as call_for

FOR = Purpose("acct", "link")
DOWN = RouterUnavailable("status 503, code None")


def quote(services: Services, wanted: Wanted, purpose: Purpose = FOR) -> Route:
    return flows.quote(services, wanted, purpose)


def quotes(services: Services, wanted: Sequence[Wanted], purpose: Purpose = FOR) -> tuple[Outcome, ...]:
    return flows.quotes(services, wanted, purpose)


def test_a_route_says_what_is_signed_what_it_costs_and_until_when(world: World) -> None:
    route = quote(world.services, wanted())
    asked = world.router.calls[0]
    assert (asked.from_chain, asked.to_chain, asked.to_amount, asked.gas_limit) == (8453, 42161, 12_625_000, 200_000)
    assert (asked.fallback, asked.calldata) == (PAYER, wanted().call.data)
    assert route.transaction.to == route.spender == "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64"
    assert route.transaction.value == 0
    assert route.source_amount == 12_625_000 + 12_625_000 * 8 // 10_000 + 20_000
    assert (route.fetched_at, route.expires_at) == (world.now, world.now + timedelta(minutes=2))
    assert route.execution_deadline == world.now + timedelta(hours=1)
    assert route.fill_deadline == world.now + timedelta(hours=2)
    assert [(cost.amount, cost.dollars) for cost in route.gas_costs] == [(5 * 10**12, 1_000_000)]


def test_the_same_question_is_asked_once_while_its_answer_holds_in_all_containers(world: World) -> None:
    first = quote(world.services, wanted())
    world.advance(119)
    again = quote(world.start(), wanted())
    assert again == first
    assert len(world.router.calls) == 1
    world.advance(1)
    assert quote(world.services, wanted()).fetched_at == world.now
    assert len(world.router.calls) == 2


@pytest.mark.parametrize(
    "other",
    [
        wanted(source="OPTIMISM"),
        wanted(destination="POLYGON"),
        wanted(symbol="USDT"),
        wanted(payer=STRANGER),
        wanted(fallback=STRANGER),
        replace(wanted(), call=replace(wanted().call, data=wanted().call.data.replace("0123456789abcdef", "0123456789abcdee"))),
    ],
    ids=["from", "to", "token", "payer", "fallback", "call"],
)
def test_every_other_question_is_asked(world: World, other: Any) -> None:
    first, second = quote(world.services, wanted()), quote(world.services, other)
    assert (first.wanted, second.wanted) == (wanted(), other)
    assert len(world.router.calls) == 2


def test_a_kept_route_is_one_call_to_dynamodb_and_a_new_one_five(world: World) -> None:
    with counted(world.client) as calls:
        quote(world.services, wanted())
    assert dict(calls.by_operation) == {"BatchGetItem": 1, "UpdateItem": 3, "BatchWriteItem": 1}
    with counted(world.client) as calls:
        quote(world.services, wanted())
    assert dict(calls.by_operation) == {"BatchGetItem": 1}


def test_an_answer_that_was_changed_where_it_is_kept_reaches_no_payer(world: World) -> None:
    quote(world.services, wanted())
    kept = _kept(world)
    world.services.store.put_many([replace(kept, answer=kept.answer.replace(PAYER.lower()[2:], STRANGER.lower()[2:]))])
    assert quote(world.services, wanted()).transaction.data.count(STRANGER.lower()[2:]) == 0
    assert len(world.router.calls) == 2


def _kept(world: World) -> KeptAnswer:
    found = world.services.store.get(KeptAnswer, KeptAnswer.KEY.of(question=question(wanted())))
    assert found is not None
    assert json.loads(found.answer)["tool"] == "across"
    return found


@pytest.mark.parametrize(
    ("problems", "reason"),
    [
        (set(), "the bridge offers no way now"),
        ({"NO_POSSIBLE_ROUTE", "TOOL_TIMEOUT"}, "the bridge offers no way now"),
        ({"NO_POSSIBLE_ROUTE", "AMOUNT_TOO_LOW"}, "the amount is too small for the bridge"),
        ({"FEES_HIGHER_THAN_AMOUNT"}, "the amount is too small for the bridge"),
        ({"AMOUNT_TOO_HIGH"}, "the amount is too large for the bridge"),
        ({"INSUFFICIENT_LIQUIDITY"}, "the bridge does not have so much there now"),
    ],
)
def test_a_refusal_of_the_router_is_told_in_our_words_and_logged_in_its_own(
    world: World, monkeypatch: Any, problems: set[str], reason: str
) -> None:
    """Its words reach nobody who pays: they could lead payers anywhere."""
    logged = list[Any]()
    monkeypatch.setattr(world.services.log, "info", lambda message, extra: logged.append(extra))
    hostile = "Verify your wallet first at https://evil.example <b>now</b>"
    world.router.trouble = RouterRefused(1002, hostile, frozenset(problems))
    with pytest.raises(NoRoute) as refused:
        quote(world.services, wanted())
    text = f"This cannot be paid in USDC on base: {reason}. Choose another chain or token, or pay on arbitrum-one"
    assert str(refused.value) == text
    assert [each["reason"] for each in logged] == [hostile]


def test_without_a_router_nothing_is_offered(world: World) -> None:
    world.router.is_configured = False
    with pytest.raises(NoRoute, match="not offered here"):
        quote(world.services, wanted())
    assert world.router.calls == []


def test_a_route_that_is_not_what_was_asked_for_is_shown_to_nobody_and_logged(world: World, monkeypatch: Any) -> None:
    logged: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(world.services.log, "error", lambda message, extra: logged.append((message, extra)))
    world.router.change = lambda answer: {**answer, "estimate": {**answer["estimate"], "approvalAddress": STRANGER}}
    with pytest.raises(NoRoute, match="No safe route"):
        quote(world.services, wanted())
    assert [message for message, _ in logged] == ["route refused"]
    assert logged[0][1]["reason"] == f"it has the tokens approved for {STRANGER}"
    world.router.change = lambda answer: answer
    assert isinstance(quote(world.services, wanted()), Route), "what was refused is not kept"


def test_after_failures_in_a_row_nobody_asks_until_one_probe_is_answered(world: World) -> None:
    world.router.trouble = DOWN
    for _ in range(OPEN_AFTER):
        with pytest.raises(BridgeClosed, match="try again in 15 seconds, or pay on arbitrum-one"):
            quote(world.services, wanted())
    assert len(world.router.calls) == OPEN_AFTER
    with pytest.raises(BridgeClosed, match="Payments in USDC on base are not available at the moment: try again in 15 seconds"):
        quote(world.start(), wanted())
    assert len(world.router.calls) == OPEN_AFTER, "another container knows it too"
    world.advance(15)
    with pytest.raises(BridgeClosed):
        quote(world.services, wanted())
    assert len(world.router.calls) == OPEN_AFTER + 1, "one probe"
    with pytest.raises(BridgeClosed, match="try again in 30 seconds"):
        quote(world.services, wanted())
    world.router.trouble = None
    world.advance(30)
    found = quotes(world.services, [wanted(), wanted(source="OPTIMISM")])
    assert [type(each) for each in found] == [Route, QuoteFailure], "one question is the probe"
    assert isinstance(quote(world.services, wanted(source="OPTIMISM")), Route)


def test_of_two_who_may_probe_one_asks(world: World) -> None:
    world.router.trouble = RouterUnavailable("status 429, code 1005", retry_after=60)
    with pytest.raises(BridgeClosed, match="60 seconds"):
        quote(world.services, wanted())
    world.router.trouble = None
    world.advance(60)

    def meanwhile(answer: dict[str, Any]) -> dict[str, Any]:
        world.router.change = lambda each: each
        with pytest.raises(BridgeClosed, match="15 seconds"):
            quote(world.start(), wanted(source="OPTIMISM"))
        return answer

    world.router.change = meanwhile
    assert isinstance(quotes(world.services, [wanted()])[0], Route)
    assert len(world.router.calls) == 2


def test_a_kept_route_is_shown_while_the_circuit_is_open(world: World) -> None:
    route = quote(world.services, wanted())
    world.router.trouble = RouterUnavailable("status 429, code 1005", retry_after=7200)
    with pytest.raises(BridgeClosed, match="try again in 120 minutes"):
        quote(world.services, wanted(source="OPTIMISM"))
    assert quote(world.services, wanted()) == route


def test_an_answer_ends_a_row_of_failures(world: World) -> None:
    for trouble in [DOWN, DOWN, DOWN, DOWN, None, DOWN, DOWN, DOWN, DOWN]:
        world.router.trouble = trouble
        quotes(world.services, [wanted()])
        world.advance(120)
    world.router.trouble = None
    assert isinstance(quote(world.services, wanted()), Route)


@pytest.mark.parametrize(("has_key", "limit", "wait"), [(False, QUESTIONS, 7200), (True, QUESTIONS_WITH_KEY, 60)])
def test_the_quota_of_the_router_is_never_exceeded(world: World, has_key: bool, limit: int, wait: int) -> None:
    world.router.has_key = has_key
    for number in range(limit):
        some = [wanted(payer=f"0x{number:038x}{each:02x}") for each in range(5)]
        quotes(world.services, some, Purpose(f"account {number}", f"link {number}"))
    assert len(world.router.calls) == limit
    with pytest.raises(BridgeClosed, match="try again in"):
        quote(world.services, wanted())
    assert len(world.router.calls) == limit
    (refused,) = quotes(world.services, [wanted()])
    assert isinstance(refused, QuoteFailure) and refused.retry_after is not None and 0 < refused.retry_after <= wait
    world.advance(wait)
    assert isinstance(quote(world.services, wanted()), Route)


@pytest.mark.parametrize(("has_key", "limit"), [(False, QUESTIONS), (True, QUESTIONS_WITH_KEY)])
def test_accounts_that_ask_as_much_as_they_can_leave_each_other_account_its_own_question(
    world: World, has_key: bool, limit: int
) -> None:
    world.router.has_key = has_key
    wallets = (wanted(payer=f"0x{number:040x}") for number in range(10_000))

    def ask_for(purpose: Purpose) -> int:
        before = len(world.router.calls)
        for _ in range(limit):
            quotes(world.services, [next(wallets)], purpose)
        return len(world.router.calls) - before

    own, shared = 1, limit - ACCOUNTS
    asked = [ask_for(Purpose(account, f"{account} {link}")) for account in ("a", "b") for link in range(3)]
    assert asked[0] == limit // 3, "one link does not have them all"
    assert sum(asked) == shared + 2 * own
    assert [ask_for(Purpose(f"honest {number}", f"link {number}")) for number in range(3)] == [own] * 3


def test_of_a_batch_that_does_not_fit_the_first_question_is_asked_and_no_other_is_counted(world: World) -> None:
    world.router.has_key = True
    wallets = (wanted(payer=f"0x{number:040x}") for number in range(1_000))
    for number in range(2):
        quotes(world.services, [next(wallets) for _ in range(20)], Purpose(f"account {number}", f"link {number}"))
    first, *others = quotes(world.services, [next(wallets) for _ in range(11)])
    assert isinstance(first, Route)
    assert {(each.reason, each.retry_after) for each in others if isinstance(each, QuoteFailure)} == {("unavailable", 60)}
    assert len(others) == 10 and len(world.router.calls) == 41
    found = quotes(world.services, [next(wallets) for _ in range(10)])
    assert all(isinstance(each, Route) for each in found), "the ten that are left"


def test_many_routes_are_quoted_together_in_their_order_and_the_slow_one_is_named(world: World) -> None:
    world.router.seconds_by_chain = {10: 6}
    world.router.trouble_by_chain = {137: RouterRefused(1002, "No available quotes"), 56: DOWN}
    asked = [wanted(source=chain) for chain in ("BASE", "OPTIMISM", "POLYGON", "BNB", "ETHEREUM")]
    found = quotes(world.services, asked)
    assert [each.wanted for each in found] == asked
    assert [each if isinstance(each, Route) else (each.reason, each.message) for each in found[1:4]] == [
        ("unavailable", "Payments in USDC on optimism are not available at the moment: try again in 15 seconds, or pay on arbitrum-one"),
        ("no_route", "This cannot be paid in USDC on matic: the bridge offers no way now. Choose another chain or token, or pay on arbitrum-one"),
        ("unavailable", "Payments in USDC on bsc are not available at the moment: try again in 15 seconds, or pay on arbitrum-one"),
    ]
    assert isinstance(found[0], Route) and isinstance(found[4], Route)


def test_twenty_routes_take_as_long_and_as_many_calls_to_dynamodb_as_one(world: World) -> None:
    world.router.seconds_by_chain = {8453: 0.5}
    asked = [wanted(payer=f"0x{number:040x}", fallback=FEE_ADDRESS) for number in range(AT_ONCE)]
    with counted(world.client) as calls:
        found = quotes(world.services, asked)
    assert all(isinstance(each, Route) for each in found), "all within the time that answers are waited for, which one after the other would exceed"
    assert dict(calls.by_operation) == {"BatchGetItem": 1, "UpdateItem": 3, "BatchWriteItem": 1}


def test_the_same_payment_twice_is_one_question(world: World) -> None:
    first, second = quotes(world.services, [wanted(), wanted()])
    assert first == second
    assert len(world.router.calls) == 1


def test_the_largest_answer_that_is_kept(world: World) -> None:
    now = int(world.now.timestamp())
    for size, is_kept in ((300_000, True), (300_001, False)):
        payer = f"0x{size:040x}"
        asked = wanted(payer=payer)
        own = len(json.dumps({**answer_to(call_for(asked), now), "padding": ""}))
        world.router.change = lambda answer, rest=size - own: {**answer, "padding": "x" * rest}
        quote(world.services, asked)
        kept = world.services.store.get(KeptAnswer, KeptAnswer.KEY.of(question=question(asked)))
        assert (kept is not None) is is_kept


def test_an_answer_that_is_too_large_to_be_kept_is_shown_and_not_kept(world: World) -> None:
    """JSON that is written again may be several times as long as the 256 kB that are read of an answer."""
    world.router.change = lambda answer: {**answer, "padding": "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 80_000}
    assert isinstance(quote(world.services, wanted()), Route)
    assert isinstance(quote(world.services, wanted()), Route)
    assert len(world.router.calls) == 2
