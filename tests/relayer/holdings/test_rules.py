"""What the ledger lets a call spend, and what is written in it."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import TokenBalances
from chalicelib.relayer.holdings.records import RETENTION, TOTAL, Holding, Move
from chalicelib.relayer.holdings.rules import MISSING, NOT_ENOUGH, Ledger, book_changes, is_counted, refusal
from chalicelib.relayer.records import CallStatus
from tests.relayer.transactions import NOW, transaction

TOKEN, OWNER, OTHER = "0x" + "7a" * 20, "permit/1", "permit/2"
ENTRY = Holding("sepolia", transaction().sender, TOKEN, OWNER, NOW, BaseUnits(10))
SPEND = Move(OWNER, TOKEN.upper().replace("X", "x"), BaseUnits(10), inward=False)
TAKE = replace(SPEND, inward=True)


def said(spend: Move = SPEND, balance: int = 30, nonce: int = 5, **changes: Any) -> str | None:
    """With entries of 10 and 20, and nothing under way unless `changes` say so."""
    ledger = Ledger(**({"entries": {ENTRY.key and (TOKEN, OWNER): ENTRY}, "sums": {TOKEN: 30}, "under_way": ()} | changes))
    return refusal(spend, ledger, [TokenBalances(nonce, {TOKEN: balance})])


def test_a_call_spends_what_is_left_of_its_own_entry_and_no_unit_more() -> None:
    assert said() is None
    assert said(replace(SPEND, amount=BaseUnits(11))) == NOT_ENOUGH
    assert said(replace(SPEND, owner=OTHER)) == NOT_ENOUGH
    assert said(entries={(TOKEN, OWNER): replace(ENTRY, spent=BaseUnits(1))}) == NOT_ENOUGH
    assert said(entries={(TOKEN, OWNER): replace(ENTRY, received=BaseUnits(11), spent=BaseUnits(1))}) is None


def test_nothing_is_spent_while_the_account_has_less_than_it_holds_for_all() -> None:
    assert said(balance=29) == MISSING
    ledger = Ledger({(TOKEN, OWNER): ENTRY}, {TOKEN: 30}, ())
    balances = [TokenBalances(5, {TOKEN: 30}), TokenBalances(5, {TOKEN: 29})]
    assert refusal(SPEND, ledger, balances) == MISSING, "as one of the nodes says"


@pytest.mark.parametrize(
    ("nonce", "changes", "is_owed"),
    [
        (5, {}, True),
        (6, {}, False),
        (5, {"moves": TAKE}, False),
        (5, {"moves": replace(SPEND, token="0x" + "7b" * 20)}, False),
        (5, {"moves": None}, False),
        (5, {"is_counted": False}, False),
    ],
)
def test_what_other_calls_move_out_is_owed_until_it_is_executed(
    nonce: int, changes: dict[str, Any], is_owed: bool
) -> None:
    other = transaction(5, **{"moves": replace(SPEND, owner=OTHER), "is_counted": True, **changes})
    assert said(under_way=(other,), balance=39, nonce=nonce) == (MISSING if is_owed else None)
    assert said(under_way=(other,), balance=40, nonce=nonce) is None


@pytest.mark.parametrize(
    ("move", "status", "before", "after"),
    [
        (TAKE, CallStatus.UNKNOWN, False, False),
        (TAKE, CallStatus.SUCCEEDED, False, True),
        (TAKE, CallStatus.REVERTED, False, False),
        (TAKE, CallStatus.SUPERSEDED, False, False),
        (TAKE, CallStatus.UNKNOWN, True, True),
        (TAKE, CallStatus.REVERTED, True, False),
        (SPEND, CallStatus.UNKNOWN, True, True),
        (SPEND, CallStatus.SUCCEEDED, True, True),
        (SPEND, CallStatus.REVERTED, True, False),
        (SPEND, CallStatus.SUPERSEDED, True, False),
        (SPEND, CallStatus.UNKNOWN, False, True),
        (None, CallStatus.SUCCEEDED, False, False),
    ],
)
def test_what_is_taken_counts_when_proven_and_what_is_spent_until_the_contrary_is(
    move: Move | None, status: CallStatus, before: bool, after: bool
) -> None:
    assert is_counted(transaction(moves=move, is_counted=before), status) is after


def test_a_take_makes_an_entry_and_a_spend_empties_it() -> None:
    booking = book_changes({}, [(transaction(moves=TAKE), True)], NOW)
    assert booking.entries == (ENTRY,)
    ((total, added),) = booking.sums
    assert (total.token, total.account, added) == (TOKEN, ENTRY.account, {TOTAL: 10})
    spent = book_changes({(TOKEN, OWNER): ENTRY}, [(transaction(moves=SPEND), True)], NOW)
    (entry,) = spent.entries
    assert (entry.left, entry.vanishes_at, spent.sums[0][1]) == (0, NOW + RETENTION, {TOTAL: -10})
    back = book_changes({(TOKEN, OWNER): entry}, [(transaction(moves=SPEND), False)], NOW)
    assert back.entries[0].left == 10 and back.entries[0].vanishes_at is None and back.sums[0][1] == {TOTAL: 10}


def test_several_changes_of_one_entry_are_one_write() -> None:
    changes = [(transaction(1, moves=TAKE), True), (transaction(2, moves=SPEND), True), (transaction(3, moves=TAKE), True)]
    booking = book_changes({}, changes, NOW)
    assert [each.left for each in booking.entries] == [10] and booking.sums[0][1] == {TOTAL: 10}
    assert book_changes({}, [], NOW).entries == book_changes({}, [], NOW).sums == ()


def test_what_was_spent_and_then_undone_is_no_claim_on_the_tokens_of_others() -> None:
    """A deep fork takes a take away whose tokens were spent: the entry is below zero, and the sum is that of others."""
    spent = replace(ENTRY, spent=BaseUnits(10))
    booking = book_changes({(TOKEN, OWNER): spent}, [(transaction(moves=TAKE), False)], NOW)
    assert booking.entries[0].left == -10 and booking.sums == ()
