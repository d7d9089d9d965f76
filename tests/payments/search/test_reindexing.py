"""Reindexing what is in no list or count yet: lists and counts are exact, however often it is interrupted and beside whom."""

from collections import Counter
from typing import Any

import pytest

from chalicelib.base.lists import LISTS
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.records import LINKS, Link
from chalicelib.payments.requests.list_names import REQUEST
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.records import Filters
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.listing import Wanted
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, page_after
from chalicelib.webhooks.records import EVENTS, Event
from infra import reindexing
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import PAYEE, PREFIX, WALLET, World, draft


def aged(world: World) -> None:
    """Takes from all items their places in lists and what was counted, as if both were new in this version."""
    for table in ("payments", "webhooks"):
        for item in world.client.scan(TableName=f"{PREFIX}-{table}")["Items"]:
            key = {"pk": item["pk"], "sk": item["sk"]}
            if item["pk"]["S"].startswith("COUNTS#"):
                world.client.delete_item(TableName=f"{PREFIX}-{table}", Key=key)
                continue
            lost = {"listed_at", *LISTS[table]}
            if item["pk"]["S"].startswith("PAYMENTS#"):
                lost |= {"is_counted"}
            elif item["sk"]["S"].startswith("REQUEST#"):
                lost |= {"counted_as"}
            kept = {name: value for name, value in item.items() if name not in lost}
            world.client.put_item(TableName=f"{PREFIX}-{table}", Item=kept)


def history(world: World) -> None:
    """A link that is paid twice, a batch of which one request is paid, payouts that are merged, and a reversed payment."""
    world.register_webhook()
    world.scan()
    twice = world.create_link(reference="INV-7")
    batch = world.create_link(items=tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(3)))
    about = draft(items=(), fee_percentage=None, fee_address=None)
    wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "3", about)
    tokens = tuple(payouts.create(world.services, world.owner, None, wanted).link.token for _ in range(2))
    merged = payouts.combine(world.services, world.owner, MergeDraft(tokens, None, None))
    world.chain.pay(merged.requests[1])
    world.chain.pay(twice.requests[0], amount=5)
    world.chain.pay(twice.requests[0])
    world.chain.pay(batch.requests[1])
    world.scan()
    world.chain.pay(batch.requests[0])
    world.scan()
    world.chain.fork(3)
    world.chain.mine(4)
    world.scan()


def shown(services: Services) -> dict[str, Any]:
    """What every list of the account has, and what is counted."""
    found: dict[str, Any] = {}
    for name, value in {"type": "direct", "reference": "INV-7", "payee": PAYEE.lower(), "client_id": "cli_shop", "network": "base"}.items():
        page = payment_search.page_at(services, Filters("acct", **{name: value}), 0, 100)
        assert page.total == len(page.payments)
        found[name] = [each.payment_id for each in page.payments]
    for status in RequestStatus:
        listed = listing.page(services, Wanted("acct", status=status), None, 0, 100).page
        found[status] = [each.request_id for each in listed.records]
        assert listed.total == len(found[status]), status
    for cls, kind in ((Link, LINKS), (Request, REQUEST), (Event, EVENTS)):
        listed = page_after(services.store, cls, Listing("acct", kind, {}), None, 100).records  # type: ignore[type-abstract]
        found[kind] = [each.listed_at for each in listed]  # type: ignore[attr-defined]
    mispaid = page_after(services.store, Event, Listing("acct", EVENTS, {"by_mispayment": "true"}), None, 100).records
    found["mispaid"] = [each.event_id for each in mispaid]
    return found


@pytest.fixture
def before(world: World) -> dict[str, Any]:
    """The lists as they are kept from the beginning; then they are taken from the items."""
    history(world)
    lists = shown(world.services)
    assert lists["type"] and lists["mispaid"] and lists["REQUEST"] and len(set(lists["REQUEST"])) == len(lists["REQUEST"])
    aged(world)
    assert not any(shown(world.services).values())
    return lists


def run(services: Services) -> Counter[str]:
    written = Counter[str]()
    for each in reindexing.reindex(services):
        written = Counter(each)
    return written


def test_everything_is_found_again_and_counted_and_a_second_run_writes_nothing(world: World, before: dict[str, Any]) -> None:
    assert set(run(world.services)) == {"Link", "Request", "Payment", "Event"}
    assert shown(world.services) == before
    assert run(world.services) == Counter()
    assert shown(world.services) == before


def test_a_run_that_ends_at_any_call_is_completed_by_the_next_one(world: World, before: dict[str, Any]) -> None:
    fatal = 1
    while True:
        aged(world)
        wire = Tripwire(fatal, before=fatal % 2 == 0)
        try:
            run(world.start(FragileClient(world.client, wire)))
            break
        except Crash:
            run(world.services)
            assert shown(world.services) == before, f"after call {fatal}"
        fatal += 3
    assert fatal > 20


def test_it_runs_beside_the_recorder(world: World, before: dict[str, Any]) -> None:
    """Payments are recorded, and others reversed, between any two of its steps, also while it has read what they change."""
    payment = world.create_link(reference="INV-7")
    for number, _ in enumerate(reindexing.reindex(world.services)):
        if number % 3 == 0:
            world.chain.pay(payment.requests[0], amount=1 + number)
        if number == 10:
            world.chain.fork(2)
        world.scan()
    run(world.services)
    found = shown(world.services)
    assert len(found["reference"]) > len(before["reference"]) + 3
    assert set(before["LINK"]) < set(found["LINK"])
    assert run(world.services) == Counter()


def test_a_record_that_others_change_meanwhile_is_read_again(world: World, before: dict[str, Any]) -> None:
    """Each write of the first run comes after another one of the same record, which moves its version."""

    class Overtaken:
        def __init__(self) -> None:
            self.done: set[str] = set()

        def __getattr__(self, name: str) -> Any:
            call = getattr(world.client, name)
            if name != "update_item":
                return call

            def update_item(**sent: Any) -> Any:
                key = sent["Key"]
                if str(key) not in self.done:
                    self.done.add(str(key))
                    stored = world.client.get_item(TableName=sent["TableName"], Key=key)["Item"]
                    stored["version"] = {"N": str(int(stored["version"]["N"]) + 1)}
                    world.client.put_item(TableName=sent["TableName"], Item=stored)
                return call(**sent)

            return update_item

    run(world.start(Overtaken()))
    assert shown(world.services) == before


def test_parts_of_the_tables_are_done_by_processes_of_their_own(world: World, before: dict[str, Any]) -> None:
    for segment in range(3):
        for _ in reindexing.reindex(world.services, segment, 3):
            pass
    assert shown(world.services) == before
