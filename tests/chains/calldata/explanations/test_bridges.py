"""What deposits into the bridge do, in words."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.chains.calldata.bridges.across import Deposit, HandlerMessage, encode_deposit, encode_message
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.parts import Explanation
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    LIFI_DIAMOND,
    LIFI_RECEIVER,
    address_of,
)
from tests.chains.calldata.calls import PAYEE, REFERENCE, USDC, WALLET
from tests.crosschain.service.router.diamond import Call, data, message

FALLBACK, ZERO = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef", "0x" + "00" * 20
THERE = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
PAYMENT = pay_erc20("arbitrum-one", token=THERE, payee=PAYEE, amount=12_500_000, reference=REFERENCE)
APPROVAL = approve(THERE, PAYMENT.to, 12_500_000)
MESSAGE = HandlerMessage(((APPROVAL.to, APPROVAL.data, 0), (PAYMENT.to, PAYMENT.data, 0)), FALLBACK)
HANDLER = address_of(ACROSS_HANDLER, "arbitrum-one")
DEPOSIT = Deposit(
    WALLET, HANDLER, USDC, THERE, 12_530_000, 12_500_000, 42161, ZERO, 1_773_568_800, 1_773_576_000, 0, encode_message(MESSAGE)
)


def explained(deposit: Deposit, network: str = "base") -> Explanation:
    (found,) = explain(network, [transaction(deposit, network)])
    return found


def transaction(deposit: Deposit, network: str = "base") -> Transaction:
    return Transaction(address_of(ACROSS_SPOKE_POOL, network), encode_deposit(deposit), 0)


def with_calls(*calls: tuple[str, str, int]) -> Deposit:
    return replace(DEPOSIT, message=encode_message(HandlerMessage(calls, FALLBACK)))


def test_a_deposit_says_what_leaves_what_it_pays_who_gets_it_if_that_fails_and_until_when() -> None:
    found = explained(DEPOSIT)
    assert found.summary == (
        "Deposit 12.53 USDC into the bridge for 12.5 USDC on arbitrum-one, with 2 calls there; what the calls leave, all of "
        f"it if one fails, goes to {FALLBACK} on arbitrum-one; if nobody brings it by 2026-03-15 12:00:00 UTC, 12.53 USDC go "
        f"back to {WALLET}; accepted until 2026-03-15 11:00:00 UTC"
    )
    assert (found.contract, found.function) == ("AcrossSpokePool", "depositV3")
    human = {each.name: each.human for each in found.arguments}
    assert human["inputAmount"] == "12.53 USDC" and human["outputAmount"] == "12.5 USDC"
    assert human["exclusiveRelayer"] == "anybody"
    approval, payment = found.calls
    assert approval.summary == "Allow ERC20FeeProxy to take up to 12.5 USDC"
    assert payment.summary.startswith(f"Pay 12.5 USDC to {PAYEE} without a fee")
    assert payment.expected_event is not None and payment.expected_event.address == PAYMENT.to


def test_calls_on_the_other_chain_are_those_of_its_contracts() -> None:
    here = pay_erc20("base", token=USDC, payee=PAYEE, amount=1, reference=REFERENCE)
    found = explained(with_calls((APPROVAL.to, APPROVAL.data, 0), (here.to, here.data, 0)))
    assert "with 2 calls (1 of them unknown: do not sign unless you know them) there" in found.summary
    assert found.calls[1].function is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"recipient": WALLET}, "the tokens go to a contract that makes no payments"),
        ({"recipient": address_of(ACROSS_HANDLER, "bsc")}, "the tokens go to a contract that makes no payments"),
        ({"destination_chain_id": 4242}, "the chain that it leads to is not known"),
        ({"destination_chain_id": 11155111}, "the tokens go to a contract that makes no payments"),
        ({"message": b""}, "its message is not one"),
        ({"message": DEPOSIT.message + bytes(32)}, "its message is not one"),
    ],
)
def test_a_deposit_for_anything_else_is_an_unknown_call(change: dict[str, Any], reason: str) -> None:
    found = explained(replace(DEPOSIT, **change))
    assert found.function is None
    assert found.summary.startswith("Unknown call: 4 bytes 0x7b939232") and reason in found.summary


def test_a_deposit_that_leads_to_another_one_is_an_unknown_call() -> None:
    again = transaction(DEPOSIT, "arbitrum-one")
    assert "it is followed by another deposit" in explained(with_calls((again.to, again.data, 0))).summary


def test_a_deposit_at_another_address_or_with_coins_is_an_unknown_call() -> None:
    for wrong in (replace(transaction(DEPOSIT), to=WALLET), replace(transaction(DEPOSIT), value=1), transaction(DEPOSIT, "mainnet")):
        (found,) = explain("base", [wrong])
        assert found.function is None


def test_a_safe_may_approve_and_deposit_in_one_transaction() -> None:
    pool = address_of(ACROSS_SPOKE_POOL, "base")
    safe = bundle("base", [approve(USDC, pool, 12_530_000), transaction(DEPOSIT)])
    (found,) = explain("base", [Transaction(safe.to, safe.data, 0)])
    assert [each.summary[:44] for each in found.calls] == [
        "Allow AcrossSpokePool to take up to 12.53 US",
        "Deposit 12.53 USDC into the bridge for 12.5 ",
    ]


def test_a_deposit_through_lifi_says_what_it_deposits_its_fees_and_the_same_of_the_other_chain() -> None:
    fees = ((PAYEE, 20_000), (WALLET, 5_000))
    made = replace(DEPOSIT, recipient=address_of(LIFI_RECEIVER, "arbitrum-one"), message=message(THERE, PAYMENT.to, PAYMENT.data, 12_500_000, FALLBACK))
    through = Transaction(address_of(LIFI_DIAMOND, "base"), data(Call(made, fees)), 0)
    (found,) = explain("base", [through])
    assert found.summary.startswith(
        "Deposit 12.53 USDC into the bridge and 0.025 USDC of fees for 12.53 USDC on arbitrum-one, with 2 calls there; what the "
        f"calls leave, all of it if one fails, goes to {FALLBACK} on arbitrum-one; if nobody brings it by"
    )
    assert [each.summary for each in found.calls] == [each.summary for each in explained(DEPOSIT).calls]
    assert [(each.name, each.value) for each in found.arguments] == [
        ("_bridgeData", "10 members"),
        ("_swapData", "a list of 1"),
        ("_acrossData", "10 members"),
    ]
    (plain,) = explain("base", [replace(through, data=data(Call(made)))])
    assert plain.summary.startswith("Deposit 12.53 USDC into the bridge for 12.5 USDC on arbitrum-one")
    (other,) = explain("base", [replace(through, data=data(Call(made, fees, more_swaps=1)))])
    assert other.function is None and "it makes more than one swap, or none" in other.summary
