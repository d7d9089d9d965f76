"""What the escrow refuses: each check by itself, expiries to the exact second, and attempts to take another's money.

A refused call moves nothing and changes no state. The contracts are those of test_escrow.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS, PaymentInfo, payment_hash
from chalicelib.chains.calldata.reverts import _CONTRACT_ERRORS
from chalicelib.chains.calldata.transaction import Transaction
from infra.local.chain import Chain
from tests.onchain.commerce import FEE_RECEIVER, HOUR, MERCHANT, MONEY, NO_FEE, OPERATOR, STRANGER, Commerce

FEE = CaptureFee(250, FEE_RECEIVER)


def error(signature: str) -> str:
    """How a refusal by this error of the contracts is said."""
    return _CONTRACT_ERRORS[keccak256(signature.encode())[:4].hex()]


NOT_ALLOWED = error("InvalidSender(address,address)")
NOT_PRE_APPROVED = error("PaymentNotPreApproved(bytes32)")
PRE_APPROVAL_OVER = error("AfterPreApprovalExpiry(uint48,uint48)")
AUTHORIZATION_OVER = error("AfterAuthorizationExpiry(uint48,uint48)")
STILL_AUTHORIZED = error("BeforeAuthorizationExpiry(uint48,uint48)")
REFUNDS_OVER = error("AfterRefundExpiry(uint48,uint48)")
COLLECTED = error("PaymentAlreadyCollected(bytes32)")
NOTHING_AUTHORIZED = error("ZeroAuthorization(bytes32)")
TOO_MUCH = error("InsufficientAuthorization(bytes32,uint256,uint256)")
ABOVE_CAPTURE = error("RefundExceedsCapture(uint256,uint256)")
ZERO = error("ZeroAmount()")
NOT_IN_PERMIT2 = "the signature of the payment is not that of the tokens' owner"


@pytest.fixture
def commerce(chain_of: Callable[[str], Chain]) -> Commerce:
    return Commerce(chain_of("base"))


@pytest.fixture
def unchanged(commerce: Commerce) -> Iterator[Callable[[], None]]:
    """unchanged(): no balance differs from that at the beginning; it is checked again at the end."""
    before = commerce.balances()

    def check() -> None:
        assert commerce.balances() == before

    yield check
    check()


# --- expiries, to the second ---


def test_a_payment_is_pre_approved_and_authorized_until_the_second_before_the_pre_approval_expires(
    commerce: Commerce,
) -> None:
    info, other = commerce.info(), commerce.info()
    assert commerce.pre_approve(info) is None
    assert commerce.pre_approve(other, at=info.pre_approval_expiry - 2) is None
    assert commerce.authorize(info, at=info.pre_approval_expiry - 1) is None
    assert commerce.authorize(other, at=info.pre_approval_expiry) == PRE_APPROVAL_OVER
    assert commerce.charge(other, 1) == PRE_APPROVAL_OVER
    assert commerce.pre_approve(commerce.info()) == PRE_APPROVAL_OVER


@pytest.mark.parametrize("way", ["erc3009", "permit2"])
@pytest.mark.parametrize("early", [1, 0])
def test_a_signature_is_accepted_until_the_second_before_the_pre_approval_expires(
    commerce: Commerce, way: str, early: int
) -> None:
    commerce.allow_permit2()
    info = commerce.info()
    signed = commerce.sign_erc3009(info) if way == "erc3009" else commerce.sign_permit2(info)
    refused = commerce.authorize(info, by=signed, at=info.pre_approval_expiry - early)
    assert refused == (None if early else PRE_APPROVAL_OVER)


def test_a_payment_is_captured_until_the_second_before_its_authorization_expires(commerce: Commerce) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 1, at=info.authorization_expiry - 1) is None
    assert commerce.capture(info, 1, at=info.authorization_expiry) == AUTHORIZATION_OVER


def test_a_payment_is_reclaimed_from_the_second_at_which_its_authorization_expires(commerce: Commerce) -> None:
    info = commerce.authorized()
    assert commerce.reclaim(info, at=info.authorization_expiry - 1) == STILL_AUTHORIZED
    assert commerce.reclaim(info, at=info.authorization_expiry) is None


def test_a_payment_can_be_voided_after_its_authorization_expired_until_it_is_reclaimed(commerce: Commerce) -> None:
    first, second = commerce.authorized(), commerce.authorized()
    assert commerce.void(first, at=first.authorization_expiry + HOUR) is None
    assert commerce.reclaim(second) is None
    assert commerce.void(second) == NOTHING_AUTHORIZED
    assert commerce.reclaim(first) == NOTHING_AUTHORIZED


def test_a_payment_is_refunded_until_the_second_before_refunds_end(commerce: Commerce) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 2) is None
    assert commerce.refund(info, 1, at=info.refund_expiry - 1) is None
    assert commerce.refund(info, 1, at=info.refund_expiry) == REFUNDS_OVER


def test_expiries_may_all_be_the_same_second(commerce: Commerce) -> None:
    at = commerce.start + HOUR
    info = commerce.authorized(pre_approval_expiry=at, authorization_expiry=at, refund_expiry=at)
    assert commerce.capture(info, 1, at=at - 1) is None


@pytest.mark.parametrize("name", ["authorization_expiry", "refund_expiry"])
def test_expiries_out_of_order_are_refused(commerce: Commerce, name: str) -> None:
    info = commerce.info(**{name: commerce.start + HOUR - 1})
    assert commerce.pre_approve(info) is None
    assert commerce.authorize(info) == error("InvalidExpiries(uint48,uint48,uint48)")


# --- amounts and fees ---


def test_amounts_are_above_zero_and_at_most_what_there_is(commerce: Commerce) -> None:
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    assert commerce.authorize(info, 1_000_001) == error("ExceedsMaxAmount(uint256,uint256)")
    assert commerce.authorize(info, 2**120) == error("AmountOverflow(uint256,uint256)")
    assert commerce.authorize(info, 0) == ZERO
    assert commerce.charge(info, 0) == ZERO
    assert commerce.authorize(info, 900_000) is None
    assert commerce.capture(info, 900_001) == TOO_MUCH
    assert commerce.capture(info, 0) == ZERO
    assert commerce.capture(info, 900_000) is None
    assert commerce.capture(info, 1) == TOO_MUCH
    assert commerce.void(info) == NOTHING_AUTHORIZED
    assert commerce.refund(info, 900_001) == ABOVE_CAPTURE
    assert commerce.refund(info, 0) == ZERO
    assert commerce.refund(info, 900_000) is None
    assert commerce.refund(info, 1) == ABOVE_CAPTURE
    assert commerce.state(info).refundable == 0


def test_a_payment_is_collected_once(commerce: Commerce) -> None:
    info = commerce.authorized()
    assert commerce.authorize(info) == COLLECTED
    assert commerce.charge(info, 1) == COLLECTED
    assert commerce.pre_approve(info) == error("PaymentAlreadyPreApproved(bytes32)")
    assert commerce.void(info) is None
    assert commerce.authorize(info) == COLLECTED
    signed = commerce.info()
    assert commerce.authorize(signed, by=commerce.sign_erc3009(signed)) is None
    assert commerce.pre_approve(signed) == COLLECTED


@pytest.mark.parametrize(
    ("terms", "fee", "refused"),
    [
        ({}, CaptureFee(501, FEE_RECEIVER), "FeeBpsOutOfRange(uint16,uint16,uint16)"),
        ({"min_fee_bps": 100}, CaptureFee(99, FEE_RECEIVER), "FeeBpsOutOfRange(uint16,uint16,uint16)"),
        ({}, CaptureFee(1, ZERO_ADDRESS), "ZeroFeeReceiver()"),
        ({"fee_receiver": FEE_RECEIVER}, CaptureFee(1, STRANGER), "InvalidFeeReceiver(address,address)"),
        ({"fee_receiver": FEE_RECEIVER}, NO_FEE, "InvalidFeeReceiver(address,address)"),
    ],
)
def test_a_fee_is_within_its_bounds_and_goes_to_whom_the_terms_name(
    commerce: Commerce, terms: dict[str, Any], fee: CaptureFee, refused: str
) -> None:
    info = commerce.authorized(**terms)
    assert commerce.capture(info, 1_000, fee) == error(refused)
    charged = commerce.info(**terms)
    assert commerce.pre_approve(charged) is None
    assert commerce.charge(charged, 1_000, fee) == error(refused)


@pytest.mark.parametrize(
    ("terms", "refused"),
    [
        ({"max_fee_bps": 10_001}, "FeeBpsOverflow(uint16)"),
        ({"min_fee_bps": 501}, "InvalidFeeBpsRange(uint16,uint16)"),
    ],
)
def test_bounds_of_fees_that_cannot_hold_are_refused(commerce: Commerce, terms: dict[str, int], refused: str) -> None:
    info = commerce.info(**terms)
    assert commerce.pre_approve(info) is None
    assert commerce.authorize(info) == error(refused)


# --- who may do what ---


def test_only_the_operator_moves_a_payment_and_only_the_payer_reclaims_it(
    commerce: Commerce, unchanged: Callable[[], None]
) -> None:
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    for sender in (STRANGER, MERCHANT, commerce.payer):
        assert commerce.authorize(info, sender=sender) == NOT_ALLOWED
        assert commerce.charge(info, 1, sender=sender) == NOT_ALLOWED
    unchanged()
    assert commerce.authorize(info) is None
    for sender in (STRANGER, MERCHANT, commerce.payer):
        assert commerce.capture(info, 1, sender=sender) == NOT_ALLOWED
        assert commerce.void(info, sender=sender) == NOT_ALLOWED
        assert commerce.refund(info, 1, sender=sender) == NOT_ALLOWED
    for sender in (STRANGER, MERCHANT, OPERATOR):
        assert commerce.reclaim(info, sender=sender) == NOT_ALLOWED
    assert commerce.state(info).capturable == 1_000_000
    assert commerce.void(info) is None


def test_only_the_payer_of_the_terms_can_pre_approve_them(commerce: Commerce) -> None:
    _, approve = escrow_calls.pre_approve(commerce.info(), commerce.contracts)
    assert commerce.send(approve, STRANGER) == NOT_ALLOWED


@pytest.mark.parametrize("name", [each.name for each in fields(PaymentInfo) if each.name != "payer"])
def test_terms_that_differ_in_one_member_were_not_pre_approved(
    commerce: Commerce, unchanged: Callable[[], None], name: str
) -> None:
    """Also with the stranger as the operator, who then may call, and with the merchant changed to the stranger."""
    info = commerce.info(fee_receiver=FEE_RECEIVER)
    assert commerce.pre_approve(info) is None
    other = changed(info, name)
    assert commerce.authorize(other, 1, sender=other.operator) in (NOT_PRE_APPROVED, NOT_A_CONTRACT)
    assert not commerce.state(other).collected


NOT_A_CONTRACT = "reverted without a reason"  # the token was changed to an address without code


@pytest.mark.parametrize("way", ["erc3009", "permit2"])
@pytest.mark.parametrize("name", [each.name for each in fields(PaymentInfo) if each.name != "token"])
def test_a_signature_seen_by_others_is_of_no_use_for_other_terms(
    commerce: Commerce, unchanged: Callable[[], None], way: str, name: str
) -> None:
    commerce.allow_permit2()
    info = commerce.info(fee_receiver=FEE_RECEIVER)
    signed = commerce.sign_erc3009(info) if way == "erc3009" else commerce.sign_permit2(info)
    other = changed(info, name)
    refused = commerce.authorize(other, 1, signed, sender=other.operator)
    assert refused in (NOT_IN_PERMIT2, "FiatTokenV2: invalid signature")
    assert not commerce.state(other).collected


def changed(info: PaymentInfo, name: str) -> PaymentInfo:
    value = getattr(info, name)
    return replace(info, **{name: STRANGER if isinstance(value, str) else value + 1})


def test_a_signature_in_the_mempool_cannot_be_sent_by_another(
    commerce: Commerce, unchanged: Callable[[], None]
) -> None:
    """In front of the operator, through the escrow or directly at the collector and the token."""
    commerce.allow_permit2()
    info = commerce.info()
    for signed in (commerce.sign_erc3009(info), commerce.sign_permit2(info)):
        assert commerce.authorize(info, by=signed, sender=STRANGER) == NOT_ALLOWED
        assert commerce.charge(info, 1, sender=STRANGER) == NOT_ALLOWED
        assert commerce.authorize(replace(info, operator=STRANGER), by=signed, sender=STRANGER) is not None
        assert commerce.authorize(replace(info, receiver=STRANGER), by=signed) is not None


def test_a_signature_is_used_once(commerce: Commerce) -> None:
    info = commerce.info()
    signed = commerce.sign_erc3009(info)
    assert commerce.authorize(info, 1, signed) is None
    assert commerce.void(info) is None
    assert commerce.authorize(info, 1, signed) == COLLECTED
    assert commerce.balances(commerce.payer) == [MONEY]


def test_a_payer_cannot_be_charged_by_the_pre_approval_of_another(commerce: Commerce) -> None:
    other = Commerce(commerce.chain)
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    assert other.pre_approve(other.info()) is None
    assert commerce.authorize(replace(info, payer=other.payer)) == NOT_PRE_APPROVED
    assert other.balances(other.payer) == [MONEY]


def test_an_allowance_without_a_pre_approval_lets_nobody_take_anything(
    commerce: Commerce, unchanged: Callable[[], None]
) -> None:
    info = commerce.info()
    allow, _ = escrow_calls.pre_approve(info, commerce.contracts)
    assert commerce.send(allow, commerce.payer) is None
    assert commerce.authorize(info) == NOT_PRE_APPROVED
    stolen = replace(info, operator=STRANGER, receiver=STRANGER)
    assert commerce.authorize(stolen, sender=STRANGER) == NOT_PRE_APPROVED


def test_what_is_signed_for_one_chain_is_nothing_on_another(chain_of: Callable[[str], Chain]) -> None:
    here, there = Commerce(chain_of("base")), Commerce(chain_of("sepolia"))
    there.account, there.payer = here.account, here.payer
    there.chain.fund_token(there.payer, there.token, MONEY)
    there.allow_permit2()
    info = here.info(token=there.token)
    assert payment_hash(info, here.contracts) != payment_hash(info, there.contracts)
    assert there.authorize(info, by=here.sign_permit2(info)) == NOT_IN_PERMIT2
    assert there.balances(there.payer) == [MONEY]


# --- the collectors ---


def test_a_collector_of_refunds_takes_no_payment_and_one_of_payments_no_refund(commerce: Commerce) -> None:
    wrong = error("InvalidCollectorForOperation()")
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    assert commerce.authorize(info, by=Collection(commerce.contracts.operator_refund)) == wrong
    assert commerce.authorize(info) is None
    assert commerce.capture(info, 1_000) is None
    by_payment = replace(commerce.contracts, operator_refund=commerce.contracts.pre_approval)
    assert commerce.send(escrow_calls.refund(info, by_payment, 1_000), OPERATOR) == wrong


def test_a_collector_can_be_called_by_the_escrow_alone(commerce: Commerce, unchanged: Callable[[], None]) -> None:
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    call = escrow_calls.refund(info, commerce.contracts, 1)  # collectTokens has the words of refund, with another selector
    words = call.data[10:]
    for collector in (commerce.contracts.pre_approval, commerce.contracts.operator_refund):
        stolen = Transaction(collector, "0x" + collect_selector() + words, 0)
        assert commerce.send(stolen, STRANGER) is not None


def collect_selector() -> str:
    info = ",".join(kind for _, kind in MEMBERS)
    return keccak256(f"collectTokens(({info}),address,uint256,bytes)".encode())[:4].hex()


def test_a_refund_takes_from_the_operator_what_it_allowed_and_no_more(commerce: Commerce) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 1_000) is None
    refused = commerce.send(escrow_calls.refund(info, commerce.contracts, 1_000), OPERATOR)
    assert refused is not None and "allowance" in refused
    assert commerce.state(info).refundable == 1_000
    poor = Account.create().address
    other = commerce.info(operator=poor)
    assert commerce.pre_approve(other) is None
    assert commerce.charge(other, 1_000, sender=poor) is None
    assert "balance" in str(commerce.refund(other, 1_000, sender=poor))
