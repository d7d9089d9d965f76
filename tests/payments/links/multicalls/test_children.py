"""What keeps a payout out of a multicall, and what is told of it."""

from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.multicalls.children import (
    MulticallRefused,
    Reason,
    SetRefused,
    block_reason,
    check_count,
    check_none_blocked,
    evaluate_children,
)
from chalicelib.payments.links.multicalls.responses import child_context
from chalicelib.payments.links.multicalls.rules import (
    ExecutionKind,
    MulticallDetails,
    multicall_details,
    new_parent,
)
from chalicelib.payments.links.records import AnnouncedStatus, Flow, Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.callers import Owner
from tests.fakes.payouts import on_its_way, payout
from tests.fakes.world import START
from tests.support.errors import body_of

OWNER = Owner("acct", None, None)
WEEK = timedelta(days=7)


def entropy(n: int) -> bytes:
    entropy.count = getattr(entropy, "count", 0) + 1  # type: ignore[attr-defined]
    return entropy.count.to_bytes(n, "big")  # type: ignore[attr-defined]


SERVICES: Any = SimpleNamespace(clock=lambda: START, entropy=entropy)


def child(**changes: Any) -> PayableLink:
    return payout(SERVICES, "acct", **changes)


def paid(payable: PayableLink) -> PayableLink:
    """The chain has confirmed it."""
    request = replace(payable.requests[0], paid=payable.requests[0].amount, status=RequestStatus.PAID)
    return PayableLink((request,), replace(payable.link, status=LinkStatus.COMPLETED))


def parent_of(*children: PayableLink, owner: Owner = OWNER, kind: ExecutionKind | None = None) -> Link:
    found = {each.link.token: each for each in children}
    return new_parent(owner, list(found), kind, found, START, entropy)


def seen(*children: PayableLink, at: datetime = START, **changes: Any) -> MulticallDetails:
    """The multicall of these children as it is read at a moment."""
    found = {each.link.token: each for each in children}
    parent = replace(parent_of(*children), **changes)
    return multicall_details(PayableLink((), parent), evaluate_children(parent, found, (), at), at)


INVALIDATED, FAILED = LinkStatus.INVALIDATED, LinkStatus.COMPLIANCE_FAILED
REASONS: list[tuple[Reason, str, Any]] = [
    (Reason.NOT_FOUND, "remove_child", lambda: None),
    (Reason.NOT_OWNED, "remove_child", lambda: payout(SERVICES, "other")),
    (Reason.NOT_OUTGOING, "remove_child", lambda: child(flow=Flow.GET_PAID)),
    (Reason.NOT_SINGLE_PAYMENT, "support_required", lambda: child(payment_type=PaymentType.BATCH)),
    (Reason.NOT_SINGLE_PAYMENT, "support_required", lambda: child(payment_type=PaymentType.MULTICALL)),
    (Reason.ALREADY_PAID, "remove_child", lambda: paid(child())),
    (Reason.REQUEST_PROCESSING, "recreate_after_cooldown", lambda: on_its_way(child())),
    (Reason.SECURE_PAYMENT_EXPIRED, "support_required", lambda: child(status=LinkStatus.EXPIRED)),
    (Reason.SECURE_PAYMENT_NOT_PENDING, "support_required", lambda: child(status=INVALIDATED)),
    (Reason.COMPLIANCE_FAILED, "remove_child", lambda: child(status=FAILED)),
    (Reason.NOT_PAYABLE_CHILD, "support_required", lambda: replace(child(), requests=())),
    (Reason.NOT_PAYABLE_CHILD, "support_required", lambda: child(expires_at=START)),
]


@pytest.mark.parametrize(("reason", "action", "make"), REASONS, ids=[f"{index} {case[0]}" for index, case in enumerate(REASONS)])
def test_each_reason_is_told_with_its_key_and_what_to_do(reason: Reason, action: str, make: Any) -> None:
    payment = make()
    token = payment.link.token if payment else "unknown"
    found = {token: payment} if payment else {}
    parent = new_parent(OWNER, ["first", token], None, found, START, entropy)
    children = evaluate_children(parent, {"first": child(), **found}, (), START)
    assert [each.reason for each in children] == [None, reason]
    with pytest.raises(MulticallRefused) as refused:
        check_none_blocked(children, START)
    body = body_of(refused.value)
    assert (body["message"], body["code"]) == ("Multicall validation failed", "multicall_validation_failed")
    (failure,) = body["failures"]
    assert "cap" not in body
    assert failure["securePaymentToken"] == token
    assert (failure["reason"], failure["messageKey"]) == (reason.value, f"multicall.{reason.value}")
    assert failure["recoveryAction"] == action
    assert {"requestId", "securePaymentToken", "position", "hasBeenPaid"} <= failure["context"].keys()
    assert failure["context"]["position"] == 1


