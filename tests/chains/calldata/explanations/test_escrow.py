"""What the calls of commerce payments are said to do."""

from dataclasses import replace

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.transaction import Transaction
from tests.chains.calldata.calls import COLLECTOR, ESCROW, EVERY_KIND, INFO, OPERATOR, PAYEE, PRE_APPROVED, WALLET, one

PRE_APPROVAL = (
    f"Let {OPERATOR} put up to 1 USDC of {WALLET} into escrow until 2027-01-15 08:00:00 UTC, and pay it out to {PAYEE}, "
    "less a fee of at most 2.5 %; what was not paid out until 2027-01-16 08:00:00 UTC can be taken back"
)
SUMMARIES = {
    "approve a collector": "Allow PreApprovalPaymentCollector to take up to 1 USDC",
    "pre-approve": PRE_APPROVAL,
    "authorize": f"Put 1 USDC of {WALLET} into escrow for {PAYEE}, until 2027-01-16 08:00:00 UTC",
    "charge": f"Take 0.7 USDC of {WALLET} and pay it to {PAYEE} with 2.5 % of it as a fee to {COLLECTOR}",
    "capture": f"Pay 0.6 USDC that is in escrow to {PAYEE} with 2.5 % of it as a fee to {COLLECTOR}",
    "void": f"Give all that is in escrow back to {WALLET}",
    "reclaim": f"Take all that is in escrow back to {WALLET}",
    "refund": f"Refund 0.1 USDC of {OPERATOR} to {WALLET}",
}


@pytest.mark.parametrize("kind", SUMMARIES)
def test_a_call_is_told_in_one_sentence(kind: str) -> None:
    assert one(*EVERY_KIND[kind]).summary == SUMMARIES[kind]


def test_arguments_have_a_readable_form() -> None:
    explained = one(*EVERY_KIND["charge"])
    assert (explained.contract, explained.function) == ("AuthCaptureEscrow", "charge")
    assert {each.name: each.human for each in explained.arguments if each.human} == {
        "paymentInfo.token": "USDC",
        "paymentInfo.maxAmount": "1 USDC",
        "paymentInfo.preApprovalExpiry": "2027-01-15 08:00:00 UTC",
        "paymentInfo.authorizationExpiry": "2027-01-16 08:00:00 UTC",
        "paymentInfo.refundExpiry": "2027-01-25 08:00:00 UTC",
        "paymentInfo.minFeeBps": "0 %",
        "paymentInfo.maxFeeBps": "2.5 %",
        "amount": "0.7 USDC",
        "tokenCollector": "ERC3009PaymentCollector",
        "feeBps": "2.5 %",
    }


def test_a_payment_without_fees_does_not_speak_of_them() -> None:
    info = replace(INFO, max_fee_bps=0, fee_receiver=ZERO_ADDRESS)
    explained = one("base", escrow_calls.pre_approve(info, ESCROW)[1])
    assert f"pay it out to {PAYEE}; what was not" in explained.summary
    assert ("paymentInfo.feeReceiver", "whom the operator names") in [
        (each.name, each.human) for each in explained.arguments
    ]
    captured = one("base", escrow_calls.capture(info, ESCROW, 1, CaptureFee(0, ZERO_ADDRESS)))
    assert captured.summary == f"Pay 0.000001 USDC that is in escrow to {PAYEE} without a fee"


@pytest.mark.parametrize(
    ("transaction", "reason"),
    [
        (escrow_calls.authorize(INFO, ESCROW, 1, Collection(WALLET)), "another contract than a collector"),
        (escrow_calls.authorize(INFO, ESCROW, 1, Collection(ESCROW.operator_refund)), "another contract than a collector"),
        (escrow_calls.refund(INFO, replace(ESCROW, operator_refund=ESCROW.permit2), 1), "another contract than a collector"),
        (escrow_calls.void(replace(INFO, refund_expiry=2**48 - 1), ESCROW), "a time is after the year 9999"),
        (escrow_calls.void(INFO, replace(ESCROW, escrow=PAYEE)), "not the AuthCaptureEscrow of the network"),
    ],
)
def test_what_this_package_would_not_write_is_unknown(transaction: Transaction, reason: str) -> None:
    explained = one("base", transaction)
    assert explained.function is None
    assert reason in explained.summary


def test_contracts_that_a_setting_names_are_known_where_it_is_given() -> None:
    set_here = replace(ESCROW, network="sepolia", pre_approval=WALLET)
    approve, pre_approve = explain("sepolia", escrow_calls.pre_approve(INFO, set_here), set_here)
    assert approve.summary.startswith("Allow PreApprovalPaymentCollector to take")
    assert pre_approve.function == "preApprove"
    assert explain("sepolia", escrow_calls.pre_approve(INFO, set_here))[1].function is None


def test_signatures_do_not_change_what_is_told() -> None:
    signed = escrow_calls.authorize(INFO, ESCROW, 1_000_000, Collection(ESCROW.permit2, b"\1" * 65))
    assert one("base", signed).summary == one("base", escrow_calls.authorize(INFO, ESCROW, 1_000_000, PRE_APPROVED)).summary
