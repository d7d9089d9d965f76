"""Conversion payments on the real contracts: our calldata, exact balances, rates that move, and the events."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

from chalicelib.base.addresses import same_address
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, token_debits
from chalicelib.chains.calldata.conversions.proxy import ConvertedPayment, pay_erc20_converted, pay_native_converted
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY, address_of
from chalicelib.chains.catalogue.conversions import conversion_proxy, on_chain_units
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.history.logs import LoggedConversion, ProxyTransfer
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.payments.requests.references import reference_topic
from infra.local.chain import Chain
from infra.local.feeds import set_feed, set_rounds
from tests.onchain.ledger import NATIVE, Ledger, allowance
from tests.onchain.market import DAI, ETH, EUR, GBP, HOUR, USD, USDC, Market, market_of_mainnet, path_of, token

PAYEE, OTHER = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
COLLECTOR = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
REFERENCE = bytes.fromhex("11497d24d1a76c9b")


def floor(units: int, rate: PathRate) -> int:
    return units * rate.rate // rate.divisor


def paid(network: str, receipt: dict[str, Any]) -> tuple[ProxyTransfer, ...]:
    """The payments of a transaction, which are all conversions."""
    found = transfers_of(network, receipt["logs"])
    assert all(each.conversion is not None for each in found)
    return found


def said(transfer: ProxyTransfer) -> LoggedConversion:
    assert transfer.conversion is not None
    return transfer.conversion


@pytest.fixture
def mainnet(chain_of: Callable[[str], Chain]) -> Market:
    return market_of_mainnet(chain_of("mainnet"))


@pytest.fixture
def matic(chain_of: Callable[[str], Chain]) -> Market:
    return Market(
        chain_of("matic"),
        {(token("USDCn-matic"), USD): 100_010_000, (token("MATIC-matic"), USD): 52_000_000, (EUR, USD): 108_000_000},
    )


@pytest.mark.parametrize(("invoice", "amount", "fee"), [(USD, 1250, 13), (EUR, 99_999, 1), (GBP, 1, 0)])
def test_an_invoice_in_fiat_is_paid_in_a_token_to_the_last_unit(
    mainnet: Market, invoice: Token, amount: int, fee: int
) -> None:
    conversion = mainnet.most(invoice, USDC, amount + fee)
    payment = ConvertedPayment(
        PAYEE, on_chain_units(invoice, amount), REFERENCE, conversion, on_chain_units(invoice, fee), COLLECTOR
    )
    proxy, ledger = conversion_proxy(USDC), Ledger(mainnet.chain, [USDC.address], [mainnet.address, PAYEE, COLLECTOR])
    receipt = mainnet.send(
        approve(USDC.address, proxy, conversion.max_to_spend), pay_erc20_converted("mainnet", payment)
    )
    rate = mainnet.rate(invoice, USDC)
    to_payee, to_collector = floor(payment.amount, rate), floor(payment.fee_amount, rate)
    assert ledger.moved()[USDC.address] == [-to_payee - to_collector, to_payee, to_collector]
    left = conversion.max_to_spend - to_payee - to_collector
    assert allowance(mainnet.chain, USDC.address, mainnet.address, proxy) == left >= 0
    (transfer,) = paid("mainnet", receipt)
    converted = said(transfer)
    assert (converted.currency, converted.amount) == (invoice.hash, on_chain_units(invoice, amount))
    assert converted.fee_amount == on_chain_units(invoice, fee)
    assert converted.max_rate_age == HOUR
    assert (transfer.amount, transfer.fee_amount, transfer.payee) == (to_payee, to_collector, PAYEE.lower())
    assert transfer.token_address == USDC.address.lower()
    assert transfer.reference_topic == reference_topic(REFERENCE)


@pytest.mark.parametrize("network", ["mainnet", "matic"])
def test_an_invoice_in_fiat_is_paid_in_the_native_coin_and_the_rest_comes_back(
    request: pytest.FixtureRequest, network: str
) -> None:
    market: Market = request.getfixturevalue(network)
    coin = ETH if network == "mainnet" else token("MATIC-matic")
    conversion = market.most(EUR, coin, 1263)
    payment = ConvertedPayment(
        PAYEE, on_chain_units(EUR, 1250), REFERENCE, conversion, on_chain_units(EUR, 13), COLLECTOR
    )
    ledger = Ledger(market.chain, [NATIVE], [market.address, PAYEE, COLLECTOR])
    receipt = market.send(pay_native_converted(network, payment))
    rate = market.rate(EUR, coin)
    to_payee, to_collector = floor(payment.amount, rate), floor(payment.fee_amount, rate)
    assert ledger.moved([receipt])[NATIVE] == [-to_payee - to_collector, to_payee, to_collector]
    assert conversion.max_to_spend > to_payee + to_collector
    (converted,) = paid(network, receipt)
    assert (said(converted).currency, said(converted).amount) == (EUR.hash, payment.amount)
    assert (converted.token_address, converted.amount) == (None, to_payee)


def test_a_token_of_matic_is_converted_by_the_older_contract_of_rates(matic: Market) -> None:
    usdc = token("USDCn-matic")
    conversion = matic.most(USD, usdc, 1250)
    payment = ConvertedPayment(PAYEE, on_chain_units(USD, 1250), REFERENCE, conversion)
    ledger = Ledger(matic.chain, [usdc.address], [matic.address, PAYEE])
    receipt = matic.send(
        approve(usdc.address, conversion_proxy(usdc), conversion.max_to_spend), pay_erc20_converted("matic", payment)
    )
    moved = floor(payment.amount, matic.rate(USD, usdc))
    assert ledger.moved()[usdc.address] == [-moved, moved]
    assert [said(each).amount for each in paid("matic", receipt)] == [payment.amount]


def test_an_invoice_in_a_token_is_paid_in_another(mainnet: Market) -> None:
    set_feed(mainnet.chain, USDC, ETH, 40_000)
    conversion = mainnet.most(USDC, ETH, 12_500_000)
    receipt = mainnet.send(
        pay_native_converted("mainnet", ConvertedPayment(PAYEE, 12_500_000, REFERENCE, conversion))
    )
    (converted,) = paid("mainnet", receipt)
    assert (said(converted).currency, said(converted).amount) == (USDC.address.lower(), 12_500_000)
    assert converted.amount == 5 * 10**15


def test_a_rate_that_moves_within_the_limit_is_paid_at_and_beyond_it_nothing_is(mainnet: Market) -> None:
    conversion = mainnet.most(USD, USDC, 1250, slippage_bps=100)
    payment = ConvertedPayment(PAYEE, on_chain_units(USD, 1250), REFERENCE, conversion)
    mainnet.send(approve(USDC.address, conversion_proxy(USDC), conversion.max_to_spend))
    ledger = Ledger(mainnet.chain, [USDC.address], [PAYEE])
    set_feed(mainnet.chain, USDC, USD, 98_900_000)  # a USDC is worth 1.1 % less
    refused = mainnet.refusal(pay_erc20_converted("mainnet", payment))
    assert "Amount to pay is over the user limit" in refused
    assert ledger.moved()[USDC.address] == [0]
    set_feed(mainnet.chain, USDC, USD, 99_100_000)
    mainnet.send(pay_erc20_converted("mainnet", payment))
    assert ledger.moved()[USDC.address] == [floor(payment.amount, mainnet.rate(USD, USDC))] == [12_613_521]


def test_a_coin_that_loses_more_than_the_limit_pays_nothing(mainnet: Market) -> None:
    payment = ConvertedPayment(PAYEE, on_chain_units(USD, 1250), REFERENCE, mainnet.most(USD, ETH, 1250))
    set_feed(mainnet.chain, ETH, USD, 240_000_000_000)
    refused = mainnet.refusal(pay_native_converted("mainnet", payment))
    assert "transferExactEthWithReferenceAndFee failed" in refused
    set_feed(mainnet.chain, ETH, USD, 248_000_000_000)
    (converted,) = paid("mainnet", mainnet.send(pay_native_converted("mainnet", payment)))
    assert converted.amount == floor(payment.amount, mainnet.rate(USD, ETH))


@pytest.mark.parametrize("coin", [USDC, ETH], ids=["token", "coin"])
def test_a_rate_that_is_too_old_pays_nothing(mainnet: Market, coin: Token) -> None:
    conversion = replace(mainnet.most(EUR, coin, 1250), max_rate_age=200)
    payment = ConvertedPayment(PAYEE, on_chain_units(EUR, 1250), REFERENCE, conversion)
    pay = pay_native_converted if coin.is_native else pay_erc20_converted
    if not coin.is_native:
        mainnet.send(approve(coin.address, conversion_proxy(coin), conversion.max_to_spend))
    set_feed(mainnet.chain, EUR, USD, 108_000_000, age=201)  # the oldest feed of the path decides
    assert "aggregator rate is outdated" in mainnet.refusal(pay("mainnet", payment))
    set_feed(mainnet.chain, EUR, USD, 108_000_000, age=200)
    assert len(paid("mainnet", mainnet.send(pay("mainnet", payment)))) == 1


def test_a_feed_that_answers_nothing_has_no_rate(mainnet: Market) -> None:
    """0 in the reverse direction divides by zero, forward it converts everything to nothing; below 0 overflows."""
    paths = [path_of(USD, USDC), path_of(EUR, USDC), path_of(token("JPY"), USDC)]
    assert [rate is None for rate in mainnet.evm.read_conversion_rates(paths)] == [False, False, True]
    for base, answer in ((USDC, 0), (USDC, -1), (EUR, 0), (EUR, -1)):
        snapshot = mainnet.chain.snapshot()
        set_feed(mainnet.chain, base, USD, answer)
        assert mainnet.evm.read_conversion_rates([path_of(EUR, USDC)]) == (None,), (base.id, answer)
        mainnet.chain.revert(snapshot)


def test_a_feed_of_zero_moves_nothing_and_says_that_all_was_paid(mainnet: Market) -> None:
    """Why a conversion counts only if it moved something."""
    conversion = mainnet.most(EUR, USDC, 1250)
    set_feed(mainnet.chain, EUR, USD, 0)
    payment = ConvertedPayment(PAYEE, on_chain_units(EUR, 1250), REFERENCE, conversion)
    mainnet.send(approve(USDC.address, conversion_proxy(USDC), conversion.max_to_spend))
    (converted,) = paid("mainnet", mainnet.send(pay_erc20_converted("mainnet", payment)))
    assert (said(converted).amount, converted.amount) == (payment.amount, 0)


def test_the_rate_is_read_from_the_contract_that_the_proxy_uses_now(mainnet: Market) -> None:
    """Its owner can change it; slot 3 of the native proxy has its address."""
    another = "0x" + "ab" * 20
    rates = address_of("ChainlinkConversionPath 0.2.0", "mainnet")
    code, slot = mainnet.chain.rpc("eth_getCode", rates, "latest"), f"0x{3:064x}"
    mainnet.chain.rpc("anvil_setCode", another, code)  # with no feeds
    proxy = address_of(NATIVE_CONVERSION_PROXY, "mainnet")
    mainnet.chain.rpc("anvil_setStorageAt", proxy, slot, "0x" + another[2:].rjust(64, "0"))
    native, tokens = mainnet.evm.read_conversion_rates([path_of(USD, ETH), path_of(USD, USDC)])
    assert native is None
    assert tokens is not None


def test_a_batch_of_conversions_and_payments_moves_each_to_the_last_unit(mainnet: Market) -> None:
    items = [
        BatchItem(USDC.address, PAYEE, on_chain_units(USD, 1250), b"\x01" * 8, on_chain_units(USD, 13),
                  mainnet.most(USD, USDC, 1263)),
        BatchItem(USDC.address, OTHER, on_chain_units(EUR, 777), b"\x02" * 8, on_chain_units(EUR, 7),
                  mainnet.most(EUR, USDC, 784)),
        BatchItem(DAI.address, PAYEE, on_chain_units(GBP, 5000), b"\x03" * 8, 0, mainnet.most(GBP, DAI, 5000)),
        BatchItem(USDC.address, OTHER, 7_000_000, b"\x04" * 8, 70_000),
        BatchItem(None, PAYEE, 10**15, b"\x05" * 8, 10**13),
        BatchItem(None, OTHER, on_chain_units(USD, 1250), b"\x06" * 8, on_chain_units(USD, 13),
                  mainnet.most(USD, ETH, 1263)),
    ]  # fmt: skip
    batch, debits = address_of(BATCH, "mainnet"), token_debits(items)
    approvals = [approve(address, batch, debit) for address, debit in debits.items() if address is not None]
    holders = [mainnet.address, PAYEE, OTHER, COLLECTOR, batch, address_of(ERC20_CONVERSION_PROXY, "mainnet")]
    mainnet.send(*approvals)
    ledger = Ledger(mainnet.chain, [USDC.address, DAI.address, NATIVE], holders)
    receipt = mainnet.send(pay_batch("mainnet", items, COLLECTOR))

    def spent(invoice: Token, payment: Token, *units: int) -> list[int]:
        return [floor(on_chain_units(invoice, each), mainnet.rate(invoice, payment)) for each in units]

    (usd, usd_fee), (eur, eur_fee) = spent(USD, USDC, 1250, 13), spent(EUR, USDC, 777, 7)
    (gbp,), (eth, eth_fee) = spent(GBP, DAI, 5000), spent(USD, ETH, 1250, 13)
    fees = usd_fee + eur_fee + 70_000
    moved = ledger.moved([receipt])
    assert moved[USDC.address] == [-usd - eur - 7_000_000 - fees, usd, eur + 7_000_000, fees, 0, 0]
    assert moved[DAI.address] == [-gbp, gbp, 0, 0, 0, 0]
    assert moved[NATIVE] == [-eth - eth_fee - 10**15 - 10**13, 10**15, eth, eth_fee + 10**13, 0, 0]
    found = transfers_of("mainnet", receipt["logs"])
    assert len(found) == len(items)
    by_reference = {each.reference_topic: each for each in found}
    for item in items:
        transfer = by_reference[reference_topic(item.reference)]
        assert same_address(transfer.payee, item.payee)
        if item.conversion is None:
            assert (transfer.conversion, transfer.amount, transfer.fee_amount) == (None, item.amount, item.fee_amount)
        else:
            assert (said(transfer).amount, said(transfer).fee_amount) == (item.amount, item.fee_amount)


def test_one_conversion_over_its_limit_reverts_the_whole_batch(mainnet: Market) -> None:
    items = [
        BatchItem(USDC.address, PAYEE, on_chain_units(invoice, 1250), REFERENCE, 0, mainnet.most(invoice, USDC, 1250))
        for invoice in (USD, EUR)
    ]
    (debit,) = token_debits(items).values()
    mainnet.send(approve(USDC.address, address_of(BATCH, "mainnet"), debit))
    set_feed(mainnet.chain, EUR, USD, 110_000_000)
    assert "Amount to pay is over the user limit" in mainnet.refusal(pay_batch("mainnet", items))


def test_the_approval_of_a_batch_of_conversions_covers_its_own_fee(mainnet: Market) -> None:
    mainnet.chain.set_batch_fee(30)
    items = [BatchItem(None, PAYEE, on_chain_units(USD, 1250), REFERENCE, 0, mainnet.most(USD, ETH, 1250))]
    ledger = Ledger(mainnet.chain, [NATIVE], [mainnet.address, PAYEE, COLLECTOR])
    receipt = mainnet.send(pay_batch("mainnet", items, COLLECTOR, 30))
    to_payee = floor(items[0].amount, mainnet.rate(USD, ETH))
    own_fee = to_payee * 30 // 10_000
    assert ledger.moved([receipt])[NATIVE] == [-to_payee - own_fee, to_payee, own_fee]


def test_a_conversion_has_two_events_both_of_the_conversion_proxy_and_none_of_a_fee_proxy(mainnet: Market) -> None:
    conversion = mainnet.most(USD, USDC, 1250)
    mainnet.send(approve(USDC.address, conversion_proxy(USDC), conversion.max_to_spend))
    payment = ConvertedPayment(PAYEE, on_chain_units(USD, 1250), REFERENCE, conversion)
    receipt = mainnet.send(pay_erc20_converted("mainnet", payment))
    assert len(paid("mainnet", receipt)) == 1
    of_proxy = [log for log in receipt["logs"] if same_address(log["address"], conversion_proxy(USDC))]
    first, second = (int(log["logIndex"], 16) for log in of_proxy)
    assert second == first + 1
    assert {log["topics"][1] for log in of_proxy} == {reference_topic(REFERENCE)}


# --- rates of the past ---


def test_a_past_rate_is_what_the_feeds_answered_then(mainnet: Market) -> None:
    now = int(mainnet.chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    hours = [(108_000_000 + hour * 10_000, now - (500 - hour) * HOUR) for hour in range(500)]
    set_rounds(mainnet.chain, EUR, USD, hours)
    set_rounds(mainnet.chain, USDC, USD, [(99_000_000, now - 600 * HOUR), (98_000_000, now - 30 * HOUR)])
    for back, euro, dollar in ((1.5, "1.1298", "0.98"), (29.5, "1.127", "0.98"), (30.5, "1.1269", "0.99"), (499.5, "1.08", "0.99")):
        instant = datetime.fromtimestamp(now - int(back * HOUR), UTC)
        found = mainnet.evm.read_past_conversion_rate(path_of(EUR, USDC), instant)
        assert found is not None
        assert Fraction(found.rate * 10**8, found.divisor * 10**6) == Fraction(euro) / Fraction(dollar), back
        assert found.updated_at <= now - back * HOUR
    before = datetime.fromtimestamp(now - 501 * HOUR, UTC)
    assert mainnet.evm.read_past_conversion_rate(path_of(EUR, USDC), before) is None


def test_a_past_rate_is_that_of_the_contracts_while_nothing_moves(mainnet: Market) -> None:
    for invoice, payment in ((USD, USDC), (EUR, ETH), (USDC, DAI)):
        found, now = mainnet.evm.read_past_conversion_rate(path_of(invoice, payment), datetime.now(UTC)), mainnet.rate(invoice, payment)
        assert found is not None
        ours, theirs = Fraction(found.rate, found.divisor), Fraction(now.rate, now.divisor)
        assert abs(ours - theirs) <= theirs / 10**6, "the contract rounds at each feed"
