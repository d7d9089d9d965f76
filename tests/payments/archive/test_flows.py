"""The archive: what was paid long ago leaves tables, lists and counts in one step, and is read from S3 as it was."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import NotFound, ValidationFailed
from chalicelib.payments.archive import flows, lines, store
from chalicelib.payments.archive.rules import Archived
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, PayableLink
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.records import Filters
from chalicelib.payments.search.requests import flows as request_search
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.listing import Wanted
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.crash import Crash
from tests.fakes.payouts import on_its_way
from tests.fakes.world import PAYEE, PREFIX, WALLET, World, draft

YEAR = timedelta(days=400)
MONTH = "2026-03"
"""Of World's beginning."""


def paid(world: World, **changes: Any) -> PayableLink:
    link = world.create_link(**changes)
    for request in link.requests:
        world.chain.pay(request)
    world.scan()
    return world.load(link)


def archive(world: World) -> int:
    """Runs passes until nothing is due any more, each with two weeks between them."""
    moved = 0
    while found := flows.archive_due(world.services):
        moved += found
        world.now += timedelta(days=15)
    return moved


def items(world: World) -> set[tuple[str, str]]:
    """The keys of all items that do not vanish by themselves."""
    found = world.client.scan(TableName=f"{PREFIX}-payments")["Items"]
    return {(each["pk"]["S"], each["sk"]["S"]) for each in found if "ttl" not in each}


def of_payable(world: World, link: PayableLink) -> set[tuple[str, str]]:
    """The keys of the items of a link, its requests and payments, and of what finds them."""
    names = {link.link.token, *(each.request_id for each in link.requests)}
    topics = {pk for pk, _ in items(world) if pk.startswith("REFERENCE#")}
    return {key for key in items(world) if key[0].partition("#")[2] in names or key[0] in topics}


def totals(world: World) -> tuple[int | None, int | None]:
    """How many payments and requests the lists of the account say that there are, with as many records."""
    page = payment_search.page_at(world.services, Filters("acct", type="direct"), 0, 100)
    listed = listing.page(world.services, Wanted("acct"), None, 0, 100).page
    assert len(page.payments) == page.total
    assert len(listed.records) == listed.total
    return page.total, listed.total


def archived(world: World, month: str = MONTH) -> list[str]:
    """The ids of the payables of a month in the archive, over all pages."""
    found, cursor = list[str](), None
    while True:
        page = flows.page(world.services, "acct", month, cursor)
        found += [each.payable_id for each in page.found]
        if page.cursor is None:
            return found
        cursor = page.cursor


def test_a_link_that_was_paid_over_a_year_ago_is_in_the_archive_and_nowhere_else(world: World) -> None:
    old = paid(world)
    before, kept = store.whole(world.services.store, old.link.token), of_payable(world, old)
    assert len(kept) == 5  # link, request, payment, reference, pointer
    world.now += YEAR
    new = paid(world, reference="INV-2")
    assert totals(world) == (2, 2)
    assert flows.archive_due(world.services) == 1
    assert totals(world) == (1, 1)
    assert not kept & items(world)
    with pytest.raises(NotFound):
        request_search.find(world.services, old.requests[0].request_id, Viewer("acct", None))
    (read,) = flows.page(world.services, "acct", MONTH, None).found
    assert before is not None
    assert read == before
    assert link_store.find_payable(world.services.store, new.link.token) is not None


def test_a_batch_goes_with_all_of_its_requests(world: World) -> None:
    items_of_batch = tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(3))
    batch = paid(world, items=items_of_batch)
    world.now += YEAR
    assert archive(world) == 1
    (read,) = flows.page(world.services, "acct", MONTH, None).found
    assert [each.request_id for each in read.payable.requests] == [each.request_id for each in batch.requests]
    assert len(read.payments) == 3
    assert totals(world) == (0, 0)


def test_what_is_paid_in_parts_is_due_a_year_after_its_last_payment(world: World) -> None:
    link = world.create_link()
    world.chain.pay(link.requests[0], amount=5)
    world.scan()
    world.now += timedelta(days=3)
    world.chain.pay(link.requests[0])
    world.scan()
    world.now += timedelta(days=394)
    assert archive(world) == 0
    world.now += timedelta(days=15)
    assert archive(world) == 1


