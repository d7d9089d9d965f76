"""Requests without a link, from a transfer on the chain to the webhook: as those of links, without `.checkout`."""

import json
from datetime import timedelta
from typing import Any

from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, Payable
from chalicelib.payments.recording import flows
from chalicelib.payments.recording.reconciliation import reconcile
from chalicelib.payments.requests.payments.records import PaymentStatus
from chalicelib.payments.requests.payments.store import list_unmatched_transfers, payments
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.transfers import flows as transfers
from tests.fakes.crash import FragileClient, Interruption
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, World, in_process_aws

STRANGER = "0x" + "22" * 20
FUSDT = "0xf046b3ca5ae2879c6bacc4d42faf363ee8379f78"


def created(world: World, **changes: Any) -> Request:
    """A stored request of the shop, which has a webhook, on a chain that is read up to its newest block."""
    world.register_webhook()
    world.tick()
    shop = {"client_id": world.client_id, "origin": world.origin, "reference": "INV-7"}
    return store_request(world.services, world.account_id, **{**shop, **changes})


def notified(world: World) -> list[dict[str, Any]]:
    world.drain()
    return [json.loads(posted.body) for posted in world.receiver.posted]


def test_a_transfer_pays_a_request_without_a_link_and_is_told(world: World) -> None:
    request = created(world)
    world.chain.pay(request)
    world.scan()
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid, paid.payment_count) == (RequestStatus.PAID, request.amount, 1)
    (payment,) = payments(world.services.store, request.request_id)
    assert paid.tx_hash == payment.tx_hash
    assert [body["event"] for body in notified(world)] == ["payment.confirmed", "payment.confirmed.client_id"]
    assert [body["reference"] for body in notified(world)] == ["INV-7"] * 2
    assert reconcile(world.services, request.payable_id) == []


