"""What a transfer was of what is owed: totals, excess and recovery, whatever order the transfers are given in."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.payments.records import Payment, PaymentKind, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.transfers.rules import Classification, RecoveryAction, classify, without_payer
from chalicelib.platform.access.callers import Owner
from tests.fakes.world import PAYEE, START, TERMS, draft

AMOUNT = 10_000_000
FUSDT = "0xf046b3ca5ae2879c6bacc4d42faf363ee8379f78"
LINK = create_link(draft(amount="10"), Owner("acct", None, None), TERMS, START, lambda n: b"\7" * n)
(REQUEST,) = LINK.requests
TRON = create_link(
    draft(amount="10", currency="USDT-tron", payee="TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", fee_percentage=None, fee_address=None),
    Owner("acct", None, None),
    TERMS,
    START,
    lambda n: b"\7" * n,
)


def paid(amount: int, number: int, **changes: object) -> Payment:
    known = Payment(
        request_id=REQUEST.request_id,
        network="sepolia",
        block_hash=f"0x{number:064x}",
        log_index=number % 7,
        block_number=number,
        tx_hash=f"0x{number:064x}",
        amount=BaseUnits(amount),
        event_key="",
        value=BaseUnits(amount),
        account_id="acct",
        payee=PAYEE,
        currency=REQUEST.currency,
        invoice_currency=REQUEST.currency,
        payment_reference=REQUEST.payment_reference,
        fee_amount=BaseUnits(0),
        fee_address="0x" + "00" * 20,
        status=PaymentStatus.CONFIRMED,
        detected_at=START + timedelta(minutes=number),
        paid_at=START + timedelta(seconds=12 * number),
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def strayed(reason: str, **changes: object) -> UnmatchedTransfer:
    known = UnmatchedTransfer(
        request_id=REQUEST.request_id,
        network="sepolia",
        block_hash="0x" + "aa" * 32,
        log_index=0,
        block_number=3,
        tx_hash="0x" + "bb" * 32,
        event_key="",
        token_address=FUSDT,
        payee=PAYEE.lower(),
        amount=BaseUnits(7),
        reason=reason,
        detected_at=START,
        paid_at=START,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def judged(*payments: Payment, payable: PayableLink = LINK) -> list[tuple[str, int, str]]:
    found = classify(payable.link, payable.requests[0], payments, ())
    return [(each.classification.value, each.excess, each.action.value) for each in found]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([10], [("exact", 0, "none")]),
        ([4], [("partial", 0, "pay_remaining")]),
        ([4, 6], [("partial", 0, "none"), ("exact", 0, "none")]),
        ([12], [("over", 2, "refund_excess")]),
        ([4, 7], [("partial", 0, "none"), ("over", 1, "refund_excess")]),
        ([10, 10], [("exact", 0, "none"), ("duplicate", 10, "refund")]),
        ([12, 1], [("over", 2, "refund_excess"), ("duplicate", 1, "refund")]),
    ],
)
def test_each_payment_is_judged_by_what_those_before_it_left(
    amounts: list[int], expected: list[tuple[str, int, str]]
) -> None:
    payments = [paid(amount * 10**6, number) for number, amount in enumerate(amounts, 1)]
    assert judged(*payments) == [(kind, excess * 10**6, action) for kind, excess, action in expected]


def test_a_payment_from_the_expiry_on_is_late_whatever_else_it_is() -> None:
    expiry = LINK.link.expires_at
    before = classify(LINK.link, REQUEST, [paid(AMOUNT, 1, paid_at=expiry - timedelta(seconds=1))], ())
    assert [(each.classification, each.late) for each in before] == [(Classification.EXACT, False)]
    after = classify(LINK.link, REQUEST, [paid(AMOUNT, 1, paid_at=expiry)], ())
    assert [(each.classification, each.late) for each in after] == [(Classification.LATE, True)]
    part = classify(LINK.link, REQUEST, [paid(1, 1, paid_at=expiry), paid(AMOUNT, 2, paid_at=expiry)], ())
    assert [(each.classification.value, each.late) for each in part] == [("partial", True), ("over", True)]


def test_what_a_fork_took_away_does_not_count_and_what_follows_is_judged_without_it() -> None:
    gone = paid(AMOUNT, 1, status=PaymentStatus.REVERSED)
    assert judged(gone) == [("reversed", 0, "pay_remaining")]
    assert judged(gone, paid(AMOUNT, 2)) == [("reversed", 0, "none"), ("exact", 0, "none")]
    assert not classify(LINK.link, REQUEST, [gone], ())[0].counts


@pytest.mark.parametrize(
    ("stray", "kind", "action", "token"),
    [
        (strayed("wrong_token"), "wrong_token", "refund", "fUSDT-sepolia"),
        (strayed("wrong_token", token_address=None), "wrong_token", "refund", "ETH-sepolia-sepolia"),
        (strayed("wrong_token", token_address="0x" + "33" * 20), "wrong_token", "contact_payee", None),
        (strayed("wrong_token", payee="0x" + "22" * 20), "wrong_payee", "contact_receiver", "fUSDT-sepolia"),
        (strayed("wrong_payee", payee="0x" + "22" * 20), "wrong_payee", "contact_receiver", "fUSDT-sepolia"),
        (strayed("wrong_network", network="base"), "wrong_network", "contact_payee", None),
        (strayed("wrong_token", status=PaymentStatus.REVERSED), "reversed", "none", "fUSDT-sepolia"),
    ],
)
def test_what_does_not_count_says_who_can_help(
    stray: UnmatchedTransfer, kind: str, action: str, token: str | None
) -> None:
    (found,) = classify(LINK.link, REQUEST, (), [stray])
    assert (found.classification, found.action, found.counts, found.excess) == (kind, action, False, None)
    assert (found.token.id if found.token else None) == token
    assert found.refundable == (7 if action == "refund" else 0)


def test_a_tron_token_is_known_by_the_hex_address_of_its_log() -> None:
    usdc = "0x3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe"
    payee = "0x5cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb"
    stray = strayed("wrong_token", network="tron", token_address=usdc, payee=payee)
    (found,) = classify(TRON.link, TRON.requests[0], (), [stray])
    assert (found.classification, found.action) == (Classification.WRONG_TOKEN, RecoveryAction.REFUND)
    assert found.token is not None and found.token.id == "USDC-tron"


def test_a_refund_to_nobody_known_begins_with_finding_the_payer() -> None:
    (over,) = classify(LINK.link, REQUEST, [paid(AMOUNT + 5, 1)], ())
    assert over.refundable == 5
    assert without_payer(over).action is RecoveryAction.FIND_PAYER
    assert without_payer(over).refundable == 0


def test_without_a_link_nothing_is_late() -> None:
    long_after = START + timedelta(days=9999)
    found = classify(None, REQUEST, [paid(AMOUNT, 1, paid_at=long_after)], [strayed("wrong_token", paid_at=long_after)])
    assert [(each.classification.value, each.late) for each in found] == [("exact", False), ("wrong_token", False)]


def converted(amount: int, number: int, value: int) -> Payment:
    return paid(amount, number, value=BaseUnits(value), type=PaymentKind.CONVERSION)


def test_a_converted_payment_is_judged_by_what_it_counts_for_and_refunded_in_its_token() -> None:
    """$10 at 8 decimals: 4 tokens count for $5, 6 more for $7.50, of which $2.50 are too much, a third of it."""
    invoice = replace(REQUEST, invoice_currency="USD", amount=BaseUnits(1_000_000_000))
    parts = [converted(4_000_000, 1, 500_000_000), converted(6_000_000, 2, 750_000_000), converted(7, 3, 800)]
    found = classify(LINK.link, invoice, parts, ())
    assert [(each.classification.value, each.excess, each.refundable) for each in found] == [
        ("partial", 0, 0),
        ("over", 250_000_000, 2_000_000),
        ("duplicate", 800, 7),
    ]


@given(st.lists(st.tuples(st.integers(1, 10**30), st.integers(0, 10**20)), min_size=1, max_size=6), st.integers(1, 10**20))
def test_no_refund_is_more_than_was_paid_or_than_the_excess_is_worth(parts: list[tuple[int, int]], owed: int) -> None:
    invoice = replace(REQUEST, invoice_currency="USD", amount=BaseUnits(owed))
    payments = [converted(amount, number, value) for number, (amount, value) in enumerate(parts, 1)]
    for each in classify(None, invoice, payments, ()):
        assert isinstance(each.transfer, Payment) and each.excess is not None
        assert 0 <= each.refundable <= each.transfer.amount
        if each.classification is Classification.OVER:
            assert each.refundable * each.transfer.value <= each.transfer.amount * each.excess


PAYMENTS = st.lists(
    st.tuples(st.integers(1, 2 * AMOUNT), st.integers(1, 500), st.booleans()), max_size=12, unique_by=lambda each: each[1]
)


@settings(max_examples=60)
@given(PAYMENTS, st.integers(0, 3), st.randoms(use_true_random=False))
def test_sums_are_those_of_the_chain_in_whatever_order_the_transfers_are_given(
    made: list[tuple[int, int, bool]], strays: int, chance: random.Random
) -> None:
    payments = [
        paid(amount, number, status=PaymentStatus.CONFIRMED if stands else PaymentStatus.REVERSED)
        for amount, number, stands in made
    ]
    dust = [strayed("wrong_payee", log_index=number) for number in range(strays)]
    found = classify(LINK.link, REQUEST, payments, dust)
    total = sum(amount for amount, _, stands in made if stands)
    assert sum(each.transfer.amount for each in found if each.counts) == total
    assert sum(each.excess or 0 for each in found) == max(0, total - AMOUNT)
    assert len(found) == len(payments) + strays
    assert any(each.action is RecoveryAction.PAY_REMAINING for each in found) == (bool(payments) and total < AMOUNT)
    chance.shuffle(payments)
    chance.shuffle(dust)
    assert classify(LINK.link, REQUEST, payments, dust) == found


def test_transfers_are_listed_in_the_order_of_their_blocks_whenever_they_were_seen() -> None:
    """What the chain tells comes first; the time of detection stands in where no block time is known."""
    early = paid(1, 1, detected_at=START + timedelta(hours=9))
    late = paid(1, 2, detected_at=START + timedelta(hours=1))
    unknown = paid(1, 3, paid_at=None, detected_at=START)
    listed = classify(LINK.link, REQUEST, [late, early, unknown], [])
    assert [each.transfer for each in listed] == [unknown, early, late]
