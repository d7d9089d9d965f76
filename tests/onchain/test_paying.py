"""Requests and payouts paid on real contracts with the API's bytes unchanged: parts, batches, conversions, quotes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.conversions import conversion_proxy
from chalicelib.checkout.payouts import flows as paying_out
from chalicelib.checkout.payouts.flows import BatchDraft
from chalicelib.checkout.payouts.schemas import batch_answer, payout_answer
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.requests.schemas import request_pay_answer
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.rates.rules import RateUnavailable
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.store import standing_alone
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import Owner
from infra.local.chain import Chain, RpcError
from infra.local.feeds import set_feed
from tests.fakes.prices import FakePrices
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import FEE_ADDRESS, PAYEE, World
from tests.onchain.ledger import NATIVE, Ledger, allowance, settle, time_of
from tests.onchain.market import ETH, EUR, USD, USDC, market_of_mainnet
from tests.onchain.payer import FAU, FUSDC, Payer
from tests.support.rehearsed import rehearsed

FEE = Fee("1", FEE_ADDRESS)
OTHERS = tuple(evm_address("0x" + byte * 20) for byte in ("a1", "b2", "c3"))
WorldOn, Of = Callable[..., World], Callable[[str], Any]
OWNER, VIEWER = Owner("acct", None, None), Viewer("acct", None)


def answer(world: World, request: Request, wallet: str, amount: str | None = None, fee: Fee = FEE) -> dict[str, Any]:
    """The body of GET /v2/request/{requestId}/pay."""
    part, options = Part(amount, fee), PayOptions(wallet)
    made = paying.pay(world.services, request.request_id, OWNER, VIEWER, options, part)
    return request_pay_answer(made, "plain").model_dump(exclude_unset=True)


def pay(world: World, request: Request, payer: Payer, amount: str | None = None, fee: Fee = FEE) -> list[dict[str, Any]]:
    return [payer.send(each) for each in answer(world, request, payer.address, amount, fee)["transactions"]]


def pay_batch(world: World, payer: Payer, *items: Item, fee: Fee = FEE) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The body of POST /v2/payouts/batch, and the receipts of its transactions."""
    draft = BatchDraft(tuple(map(Draft, items)), (), payer.address, fee)
    body = batch_answer(paying_out.pay_batch(world.services, OWNER, VIEWER, draft), "plain", "plain").model_dump(exclude_unset=True)
    transactions = [*body["ERC20ApprovalTransactions"], body["batchPaymentTransaction"]]
    return body, [payer.send(each) for each in transactions]


def loaded(world: World, body: dict[str, Any]) -> list[Request]:
    """The requests of a batch as they are stored now."""
    ids = [each["requestId"] for each in body["requests"]]
    found = standing_alone(world.services.store, ids)
    return [found[each] for each in ids]


@pytest.fixture
def mainnet(chain_of: Of, world_on: WorldOn) -> tuple[World, Chain]:
    """Mainnet with feeds, read by a deployment whose clock is the chain's."""
    chain, world = chain_of("mainnet"), world_on("mainnet")
    market_of_mainnet(chain)
    world.now = time_of(chain)
    return world, chain


# --- requests by their own operation ---


def test_a_request_is_paid_in_two_parts_to_the_last_unit(world: World, chain: Chain, payer: Payer) -> None:
    request = store_request(world.services)
    ledger = Ledger(chain, [FUSDC], [payer.address, PAYEE, FEE_ADDRESS])
    pay(world, request, payer, "5")
    assert ledger.moved() == {FUSDC: [-5_050_000, 5_000_000, 50_000]}
    assert settle(world, chain) == 1
    assert load_request(world.services, request).status is RequestStatus.PARTIALLY_PAID
    pay(world, request, payer, "100")
    assert ledger.moved() == {FUSDC: [-12_625_000, 12_500_000, 125_000]}
    assert settle(world, chain) == 1
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid) == (RequestStatus.PAID, request.amount)


def test_a_request_in_the_native_coin_is_paid(world: World, chain: Chain, payer: Payer) -> None:
    request = store_request(world.services, currency="ETH-sepolia-sepolia", amount=BaseUnits(5 * 10**17))
    ledger = Ledger(chain, [NATIVE], [payer.address, PAYEE, FEE_ADDRESS])
    receipts = pay(world, request, payer)
    assert ledger.moved(receipts) == {NATIVE: [-505 * 10**15, 5 * 10**17, 5 * 10**15]}
    assert settle(world, chain) == 1
    assert load_request(world.services, request).status is RequestStatus.PAID


def test_a_request_that_is_paid_through_its_link_and_by_itself_at_once_counts_each_payment_once(
    world: World, chain: Chain, payer: Payer
) -> None:
    link = world.create_link()
    (request,) = link.requests
    by_itself = answer(world, request, payer.address, fee=Fee())
    payer.pay(world, link)
    for each in by_itself["transactions"]:
        payer.send(each)
    assert settle(world, chain) == 2
    paid = world.load(link).requests[0]
    assert (paid.status, paid.paid, paid.payment_count) == (RequestStatus.PAID, 2 * request.amount, 2)


