"""Of several fills in one transaction each made its own payments, by position and amount, and no others."""

import random
from dataclasses import replace

import pytest

from chalicelib.chains.nodes.bridges.fills import logs_of_fill, payments_of_fills
from chalicelib.chains.nodes.history.logs import InconsistentNode
from tests.chains.nodes.bridges.fill_logs import (
    HANDLER,
    MINE,
    NETWORK,
    PAYEE,
    RECEIVER,
    RELAYER,
    THEIRS,
    Filled,
    Log,
    bounced,
    fill,
    in_transaction,
    moved,
    paid,
    payment,
)


def made(logs: list[Log]) -> list[tuple[int, int]]:
    """The numbers of deposits with the amounts of their payments, in the order of the payments."""
    return [(each.fill.deposit_id, each.payment.amount) for each in payments_of_fills(NETWORK, logs)]


@pytest.mark.parametrize("recipient", [HANDLER, RECEIVER])
def test_equal_payments_of_two_fills_are_each_of_their_own(recipient: str) -> None:
    mine, theirs = (replace(each, recipient=recipient) for each in (MINE, THEIRS))
    logs = in_transaction([fill(mine), payment(mine), fill(theirs), payment(theirs)])
    assert made(logs) == [(7, 500), (8, 500)]
    keys = [each.payment.event_key for each in payments_of_fills(NETWORK, logs)]
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    "others",
    [
        [moved(RELAYER, HANDLER, 500), *paid(HANDLER, 500)],
        paid(HANDLER, 500),
        paid(RELAYER, 500),
        [moved(RELAYER, RECEIVER, 500), *paid(RECEIVER, 500)],
    ],
)
def test_what_is_paid_after_a_fill_whose_calls_failed_is_not_of_it(others: list[Log]) -> None:
    assert made(in_transaction([fill(MINE), bounced(MINE), others])) == []


def test_what_is_paid_before_a_fill_or_without_what_it_brings_is_not_of_it() -> None:
    assert made(in_transaction([payment(MINE), fill(MINE)])) == []
    assert made(in_transaction([fill(MINE, is_empty=True), payment(MINE)])) == []
    too_little = [*fill(MINE, is_empty=True), moved(RELAYER, HANDLER, 1), *payment(MINE)]
    assert made(in_transaction([too_little])) == []


def test_what_a_message_pays_after_a_fill_inside_of_it_is_of_neither() -> None:
    """An attacker's message fills the deposit of somebody else, whose payment is not the attacker's."""
    outer = replace(THEIRS, recipient=RECEIVER)
    logs = in_transaction([fill(outer), fill(MINE), payment(MINE), payment(outer)])
    assert made(logs) == [(7, 500)]


def test_a_fill_to_somebody_who_pays_by_hand_made_no_payment() -> None:
    logs = in_transaction([fill(replace(MINE, recipient=RELAYER)), paid(RELAYER, 500)])
    assert made(logs) == []


def test_each_fills_logs_are_those_up_to_the_next_one() -> None:
    logs = in_transaction([fill(MINE), bounced(MINE), fill(THEIRS), payment(THEIRS)])
    first, second = (
        each.fill
        for each in payments_of_fills(NETWORK, in_transaction([fill(MINE), payment(MINE), fill(THEIRS), payment(THEIRS)]))
    )
    assert [log["logIndex"] for log in logs_of_fill(NETWORK, logs[::-1], first)] == [hex(41), hex(42)]
    assert len(logs_of_fill(NETWORK, [*logs, *logs], second)) == 4
    with pytest.raises(InconsistentNode):
        logs_of_fill(NETWORK, logs, replace(first, key="0x" + "00" * 32))


@pytest.mark.parametrize("seed", range(150))
def test_of_random_transactions_every_payment_is_of_the_fill_that_made_it_and_of_no_other(seed: int) -> None:
    """Fills that pay, fail or bring nothing, with equal and other amounts, and what others pay between them."""
    chance = random.Random(seed)
    groups, expected = list[list[Log]](), list[tuple[int, int]]()
    for number in range(chance.randint(1, 6)):
        each = Filled(
            number,
            chance.choice((MINE, THEIRS)).depositor,
            amount=chance.choice((1, 500, 500, 501)),
            fee=chance.choice((0, 5)),
            rest=chance.choice((0, 0, 3)),
            recipient=chance.choice((HANDLER, RECEIVER)),
        )
        end = chance.choice(("pays", "pays", "fails", "empty"))
        groups.append(fill(each, is_empty=end == "empty"))
        if end == "pays":
            groups.append(payment(each))
            expected.append((number, each.amount))
        elif end == "fails":
            groups.append(bounced(each))
        for _ in range(chance.randint(0, 2)):
            other = chance.choice((HANDLER, RELAYER, PAYEE))
            own = [moved(RELAYER, other, each.amount)] if chance.random() < 0.5 and end != "empty" else []
            groups.append([*own, *paid(other, each.amount)])
    logs = in_transaction(groups)
    shuffled = chance.sample(logs, len(logs))
    assert made([*shuffled, *shuffled[:3]]) == expected
