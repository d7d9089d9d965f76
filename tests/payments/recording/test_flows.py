"""From a log on the chain to the webhooks of the merchant: what counts, what does not, and what a fork undoes."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.payments.links import expiry
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.storage.queue import Message
from chalicelib.webhooks import publisher
from tests.fakes.world import VirtualQueue, World, signature_holds
from tests.payments.recording.test_shared import Interposed


class RefusingQueue:
    """A queue that fails for every message, except those for the queue whose name ends with `but`."""

    def __init__(self, queue: VirtualQueue, but: str) -> None:
        self._queue, self._but = queue, but

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        if not queue.endswith(self._but):
            raise ConnectionError("the queue does not answer")
        self._queue.send(queue, messages)


def test_a_full_payment_completes_the_link_and_tells_the_merchant_three_times(world: World) -> None:
    _, secret = world.register_webhook()
    payment = world.create_link()
    request = payment.requests[0]
    log = world.chain.pay(request, fee=125_000)
    world.scan()
    world.drain()

    after = world.load(payment)
    assert after.link.status is LinkStatus.COMPLETED
    assert after.requests[0].status is RequestStatus.PAID
    assert after.requests[0].paid == 12_500_000
    assert world.receiver.events == [
        "payment.confirmed",
        "payment.confirmed.client_id",
        "payment.confirmed.checkout",
    ]
    assert all(signature_holds(posted, secret) for posted in world.receiver.posted)
    body = json.loads(world.receiver.posted[0].body)
    assert body["requestId"] == body["requestID"] == request.request_id
    assert body["paymentReference"] == request.payment_reference
    assert body["explorer"] == f"https://explorer.example/request/{request.request_id}"
    assert (body["amount"], body["totalAmountPaid"], body["expectedAmount"]) == ("12.5", "12.5", "12.5")
    assert (body["txHash"], body["network"]) == (log["transactionHash"], "sepolia")
    assert body["fees"] == [{"type": "platform", "amount": "0.125", "currency": "fUSDC"}]
    for posted in world.receiver.posted:
        notified = json.loads(posted.body)
        assert (notified["clientId"], notified["origin"]) == (world.client_id, world.origin)


def test_two_partial_payments_complete_a_link_and_totals_are_recomputed(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    request = payment.requests[0]
    world.chain.pay(request, amount=5_000_000)
    world.scan()
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert world.load(payment).requests[0].status is RequestStatus.PARTIALLY_PAID
    world.chain.pay(request, amount=7_500_000)
    world.scan()
    world.drain()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    bodies = [json.loads(p.body) for p in world.receiver.posted if p.event in ("payment.partial", "payment.confirmed")]
    assert [(b["event"], b["amount"], b["totalAmountPaid"]) for b in bodies] == [
        ("payment.partial", "5", "5"),
        ("payment.confirmed", "7.5", "12.5"),
    ]


def test_an_overpayment_is_confirmed_and_names_the_excess(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=20_000_000)
    world.scan()
    world.drain()
    body = json.loads(world.receiver.posted[0].body)
    assert (body["event"], body["excessAmount"]) == ("payment.confirmed", "7.5")


@pytest.mark.parametrize(
    "altered",
    [
        {"proxy": "0x" + "ab" * 20},
        {"token": "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"},
        {"payee": "0x" + "22" * 20},
    ],
    ids=lambda altered: next(iter(altered)),
)
def test_a_look_alike_log_is_ignored(world: World, altered: dict[str, str]) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], **altered)
    world.scan()
    world.drain()
    after = world.load(payment)
    assert (after.link, after.requests[0].paid) == (replace(payment.link, version=1), 0)
    assert (after.requests[0].status, after.requests[0].tx_hash) == (RequestStatus.CREATED, None)
    assert world.receiver.posted == []


def test_a_log_of_the_native_proxy_does_not_pay_a_token_request(world: World) -> None:
    payment = world.create_link()
    native = replace(payment.requests[0], currency="ETH-sepolia-sepolia")
    world.chain.pay(native)
    world.scan()
    assert world.load(payment).requests[0].paid == 0


def test_nothing_is_believed_before_the_confirmations(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.tick()
    assert world.load(payment).requests[0].paid == 0
    world.chain.mine()
    world.tick()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_payment_that_a_fork_drops_before_confirmation_was_never_seen(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.tick()
    world.chain.fork(1)
    world.scan()
    world.drain()
    assert world.load(payment).requests[0].paid == 0
    assert world.receiver.posted == []


def test_a_confirmed_payment_that_a_deep_fork_removes_is_corrected_and_the_link_reopens(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.drain()
    world.chain.fork(4)
    world.scan()
    world.drain()
    after = world.load(payment)
    assert (after.link.status, after.requests[0].paid) == (LinkStatus.PENDING, 0)
    correction = json.loads(world.receiver.posted[-1].body)
    assert correction["event"] == "payment.failed"
    assert (correction["subStatus"], correction["totalAmountPaid"]) == ("failed", "0")


def test_a_payment_that_the_fork_moved_to_another_block_counts_again(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.fork(4)
    world.chain.pay(payment.requests[0])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].paid == 12_500_000


def test_a_branch_that_loses_and_wins_again_counts_once(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    dropped = world.chain.fork(4)
    world.scan()
    assert world.load(payment).requests[0].paid == 0
    world.chain.restore(dropped)
    world.chain.mine(10)
    world.scan()
    assert world.load(payment).requests[0].paid == 12_500_000
    assert len(stored_payments(world, payment.requests[0].request_id)) == 1


def test_reading_a_range_again_changes_nothing(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    before = world.load(payment)
    world.client.delete_item(
        TableName="payment-requests-local-ops", Key={"pk": {"S": "CHAIN#sepolia"}, "sk": {"S": "CURSOR"}}
    )
    world.scan()
    world.drain()
    assert world.load(payment) == before
    assert len(world.receiver.posted) == 3


def test_a_node_that_refuses_large_ranges_is_asked_for_smaller_ones(world: World) -> None:
    world.scan()
    payment = world.create_link()
    world.chain.largest_range = 3
    world.chain.mine(20)
    world.chain.pay(payment.requests[0])
    for _ in range(12):
        world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_the_setting_confirmations_says_how_deep_a_block_has_to_be(world: World) -> None:
    """Of a network that it does not name, the catalogue says it: two on sepolia."""
    deep = World(world.client, confirmations={"sepolia": 5})
    payment = deep.create_link()
    deep.chain.pay(payment.requests[0])
    deep.chain.mine(3)
    deep.tick()
    assert deep.load(payment).requests[0].paid == 0
    deep.chain.mine()
    deep.tick()
    assert deep.load(payment).link.status is LinkStatus.COMPLETED


def test_payments_of_one_block_are_recorded_in_the_order_of_their_logs(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=5_000_000)
    world.chain.pay_too(payment.requests[0], amount=7_500_000)
    world.chain.blocks[-1].logs.reverse()  # a node may list them in any order
    world.scan()
    world.drain()
    bodies = [json.loads(p.body) for p in world.receiver.posted if p.event in ("payment.partial", "payment.confirmed")]
    assert [(b["event"], b["amount"]) for b in bodies] == [("payment.partial", "5"), ("payment.confirmed", "7.5")]


def test_a_fork_reverses_the_payment_of_the_first_block_after_the_common_ancestor(world: World) -> None:
    world.scan()
    cursor = world.services.store.get(Cursor, Cursor.KEY.of(network="sepolia"))
    assert cursor is not None
    payment = world.create_link()
    world.chain.pay_too(payment.requests[0])
    paid_in = world.chain.blocks[-1].number
    assert paid_in == cursor.scanned_to + 1
    world.scan()
    assert world.load(payment).requests[0].paid == 12_500_000
    world.chain.fork(len(world.chain.blocks) - paid_in)
    world.scan()
    assert world.load(payment).requests[0].paid == 0


def test_a_node_that_lags_behind_is_not_taken_for_a_fork(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.lag = 6
    world.scan()
    world.chain.lag = 0
    world.scan()
    world.drain()
    assert "payment.failed" not in world.receiver.events
    assert len(world.receiver.events) == 3


def test_a_fork_in_the_middle_of_a_tick_is_noticed_at_the_next_range(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.mine(3)
    world.chain.before_reading = fork_once(world, depth=8)
    world.scan()
    world.scan()
    world.drain()
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert world.receiver.events[-1] == "payment.failed"


def test_a_fork_takes_nothing_back_that_is_still_on_the_chain(world: World) -> None:
    world.register_webhook()
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(30)
    world.scan()
    world.chain.fork(5)
    world.scan()
    world.drain()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert "payment.failed" not in world.receiver.events


def fork_once(world: World, depth: int) -> Callable[[], None]:
    def fork() -> None:
        world.chain.before_reading = lambda: None
        world.chain.fork(depth)

    return fork


def test_transfers_of_nothing_and_payments_after_completion_are_not_announced(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=0)
    world.scan()
    assert world.load(payment).requests[0].tx_hash is None
    log = world.chain.pay(payment.requests[0])
    world.chain.pay(payment.requests[0], amount=1)
    world.chain.pay(payment.requests[0], amount=0)
    world.scan()
    world.drain()
    assert len(world.receiver.events) == 3
    after = world.load(payment).requests[0]
    assert (after.tx_hash, after.paid) == (log["transactionHash"], 12_500_001)


def test_a_fee_that_went_to_a_stranger_is_not_reported_as_ours(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0], fee=125_000, fee_address="0x" + "99" * 20)
    world.scan()
    world.drain()
    assert json.loads(world.receiver.posted[0].body)["fees"] == []


def test_a_link_on_a_network_without_a_node_is_refused(world: World) -> None:
    with pytest.raises(BadRequest, match="does not serve base"):
        world.create_link(currency="USDC-base")


def test_a_node_that_is_down_costs_a_tick_and_nothing_else(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.is_down = True
    world.scan()
    world.chain.is_down = False
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_late_payment_completes_an_expired_link(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.advance(8 * 24 * 3600)
    world.chain.pay(payment.requests[0])
    world.scan()
    world.drain()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert "payment.confirmed" in world.receiver.events


def test_the_sweep_writes_expired_on_what_is_pending_and_leaves_what_is_completed(world: World) -> None:
    paid, unpaid = world.create_link(), world.create_link()
    world.chain.pay(paid.requests[0])
    world.scan()
    assert world.expire(paid, unpaid) == 1
    assert world.load(paid).link.status is LinkStatus.COMPLETED
    assert world.load(unpaid).link.status is LinkStatus.EXPIRED


def test_a_link_that_is_paid_while_the_sweep_runs_stays_completed(world: World) -> None:
    """The link may be read before the payment is recorded, and written after it."""
    payment = world.create_link()
    world.read_past(payment.link.expires_at)
    world.chain.pay(payment.requests[0])
    services = world.start(Interposed(world.client, "update_item", world.scan))
    assert expiry.expire_due(services) == 0
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_native_payments_are_detected(world: World) -> None:
    payment = world.create_link(currency="ETH-sepolia-sepolia", amount="0.5")
    world.chain.pay(payment.requests[0])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_an_event_that_was_not_announced_is_found_by_the_sweep(world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    with suppress(ConnectionError):
        world.tick(world.start(queue=RefusingQueue(world.queue, but="recordings")))
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.queue.messages.clear()
    world.advance(60)
    assert publisher.sweep(world.services) > 0
    world.drain()
    assert sorted(world.receiver.events) == sorted(
        ["payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"]
    )


def stored_payments(world: World, request_id: str) -> tuple[Payment, ...]:
    return world.services.store.query(Payment, Payment.KEY.all(request_id=request_id))
