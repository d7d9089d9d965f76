"""What a payer signs for a checkout: which contract, how much of which token, and the gas of it, to the unit."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address, tron_address_of
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, pay_tron_batch
from chalicelib.chains.calldata.checkout import (
    Checkout,
    Due,
    pay_one,
    pay_together,
    spender_of,
    with_approvals,
    with_funding,
)
from chalicelib.chains.calldata.conversions.proxy import (
    Conversion,
    ConvertedPayment,
    pay_erc20_converted,
    pay_native_converted,
)
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.calldata.tokens.erc20 import approve, transfer_from
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.tokens import Token, find_tokens

PAYEE, COLLECTOR, OTHER, OWNER, WALLET = (evm_address("0x" + digit * 40) for digit in "56789")
TRON_PAYEE, TRON_COLLECTOR = tron_address_of(b"\x11" * 20), tron_address_of(b"\x22" * 20)
REFERENCE = bytes(range(8))


def token(network: str, symbol: str) -> Token:
    return next(each for each in find_tokens(network) if each.symbol == symbol)


USDC, DAI, USDT_TRON = token("base", "USDC"), token("base", "DAI"), token("tron", "USDT")
COIN = next(each for each in find_tokens("base") if each.is_native)


def due(token: Token = USDC, amount: int = 1_000, fee: int = 0, fee_address: str | None = None, **changes: Any) -> Due:
    payee = TRON_PAYEE if token.network == "tron" else PAYEE
    return replace(Due(token, payee, BaseUnits(amount), BaseUnits(fee), fee_address, REFERENCE), **changes)


def items(*dues: Due) -> list[BatchItem]:
    return [
        BatchItem(None if each.token.is_native else each.token.address, each.payee, each.amount, each.reference, each.fee)
        for each in dues
    ]


def test_the_spender_of_a_token_is_the_contract_that_takes_it() -> None:
    assert spender_of(USDC, batched=False) == address_of("ERC20FeeProxy", "base")
    assert spender_of(COIN, batched=False) == address_of("EthereumFeeProxy", "base")
    assert spender_of(USDT_TRON, batched=False) == address_of("ERC20FeeProxy", "tron")
    assert spender_of(USDC, batched=True) == spender_of(COIN, batched=True) == address_of("BatchConversionPayments", "base")
    assert spender_of(USDT_TRON, batched=True) == address_of("ERC20BatchPayments", "tron")


def test_one_payment_of_a_token_goes_through_its_fee_proxy() -> None:
    paid = {"payee": PAYEE, "amount": 1_000, "reference": REFERENCE, "fee_amount": 7, "fee_address": COLLECTOR}
    assert pay_one(due(fee=7, fee_address=COLLECTOR)) == Checkout(
        spender=address_of("ERC20FeeProxy", "base"),
        debits={USDC: BaseUnits(1_007)},
        payments=(pay_erc20("base", token=USDC.address, **paid),),  # type: ignore[arg-type]
        gas=130_000,
    )
    assert pay_one(due(COIN, fee=7, fee_address=COLLECTOR)) == Checkout(
        spender=address_of("EthereumFeeProxy", "base"),
        debits={COIN: BaseUnits(1_007)},
        payments=(pay_native("base", **paid),),  # type: ignore[arg-type]
        gas=65_000,
    )


def test_payments_in_one_token_are_one_transaction_of_the_batch_contract() -> None:
    dues = [due(fee=7, fee_address=COLLECTOR), due(amount=500)]
    assert pay_together(dues) == Checkout(
        spender=address_of("BatchConversionPayments", "base"),
        debits={USDC: BaseUnits(1_507)},
        payments=(pay_batch("base", items(*dues), COLLECTOR),),
        gas=100_000 + 2 * 60_000,
    )


def test_the_batch_contracts_own_fee_is_part_of_the_debit() -> None:
    dues = [due(amount=10_000, fee=100, fee_address=COLLECTOR), due(COIN, 20_000)]
    built = pay_together(dues, 30)
    assert built.debits == {USDC: 10_130, COIN: 20_060}
    assert built.payments == (pay_batch("base", items(*dues), COLLECTOR, 30),)
    assert built.gas == 100_000 + 100_000 + 2 * (60_000 + 1_000)


def test_each_token_after_the_first_makes_a_batch_and_its_payments_dearer() -> None:
    assert pay_together([due(), due(DAI), due(COIN), due(DAI)]).gas == 100_000 + 2 * 100_000 + 4 * (60_000 + 2 * 1_000)


def test_on_tron_the_batch_contract_of_that_network_pays() -> None:
    dues = [due(USDT_TRON, fee=7, fee_address=TRON_COLLECTOR), due(USDT_TRON, 500)]
    built = pay_together(dues)
    assert built.spender == address_of("ERC20BatchPayments", "tron")
    assert built.payments == (pay_tron_batch("tron", items(*dues), TRON_COLLECTOR),)
    assert (built.debits, built.gas) == ({USDT_TRON: 1_507}, 220_000)


def test_each_fee_address_has_a_transaction_and_payments_without_a_fee_join_the_first() -> None:
    free = due(amount=1, fee_address=OTHER)
    first, second = due(amount=2, fee=1, fee_address=COLLECTOR), due(amount=3, fee=1, fee_address=OTHER)
    third = due(amount=4, fee=1, fee_address=COLLECTOR)
    built = pay_together([free, first, second, third])
    assert built.payments == (
        pay_batch("base", items(free, first, third), COLLECTOR),
        pay_batch("base", items(second), OTHER),
    )
    assert built.debits == {USDC: 1 + 3 + 4 + 5}
    assert built.gas == 2 * 100_000 + 4 * 60_000


def test_a_batch_without_fees_is_one_transaction() -> None:
    dues = [due(), due(fee_address=COLLECTOR)]
    assert pay_together(dues).payments == (pay_batch("base", items(*dues), None),)


@pytest.mark.parametrize("token", [USDC, COIN, USDT_TRON], ids=lambda token: token.id)
def test_a_batch_may_be_of_one_payment_and_has_no_fee_of_its_own_unless_given(token: Token) -> None:
    built = pay_together([due(token, 10**9)])
    assert (built.spender, built.debits) == (spender_of(token, batched=True), {token: 10**9})
    assert (len(built.payments), built.gas) == (1, 160_000)


@pytest.mark.parametrize(("count", "sizes"), [(250, [250]), (251, [250, 1]), (501, [250, 250, 1])])
def test_a_transaction_has_at_most_250_payments(count: int, sizes: list[int]) -> None:
    dues = [due(amount=number + 1) for number in range(count)]
    parts = [dues[start : start + 250] for start in range(0, count, 250)]
    assert [len(part) for part in parts] == sizes
    built = pay_together(dues)
    assert built.payments == tuple(pay_batch("base", items(*part)) for part in parts)
    assert built.gas == len(sizes) * 100_000 + count * 60_000


@pytest.mark.parametrize(("tokens", "sizes"), [(44, [107, 107, 6]), (48, [100, 100, 40])])
def test_with_many_tokens_the_gas_of_a_transaction_is_the_limit(tokens: int, sizes: list[int]) -> None:
    """Of 15.5 million gas, 44 tokens leave 11.1 million for payments of 103,000; 48 tokens room for exactly 100."""
    many = [replace(USDC, id=f"T{number}-base", address=evm_address(f"0x{number + 1:040x}")) for number in range(tokens)]
    dues = [due(each) for each in many for _ in range(5)]
    assert [payment.data.count(REFERENCE.hex()) for payment in pay_together(dues).payments] == sizes


BATCH = Checkout(BATCH_SPENDER := spender_of(USDC, True), {USDC: BaseUnits(10), COIN: BaseUnits(7), DAI: BaseUnits(20)}, (), 5)


def test_each_token_whose_allowance_is_below_its_debit_is_approved_exactly() -> None:
    first, second = approve(USDC.address, BATCH_SPENDER, 10), approve(DAI.address, BATCH_SPENDER, 20)
    assert with_approvals(BATCH, {}) == replace(BATCH, approvals=(first, second), gas=120_005)
    assert with_approvals(BATCH, {USDC.address: 10, DAI.address: 19}) == replace(BATCH, approvals=(second,), gas=60_005)
    assert with_approvals(BATCH, {USDC.address: 9, DAI.address: 2**256 - 1}) == replace(BATCH, approvals=(first,), gas=60_005)
    assert with_approvals(BATCH, {USDC.address: 11, DAI.address: 20}) == BATCH
    smallest = replace(BATCH, debits={USDC: BaseUnits(1)})
    assert with_approvals(smallest, {}).approvals == (approve(USDC.address, BATCH_SPENDER, 1),)


def test_some_tokens_need_a_reset_to_zero_before_an_approval() -> None:
    built = with_approvals(BATCH, {USDC.address: 10}, frozenset({USDC.address, DAI.address}))
    assert built.approvals == (approve(DAI.address, BATCH_SPENDER, 0), approve(DAI.address, BATCH_SPENDER, 20))
    assert built.gas == 120_005


def test_a_smart_account_first_takes_each_debit_from_its_owner() -> None:
    checkout = replace(BATCH, debits={USDC: BaseUnits(10), DAI: BaseUnits(20)})
    funding = (transfer_from(USDC.address, OWNER, WALLET, 10), transfer_from(DAI.address, OWNER, WALLET, 20))
    assert with_funding(checkout, OWNER, WALLET) == replace(checkout, funding=funding, gas=120_005)


def test_funding_is_sent_before_approvals_and_those_before_payments() -> None:
    fund, allow, pay = (Transaction(PAYEE, f"0x0{number}", 0) for number in range(3))
    assert replace(BATCH, funding=(fund,), approvals=(allow,), payments=(pay,)).transactions == (fund, allow, pay)


def test_the_fee_limit_on_tron_rises_with_the_gas_from_the_usual_one_to_the_highest() -> None:
    usual = replace(BATCH, gas=0).fee_limit
    assert usual > 0
    assert replace(BATCH, gas=usual // 500).fee_limit == usual
    assert replace(BATCH, gas=usual // 500 + 1).fee_limit == usual + 500
    assert replace(BATCH, gas=30_000_000).fee_limit == replace(BATCH, gas=30_000_001).fee_limit == 15_000_000_000


# --- conversions ---

USD, ETHER_HASH = "0x775eb53d00dd0acd3ec1696472105d579b9b386b", "0xf5af88e117747e87fc5929f2ff87221b1447652e"
USDC_MAINNET, ETHER = token("mainnet", "USDC"), token("mainnet", "ETH")
TO_USDC = Conversion((USD, USDC_MAINNET.address), 13_000_000, 3600)
TO_ETHER = Conversion((USD, ETHER_HASH), 6 * 10**15, 600)
CONVERTED = due(USDC_MAINNET, 1_250_000_000, 13_000_000, COLLECTOR, conversion=TO_USDC)


def test_a_conversion_is_paid_through_its_proxy_and_approved_for_the_most_it_may_spend() -> None:
    built = with_approvals(pay_one(CONVERTED), {})
    proxy = address_of("Erc20ConversionProxy", "mainnet")
    paid = ConvertedPayment(PAYEE, 1_250_000_000, REFERENCE, TO_USDC, 13_000_000, COLLECTOR)
    assert built.transactions == (
        approve(USDC_MAINNET.address, proxy, 13_000_000),
        pay_erc20_converted("mainnet", paid),
    )
    assert (built.spender, built.debits, built.gas) == (proxy, {USDC_MAINNET: 13_000_000}, 130_000 + 120_000 + 60_000)
    assert built.spender == spender_of(USDC_MAINNET, batched=False, converted=True)


def test_a_conversion_to_the_native_coin_has_the_most_it_may_spend_as_its_value() -> None:
    built = pay_one(due(ETHER, 1_250_000_000, conversion=TO_ETHER))
    paid = ConvertedPayment(PAYEE, 1_250_000_000, REFERENCE, TO_ETHER)
    assert built.transactions == (pay_native_converted("mainnet", paid),)
    assert (built.debits, built.gas) == ({ETHER: 6 * 10**15}, 65_000 + 120_000)


def test_a_conversion_to_another_currency_than_its_token_is_refused() -> None:
    with pytest.raises(ValueError, match="ends with another currency"):
        pay_one(due(ETHER, 1, conversion=TO_USDC))


def test_conversions_and_payments_are_made_together_by_the_batch_contract() -> None:
    plain = due(USDC_MAINNET, 7_000_000, 70_000, COLLECTOR)
    native = due(ETHER, 1_250_000_000, conversion=TO_ETHER)
    built = pay_together([CONVERTED, plain, native], 30)
    wanted = [replace(item, conversion=each.conversion) for each in (CONVERTED, plain, native) for item in items(each)]
    assert built.transactions == (pay_batch("mainnet", wanted, COLLECTOR, 30),)
    assert built.debits == {USDC_MAINNET: 13_000_000 + 7_070_000 + 60_000, ETHER: 6 * 10**15 + 18 * 10**12}
    assert built.spender == spender_of(USDC_MAINNET, batched=True, converted=True)
    assert built.gas == 200_000 + 3 * 61_000 + 2 * 120_000


def test_fewer_conversions_fit_into_a_transaction() -> None:
    built = pay_together([CONVERTED] * 200)
    assert len(built.transactions) == 3
    assert built.debits == {USDC_MAINNET: 200 * 13_000_000}
