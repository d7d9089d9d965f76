"""When a commerce payment expires: each bound to the microsecond, and that nothing else compares the times."""

import ast
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import chalicelib
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.commerce.core.expiry import (
    KEPT_AFTER,
    can_reclaim,
    has_ended,
    has_expired,
    is_too_late,
    last_moment,
    next_expiry,
    vanishes_at,
)
from chalicelib.commerce.core.records import OperationKind
from tests.fakes.commerce import new_payment
from tests.fakes.world import START
from tests.support.sources import nodes_of, reads_code

MOMENT = timedelta(microseconds=1)
NEW = new_payment(START)
OPEN = replace(NEW, authorized=NEW.amount)
CAPTURED = replace(OPEN, captured=NEW.amount)
LAST = {
    OperationKind.AUTHORIZE: NEW.pre_approval_expiry,
    OperationKind.CHARGE: NEW.pre_approval_expiry,
    OperationKind.CAPTURE: NEW.authorization_expiry,
    OperationKind.VOID: None,
    OperationKind.REFUND: NEW.refund_expiry,
}


@pytest.mark.parametrize("kind", OperationKind)
def test_an_operation_is_in_time_before_its_expiry_and_too_late_from_then_on(kind: OperationKind) -> None:
    last = LAST[kind]
    assert last_moment(NEW, kind) == last
    if last is None:
        assert not is_too_late(NEW, kind, datetime.max.replace(tzinfo=START.tzinfo))
    else:
        assert (is_too_late(NEW, kind, last - MOMENT), is_too_late(NEW, kind, last)) == (False, True)


def test_what_was_not_taken_expires_with_the_pre_approval_and_what_is_held_with_the_authorization() -> None:
    least = replace(NEW, authorized=BaseUnits(1))
    for payment, ends in ((NEW, NEW.pre_approval_expiry), (OPEN, NEW.authorization_expiry), (least, NEW.authorization_expiry)):
        assert next_expiry(payment) == ends
        assert not has_expired(payment, ends - MOMENT) and has_expired(payment, ends)
        assert has_ended(payment, Agreed(ends)) and not has_ended(payment, Agreed(ends - MOMENT))
        assert not has_ended(payment, None), "nothing is known of the chain"


def test_what_was_captured_or_given_back_never_expires() -> None:
    late = NEW.refund_expiry + timedelta(days=1)
    for payment in (CAPTURED, replace(OPEN, voided=NEW.amount), replace(OPEN, reclaimed=NEW.amount)):
        assert not has_expired(payment, late) and not can_reclaim(payment, late)


def test_the_payer_takes_back_what_is_held_from_the_expiry_of_the_authorization_on() -> None:
    ends = NEW.authorization_expiry
    assert not can_reclaim(OPEN, ends - MOMENT) and can_reclaim(OPEN, ends)
    assert can_reclaim(replace(OPEN, captured=BaseUnits(1)), ends) and not can_reclaim(NEW, ends)


def test_the_entry_of_a_wallet_that_may_pay_is_kept_for_a_week_and_that_of_the_buyer_for_good() -> None:
    assert vanishes_at(NEW) is None
    assert vanishes_at(replace(NEW, buyer=None)) == NEW.pre_approval_expiry + KEPT_AFTER == NEW.pre_approval_expiry + timedelta(days=7)


@reads_code
def test_no_other_file_compares_these_times() -> None:
    names = {"pre_approval_expiry", "authorization_expiry", "refund_expiry"}
    root = Path(chalicelib.__path__[0])
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Compare) and names & {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    }
    assert not found, f"call chalicelib/commerce/core/expiry.py from {found}"