def test_a_payout_of_one_call_is_paid_and_detected(world: World, chain: Chain, payer: Payer) -> None:
    item = Item("12.5", None, PAYEE, "FAU-sepolia", "FAU-sepolia")
    made = paying_out.pay_out(world.services, OWNER, Draft(item), PayOptions(payer.address), FEE)
    body = payout_answer(made, "plain").model_dump(exclude_unset=True)
    ledger = Ledger(chain, [FAU], [payer.address, PAYEE, FEE_ADDRESS])
    for each in body["transactions"]:
        payer.send(each)
    assert ledger.moved() == {FAU: [-12_625 * 10**15, 12_500 * 10**15, 125 * 10**15]}
    assert settle(world, chain) == 1


# --- batches of payouts ---


def test_a_batch_of_tokens_and_the_coin_pays_everybody_exactly(world: World, chain: Chain, payer: Payer) -> None:
    ledger = Ledger(chain, [FUSDC, FAU, NATIVE], [payer.address, *OTHERS, FEE_ADDRESS])
    body, receipts = pay_batch(
        world,
        payer,
        Item("12.5", None, OTHERS[0], "fUSDC-sepolia", "fUSDC-sepolia"),
        Item("3", None, OTHERS[1], "FAU-sepolia", "FAU-sepolia"),
        Item("0.000001", None, OTHERS[2], "fUSDC-sepolia", "fUSDC-sepolia"),
        Item("0.25", None, OTHERS[2], "ETH-sepolia-sepolia", "ETH-sepolia-sepolia"),
    )
    assert len(receipts) == 3
    assert ledger.moved(receipts) == {
        FUSDC: [-12_625_001, 12_500_000, 0, 1, 125_000],
        FAU: [-303 * 10**16, 0, 3 * 10**18, 0, 3 * 10**16],
        NATIVE: [-2_525 * 10**14, 0, 0, 25 * 10**16, 25 * 10**14],
    }
    assert settle(world, chain) == 4
    assert {each.status for each in loaded(world, body)} == {RequestStatus.PAID}


@rehearsed
def test_two_hundred_payouts_fit_into_one_transaction(world: World, chain: Chain, payer: Payer) -> None:
    payees = [evm_address(f"0x{0xA11CE0000 + number:040x}") for number in range(200)]
    items = [Item("1.5", None, payee, "fUSDC-sepolia", "fUSDC-sepolia") for payee in payees]
    body, receipts = pay_batch(world, payer, *items, fee=Fee())
    assert int(receipts[-1]["gasUsed"], 16) < 16_777_216
    assert all(chain.token_balance(FUSDC, payee) == 1_500_000 for payee in payees)
    assert settle(world, chain) == 200
    assert {each.status for each in loaded(world, body)} == {RequestStatus.PAID}


def test_a_batch_mixes_conversions_with_payments_in_their_own_currency(
    mainnet: tuple[World, Chain], payer_on: Of
) -> None:
    world, chain = mainnet
    payer = payer_on("mainnet")
    ledger = Ledger(chain, [USDC.address, NATIVE], [payer.address, *OTHERS])
    body, receipts = pay_batch(
        world,
        payer,
        Item("25", None, OTHERS[0], "USD", "ETH-mainnet"),
        Item("10", None, OTHERS[1], "EUR", "USDC-mainnet"),
        Item("3", None, OTHERS[1], "USDC-mainnet", "USDC-mainnet"),
        Item("0.5", None, OTHERS[2], "ETH-mainnet", "ETH-mainnet"),
        fee=Fee(),
    )
    eur_in_usdc = 10 * 10**8 * 108_000_000 // 99_970_000 // 100
    moved = ledger.moved(receipts)
    assert moved[USDC.address] == [-eur_in_usdc - 3_000_000, 0, eur_in_usdc + 3_000_000, 0]
    assert moved[NATIVE] == [-(10**16) - 5 * 10**17, 10**16, 0, 5 * 10**17]
    assert settle(world, chain) == 4
    assert {each.status for each in loaded(world, body)} == {RequestStatus.PAID}


# --- conversions ---


