"""What anybody can send under a known reference: it costs few calls, hides nothing, and delays no other link."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows, matching, unmatched
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning.transfer_log import TRANSFERS_PER_PART
from chalicelib.payments.transfers import flows as transfers
from tests.bench.calls import counted
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PAYEE, World
from tests.support.rehearsed import rehearsed

WORTHLESS = "0x" + "77" * 20
FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"


class SlowTransactions:
    """A DynamoDB client whose transactions take their time, by the world's clock."""

    def __init__(self, world: World, seconds: float) -> None:
        self._world, self._seconds = world, seconds

    def __getattr__(self, name: str) -> Any:
        if name == "transact_write_items":
            self._world.advance(self._seconds)
        return getattr(self._world.client, name)


def unmatched_transfers(world: World, request: Request) -> tuple[UnmatchedTransfer, ...]:
    return world.services.store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request.request_id))


def payments_of(world: World, request: Request) -> tuple[Payment, ...]:
    return world.services.store.query(Payment, Payment.KEY.all(request_id=request.request_id))


def flood(world: World, request: Request, count: int, **facts: Any) -> None:
    """So many transfers in one block."""
    world.chain.mine()
    for _ in range(count):
        world.chain.pay_too(request, **facts)


def calls_of(world: World, act: Callable[[], object]) -> dict[str, int]:
    with counted(world.client) as calls:
        act()
    return dict(calls.by_operation)


@dataclass
class Traffic:
    """The calls to DynamoDB, and the characters of the items and keys in their requests and responses."""

    calls: int = 0
    sent: int = 0
    received: int = 0


def _size(message: Any) -> int:
    """In characters; of bytes, which the text of an event is compressed to, as many for each."""
    return len(json.dumps(message, default=lambda each: each.hex() if isinstance(each, bytes) else repr(each)))


@contextmanager
def traffic(client: Any) -> Iterator[Traffic]:
    measured = Traffic()

    def before(params: Any, **_: Any) -> None:
        measured.calls += 1
        measured.sent += _size(params["body"])

    def after(parsed: Any, **_: Any) -> None:
        measured.received += _size(parsed)

    events = client.meta.events
    events.register("before-call.dynamodb", before)
    events.register("after-call.dynamodb", after)
    try:
        yield measured
    finally:
        events.unregister("before-call.dynamodb", before)
        events.unregister("after-call.dynamodb", after)


