"""What is asked of the bridge, as rules: amounts between tokens, the minimum, and the ids of steps."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, is_enough, source_networks, source_token
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.checkout.crosschain.step_ids import Step
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.router.rules import GasCost
from chalicelib.crosschain.service.router.verification import Limits, verify
from chalicelib.crosschain.service.sources.rules import (
    check_bridged,
    cost_of,
    gas_in_dollars,
    is_offered,
    on_source,
    source_for,
)
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.platform.outbound.lifi import step_of
from tests.checkout.crosschain.conftest import Bridged
from tests.crosschain.service.router.routes import question, wanted
from tests.fakes.router import answer_to
from tests.fakes.world import START, WALLET

NOW = int(START.timestamp())
OWNER = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
SOURCES = [SourceToken(each.label, symbol) for each in source_networks() for symbol in SOURCE_SYMBOLS]


def token_of(source: SourceToken) -> Token:
    found = source_token(source.chain, source.token)
    assert found is not None
    return found


sources = st.sampled_from(SOURCES)
tokens = sources.map(token_of)


@given(units=st.integers(0, 2**200), due=tokens, source=tokens)
def test_an_amount_in_another_token_is_worth_as_much_and_less_than_a_unit_more(
    units: int, due: Token, source: Token
) -> None:
    asked, got = Fraction(units, 10**due.decimals), Fraction(on_source(BaseUnits(units), due, source), 10**source.decimals)
    assert asked <= got < asked + Fraction(1, 10**source.decimals)


@given(units=st.integers(0, 2 * 10**18), token=tokens)
def test_a_dollar_is_the_minimum(units: int, token: Token) -> None:
    assert is_enough(token, BaseUnits(units)) == (units >= 10**token.decimals)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_exactly_a_dollar_is_enough_and_a_unit_less_is_not(source: SourceToken) -> None:
    token = token_of(source)
    assert is_enough(token, BaseUnits(10**token.decimals)) and not is_enough(token, BaseUnits(10**token.decimals - 1))


def test_a_token_that_no_bridge_takes_is_refused_with_what_is_paid_from_where() -> None:
    due, label = token_of(SOURCES[0]), SOURCES[-1].chain
    with pytest.raises(BadRequest, match=f"^Nothing is paid in DAI from {label}: USDC and USDT are paid from .*{label}"):
        source_for(due, SourceToken(label, "DAI"))


def test_what_a_contract_converts_is_neither_offered_nor_accepted_from_another_chain(world: Bridged) -> None:
    position = world.prepare(world.link()).cart.positions[0]
    assert is_offered(position)
    check_bridged(position)
    conversion = Conversion(("USD", "USDC"), position.due.debit, 1)
    converted = replace(position, due=replace(position.due, conversion=conversion))
    assert not is_offered(converted)
    with pytest.raises(BadRequest, match="What a contract converts .* pay in USDC-arbitrum-one"):
        check_bridged(converted)


def test_a_route_costs_what_it_takes_beyond_the_amount_and_nothing_if_it_takes_less() -> None:
    payment = wanted("BNB", "BASE")
    route = verify(step_of(answer_to(question(payment), NOW)), payment, START, Limits(200, 5))
    due = payment.amount * 10**12
    costs = [cost_of(replace(route, source_amount=BaseUnits(due + more))) for more in (5, 1, 0, -1)]
    assert costs == [5, 1, 0, 0]


def test_gas_is_worth_what_the_router_says_of_its_first_price_of_the_coin() -> None:
    payment = wanted()
    route = verify(step_of(answer_to(question(payment), NOW)), payment, START, Limits(200, 5))
    prices = (GasCost(BaseUnits(400), BaseUnits(30)), GasCost(BaseUnits(1), BaseUnits(1)))
    assert gas_in_dollars(replace(route, gas_costs=prices), BaseUnits(1_000)) == 75
    assert gas_in_dollars(replace(route, gas_costs=()), BaseUnits(1_000)) is None


@given(source=sources, due=sources)
def test_every_pair_of_networks_is_bridged_and_no_pair_within_one(source: SourceToken, due: SourceToken) -> None:
    if source == due:
        assert source_for(token_of(due), source) is None
    elif source.chain == due.chain:
        with pytest.raises(BadRequest, match="is not exchanged for"):
            source_for(token_of(due), source)
    else:
        assert source_for(token_of(due), source) == token_of(source)


@pytest.mark.parametrize("id", ["FAU-sepolia", "fUSDC-sepolia", "DAI-base", "ETH-base-base", "USDT-tron", "USDS-optimism"])
def test_nothing_else_is_bridged(id: str) -> None:
    token = token_with_id(id)
    assert token is not None
    with pytest.raises(BadRequest, match=f"^{token.symbol} is not supported in crosschain payment.$"):
        source_for(token, SourceToken("OPTIMISM", "USDC"))


@given(source=sources, funded=st.sampled_from([{}, {"is_safe": True}, {"eoa_wallet": OWNER}]))
def test_the_id_of_a_step_names_how_the_payer_pays(source: SourceToken, funded: dict[str, object]) -> None:
    step = Step.of("01TOKEN", token_of(source), PayOptions(WALLET, simulate=True, **funded))  # type: ignore[arg-type]
    assert Step.parse(step.text) == step
    assert step.options == PayOptions(WALLET, source, **funded)  # type: ignore[arg-type]


@given(text=st.text(max_size=300))
def test_another_text_is_a_bad_request_and_nothing_worse(text: str) -> None:
    try:
        Step.parse(text)
    except BadRequest:
        return
    assert text.count(":") in (3, 4)
