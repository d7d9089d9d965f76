"""Lists of requests against a model: a comprehension over all requests."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.payments.requests.flows import save_many
from chalicelib.payments.requests.list_names import wallet
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.list_schemas import RequestsPage
from chalicelib.payments.search.requests.listing import Wanted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import standalone, store_request
from tests.fakes.world import World
from tests.support.rehearsed import parts
from tests.support.stored_links import counted

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
ACCOUNTS, CLIENTS = ("acct", "other"), (None, "cli_a", "cli_b")
WALLETS = ("0x627306090abaB3A6e1400e9345bC60c78a8BEf57", "0xf17f52151EbEF6C7334FAD080c5704D77216b732")
REFERENCES = (None, "INV-1", "Ünï#code")
REQUESTS, QUERIES, SLICES = 250, 1_200, 3


def matches(wanted: Wanted, request: Request) -> bool:
    at, payer = request.created_at, request.payer and wallet(request.payer)
    assert at is not None
    conditions = [
        not request.is_moved,
        wanted.account_id == request.account_id,
        wanted.payee in (None, wallet(request.payee)),
        wanted.payer in (None, payer),
        wanted.reference in (None, request.reference),
        wanted.status in (None, request.status),
        wanted.client_id in (None, request.client_id),
        wanted.first is None or at >= wanted.first,
        wanted.last is None or at <= wanted.last,
    ]
    return all(conditions)


def random_wanted(random: Random) -> Wanted:
    values: dict[str, Any] = {
        "payee": wallet(random.choice(WALLETS)),
        "payer": wallet(random.choice(WALLETS)),
        "reference": random.choice(REFERENCES[1:]),
        "status": str(random.choice(list(RequestStatus))),
        "client_id": random.choice([*CLIENTS[1:], "cli_nobody"]),
    }
    chosen = random.sample(sorted(values), random.choice((0, 1, 1, 1, 2, 2, 3)))
    given: dict[str, Any] = {name: values[name] for name in chosen}
    for name in ("first", "last"):
        if random.random() < 0.4:
            odd = timedelta(milliseconds=random.choice((1, 1_000, 43_200_000, 86_398_999, random.randrange(86_400_000))))
            whole = timedelta(0) if name == "first" else timedelta(days=1, milliseconds=-1)
            given[name] = FIRST + timedelta(days=random.randrange(-1, 11)) + random.choice((whole, whole, odd))
    return Wanted(random.choice(ACCOUNTS), **given)


@pytest.fixture(scope="module")
def history() -> tuple[Any, list[Request]]:
    """Requests that were created alone and together, of which some were paid, unpaid again, or moved to a batch."""
    random, store = Random(11), MemoryStore()
    services: Any = SimpleNamespace(store=store, entropy=random.randbytes, clock=lambda: FIRST, read_networks=set())
    stored = list[Request]()
    while len(stored) < REQUESTS:
        account_id, client_id = random.choice(ACCOUNTS), random.choice(CLIENTS)
        at = FIRST + timedelta(days=random.randrange(9), seconds=random.choice((0, 43_200, 86_399, random.randrange(86_400))))
        made = [
            standalone(
                services,
                account_id,
                client_id=client_id,
                created_at=at,
                payee=random.choice(WALLETS),
                payer=random.choice((None, *WALLETS)),
                reference=random.choice(REFERENCES),
            )
            for _ in range(random.choice((1, 1, 2, 60)))
        ]
        save_many(services, made)
        stored += (store.get(Request, each.key) for each in made)
    for _ in range(300):
        index = random.randrange(len(stored))
        before = stored[index]
        after = replace(before, status=random.choice(list(RequestStatus)), is_moved=random.random() < 0.1)
        store.write(*counted(before, after))
        stored[index] = store.get(Request, before.key)
    return services, stored


@pytest.mark.parametrize("part", parts(SLICES))
def test_a_list_has_what_a_comprehension_over_all_requests_has_in_its_order_and_number(
    history: tuple[Any, list[Request]], part: int
) -> None:
    services, stored = history
    random = Random(part)
    for _ in range(QUERIES // SLICES):
        wanted = random_wanted(random)
        expected = sorted((each for each in stored if matches(wanted, each)), key=lambda each: each.listed_at, reverse=True)
        ids = [each.request_id for each in expected]
        offset, limit = random.choice((0, 0, random.randrange(60), random.randrange(len(ids) + 3))), random.choice((1, 7, 50, 100))
        page = listing.page(services, wanted, None, offset, limit).page
        assert page.total == len(ids), wanted
        assert [each.request_id for each in page.records] == ids[offset : offset + limit], wanted
        assert (page.cursor is not None) == (offset + limit < len(ids)), wanted
        if page.cursor is not None:
            following = listing.page(services, wanted, page.cursor, 0, limit).page
            assert [each.request_id for each in following.records] == ids[offset + limit : offset + 2 * limit], wanted
            assert (following.total, following.offset) == (len(ids), offset + limit)


def test_a_page_takes_two_queries_and_one_by_cursor(history: tuple[Any, list[Request]]) -> None:
    services, stored = history
    filters: list[dict[str, Any]] = [{}, {"status": "paid"}, {"client_id": "cli_a"}, {"payee": wallet(WALLETS[0])}, {"reference": "INV-1"}]
    for each in filters:
        wanted = Wanted("acct", **each)
        services.store.calls.clear()
        page = listing.page(services, wanted, "", 0, 2).page
        assert (services.store.calls["Query"], page.total) == (2, sum(matches(wanted, one) for one in stored)), each
        services.store.calls.clear()
        listing.page(services, wanted, page.cursor, 0, 2)
        assert services.store.calls["Query"] == 1, each


class Busy(MemoryStore):
    """A store that counts no more than three records of a list, as if they had 8 MB."""

    def count_listed(self, cls: Any, span: Any, queries: int) -> tuple[int, bool]:
        number, _ = super().count_listed(cls, span, queries)
        return min(number, 3), number <= 3


def test_a_list_that_is_too_long_to_be_counted_has_a_number_that_grows_as_it_is_read() -> None:
    store = Busy()
    services: Any = SimpleNamespace(store=store, entropy=Random(3).randbytes, clock=lambda: FIRST, read_networks=set())
    for number in range(9):
        save_many(services, [standalone(services, created_at=FIRST + timedelta(minutes=number))])
    by_payee = Wanted("acct", payee=wallet(standalone(services, created_at=FIRST).payee))
    assert [listing.page(services, by_payee, None, offset, 2).page.total for offset in (0, 4, 7, 8)] == [3, 7, 9, 9]
    part_of_a_day = Wanted("acct", first=FIRST + timedelta(minutes=1), last=FIRST + timedelta(minutes=8))
    assert listing.page(services, part_of_a_day, None, 0, 5).page.total == 6
    assert listing.page(services, Wanted("acct"), None, 0, 2).page.total == 9, "the counts of whole days are exact"


def test_a_cursor_without_a_total_is_read_with_one() -> None:
    store = MemoryStore()
    services: Any = SimpleNamespace(store=store, entropy=Random(3).randbytes, clock=lambda: FIRST, read_networks=set())
    for number in range(5):
        save_many(services, [standalone(services, created_at=FIRST + timedelta(minutes=number))])
    first = listing.page_after(store, Request, Wanted("acct").listing, None, 2)
    assert first.total is None
    found = listing.page(services, Wanted("acct"), first.cursor, 0, 2)
    assert RequestsPage.of(found, 2).pagination.total == 5


def test_wherever_a_process_dies_the_counts_have_what_the_list_has(world: World) -> None:
    """Requests are created and a link is paid by processes of which each dies at one of its calls."""
    for fatal in range(1, 12):
        wire = Tripwire(fatal, before=fatal % 2 == 0)
        services = world.start(FragileClient(world.client, wire))
        try:
            save_many(services, [standalone(services, reference=f"R-{fatal}") for _ in range(60)])
            payment = world.create_link()
            world.chain.pay(payment.requests[0])
            world.scan(services)
        except Crash:
            pass
        world.scan()
        listed = Counter(each.status for each in listing.page(world.services, Wanted("acct"), None, 0, 2_000).page.records)
        for status in RequestStatus:
            found = listing.page(world.services, Wanted("acct", status=status), None, 0, 1).page
            assert found.total == listed[status], (fatal, status)


def test_a_list_that_a_client_id_alone_reads_takes_few_queries_however_many_requests_of_links_there_are(world: World) -> None:
    """The first is behind 12 MB of requests of links, all of one instant of which some are read again, and is found."""
    services, asked = world.services, list[int]()
    alone = [store_request(services, client_id="cli_a", created_at=FIRST + timedelta(days=each)) for each in (0, 2)]
    of_links = (
        standalone(services, client_id="cli_a", created_at=FIRST + timedelta(hours=number // 5), payable_id="link", position=number, note="n" * 200_000)
        for number in range(60)
    )
    for each in of_links:
        save_many(services, [each])
    world.client.meta.events.register("before-call.dynamodb.Query", lambda **_: asked.append(1))
    for one in ({"client_id": "cli_a"}, {"client_id": "cli_a", "status": "created"}, {"payee": wallet(alone[0].payee)}):
        wanted = Wanted("acct", **one, finds_links=False)
        pages, cursor = list[Any](), None
        while cursor is not None or not pages:
            asked.clear()
            pages.append(listing.page(services, wanted, cursor, 0, 1).page)
            assert len(asked) <= (2 if cursor else 4)
            cursor = pages[-1].cursor
        assert [each.request_id for page in pages for each in page.records] == [each.request_id for each in reversed(alone)]
        assert pages[-1].total == 2
        asked.clear()
        with pytest.raises(BadRequest, match="read it by cursor"):
            listing.page(services, wanted, None, 2, 1)
        assert len(asked) <= 6
