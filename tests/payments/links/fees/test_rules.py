"""Fee plans: what they say is what the calldata moves, and only of what is worth a dollar."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import Fee
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.fees.rules import plan_of, preview, resolve
from chalicelib.payments.links.records import Flow, PayableLink
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import ClientSettings, Owner
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, draft

TRON_ADDRESS = tron_address_of(b"\x11" * 20)
CLIENT_FEE = Fee("2", PAYEE)
DOLLARS = ["fUSDC-sepolia", "USDC-bsc", "DAI-mainnet", "USDT-base", "FAU-sepolia"]


def link(*items: tuple[str, str], client: ClientSettings | None = None, **changes: Any) -> PayableLink:
    counter = itertools.count(1)
    made = tuple(Item(amount, None, PAYEE, currency, currency) for amount, currency in items)
    wanted = draft(items=made, **changes)
    owner = Owner("acct", None, None, client or ClientSettings())
    return create_link(wanted, owner, TERMS, START, lambda n: next(counter).to_bytes(n, "big"))


@settings(max_examples=200, deadline=None)
@given(
    currency=st.sampled_from(DOLLARS),
    amounts=st.lists(st.decimals(min_value="0.000001", max_value=10**12, places=6), min_size=1, max_size=5),
    percentage=st.decimals(min_value=0, max_value=100, places=4),
)
def test_a_plan_adds_up_to_what_the_payer_is_debited(currency: str, amounts: list[Any], percentage: Any) -> None:
    payment = link(*((f"{amount:f}", currency) for amount in amounts), fee_percentage=f"{percentage:f}")
    plan = plan_of(payment)
    assert plan is not None
    assert plan.gross == sum(request.amount for request in payment.requests)
    assert plan.charged == sum(payment.link.fee.on(request.amount) for request in payment.requests)
    assert plan.payer_total == sum(request.amount + payment.link.fee.on(request.amount) for request in payment.requests)
    assert plan.fee.is_charged == (percentage > 0)


@pytest.mark.parametrize(
    "items",
    [
        [("1", "ETH-sepolia-sepolia")],
        [("1", "fUSDC-sepolia"), ("1", "fUSDT-sepolia")],
        [("1", "fUSDC-sepolia"), ("1", "ETH-sepolia-sepolia")],
        [("1", "TUSD-mainnet")],
    ],
    ids=str,
)
def test_there_is_no_plan_for_other_coins_and_for_several_currencies(items: list[tuple[str, str]]) -> None:
    assert plan_of(link(*items)) is None


def test_every_kind_of_dollar_token_of_the_routes_counts_on_every_network() -> None:
    for token in find_tokens():
        if token.symbol in ("USDC", "USDT", "DAI", "FAU", "fUSDC", "fUSDT"):
            assert preview("1", token.id, Fee(), Flow.PAY, "payer").payer_total == 10**token.decimals


def test_a_link_without_a_fee_has_a_plan_without_fees() -> None:
    for changes in ({"fee_percentage": None, "fee_address": None}, {"fee_percentage": "0"}, {"fee_percentage": None}):
        plan = plan_of(link(("10", "fUSDC-sepolia"), **changes))
        assert plan is not None
        assert (plan.charged, plan.fee.is_charged) == (0, False)


def test_the_client_ids_fee_comes_first_unless_it_is_none_or_zero() -> None:
    asked = Fee("1", FEE_ADDRESS)
    assert resolve(asked, CLIENT_FEE, "evm", {}) == CLIENT_FEE
    for none in (Fee(), Fee("0", PAYEE), Fee("0.00", PAYEE), Fee(None, PAYEE)):
        assert resolve(asked, none, "evm", {}) == asked
    assert plan_of(link(("100", "fUSDC-sepolia"), client=ClientSettings("2", PAYEE))) == preview(
        "100", "fUSDC-sepolia", CLIENT_FEE, Flow.GET_PAID, "payer"
    )


def test_a_fee_address_is_of_the_family_of_the_link() -> None:
    assert resolve(Fee("1", FEE_ADDRESS.lower()), Fee(), "evm", {}).address == FEE_ADDRESS
    assert resolve(Fee("1", TRON_ADDRESS), Fee(), "tron", {}).address == TRON_ADDRESS
    for asked, of_client, family, hint in (
        (Fee("1", TRON_ADDRESS), Fee(), "evm", "feeAddress: Invalid EVM"),
        (Fee("1", FEE_ADDRESS), Fee(), "tron", "feeAddress: Invalid Tron"),
        (Fee(), CLIENT_FEE, "tron", "The fee of this client ID goes to"),
        (Fee("1"), CLIENT_FEE, "evm", "feeAddress is required"),
        (Fee("1", "0x" + "0" * 40), Fee(), "evm", "zero address"),
    ):
        with pytest.raises(BadRequest, match=hint):
            resolve(asked, of_client, family, {})


def test_a_preview_of_a_symbol_alone_is_in_dollars_whatever_the_network() -> None:
    plan = preview("100", "USDC", CLIENT_FEE, Flow.PAY, "payee")
    assert (plan.gross, plan.charged, plan.decimals) == (100_000_000, 2_000_000, 6)
    assert plan.default_bearer == "payee"


@pytest.mark.parametrize("currency", ["NOPE", "USD", "EUR", "ETH-mainnet", "", "x" * 5000])
def test_a_preview_of_anything_else_is_refused(currency: str) -> None:
    with pytest.raises(BadRequest) as caught:
        preview("100", currency, Fee(), Flow.PAY, "payer")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("percentage", ["1", "0"])
def test_a_fee_percentage_wants_an_address(percentage: str) -> None:
    with pytest.raises(BadRequest, match="feeAddress is required when feePercentage is set"):
        resolve(Fee(percentage, None), Fee(), "evm", {})
    assert resolve(Fee(percentage, FEE_ADDRESS), Fee(), "evm", {}) == Fee(percentage, FEE_ADDRESS)


def test_an_address_without_a_percentage_is_no_mistake_and_charges_nothing() -> None:
    assert resolve(Fee(None, FEE_ADDRESS), Fee(), "evm", {}) == Fee(None, FEE_ADDRESS)
    assert not Fee(None, FEE_ADDRESS).is_charged


def test_a_fee_goes_to_no_zero_address() -> None:
    with pytest.raises(BadRequest, match="zero address"):
        resolve(Fee("1", "0x" + "00" * 20), Fee(), "evm", {})


def test_a_fee_percentage_goes_from_0_to_100() -> None:
    assert resolve(Fee("100", FEE_ADDRESS), Fee(), "evm", {}).percentage == "100"
    for percentage in ("101", "-1", "one"):
        with pytest.raises(BadRequest, match="feePercentage"):
            resolve(Fee(percentage, FEE_ADDRESS), Fee(), "evm", {})


def test_an_unknown_currency_is_repeated_up_to_80_characters() -> None:
    with pytest.raises(BadRequest, match=f"^Currency {'x' * 80} is not supported"):
        preview("1", "x" * 200, Fee(), Flow.GET_PAID, "payer")
