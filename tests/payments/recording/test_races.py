"""Many at once on a real local cloud: one payment, one claim, one announcement, one webhook a URL."""

import itertools
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements.admission import MAX_CLAIMS, Announcement
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.recording import flows
from chalicelib.payments.requests.payments.records import Payment, UnmatchedTransfer
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import flows as scanning
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Store, WriteConflict
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.endpoints import flows as endpoints
from infra.local.cloud import Cloud
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PAYEE, PREFIX, START, WALLET, World, draft
from tests.support.rehearsed import rehearsed

PARALLEL = 20
_worlds = itertools.count()


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own accounts on the shared cloud; each starts with an unread chain."""
    number = next(_worlds)
    client = cloud.client("dynamodb")
    for sort_key in ("CURSOR", "LEASE"):
        client.delete_item(TableName=f"{PREFIX}-ops", Key={"pk": {"S": "CHAIN#sepolia"}, "sk": {"S": sort_key}})
    world = World(client, seed=number)
    world.account_id, world.client_id = f"acct{number}", f"cli_shop{number}"
    return world


def in_parallel(act: Callable[[Services], Any], cloud: Cloud, world: World) -> list[Any]:
    """Runs `act` in 20 threads that start together, each as a process of its own; exceptions are results."""
    barrier = threading.Barrier(PARALLEL)

    def run(_: int) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return act(services)
        except (BadRequest, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))


def scan_and_record(services: Services, payable_id: str) -> int:
    """What the two consumers do, without waiting for the hint; returns how many transfers this process recorded."""
    with suppress(WriteConflict):
        scanning.scan(services, "sepolia")
    return flows.record_payable(services, payable_id)


@rehearsed
def test_20_processes_that_hold_a_rate_at_once_give_the_same_quote(cloud: Cloud, world: World) -> None:
    world.prices.set("USD", "USDC", "1.0003")
    request = store_request(world.services, world.account_id, invoice_currency="USD")
    for number in range(3):
        quoted = in_parallel(lambda services: quotes.hold(services, [request])[request.request_id], cloud, world)
        assert {(quote.number, quote.at, quote.rate.fraction) for quote in quoted} == {(number, world.now, quoted[0].rate.fraction)}
        world.advance(151)
        world.prices.set("USD", "USDC", f"1.000{number}")


def test_20_parallel_scans_of_one_log_give_one_payment(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    results = in_parallel(lambda services: scan_and_record(services, payment.link.token), cloud, world)
    assert sum(result for result in results if isinstance(result, int)) <= 1
    world.record()
    request_id = payment.requests[0].request_id
    assert len(world.services.store.query(Payment, Payment.KEY.all(request_id=request_id))) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].paid == payment.requests[0].amount
    world.drain()
    assert sorted(world.receiver.events) == [
        "payment.confirmed",
        "payment.confirmed.checkout",
        "payment.confirmed.client_id",
    ]


def test_parallel_payments_of_one_request_are_all_counted(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    for _ in range(5):
        world.chain.pay(payment.requests[0], amount=1_000_000)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    results = in_parallel(lambda services: flows.record_payable(services, payment.link.token), cloud, world)
    assert sum(result for result in results if isinstance(result, int)) == 5
    assert world.load(payment).requests[0].paid == 5_000_000
    assert world.load(payment).requests[0].payment_count == 5


@rehearsed
def test_20_parallel_scans_and_recorders_count_each_transfer_to_a_request_without_a_link_once(
    cloud: Cloud, world: World
) -> None:
    world.register_webhook()
    request = store_request(world.services, world.account_id, client_id=world.client_id)
    for amount in (5_000_000, 7_500_000, 1):
        world.chain.pay(request, amount=amount)
    world.chain.mine(2)
    results = in_parallel(lambda services: scan_and_record(services, request.payable_id), cloud, world)
    assert sum(result for result in results if isinstance(result, int)) <= 3
    world.record()
    after = load_request(world.services, request)
    assert (after.paid, after.payment_count) == (12_500_001, 3)
    world.drain()
    assert world.receiver.events.count("payment.confirmed") == 1


def test_of_20_public_announcements_at_once_a_link_takes_no_more_than_its_share(cloud: Cloud, world: World) -> None:
    world.tick()
    payment = world.create_link()
    number = itertools.count()

    def announce(services: Services) -> str:
        draft = Announcement(None, f"0x{next(number):064x}", None, "SEPOLIA", "USDC", None)
        try:
            announcements.record(services, payment.link.token, Viewer(world.account_id, None, mode=Mode.CLIENT_ID), draft)
        except BadRequest:
            return "refused"
        return "recorded"

    results = sorted(map(str, in_parallel(announce, cloud, world)))
    assert results == ["recorded"] * MAX_CLAIMS + ["refused"] * (PARALLEL - MAX_CLAIMS)
    kept = world.load(payment).announcements
    assert kept is not None and len([each for each in kept.all if each.is_locking]) == MAX_CLAIMS


def test_a_payment_that_is_detected_while_20_announce_is_the_last_word(cloud: Cloud, world: World) -> None:
    world.tick()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    number = itertools.count()

    def act(services: Services) -> None:
        mine = next(number)
        if mine % 4 == 0:
            scan_and_record(services, payment.link.token)
            return
        draft = Announcement(None, f"0x{mine:064x}", None, "SEPOLIA", "USDC", None)
        with suppress(Locked, Conflict):
            announcements.record(services, payment.link.token, Viewer(world.account_id, None), draft)

    in_parallel(act, cloud, world)
    world.record()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    with pytest.raises(Conflict):
        check_payable(world.load(payment), world.now)


@rehearsed
def test_20_parallel_scans_of_a_link_of_several_requests_complete_it_once(cloud: Cloud, world: World) -> None:
    """Each records all of it, or looks again because another one was faster."""
    items = tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(3))
    payment = world.create_link(items=items)
    for request in payment.requests:
        world.chain.pay(request)
        world.chain.pay_too(request, amount=1, payee="0x" + "22" * 20)
    world.chain.mine(2)
    results = in_parallel(lambda services: scan_and_record(services, payment.link.token), cloud, world)
    assert sum(result for result in results if isinstance(result, int)) <= 3
    world.record()
    after = world.load(payment)
    assert after.link.status is LinkStatus.COMPLETED
    assert [request.paid for request in after.requests] == [1_000_000] * 3
    for request in payment.requests:
        kept = world.services.store.query(UnmatchedTransfer, UnmatchedTransfer.KEY.all(request_id=request.request_id))
        assert len(kept) == 1


def test_an_attempt_is_made_by_one_of_20_workers(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    deliveries.send_test(world.services, world.account_id, world.client_id, "payment.confirmed", only_public=False)
    message = json.loads(world.queue.messages[0].body)
    in_parallel(lambda services: deliveries.deliver(services, message["deliveryId"], 0, True), cloud, world)
    assert len(world.receiver.posted) == 1


def test_one_url_gets_one_webhook_from_20_registrations(cloud: Cloud, world: World) -> None:
    results = in_parallel(
        lambda services: endpoints.register(services, world.actor, world.client_id, Mode.API_KEY, "https://shop.example/hook"),
        cloud,
        world,
    )
    assert sum(isinstance(result, BadRequest) for result in results) == PARALLEL - 1
    assert len(endpoints.list_endpoints(world.services, world.account_id, world.client_id, only_public=False)) == 1


@rehearsed
def test_of_20_batches_of_the_same_payouts_one_is_made_and_has_their_requests(cloud: Cloud, world: World) -> None:
    def payout() -> PayableLink:
        about = draft(items=(), fee_percentage=None, fee_address=None)
        wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "12.50", about)
        return payouts.create(world.services, world.owner, None, wanted)

    made = [payout() for _ in range(3)]
    wanted = MergeDraft(tuple(payment.link.token for payment in made), None, None)
    results = in_parallel(lambda services: payouts.combine(services, world.owner, wanted), cloud, world)
    (batch,) = [result for result in results if isinstance(result, PayableLink)]
    assert {world.load(payment).link.successor_token for payment in made} == {batch.link.token}
    assert [request.request_id for request in world.load(batch).requests] == [p.requests[0].request_id for p in made]


def test_of_20_writers_of_one_version_one_wins(cloud: Cloud, world: World) -> None:
    account = Account(f"race{world.account_id}", "n", START)
    results = in_parallel(lambda services: services.store.write(account), cloud, world)
    assert sum(isinstance(result, WriteConflict) for result in results) == PARALLEL - 1


def test_a_store_reads_what_it_wrote_on_the_real_template(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    fresh = Store(PREFIX, cloud.client("dynamodb"))
    assert fresh.query(Payment, Payment.KEY.all(request_id=payment.requests[0].request_id)) == ()
    assert world.load(payment).requests[0].amount == 12_500_000