@pytest.mark.parametrize("status", [AnnouncedStatus.SETTLED, AnnouncedStatus.FAILED, AnnouncedStatus.REPLACED, AnnouncedStatus.LAPSED])
def test_an_announced_transaction_that_is_over_blocks_nothing(status: AnnouncedStatus) -> None:
    payment = on_its_way(child(), status)
    assert block_reason(payment, parent_of(payment), False, START) is None


def test_what_another_multicall_holds_is_an_invalid_linkage_before_it_is_anything_else() -> None:
    for payment in (child(), paid(child()), child(status=INVALIDATED)):
        assert block_reason(payment, parent_of(payment), True, START) is Reason.INVALID_CHILD_LINKAGE
    foreign = payout(SERVICES, "other")
    assert block_reason(foreign, parent_of(foreign), True, START) is Reason.NOT_OWNED


def test_a_child_that_is_partly_paid_can_be_paid() -> None:
    payment = child(paid=BaseUnits(5))
    part = replace(payment, requests=(replace(payment.requests[0], status=RequestStatus.PARTIALLY_PAID),))
    assert block_reason(part, parent_of(part), False, START) is None


def test_a_client_id_sees_its_own_payouts_and_those_without_one() -> None:
    mine, nobodys, others = (child(client_id=name) for name in ("cli_a", None, "cli_b"))
    parent = parent_of(mine, owner=Owner("acct", "cli_a", "https://shop.example"))
    assert [block_reason(each, parent, False, START) for each in (mine, nobodys, others)] == [
        None,
        None,
        Reason.NOT_OWNED,
    ]
    assert block_reason(others, parent_of(others), False, START) is None, "the account as a whole sees all"


def test_of_a_foreign_payout_nothing_is_told_but_what_was_sent() -> None:
    foreign = paid(payout(SERVICES, "other"))
    (evaluated,) = evaluate_children(parent_of(foreign), {foreign.link.token: foreign}, (), START)
    assert child_context(evaluated, START) == {
        "requestId": "",
        "securePaymentToken": foreign.link.token,
        "position": 0,
        "hasBeenPaid": False,
    }


def test_the_facts_behind_a_child_are_those_of_its_link_and_request() -> None:
    payment = paid(child())
    (evaluated,) = evaluate_children(parent_of(payment), {payment.link.token: payment}, (), START)
    assert child_context(evaluated, START) == {
        "requestId": payment.requests[0].request_id,
        "securePaymentToken": payment.link.token,
        "position": 0,
        "hasBeenPaid": True,
        "securePaymentStatus": "completed",
        "requestStatus": "paid",
        "expiresAt": "2026-03-22T10:00:00.000Z",
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
    }


def test_a_duplicate_is_named_where_it_is_repeated() -> None:
    payment = child()
    token = payment.link.token
    parent = new_parent(OWNER, [token, "x", token], None, {token: payment}, START, entropy)
    assert [each.reason for each in evaluate_children(parent, {token: payment}, (), START)] == [
        None,
        Reason.NOT_FOUND,
        Reason.DUPLICATE_CHILD,
    ]


def test_too_many_children_are_refused_with_what_is_too_much() -> None:
    check_count(150, 150)
    with pytest.raises(SetRefused) as refused:
        check_count(151, 150)
    assert body_of(refused.value) == {
        "statusCode": 400,
        "message": "Multicall validation failed",
        "error": "Bad Request",
        "code": "multicall_validation_failed",
        "cap": {"type": "child_count", "maximum": 150, "actual": 151, "reduceBy": 1},
        "failures": [
            {
                "securePaymentToken": "*",
                "reason": "too_many_children",
                "messageKey": "multicall.too_many_children",
                "context": {"maximum": 150, "actual": 151, "reduceBy": 1},
                "recoveryAction": "recreate_reduced",
            }
        ],
    }
