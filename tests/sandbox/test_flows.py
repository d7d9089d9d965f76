"""Sandboxes: payments on virtual chains, their reorganisations and the clock, by the rules, events and deliveries of
live mode."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from chalice.test import Client

from app import build
from chalicelib.base.errors import BadRequest, Conflict, TooManyRequests
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links import flows as links
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.sandbox import flows, rules
from chalicelib.sandbox.flows import Paid, Wanted
from chalicelib.sandbox.opening import open_sandbox, services_for
from chalicelib.webhooks.endpoints import flows as endpoints
from tests.fakes.world import PAYEE, START, WALLET, World, draft
from tests.support.items import TRON_PAYEE

DAY = 86_400


class Merchant:
    """A merchant who tries the service out: a sandbox with a webhook."""

    def __init__(self, world: World) -> None:
        self.world = world
        endpoints.register(self.inside, world.actor, world.client_id, Mode.API_KEY, "https://shop.example/hook")

    @property
    def inside(self) -> Services:
        """As a request opens it."""
        return open_sandbox(self.world.services, self.world.account_id)

    def link(self, **changes: Any) -> PayableLink:
        return links.create(self.inside, self.world.owner, draft(**changes))

    def load(self, payable: PayableLink) -> PayableLink:
        found = link_reading.load(self.inside, payable.link.token)
        assert found is not None
        return found

    def pay(self, payable: PayableLink, amount: str = "full", **wanted: Any) -> Paid:
        paid = flows.pay(self.inside, self.world.account_id, self.load(payable), Wanted(amount, **wanted))
        self.world.drain()
        return paid

    def mine(self, count: int, network: str = "sepolia") -> None:
        flows.mine_blocks(self.inside, self.world.account_id, network, count)
        self.world.drain()

    def reorganise(self, depth: int, network: str = "sepolia", *, moves: bool = False) -> None:
        flows.reorganise(self.inside, self.world.account_id, network, depth, moves=moves)
        self.world.drain()

    def advance(self, seconds: int) -> flows.Outcome:
        outcome = flows.advance_clock(self.inside, self.world.account_id, seconds)
        self.world.drain()
        return outcome

    def status(self, payable: PayableLink) -> tuple[RequestStatus, int]:
        (request,) = self.load(payable).requests
        return request.status, request.paid

    @property
    def events(self) -> list[str]:
        """The core events that the receiver got."""
        return [each for each in self.world.receiver.events if each.count(".") == 1]


@pytest.fixture
def shop(world: World) -> Merchant:
    return Merchant(world)


def test_a_link_is_paid_in_parts_with_the_fee_and_each_part_is_told(shop: Merchant) -> None:
    link = shop.link()
    amount = link.requests[0].amount
    shop.pay(link, "half")
    assert shop.status(link) == (RequestStatus.PARTIALLY_PAID, amount // 2)
    shop.pay(link)
    assert shop.status(link) == (RequestStatus.PAID, amount)
    assert shop.load(link).link.status is LinkStatus.COMPLETED
    assert shop.events == ["payment.partial", "payment.confirmed"]
    assert link.link.fee.is_charged, "the draft has a fee, whose logs are of the payment too"


@pytest.mark.parametrize("network", [each.name for each in ALL_NETWORKS])
def test_every_network_has_a_virtual_chain_on_which_its_tokens_are_paid(shop: Merchant, network: str) -> None:
    token = next(each for each in ("USDC", "USDT", "fUSDC") if token_with_id(f"{each}-{network}") is not None)
    changes = {"payee": TRON_PAYEE, "fee_percentage": None, "fee_address": None} if network == "tron" else {}
    link = shop.link(currency=f"{token}-{network}", **changes)
    shop.pay(link)
    assert shop.status(link)[0] is RequestStatus.PAID
    assert shop.events == ["payment.confirmed"]


def test_the_native_coin_is_paid_by_its_proxy_and_names_its_payer(shop: Merchant) -> None:
    link = shop.link(currency="ETH-sepolia-sepolia")
    shop.pay(link, payer=WALLET)
    assert shop.status(link)[0] is RequestStatus.PAID
    (payment,) = [each for each in shop.world.receiver.posted if each.event == "payment.confirmed"]
    assert WALLET.lower() in payment.body.decode().lower()


def test_all_requests_of_a_batch_are_paid_by_one_transaction(shop: Merchant) -> None:
    item = draft().items[0]
    link = shop.link(items=(item, replace(item, amount="3")))
    shop.pay(link)
    assert {each.status for each in shop.load(link).requests} == {RequestStatus.PAID}
    with pytest.raises(BadRequest, match="amount is of one request"):
        shop.pay(link, "1")


def test_too_much_and_once_more_is_recorded_as_overpaid(shop: Merchant) -> None:
    link = shop.link()
    amount = link.requests[0].amount
    shop.pay(link, "double")
    assert shop.load(link).requests[0].received == 2 * amount
    shop.pay(link)
    assert shop.load(link).requests[0].received == 3 * amount


def test_an_exact_amount_is_paid_in_the_decimals_of_the_token(shop: Merchant) -> None:
    link = shop.link()
    shop.pay(link, "0.25")
    assert shop.status(link) == (RequestStatus.PARTIALLY_PAID, 250_000)
    for amount, words in (("0.0000001", "decimals"), ("0", "greater than 0")):
        with pytest.raises(BadRequest, match=words):
            shop.pay(link, amount)


def test_another_token_and_another_network_pay_nothing(shop: Merchant) -> None:
    link = shop.link()
    shop.pay(link, token=token_with_id("ETH-sepolia-sepolia"))
    shop.pay(link, token=token_with_id("USDC-base"))
    assert shop.status(link)[0] is RequestStatus.CREATED
    assert shop.events == []


def test_a_payment_counts_once_it_is_confirmed(shop: Merchant) -> None:
    link = shop.link()
    shop.pay(link, is_confirmed=False)
    assert (shop.status(link)[0], shop.events) == (RequestStatus.CREATED, [])
    shop.mine(1)
    assert (shop.status(link)[0], shop.events) == (RequestStatus.PAID, ["payment.confirmed"])


def test_a_payment_that_vanishes_before_it_is_confirmed_is_never_told(shop: Merchant) -> None:
    link = shop.link()
    shop.mine(1)
    shop.pay(link, is_confirmed=False)
    shop.reorganise(1)
    shop.mine(5)
    assert (shop.status(link)[0], shop.events) == (RequestStatus.CREATED, [])


def test_a_payment_that_vanishes_later_is_taken_back_and_may_come_again(shop: Merchant) -> None:
    link = shop.link()
    shop.pay(link)
    shop.reorganise(3)
    assert (shop.status(link), shop.events[1:]) == ((RequestStatus.CREATED, 0), ["payment.failed"])
    shop.pay(link)
    assert shop.status(link)[0] is RequestStatus.PAID


def test_a_payment_that_moves_to_a_later_block_stays_and_is_counted_once(shop: Merchant) -> None:
    link = shop.link()
    paid = shop.pay(link)
    shop.reorganise(3, moves=True)
    shop.mine(5)
    assert shop.status(link) == (RequestStatus.PAID, link.requests[0].amount)
    places = shop.inside.chains.of("sepolia").find_receipts([paid.tx_hash])
    receipt = places[paid.tx_hash]
    assert receipt is not None and int(receipt["blockNumber"], 16) > paid.block_number
    shop.reorganise(30)
    assert shop.status(link) == (RequestStatus.CREATED, 0)


def test_a_chain_is_reorganised_so_often_and_no_deeper_than_it_is(shop: Merchant) -> None:
    for _ in range(rules.MOST_FORKS + 5):
        shop.reorganise(1)  # each drops the fork before it or stands above it
        if len(flows.read_chains(shop.inside)[0].forks) == rules.MOST_FORKS:
            break
    with pytest.raises(Conflict, match="was reorganised 100 times"):
        shop.reorganise(1)
    link = shop.link()
    shop.pay(link)
    assert shop.status(link)[0] is RequestStatus.PAID


def test_a_link_expires_when_the_clock_is_advanced_and_is_paid_late(shop: Merchant) -> None:
    link, other = shop.link(), shop.link(currency="USDC-base")
    outcome = shop.advance(8 * DAY)
    assert (outcome.expired, outcome.now) == (2, START + timedelta(days=8))
    assert {shop.load(each).link.status for each in (link, other)} == {LinkStatus.EXPIRED}
    shop.pay(link)
    assert shop.load(link).requests[0].received > 0


def test_the_clock_goes_on_from_where_it_is_up_to_ten_years(shop: Merchant) -> None:
    shop.advance(DAY)
    assert shop.inside.clock() == shop.world.now + timedelta(days=1)
    shop.world.advance(60)
    assert shop.inside.clock() == shop.world.now + timedelta(days=1)
    with pytest.raises(BadRequest, match="more than 3660 days"):
        shop.advance(3660 * DAY)


def test_a_delivery_that_failed_is_attempted_again_when_it_is_due(shop: Merchant) -> None:
    shop.world.receiver.status = None
    link = shop.link()
    flows.pay(shop.inside, shop.world.account_id, link, Wanted())
    queue = shop.world.queue
    while any("announcements" in each.queue or each.queue.endswith("-webhooks") for each in queue.messages):
        message = queue.messages.pop(0)
        shop.world.consume(message, shop.world.services)
    queue.messages.clear()  # the retries are lost, as their time is far away
    attempted = len(shop.world.receiver.posted)
    shop.world.receiver.status = 200
    shop.advance(3600)
    assert len(shop.world.receiver.posted) > attempted
    retried = shop.world.receiver.posted[-1]
    assert retried.headers["x-service-retry-count"] == "1"


def test_a_delivery_is_marked_and_signed_at_the_real_time(shop: Merchant) -> None:
    """Receivers refuse what is signed at another time than theirs."""
    shop.advance(30 * DAY)
    shop.pay(shop.link())
    posted = shop.world.receiver.posted[-1]
    assert posted.headers["x-service-test"] == posted.headers["x-request-network-test"] == "true"
    assert int(posted.headers["webhook-timestamp"]) == int(shop.world.now.timestamp())


def test_what_has_no_price_and_what_is_held_is_refused_in_words(shop: Merchant) -> None:
    with pytest.raises(Conflict, match="paid by its children"):
        flows.pay(shop.inside, shop.world.account_id, replace(shop.link(), requests=()), Wanted())
    request = replace(shop.link().requests[0], invoice_currency="USD")
    with pytest.raises(Conflict, match="converted amounts"):
        flows.pay(shop.inside, shop.world.account_id, replace(shop.link(), requests=(request,)), Wanted())


def test_a_payer_of_another_family_and_the_payee_are_refused(shop: Merchant) -> None:
    for payer, words in ((TRON_PAYEE, "not an address of sepolia"), (PAYEE, "is the payee")):
        with pytest.raises(BadRequest, match=words):
            shop.pay(shop.link(), payer=payer)
    with pytest.raises(BadRequest, match="not an address of tron"):
        shop.pay(shop.link(), token=token_with_id("USDT-tron"))


def test_operations_of_a_day_have_a_limit(shop: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "OPERATIONS_PER_DAY", 2)
    shop.mine(1)
    shop.mine(1)
    with pytest.raises(TooManyRequests) as refused:
        shop.mine(1)
    assert (refused.value.retry_after, refused.value.limit) == (14 * 3600, 2)
    shop.world.advance(DAY)
    shop.mine(1)


def test_what_there_is_no_time_for_is_done_by_the_next_operation(shop: Merchant) -> None:
    link = shop.link()
    world, begun = shop.world, shop.inside
    ticking = replace(begun.real, clock=lambda: world.now + timedelta(seconds=next(ticks)))
    ticks = iter(range(0, 10_000, 10))
    slow = open_sandbox(ticking, world.account_id)
    paid = flows.pay(slow, world.account_id, link, Wanted())
    assert not paid.outcome.is_complete
    world.now += timedelta(seconds=next(ticks) + 60)
    shop.mine(1)
    assert shop.status(link)[0] is RequestStatus.PAID


def test_messages_name_their_sandbox_and_those_of_live_mode_do_not(shop: Merchant) -> None:
    shop.pay(shop.link())
    flows.pay(shop.inside, shop.world.account_id, shop.link(), Wanted())
    bodies = [each.body for each in shop.world.queue.messages]
    assert bodies and all('"sandbox": "acct 0"' in body for body in bodies)
    assert services_for(shop.world.services, '{"eventIds": []}') is shop.world.services
    opened = services_for(shop.world.services, bodies[0])
    assert opened.live is shop.world.services and opened.clock() == shop.world.now


def test_the_cursor_of_a_virtual_chain_follows_its_head(shop: Merchant) -> None:
    shop.mine(1_000)
    cursor = scan_store.cursor(shop.inside.store, "sepolia")
    (chain,) = flows.read_chains(shop.inside)
    assert cursor is not None and cursor.scanned_to == chain.head - 1


def test_the_consumers_of_the_app_open_the_sandbox_that_a_message_names(shop: Merchant) -> None:
    flows.pay(shop.inside, shop.world.account_id, shop.link(), Wanted())
    (announced,) = shop.world.queue.messages
    shop.world.queue.messages.clear()
    with Client(build(shop.world.services.settings, lambda: shop.world.services)) as client:
        client.lambda_.invoke("announce_events", client.events.generate_sqs_event([announced.body]))
        for delivery in shop.world.queue.messages[:1]:
            client.lambda_.invoke("deliver_webhook", client.events.generate_sqs_event([delivery.body]))
    assert [each.headers["x-service-test"] for each in shop.world.receiver.posted] == ["true"]
