"""Conversions on the real contracts of mainnet, as the service reads and records them: exact balances and totals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.base.addresses import same_address
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, token_debits
from chalicelib.chains.calldata.conversions.proxy import (
    Conversion,
    ConvertedPayment,
    pay_erc20_converted,
    pay_native_converted,
)
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import BATCH, address_of
from chalicelib.chains.catalogue.conversions import conversion_proxy, on_chain_units
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning import store as scan_store
from infra.local.chain import Chain
from infra.local.feeds import set_feed
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import FEE_ADDRESS, PAYEE, World
from tests.onchain.ledger import NATIVE, Ledger
from tests.onchain.market import DAI, ETH, EUR, HOUR, USD, USDC, Market, market_of_mainnet


@dataclass
class Shop:
    """A deployment that reads mainnet, and somebody who pays there."""

    world: World
    market: Market

    def request(self, invoice: Token = USD, payment: Token = USDC, units: int = 1250) -> Request:
        """A request of an amount in minor units of a fiat currency."""
        amount = on_chain_units(invoice, units)
        return store_request(self.world.services, invoice_currency=invoice.id, currency=payment.id, amount=amount)

    def conversion(self, request: Request, slippage_bps: int = 100) -> Conversion:
        invoice, payment = _currencies(request)
        return self.market.most(invoice, payment, request.amount // 10**6, slippage_bps)

    def calldata(self, request: Request, conversion: Conversion, fee: int = 0) -> list[Transaction]:
        _, payment = _currencies(request)
        reference = bytes.fromhex(request.payment_reference[2:])
        due = ConvertedPayment(
            PAYEE, request.amount, reference, conversion, on_chain_units(USD, fee), FEE_ADDRESS if fee else None
        )
        if payment.is_native:
            return [pay_native_converted("mainnet", due)]
        allowed = approve(payment.address, conversion_proxy(payment), conversion.max_to_spend)
        return [allowed, pay_erc20_converted("mainnet", due)]

    def pay(self, request: Request, conversion: Conversion | None = None, fee: int = 0) -> None:
        self.market.send(*self.calldata(request, conversion or self.conversion(request), fee))

    def scan(self) -> int:
        self.market.chain.mine(20)
        return self.world.tick(network="mainnet")

    def load(self, request: Request) -> Request:
        return load_request(self.world.services, request)

    def payments(self, request: Request) -> tuple[Payment, ...]:
        return payment_store.payments(self.world.services.store, request.request_id)


def _currencies(request: Request) -> tuple[Token, Token]:
    by_id = {each.id: each for each in (USD, EUR, USDC, DAI, ETH)}
    return by_id[request.invoice_currency or ""], by_id[request.currency]


@pytest.fixture
def shop(chain_of: Callable[[str], Chain], world_on: Callable[..., World]) -> Shop:
    shop = Shop(world_on("mainnet"), market_of_mainnet(chain_of("mainnet")))
    shop.scan()
    return shop


@pytest.mark.parametrize("payment", [USDC, ETH], ids=["token", "coin"])
def test_a_conversion_moves_exact_sums_and_pays_the_request_in_its_own_currency_once(
    shop: Shop, payment: Token
) -> None:
    request = shop.request(EUR, payment, 1250)
    holder = NATIVE if payment.is_native else payment.address
    ledger = Ledger(shop.market.chain, [holder], [PAYEE, FEE_ADDRESS])
    shop.pay(request, shop.market.most(EUR, payment, 1263), fee=13)
    rate = shop.market.rate(EUR, payment)
    moved, fee = (units * rate.rate // rate.divisor for units in (request.amount, on_chain_units(USD, 13)))
    assert ledger.moved()[holder] == [moved, fee]
    assert shop.scan() == 1
    paid = shop.load(request)
    assert (paid.status, paid.paid, paid.payment_count) == (RequestStatus.PAID, request.amount, 1)
    (found,) = shop.payments(request)
    assert (found.amount, found.fee_amount, found.value) == (moved, fee, request.amount)
    assert (found.type, found.payer) == (PaymentKind.CONVERSION, shop.market.address)
    assert found.rate is not None
    exact = rate.rate * 10**8 / rate.divisor / 10**payment.decimals
    assert abs(float(found.rate.fraction) / exact - 1) < 1e-6
    assert shop.scan() == 0


def test_a_batch_of_conversions_and_plain_payments_pays_each_request_once(shop: Shop) -> None:
    usd, eur, dai = shop.request(USD, USDC), shop.request(EUR, USDC, 777), shop.request(USD, DAI, 5000)
    coin, plain = shop.request(USD, ETH), store_request(shop.world.services, currency="USDC-mainnet")
    items = [
        BatchItem(None if each is coin else _currencies(each)[1].address, PAYEE, each.amount,
                  bytes.fromhex(each.payment_reference[2:]), 0, shop.conversion(each))
        for each in (usd, eur, dai)
    ]  # fmt: skip
    items.append(BatchItem(USDC.address, PAYEE, plain.amount, bytes.fromhex(plain.payment_reference[2:]), 0))
    items.append(
        BatchItem(None, PAYEE, coin.amount, bytes.fromhex(coin.payment_reference[2:]), 0, shop.conversion(coin))
    )
    batch = address_of(BATCH, "mainnet")
    allowed = [approve(token, batch, debit) for token, debit in token_debits(items).items() if token is not None]
    ledger = Ledger(shop.market.chain, [USDC.address, DAI.address], [PAYEE, batch])
    shop.market.send(*allowed, pay_batch("mainnet", items))
    assert shop.scan() == 5
    for request in (usd, eur, dai, coin, plain):
        assert (shop.load(request).paid, len(shop.payments(request))) == (request.amount, 1)
    amounts = {each: shop.payments(each)[0].amount for each in (usd, eur, dai, plain)}
    assert ledger.moved()[USDC.address] == [amounts[usd] + amounts[eur] + amounts[plain], 0]
    assert ledger.moved()[DAI.address] == [amounts[dai], 0]
    assert {shop.payments(each)[0].payer for each in (usd, eur, dai, plain)} == {shop.market.address}


def test_a_conversion_and_an_equal_payment_by_the_fee_proxy_are_two_payments(shop: Shop) -> None:
    """In one transaction, with the same reference, token, payee and amount, they differ by the conversion alone."""
    request = shop.request()
    reference, conversion = bytes.fromhex(request.payment_reference[2:]), shop.conversion(request)
    rate = shop.market.rate(USD, USDC)
    moved = request.amount * rate.rate // rate.divisor
    items = [
        BatchItem(USDC.address, PAYEE, request.amount, reference, 0, conversion),
        BatchItem(USDC.address, PAYEE, moved, reference, 0),
    ]
    (debit,) = token_debits(items).values()
    hold_quote(shop, request, rate.rate * 10**8, rate.divisor * 10**6)
    shop.market.send(approve(USDC.address, address_of(BATCH, "mainnet"), debit), pay_batch("mainnet", items))
    assert shop.scan() == 2
    assert sorted(each.amount for each in shop.payments(request)) == [moved, moved]
    assert abs(shop.load(request).paid - 2 * request.amount) < 1000, "the second is rounded down"


def hold_quote(shop: Shop, request: Request, numerator: int, denominator: int) -> None:
    """A quote that holds for an hour of the chain's time, which is not that of the deployment."""
    now = datetime.now(UTC)
    invoice, payment = _currencies(request)
    rate = Rate(
        invoice.id, payment.id, BaseUnits(numerator), BaseUnits(denominator), RateSource.CHAINLINK, now
    )
    lifetime = timedelta(minutes=30)
    shop.world.services.store.write(Quote(request.request_id, 0, rate, now - lifetime, now + lifetime))


