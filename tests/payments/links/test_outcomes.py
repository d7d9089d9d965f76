"""What became of the transactions that were sent to pay a link: counted, or more than was due."""

from dataclasses import replace

import pytest

from chalicelib.checkout import flows as checkout
from chalicelib.payments.links.errors import LinkCompleted
from chalicelib.payments.links.outcomes import find_outcomes
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.links.sent_transactions import MAX_ASKED, Outcome
from chalicelib.payments.transfers.order_refunds import refund
from tests.fakes.announcements import with_safe
from tests.fakes.world import WALLET, World, draft
from tests.payments.recording.test_refunds import refund_of
from tests.support.errors import body_of

NOWHERE = "0x" + "ee" * 32


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def pays(world: World, payable: PayableLink, amount: int | None = None) -> str:
    """The hash of a transaction that pays the first request."""
    log = world.chain.pay(payable.requests[0], amount)
    world.scan()
    return str(log["transactionHash"])


def outcomes_of(world: World, payable: PayableLink, *hashes: str) -> list[tuple[Outcome, int]]:
    found = find_outcomes(world.services, world.load(payable), hashes)[: len(hashes)]
    assert [each.tx_hash for each in found] == list(hashes)
    return [(each.outcome, each.excess) for each in found]


def test_the_second_of_two_payments_is_a_surplus(world: World) -> None:
    payment = world.create_link()
    first, second = pays(world, payment), pays(world, payment)
    amount = payment.requests[0].amount
    assert outcomes_of(world, payment, second, first, NOWHERE) == [
        (Outcome.SURPLUS, amount), (Outcome.COUNTED, 0), (Outcome.UNKNOWN, 0),
    ]


def test_what_was_paid_beyond_the_rest_is_a_surplus_of_the_payment_that_completed_it(world: World) -> None:
    payment = world.create_link()
    half = payment.requests[0].amount // 2
    part, rest = pays(world, payment, half), pays(world, payment)
    assert outcomes_of(world, payment, part, rest) == [(Outcome.COUNTED, 0), (Outcome.SURPLUS, half)]


def test_a_little_more_is_no_surplus_unless_nothing_was_due(world: World) -> None:
    payment = world.create_link()
    amount = payment.requests[0].amount
    more = pays(world, payment, amount + amount // 101)
    dust = pays(world, payment, amount // 500)
    assert outcomes_of(world, payment, more, dust) == [(Outcome.COUNTED, 0), (Outcome.SURPLUS, amount // 500)]


def test_of_a_batch_each_payment_by_the_transaction_is_looked_at(world: World) -> None:
    (item,) = draft().items
    payment = world.create_link(items=(item,) * 3)
    world.chain.mine()
    together = [str(world.chain.pay_too(request)["transactionHash"]) for request in payment.requests]
    again = pays(world, replace(payment, requests=payment.requests[2:]))
    assert [each for each, _ in outcomes_of(world, payment, together[0], again)] == [Outcome.COUNTED, Outcome.SURPLUS]


def test_a_link_that_is_paid_tells_it_to_who_asks(world: World) -> None:
    payment = world.create_link()
    first, second = pays(world, payment), pays(world, payment)
    viewer = Viewer(world.account_id, None)
    with pytest.raises(LinkCompleted) as refusal:
        checkout.describe(world.services, payment.link.token, viewer, None, (second, first))
    assert body_of(refusal.value)["sentTransactions"] == [
        {"txHash": second, "network": "sepolia", "status": "surplus", "excessAmount": "12.5", "currency": "fUSDC-sepolia"},
        {"txHash": first, "network": "sepolia", "status": "counted"},
    ]
    with pytest.raises(LinkCompleted) as refusal:
        checkout.describe(world.services, payment.link.token, viewer, None)
    assert [each["txHash"] for each in body_of(refusal.value)["sentTransactions"]] == [second], "others are told, too"


def test_a_surplus_that_is_next_to_nothing_is_told_to_its_sender_alone(world: World) -> None:
    payment = world.create_link()
    pays(world, payment)
    dust = pays(world, payment, 1)
    assert outcomes_of(world, payment, dust) == [(Outcome.SURPLUS, 1)]
    assert find_outcomes(world.services, world.load(payment), ()) == ()


def test_no_more_are_looked_up_than_can_be_asked_for(world: World) -> None:
    payment = world.create_link()
    assert len(find_outcomes(world.services, payment, [f"0x{number:064x}" for number in range(40)])) == MAX_ASKED


def test_a_refund_is_no_payment_that_counted(world: World) -> None:
    (item,) = draft().items
    payment = world.create_link(items=(item,) * 2)
    first = payment.requests[0]
    world.chain.payers[pays(world, payment)] = WALLET
    refund(world.services, first.request_id, Viewer(world.account_id, None), None, WALLET)
    log = world.chain.pay(refund_of(first, WALLET), amount=first.amount)
    world.scan()
    assert world.load(payment).requests[0].refunded == first.amount
    assert outcomes_of(world, payment, log["transactionHash"]) == [(Outcome.UNKNOWN, 0)]
