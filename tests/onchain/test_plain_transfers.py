"""Plain transfers to addresses of their own, as exchanges make them, each to its end on real contracts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.chains.calldata import plain_transfers as plain_transfer_calldata
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.payments.store import payments
from chalicelib.payments.requests.plain_transfers.rules import amount_to_send, terms_of
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.arrivals import note_arrivals
from infra.local.chain import Chain, RpcError
from tests.fakes.world import FEE_ADDRESS, PAYEE, World
from tests.onchain.ledger import Ledger, assert_completed, confirmed, settle
from tests.onchain.payer import FAU, FUSDC, Payer

STRANGER = "0x" + "5a" * 20


def offered(world: World, **changes: Any) -> tuple[PayableLink, Request, str]:
    """A link of 12.50 fUSDC, with 1 % of it as fee, its request and its address."""
    link = world.create_link(plain_transfer=True, **changes)
    (request,) = link.requests
    assert request.plain_transfer is not None
    return link, request, request.plain_transfer.address


def send_tokens(payer: Payer, address: str, amount: int, token: str = FUSDC) -> None:
    """What an exchange does: a plain transfer."""
    payer.send(vars_of(erc20.transfer(token, address, amount)))


def vars_of(transaction: Transaction) -> dict[str, Any]:
    return {"to": transaction.to, "data": transaction.data, "value": transaction.value}


def call(chain: Chain, transaction: Transaction) -> dict[str, Any]:
    """Anybody sends a transaction; returns its receipt."""
    chain.fund_native(STRANGER, 10**20)
    return chain.receipt(chain.send_as(STRANGER, vars_of(transaction)))


def deploy_and_pay(chain: Chain, request: Request) -> None:
    receipt = call(chain, plain_transfer_calldata.deploy_and_pay_out(terms_of(request)))
    assert receipt["status"] == "0x1"
    assert int(receipt["gasUsed"], 16) < plain_transfer_calldata.DEPLOYMENT_GAS


def listed(world: World, request: Request) -> list[Payment]:
    return list(payments(world.services.store, request.request_id))


# --- the address ---


@pytest.mark.parametrize("network", ["sepolia", "base", "mainnet"])
def test_the_contract_is_deployed_at_the_address_that_was_given(
    network: str, world_on: Callable[..., World], chain_of: Callable[[str], Chain]
) -> None:
    chain, world = chain_of(network), world_on(network)
    currency = {"sepolia": "fUSDC-sepolia", "base": "USDC-base", "mainnet": "USDC-mainnet"}[network]
    _, request, address = offered(world, currency=currency)
    assert chain.rpc("eth_getCode", address, "latest") == "0x"
    assert call(chain, plain_transfer_calldata.deploy(terms_of(request)))["status"] == "0x1"
    assert len(chain.rpc("eth_getCode", address, "latest")) > 10_000
    assert address_in(chain, address, "payee()") == request.payee.lower()


def address_in(chain: Chain, contract: str, getter: str) -> str:
    from chalicelib.base.keccak import keccak256

    data = "0x" + keccak256(getter.encode())[:4].hex()
    return "0x" + str(chain.rpc("eth_call", {"to": contract, "data": data}, "latest"))[-40:]


def test_a_second_deployment_burns_its_gas_and_changes_nothing(world: World, chain: Chain) -> None:
    _, request, address = offered(world)
    deploy = plain_transfer_calldata.deploy(terms_of(request))
    call(chain, deploy)
    code = chain.rpc("eth_getCode", address, "latest")
    chain.fund_native(STRANGER, 10**20)
    receipt = chain.receipt(chain.send_as(STRANGER, vars_of(deploy), gas=2_000_000))
    assert (receipt["status"], int(receipt["gasUsed"], 16) > 1_900_000) == ("0x0", True)
    assert chain.rpc("eth_getCode", address, "latest") == code


# --- exact, under, over, twice, late ---


def test_an_exact_transfer_pays_payee_and_fee_and_completes_the_link(world: World, chain: Chain, payer: Payer) -> None:
    world.register_webhook()
    link, request, address = offered(world)
    ledger = Ledger(chain, [FUSDC], [payer.address, PAYEE, FEE_ADDRESS, address])
    assert amount_to_send(request) == 12_625_000
    send_tokens(payer, address, 12_625_000)
    assert settle(world, chain) == 0, "the payee has nothing yet"
    deploy_and_pay(chain, request)
    assert ledger.moved() == {FUSDC: [-12_625_000, 12_500_000, 125_000, 0]}
    assert settle(world, chain) == 1
    assert_completed(world, link)
    (paid,) = listed(world, request)
    assert (paid.amount, paid.fee_amount, paid.payer) == (12_500_000, 125_000, None)
    assert confirmed(world) == [request.request_id]


def test_a_transfer_without_the_exchanges_fee_is_a_part_and_the_rest_completes_it(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world, fee_percentage=None, fee_address=None)
    send_tokens(payer, address, 11_500_000)
    deploy_and_pay(chain, request)
    settle(world, chain)
    now = world.load(link).requests[0]
    assert (now.status, now.paid, amount_to_send(now)) == (RequestStatus.PARTIALLY_PAID, 11_500_000, 1_000_000)
    send_tokens(payer, address, 1_000_000)
    call(chain, plain_transfer_calldata.pay_out(address))
    settle(world, chain)
    assert_completed(world, link)


def test_each_payment_from_the_address_pays_the_fee(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world)
    ledger = Ledger(chain, [FUSDC], [PAYEE, FEE_ADDRESS])
    send_tokens(payer, address, 10_000_000)
    deploy_and_pay(chain, request)
    settle(world, chain)
    left = amount_to_send(world.load(link).requests[0])
    assert left == 12_500_000 - 9_875_000 + 125_000
    send_tokens(payer, address, left)
    call(chain, plain_transfer_calldata.pay_out(address))
    settle(world, chain)
    assert_completed(world, link)
    assert ledger.moved() == {FUSDC: [12_500_000, 250_000]}


def test_less_than_the_fee_waits_until_more_arrives(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    send_tokens(payer, address, 100_000)
    assert call(chain, plain_transfer_calldata.pay_out(address))["status"] == "0x0"
    send_tokens(payer, address, 12_525_000)
    assert call(chain, plain_transfer_calldata.pay_out(address))["status"] == "0x1"
    settle(world, chain)
    assert_completed(world, link)


def test_more_than_was_asked_for_reaches_the_payee_and_is_known_as_surplus(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    send_tokens(payer, address, 20_125_000)
    deploy_and_pay(chain, request)
    settle(world, chain)
    now = world.load(link)
    assert (now.link.status, now.requests[0].paid) == (LinkStatus.COMPLETED, 20_000_000)


def test_a_second_transfer_is_a_second_payment_for_which_nothing_is_deployed(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    send_tokens(payer, address, 12_625_000)
    deploy_and_pay(chain, request)
    send_tokens(payer, address, 12_625_000)
    assert call(chain, plain_transfer_calldata.pay_out(address))["status"] == "0x1"
    assert settle(world, chain) == 2
    assert [each.amount for each in listed(world, request)] == [12_500_000, 12_500_000]
    assert world.load(link).requests[0].paid == 25_000_000


def test_a_transfer_after_the_expiry_counts_all_the_same(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world)
    world.now += timedelta(days=30)
    send_tokens(payer, address, 12_625_000)
    deploy_and_pay(chain, request)
    settle(world, chain)
    assert world.load(link).requests[0].status is RequestStatus.PAID


# --- emptied by anybody, without the event ---


def test_an_address_that_anybody_emptied_without_an_event_counts_without_a_fee(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    ledger = Ledger(chain, [FUSDC], [PAYEE, FEE_ADDRESS, address])
    send_tokens(payer, address, 12_500_000)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    assert call(chain, plain_transfer_calldata.rescue(address, FUSDC))["status"] == "0x1"
    assert ledger.moved() == {FUSDC: [12_500_000, 0, 0]}
    assert settle(world, chain) == 1
    assert_completed(world, link)
    (paid,) = listed(world, request)
    assert (paid.amount, paid.fee_amount, paid.payer) == (12_500_000, 0, None)


def test_both_ways_in_one_block_count_once_each(world: World, chain: Chain, payer: Payer) -> None:
    _, request, address = offered(world)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    send_tokens(payer, address, 6_125_000)
    call(chain, plain_transfer_calldata.pay_out(address))
    send_tokens(payer, address, 6_000_000)
    call(chain, plain_transfer_calldata.rescue(address, FUSDC))
    send_tokens(payer, address, 6_125_000)
    call(chain, plain_transfer_calldata.pay_out(address))
    assert settle(world, chain) == 3
    assert sorted((each.amount, each.fee_amount) for each in listed(world, request)) == [
        (6_000_000, 0), (6_000_000, 125_000), (6_000_000, 125_000),
    ]  # fmt: skip


def test_a_payee_who_receives_the_fee_as_well_is_not_counted_twice(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world, fee_address=PAYEE)
    send_tokens(payer, address, 12_625_000)
    deploy_and_pay(chain, request)
    assert settle(world, chain) == 1
    assert world.load(link).requests[0].paid == 12_500_000


def test_a_payment_without_an_event_that_a_fork_takes_away_is_taken_back_and_counts_when_it_returns(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    send_tokens(payer, address, 12_500_000)
    before = chain.snapshot()
    call(chain, plain_transfer_calldata.rescue(address, FUSDC))
    settle(world, chain)
    assert_completed(world, link)
    chain.revert(before)
    chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(7))  # other blocks than those that were removed
    chain.mine(6)
    world.tick(network="sepolia")
    now = world.load(link).requests[0]
    assert (now.status, now.paid) == (RequestStatus.CREATED, 0)
    assert [each.status for each in listed(world, request)] == [PaymentStatus.REVERSED]
    call(chain, plain_transfer_calldata.rescue(address, FUSDC))
    settle(world, chain)
    assert_completed(world, link)


# --- what has arrived is noticed ---


def arrived(world: World, link: PayableLink) -> int:
    """What is noted as arrived once it was read again."""
    note_arrivals(world.services, "sepolia")
    own = world.load(link).requests[0].plain_transfer
    assert own is not None
    return own.arrived


def test_what_arrives_is_noticed_with_its_confirmations_and_until_it_is_paid_out(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    settle(world, chain)
    send_tokens(payer, address, 5_000_000)
    assert arrived(world, link) == 0, "no block with it was read"
    settle(world, chain)
    assert arrived(world, link) == 5_000_000
    send_tokens(payer, address, 7_625_000)
    settle(world, chain)
    assert arrived(world, link) == 12_625_000
    deploy_and_pay(chain, request)
    assert arrived(world, link) == 12_625_000
    settle(world, chain)
    assert arrived(world, link) == 0
    assert_completed(world, link)


def test_many_addresses_are_read_at_once_and_another_token_is_no_arrival(
    world: World, chain: Chain, payer: Payer
) -> None:
    links = [offered(world)[0] for _ in range(3)]
    addresses = [own.address for link in links if (own := link.requests[0].plain_transfer) is not None]
    send_tokens(payer, addresses[0], 1)
    send_tokens(payer, addresses[1], 10**18, FAU)
    send_tokens(payer, addresses[2], 30_000_000)
    settle(world, chain)
    assert [arrived(world, link) for link in links] == [1, 0, 30_000_000]


def test_what_a_fork_takes_away_has_not_arrived(world: World, chain: Chain, payer: Payer) -> None:
    link, _, address = offered(world)
    settle(world, chain)
    before = chain.snapshot()
    send_tokens(payer, address, 5_000_000)
    settle(world, chain)
    assert arrived(world, link) == 5_000_000
    chain.revert(before)
    chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(7))  # other blocks than those that were removed
    chain.mine(6)
    world.tick(network="sepolia")
    assert arrived(world, link) == 0


def test_what_is_rescued_has_left_the_address(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world)
    send_tokens(payer, address, 12_500_000)
    settle(world, chain)
    assert arrived(world, link) == 12_500_000
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    call(chain, plain_transfer_calldata.rescue(address, FUSDC))
    settle(world, chain)
    assert arrived(world, link) == 0
    assert_completed(world, link)


# --- wrong token, wrong network, a payee who is refused ---


def test_another_token_is_no_payment_and_is_rescued_to_the_payee(world: World, chain: Chain, payer: Payer) -> None:
    link, request, address = offered(world)
    ledger = Ledger(chain, [FAU], [PAYEE, address])
    send_tokens(payer, address, 10**18, FAU)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    assert call(chain, plain_transfer_calldata.rescue(address, FAU))["status"] == "0x1"
    assert ledger.moved() == {FAU: [10**18, 0]}
    assert settle(world, chain) == 0
    assert world.load(link).requests[0].status is RequestStatus.CREATED


def test_coins_are_refused_by_the_contract_and_what_was_there_before_is_rescued(world: World, chain: Chain) -> None:
    _, request, address = offered(world)
    chain.fund_native(address, 777)
    call(chain, plain_transfer_calldata.deploy(terms_of(request)))
    before = chain.native_balance(PAYEE)
    assert call(chain, plain_transfer_calldata.rescue(address, None))["status"] == "0x1"
    assert chain.native_balance(PAYEE) - before == 777
    assert call(chain, Transaction(address, "0x", 1))["status"] == "0x0"


def test_tokens_of_another_network_are_rescued_by_the_same_address_there(
    world_on: Callable[..., World], chain_of: Callable[[str], Chain], payer_on: Callable[[str], Payer]
) -> None:
    world, other = world_on("base"), chain_of("optimism")
    usdc = "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"
    _, request, address = offered(world, currency="USDC-base")
    send_tokens(payer_on("optimism"), address, 5_000_000, usdc)
    ledger = Ledger(other, [usdc], [PAYEE, address])
    call(other, plain_transfer_calldata.deploy(terms_of(request)))
    assert call(other, plain_transfer_calldata.rescue(address, usdc))["status"] == "0x1"
    assert ledger.moved() == {usdc: [5_000_000, -5_000_000]}


def test_a_payee_whom_the_token_refuses_gets_nothing_and_the_money_waits(
    world: World, chain: Chain, payer: Payer
) -> None:
    link, request, address = offered(world)
    send_tokens(payer, address, 12_625_000)
    code = chain.rpc("eth_getCode", FUSDC, "latest")
    chain.rpc("anvil_setCode", FUSDC, "0x60006000fd")
    with pytest.raises((RpcError, AssertionError)):
        deploy_and_pay(chain, request)
    chain.rpc("anvil_setCode", FUSDC, code)
    assert chain.token_balance(FUSDC, address) == 12_625_000
    deploy_and_pay(chain, request)
    settle(world, chain)
    assert_completed(world, link)
