"""Links paid by Safes, from their own funds and from another wallet's, and what a simulation foretells of payments."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, address_of
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.targets import Item
from infra.local.chain import RpcError
from infra.local.safe import EXECUTION_SUCCESS
from tests.fakes.world import FEE_ADDRESS, World
from tests.onchain.ledger import NATIVE, Ledger, allowance, assert_completed, confirmed, request_ids, settle
from tests.onchain.payer import pay_body

ONE, TWO = (evm_address("0x" + byte * 20) for byte in ("a1", "b2"))
BASE_USDC, BASE_USDT = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2"
TOKENS = (BASE_USDC, BASE_USDT)
FINNEY = 10**15

Of = Callable[[str], Any]


def link(world: World, *wanted: tuple[str, str, str]) -> PayableLink:
    """(amount, currency of base, payee) each, with 1 % as its fee; the merchant has a webhook."""
    world.register_webhook()
    items = tuple(Item(amount, None, payee, currency, currency) for amount, currency, payee in wanted)
    return world.create_link(items=items)


SINGLE = (("10", "USDC-base", ONE),)
TWO_TOKENS = (("10", "USDC-base", ONE), ("4", "USDT-base", TWO), ("1", "USDC-base", TWO))
MIXED = (*TWO_TOKENS, ("0.5", "ETH-base-base", TWO))


@pytest.fixture
def world(world_on: Callable[..., World]) -> World:
    return world_on("base")


@pytest.mark.parametrize(
    ("wanted", "moved"),
    [
        (SINGLE, {BASE_USDC: [-10_100_000, 10_000_000, 0, 100_000], BASE_USDT: [0] * 4, NATIVE: [0] * 4}),
        (
            MIXED,
            {
                BASE_USDC: [-11_110_000, 10_000_000, 1_000_000, 110_000],
                BASE_USDT: [-4_040_000, 0, 4_000_000, 40_000],
                NATIVE: [-505 * FINNEY, 0, 500 * FINNEY, 5 * FINNEY],
            },
        ),
    ],
    ids=["single", "batch"],
)
def test_a_safe_pays_by_the_one_transaction_that_it_is_given(
    world: World, safe_on: Of, wanted: Any, moved: dict[str | None, list[int]]
) -> None:
    safe, payment = safe_on("base"), link(world, *wanted)
    body = pay_body(world, payment, safe.address, is_safe=True)
    ledger = Ledger(safe.chain, [*TOKENS, NATIVE], [safe.address, ONE, TWO, FEE_ADDRESS])
    asked = safe.transaction(body["safeTransaction"])
    receipt = safe.execute(asked)
    (outcome,) = [log for log in receipt["logs"] if log["address"].lower() == safe.address.lower()][-1:]
    assert outcome["topics"] == [EXECUTION_SUCCESS, safe.hash(asked)]
    assert ledger.moved() == moved
    spender = body["transactions"][-1]["to"]
    assert [allowance(safe.chain, token, safe.address, spender) for token in TOKENS] == [0, 0]
    assert settle(world, safe.chain) == len(wanted)
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


@pytest.mark.parametrize(
    ("wanted", "moved"),
    [
        (SINGLE, {BASE_USDC: [-10_100_000, 0, 10_000_000, 0, 100_000], BASE_USDT: [0] * 5}),
        (
            TWO_TOKENS,
            {
                BASE_USDC: [-11_110_000, 0, 10_000_000, 1_000_000, 110_000],
                BASE_USDT: [-4_040_000, 0, 0, 4_000_000, 40_000],
            },
        ),
    ],
    ids=["single", "batch"],
)
def test_a_smart_account_pays_with_what_another_wallet_lets_it_draw(
    world: World, safe_on: Of, payer_on: Of, wanted: Any, moved: dict[str | None, list[int]]
) -> None:
    safe, eoa, payment = safe_on("base"), payer_on("base"), link(world, *wanted)
    for token in TOKENS:
        safe.chain.fund_token(safe.address, token, 0)
    ledger = Ledger(safe.chain, TOKENS, [eoa.address, safe.address, ONE, TWO, FEE_ADDRESS])
    body = pay_body(world, payment, safe.address, eoa_wallet=eoa.address)
    tokens = sum(1 for changes in moved.values() if any(changes))
    assert (len(body["eoaApprovalTransactions"]), len(body["transactions"])) == (tokens, 2 * tokens + 1)
    for transaction in body["eoaApprovalTransactions"]:
        eoa.send(transaction)
    for transaction in body["transactions"]:
        safe.execute(safe.transaction(transaction))
    assert ledger.moved() == moved
    spender = address_of(ERC20_FEE_PROXY if wanted is SINGLE else BATCH, "base")
    for owner, other in ((eoa.address, safe.address), (safe.address, spender)):
        assert [allowance(safe.chain, token, owner, other) for token in TOKENS] == [0, 0]
    assert settle(world, safe.chain) == len(wanted)
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


# --- simulations ---


@pytest.mark.parametrize("wanted", [SINGLE, MIXED], ids=["single", "batch"])
def test_a_simulation_foretells_success_and_the_gas_of_every_step(world: World, payer_on: Of, wanted: Any) -> None:
    payer, payment = payer_on("base"), link(world, *wanted)
    body = payer.quote(world, payment, simulate=True)
    simulation = body["metadata"]["simulation"]
    assert (simulation["method"], simulation["success"]) == ("eth_simulateV1", True)
    receipts = [payer.send(transaction) for transaction in body["transactions"]]
    assert [(step["success"], step["gas"]) for step in simulation["steps"]] == [
        (True, int(receipt["gasUsed"], 16)) for receipt in receipts
    ]
    assert world.load(payment).requests[0].paid == 0, "the simulation itself paid nothing"


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [(SINGLE, "reverted without a reason"), (TWO_TOKENS, "Not enough funds, including fees")],
    ids=["single", "batch"],
)
def test_a_simulation_foretells_that_the_wallet_has_too_little(
    world: World, payer_on: Of, chain_of: Of, wanted: Any, reason: str
) -> None:
    payer, payment = payer_on("base"), link(world, *wanted)
    chain_of("base").fund_token(payer.address, BASE_USDC, 10_099_999)
    body = payer.quote(world, payment, simulate=True)
    assert body["metadata"]["hasEnoughBalance"] is False
    simulation = body["metadata"]["simulation"]
    assert simulation["success"] is False
    *approvals, last = simulation["steps"]
    assert {step["success"] for step in approvals} == {True}
    assert (last["success"], last["revertReason"]) == (False, reason)
    *grants, pay = body["transactions"]
    for grant in grants:
        payer.send(grant)
    with pytest.raises(RpcError, match="revert"):
        payer.send(pay)


def test_a_simulation_runs_the_approvals_of_the_funding_wallet_ahead(world: World, safe_on: Of, payer_on: Of) -> None:
    safe, eoa, payment = safe_on("base"), payer_on("base"), link(world, *TWO_TOKENS)
    body = pay_body(world, payment, safe.address, eoa_wallet=eoa.address, simulate=True)
    assert [step["success"] for step in body["metadata"]["simulation"]["steps"]] == [True] * 7
