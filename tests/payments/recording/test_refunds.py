"""Refunds that were offered, from the offer to the transfer that sends it: seen, told, undone, and never a payment."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording.causes import refunds
from chalicelib.payments.recording.causes.refunds import MAX_ANNOUNCED
from chalicelib.payments.requests.payments.records import Refund
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.references import payment_reference
from chalicelib.payments.transfers import flows as transfers
from chalicelib.payments.transfers.flows import ListedTransfer
from chalicelib.payments.transfers.refund_offers import RefundOffer
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import PAYEE, START, WALLET, World, in_process_aws
from tests.payments.recording.test_matching import CONTEXT, new_payable, transfer

FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"
STRANGER = "0x" + "51" * 20
EXCESS = 7_500_000


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        world = World(client)
        world.register_webhook()
        yield world


def overpaid(world: World, payer: str = WALLET) -> PayableLink:
    """A completed link with 7.5 fUSDC too much."""
    payment = world.create_link()
    pay_by(world, payment, payer, 20_000_000)
    return payment


def pay_by(world: World, payable: PayableLink, payer: str, amount: int, **altered: str) -> None:
    log = world.chain.pay(payable.requests[0], amount=amount, **altered)
    world.chain.payers[log["transactionHash"]] = payer
    world.scan()


def listed(world: World, payable: PayableLink) -> tuple[ListedTransfer, ...]:
    return transfers.list_of_link(world.services, payable.link.token, Viewer(world.account_id, None)).transfers


def offer(world: World, payable: PayableLink, position: int = 0) -> RefundOffer:
    found = listed(world, payable)[position].refund
    assert found is not None
    return found


def refund_of(request: Request, payer: str = WALLET) -> Request:
    """What the fake chain needs for a transfer with the refund's reference."""
    reference = payment_reference(request.request_id, request.salt, payer)
    return replace(request, payment_reference="0x" + reference.hex(), payee=payer)


def send(world: World, payable: PayableLink, amount: int, **altered: str) -> None:
    world.chain.pay(refund_of(payable.requests[0]), amount=amount, **altered)
    world.scan()


def notified(world: World) -> list[dict[str, str]]:
    world.drain()
    bodies = [json.loads(posted.body) for posted in world.receiver.posted]
    return [body for body in bodies if body["event"] == "payment.refunded"]


def stored(world: World) -> list[Refund]:
    items = world.client.scan(TableName="payment-requests-local-payments")["Items"]
    keys = [item["pk"]["S"].removeprefix("REFUND#") for item in items if item["pk"]["S"].startswith("REFUND#")]
    found = [world.services.store.query(Refund, Refund.KEY.all(topic=topic)) for topic in dict.fromkeys(keys)]
    return [each for of_topic in found for each in of_topic]


def test_a_refund_that_is_sent_is_shown_as_sent_and_told_once(world: World) -> None:
    payment = overpaid(world)
    before = offer(world, payment)
    assert (before.amount, before.sent, before.is_sent, len(before.transactions)) == (EXCESS, 0, False, 2)
    send(world, payment, EXCESS)
    after = offer(world, payment)
    assert (after.amount, after.sent, after.is_sent, after.transactions) == (EXCESS, EXCESS, True, ())
    assert after.tx_hash is not None
    (event,) = notified(world)
    assert (event["requestId"], event["refundedTo"], event["refundAmount"], event["currency"], event["txHash"]) == (
        payment.requests[0].request_id, WALLET, "7.5", "fUSDC", after.tx_hash,
    )
    world.tick()
    assert len(notified(world)) == 1


def test_the_rest_of_a_refund_that_was_sent_in_part_is_offered(world: World) -> None:
    payment = overpaid(world)
    offer(world, payment)
    send(world, payment, 2_500_000)
    part = offer(world, payment)
    assert (part.sent, part.is_sent) == (2_500_000, False)
    assert part.transactions[0].data.endswith(f"{5_000_000:064x}")
    send(world, payment, 5_000_000)
    assert offer(world, payment).is_sent
    assert [event["refundAmount"] for event in notified(world)] == ["2.5", "5"]


def test_a_refund_never_counts_as_a_payment(world: World) -> None:
    payment = world.create_link()
    pay_by(world, payment, WALLET, 12_500_000, token=FUSDT)
    assert offer(world, payment).token.id == "fUSDT-sepolia"
    send(world, payment, 12_500_000)
    send(world, payment, 12_500_000, token=FUSDT)
    after = world.load(payment)
    assert (after.requests[0].paid, after.requests[0].status) == (0, RequestStatus.CREATED)
    assert after.link.status is LinkStatus.PENDING
    assert offer(world, payment).is_sent
    assert [event["currency"] for event in notified(world)] == ["fUSDT"], "the other token was not offered"


@pytest.mark.parametrize(
    "altered", [{"payee": STRANGER}, {"payee": PAYEE}, {"token": FUSDT}], ids=["a stranger", "the payee", "a token"]
)
def test_what_goes_to_somebody_else_or_is_something_else_sends_no_refund(world: World, altered: dict[str, str]) -> None:
    payment = overpaid(world)
    offer(world, payment)
    send(world, payment, EXCESS, **altered)
    assert offer(world, payment).sent == 0
    assert notified(world) == []
    assert world.load(payment).requests[0].paid == 20_000_000


