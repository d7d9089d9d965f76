"""Following the events of an account: each is read once it is there, and none is missed."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.base import ids
from chalicelib.base.cursors import Position, cursor_of
from chalicelib.base.errors import ValidationFailed
from chalicelib.base.timestamps import iso
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing
from chalicelib.webhooks.events.flows import SETTLED_AFTER, NextEvents, next_events
from chalicelib.webhooks.records import EVENTS, Event, EventVariant
from tests.fakes.lying_node import Liar
from tests.fakes.world import World
from tests.support.client import Reply, Shop
from tests.support.opened import by_session
from tests.support.running import running

SECOND = timedelta(seconds=1)


def write(services: Services, account_id: str, kind: str = "payment.confirmed", **fields: Any) -> Event:
    """Writes an event that happened now."""
    now = services.clock()
    made = Event(ids.ulid(now, services.entropy), kind, account_id, None, f'{{"event":"{kind}"}}', now, False)
    return services.store.write(replace(made, **fields))


def follow(world: World, after: str | None = None, limit: int = 20, account_id: str = "", **values: str) -> NextEvents:
    return next_events(world.services, account_id or world.account_id, values, after, None, limit)


@pytest.mark.parametrize("seed", range(8))
def test_whoever_follows_reads_each_event_however_late_it_is_written(seed: int) -> None:
    world, random = World(), Random(seed)
    services, written, seen = world.services, list[str](), list[str]()
    waiting, cursor, settled = list[tuple[Any, Event]](), None, list[str]()
    for _ in range(400):
        world.advance(random.choice([0.02, 1, 7]))
        if random.random() < 0.7:
            now = services.clock()
            made = Event(ids.ulid(now, services.entropy), "payment.confirmed", world.account_id, None, "{}", now, False)
            late = random.choice([0, 0, 1, 20, 60]) * SECOND  # a function runs for up to a minute
            waiting.append((now + late, made))
        for due, made in [each for each in waiting if each[0] <= services.clock()]:
            waiting.remove((due, made))
            written.append(services.store.write(made).event_id)
        if random.random() < 0.3:
            page = follow(world, cursor, random.choice([1, 3, 50]))
            cursor = page.cursor
            seen += [each.event_id for each in page.events if each.event_id not in seen]
            settled += [each.event_id for each in page.events if page.is_settled(each)]
    for _, made in waiting:
        written.append(services.store.write(made).event_id)
    world.advance(SETTLED_AFTER.total_seconds() + 1)
    has_more = True
    while has_more:
        page = follow(world, cursor)
        cursor, has_more = page.cursor, page.has_more
        seen += [each.event_id for each in page.events if each.event_id not in seen]
        settled += [each.event_id for each in page.events]
    assert sorted(seen) == sorted(written)
    assert len(written) > 100
    assert sorted(settled) == sorted(written), "a settled event is returned once"
    assert follow(world, cursor).events == ()


def test_an_event_is_returned_again_until_it_is_settled_and_then_no_more() -> None:
    world = World()
    event = write(world.services, world.account_id)
    first = follow(world)
    assert ([each.event_id for each in first.events], first.has_more) == ([event.event_id], False)
    assert not first.is_settled(event)
    world.advance(SETTLED_AFTER.total_seconds())
    assert not follow(world, first.cursor).is_settled(event)
    world.advance(1)
    again = follow(world, first.cursor)
    assert ([each.event_id for each in again.events], again.is_settled(event)) == ([event.event_id], True)
    assert follow(world, again.cursor).events == ()


def test_an_answer_that_takes_long_passes_over_no_event_that_is_written_meanwhile() -> None:
    """The latest that an event is written is a minute after it happened."""
    world = World()
    world.advance(60)
    late = world.services.clock() - 60 * SECOND
    store = world.services.store

    def oldest(*args: Any) -> Any:
        found = store.oldest(*args)
        write(world.services, world.account_id, created_at=late)
        world.advance(40)
        return found

    slow: Any = Liar(store, oldest=oldest)
    page = next_events(replace(world.services, store=slow), world.account_id, {}, None, None, 20)
    assert [each.created_at for each in follow(world, page.cursor).events] == [late]


def test_pages_of_settled_events_follow_on_each_other() -> None:
    world = World()
    names = []
    for number in range(5):
        names.append(write(world.services, world.account_id, request_id=f"request-{number % 2}").event_id)
        world.advance(1)
    world.advance(SETTLED_AFTER.total_seconds())
    first = follow(world, limit=2)
    second = follow(world, first.cursor, limit=3)
    assert [each.event_id for each in first.events + second.events] == names
    assert (first.has_more, second.has_more) == (True, False)
    of_one = follow(world, by_request="request-1")
    assert [each.event_id for each in of_one.events] == [names[1], names[3]]
    for account_id, values in (("acct_other", {}), (world.account_id, {"by_request": "request-1"})):
        with pytest.raises(ValidationFailed, match="after is not one of this list"):
            follow(world, first.cursor, account_id=account_id, **values)


def test_no_function_that_writes_events_runs_until_they_are_settled() -> None:
    config = json.loads(Path(".chalice/config.json").read_text())
    timeouts = {name: each.get("lambda_timeout", config["lambda_timeout"]) for name, each in config["lambda_functions"].items()}
    writing = {name: seconds for name, seconds in timeouts.items() if name != "archive_paid"}  # it moves what is there
    assert timedelta(seconds=max(writing.values()) + 15) <= SETTLED_AFTER


# --- over HTTP ---


def get(shop: Shop, credentials: dict[str, str] | None = None, **query: object) -> Reply:
    return shop.api.get(f"/v2/events?{urlencode(query)}", credentials or shop.by_key)


def test_events_are_followed_by_an_api_key_or_a_session(new_shop: Shop) -> None:
    services = running()
    event = write(services, new_shop.account_id, variants=(EventVariant("payment.confirmed.checkout"),))
    write(services, new_shop.account_id, kind="payment.partial")
    answered = {
        "id": event.event_id,
        "kind": "payment.confirmed",
        "variants": ["payment.confirmed.checkout"],
        "clientId": None,
        "createdAt": iso(event.created_at),
        "sequence": None,
        "settled": False,
        "body": {"event": "payment.confirmed"},
    }
    for credentials in (new_shop.by_key, by_session(new_shop.account_id)):
        page = get(new_shop, credentials, kind="payment.confirmed").json
        assert (page["events"], page["hasMore"]) == ([answered], False)
        again = get(new_shop, credentials, kind="payment.confirmed", after=page["nextCursor"]).json
        assert again["events"] == [answered], "it is not settled"
    assert len(get(new_shop).json["events"]) == 2
    later = iso(services.clock() + SECOND)
    assert get(new_shop, fromDate=later).json["events"] == []


def test_a_client_id_alone_and_other_accounts_follow_nothing(new_shop: Shop) -> None:
    write(running(), new_shop.account_id)
    assert get(new_shop, new_shop.by_client).status == 403
    stranger = Shop(new_shop.api)
    assert get(stranger).json["events"] == []
    cursor = get(new_shop).json["nextCursor"]
    reply = get(stranger, after=cursor)
    assert (reply.status, reply.message.split(":")[0]) == (400, "after is not one of this list")


@pytest.mark.parametrize(
    ("query", "field"),
    [({"after": "x"}, "after"), ({"after": "A" * 2001}, "after"), ({"limit": 0}, "limit"), ({"limit": 101}, "limit"),
     ({"fromDate": "2026-02-30T00:00:00Z"}, "fromDate"), ({"kind": ""}, "kind")],
)  # fmt: skip
def test_bad_queries_are_refused_by_the_name_of_what_is_wrong(new_shop: Shop, query: dict[str, object], field: str) -> None:
    reply = get(new_shop, **query)
    assert reply.status == 400
    assert field in reply.message


def test_a_cursor_with_a_place_that_no_key_can_have_is_refused(new_shop: Shop) -> None:
    """Whoever has a key can make one up for lists of their own: the database would refuse it, which is answered by 500."""
    scope = Listing(new_shop.account_id, EVENTS, {}).scope
    for length, status in ((1_000, 200), (1_001, 400), (1_400, 400)):
        assert get(new_shop, after=cursor_of(Position("9" * length, (), 0, None), scope)).status == status
