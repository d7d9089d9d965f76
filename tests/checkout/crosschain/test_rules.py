"""What is asked of the bridge, as rules: amounts between tokens, the minimum, and the ids of steps."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.checkout.building import PayOptions
from chalicelib.checkout.crosschain.rules import is_enough, on_source, source_for
from chalicelib.checkout.crosschain.steps import Step
from chalicelib.checkout.rules import SourceToken
from tests.fakes.world import WALLET

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
    assert Step.parsed(step.text) == step
    assert step.options == PayOptions(WALLET, source, **funded)  # type: ignore[arg-type]


@given(text=st.text(max_size=300))
def test_another_text_is_a_bad_request_and_nothing_worse(text: str) -> None:
    try:
        Step.parsed(text)
    except BadRequest:
        return
    assert text.count(":") in (3, 4)
