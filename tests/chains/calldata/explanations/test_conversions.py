"""What an explanation says of payments that are converted, and which of them it does not know."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.chains.calldata.batch import BatchItem, pay_batch
from chalicelib.chains.calldata.conversions.proxy import Conversion, pay_erc20_converted, pay_native_converted
from chalicelib.chains.calldata.explanations.calls import explain_data
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.conversions import on_chain_units
from tests.chains.calldata.calls import (
    COLLECTOR,
    CONVERTED,
    CONVERTED_ITEMS,
    ETH,
    EUR,
    PAYEE,
    REFERENCE,
    TO_ETH,
    TO_USDC,
    USD,
    USDC_MAINNET,
    WALLET,
    event_of,
    item_of,
    one,
)
from tests.chains.calldata.payment_builder import FEE_ADDRESS, Item, items

ERC20_PROXY = address_of("Erc20ConversionProxy", "mainnet")
NATIVE = replace(CONVERTED, conversion=TO_ETH)


def reason(transaction: Transaction) -> str:
    """Why an explanation does not know a call."""
    explained = one("mainnet", transaction)
    assert explained.function is None
    return explained.summary.split("; ")[1]


def test_a_converted_payment_says_what_is_owed_and_the_most_that_is_spent() -> None:
    explained = one("mainnet", pay_erc20_converted("mainnet", CONVERTED))
    assert explained.summary == (
        f"Pay 12.5 EUR to {PAYEE} with 0.13 EUR fee to {COLLECTOR}, converted to at most 14 USDC "
        "at rates of the last 3600 seconds, reference 0x11497d24d1a76c9b"
    )
    assert (explained.contract, explained.function) == ("Erc20ConversionProxy", "transferFromWithReferenceAndFee")
    assert {each.name: each.human for each in explained.arguments if each.human} == {
        "_requestAmount": "12.5 EUR",
        "_path": "EUR > USD > USDC",
        "_feeAmount": "0.13 EUR",
        "_maxToSpend": "14 USDC",
    }
    event = event_of(explained)
    assert (event.name, event.contract, event.address) == (
        "TransferWithConversionAndReference",
        "Erc20ConversionProxy",
        ERC20_PROXY,
    )
    assert (event.token, event.amount, event.fee_amount) == (USDC_MAINNET, 1_250_000_000, 13_000_000)
    assert event.conversion == replace(TO_USDC, path=tuple(hash.lower() for hash in TO_USDC.path))


def test_a_conversion_to_the_native_coin_spends_at_most_its_value() -> None:
    explained = one("mainnet", pay_native_converted("mainnet", NATIVE))
    assert explained.summary.startswith(f"Pay 12.5 USD to {PAYEE} with 0.13 USD fee to {COLLECTOR}, converted to at most ")
    assert " at most 0.006 ETH at rates of the last 600 seconds, " in explained.summary
    assert (explained.value, event_of(explained).token, event_of(explained).conversion) == (6 * 10**15, None, TO_ETH)


def test_an_age_of_a_second_is_said_in_the_singular_and_a_payment_without_a_fee_says_so() -> None:
    quick = replace(CONVERTED, conversion=replace(TO_USDC, max_rate_age=1), fee_amount=0)
    explained = one("mainnet", pay_erc20_converted("mainnet", quick))
    assert f"Pay 12.5 EUR to {PAYEE} without a fee, converted" in explained.summary
    assert " at rates of the last 1 second, " in explained.summary


def test_a_batch_sums_what_is_converted_in_the_currency_of_the_invoice() -> None:
    explained = one("mainnet", pay_batch("mainnet", CONVERTED_ITEMS, COLLECTOR))
    assert explained.summary == (
        "Make 4 payments in one transaction: 12.5 EUR, 7 USDT, 0.001 ETH and 12.5 USD, "
        f"with 0.13 EUR, 0.07 USDT, 0.00001 ETH and 0.13 USD fees to {COLLECTOR}; "
        "conversions take at most 14 USDC and 0.006 ETH"
    )
    assert [call.contract for call in explained.calls] == [
        "Erc20ConversionProxy",
        "ERC20FeeProxy",
        "EthereumFeeProxy",
        "EthConversionProxy",
    ]


def test_the_approval_of_a_conversion_names_its_contract() -> None:
    explained = one("mainnet", approve(USDC_MAINNET, ERC20_PROXY, 14_000_000))
    assert explained.summary == "Allow Erc20ConversionProxy to take up to 14 USDC"


@settings(max_examples=60, deadline=None)
@given(st.lists(items("mainnet"), min_size=1, max_size=5), st.lists(items("mainnet", converted=False), max_size=5))
def test_every_batch_comes_back_exactly(converted: list[Item], plain: list[Item]) -> None:
    batch = []
    for item in [*converted, *plain]:
        token = None if item.payment.is_native else item.payment.address
        if item.invoice is None:
            batch.append(BatchItem(token, item.payee, item.amount, item.reference, item.fee))
        else:
            amounts = (on_chain_units(item.invoice, units) for units in (item.amount, item.fee))
            amount, fee = amounts
            batch.append(BatchItem(token, item.payee, amount, item.reference, fee, item.conversion))
    explained = one("mainnet", pay_batch("mainnet", batch, FEE_ADDRESS))

    def key(item: BatchItem) -> tuple[Any, ...]:
        return item.group, item.token, item.payee.lower(), item.amount, item.reference, item.fee_amount, item.conversion

    assert [key(item_of(event_of(call))) for call in explained.calls] == sorted(map(key, batch), key=lambda each: each[0])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ((EUR, USDC_MAINNET), "it does not convert by a path of the catalogue"),  # a feed is left out
        ((EUR, ETH, USDC_MAINNET), "it does not convert by a path of the catalogue"),
        ((USDC_MAINNET, USD, EUR), "it does not convert by a path of the catalogue"),
        ((WALLET, USDC_MAINNET), "it does not convert by a path of the catalogue"),
        ((USD, ETH), "the contract does not pay in the currency that ends its path"),
    ],
)
def test_a_path_that_is_not_of_the_catalogue_is_unknown(path: tuple[str, ...], said: str) -> None:
    payment = replace(CONVERTED, conversion=replace(TO_USDC, path=path))
    assert reason(pay_erc20_converted("mainnet", payment)) == said


def test_a_native_conversion_that_ends_with_a_token_is_unknown() -> None:
    built = pay_native_converted("mainnet", CONVERTED)
    assert reason(built) == "the contract does not pay in the currency that ends its path"


def test_conversions_without_limits_are_unknown() -> None:
    erc20, native = pay_erc20_converted("mainnet", CONVERTED), pay_native_converted("mainnet", NATIVE)
    unlimited = [
        replace(erc20, data=erc20.data.replace(f"{3600:064x}", f"{0:064x}")),
        replace(erc20, data=erc20.data.replace(f"{14_000_000:064x}", f"{0:064x}")),
        replace(native, value=0),
    ]
    for transaction in unlimited:
        assert reason(transaction) == "a conversion has a limit of what is spent and of the age of its rate"


def test_a_conversion_of_erc20_takes_no_native_coin() -> None:
    assert reason(replace(pay_erc20_converted("mainnet", CONVERTED), value=1)) == "the function takes no native coin"


def test_a_fee_address_without_a_fee_and_a_fee_without_an_address_are_unknown() -> None:
    data = pay_erc20_converted("mainnet", CONVERTED).data
    without_fee = data.replace(f"{13_000_000:064x}", f"{0:064x}")
    without_address = data.replace(COLLECTOR[2:].lower(), "0" * 40)
    assert reason(Transaction(ERC20_PROXY, without_fee, 0)) == "it names a fee address and no fee"
    assert reason(Transaction(ERC20_PROXY, without_address, 0)) == "its fee goes to nobody"


def test_a_batch_whose_groups_are_in_another_order_is_unknown() -> None:
    """The rest of the value stays in the contract if the group of conversions is not the last."""
    built = pay_batch("mainnet", CONVERTED_ITEMS[2:], COLLECTOR)
    swapped = built.data.replace(f"{3:064x}{0x40:064x}", "x").replace(f"{4:064x}{0x40:064x}", f"{3:064x}{0x40:064x}")
    assert "x" in swapped[2:]
    swapped = "0x" + swapped[2:].replace("x", f"{4:064x}{0x40:064x}")
    assert reason(replace(built, data=swapped)) == "its groups are not ERC-20 and native payments in their order"


def test_a_conversion_in_a_group_that_does_not_convert_is_unknown() -> None:
    built = pay_batch("mainnet", CONVERTED_ITEMS[:1], COLLECTOR)
    moved = built.data.replace(f"{0:064x}{0x40:064x}", f"{2:064x}{0x40:064x}")
    assert reason(replace(built, data=moved)) == "it converts between currencies in a group that does not"


def test_a_value_below_what_its_conversions_may_spend_is_unknown() -> None:
    built = pay_batch("mainnet", CONVERTED_ITEMS, COLLECTOR)
    assert reason(replace(built, value=built.value - 1)) == "its value is not what it pays in the native coin"


def test_without_a_network_the_currencies_are_told_by_their_hashes() -> None:
    explained = explain_data(pay_erc20_converted("mainnet", CONVERTED).data)
    assert explained.summary.startswith(f"Pay 1250000000 units of the currency {EUR} to {PAYEE} ")
    assert event_of(explained).payment_reference == "0x" + REFERENCE.hex()


def test_where_no_contract_converts_the_call_is_unknown() -> None:
    explained = one("base", Transaction(ERC20_PROXY, pay_erc20_converted("mainnet", CONVERTED).data, 0))
    assert (explained.function, "; this is not the Erc20ConversionProxy of the network; " in explained.summary) == (None, True)


def test_a_path_of_one_currency_is_unknown() -> None:
    """The contract would pay the amount itself, and the event would say that it was converted."""
    with pytest.raises(ValueError, match="at least two"):
        Conversion((USDC_MAINNET,), 1, 1)