def test_a_rate_that_moves_within_the_limit_pays_in_full_and_beyond_it_nothing_is_recorded(shop: Shop) -> None:
    request = shop.request()
    conversion = shop.conversion(request, slippage_bps=100)
    set_feed(shop.market.chain, USDC, USD, 98_900_000)
    assert "Amount to pay is over the user limit" in shop.market.refusal(*shop.calldata(request, conversion))
    assert shop.scan() == 0
    assert shop.load(request).status is RequestStatus.CREATED
    set_feed(shop.market.chain, USDC, USD, 99_100_000)
    shop.pay(request, conversion)
    assert shop.scan() == 1
    assert shop.load(request).paid == request.amount
    assert shop.payments(request)[0].amount == 12_613_521


def test_a_rate_that_is_too_old_reverts_and_nothing_is_recorded(shop: Shop) -> None:
    request = shop.request(EUR)
    conversion = replace(shop.conversion(request), max_rate_age=200)
    set_feed(shop.market.chain, EUR, USD, 108_000_000, age=201)
    assert "aggregator rate is outdated" in shop.market.refusal(*shop.calldata(request, conversion))
    assert shop.scan() == 0
    assert shop.payments(request) == ()


@pytest.mark.parametrize("age", [0, 26 * HOUR])
def test_a_conversion_that_accepts_too_old_a_rate_counts_as_the_tokens_that_it_moved(shop: Shop, age: int) -> None:
    request = shop.request()
    conversion = shop.conversion(request)
    hold_quote(shop, request, 2, 1)
    proxy_data = shop.calldata(request, replace(conversion, max_rate_age=age or 1))
    if not age:  # our calldata refuses 0, the contract accepts it
        word = f"{1:064x}{2:064x}"
        assert word in proxy_data[1].data
        proxy_data[1] = replace(proxy_data[1], data=proxy_data[1].data.replace(word, f"{0:064x}{2:064x}"))
    shop.market.send(*proxy_data)
    assert shop.scan() == 1
    (found,) = shop.payments(request)
    assert found.value == found.amount * 100 // 2


