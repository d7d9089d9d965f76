"""What the operator of a commerce payment sends, transaction by transaction."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.commerce.core.records import Collector, OperationKind, PendingOperation
from chalicelib.commerce.service.transactions import info_of, operator_calls, token_address
from tests.fakes.commerce import BUYER, CONTRACTS, OTHER, new_payment
from tests.fakes.world import START

PAYMENT = new_payment(START, fee_receiver=OTHER, min_fee_bps=10, max_fee_bps=20)
INFO, AMOUNT, FEE = info_of(PAYMENT, BUYER), BaseUnits(7), CaptureFee(15, OTHER)


def sent(kind: OperationKind, **changes: Any) -> tuple[Any, ...]:
    pending = PendingOperation(1, kind, AMOUNT, START, 15, OTHER, BUYER)
    return operator_calls(PAYMENT, replace(pending, **changes), CONTRACTS)


def test_every_operation_is_one_transaction_with_its_amount_and_fee_but_a_refund_is_approved_first() -> None:
    collection = Collection(CONTRACTS.pre_approval, b"")
    assert sent(OperationKind.AUTHORIZE) == (escrow_calls.authorize(INFO, CONTRACTS, AMOUNT, collection),)
    assert sent(OperationKind.CHARGE) == (escrow_calls.charge(INFO, CONTRACTS, AMOUNT, collection, FEE),)
    assert sent(OperationKind.CAPTURE) == (escrow_calls.capture(INFO, CONTRACTS, AMOUNT, FEE),)
    assert sent(OperationKind.VOID) == (escrow_calls.void(INFO, CONTRACTS),)
    approval = erc20.approve(token_address(PAYMENT), CONTRACTS.operator_refund, AMOUNT)
    assert sent(OperationKind.REFUND) == (approval, escrow_calls.refund(INFO, CONTRACTS, AMOUNT))


@pytest.mark.parametrize(
    ("collector", "contract"), [(Collector.ERC3009, CONTRACTS.erc3009), (Collector.PERMIT2, CONTRACTS.permit2)]
)
def test_what_a_payer_has_signed_goes_to_the_collector_of_its_kind(collector: Collector, contract: str) -> None:
    made = sent(OperationKind.AUTHORIZE, collector=collector, signature="ab" * 65)
    assert made == (escrow_calls.authorize(INFO, CONTRACTS, AMOUNT, Collection(contract, b"\xab" * 65)),)
