"""What a merchant may ask for in a new commerce payment, at the limits of each field, and what is stored of it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.errors import Forbidden, ValidationFailed
from chalicelib.base.money import Fee
from chalicelib.chains.calldata.escrow.payment_info import MAX_AMOUNT
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.commerce.service import flows
from chalicelib.commerce.service.creation import (
    Conditions,
    Draft,
    Lifetimes,
    Place,
    create_payment,
    fee_bounds,
    token_of,
)
from chalicelib.payments.requests import flows as requests
from tests.fakes.escrows import CONTRACTS, FEES, PAYER, Commerce
from tests.fakes.world import PAYEE, TERMS

OTHER = "0x" + "0d" * 20
DRAFT = Draft("shop-1", PAYEE, PAYER, 100, "fUSDC-sepolia", 120, None, None, None, 10, 20, FEES)
LIFETIMES = Lifetimes(timedelta(hours=1), timedelta(hours=2), timedelta(hours=3))
NOW = datetime.fromisoformat("2026-03-01T12:00:00.250000+00:00")
SECOND = int(NOW.timestamp())


@pytest.fixture(scope="module")
def commerce() -> Commerce:
    return Commerce()


def created(
    commerce: Commerce, bound: Destination | None = None, now: datetime = NOW, **changes: Any
) -> CommercePayment:
    draft, place = replace(DRAFT, **changes), Place("0x" + "e1" * 20, OTHER, False)
    conditions = Conditions(place, LIFETIMES, requests.terms_of(commerce.services), bound)
    token = token_of(draft)
    return create_payment(draft, commerce.owner(), token, conditions, now, commerce.services.entropy)[1]


@pytest.mark.parametrize("currency", ["USD", "ETH-sepolia-sepolia", "USDT-tron", "no such token"])
def test_only_an_erc20_token_of_the_catalogue_can_be_held(currency: str) -> None:
    with pytest.raises(ValidationFailed, match="paymentCurrency"):
        token_of(replace(DRAFT, currency=currency))


def test_of_a_long_unknown_currency_80_characters_are_quoted() -> None:
    with pytest.raises(ValidationFailed) as raised:
        token_of(replace(DRAFT, currency="z" * 5_000))
    assert "z" * 80 + " is not supported" in str(raised.value) and "z" * 81 not in str(raised.value)


def test_a_client_id_that_is_bound_to_a_destination_takes_payments_there_alone(commerce: Commerce) -> None:
    token = token_of(DRAFT)
    there = Destination(PAYEE, token.chain_id, token.address)
    assert created(commerce, there).receiver == PAYEE
    for elsewhere in (replace(there, wallet=OTHER), replace(there, token_address=OTHER), replace(there, chain_id=1)):
        with pytest.raises(Forbidden, match="does not match the configured payment destination"):
            created(commerce, elsewhere)


def test_each_stage_lasts_as_long_as_the_service_says_in_whole_seconds_unless_it_is_asked_for(commerce: Commerce) -> None:
    def ends(**changes: Any) -> tuple[int, ...]:
        payment = created(commerce, **changes)
        assert payment.check_at == payment.pre_approval_expiry and payment.pre_approval_expiry.microsecond == 0
        expiries = (payment.pre_approval_expiry, payment.authorization_expiry, payment.refund_expiry)
        return tuple(int(each.timestamp()) - SECOND for each in expiries)

    hour = 3600
    assert ends() == (hour, 3 * hour, 6 * hour)
    assert ends(pre_approval_expiry=SECOND + 60) == (60, 60 + 2 * hour, 60 + 5 * hour)
    assert ends(authorization_expiry=SECOND + hour) == (hour, hour, 4 * hour), "no earlier than the one before"
    assert ends(refund_expiry=SECOND + 3 * hour) == (hour, 3 * hour, 3 * hour)


def test_a_payment_can_be_paid_for_a_second_at_least(commerce: Commerce) -> None:
    whole = NOW.replace(microsecond=0)
    assert created(commerce, now=whole, pre_approval_expiry=SECOND + 1).pre_approval_expiry == whole + timedelta(seconds=1)
    with pytest.raises(ValidationFailed, match="^preApprovalExpiry must be in the future"):
        created(commerce, now=whole, pre_approval_expiry=SECOND)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pre_approval_expiry": SECOND}, "preApprovalExpiry"),
        ({"authorization_expiry": SECOND + 3599}, "authorizationExpiry"),
        ({"refund_expiry": SECOND + 3 * 3600 - 1}, "refundExpiry"),
        ({"max_amount": 99}, "maxAmount"),
        ({"max_amount": MAX_AMOUNT + 1}, "maxAmount"),
        ({"amount": MAX_AMOUNT + 1, "max_amount": MAX_AMOUNT + 1}, "amount"),
        ({"min_fee_bps": 21}, "minFeeBps"),
        ({"fee_receiver": "0x12"}, "feeReceiver"),
        ({"fee_receiver": "0x" + "0" * 40}, "feeReceiver"),
        ({"merchant_address": "0x" + "0" * 40}, "merchantAddress"),
        ({"buyer_address": "0x" + "0" * 40}, "buyerAddress"),
        ({"buyer_address": PAYEE.lower()}, "buyerAddress"),
    ],
)
def test_what_the_escrow_could_not_keep_is_refused_by_the_name_of_its_field(
    commerce: Commerce, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationFailed, match=f"^{field}[ :]"):
        created(commerce, **changes)


def test_the_largest_amount_that_the_escrow_can_hold_and_an_amount_equal_to_the_largest_are_taken(commerce: Commerce) -> None:
    most = created(commerce, amount=MAX_AMOUNT, max_amount=MAX_AMOUNT)
    assert (most.amount, most.max_amount) == (MAX_AMOUNT, MAX_AMOUNT)


def test_the_fee_is_what_the_body_bounds_or_at_most_that_of_the_client_id() -> None:
    free, client = Fee(), Fee("0.15", OTHER)

    def bounds(fee: Fee, **changes: Any) -> tuple[Any, ...]:
        return fee_bounds(replace(DRAFT, **changes), fee, TERMS.requests)

    assert bounds(free) == (10, 20, FEES)
    assert bounds(free, min_fee_bps=20, fee_receiver=None) == (20, 20, None)
    assert bounds(client) == (10, 15, OTHER), "the receiver of the body gets nothing"
    assert bounds(client, min_fee_bps=20) == (15, 15, OTHER)
    assert bounds(Fee("0", OTHER)) == (10, 20, FEES)


def test_the_salt_that_tells_equal_payments_apart_has_256_bits(commerce: Commerce) -> None:
    salts = {created(commerce).salt for _ in range(3)}
    assert len(salts) == 3 and {len(bytes.fromhex(each)) for each in salts} == {32}


def test_the_link_has_no_fee_of_its_own_as_the_client_ids_is_taken_from_what_is_captured(commerce: Commerce) -> None:
    owner = commerce.owner(fee_percentage="0.15", fee_address=OTHER)
    made = flows.create(commerce.services, owner, commerce.draft())
    assert (made.payment.max_fee_bps, made.payment.fee_receiver) == (15, OTHER)
    assert not made.link.link.fee.is_charged


@pytest.mark.parametrize(("name", "field"), [("merchant_address", "merchantAddress"), ("buyer_address", "buyerAddress"), ("fee_receiver", "feeReceiver")])
def test_an_escrow_that_only_the_setting_names_neither_pays_nor_is_paid(name: str, field: str) -> None:
    with pytest.raises(ValidationFailed, match=f"{field} is the contract of AuthCaptureEscrow"):
        created(Commerce(), **{name: CONTRACTS.escrow})
