"""What the transactions of a payment on Tron take and burn, and when it cannot be paid."""

from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.abi import address_word
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.chains.calldata.explanations.parts import ExpectedEvent, Explanation
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.readings import AccountResources, CallEnergy, ResourcePrices, ResourceReading
from chalicelib.checkout.resources.rules import (
    Problem,
    ResourceQuote,
    Step,
    advice,
    contradicts,
    plan,
    quote_steps,
    worst,
)
from tests.fakes.wallets import tron_wallet

APPROVE, PAY = Transaction("token", "0x01", 0), Transaction("proxy", "0x02", 0)
PRICES = ResourcePrices(BaseUnits(100), BaseUnits(1000), BaseUnits(1_100_000))
STEPS = (Step({APPROVE: 1}, 0, 346, 100_000_000, True), Step({PAY: 1}, 0, 540, 300_000_000, True))
READING = ResourceReading(PRICES, AccountResources(True, free_bandwidth=600), (CallEnergy(20_000), CallEnergy(100_000, 60_000)))
TRX = 10**6
BURNED = 132_000 * 100 + 540_000
"""12 energy for each ten, the margin with it, and the bandwidth of the payment: 600 free bytes are not enough for 886."""


def quoted(balance: int, reading: ResourceReading = READING, margin: int = 10) -> ResourceQuote:
    return quote_steps(reading, BaseUnits(balance), STEPS, margin)


def test_an_approval_after_one_of_zero_is_measured_as_that_of_an_address_that_has_none() -> None:
    token, proxy = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"
    owner = "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE"
    zero, approval = erc20.approve(token, proxy, 0), erc20.approve(token, proxy, 10**6)
    checkout = Checkout(proxy, {}, (), gas=0, approvals=(zero, approval))
    first, second = plan(owner, checkout, [Explanation(token, "", None, (), 0, None, "")] * 2)
    assert (first.calls, first.is_measured) == ({zero: 1}, True)
    assert second.calls.keys().isdisjoint({approval}) and not second.is_measured


def test_a_payment_is_measured_by_its_transfers_to_four_recipients_and_any_other_one_as_if_it_had_nothing() -> None:
    token, proxy = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"
    owner, *payees = (tron_wallet(f"payee {number}").address for number in range(7))
    nothing = Explanation(token, "", None, (), 0, None, "")
    paid = [ExpectedEvent("", "", None, token, payee, 5, 0, payee, "0x") for payee in payees]
    payment = nothing._replace(calls=tuple(nothing._replace(expected_event=each) for each in paid))
    paying = Transaction(proxy, "0x02", 0)
    checkout = Checkout(proxy, {}, (paying,), gas=0, approvals=(erc20.approve(token, proxy, 30),))
    _, step = plan(owner, checkout, [nothing, payment])
    *measured, (other, times) = step.calls.items()
    assert measured == [(erc20.transfer(token, payee, 5), 1) for payee in payees[:4]]
    assert times == 2 and not any(address_word(payee).hex() in other.data for payee in payees)
    with pytest.raises(ValueError, match="the transaction makes no payment"):
        plan(owner, checkout, [nothing, nothing])


@pytest.mark.parametrize(("free", "burned"), [(886, [0, 0]), (885, [0, 540_000]), (346, [0, 540_000]), (345, [346_000, 540_000])])
def test_free_bandwidth_pays_what_just_fits(free: int, burned: list[int]) -> None:
    account = AccountResources(True, free_bandwidth=free)
    found = quoted(10**12, replace(READING, account=account))
    assert [each.bandwidth_burned for each in found.steps] == burned


def test_free_bandwidth_pays_a_whole_transaction_or_nothing_of_it() -> None:
    found = quoted(BURNED)
    assert [each.bandwidth_burned for each in found.steps] == [0, 540_000]
    assert [(each.energy, each.penalty) for each in found.steps] == [(22_000, 0), (110_000, 66_000)]
    assert (found.burned, found.missing, found.problem, found.is_complete) == (BURNED, 0, None, True)


def test_one_sun_too_little_is_said_with_what_is_missing() -> None:
    found = quoted(BURNED - 1)
    assert (found.problem, found.missing) == (Problem.TOO_LITTLE_TRX, 1)
    assert advice(found) == (
        "The network takes about 13.74 TRX and the wallet has 13.739999: send it 0.000001 TRX more, or delegate energy "
        "and bandwidth to it, then ask anew"
    )


