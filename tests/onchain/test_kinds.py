"""Every kind of EVM link paid on real contracts with the API's bytes unchanged: exact balances, detected, announced."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.addresses import DEAD_ADDRESS, evm_address
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.checkout import Due, pay_together, with_approvals
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.multicalls.children import MulticallRefused
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.storage.store import Store
from infra.local.bytecode import DEPLOYER
from infra.local.chain import Chain, RpcError
from infra.local.cloud import Cloud
from tests.bench.calls import counted
from tests.fakes.chain import FakeChains
from tests.fakes.world import FEE_ADDRESS, World, create_tables, draft
from tests.onchain.ledger import NATIVE, Ledger, allowance, assert_completed, confirmed, request_ids, settle
from tests.onchain.payer import Payer
from tests.onchain.tether_double import CREATION as TETHER
from tests.support.errors import body_of
from tests.support.rehearsed import rehearsed

PAYEES = tuple(evm_address("0x" + byte * 20) for byte in ("a1", "b2", "c3"))
OTHER_FEE_ADDRESS = evm_address("0x" + "fe" * 20)
LARGEST_TRANSACTION = 16_777_216
"""Gas, on mainnet (EIP-7825)."""
BASE_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
ARBITRUM_USDC, ARBITRUM_USDT = (
    "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
)
MAINNET_USDC, MAINNET_USDT = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xdAC17F958D2ee523a2206206994597C13D831ec7"
OPTIMISM_USDC = "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"
MATIC_USDC = "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"
MAINNET_DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"

Of = Callable[[str], Any]
WorldOn = Callable[..., World]


def item(amount: str, currency: str, payee: str) -> Item:
    return Item(amount, None, payee, currency, currency)


def batch(world: World, *items: Item, **changes: Any) -> PayableLink:
    """A link of several payments, with 1 % as its fee unless changed."""
    return world.create_link(items=items, **changes)


def payout(world: World, payer: Payer, amount: str, recipient: str, currency: str, **about: Any) -> PayableLink:
    network = currency.partition("-")[2]
    asked = PayoutDraft(recipient, payer.address, network, currency, amount, draft(items=(), **about))
    return payouts.create(world.services, world.owner, None, asked)


def assert_nothing_is_left(chain: Chain, payer: str, tokens: list[str]) -> None:
    """In the batch contract, or approved to it."""
    contract = address_of(BATCH, chain.network)
    assert [chain.token_balance(token, contract) for token in tokens] == [0] * len(tokens)
    assert chain.native_balance(contract) == 0
    assert [allowance(chain, token, payer, contract) for token in tokens] == [0] * len(tokens)


# --- batches ---


def test_a_batch_of_one_token_pays_everybody_exactly(world_on: WorldOn, chain_of: Of, payer_on: Of) -> None:
    world, chain, payer = world_on("base"), chain_of("base"), payer_on("base")
    amounts = ("12.5", "0.000001", "3.333333")
    world.register_webhook()
    payment = batch(world, *(item(a, "USDC-base", p) for a, p in zip(amounts, PAYEES, strict=True)))
    ledger = Ledger(chain, [BASE_USDC], [payer.address, *PAYEES, FEE_ADDRESS])
    receipts = payer.pay(world, payment)
    assert len(receipts) == 2
    assert ledger.moved() == {BASE_USDC: [-15_991_667, 12_500_000, 1, 3_333_333, 158_333]}
    assert_nothing_is_left(chain, payer.address, [BASE_USDC])
    assert settle(world, chain) == 3
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


def test_a_batch_of_two_tokens_and_the_native_coin_pays_everybody_exactly(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    world, chain, payer = world_on("mainnet"), chain_of("mainnet"), payer_on("mainnet")
    one, two, three = PAYEES
    wanted = (("0.25", "ETH-mainnet", one), ("7", "USDC-mainnet", two), ("1.5", "DAI-mainnet", three))
    more = (("2", "USDC-mainnet", three), ("0.5", "ETH-mainnet", three))
    world.register_webhook()
    payment = batch(world, *(item(*each) for each in (*wanted, *more)))
    ledger = Ledger(chain, [MAINNET_USDC, MAINNET_DAI, NATIVE], [payer.address, *PAYEES, FEE_ADDRESS])
    receipts = payer.pay(world, payment)
    assert len(receipts) == 3
    finney = 10**15
    assert ledger.moved(receipts) == {
        MAINNET_USDC: [-9_090_000, 0, 7_000_000, 2_000_000, 90_000],
        MAINNET_DAI: [-1515 * finney, 0, 0, 1500 * finney, 15 * finney],
        NATIVE: [-757_500 * finney // 1000, 250 * finney, 0, 500 * finney, 7500 * finney // 1000],
    }
    assert_nothing_is_left(chain, payer.address, [MAINNET_USDC, MAINNET_DAI])
    assert settle(world, chain) == 5
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


def test_a_batch_without_a_fee_moves_the_amounts_alone(world_on: WorldOn, chain_of: Of, payer_on: Of) -> None:
    network = "arbitrum-one"
    world, chain, payer = world_on(network), chain_of(network), payer_on(network)
    wanted = (("4", "USDC-arbitrum-one"), ("5", "USDT-arbitrum-one"), ("6", "USDC-arbitrum-one"))
    items = [item(amount, currency, payee) for (amount, currency), payee in zip(wanted, PAYEES, strict=True)]
    world.register_webhook()
    payment = batch(world, *items, fee_percentage=None, fee_address=None)
    ledger = Ledger(chain, [ARBITRUM_USDC, ARBITRUM_USDT], [payer.address, *PAYEES, DEAD_ADDRESS])
    payer.pay(world, payment)
    assert ledger.moved() == {
        ARBITRUM_USDC: [-10_000_000, 4_000_000, 0, 6_000_000, 0],
        ARBITRUM_USDT: [-5_000_000, 0, 5_000_000, 0, 0],
    }
    assert_nothing_is_left(chain, payer.address, [ARBITRUM_USDC, ARBITRUM_USDT])
    assert settle(world, chain) == 3
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


@pytest.mark.parametrize(
    ("network", "currency", "percentage", "fee"),
    [("matic", "MATIC-matic", "1", 3 * 10**16), ("bsc", "BNB-bsc", None, 0)],
)
def test_a_batch_of_the_native_coin_alone_needs_no_approval(
    world_on: WorldOn, chain_of: Of, payer_on: Of, network: str, currency: str, percentage: str | None, fee: int
) -> None:
    world, chain, payer = world_on(network), chain_of(network), payer_on(network)
    world.register_webhook()
    items = (item("1", currency, PAYEES[0]), item("2", currency, PAYEES[1]))
    payment = batch(world, *items, fee_percentage=percentage, fee_address=FEE_ADDRESS if percentage else None)
    ledger = Ledger(chain, [NATIVE], [payer.address, *PAYEES[:2], FEE_ADDRESS])
    receipts = payer.pay(world, payment)
    assert len(receipts) == 1
    assert ledger.moved(receipts) == {NATIVE: [-3 * 10**18 - fee, 10**18, 2 * 10**18, fee]}
    assert_nothing_is_left(chain, payer.address, [])
    assert settle(world, chain) == 2
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


def test_a_batch_fee_of_the_contract_is_covered_and_reaches_the_fee_address(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    world, chain, payer = world_on("optimism"), chain_of("optimism"), payer_on("optimism")
    chain.set_batch_fee(30)
    set_fee_limit(chain, 150 * 10**8)
    items = (item("10", "USDCn-optimism", PAYEES[0]), item("0.000999", "USDCn-optimism", PAYEES[1]))
    payment = batch(world, *items, item("1", "ETH-optimism-optimism", PAYEES[2]))
    ledger = Ledger(chain, [OPTIMISM_USDC, NATIVE], [payer.address, *PAYEES, FEE_ADDRESS])
    receipts = payer.pay(world, payment)
    fees = 100_009 + 30_002  # 1 % of each, rounded down, and 0.3 % of the sum
    assert ledger.moved(receipts) == {
        OPTIMISM_USDC: [-10_000_999 - fees, 10_000_000, 999, 0, fees],
        NATIVE: [-1_013 * 10**15, 0, 0, 10**18, 13 * 10**15],
    }
    assert_nothing_is_left(chain, payer.address, [OPTIMISM_USDC])
    assert settle(world, chain) == 3
    assert_completed(world, payment)


def set_fee_limit(chain: Chain, limit: int) -> None:
    """What the batch contract's owner lets its fee be at most, in USD with 8 decimals; nothing is taken when it is 0."""
    data = f"0x16ac30a9{limit:064x}"
    chain.receipt(chain.send_as(DEPLOYER, {"to": address_of(BATCH, chain.network), "data": data}))