@pytest.mark.parametrize(("base", "answer"), [(EUR, 0), (USDC, -1)])
def test_a_feed_that_answers_0_or_is_divided_by_less_moves_nothing_and_counts_nothing(
    shop: Shop, base: Token, answer: int
) -> None:
    request = shop.request(EUR)
    conversion = shop.conversion(request)
    set_feed(shop.market.chain, base, USD, answer)
    shop.pay(request, conversion)
    assert shop.scan() == 0
    assert (shop.load(request).paid, shop.payments(request)) == (0, ())


@pytest.mark.parametrize(("base", "answer"), [(USDC, 0), (EUR, -1)])
def test_a_feed_that_answers_less_or_nothing_to_divide_by_reverts(shop: Shop, base: Token, answer: int) -> None:
    request = shop.request(EUR)
    conversion = shop.conversion(request)
    set_feed(shop.market.chain, base, USD, answer)
    assert "revert" in shop.market.refusal(*shop.calldata(request, conversion)).lower()
    assert shop.scan() == 0
    assert shop.payments(request) == ()


def test_a_path_that_goes_round_pays_half_and_counts_for_what_it_moved(shop: Shop) -> None:
    """Feeds differ by a fraction of a percent at any time. The payer chooses the path, and each round gains that."""
    request = shop.request(USD, USDC, 125_000)
    conversion = shop.conversion(request, slippage_bps=10_000)
    set_feed(shop.market.chain, USDC, ETH, 40_200)  # 0.5 % more than by the feeds in dollars
    start, *_, end = conversion.path
    rounds = (ETH.hash.lower(), USDC.hash.lower(), USD.hash.lower())
    crooked = replace(conversion, path=(start, *rounds * 150, end))
    hold_quote(shop, request, 10_003, 10_000)
    shop.pay(request, crooked)
    assert shop.scan() == 1
    (found,) = shop.payments(request)
    assert 0.44 < found.amount / 1_250_375_112 < 0.46, "it paid less than half"
    assert found.value == found.amount * 10**6 // 10_003
    assert shop.load(request).status is RequestStatus.PARTIALLY_PAID
    entries = scan_store.list_logged(shop.world.services.store, "mainnet", 0, shop.market.evm.head())
    (entry,) = (each for each in entries if same_address(each.payee, PAYEE))
    assert entry.conversion is not None
    assert entry.conversion.amount == request.amount, "which its event says all the same"


def test_a_plain_payment_of_what_a_quote_asks_for_pays_in_full(shop: Shop) -> None:
    request = shop.request()
    hold_quote(shop, request, 10_003, 10_000)
    paid = pay_erc20(
        "mainnet", token=USDC.address, payee=PAYEE, amount=12_503_750,
        reference=bytes.fromhex(request.payment_reference[2:]), fee_amount=0, fee_address=None,
    )  # fmt: skip
    shop.market.send(approve(USDC.address, paid.to, 12_503_750), paid)
    assert shop.scan() == 1
    assert shop.load(request).paid == request.amount


def forwarder(to: str) -> str:
    """The code of a contract that logs whenever it receives coins, and forwards every call that it gets."""
    logs_coins = "36600a57" + "60006000a000"
    calls = "5b" + "3660006000" + "37" + "6000600036600034" + "73" + to[2:].lower() + "5af1"
    reverts_if_that_fails = f"60{len(logs_coins + calls) // 2 + 8:02x}57" + "60006000fd" + "5b00"
    return "0x" + logs_coins + calls + reverts_if_that_fails


def test_nothing_that_payer_or_payee_do_comes_between_the_two_events_of_a_conversion(shop: Shop) -> None:
    """Otherwise anybody could stop a network: an event without its other one is taken for a node that lost logs."""
    payer, payee = "0x" + "99" * 20, "0x" + "98" * 20
    for contract in (payer, payee):
        shop.market.chain.rpc("anvil_setCode", contract, forwarder(conversion_proxy(ETH)))
    fields = {"invoice_currency": "USD", "currency": ETH.id, "amount": on_chain_units(USD, 1250)}
    request = store_request(shop.world.services, payee=payee, **fields)
    conversion = shop.conversion(request, slippage_bps=1000)
    reference = bytes.fromhex(request.payment_reference[2:])
    paid = pay_native_converted("mainnet", ConvertedPayment(payee, request.amount, reference, conversion))
    receipt = shop.market.send(replace(paid, to=payer))
    assert [log["address"] for log in receipt["logs"]].count(payer) == 1, "it got the rest back"
    assert [log["address"] for log in receipt["logs"]].count(payee) == 1
    assert shop.scan() == 1
    assert shop.load(request).status is RequestStatus.PAID
