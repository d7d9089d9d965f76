"""Payments in tokens that keep a part of what they move: the real proxy's event says more than arrives."""

from dataclasses import replace

import pytest

from chalicelib.chains.nodes.chains import Chains
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.payments.schemas import payment_answer
from infra.local.chain import Chain, RpcError
from tests.fakes.world import PAYEE, World
from tests.onchain.capped_node import CappedNode
from tests.onchain.conftest import Nodes
from tests.onchain.keeping_token import (
    ALL,
    ONE_PERCENT,
    ONE_UNIT,
    SAYS_FALSE,
    SAYS_NOTHING,
    keeping_token,
    rebasing_token,
    rebasing_wallets_token,
    refusing_token,
)
from tests.onchain.payer import FUSDC, Payer


@pytest.mark.parametrize(
    ("left", "arrives"),
    [(ONE_PERCENT, 12_375_000), (ONE_UNIT, 12_499_999), (None, 0)],
    ids=["one percent", "one unit", "nothing"],
)
def test_what_arrives_counts_whatever_the_event_of_the_proxy_says(
    world: World, chain: Chain, payer: Payer, left: str | None, arrives: int
) -> None:
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(left).hex())
    payment = world.create_link()
    payer.pay(world, payment)
    chain.mine(2)
    world.tick(network="sepolia")
    request = world.load(payment).requests[0]
    assert (request.paid, request.received) == (arrives, arrives)
    assert request.status is (RequestStatus.PARTIALLY_PAID if arrives else RequestStatus.CREATED)
    found = [(each.amount, each.stated_amount) for each in payment_store.payments(world.services.store, request.request_id)]
    assert found == ([(arrives, 12_500_000)] if arrives else [])


def test_of_a_token_that_returns_nothing_all_counts_and_of_one_that_returns_false_nothing_is_paid(
    world: World, chain: Chain, payer: Payer
) -> None:
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(ALL, SAYS_NOTHING).hex())
    paid, unpaid = world.create_link(), world.create_link()
    payer.pay(world, paid)
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(ALL, SAYS_FALSE).hex())
    with pytest.raises(RpcError, match="transferFrom"):
        payer.pay(world, unpaid)
    chain.mine(2)
    world.tick(network="sepolia")
    assert [world.load(each).requests[0].paid for each in (paid, unpaid)] == [12_500_000, 0]


@pytest.mark.parametrize("count", [2, 50])
def test_a_batch_that_fails_names_the_payee_whom_its_token_refuses(
    world: World, chain: Chain, payer: Payer, count: int
) -> None:
    payees = [f"0x{number:040x}" for number in range(2**40, 2**40 + count)]
    payment = world.create_link(
        items=tuple(Item("1", None, each, "fUSDC-sepolia", "fUSDC-sepolia") for each in payees)
    )
    chain.rpc("anvil_setCode", FUSDC, "0x" + refusing_token(payees[-1]).hex())
    last = payer.quote(world, payment, simulate=True)["metadata"]["simulation"]["steps"][-1]
    assert (last["success"], last["revertReason"].partition("; ")[2].lower()) == (
        False, f"fusdc cannot be sent to {payees[-1]}",
    )  # fmt: skip


@pytest.mark.parametrize("count", [2, 23])
@pytest.mark.parametrize("is_allowed", [True, False], ids=["with an allowance", "without one"])
def test_it_does_so_by_a_node_that_runs_one_transaction_at_a_time(
    world: World, chain: Chain, payer: Payer, count: int, is_allowed: bool
) -> None:
    payees = [f"0x{number:040x}" for number in range(2**40, 2**40 + count)]
    items = tuple(Item("1", None, each, "fUSDC-sepolia", "fUSDC-sepolia") for each in payees)
    payment = world.create_link(items=items)
    chain.rpc("anvil_setCode", FUSDC, "0x" + refusing_token(payees[-1], has_allowance=is_allowed).hex())
    node = CappedNode(chain, missing=frozenset({"eth_simulateV1"}))
    world.services = replace(world.services, chains=Chains(Nodes({"sepolia": node.url})))
    try:
        simulation = payer.quote(world, payment, simulate=True)["metadata"]["simulation"]
    finally:
        node.stop()
    last = simulation["steps"][-1]
    assert (simulation["method"], len(simulation["steps"])) == ("eth_call", 1 if is_allowed else 2)
    assert last["success"] is False
    assert last["revertReason"].lower().endswith(f"fusdc cannot be sent to {payees[-1]}")