def test_energy_and_bandwidth_of_a_stake_are_spent_before_trx_and_in_order() -> None:
    account = AccountResources(True, energy=25_000, bandwidth=540, free_bandwidth=0)
    found = quoted(BURNED, replace(READING, account=account))
    assert [each.energy_burned for each in found.steps] == [0, (110_000 - 3_000) * 100]
    assert [each.bandwidth_burned for each in found.steps] == [0, 540_000], "the approval has taken 346 of 540"


def test_a_wallet_with_enough_of_both_burns_nothing() -> None:
    account = AccountResources(True, energy=132_000, bandwidth=886)
    assert (quoted(0, replace(READING, account=account)).burned, quoted(0, replace(READING, account=account)).problem) == (0, None)


def test_a_fee_limit_covers_energy_that_is_not_burned_too() -> None:
    account = AccountResources(True, energy=10**9, bandwidth=886)
    reading = ResourceReading(PRICES, account, (CallEnergy(20_000), CallEnergy(3_000_001)))
    found = quoted(10**12, reading, margin=0)
    assert (found.burned, found.problem) == (0, Problem.FEE_LIMIT)
    exactly = replace(reading, calls=(CallEnergy(20_000), CallEnergy(3_000_000)))
    assert quoted(10**12, exactly, margin=0).problem is None


def test_an_account_that_does_not_exist_is_told_to_be_sent_trx() -> None:
    found = quoted(0, replace(READING, account=AccountResources(False)))
    assert found.problem is Problem.NOT_ACTIVATED
    assert str(advice(found)).startswith("This Tron account does not exist yet: send at least 14.086 TRX to its address")
    assert "costs the sender 1.1 TRX" in str(advice(found))


def test_what_is_not_known_is_never_fine() -> None:
    reading = replace(READING, calls=(CallEnergy(20_000), None))
    found = quoted(10**12, reading)
    assert (found.problem, found.is_complete) == (Problem.UNKNOWN, False)
    assert quoted(0, reading).problem is Problem.TOO_LITTLE_TRX, "what is known is too much already"
    assert (ResourceQuote(Problem.UNKNOWN).burned, ResourceQuote(Problem.UNKNOWN).missing) == (0, 0)
    assert advice(found) == (
        "It is not known what the network takes, so do not sign yet: check that the wallet has the tokens, then ask anew"
    )


@pytest.mark.parametrize(("has_memo", "signatures", "fees"), [
    (False, 1, 0), (True, 1, 1_000_000), (False, 2, 1_500_000), (True, 3, 2_500_000),
])
def test_a_memo_and_further_signatures_are_burned_besides(has_memo: bool, signatures: int, fees: int) -> None:
    prices = replace(PRICES, memo=BaseUnits(1_000_000), signatures=BaseUnits(1_500_000))
    step = replace(STEPS[0], has_memo=has_memo, signatures=signatures)
    reading = replace(READING, prices=prices, calls=READING.calls[:1])
    found = quote_steps(reading, BaseUnits(2_000_000 + fees), (step,), margin_percent=0)
    assert (found.steps[0].fees, found.burned, found.problem) == (fees, 2_000_000 + fees, None)
    assert quote_steps(reading, BaseUnits(2_000_000 + fees - 1), (step,), margin_percent=0).missing == 1


def test_of_several_quotes_the_one_that_promises_least_is_believed() -> None:
    fine, dear, short = quoted(BURNED), quoted(BURNED * 2, margin=11), quoted(BURNED - 1)
    unknown = quoted(10**12, replace(READING, calls=(CallEnergy(20_000), None)))
    assert (fine.problem, dear.problem, short.problem, unknown.problem) == (None, None, Problem.TOO_LITTLE_TRX, Problem.UNKNOWN)
    assert worst([fine, dear]) is worst([dear, fine]) is dear
    assert worst([fine, unknown, dear]) is unknown
    assert worst([unknown, short, fine]) is short


@pytest.mark.parametrize(("balance", "price", "is_active", "result"), [
    (0, 100, False, False), (1, 100, True, False), (1, 100, False, True), (1, 101, True, True),
])
def test_two_answers_of_one_node_may_not_contradict_each_other(
    balance: int, price: int, is_active: bool, result: bool
) -> None:
    reading = replace(READING, account=AccountResources(is_active))
    assert contradicts(reading, BaseUnits(balance), BaseUnits(price)) is result
