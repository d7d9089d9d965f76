"""The sweep over off-ramp orders: lost events, a provider that does not answer, orders that stay open."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.payers.rules import erase_payer
from chalicelib.offramp.service import checking, flows
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.offramps import load_order, load_payer, notified, processing, store_payer
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World
from tests.offramp.service.test_flows import STEPS, choose, moved, paid
from tests.support.rehearsed import few


def silently(world: World, request: Request, status: str) -> None:
    """The provider moves the order, and its event is lost."""
    world.compliance.provider.move("orders", load_order(world.services, request).order_id, {"status": status})


def asked(world: World) -> int:
    return sum(method == "GET" for method, _ in world.compliance.calls)


def check(world: World) -> int:
    return checking.check_due(world.services)


def run(world: World, days: int, every: timedelta = timedelta(minutes=30)) -> int:
    """Runs the sweep at this interval for so many days; returns how many orders it checked."""
    checks = 0
    for _ in range(timedelta(days) // every):
        world.advance(every.total_seconds())
        checks += check(world)
    return checks


def test_what_a_lost_event_would_have_told_is_read(world: World) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    silently(world, request, "sending_fiat")
    assert check(world) == 1
    assert load_payer(world.services, payer).open_orders == 1
    silently(world, request, "fiat_sent")
    assert check(world) == 0  # not due yet
    world.advance(world.services.settings.offramp_check_seconds)
    assert check(world) == 1
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]
    assert load_payer(world.services, payer).open_orders == 0


def test_an_unpaid_order_is_not_read(world: World) -> None:
    store_payer(world.services)
    choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True))
    world.advance(30 * 86_400)
    assert (check(world), asked(world)) == (1, 0), "from now on it does not count as under way"
    assert (check(world), asked(world)) == (0, 0)


def test_money_that_a_bank_returns_days_later_is_noticed(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "fiat_sent")
    check(world)
    silently(world, request, "bounced")
    world.advance(86_400)
    check(world)
    assert notified(world)[-3:] == [("confirmed", ""), *processing("bounced"), ("failed", "bounced")]


def test_a_provider_that_does_not_answer_is_asked_once_per_run_and_about_another_order_next(world: World) -> None:
    store_payer(world.services)
    first = paid(world)
    others = [choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True)) for _ in range(2)]
    for other in others:
        world.chain.pay(other)
    world.scan()
    world.compliance.trouble = lambda method, path: "down"
    for run in range(1, 4):
        assert (check(world), asked(world)) == (0, run)
    assert {path for method, path in world.compliance.calls if method == "GET"} == {
        f"/orders/{load_order(world.services, each).order_id}" for each in (first, *others)
    }
    world.compliance.trouble = lambda method, path: None
    world.advance(3600)
    assert check(world) == 3


def test_an_end_whose_payment_was_not_at_hand_is_told_by_the_next_check_once(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "fiat_sent")
    known = load_order(world.services, request)
    sent = {"status": OrderStatus.FIAT_SENT, "provider_status": "fiat_sent", "announced": 5, "sequence": 2}
    world.services.store.write(replace(known, **sent, check_at=world.now))
    assert check(world) == 1
    assert notified(world)[-1] == ("confirmed", "")
    run(world, days=2)
    assert [event for event, _ in notified(world)].count("confirmed") == 1
    assert load_request(world.services, request).is_settled


def test_an_order_that_fails_stops_no_other(world: World) -> None:
    store_payer(world.services)
    first = paid(world)
    other = choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True))
    world.chain.pay(other)
    world.scan()
    silently(world, other, "sending_fiat")
    key = load_order(world.services, first).key
    world.client.update_item(
        TableName="payment-requests-local-payments",
        Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
        UpdateExpression="SET provider_id = :number",
        ExpressionAttributeValues={":number": {"M": {}}},
    )
    with pytest.raises(SweepIncomplete):
        check(world)
    assert load_order(world.services, other).status is OrderStatus.SENDING_FIAT


def test_an_order_that_the_provider_does_not_know_is_lost_and_told_to_nobody_as_failed(
    world: World, logged: list[str]
) -> None:
    """Its money may be on the way: whoever is told of a failure would have the request paid again."""
    payer = store_payer(world.services)
    request = paid(world)
    world.compliance.provider.resources["orders"].clear()
    checking.check_due(world.services)
    assert load_order(world.services, request).status is OrderStatus.CREATED
    assert logged == []
    run(world, days=1)
    assert load_order(world.services, request).status is OrderStatus.LOST
    assert set(logged) == {"off-ramp order is not known to the provider"}
    assert (notified(world), load_request(world.services, request).shown_status) == (
        processing("initiated"),
        "processing",
    )
    assert load_payer(world.services, payer).open_orders == 1


@pytest.mark.parametrize("is_known", few([True], [True, False]))
def test_an_order_that_never_ends_is_asked_for_ever_more_seldom_given_up_and_its_payer_can_be_erased(
    world: World, logged: list[str], is_known: bool
) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    silently(world, request, "ongoing_checks")
    if not is_known:
        world.compliance.provider.resources["orders"].clear()
    run(world, days=29, every=timedelta(hours=1))
    before = asked(world)
    assert 100 < before < 130, "twice as long each time, at most six hours"
    with pytest.raises(Conflict, match="under way"):
        erase_payer(load_payer(world.services, payer), world.now)
    run(world, days=3, every=timedelta(hours=1))
    assert logged.count("off-ramp order is given up") == 1
    assert load_payer(world.services, payer).open_orders == 0
    assert erase_payer(load_payer(world.services, payer), world.now).sealed is None
    before = asked(world)
    assert (run(world, days=60, every=timedelta(hours=6)), asked(world)) == (0, before)
    assert notified(world)[-1][0] == "processing", "the merchant is not told of a failure that nobody knows of"


def test_an_order_that_was_given_up_goes_on_when_the_provider_tells_of_it(world: World) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    run(world, days=32, every=timedelta(hours=2))
    flows.take(world.services, moved(world, request, "sending_fiat"))
    assert load_payer(world.services, payer).open_orders == 1
    silently(world, request, "fiat_sent")
    run(world, days=1)
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]
    assert load_payer(world.services, payer).open_orders == 0


def test_an_order_that_is_found_again_is_lost_no_more(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "ongoing_checks")
    kept = dict(world.compliance.provider.resources["orders"])
    check(world)
    world.compliance.provider.resources["orders"].clear()
    run(world, days=1)
    world.compliance.provider.resources["orders"].update(kept)
    run(world, days=1)
    found = load_order(world.services, request)
    assert (found.status, found.missing_since) == (OrderStatus.ONGOING_CHECKS, None)
    assert notified(world) == processing(*STEPS[:3])


def test_an_order_of_another_person_under_the_same_id_is_none(world: World, logged: list[str]) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "fiat_sent")
    world.compliance.provider.resources["orders"][load_order(world.services, request).order_id]["userId"] = "another"
    run(world, days=1)
    assert load_order(world.services, request).status is OrderStatus.LOST
    assert notified(world) == processing("initiated")


def test_an_order_without_an_end_raises_an_alarm_after_days(world: World, logged: list[str]) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "ongoing_checks")
    check(world)
    assert logged == []
    world.advance(world.services.settings.offramp_late_seconds + timedelta(hours=6).total_seconds())
    check(world)
    assert logged == ["off-ramp order is late"]


def test_a_status_that_is_not_known_is_logged(world: World, logged: list[str]) -> None:
    store_payer(world.services)
    request = paid(world)
    silently(world, request, "teleporting")
    check(world)
    assert logged == ["off-ramp order has a status that is not known"]
    assert load_request(world.services, request).shown_status == "processing"


def test_without_a_provider_nothing_is_read(world: World) -> None:
    store_payer(world.services)
    paid(world)
    world.compliance._base_url = ""
    assert (check(world), asked(world)) == (0, 0)


@pytest.fixture
def logged(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages of errors that are logged."""
    lines: list[str] = []
    monkeypatch.setattr(world.services.log, "error", lambda message, **_: lines.append(message))
    return lines