@rehearsed
def test_two_hundred_payments_of_one_batch_are_detected_in_few_transactions(
    cloud: Cloud, chain_of: Of, payer_on: Of
) -> None:
    chain, payer, client = chain_of("base"), payer_on("base"), cloud.client("dynamodb")
    create_tables(client, "two-hundred")  # its own: the in-process tables copy themselves for every transaction
    world = World(client, chains=FakeChains(EvmChain("base", chain.url)))  # type: ignore[arg-type]
    world.services = replace(world.services, store=Store("two-hundred", client))
    payees = [evm_address(f"0x{0xA0 << 152 | number:040x}") for number in range(200)]
    items = (item(f"0.{number + 1:03}", "USDC-base", payee) for number, payee in enumerate(payees))
    payment = batch(world, *items)
    ledger = Ledger(chain, [BASE_USDC], [payer.address, *payees, FEE_ADDRESS])
    payer.pay(world, payment)
    assert ledger.moved() == {BASE_USDC: [-20_301_000, *((number + 1) * 1000 for number in range(200)), 201_000]}
    assert_nothing_is_left(chain, payer.address, [BASE_USDC])
    with counted(client) as calls:
        assert settle(world, chain) == 200
    assert calls.by_operation["TransactWriteItems"] == 20  # 10 payments each
    assert_completed(world, payment)


