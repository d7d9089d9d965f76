"""/pay of links in another currency than the token: the amounts of each way, what is shown of them, and refusals."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from eth_abi import decode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY, address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.schemas.link import secure_payment_answer
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import Owed, by_quote
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import RateUnavailable, value_of
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.targets import Item
from tests.fakes.chain import FakeChain
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prices import FakePrices, Source
from tests.fakes.requests import standalone
from tests.fakes.wallets import tron_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, WALLET, World
from tests.onchain.payer import pay_body
from tests.support.items import TRON_PAYEE

USD_TO_FUSDC = {"invoice_currency": "USD", "payment_currency": "fUSDC-sepolia"}
USD_TO_USDC = {"invoice_currency": "USD", "payment_currency": "USDC-mainnet"}
USD_TO_ETH = {"invoice_currency": "USD", "payment_currency": "ETH-mainnet"}
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(client=object())
    world.services = replace(world.services, store=MemoryStore())
    world.prices.set("USD", "USDC", "1.0003")
    world.prices.set("ETH", "USD", "2500")
    yield world


def usd_item(amount: str, payment: str, invoice: str = "USD") -> Item:
    return Item(amount, None, PAYEE, invoice, payment)


def converted_call(transaction: dict[str, Any]) -> tuple[Any, ...]:
    """(payee, amount, path, reference, fee, fee address, most to spend, age) of a call of Erc20ConversionProxy."""
    assert (transaction["to"], transaction["data"][:10]) == (address_of(ERC20_CONVERSION_PROXY, "mainnet"), "0x3af2c012")
    types = ["address", "uint256", "address[]", "bytes", "uint256", "address", "uint256", "uint256"]
    return decode(types, bytes.fromhex(transaction["data"][10:]))


def direct_call(transaction: dict[str, Any]) -> tuple[int, int]:
    """(amount, fee) of a call of ERC20FeeProxy."""
    assert transaction["data"][:10] == "0xc219a14d"
    types = ["address", "address", "uint256", "bytes", "uint256", "address"]
    found = decode(types, bytes.fromhex(transaction["data"][10:]))
    return found[2], found[4]


def approved(transaction: dict[str, Any]) -> tuple[str, int]:
    assert transaction["data"][:10] == "0x095ea7b3"
    spender, amount = decode(["address", "uint256"], bytes.fromhex(transaction["data"][10:]))
    return spender, amount


def quotes_of(world: World, payable: PayableLink) -> int:
    request_id = payable.requests[0].request_id
    return len(world.services.store.query(Quote, Quote.KEY.all(request_id=request_id)))


# --- quoted ---


def test_a_quoted_amount_is_an_ordinary_payment_of_what_it_costs_at_the_rate(world: World) -> None:
    body = pay_body(world, world.create_link(**USD_TO_FUSDC), WALLET)
    grant, payment = body["transactions"]
    assert direct_call(payment) == (12_503_750, 125_037)
    assert approved(grant)[1] == 12_503_750 + 125_037
    metadata = body["metadata"]
    assert metadata["conversion"] == {
        "requestId": metadata["conversion"]["requestId"],
        "way": "quoted",
        "rate": "1.0003",
        "rateNumerator": "10003",
        "rateDenominator": "10000",
        "rateSource": "chainlink",
        "rateAt": "2026-03-15T10:00:00.000Z",
        "quoteExpiresAt": int((START + timedelta(seconds=300)).timestamp()),
        "invoiceCurrency": "USD",
        "invoiceAmount": "12.5",
        "paymentCurrency": "fUSDC-sepolia",
        "paymentAmount": "12.50375",
    }
    assert (metadata["requiredAmount"], metadata["hasEnoughBalance"]) == ("12.628787", True)


def test_the_amount_stays_the_same_while_the_quote_is_held_and_follows_the_rate_afterwards(world: World) -> None:
    payment = world.create_link(**USD_TO_FUSDC, fee_percentage=None, fee_address=None)
    first = pay_body(world, payment)
    world.prices.set("USD", "USDC", "1.02")
    world.advance(150)
    assert pay_body(world, payment) == first
    world.advance(1)
    later = pay_body(world, payment)
    assert direct_call(later["transactions"][-1]) == (12_750_000, 0)
    assert quotes_of(world, payment) == 2


def test_a_stablecoin_off_its_peg_is_paid_at_its_price(world: World) -> None:
    world.prices.set("USD", "USDC", "1.25")
    body = pay_body(world, world.create_link(**USD_TO_FUSDC, fee_percentage=None, fee_address=None))
    assert direct_call(body["transactions"][-1]) == (15_625_000, 0)


def test_sources_that_differ_or_are_silent_are_503_and_nothing_is_written(world: World) -> None:
    payment = world.create_link(**USD_TO_FUSDC)
    for spoiled in (Source(is_down=True), Source(off_by=Decimal("1.02")), Source(age=timedelta(hours=1))):
        world.prices.api = spoiled
        with pytest.raises(RateUnavailable) as refused:
            pay_body(world, payment, WALLET)
        assert refused.value.status == 503
        assert quotes_of(world, payment) == 0


def test_what_is_paid_later_is_the_rest_at_the_rate_of_then(world: World) -> None:
    payment = world.create_link(**USD_TO_FUSDC, fee_percentage=None, fee_address=None)
    request = replace(payment.requests[0], paid=BaseUnits(5 * 10**8))
    world.services.store.write(replace(request, version=1))
    body = pay_body(world, payment)
    assert direct_call(body["transactions"][-1]) == (7_502_250, 0)
    assert body["metadata"]["conversion"]["invoiceAmount"] == "7.5"


@given(
    st.integers(1, 10**16), st.integers(1, 10**24), st.integers(1, 10**24), st.sampled_from(["fUSDC-sepolia", "FAU-sepolia"])
)
def test_what_a_quote_asks_for_is_worth_the_amount_and_no_unit_less_is(
    amount: int, numerator: int, denominator: int, currency: str
) -> None:
    usd, token = token_with_id("USD"), token_with_id(currency)
    assert usd is not None and token is not None
    world = World(client=object())
    rate = Rate("USD", token.id, BaseUnits(numerator), BaseUnits(denominator), RateSource.CHAINLINK, START)
    request = standalone(world.services, currency=currency, invoice_currency="USD", amount=BaseUnits(amount))
    position = by_quote(Owed(request, request.amount, Fee()), Quote(request.request_id, 0, rate, START, START))
    assert value_of(position.due.amount, rate, usd, token) >= amount
    assert Fraction(position.due.amount - 1) < Fraction(amount * numerator * 10**token.decimals, denominator * 10**8)


def test_on_tron_what_is_signed_by_any_quote_that_still_holds_is_broadcast(world: World) -> None:
    """The page broadcasts for the payer: between two quotes it may have been given either."""
    world.prices.set("USD", "USDT", "1.001")
    tron = FakeChain("tron")
    tron.prices = world.prices
    world.services.chains.add(tron)  # type: ignore[attr-defined]
    payment = world.create_link(
        invoice_currency="USD", payment_currency="USDT-tron", payee=TRON_PAYEE, fee_percentage=None, fee_address=None
    )
    viewer, payer = checkout.Viewer(world.account_id, None), tron_wallet("payer").address

    def signable() -> list[int]:
        found = checkout.signable_transactions(world.services, payment.link.token, viewer, payer)
        return [direct_call({"data": each.data})[0] for each in found if each.data.startswith("0xc219a14d")]

    assert signable() == []
    (_, first) = pay_body(world, payment)["transactions"]
    world.advance(151)
    world.prices.set("USD", "USDT", "1.002")
    (_, second) = pay_body(world, payment)["transactions"]
    assert [direct_call(each)[0] for each in (first, second)] == [12_512_500, 12_525_000]
    assert signable() == [12_525_000, 12_512_500]
    world.advance(150)
    assert signable() == [12_525_000]


# --- converted by a contract ---


def test_a_contract_converts_amount_and_fee_up_to_what_the_payer_accepts(world: World) -> None:
    payment = world.create_link(**USD_TO_USDC)
    body = pay_body(world, payment, WALLET)
    grant, paid = body["transactions"]
    payee, amount, path, reference, fee, fee_address, most, age = converted_call(paid)
    assert (payee, amount, fee) == (PAYEE.lower(), 1_250_000_000, 12_500_000)
    assert path == ("0x775eb53d00dd0acd3ec1696472105d579b9b386b", USDC.lower())
    assert reference.hex() == payment.requests[0].payment_reference[2:]
    assert (fee_address, most, age) == (FEE_ADDRESS.lower(), 12_755_076, 90_000)  # 12.625 * 1.0003 * 1.01, rounded up
    assert approved(grant) == (address_of(ERC20_CONVERSION_PROXY, "mainnet").lower(), most)
    metadata = body["metadata"]
    conversion = {name: value for name, value in metadata["conversion"].items() if name != "requestId"}
    assert conversion == {
        "way": "on_chain",
        "rate": "1.0003",
        "rateNumerator": "10003",
        "rateDenominator": "10000",
        "rateSource": "chainlink",
        "rateAt": "2026-03-15T10:00:00.000Z",
        "invoiceCurrency": "USD",
        "invoiceAmount": "12.5",
        "paymentCurrency": "USDC-mainnet",
        "paymentAmount": "12.50375",
        "maxToSpend": "12.755076",
        "maxRateAge": 90_000,
    }
    assert metadata["requiredAmount"] == "12.755076"
    assert quotes_of(world, payment) == 0


def test_the_native_coin_is_sent_up_to_the_most_to_spend(world: World) -> None:
    body = pay_body(world, world.create_link(**USD_TO_ETH), WALLET)
    (paid,) = body["transactions"]
    assert (paid["to"], paid["data"][:10]) == (address_of(NATIVE_CONVERSION_PROXY, "mainnet"), "0xac473c8a")
    assert int(paid["value"], 16) == 12_625 * 10**15 * 101 // 100 // 2500
    assert body["metadata"]["conversion"]["rate"] == "0.0004"


def test_the_slippage_is_a_setting() -> None:
    world = World(client=object(), conversion_slippage_bps=0, feed_max_age_seconds=60)
    world.services = replace(world.services, store=MemoryStore())
    world.prices.set("USD", "USDC", "1")
    body = pay_body(world, world.create_link(**USD_TO_USDC, fee_percentage=None, fee_address=None))
    assert converted_call(body["transactions"][-1])[-2:] == (12_500_000, 60)


def test_a_batch_mixes_tokens_the_coin_and_conversions_in_one_call_with_the_coins_conversion_last(world: World) -> None:
    items = (
        usd_item("25", "ETH-mainnet"),
        usd_item("0.01", "ETH-mainnet", "ETH-mainnet"),
        usd_item("10", "USDC-mainnet"),
        usd_item("3", "USDC-mainnet", "USDC-mainnet"),
    )
    body = pay_body(world, world.create_link(items=items, fee_percentage=None, fee_address=None), WALLET)
    payment = body["batchPaymentTransaction"]
    detail = "(address,uint256,address[],bytes,uint256,uint256,uint256)"
    groups, _, _ = decode([f"(uint256,{detail}[])[]", "address[][]", "address"], bytes.fromhex(payment["data"][10:]))
    assert [number for number, _ in groups] == [0, 2, 3, 4]
    assert [[one[1] for one in members] for _, members in groups] == [
        [10 * 10**8],
        [3 * 10**6],
        [10**16],
        [25 * 10**8],
    ]
    most_usdc, most_eth = 10_103_030, 25 * 10**18 * 101 // 100 // 2500
    assert (groups[0][1][0][5], groups[3][1][0][5]) == (most_usdc, most_eth)
    assert int(payment["value"], 16) == 10**16 + most_eth
    (grant,) = body["ERC20ApprovalTransactions"]
    assert approved(grant) == (address_of(BATCH, "mainnet").lower(), most_usdc + 3 * 10**6)
    assert [each["paymentCurrency"] for each in body["metadata"]["conversions"]] == ["ETH-mainnet", "USDC-mainnet"]


def test_a_batch_of_quoted_amounts_reads_one_rate_for_each_pair_of_currencies(world: World) -> None:
    items = tuple(usd_item(str(number), "fUSDC-sepolia") for number in range(1, 21))
    read, asked = world.prices.now, list[str]()
    world.prices.now = lambda id, currency: (asked.append(id), read(id, currency))[1]  # type: ignore[method-assign]
    body = pay_body(world, world.create_link(items=items, fee_percentage=None, fee_address=None), WALLET)
    assert len(body["metadata"]["conversions"]) == 20
    assert len(asked) == 1
    assert approved(body["ERC20ApprovalTransactions"][0])[1] == 210 * 1_000_300


def test_with_a_stale_feed_nothing_is_built(world: World) -> None:
    payment = world.create_link(**USD_TO_USDC)
    world.prices.feeds.age = timedelta(hours=26)
    with pytest.raises(RateUnavailable, match="were not updated in time") as refused:
        pay_body(world, payment, WALLET)
    assert refused.value.status == 503


def test_with_a_feed_that_is_absent_or_answers_nothing_above_zero_nothing_is_built(world: World) -> None:
    """The contracts revert for an absent feed and a negative answer, and convert by no rate of 0 (chain tests)."""
    payment = world.create_link(invoice_currency="EUR", payment_currency="USDC-mainnet")
    with pytest.raises(RateUnavailable, match="give no rate of EUR in USDC-mainnet"):
        pay_body(world, payment, WALLET)


def test_an_amount_that_the_contract_would_round_to_nothing_is_refused(world: World) -> None:
    payment = world.create_link(**USD_TO_USDC, amount="0.01", fee_percentage=None, fee_address=None)
    world.prices.set("USD", "USDC", "0.00001")
    with pytest.raises(BadRequest, match="worth less than the smallest unit of USDC-mainnet"):
        pay_body(world, payment, WALLET)


def test_without_a_price_source_what_was_to_be_quoted_is_503(world: World) -> None:
    payment = world.create_link(**USD_TO_FUSDC)
    world.services = replace(world.services, prices=FakePrices(world.clock))
    with pytest.raises(RateUnavailable, match="USD cannot be converted to fUSDC-sepolia at present"):
        pay_body(world, payment, WALLET)


# --- what else is built of a link ---


@pytest.mark.parametrize("way", [USD_TO_FUSDC, USD_TO_USDC], ids=["quoted", "on chain"])
def test_a_wallets_options_are_in_the_token_that_is_paid(world: World, way: dict[str, str]) -> None:
    payment = world.create_link(**way, fee_percentage=None, fee_address=None)
    viewer = checkout.Viewer(world.account_id, None)
    description = checkout.describe(world.services, payment.link.token, viewer, WALLET)
    options = secure_payment_answer(description, {}).model_dump(exclude_unset=True)["paymentOptions"]
    ((_, tokens),) = options.items()
    ((_, option),) = tokens.items()
    assert option["neededAmount"] == ("12.50375" if way is USD_TO_FUSDC else "12.628788")


@pytest.mark.parametrize("way", [USD_TO_FUSDC, USD_TO_USDC], ids=["quoted", "on chain"])
def test_a_safe_gets_one_transaction_and_no_hash_of_it_is_computed_later(world: World, way: dict[str, str]) -> None:
    """What `/pay` gave depends on the rate at that time: the Safe Transaction Service has to know the transaction."""
    payment = world.create_link(**way)
    for network in world.services.chains.networks:
        world.services.chains.of(network).contracts.add(WALLET)  # type: ignore[attr-defined]
    assert pay_body(world, payment, WALLET, is_safe=True)["safeTransaction"]["operation"] == 1
    assert checkout.safe_transactions(world.services, payment.link, [payment]) == ()


def test_the_sum_of_a_conversion_never_exceeds_what_a_contract_can_handle(world: World) -> None:
    payment = world.create_link(**USD_TO_FUSDC, amount="1" + "0" * 15)
    world.prices.set("USD", "USDC", "1" + "0" * 60)
    with pytest.raises(BadRequest, match="larger than a token amount can be"):
        pay_body(world, payment, WALLET)


def test_with_a_node_that_does_not_answer_nothing_is_built(world: World) -> None:
    payment = world.create_link(**USD_TO_USDC)
    world.prices.feeds.is_down = True
    with pytest.raises(ServiceError) as refused:
        pay_body(world, payment, WALLET)
    assert refused.value.status == 503
