"""A router that answers something else than what was asked for: nothing of it reaches a payer."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import HandlerMessage, encode_message
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, needs_reset, source_networks, source_token
from chalicelib.crosschain.core.bridged_calls import has_route_times
from chalicelib.crosschain.service.router.flows import QuoteFailure, quotes
from chalicelib.crosschain.service.router.rules import Purpose, Route, Wanted
from chalicelib.crosschain.service.router.verification import Limits, RouteRefused, verify
from chalicelib.platform.outbound.lifi import step_of
from tests.fakes.router import answer_of, answer_to, deposit_of
from tests.fakes.world import START, World

from .hostile import MUTATIONS, Mutation, with_estimate, with_transaction
from .routes import PAYER, question, wanted

LIMITS = Limits(200, 5)
NOW = int(START.timestamp())
LABELS = [each.label for each in source_networks()]


def any_payment(random: Random) -> Wanted:
    source, destination = random.sample(LABELS, 2)
    return wanted(source, destination, random.choice(["USDC", "USDT"]))


@pytest.mark.parametrize("source", LABELS)
@pytest.mark.parametrize("symbol", ["USDC", "USDT"])
def test_true_quotes_from_every_chain_to_every_other_one_pass(source: str, symbol: str) -> None:
    for destination in LABELS:
        if destination != source:
            payment = wanted(source, destination, symbol)
            route = verify(step_of(answer_to(question(payment), NOW)), payment, START, LIMITS)
            assert route.wanted == payment


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_no_mutation_of_a_true_quote_passes(mutation: Mutation) -> None:
    """Thirty of each kind, so 1,200; of each the quote that is mutated passes."""
    random = Random(mutation.__name__)
    for _ in range(30):
        payment = any_payment(random)
        asked = question(payment)
        deposit = deposit_of(asked, NOW)
        verify(step_of(answer_of(deposit, asked)), payment, START, LIMITS)
        mutated = mutation(deposit, asked, random)
        assert signed(mutated) != signed(answer_of(deposit, asked)), "a mutation changes what is signed"
        with pytest.raises(RouteRefused):
            verify(step_of(mutated), payment, START, LIMITS)


def signed(answer: dict[str, Any]) -> tuple[Any, ...]:
    """What a payer signs: the approval, and the transaction."""
    estimate, transaction = answer["estimate"], answer["transactionRequest"]
    fields = (transaction[name] for name in ("to", "data", "value", "from", "chainId", "gasLimit"))
    return (estimate["approvalAddress"], estimate["fromAmount"], *fields)


def test_a_hostile_router_is_asked_a_thousand_times_and_shows_payers_nothing(world: World, monkeypatch: Any) -> None:
    """The whole way: question, answer, verification, what is kept. Every refusal is logged, none opens the circuit."""
    random, refused, outcomes = Random(1), Counter[str](), list[Any]()
    monkeypatch.setattr(world.services.log, "error", lambda message, extra: refused.update([message]))
    for _ in range(50):
        payments = [any_payment(random) for _ in range(20)]
        mutations = {question(each): random.choice(MUTATIONS) for each in payments}

        def mutated(answer: dict[str, Any], mutations: Any = mutations) -> dict[str, Any]:
            asked = next(each for each in mutations if answer == answer_to(each, int(world.now.timestamp())))
            return mutations[asked](deposit_of(asked, int(world.now.timestamp())), asked, random)

        world.router.change = mutated
        outcomes += quotes(world.services, payments, Purpose("acct", str(len(outcomes))))
        world.advance(60)
    assert len(outcomes) == 1000
    assert [each for each in outcomes if isinstance(each, Route)] == []
    assert {each.reason for each in outcomes if isinstance(each, QuoteFailure)} == {"no_route"}
    assert set(refused) == {"route refused"}
    world.router.change = lambda answer: answer
    assert isinstance(quotes(world.services, [wanted()], Purpose("acct", "link"))[0], Route), (
        "an honest answer is shown"
    )


def test_an_allowance_that_anybody_left_is_withdrawn_first_where_the_token_needs_that() -> None:
    """The contract that makes the calls makes those of anybody; Tether on Ethereum changes no allowance but through 0."""

    def route(payment: Wanted, *amounts: int) -> Route:
        asked = question(payment)
        approvals = [approve(asked.to_token, asked.target, amount) for amount in amounts]
        calls = (*((each.to, each.data, 0) for each in approvals), (asked.target, asked.calldata, 0))
        message = encode_message(HandlerMessage(calls, asked.fallback))
        return verify(
            step_of(answer_of(replace(deposit_of(asked, NOW), message=message), asked)), payment, START, LIMITS
        )

    tether, usdc = wanted("BASE", "ETHEREUM", "USDT"), wanted("BASE", "ETHEREUM")
    assert route(tether, 0, tether.amount).wanted == tether
    with pytest.raises(RouteRefused, match="an allowance"):
        route(tether, tether.amount)
    assert route(usdc, 0, usdc.amount).wanted == route(usdc, usdc.amount).wanted == usdc
    bridged = [source_token(label, symbol) for label in LABELS for symbol in SOURCE_SYMBOLS]
    assert [each.id for each in bridged if each is not None and needs_reset(each)] == ["USDT-mainnet"]


def test_an_exclusivity_of_seconds_that_a_true_quote_may_have_passes() -> None:
    asked = question(wanted())
    for exclusivity in (1, 60, NOW + 60):
        deposit = replace(deposit_of(asked, NOW), exclusive_relayer=PAYER, exclusivity=exclusivity)
        verify(step_of(answer_of(deposit, asked)), wanted(), START, LIMITS)
    year = 365 * 24 * 3600
    past = replace(deposit_of(asked, NOW), exclusive_relayer=PAYER, exclusivity=year + 1)  # an instant, long ago
    verify(step_of(answer_of(past, asked)), wanted(), START, LIMITS)
    with pytest.raises(RouteRefused, match=f"alone may fill it for {year} seconds"):
        verify(step_of(answer_of(replace(past, exclusivity=year), asked)), wanted(), START, LIMITS)
    with pytest.raises(RouteRefused, match="alone may fill it for 61 seconds"):
        deposit = replace(deposit_of(asked, NOW), exclusive_relayer=PAYER, exclusivity=NOW + 61)
        verify(step_of(answer_of(deposit, asked)), wanted(), START, LIMITS)


def test_a_gas_limit_at_its_limits_passes_and_a_unit_beyond_them_does_not() -> None:
    answer = answer_to(question(wanted()), NOW)

    def passes(units: int) -> bool:
        try:
            verify(step_of(with_transaction(answer, gasLimit=hex(units))), wanted(), START, LIMITS)
        except RouteRefused:
            return False
        return True

    assert [passes(units) for units in (49_999, 50_000, 1_500_000, 1_500_001)] == [False, True, True, False]


def test_gas_is_read_in_the_coin_of_the_source_alone_and_only_with_its_worth() -> None:
    answer = answer_to(question(wanted()), NOW)
    (gas,) = answer["estimate"]["gasCosts"]
    others = [
        {**gas, "token": {**gas["token"], "chainId": 42161}},
        {**gas, "token": {**gas["token"], "address": PAYER}},
        {**gas, "amountUSD": None},
        {**gas, "amountUSD": "0"},
        {**gas, "amount": "0"},
    ]
    route = verify(step_of(with_estimate(answer, gasCosts=[*others, gas])), wanted(), START, LIMITS)
    assert [(cost.amount, cost.dollars) for cost in route.gas_costs] == [(5 * 10**12, 1_000_000)]


def test_times_at_their_limits_pass_and_a_second_beyond_them_does_not() -> None:
    asked = question(wanted())

    def passes(**times: int) -> bool:
        deposit = replace(deposit_of(asked, NOW), **{name: NOW + seconds for name, seconds in times.items()})
        try:
            verify(step_of(answer_of(deposit, asked)), wanted(), START, LIMITS)
        except RouteRefused:
            return False
        return True

    assert passes(quote_timestamp=60) and not passes(quote_timestamp=61)
    assert passes(quote_timestamp=-3300) and not passes(quote_timestamp=-3301)
    assert passes(fill_deadline=900) and not passes(fill_deadline=899)
    assert passes(fill_deadline=86_400) and not passes(fill_deadline=86_401)


def test_the_times_of_a_deposit_that_was_sent_are_those_of_a_route_shown_within_an_hour_of_its_quote() -> None:
    true = deposit_of(question(wanted()), NOW)

    def fits(**changes: int) -> bool:
        return has_route_times(replace(true, exclusive_relayer=PAYER, **changes))

    hour, day = 3_600, 86_400
    for seconds, is_route in ((839, False), (840, True), (hour + day, True), (hour + day + 1, False)):
        assert fits(fill_deadline=NOW + seconds) is is_route
    for alone, is_route in ((0, True), (60, True), (61, False), (NOW + hour + 60, True), (NOW + hour + 61, False)):
        assert fits(exclusivity=alone) is is_route
    assert not fits(exclusivity=365 * day) and fits(exclusivity=365 * day + 1), "an instant, long ago"


def test_a_route_may_take_so_much_more_than_the_amount_as_the_settings_say() -> None:
    asked = question(wanted())

    def passes(units: int, limits: Limits = LIMITS) -> bool:
        deposit = replace(deposit_of(asked, NOW), input_amount=units)
        try:
            verify(step_of(answer_of(deposit, asked)), wanted(), START, limits)
        except RouteRefused:
            return False
        return True

    most = 12_625_000 * 102 // 100 + 5_000_000
    assert passes(most) and not passes(most + 1)
    assert passes(12_625_000, Limits(0, 0)) and not passes(12_625_001, Limits(0, 0))
    assert passes(12_625_000 * 99 // 100) and not passes(12_625_000 * 99 // 100 - 1)


def test_a_small_payment_costs_at_most_itself_and_the_basis_points() -> None:
    small = replace(wanted(), amount=BaseUnits(1_000_000), call=replace(wanted().call, data="0x12345678"))
    asked = question(small)

    def passes(units: int) -> bool:
        deposit = replace(deposit_of(asked, NOW), input_amount=units)
        try:
            verify(step_of(answer_of(deposit, asked)), small, START, LIMITS)
        except RouteRefused:
            return False
        return True

    assert [passes(units) for units in (2_020_000, 2_020_001)] == [True, False]


def test_a_route_between_tokens_of_other_decimals_is_bounded_in_dollars() -> None:
    for source, destination in (("BNB", "BASE"), ("BASE", "BNB")):
        payment = wanted(source, destination)
        asked, unit = question(payment), 10**payment.source.decimals
        deposit = deposit_of(asked, NOW)
        assert 12 * unit < deposit.input_amount < 13 * unit
        verify(step_of(answer_of(deposit, asked)), payment, START, LIMITS)
        with pytest.raises(RouteRefused, match="it takes"):
            verify(step_of(answer_of(replace(deposit, input_amount=18 * unit), asked)), payment, START, LIMITS)