def test_a_flood_of_unmatched_transfers_is_recorded_with_few_calls_and_none_when_it_is_read_again(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests
    world.scan()
    flood(world, request, 150, amount=1, token=WORTHLESS)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    parts = -(-150 // TRANSFERS_PER_PART)
    calls = calls_of(world, world.record)
    assert calls == {"Query": 3, "BatchGetItem": 2 * parts, "TransactWriteItems": parts}
    assert len(unmatched_transfers(world, request)) == 20
    world.chain.mine(2)
    reads = {"GetItem": 2, "Query": 1, "UpdateItem": 3, "BatchGetItem": 3}
    assert calls_of(world, world.tick) == reads, "the lease, the cursor, the reference, watched addresses, and 150 entries of the log"


@rehearsed
def test_5000_transfers_of_one_unit_keep_100_payments_and_their_exact_sum_and_delay_no_other_link(world: World) -> None:
    world.services = replace(world.services, store=MemoryStore())
    dusty, other = world.create_link(), world.create_link()
    (request,) = dusty.requests
    world.scan()
    flood(world, request, 5_000, amount=1)
    world.chain.pay_too(other.requests[0])
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    assert flows.record_payable(world.services, other.link.token) == 1
    assert world.load(other).link.status is LinkStatus.COMPLETED
    assert world.load(dusty).requests[0].paid == 0, "its transfers are recorded on their own"
    world.record()
    (after,) = world.load(dusty).requests
    assert (after.paid, after.payment_count, after.dust_count, after.dust_amount) == (5_000, 100, 4_900, 4_900)
    assert sum(each.amount for each in payments_of(world, request)) == 100
    world.chain.pay(request)
    world.scan()
    assert world.load(dusty).link.status is LinkStatus.COMPLETED


@rehearsed
def test_a_batch_of_200_that_is_paid_at_once_is_recorded_in_20_transactions(world: World) -> None:
    item = Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    batch = world.create_link(items=(item,) * 200)
    world.chain.mine()
    for request in batch.requests:
        world.chain.pay_too(request)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    calls = calls_of(world, lambda: flows.record_payable(world.services, batch.link.token))
    assert calls["TransactWriteItems"] == 20
    after = world.load(batch)
    assert after.link.status is LinkStatus.COMPLETED
    assert {request.status for request in after.requests} == {RequestStatus.PAID}


def with_earlier_payments(world: World, listed: int, dust: int) -> PayableLink:
    """A link whose request has had so many payments of one unit. At most 300 of the listed ones are stored."""
    payment = world.load(world.create_link())
    (request,) = payment.requests
    known = replace(
        request,
        payment_count=listed,
        paid=BaseUnits(listed + dust),
        status=RequestStatus.PARTIALLY_PAID,
        dust_count=dust,
        dust_amount=BaseUnits(dust),
    )
    world.services.store.write(known)
    world.services.store.put_many([payment_number(request, number, world) for number in range(min(listed, 300))])
    return world.load(payment)


def payment_number(request: Request, number: int, world: World) -> Payment:
    return Payment(
        request_id=request.request_id,
        event_key="",
        value=BaseUnits(1),
        account_id=request.account_id,
        payee=request.payee,
        currency=request.currency,
        invoice_currency=request.currency,
        payment_reference=request.payment_reference,
        network="sepolia",
        block_hash=f"0x{number:064x}",
        log_index=0,
        block_number=number,
        tx_hash=f"0x{number:064x}",
        amount=BaseUnits(1),
        fee_amount=BaseUnits(0),
        fee_address=PAYEE.lower(),
        status=PaymentStatus.CONFIRMED,
        detected_at=world.now,
        paid_at=world.now,
    )


def test_a_request_with_100_000_payments_costs_the_recorder_the_same_calls_and_bytes_as_one_with_10(world: World) -> None:
    """The numbers of payments have as many digits as they need; nothing else may differ."""

    def cost_of_one_more(listed: int, dust: int) -> Traffic:
        payment = with_earlier_payments(world, listed, dust)
        world.chain.pay(payment.requests[0], amount=1_000_000)
        world.chain.mine(2)
        scanning.scan(world.services, "sepolia")
        with traffic(world.client) as measured:
            assert flows.record_payable(world.services, payment.link.token) == 1
        return measured

    few, many = cost_of_one_more(10, dust=1), cost_of_one_more(1_999, dust=98_001)
    assert many.calls == few.calls
    assert abs(many.sent - few.sent) < 50
    assert abs(many.received - few.received) < 50


def test_worthless_tokens_do_not_hide_a_real_one_and_the_list_says_that_more_may_have_come(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests

    def listing() -> transfers.Listing:
        return transfers.list_of_link(world.services, payment.link.token, Viewer(world.account_id, None))

    flood(world, request, 19, amount=1, token=WORTHLESS)
    world.scan()
    assert not listing().truncated
    flood(world, request, 120, amount=1, token=WORTHLESS)
    flood(world, request, 40, amount=1, payee="0x" + "22" * 20)
    world.chain.pay(request, token=FUSDT)
    world.scan()
    (after,) = world.load(payment).requests
    assert (after.unknown_token_count, after.other_payee_count, after.right_payee_count) == (20, 30, 1)
    kept = unmatched_transfers(world, request)
    kinds = [unmatched.kind_of(request, each.token_address, each.payee, each.network) for each in kept]
    assert {kind: kinds.count(kind) for kind in unmatched.UnmatchedKind} == {
        **unmatched.MAX_PER_KIND,
        unmatched.UnmatchedKind.RIGHT_PAYEE: 1,
    }
    assert listing().truncated


def test_a_list_says_that_payments_are_missing_if_some_are_only_summed_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 2)
    payment = world.create_link()
    for count, truncated in ((2, False), (1, True)):
        flood(world, payment.requests[0], count, amount=1)
        world.scan()
        listing = transfers.list_of_link(world.services, payment.link.token, Viewer(world.account_id, None))
        assert (len(listing.transfers), listing.truncated) == (2, truncated)


def test_a_flood_that_a_fork_removes_is_reversed_with_few_calls_and_its_sum_is_exact(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 20)
    world.scan()
    payment = world.create_link()
    (request,) = payment.requests
    flood(world, request, 30, amount=1)
    flood(world, request, 10, amount=1, token=WORTHLESS)
    world.scan()
    world.chain.fork(5)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    calls = calls_of(world, world.record)
    assert calls["TransactWriteItems"] == -(-40 // 3), "3 removed transfers in a transaction"
    (after,) = world.load(payment).requests
    assert (after.paid, after.dust_count, after.dust_amount) == (0, 0, 0)
    assert after.status is RequestStatus.CREATED
    assert {each.status for each in payments_of(world, request)} == {PaymentStatus.REVERSED}
    assert {each.status for each in unmatched_transfers(world, request)} == {PaymentStatus.REVERSED}


def test_a_recorder_that_runs_out_of_time_queues_another_run_and_all_is_recorded(world: World) -> None:
    world.scan()
    payment = world.create_link()
    flood(world, payment.requests[0], 100, amount=1)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    world.queue.messages.clear()
    slow = world.start(SlowTransactions(world, 11))
    assert flows.record_payable(slow, payment.link.token) == 2 * TRANSFERS_PER_PART, "a run ends after 20 seconds"
    waiting = [message.body for message in world.queue.messages if message.queue.endswith("recordings")]
    assert waiting == [f'{{"account": "acct", "bills": ["{payment.link.token}"]}}']
    world.record(slow)
    assert world.load(payment).requests[0].paid == 100