def test_a_reference_that_was_not_offered_changes_nothing(world: World) -> None:
    payment = overpaid(world)
    send(world, payment, EXCESS)
    assert (offer(world, payment).sent, notified(world)) == (0, [])


def test_the_same_reference_on_another_network_sends_no_refund() -> None:
    with in_process_aws() as client:
        sepolia, base = FakeChain("sepolia"), FakeChain("base")
        world = World(client, chains=FakeChains(sepolia, base))
        world.chain = sepolia
        payment = overpaid(world)
        offer(world, payment)
        world.chain = base
        base.pay(refund_of(payment.requests[0]), amount=EXCESS)
        base.mine(10)
        world.tick()
        world.chain = sepolia
        assert offer(world, payment).sent == 0


def test_a_fork_undoes_a_refund_until_its_transaction_is_back(world: World) -> None:
    payment = overpaid(world)
    offer(world, payment)
    send(world, payment, EXCESS)
    dropped = world.chain.fork(3)
    world.scan()
    undone = offer(world, payment)
    assert (undone.sent, undone.is_sent, undone.tx_hash, len(undone.transactions)) == (0, False, None, 2)
    world.chain.restore(dropped)
    world.chain.mine()
    world.scan()
    assert offer(world, payment).sent == EXCESS


def test_a_refund_that_a_fork_moves_to_another_block_stays_sent_and_is_told_once(world: World) -> None:
    payment = overpaid(world)
    offer(world, payment)
    log = world.chain.pay(refund_of(payment.requests[0]), amount=EXCESS)
    world.scan()
    world.chain.fork(3)
    block = world.chain.blocks[-2]
    block.logs.append({**log, "blockNumber": hex(block.number), "blockHash": block.hash})
    world.scan()
    (refund,) = stored(world)
    assert (refund.sent, refund.sent_count) == (EXCESS, 1)
    assert offer(world, payment).is_sent
    assert len(notified(world)) == 1


def test_what_reaches_a_payer_is_taken_for_the_earliest_transfers_first(world: World) -> None:
    payment = overpaid(world)
    pay_by(world, payment, WALLET, 1_000_000)
    pay_by(world, payment, WALLET, 2_000_000)
    assert [offer(world, payment, position).amount for position in range(3)] == [EXCESS, 1_000_000, 2_000_000]
    send(world, payment, EXCESS + 500_000)
    assert [offer(world, payment, position).sent for position in range(3)] == [EXCESS, 500_000, 0]
    (refund,) = stored(world)
    assert (refund.sent, refund.sent_count) == (EXCESS + 500_000, 1)


def test_each_payer_has_a_refund_of_its_own(world: World) -> None:
    payment = overpaid(world)
    pay_by(world, payment, STRANGER, 1_000_000)
    assert [offer(world, payment, position).payer for position in range(2)] == [WALLET, STRANGER]
    send(world, payment, EXCESS)
    assert [offer(world, payment, position).is_sent for position in range(2)] == [True, False]
    assert len(stored(world)) == 2


def test_small_transfers_with_a_public_reference_are_summed_and_told_so_often_only(world: World) -> None:
    payment = overpaid(world)
    offer(world, payment)
    for _ in range(MAX_ANNOUNCED + 5):
        world.chain.pay(refund_of(payment.requests[0]), amount=1)
    world.scan()
    (refund,) = stored(world)
    assert (refund.sent, refund.sent_count, refund.announced_count) == (MAX_ANNOUNCED + 5, MAX_ANNOUNCED + 5, MAX_ANNOUNCED)
    assert len(notified(world)) == MAX_ANNOUNCED


def test_a_refund_has_the_sum_of_its_transfers_and_the_newest_one_and_loses_what_a_fork_removes() -> None:
    payment = new_payable()
    (request,) = payment.requests
    offered = Refund("0x00", "fUSDC-sepolia", request.request_id, request.payable_id, "sepolia", WALLET, START)
    first, second = transfer(5, 1), transfer(7, 2)
    one, _ = refunds.send(offered, first, request, False, CONTEXT)
    two, _ = refunds.send(one, second, request, False, CONTEXT)
    assert two == replace(
        offered, sent=BaseUnits(12), sent_count=2, tx_hash=second.tx_hash, block_number=2, announced_count=2
    )
    assert refunds.undo(two, first) == replace(two, sent=BaseUnits(7), sent_count=1)
    assert refunds.undo(two, second) == replace(two, sent=BaseUnits(5), sent_count=1, tx_hash=None, block_number=None)


def test_20_transfers_of_a_refund_cause_events() -> None:
    assert MAX_ANNOUNCED == 20


def test_a_payee_that_paid_itself_is_offered_no_refund(world: World) -> None:
    payment = overpaid(world, payer=PAYEE)
    (found,) = listed(world, payment)
    assert (found.refund, found.unavailable) == (None, "The payee paid itself: there is nothing to return")
    assert stored(world) == []


def test_offers_are_stored_once_however_often_they_are_listed(world: World) -> None:
    payment = overpaid(world)
    for _ in range(3):
        offer(world, payment)
    (refund,) = stored(world)
    assert (refund.version, refund.sent) == (1, BaseUnits(0))