@pytest.mark.parametrize(("count", "transactions"), [(3, 1), (28, 1), (200, 2)])
def test_a_batch_of_every_token_takes_no_more_gas_than_is_said_and_than_a_transaction_may_have(
    chain_of: Of, payer_on: Of, count: int, transactions: int
) -> None:
    chain, payer = chain_of("mainnet"), payer_on("mainnet")
    tokens = itertools.cycle(token for token in find_tokens(network="mainnet") if not token.is_native)
    dues = [
        Due(token, evm_address(f"0x{0xA0 << 152 | n:040x}"), BaseUnits(500), BaseUnits(5), FEE_ADDRESS, n.to_bytes(8))
        for n, token in zip(range(count), tokens, strict=False)
    ]
    built = with_approvals(pay_together(dues), {})
    assert len(built.payments) == transactions
    receipts = [payer.send({"to": each.to, "data": each.data, "value": 0}) for each in built.transactions]
    used = [int(receipt["gasUsed"], 16) for receipt in receipts]
    assert max(used) < LARGEST_TRANSACTION
    assert sum(used) < built.gas < 1.5 * sum(used)
    assert_nothing_is_left(chain, payer.address, [token.address for token in built.debits])


def test_what_was_paid_of_a_batch_before_is_not_paid_again(world_on: WorldOn, chain_of: Of, payer_on: Of) -> None:
    world, chain, payer = world_on("base"), chain_of("base"), payer_on("base")
    world.register_webhook()
    payment = batch(world, item("10", "USDC-base", PAYEES[0]), item("4", "USDC-base", PAYEES[1]))
    ledger = Ledger(chain, [BASE_USDC], [payer.address, *PAYEES[:2], FEE_ADDRESS])
    pay_part(payer, payment, 2_500_000)
    assert settle(world, chain) == 1
    payer.pay(world, payment)
    assert ledger.moved() == {BASE_USDC: [-14_140_000, 10_000_000, 4_000_000, 140_000]}
    assert_nothing_is_left(chain, payer.address, [BASE_USDC])
    assert settle(world, chain) == 2
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


def pay_part(payer: Payer, payable: PayableLink, amount: int) -> None:
    """A part of the first request of a link, in USDC of base, with 1 % as its fee, by the payer's own hand."""
    request, proxy = payable.requests[0], address_of(ERC20_FEE_PROXY, "base")
    made = fee_proxy.pay_erc20(
        "base",
        token=BASE_USDC,
        payee=request.payee,
        amount=amount,
        reference=bytes.fromhex(request.payment_reference[2:]),
        fee_amount=amount // 100,
        fee_address=FEE_ADDRESS,
    )
    approved = f"0x095ea7b3{proxy[2:].lower():0>64}{amount + amount // 100:064x}"
    payer.send({"to": BASE_USDC, "data": approved, "value": 0})
    payer.send({"to": made.to, "data": made.data, "value": 0})