@pytest.mark.parametrize("payment", [USDC, ETH], ids=["token", "coin"])
def test_a_contract_converts_and_the_rest_of_what_was_allowed_stays_with_the_payer(
    mainnet: tuple[World, Chain], payer_on: Of, payment: Any
) -> None:
    world, chain = mainnet
    payer = payer_on("mainnet")
    request = store_request(
        world.services, invoice_currency="EUR", currency=payment.id, amount=BaseUnits(12_500 * 10**6)
    )
    holder = NATIVE if payment.is_native else payment.address
    ledger = Ledger(chain, [holder], [payer.address, PAYEE, FEE_ADDRESS])
    body = answer(world, request, payer.address)
    receipts = [payer.send(each) for each in body["transactions"]]
    units = [125 * 10**8, 125 * 10**6]
    rate = (108_000_000, 250_000_000_000, 18) if payment.is_native else (108_000_000, 99_970_000, 6)
    amount, fee = (each * rate[0] * 10 ** rate[2] // (rate[1] * 10**8) for each in units)
    payer_lost, payee_got, fee_got = ledger.moved(receipts)[holder]
    assert abs(payee_got - amount) <= 10 ** (rate[2] - 6) and abs(fee_got - fee) <= 10 ** (rate[2] - 6)
    assert -payer_lost == payee_got + fee_got, "nothing stays in a contract"
    if not payment.is_native:
        left = allowance(chain, payment.address, payer.address, conversion_proxy(payment))
        assert 0 < left < amount // 50
    assert settle(world, chain) == 1
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid) == (RequestStatus.PAID, request.amount)


def test_a_part_of_a_converted_request_leaves_the_rest(mainnet: tuple[World, Chain], payer_on: Of) -> None:
    world, chain = mainnet
    payer = payer_on("mainnet")
    request = store_request(
        world.services, invoice_currency="USD", currency="USDC-mainnet", amount=BaseUnits(100 * 10**8)
    )
    pay(world, request, payer, "40")
    assert settle(world, chain) == 1
    partly = load_request(world.services, request)
    assert (partly.status, partly.paid) == (RequestStatus.PARTIALLY_PAID, 40 * 10**8)
    body = answer(world, request, payer.address)
    assert body["metadata"]["amount"] == body["metadata"]["conversion"]["invoiceAmount"] == "60"


@pytest.mark.parametrize(("moved_bps", "is_paid"), [(-500, True), (90, True), (110, False)])
def test_the_rate_may_move_between_the_calldata_and_the_payment_as_far_as_the_payer_accepts(
    mainnet: tuple[World, Chain], payer_on: Of, moved_bps: int, is_paid: bool
) -> None:
    world, chain = mainnet
    payer = payer_on("mainnet")
    request = store_request(
        world.services, invoice_currency="EUR", currency="USDC-mainnet", amount=BaseUnits(100 * 10**8)
    )
    approval, payment = answer(world, request, payer.address)["transactions"]
    set_feed(chain, EUR, USD, 108_000_000 * (10_000 + moved_bps) // 10_000)
    payer.send(approval)
    if is_paid:
        payer.send(payment)
        return
    with pytest.raises(RpcError, match="Amount to pay is over the user limit"):
        payer.send(payment)


def test_a_rate_that_has_become_too_old_is_refused_by_the_contract_and_by_the_service(
    mainnet: tuple[World, Chain], payer_on: Of
) -> None:
    world, chain = mainnet
    payer = payer_on("mainnet")
    request = store_request(
        world.services, invoice_currency="USD", currency="USDC-mainnet", amount=BaseUnits(100 * 10**8)
    )
    approval, payment = answer(world, request, payer.address)["transactions"]
    set_feed(chain, USDC, USD, 99_970_000, age=26 * 3600)
    payer.send(approval)
    with pytest.raises(RpcError, match="aggregator rate is outdated"):
        payer.send(payment)
    with pytest.raises(RateUnavailable, match="were not updated in time"):
        answer(world, request, payer.address)


def test_a_feed_that_answers_nothing_above_zero_or_is_gone_is_refused(mainnet: tuple[World, Chain]) -> None:
    world, chain = mainnet
    request = store_request(
        world.services, invoice_currency="EUR", currency="USDC-mainnet", amount=BaseUnits(100 * 10**8)
    )
    for wrong in (0, -108_000_000):
        set_feed(chain, EUR, USD, wrong)
        with pytest.raises(RateUnavailable, match="give no rate of EUR in USDC-mainnet now"):
            answer(world, request, FEE_ADDRESS)


def test_a_quoted_request_is_paid_where_no_contract_converts(chain_of: Of, world_on: WorldOn, payer_on: Of) -> None:
    market_of_mainnet(chain_of("mainnet"))
    chain, payer, world = chain_of("sepolia"), payer_on("sepolia"), world_on("sepolia", "mainnet")
    world.now = time_of(chain)
    prices = FakePrices(world.clock)
    prices.set("USD", "USDC", str(100_000_000 / 99_970_000))
    world.services = replace(world.services, prices=prices)
    request = store_request(world.services, invoice_currency="USD", amount=BaseUnits(100 * 10**8))
    ledger = Ledger(chain, [FUSDC], [payer.address, PAYEE, FEE_ADDRESS])
    body = answer(world, request, payer.address)
    for each in body["transactions"]:
        payer.send(each)
    asked = -(-100 * 10**6 * 10**8 // 99_970_000)
    assert ledger.moved() == {FUSDC: [-asked - asked // 100, asked, asked // 100]}
    assert body["metadata"]["conversion"]["way"] == "quoted"
    assert settle(world, chain) == 1
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid) == (RequestStatus.PAID, request.amount)
