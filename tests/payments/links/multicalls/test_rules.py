"""Which payouts can be paid together, and what the whole comes to."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.payments.links.multicalls.children import (
    Reason,
    SetRefused,
    evaluate_children,
    is_live,
)
from chalicelib.payments.links.multicalls.rules import (
    ExecutionKind,
    check_combination,
    execution_kind,
    holds_children,
    multicall_details,
    totals_by_currency,
)
from chalicelib.payments.links.records import ASSEMBLY_TIME, Flow, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import LARGEST_TOTAL, is_abandoned
from chalicelib.platform.access.callers import Owner
from tests.fakes.payouts import on_its_way
from tests.fakes.world import FEE_ADDRESS, START
from tests.payments.links.multicalls.test_children import WEEK, child, paid, parent_of, seen
from tests.support.errors import body_of


def test_a_multicall_expires_with_its_first_child_and_belongs_to_its_creator() -> None:
    owner = Owner("acct", "cli_a", "https://shop.example")
    parent = parent_of(child(), child(expires_at=START + timedelta(hours=1)), owner=owner)
    assert parent.expires_at == START + timedelta(hours=1)
    assert (parent.payment_type, parent.flow, parent.status) == (PaymentType.MULTICALL, Flow.PAY, LinkStatus.PENDING)
    assert (parent.account_id, parent.client_id) == ("acct", "cli_a")


def test_a_claim_counts_while_its_multicall_lives() -> None:
    parent = parent_of(child())
    assembling = replace(parent, status=LinkStatus.ASSEMBLING)
    last = timedelta(milliseconds=1)
    assert is_live(parent, START + WEEK - last)
    assert not is_live(parent, START + WEEK)
    assert not is_live(None, START)
    assert is_live(assembling, START + ASSEMBLY_TIME - last)
    assert not is_live(assembling, START + ASSEMBLY_TIME)
    assert is_abandoned(assembling, START + ASSEMBLY_TIME)
    assert not is_abandoned(parent, START + WEEK)


TRON = {"currency": "USDT-tron"}
ETH = {"currency": "ETH-sepolia-sepolia"}
BASE, ARBITRUM = {"currency": "USDC-base"}, {"currency": "USDT-arbitrum-one"}
SEPOLIA: dict[str, str] = {}
SMALL = {"amount": BaseUnits(999_999)}
EVERYWHERE = tuple(
    {"currency": found.id, "amount": BaseUnits(10**19)}
    for chain in source_networks()
    for symbol in SOURCE_SYMBOLS
    if (found := source_token(chain.label, symbol)) is not None
)
APART, MISMATCH = Reason.UNSUPPORTED_COMBINATION, Reason.EXECUTION_KIND_MISMATCH


@pytest.mark.parametrize(
    ("kinds", "requested", "derived"),
    [
        ((SEPOLIA, SEPOLIA), None, ExecutionKind.EVM_SAME_CHAIN),
        ((ETH, ETH), None, ExecutionKind.EVM_SAME_CHAIN),
        ((TRON, TRON), None, ExecutionKind.TRON_BATCH),
        ((BASE, BASE), None, ExecutionKind.EVM_SAME_CHAIN),
        ((BASE, BASE), ExecutionKind.EVM_CROSS_CHAIN, ExecutionKind.EVM_CROSS_CHAIN),
        ((BASE, ARBITRUM), None, ExecutionKind.EVM_CROSS_CHAIN),
        ((SEPOLIA, SEPOLIA), ExecutionKind.EVM_SAME_CHAIN, ExecutionKind.EVM_SAME_CHAIN),
        ((TRON, TRON), ExecutionKind.TRON_BATCH, ExecutionKind.TRON_BATCH),
    ],
)
def test_the_kind_follows_from_the_children(kinds: Any, requested: Any, derived: ExecutionKind) -> None:
    details = seen(*(child(**each) for each in kinds), execution_kind=requested)
    check_combination(requested, details.children)
    assert execution_kind(requested, details.requests) is derived
    assert details.can_execute


@pytest.mark.parametrize(
    ("kinds", "requested", "reason", "hint"),
    [
        ((SEPOLIA, SEPOLIA), ExecutionKind.EVM_CROSS_CHAIN, APART, "fUSDC-sepolia is not supported in crosschain"),
        ((TRON, TRON), ExecutionKind.EVM_CROSS_CHAIN, MISMATCH, "their kind is tron_batch"),
        ((BASE, ARBITRUM), ExecutionKind.EVM_SAME_CHAIN, MISMATCH, "their kind is evm_cross_chain"),
        ((SEPOLIA, SEPOLIA), ExecutionKind.TRON_BATCH, MISMATCH, "their kind is evm_same_chain"),
        ((TRON, TRON), ExecutionKind.EVM_SAME_CHAIN, MISMATCH, "their kind is tron_batch"),
        ((SEPOLIA, BASE), ExecutionKind.EVM_SAME_CHAIN, APART, "fUSDC-sepolia is not supported in crosschain"),
        ((SEPOLIA, ETH), ExecutionKind.EVM_SAME_CHAIN, APART, "is not supported in crosschain payment"),
        ((SEPOLIA, BASE), None, APART, "make a multicall of each currency"),
        ((SEPOLIA, TRON), None, APART, "cannot be paid together with others"),
        ((TRON, {"currency": "USDC-tron"}), None, APART, "of one token"),
        (EVERYWHERE, None, APART, "no chain and token from which all"),
        (({**BASE, **SMALL}, {**ARBITRUM, **SMALL}), None, APART, "at least 1 USD"),
    ],
)
def test_children_that_can_never_be_paid_together_are_refused(
    kinds: Any, requested: Any, reason: Reason, hint: str
) -> None:
    details = seen(*(child(**each) for each in kinds))
    with pytest.raises(SetRefused) as refused:
        check_combination(requested, details.children)
    body = body_of(refused.value)
    assert (body["message"], body["code"]) == ("Multicall validation failed", "multicall_validation_failed")
    (failure,) = body["failures"]
    assert (failure["securePaymentToken"], failure["reason"]) == ("*", reason.value)
    assert hint in failure["message"] and failure["recoveryAction"]


def test_of_each_chain_but_one_both_tokens_can_be_paid_and_small_ones_from_their_own() -> None:
    check_combination(None, seen(*(child(**each) for each in EVERYWHERE[1:])).children)
    check_combination(None, seen(child(**BASE, **SMALL), child(**ARBITRUM)).children)


def test_children_that_come_to_more_than_a_token_can_hold_are_refused() -> None:
    half = BaseUnits(LARGEST_TOTAL // 2)
    check_combination(None, seen(child(amount=half), child(amount=half)).children)
    with_fee = child(amount=half, fee_percentage="1", fee_address=FEE_ADDRESS)
    for children in (
        [child(amount=half), child(amount=half), child(amount=BaseUnits(1))],
        [child(amount=half), with_fee],
    ):
        with pytest.raises(SetRefused) as refused:
            check_combination(None, seen(*children).children)
        assert refused.value.reason is Reason.TOTAL_TOO_LARGE and "combine fewer" in str(refused.value.detail)


@pytest.mark.parametrize(
    ("paid_ones", "after", "status", "can_execute"),
    [
        (0, timedelta(0), LinkStatus.PENDING, True),
        (1, timedelta(0), LinkStatus.PARTIALLY_SETTLED, False),
        (2, timedelta(0), LinkStatus.COMPLETED, False),
        (0, WEEK, LinkStatus.AWAITING_CHAIN, False),
        (1, WEEK, LinkStatus.PARTIALLY_SETTLED, False),
        (2, WEEK, LinkStatus.COMPLETED, False),
    ],
)
def test_a_multicall_is_what_its_children_are(
    paid_ones: int, after: timedelta, status: LinkStatus, can_execute: bool
) -> None:
    children = [paid(child()) if position < paid_ones else child() for position in range(2)]
    details = seen(*children, at=START + after)
    assert (details.status, details.can_execute) == (status, can_execute)


def test_a_multicall_is_expired_once_none_of_its_children_waits_for_the_chain() -> None:
    waiting, expired, later = child(), child(status=LinkStatus.EXPIRED), child(expires_at=START + 2 * WEEK)
    at = START + WEEK
    assert seen(waiting, expired, at=at).status is LinkStatus.AWAITING_CHAIN
    assert seen(expired, expired, at=at).status is LinkStatus.EXPIRED
    assert seen(expired, later, at=at, expires_at=at).status is LinkStatus.EXPIRED
    part = seen(expired, paid(child()), at=at)
    assert (part.status, part.time_status) == (LinkStatus.PARTIALLY_SETTLED, LinkStatus.EXPIRED)


def test_nobody_else_can_execute_while_a_multisig_transaction_is_on_its_way_for_the_whole() -> None:
    details = seen(child(), child())
    busy = on_its_way(details.payable)
    assert not multicall_details(busy, details.children, START).can_execute


def test_totals_are_sums_of_each_currency_with_the_fees_on_top() -> None:
    fee = {"fee_percentage": "1", "fee_address": FEE_ADDRESS}
    details = seen(child(**fee), child(amount=BaseUnits(1_000_001), **fee), child(**BASE), paid(child()))
    in_order = [(each.network, each.currency, each.amount, each.fees) for each in totals_by_currency(details.children)]
    assert in_order == [
        ("sepolia", "fUSDC-sepolia", 12_500_000 + 1_000_001 + 12_500_000, 125_000 + 10_000),
        ("base", "USDC-base", 12_500_000, 0),
    ]


def test_a_child_past_its_expiry_blocks_its_multicall() -> None:
    first, second = child(expires_at=START + timedelta(hours=1)), child()
    before, at = START + timedelta(minutes=59), START + timedelta(hours=1)
    assert seen(first, second, at=before, expires_at=START + WEEK).can_execute
    details = seen(first, second, at=at, expires_at=START + WEEK)
    assert not details.can_execute
    assert [each.reason for each in details.children] == [Reason.NOT_PAYABLE_CHILD, None]


def test_a_child_that_is_not_found_has_no_request() -> None:
    known = child()
    parent = replace(parent_of(known), child_tokens=("unknown", known.link.token))
    found = {known.link.token: known}
    details = multicall_details(PayableLink((), parent), evaluate_children(parent, found, (), START), START)
    assert details.requests == known.requests
    assert not details.can_execute


def test_a_multicall_holds_what_it_can_pay_now_or_after_a_multisig_transaction() -> None:
    parent = parent_of(first := child(), second := child())

    def holds(*children: PayableLink, at: datetime = START) -> bool:
        found = {each.link.token: replace(each, link=replace(each.link, parent_token=parent.token)) for each in children}
        return holds_children(parent, found, at)

    assert holds(first, second)
    assert holds(first, on_its_way(second))
    assert not holds(first, paid(second))
    assert not holds(first)
    assert not holds(first, second, at=START + WEEK)
    in_base = child(**BASE)
    other = replace(second, requests=tuple(replace(each, currency=in_base.requests[0].currency) for each in second.requests))
    assert not holds(first, other), "they would have to be bridged"


def test_what_another_multicall_has_claimed_since_is_not_held() -> None:
    parent = parent_of(payment := child())
    taken = replace(payment, link=replace(payment.link, parent_token="another"))
    assert not holds_children(parent, {payment.link.token: taken}, START)


def test_a_multicall_that_is_being_assembled_holds_what_it_names_whatever_it_is() -> None:
    assembling = replace(parent_of(payment := child()), status=LinkStatus.ASSEMBLING)
    assert holds_children(assembling, {payment.link.token: paid(payment)}, START)


def test_a_child_that_is_not_found_is_left_out_of_sums_and_of_what_has_to_fit_together() -> None:
    known = child()
    parent = replace(parent_of(known), child_tokens=("unknown", known.link.token))
    children = evaluate_children(parent, {known.link.token: known}, (), START)
    assert [(each.currency, each.amount) for each in totals_by_currency(children)] == [("fUSDC-sepolia", 12_500_000)]
    check_combination(None, children)


def test_a_multicall_cannot_be_executed_from_its_expiry_on() -> None:
    children = (child(expires_at=START + 2 * WEEK), child(expires_at=START + 2 * WEEK))
    end = START + WEEK
    assert seen(*children, at=end - timedelta(microseconds=1), expires_at=end).can_execute
    assert not seen(*children, at=end, expires_at=end).can_execute