def test_a_token_that_refuses_a_second_approval_has_the_batch_contracts_withdrawn_first(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    world, chain, payer = world_on("mainnet"), chain_of("mainnet"), payer_on("mainnet")
    chain.etch(TETHER, [MAINNET_USDT])
    chain.fund_token(payer.address, MAINNET_USDT, 10**12)
    small = batch(world, *(item("1", "USDT-mainnet", payee) for payee in PAYEES[:2]))
    payer.send(payer.quote(world, small)["ERC20ApprovalTransactions"][0])
    payment = batch(world, *(item("3", "USDT-mainnet", payee) for payee in PAYEES[:2]))
    ledger = Ledger(chain, [MAINNET_USDT], [payer.address, *PAYEES[:2], FEE_ADDRESS])
    quote = payer.quote(world, payment)
    withdrawal, approval = quote["ERC20ApprovalTransactions"]
    with pytest.raises(RpcError):
        payer.send(approval)
    for transaction in (withdrawal, approval, quote["batchPaymentTransaction"]):
        payer.send(transaction)
    assert ledger.moved() == {MAINNET_USDT: [-6_060_000, 3_000_000, 3_000_000, 60_000]}
    assert_nothing_is_left(chain, payer.address, [MAINNET_USDT])
    assert settle(world, chain) == 2
    assert_completed(world, payment)


# --- payouts ---


def test_a_payout_pays_its_recipient_exactly(world_on: WorldOn, chain_of: Of, payer_on: Of) -> None:
    world, chain, payer = world_on("matic"), chain_of("matic"), payer_on("matic")
    world.register_webhook()
    payment = payout(world, payer, "8.25", PAYEES[0], "USDCn-matic")
    ledger = Ledger(chain, [MATIC_USDC], [payer.address, PAYEES[0], FEE_ADDRESS])
    payer.pay(world, payment)
    assert ledger.moved() == {MATIC_USDC: [-8_332_500, 8_250_000, 82_500]}
    assert settle(world, chain) == 1
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


def test_calldata_given_out_for_a_payout_still_counts_once_it_is_merged_into_a_batch(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    world, chain, payer = world_on("base"), chain_of("base"), payer_on("base")
    world.register_webhook()
    children = [payout(world, payer, "5", payee, "USDC-base") for payee in PAYEES]
    ledger = Ledger(chain, [BASE_USDC], [payer.address, *PAYEES, FEE_ADDRESS])
    early = payer.quote(world, children[1])["transactions"]
    tokens = tuple(child.link.token for child in children)
    merged = payouts.combine(world.services, world.owner, MergeDraft(tokens, None, None))
    assert {world.load(child).link.status for child in children} == {LinkStatus.INVALIDATED}
    for transaction in early:
        payer.send(transaction)
    assert settle(world, chain) == 1
    assert [request.paid for request in world.load(merged).requests] == [0, 5_000_000, 0]
    payer.pay(world, merged)
    assert ledger.moved() == {BASE_USDC: [-15_150_000, *[5_000_000] * 3, 150_000]}
    assert_nothing_is_left(chain, payer.address, [BASE_USDC])
    assert settle(world, chain) == 2
    assert_completed(world, merged)
    assert confirmed(world) == sorted(child.requests[0].request_id for child in children)


# --- multicalls ---


def test_a_multicall_pays_its_children_and_each_fee_to_its_own_address(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    network, currency = "arbitrum-one", "USDC-arbitrum-one"
    world, chain, payer = world_on(network), chain_of(network), payer_on(network)
    world.register_webhook()
    fees = (
        {},
        {"fee_percentage": "2", "fee_address": OTHER_FEE_ADDRESS},
        {"fee_percentage": None, "fee_address": None},
    )
    children = [payout(world, payer, "10", p, currency, **fee) for p, fee in zip(PAYEES, fees, strict=True)]
    parent = combine(world, children)
    quote = payer.quote(world, parent)
    assert quote["executionKind"] == "evm_same_chain"
    assert quote["references"] == [child.requests[0].payment_reference for child in children]
    assert [each["to"] for each in quote["transactions"]] == [ARBITRUM_USDC, *[address_of(BATCH, network)] * 2]
    ledger = Ledger(chain, [ARBITRUM_USDC], [payer.address, *PAYEES, FEE_ADDRESS, OTHER_FEE_ADDRESS])
    for transaction in quote["transactions"]:
        payer.send(transaction)
    assert ledger.moved() == {ARBITRUM_USDC: [-30_300_000, *[10_000_000] * 3, 100_000, 200_000]}
    assert_nothing_is_left(chain, payer.address, [ARBITRUM_USDC])
    assert settle(world, chain) == 3
    for child in children:
        assert_completed(world, child)
    assert status(world, parent) is LinkStatus.COMPLETED
    assert confirmed(world) == sorted(child.requests[0].request_id for child in children)


def test_a_multicall_whose_child_was_paid_alone_is_partly_settled_and_refused_with_its_name(
    world_on: WorldOn, chain_of: Of, payer_on: Of
) -> None:
    world, chain, payer = world_on("base"), chain_of("base"), payer_on("base")
    children = [payout(world, payer, "10", payee, "USDC-base") for payee in PAYEES]
    parent = combine(world, children)
    payer.pay(world, children[1])
    assert settle(world, chain) == 1
    assert status(world, parent) is LinkStatus.PARTIALLY_SETTLED
    with pytest.raises(MulticallRefused) as refused:
        payer.quote(world, parent)
    failures = body_of(refused.value)["failures"]
    assert [(each["securePaymentToken"], each["reason"]) for each in failures] == [
        (children[1].link.token, "already_paid")
    ]
    payer.pay(world, children[0])
    payer.pay(world, children[2])
    assert settle(world, chain) == 2
    assert status(world, parent) is LinkStatus.COMPLETED


def combine(world: World, children: list[PayableLink]) -> PayableLink:
    return multicalls.create(world.services, world.owner, [child.link.token for child in children], None).payable


def status(world: World, parent: PayableLink) -> LinkStatus:
    return multicall_reading.read(world.services, parent.link.token, world.account_id).status