def test_a_fee_to_the_payee_takes_only_what_is_above_the_amount(world: World, chain: Chain, payer: Payer) -> None:
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(ONE_PERCENT).hex())
    payment = world.create_link(fee_address=world.create_link().requests[0].payee)
    payer.pay(world, payment)
    chain.mine(2)
    world.tick(network="sepolia")
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert world.load(payment).requests[0].paid == 12_375_000 + 123_750, "both Transfers, and nothing is left for the fee"


@pytest.mark.parametrize(
    ("left", "of_first", "of_second"),
    [(ONE_PERCENT, 9_900_000, 2_970_000), (ONE_UNIT, 9_999_999, 2_999_999)],
    ids=["one percent", "one unit"],
)
def test_each_payment_of_a_batch_counts_what_arrived_of_it_also_of_two_to_one_payee(
    world: World, chain: Chain, payer: Payer, left: str, of_first: int, of_second: int
) -> None:
    payment = world.create_link(
        items=tuple(Item(amount, None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for amount in ("10", "3"))
    )
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(left).hex())
    payer.pay(world, payment)
    chain.mine(2)
    world.tick(network="sepolia")
    assert [(each.paid, each.status) for each in world.load(payment).requests] == [
        (of_first, RequestStatus.PARTIALLY_PAID), (of_second, RequestStatus.PARTIALLY_PAID),
    ]  # fmt: skip


def test_of_a_rebasing_token_its_logs_count_whatever_the_balance_of_the_payee_is(
    world: World, chain: Chain, payer: Payer
) -> None:
    """It moves shares, so a unit less arrives than it logs, and half of that is left when its balances change."""

    def rebase(thousandths: int) -> None:
        chain.rpc("anvil_setStorageAt", FUSDC, "0x0", f"0x{thousandths:064x}")

    def balance() -> int:
        return world.services.chains.evm("sepolia").read_funds([(payee, FUSDC, payer.address)])[0].balance

    chain.rpc("anvil_setCode", FUSDC, "0x" + rebasing_token().hex())
    payment = world.create_link()
    payee = payment.requests[0].payee
    rebase(3001)
    payer.pay(world, payment)
    assert balance() == 12_499_999
    rebase(1500)
    assert balance() == 6_247_917
    chain.mine(2)
    world.tick(network="sepolia")
    request = world.load(payment).requests[0]
    assert (request.paid, request.received, request.status) == (12_500_000, 12_500_000, RequestStatus.PAID)


def test_a_balance_that_falls_between_quote_and_payment_pays_nothing_and_one_that_rises_pays_what_was_quoted(
    world: World, chain: Chain, payer: Payer
) -> None:
    def rebase(thousandths: int) -> None:
        chain.rpc("anvil_setStorageAt", FUSDC, "0x0", f"0x{thousandths:064x}")

    chain.rpc("anvil_setCode", FUSDC, "0x" + rebasing_wallets_token().hex())
    chain.rpc("anvil_setStorageAt", FUSDC, f"0x{int(payer.address, 16):x}", f"0x{20_000_000:064x}")
    rebase(1000)
    payment = world.create_link()
    *approvals, pays = payer.quote(world, payment)["transactions"]
    for each in approvals:
        payer.send(each)
    rebase(500)
    with pytest.raises(RpcError, match="execution reverted"):
        payer.send(pays)
    chain.mine(2)
    world.tick(network="sepolia")
    assert world.load(payment).requests[0].paid == 0
    rebase(3000)
    payer.send(pays)
    chain.mine(2)
    world.tick(network="sepolia")
    request = world.load(payment).requests[0]
    assert (request.paid, request.received, request.status) == (12_500_000, 12_500_000, RequestStatus.PAID)


def test_a_fee_that_a_token_begins_to_keep_after_the_quote_is_shown_beside_what_arrived(
    world: World, chain: Chain, payer: Payer
) -> None:
    payment = world.create_link()
    quoted = payer.quote(world, payment)["transactions"]
    chain.rpc("anvil_setCode", FUSDC, "0x" + keeping_token(ONE_PERCENT).hex())
    for each in quoted:
        payer.send(each)
    chain.mine(2)
    world.tick(network="sepolia")
    (request,) = world.load(payment).requests
    assert (request.paid, request.received, request.status) == (12_375_000, 12_375_000, RequestStatus.PARTIALLY_PAID)
    (paid,) = payment_store.payments(world.services.store, request.request_id)
    shown = payment_answer(paid, request, "service", shows_customer=False).model_dump(exclude_unset=True)
    assert (shown["amount"], shown["statedAmount"]) == ("12.375", "12.5")
