"""PATCH /v2/request/{requestId}: its owner stops and resumes a recurrence, and keeps a note."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.payments.requests import flows, store
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Frequency, Recurrence, Request
from chalicelib.payments.requests.targets import Item
from tests.bench.calls import counted
from tests.fakes.crash import FragileClient, Interruption
from tests.fakes.world import PAYEE, World, in_process_aws
from tests.support.client import Reply, Shop, item, stored
from tests.support.items import refused
from tests.support.running import running

MONTHLY = {"startDate": "2101-01-31", "frequency": "MONTHLY"}


def create(shop: Shop, **changes: Any) -> str:
    request_id: str = shop.send("POST", "/v2/request", item(**changes)).json["requestId"]
    return request_id


def update(shop: Shop, request_id: str, body: Any = None) -> Reply:
    return shop.send("PATCH", f"/v2/request/{request_id}", {"isRecurrenceStopped": True} if body is None else body)


def is_stopped(request_id: str) -> bool:
    found = store.request(running().store, request_id)
    assert found is not None and found.recurrence is not None
    return found.recurrence.is_stopped


def test_a_recurrence_is_stopped_and_resumed(shop: Shop) -> None:
    request_id = create(shop, recurrence=MONTHLY)
    assert not is_stopped(request_id)
    for wanted in (True, True, False, False, True):
        reply = update(shop, request_id, {"isRecurrenceStopped": wanted})
        assert (reply.status, reply.json) == (200, {"requestId": request_id, "isRecurrenceStopped": wanted})
        assert is_stopped(request_id) == wanted
    assert update(shop, request_id.upper()).json["requestId"] == request_id


def test_it_is_found_by_its_payment_reference_too(shop: Shop) -> None:
    request_id = create(shop, recurrence=MONTHLY)
    found = store.request(running().store, request_id)
    assert found is not None
    for name, wanted in ((found.payment_reference, True), (found.payment_reference.upper(), False)):
        reply = update(shop, name, {"isRecurrenceStopped": wanted})
        assert (reply.status, reply.json) == (200, {"requestId": request_id, "isRecurrenceStopped": wanted})
        assert is_stopped(request_id) == wanted


def test_a_request_without_recurrence_has_nothing_to_stop(shop: Shop) -> None:
    message = "This request has no recurrence, so there is nothing to stop or to resume"
    assert refused(update(shop, create(shop))) == message
    assert refused(update(shop, shop.create(item()).json["requestIds"][0])) == message


@pytest.mark.parametrize("body", [{}, {"isRecurrenceStopped": None}, {"isRecurrenceStopped": "true"}, {"isRecurrenceStopped": 1}])
def test_what_is_not_true_or_false_is_refused(shop: Shop, body: Any) -> None:
    request_id, before = create(shop, recurrence=MONTHLY), stored()
    refused(update(shop, request_id, body), "isRecurrenceStopped")
    assert not is_stopped(request_id) and stored() == before


def test_a_request_of_somebody_else_is_as_unknown_as_one_that_does_not_exist(shop: Shop, new_shop: Shop) -> None:
    theirs = shop.api.request("POST", "/v2/request", item(recurrence=MONTHLY), new_shop.by_key).json
    own = shop.api.request("POST", "/v2/request", item(recurrence=MONTHLY), shop.by_key).json
    for name in (theirs["requestId"], theirs["paymentReference"], "01" + "f" * 64, "0x" + "f" * 16, "unknown"):
        reply = update(shop, name)
        assert (reply.status, reply.message) == (404, "Request not found"), name
    assert not is_stopped(theirs["requestId"])
    for name in (own["requestId"], own["paymentReference"]):
        reply = update(shop, name)
        assert (reply.status, is_stopped(own["requestId"])) == (403, False), "a client id is public"
        assert reply.message.startswith("A secret of the account has made this")
    path = f"/v2/request/{own['requestId']}"
    assert shop.api.request("PATCH", path, {"isRecurrenceStopped": True}, shop.by_key).status == 200


def test_a_note_is_kept_shown_to_its_owner_alone_and_removed(shop: Shop) -> None:
    for request_id in (create(shop), shop.create(item()).json["requestIds"][0]):
        path = f"/v2/request/{request_id}"

        def send(body: Any, path: str = path) -> Reply:
            return shop.api.request("PATCH", path, body, shop.by_key)

        reply = send({"note": "Call Ann <b>first</b>"})
        shown = {"requestId": request_id, "isRecurrenceStopped": False, "note": "Call Ann <b>first</b>"}
        assert (reply.status, reply.json) == (200, shown)
        notes = [shop.api.request("GET", path, None, each).json["note"] for each in (shop.by_key, shop.by_client)]
        assert notes == ["Call Ann <b>first</b>", None], "a client id is public"
        reply = update(shop, request_id, {"note": "mine"})
        assert reply.status == 403 and "a note is not" in reply.message
        for wrong in ("", "x" * 1001, 7):
            refused(send({"note": wrong}), "note")
        assert send({"note": None}).json == {"requestId": request_id, "isRecurrenceStopped": False}
        assert shop.api.request("GET", path, None, shop.by_key).json["note"] is None
    actions = [each["action"] for each in shop.api.request("GET", "/v1/audit", None, shop.by_key).json["entries"]]
    assert actions.count("request.updated") == 4


def test_a_note_and_a_recurrence_change_together_or_not_at_all(shop: Shop) -> None:
    path = f"/v2/request/{create(shop)}"
    reply = shop.api.request("PATCH", path, {"note": "x", "isRecurrenceStopped": True}, shop.by_key)
    assert "has no recurrence" in refused(reply)
    assert shop.api.request("GET", path, None, shop.by_key).json["note"] is None


# --- beside other writes ---


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


def recurring(world: World) -> Request:
    wanted = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    return flows.create(world.services, world.owner, Draft(wanted, recurrence=Recurrence("2101-01-01", Frequency.DAILY)))


def test_it_costs_a_read_and_a_write_and_no_write_if_nothing_changes(world: World) -> None:
    request = recurring(world)
    for expected in ({"BatchGetItem": 1, "UpdateItem": 1}, {"BatchGetItem": 1}):
        with counted(world.client) as calls:
            flows.change(world.services, request.request_id, world.owner, world.actor, flows.Change(True))
        assert dict(calls.by_operation) == expected


def test_a_payment_in_between_is_kept(world: World) -> None:
    request = recurring(world)

    def pay() -> None:
        found = store.request(world.services.store, request.request_id)
        assert found is not None
        world.services.store.write(replace(found, paid=found.amount))

    for fatal in (1, 2):
        services = world.start(FragileClient(world.client, Interruption(fatal, pay)))
        flows.change(services, request.request_id, world.owner, world.actor, flows.Change(fatal == 1))
    found = store.request(world.services.store, request.request_id)
    assert found is not None and found.paid == found.amount
    assert found.recurrence == request.recurrence


@pytest.mark.parametrize("position", [1, 2])
def test_of_two_at_once_both_take_effect_one_after_the_other(world: World, position: int) -> None:
    request = recurring(world)

    def stop() -> None:
        flows.change(world.services, request.request_id, world.owner, world.actor, flows.Change(True))

    services = world.start(FragileClient(world.client, Interruption(position, stop)))
    stopped = flows.change(services, request.request_id, world.owner, world.actor, flows.Change(True)).recurrence
    assert stopped == Recurrence("2101-01-01", Frequency.DAILY, is_stopped=True, period=1)
    found = store.request(world.services.store, request.request_id)
    assert found is not None and found.version == 2, "the second one found it stopped"