def pending(world: World) -> None:
    world.create_link()


def partly_paid(world: World) -> None:
    world.chain.pay(world.create_link().requests[0], amount=5)
    world.scan()


def reversed_by_a_fork(world: World) -> None:
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.chain.fork(3)
    world.chain.mine(4)
    world.scan()


def merged_payouts(world: World) -> None:
    about = draft(items=(), fee_percentage=None, fee_address=None)
    wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "3", about)
    tokens = tuple(payouts.create(world.services, world.owner, None, wanted).link.token for _ in range(2))
    for request in payouts.combine(world.services, world.owner, MergeDraft(tokens, None, None)).requests:
        world.chain.pay(request)
    world.scan()


def with_too_many_records(world: World) -> None:
    paid(world, items=tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(24)))


@pytest.mark.parametrize("made", [pending, partly_paid, reversed_by_a_fork, merged_payouts, with_too_many_records])
def test_what_is_not_paid_or_not_alone_stays_as_it_is(world: World, made: Callable[[World], None]) -> None:
    made(world)
    world.now += YEAR
    before = items(world)
    assert archive(world) == 0
    assert items(world) - before <= {("ARCHIVE", "PASS")}
    assert not before - items(world)
    assert not world.archive.objects


def test_a_crash_after_the_lines_are_written_loses_nothing_and_shows_nothing_twice(world: World) -> None:
    link = paid(world)
    world.now += YEAR

    class Ending:
        def __getattr__(self, name: str) -> Any:
            if name == "transact_write_items":
                raise Crash
            return getattr(world.client, name)

    with pytest.raises(Crash):
        flows.archive_due(world.start(client=Ending()))
    assert archived(world) == [link.link.token]
    assert of_payable(world, link)
    assert flows.archive_due(world.services) == 1
    assert not of_payable(world, link)
    assert set(archived(world)) == {link.link.token}


def test_one_that_changes_meanwhile_stays_and_goes_with_the_next_pass(world: World) -> None:
    link = paid(world)
    world.now += YEAR
    put = world.archive.put

    def pay_late(name: str, content: bytes) -> None:
        put(name, content)
        world.archive.put = put  # type: ignore[method-assign]
        stored = world.load(link).requests[0]
        world.services.store.write(replace(stored, unexpected_count=1))

    world.archive.put = pay_late  # type: ignore[method-assign]
    assert flows.archive_due(world.services) == 0
    assert world.load(link).requests[0].unexpected_count == 1
    world.now += timedelta(days=15)
    assert flows.archive_due(world.services) == 1
    assert archived(world) == [link.link.token] * 2


def test_without_its_bucket_nothing_is_read_or_moved(world: World) -> None:
    paid(world)
    world.now += YEAR
    before = items(world)
    world.archive.put = None  # type: ignore[assignment, method-assign]
    services = replace(world.services, settings=replace(world.services.settings, archive_bucket=""))
    assert flows.archive_due(services) == 0
    assert items(world) == before
    assert flows.page(services, "acct", MONTH, None) == flows.ArchivePage((), None)


def test_a_bucket_that_refuses_keeps_everything_and_the_place_of_the_pass(world: World) -> None:
    link = paid(world)
    world.now += YEAR
    put = world.archive.put

    def refuse(name: str, content: bytes) -> None:
        raise RuntimeError("AccessDenied")

    world.archive.put = refuse  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        flows.archive_due(world.services)
    assert of_payable(world, link)
    assert store.find_pass(world.services.store) is None
    world.archive.put = put  # type: ignore[method-assign]
    assert flows.archive_due(world.services) == 1