def test_a_payment_repeats_what_it_is_found_and_shown_by(world: World) -> None:
    request = created(world)
    world.chain.pay(request, amount=5)
    world.scan()
    (payment,) = payments(world.services.store, request.request_id)
    assert (payment.account_id, payment.client_id) == (world.account_id, world.client_id)
    assert (payment.payee, payment.currency, payment.invoice_currency) == (PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    assert (payment.payment_reference, payment.reference) == (request.payment_reference, "INV-7")
    assert (payment.value, payment.value, payment.rate) == (5, 5, None)


def test_a_payment_of_a_link_has_the_links_reference(world: World) -> None:
    link = world.create_link()
    world.chain.pay(link.requests[0])
    world.scan()
    (payment,) = payments(world.services.store, link.requests[0].request_id)
    assert (payment.reference, payment.account_id, payment.client_id) == ("INV-1", world.account_id, world.client_id)


def test_parts_add_up_and_what_comes_after_is_an_excess(world: World) -> None:
    request = created(world)
    for amount in (2_500_000, 10_000_000, 1_000_000):
        world.chain.pay(request, amount=amount)
        world.scan()
    paid = load_request(world.services, request)
    assert (paid.status, paid.paid, paid.payment_count) == (RequestStatus.PAID, 13_500_000, 3)
    kinds = [body["event"] for body in notified(world)]
    assert kinds == [f"payment.{kind}" for kind in ("partial", "partial.client_id", "confirmed", "confirmed.client_id")]


def test_another_token_and_another_payee_do_not_count(world: World) -> None:
    request = created(world)
    world.chain.pay(request, token=FUSDT)
    world.chain.pay(request, payee=STRANGER)
    world.scan()
    assert load_request(world.services, request).paid == 0
    kept = list_unmatched_transfers(world.services.store, request.request_id)
    assert sorted(each.reason for each in kept) == ["wrong_payee", "wrong_token"]
    assert notified(world) == []


def test_a_fork_takes_a_payment_back_and_returns_it(world: World) -> None:
    request = created(world)
    world.chain.pay(request)
    world.scan()
    branch = world.chain.fork(4)
    world.scan()
    assert load_request(world.services, request).status is RequestStatus.CREATED
    (payment,) = payments(world.services.store, request.request_id)
    assert payment.status is PaymentStatus.REVERSED
    world.chain.restore(branch)
    world.chain.mine(4)
    world.scan()
    assert load_request(world.services, request).status is RequestStatus.PAID
    kinds = [body["event"] for body in notified(world) if not body["event"].endswith("client_id")]
    assert kinds == ["payment.confirmed", "payment.failed", "payment.confirmed"]


def test_a_request_without_a_link_is_no_link(world: World) -> None:
    request = created(world)
    assert link_store.payable_link(world.services.store, request.payable_id) is None
    assert link_store.load_payable(world.services.store, request.payable_id) == Payable((request,))


def test_work_whose_hint_was_lost_is_found_by_the_sweep(world: World) -> None:
    request = created(world)
    world.chain.pay(request)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.queue.messages.clear()
    assert scan_store.has_work(world.services.store, [request.payable_id])
    world.advance(60)
    assert flows.queue_overdue(world.services) == 1
    world.record()
    assert load_request(world.services, request).status is RequestStatus.PAID
    assert not scan_store.has_work(world.services.store, [request.payable_id])


def test_a_transfer_that_a_node_indexed_late_is_found_when_the_blocks_are_read_again(world: World) -> None:
    request = created(world)
    world.chain.pay(request)
    world.chain.hides_logs = True
    world.scan()
    world.chain.hides_logs = False
    world.advance(timedelta(minutes=25).total_seconds())
    for _ in range(3):
        world.scan()
    assert load_request(world.services, request).status is RequestStatus.PAID


def test_its_totals_are_compared_hours_after_it_was_paid(world: World) -> None:
    request = created(world)
    world.chain.pay(request)
    world.scan()
    for _ in range(4):
        world.advance(timedelta(hours=7).total_seconds())
        world.chain.mine(3)
        scanning.scan(world.services, "sepolia")
    asked = [json.loads(each.body) for each in world.queue.messages if "reconcile" in each.body]
    assert asked == [{"account": world.account_id, "bills": [request.payable_id], "reconcile": True}]


def record_beside_another(position: int) -> int:
    """Records three transfers; a second recorder runs whole before that call of the first. Returns the first's calls."""
    with in_process_aws() as client:
        world = World(client)
        request = created(world)
        world.chain.pay(request, amount=5_000_000)
        for amount in (7_500_000, 1):
            world.chain.pay_too(request, amount=amount)
        world.chain.mine(2)
        scanning.scan(world.services, "sepolia")
        world.queue.messages.clear()
        turn = Interruption(position, lambda: flows.record_payable(world.services, request.payable_id))
        flows.record_payable(world.start(FragileClient(client, turn)), request.payable_id)
        after = load_request(world.services, request)
        assert (after.paid, after.payment_count, after.status) == (12_500_001, 3, RequestStatus.PAID)
        assert [body["event"] for body in notified(world)].count("payment.confirmed") == 1
        return turn.calls


def test_two_recorders_that_meet_at_any_call_count_each_transfer_once() -> None:
    calls = record_beside_another(position=0)
    assert calls >= 5
    for position in range(1, calls + 1):
        record_beside_another(position)


def test_a_request_of_a_link_that_is_paid_twice_at_once_counts_both_and_says_what_was_too_much(world: World) -> None:
    """Through the link's calldata and through its own: the reference is the same, the transactions are two."""
    world.register_webhook()
    world.tick()
    link = world.create_link()
    (request,) = link.requests
    hashes = [world.chain.pay(request)["transactionHash"] for _ in range(2)]
    world.scan()
    after = load_request(world.services, request)
    assert (after.paid, after.payment_count) == (2 * request.amount, 2)
    assert world.load(link).link.status is LinkStatus.COMPLETED
    assert [body["event"] for body in notified(world)].count("payment.confirmed") == 1
    _, listing = transfers.list_of_request(world.services, request.request_id, Viewer(world.account_id, None))
    found = [each.classified for each in listing.transfers]
    assert [each.transfer.tx_hash for each in found] == hashes
    assert [(each.classification.value, each.excess) for each in found] == [("exact", 0), ("duplicate", request.amount)]
    assert reconcile(world.services, request.payable_id) == []


def test_an_excess_of_two_payments_at_once_is_told_with_the_one_that_completes_the_request(world: World) -> None:
    request = created(world)
    world.chain.pay(request, amount=2_500_000)
    world.chain.pay(request)
    world.scan()
    confirmed = [body for body in notified(world) if body["event"] == "payment.confirmed"]
    assert [(body["amount"], body["totalAmountPaid"], body["excessAmount"]) for body in confirmed] == [("12.5", "15", "2.5")]
