"""What is not as it was asked for is told: by labels of an event that is sent, or by one of its own, once and bounded."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.recording.notices import MAX_A_DAY
from chalicelib.payments.recording.unmatched import LARGEST_PER_TOKEN, MAX_PER_KIND, UnmatchedKind
from chalicelib.payments.requests.payments.records import UnmatchedTransfer
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.storage.pages import Listing
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices
from chalicelib.webhooks.records import EVENTS, Event
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import World

FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"
STRANGER = "0x" + "51" * 20
WORTHLESS = "0x" + "77" * 20
FULL = 12_500_000


class Shop:
    """A world with a link of 12.5 fUSDC, in memory."""

    def __init__(self) -> None:
        self.world = World(object())
        self.store = MemoryStore()
        self.world.services = replace(self.world.services, store=self.store)
        self.world.chain.clock = self.world.clock
        self.world.scan()
        self.payment: PayableLink = self.world.create_link()

    def pay(self, amount: int = FULL, **altered: str) -> None:
        self.world.advance(1)
        self.world.chain.pay(self.payment.requests[0], amount=amount, **altered)
        self.world.scan()

    @property
    def notified(self) -> list[dict[str, Any]]:
        """The bodies of the events without their variants, in their order."""
        found = [json.loads(each.body) for each in sorted(self.store.all(Event), key=lambda each: each.event_id)]
        for body in found:
            assert_is_described(body)
        return found

    @property
    def unmatched(self) -> list[UnmatchedTransfer]:
        return list(self.store.all(UnmatchedTransfer))

    @property
    def mispayments(self) -> list[dict[str, Any]]:
        """Of those, what the list of mispayments has."""
        listing = Listing(self.world.account_id, EVENTS, {"by_mispayment": "true"})
        found = self.store.newest(Event, listing.span, 100).records
        return [json.loads(each.body) for each in sorted(found, key=lambda each: each.event_id)]

    @property
    def labels(self) -> list[tuple[str, list[str]]]:
        return [(body["event"].removeprefix("payment."), body["labels"]) for body in self.notified]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_payments_that_are_told_say_what_is_not_as_it_was_asked_for(shop: Shop) -> None:
    shop.pay(FULL - 1)
    shop.pay(2)
    assert shop.labels == [("partial", ["under"]), ("confirmed", ["over"])]
    exact = Shop()
    exact.pay()
    assert exact.labels == [("confirmed", [])]
    assert (shop.mispayments, exact.mispayments) == (shop.notified[1:], [])


def test_what_is_paid_after_the_links_expiry_is_late(shop: Shop) -> None:
    shop.world.advance(timedelta(days=8).total_seconds())
    shop.pay(FULL - 1)
    shop.pay(1)
    shop.pay(token=FUSDT)
    assert shop.labels == [("partial", ["under", "late"]), ("confirmed", ["late"]), ("unexpected", ["wrong_token", "late"])]
    assert shop.mispayments == shop.notified[1:]


def test_a_payment_of_a_paid_request_is_told_by_its_own_event(shop: Shop) -> None:
    shop.pay()
    shop.pay(5_000_000)
    confirmed, second = shop.notified
    assert (second["event"], second["labels"], second["status"]) == ("payment.unexpected", ["duplicate"], "confirmed")
    assert (second["amount"], second["receivedAmount"], second["totalAmountPaid"]) == ("5", "5", "17.5")
    assert (second["requestId"], second["untoldCount"]) == (confirmed["requestId"], 0)


@pytest.mark.parametrize(
    ("altered", "labels"),
    [
        ({"token": FUSDT}, ["wrong_token"]),
        ({"token": FUSDT, "payee": STRANGER}, ["wrong_token", "wrong_payee"]),
        ({"payee": STRANGER}, ["wrong_payee"]),
    ],
)
@pytest.mark.parametrize("is_paid", [False, True])
def test_what_does_not_count_is_told(shop: Shop, altered: dict[str, str], labels: list[str], is_paid: bool) -> None:
    if is_paid:
        shop.pay()
    shop.pay(**altered)
    notified = shop.notified[-1]
    assert (notified["event"], notified["labels"], notified["amount"]) == ("payment.unexpected", labels, "0")
    assert notified["receivedAmount"] == "12.5"
    assert len(shop.notified) == 1 + is_paid


@pytest.mark.parametrize("altered", [{}, {"token": FUSDT}], ids=["paid before", "another token"])
def test_what_was_said_to_be_paid_is_told_where_less_arrived(shop: Shop, altered: dict[str, str]) -> None:
    shop.pay()
    shop.world.chain.moved = lambda amount: amount * 99 // 100
    before = len(shop.world.chain.blocks)
    shop.pay(**altered)
    shop.world.chain.fork(len(shop.world.chain.blocks) - before)
    shop.world.advance(1)
    shop.world.scan()
    confirmed, *unexpected = shop.notified
    assert "statedAmount" not in confirmed
    assert [(each["event"], each["status"]) for each in unexpected] == [
        ("payment.unexpected", "confirmed"), ("payment.unexpected", "reversed"),
    ]  # fmt: skip
    assert [(each["receivedAmount"], each["statedAmount"]) for each in unexpected] == [("12.375", "12.5")] * 2


def test_a_payment_that_failed_tells_what_was_said_to_be_paid_where_less_arrived(shop: Shop) -> None:
    shop.world.chain.moved = lambda amount: amount * 99 // 100
    before = len(shop.world.chain.blocks)
    shop.pay()
    shop.world.chain.fork(len(shop.world.chain.blocks) - before)
    shop.world.advance(1)
    shop.world.scan()
    found = [(each["event"], each["amount"], each["statedAmount"]) for each in shop.notified]
    assert found == [("payment.partial", "12.375", "12.5"), ("payment.failed", "12.375", "12.5")]


def test_worthless_tokens_and_what_is_not_stored_are_never_told(shop: Shop) -> None:
    for _ in range(3):
        shop.pay(token=WORTHLESS)
    assert shop.notified == []


def test_a_reading_that_comes_again_and_a_block_that_moves_tell_nothing_twice(shop: Shop) -> None:
    shop.pay()
    shop.pay(1)
    shop.pay(token=FUSDT)
    shop.world.chain.fork(6, moved_by=1)
    shop.world.scan()
    assert [body["event"] for body in shop.notified] == ["payment.confirmed", "payment.unexpected", "payment.unexpected"]


def test_what_a_fork_removes_is_corrected_and_told_again_if_it_comes_back(shop: Shop) -> None:
    shop.pay()
    before = len(shop.world.chain.blocks)
    shop.pay(1)
    shop.pay(token=FUSDT)
    removed = shop.world.chain.fork(len(shop.world.chain.blocks) - before)
    shop.world.advance(1)
    shop.world.scan()
    notified = [(body["event"], body["labels"], body["status"]) for body in shop.notified[1:]]
    assert notified[:2] == [
        ("payment.unexpected", ["duplicate"], "confirmed"),
        ("payment.unexpected", ["wrong_token"], "confirmed"),
    ]
    assert sorted(notified[2:]) == [
        ("payment.unexpected", ["duplicate"], "reversed"),
        ("payment.unexpected", ["wrong_token"], "reversed"),
    ]
    assert shop.mispayments == shop.notified[1:3]
    shop.world.advance(1)
    for old in removed:
        shop.world.chain.mine()
        block = shop.world.chain.blocks[-1]
        place = {"blockNumber": hex(block.number), "blockHash": block.hash}
        block.logs += [{**log, **place} for log in old.logs]
    shop.world.scan()
    assert [body["status"] for body in shop.notified[5:]] == ["confirmed", "confirmed"]


def test_of_a_request_ten_are_told_a_day_and_the_next_says_how_many_were_not(shop: Shop) -> None:
    """Whoever pays dust with a public reference makes no more events, in whatever way it does not count."""
    shop.pay()
    for number in range(MAX_A_DAY + 4):
        shop.pay(1, **({"token": FUSDT} if number % 2 else {}))
    assert [body["untoldCount"] for body in shop.notified[1:]] == [0] * MAX_A_DAY
    shop.world.advance(timedelta(days=1).total_seconds())
    shop.pay(1)
    shop.pay(1)
    assert [body["untoldCount"] for body in shop.notified[1 + MAX_A_DAY :]] == [4, 0]


def test_a_worker_whose_clock_is_a_day_behind_announces_no_more_of_them(shop: Shop) -> None:
    shop.pay()
    for _ in range(MAX_A_DAY):
        shop.pay(1)
    late = replace(shop.world.services, clock=lambda: shop.world.now - timedelta(days=1))
    for services in (late, shop.world.services) * 2:
        shop.world.advance(1)
        shop.world.chain.pay(shop.payment.requests[0], amount=1)
        shop.world.chain.mine(2)
        scan_chain(shop.world.services, json.dumps({"network": "sepolia"}))
        shop.world.record(services)
    assert len(shop.notified[1:]) == MAX_A_DAY


def test_what_is_not_stored_any_more_is_not_told(shop: Shop) -> None:
    for _ in range(MAX_PER_KIND[UnmatchedKind.OTHER_PAYEE] // MAX_A_DAY + 1):
        for _ in range(MAX_A_DAY):
            shop.world.chain.pay(shop.payment.requests[0], amount=1, payee=STRANGER)
        shop.world.scan()
        shop.world.advance(timedelta(days=1).total_seconds())
    assert len(shop.notified) == MAX_PER_KIND[UnmatchedKind.OTHER_PAYEE]


def test_only_webhooks_that_name_it_receive_it() -> None:
    shop = Shop()
    world = shop.world
    for name, events in (
        ("all", ("*",)), ("prefix", ("payment.*",)), ("named", ("payment.unexpected",)),
        ("both", ("*", "payment.unexpected")),
    ):  # fmt: skip
        endpoints.register(world.services, world.actor, None, Mode.API_KEY, f"https://{name}.example/hook", Choices(events))
    shop.pay()
    shop.pay(1)
    world.drain()
    received = {(posted.url.split("//")[1].split(".")[0], posted.event) for posted in world.receiver.posted}
    assert {name for name, event in received if event == "payment.unexpected"} == {"named", "both"}
    assert {name for name, event in received if event == "payment.confirmed"} == {"all", "prefix", "both"}


def test_dust_hides_no_payment_of_a_customer(shop: Shop) -> None:
    shop.pay()
    for _ in range(MAX_A_DAY + 2):
        shop.pay(1)
    shop.pay()
    assert (shop.notified[-1]["labels"], shop.notified[-1]["amount"]) == (["duplicate"], "12.5")
    assert [body["untoldCount"] for body in shop.notified[1:]] == [0] * MAX_A_DAY + [2]


def test_dust_hides_no_payment_in_another_token(shop: Shop) -> None:
    for _ in range(MAX_PER_KIND[UnmatchedKind.RIGHT_PAYEE] // MAX_A_DAY):
        for _ in range(MAX_A_DAY):
            shop.world.chain.pay(shop.payment.requests[0], amount=1, token=FUSDT)
        shop.world.scan()
        shop.world.advance(timedelta(days=1).total_seconds())
    for _ in range(MAX_A_DAY + 2):
        shop.pay(1, token=FUSDT)
    assert len(shop.notified) == MAX_PER_KIND[UnmatchedKind.RIGHT_PAYEE], "what is not stored is not announced"
    shop.pay(token=FUSDT)
    last = shop.notified[-1]
    assert (last["labels"], last["receivedAmount"], last["untoldCount"]) == (["wrong_token"], "12.5", 0)
    assert [each.amount for each in shop.unmatched].count(FULL) == 1


def test_payments_of_a_paid_request_hide_no_payment_in_another_token(shop: Shop) -> None:
    shop.pay()
    for _ in range(MAX_A_DAY):
        shop.pay(1)
    shop.pay(1, token=FUSDT)
    assert len(shop.notified) == 1 + MAX_A_DAY, "dust is not announced beyond the limit"
    shop.pay(token=FUSDT)
    assert (shop.notified[-1]["labels"], shop.notified[-1]["untoldCount"]) == (["wrong_token"], 1)


def test_whoever_hides_a_payment_in_another_token_pays_as_much_to_the_payee(shop: Shop) -> None:
    for amount in (1, 99, FULL // 100, FULL // 10, FULL // 10 + 1, FULL):
        for _ in range(MAX_PER_KIND[UnmatchedKind.RIGHT_PAYEE]):
            shop.world.chain.pay(shop.payment.requests[0], amount=amount, token=FUSDT)
        shop.world.scan()
        shop.pay(token=FUSDT)
        shown = [body["receivedAmount"] for body in shop.notified].count("12.5")
        assert shown == min(shown, LARGEST_PER_TOKEN)
        if amount < FULL // 10:
            assert shop.notified[-1]["receivedAmount"] == "12.5"
    assert len(shop.unmatched) == MAX_PER_KIND[UnmatchedKind.RIGHT_PAYEE]


def test_what_arrived_is_announced_so_often_by_order_of_magnitude_at_most(shop: Shop) -> None:
    """Of each token ten transfers of an order of magnitude that is not dust, whatever a stranger sends."""
    for amount in range(1, 2_000, 7):
        shop.world.chain.pay(shop.payment.requests[0], amount=amount, token=FUSDT)
    shop.world.scan()
    assert len(shop.notified) <= MAX_A_DAY + LARGEST_PER_TOKEN * 2