@pytest.mark.parametrize("kept", [lambda content: b"", lambda content: content[:-9], lambda content: lines.pack_lines(())])
def test_nothing_is_deleted_before_its_line_is_read_back(world: World, kept: Callable[[bytes], bytes]) -> None:
    link = paid(world)
    world.now += YEAR
    put = world.archive.put
    world.archive.put = lambda name, content: put(name, kept(content))  # type: ignore[method-assign]
    with pytest.raises((RuntimeError, EOFError)):
        flows.archive_due(world.services)
    assert len(of_payable(world, link)) == 5
    world.archive.put = put  # type: ignore[method-assign]
    assert flows.archive_due(world.services) == 1
    assert archived(world) == [link.link.token]


def test_a_payable_that_cannot_be_read_holds_up_no_other(world: World) -> None:
    broken, good = paid(world), paid(world, reference="INV-2")
    key = {"pk": {"S": f"LINK#{broken.link.token}"}, "sk": {"S": "REQUEST#0000"}}
    world.client.update_item(
        TableName=f"{PREFIX}-payments",
        Key=key,
        UpdateExpression="SET paid = :bad",
        ExpressionAttributeValues={":bad": {"S": "many"}},
    )
    world.now += YEAR
    with pytest.raises(SweepIncomplete):
        flows.archive_due(world.services)
    assert archived(world) == [good.link.token]
    assert link_store.find_payable(world.services.store, good.link.token) is None


def test_a_pass_goes_on_where_the_last_run_ended_and_rests_for_two_weeks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [paid(world, reference=f"INV-{number}") for number in range(6)]
    world.now += YEAR
    monkeypatch.setattr(flows, "_MOST_PER_RUN", 1)
    in_parts = PartByPart(world.client, 5)
    services = world.start(client=in_parts)
    moved = [flows.archive_due(services)]
    while not has_ended(world):
        moved.append(flows.archive_due(services))
    assert sum(moved) == len(links)
    assert max(moved) < len(links)
    assert sorted(archived(world)) == sorted(each.link.token for each in links)
    scans = len(in_parts.scans)
    assert flows.archive_due(services) == 0
    assert len(in_parts.scans) == scans
    world.now += timedelta(days=14)
    flows.archive_due(services)
    assert len(in_parts.scans) > scans


def has_ended(world: World) -> bool:
    known = store.find_pass(world.services.store)
    return known is not None and known.ended_at is not None


class PartByPart:
    """A client whose scans end after a few items, as DynamoDB's do after 1 MB."""

    def __init__(self, client: Any, items: int) -> None:
        self._client, self._items, self.scans = client, items, list[dict[str, Any]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def scan(self, **parameters: Any) -> Any:
        self.scans.append(parameters)
        return self._client.scan(**parameters, Limit=self._items)


def test_an_account_reads_its_own_month_alone_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "_LINES_OF_OBJECT", 2)
    links = [paid(world, reference=f"INV-{number}") for number in range(5)]
    world.now += YEAR
    assert archive(world) == 5
    assert sorted(archived(world)) == sorted(each.link.token for each in links)
    first = flows.page(world.services, "acct", MONTH, None)
    assert len(first.found) == 2
    assert flows.page(world.services, "other", MONTH, None).found == ()
    assert archived(world, "2026-04") == []
    for account, month in (("other", MONTH), ("acct", "2026-04")):
        with pytest.raises(ValidationFailed):
            flows.page(world.services, account, month, first.cursor)


def test_the_lines_are_json_that_any_reader_takes_by_account_and_month(world: World) -> None:
    link = paid(world)
    world.now += YEAR
    archive(world)
    ((name, content),) = world.archive.objects.items()
    assert name.startswith(f"requests/account=acct/month={MONTH}/")
    (line,) = gzip.decompress(content).decode().splitlines()
    read = json.loads(line)
    assert read["Request"][0]["request_id"] == link.requests[0].request_id
    assert read["Payment"][0]["amount"] == "12500000"


def test_announced_transactions_are_in_a_line_by_the_name_that_they_always_had(world: World) -> None:
    archived = Archived(on_its_way(paid(world), AnnouncedStatus.SETTLED))
    content = lines.pack_lines([archived])
    assert json.loads(gzip.decompress(content))["AnnouncedTransaction"][0]["announced_id"] == "intent"
    assert lines.unpack_lines(content) == [archived]
