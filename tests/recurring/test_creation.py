"""New recurring payouts: the permit of a plan and its fees, and which plans are refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.errors import BadRequest, ValidationFailed
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.requests.records import Frequency, Request
from chalicelib.recurring.creation import LARGEST_PAYMENT, Fees
from tests.fakes.recurring import AMOUNT, SUBSCRIBER
from tests.fakes.world import FEE_ADDRESS, PAYEE, START
from tests.recurring.schedules import created, template

LATEST = datetime.fromtimestamp(2**32 - 1, UTC)
"""The last second that the contract knows: 2106-02-07T06:28:15Z."""


def refused(match: str, sample: Request | None = None, **changes: Any) -> None:
    with pytest.raises(ValidationFailed, match=match):
        created(sample, **changes)


def test_the_permit_is_for_the_plan_and_its_fees() -> None:
    fees = Fees(Fee("1", FEE_ADDRESS), {"fUSDC-sepolia": "0.05", "USDC-base": "1"})
    sample = template()
    schedule = created(sample, fees, frequency=Frequency.WEEKLY, total_payments=12)
    permit, token = schedule.permit, token_with_id("fUSDC-sepolia")
    assert token is not None
    assert (permit.subscriber, permit.token, permit.recipient) == (SUBSCRIBER.address, token.address, PAYEE)
    assert (permit.amount, permit.fee_amount, permit.relayer_fee) == (AMOUNT, AMOUNT // 100, 50_000)
    assert (permit.fee_address, permit.payment_total) == (FEE_ADDRESS, AMOUNT + AMOUNT // 100 + 50_000)
    assert (permit.first_payment, permit.period_seconds, permit.total_payments) == (
        int(START.timestamp()),
        7 * 86400,
        12,
    )
    assert permit.deadline == int((START + timedelta(weeks=11, days=90)).timestamp())
    assert not permit.strict_order, "a payment that was made by hand is passed over"
    assert (schedule.start, schedule.frequency, schedule.created_at) == (START, Frequency.WEEKLY, START)
    assert schedule.template == replace(
        sample,
        payer=SUBSCRIBER.address,
        fee_percentage="1",
        fee_address=FEE_ADDRESS,
        recurring_payment_id=schedule.recurring_id,
    )


def test_a_nonce_is_15_random_bytes_which_dynamodb_keeps_exactly() -> None:
    assert created().permit.nonce != created().permit.nonce
    assert created(random=lambda length: b"\xff" * length).permit.nonce == 2**120 - 1 < 10**38


@pytest.mark.parametrize(
    "fee", [Fee(), Fee("0", FEE_ADDRESS), Fee("0.000001", FEE_ADDRESS)], ids=["none", "zero", "dust"]
)
def test_a_permit_without_a_fee_names_the_zero_address(fee: Fee) -> None:
    permit = created(fees=Fees(fee, {})).permit
    assert (permit.fee_amount, permit.fee_address, permit.relayer_fee) == (0, ZERO_ADDRESS, 0)


@pytest.mark.parametrize(("count", "is_possible"), [(1, False), (2, True), (255, True), (256, False)])
def test_there_are_from_2_to_255_payments(count: int, is_possible: bool) -> None:
    if is_possible:
        assert created(total_payments=count).total == count
    else:
        refused("must be from 2 to 255", total_payments=count)


def test_a_payment_with_its_fees_is_at_most_the_largest() -> None:
    fees = Fees(Fee("1", FEE_ADDRESS), {"fUSDC-sepolia": "1"})
    room = (LARGEST_PAYMENT - 10**6) * 100 // 101
    assert created(template(amount=room), fees).permit.payment_total == LARGEST_PAYMENT
    with pytest.raises(BadRequest, match="larger than a recurring payment can be"):
        created(template(amount=room + 1), fees)
    assert LARGEST_PAYMENT == 10**30


@pytest.mark.parametrize(
    ("start", "is_possible"),
    [(LATEST, True), (LATEST + timedelta(seconds=1), False), (datetime(9999, 12, 31, tzinfo=UTC), False)],
    ids=["latest", "too late", "without a last date"],
)
def test_the_first_payment_is_at_a_second_that_the_contract_knows(start: datetime, is_possible: bool) -> None:
    if is_possible:
        assert created(start_date=start.isoformat()).permit.first_payment == 2**32 - 1
    else:
        refused("startDate is too late", start_date=start.isoformat())


@pytest.mark.parametrize("currency", ["USDT-tron", "ETH-sepolia-sepolia"])
def test_only_tokens_of_evm_networks_recur(currency: str) -> None:
    refused(f"paymentCurrency: {currency} cannot be paid by recurring payouts", template(currency))


def test_an_invoice_in_another_currency_does_not_recur() -> None:
    refused("invoiceCurrency.*must be fUSDC-sepolia", template(invoice_currency="USD"))


def test_without_the_contract_on_a_network_nothing_recurs_there() -> None:
    refused("where the contract of recurring payouts is not deployed", template("DAI-optimism"))


def test_nobody_pays_themselves() -> None:
    refused("payer is the payee", payer=PAYEE)
    refused("payer is the payee", payer=PAYEE.lower())


def test_amounts_of_a_token_with_18_decimals_keep_all_of_them() -> None:
    fees = Fees(Fee(), {"FAU-sepolia": "0.000000000000000001"})
    permit = created(template("FAU-sepolia", 10**18), fees).permit
    assert (permit.amount, permit.relayer_fee) == (BaseUnits(10**18), 1)
