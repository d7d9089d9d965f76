"""What a stage has stored is checked against the invariants; each of them can be broken, and is then named."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.links.records import Link, LinkStatus
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.storage.store import Store
from chalicelib.relayer.holdings.records import HoldingsTotal
from chalicelib.relayer.records import RelayedCall
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.records import Event
from infra import APP
from infra.check.__main__ import NothingToCheck, check, main, records
from infra.check.invariants import INVARIANTS, Picture, violations
from tests.fakes.world import World, create_tables, dynamodb_of_moto
from tests.simulation.running import Options, Outcome, simulate

HOUR = timedelta(hours=1)


def paid(world: World) -> None:
    world.register_webhook()
    link = world.create_link()
    world.chain.pay(link.requests[0])
    world.scan()
    world.drain()


def test_a_stage_whose_payments_are_recorded_and_told_has_no_violations(world: World) -> None:
    paid(world)
    assert check(world.services.store, 0) == []


def test_a_record_that_was_changed_by_hand_is_named(world: World) -> None:
    paid(world)
    (request,) = (each for each in records(world.services.store) if isinstance(each, Request))
    world.services.store.write(replace(request, paid=BaseUnits(request.paid + 1)))
    found = check(world.services.store, 0)
    assert [(each.invariant, each.about) for each in found] == [("totals", request.request_id)]
    assert "paid 12500001, its payments 12500000" in str(found[0])


def test_a_stage_without_events_is_not_said_to_be_right(world: World) -> None:
    world.create_link()
    with pytest.raises(NothingToCheck):
        check(world.services.store, 0)


def test_the_command_of_the_runbook_reads_the_tables_of_a_stage(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    paid(world)
    with dynamodb_of_moto() as client:
        create_tables(client, f"{APP}-prod")
        Store(f"{APP}-prod", client).put_many(records(world.services.store))
        assert main(["--stage", "prod"]) == 0
    assert capsys.readouterr().out == "Every invariant holds.\n"


def test_an_unknown_stage_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stage", "nowhere"]) == 2
    assert "There is no stage 'nowhere'; there are local" in capsys.readouterr().err


def test_a_stage_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert main(["--stage", "local"]) == 2
    assert "No local cloud answers" in capsys.readouterr().err


@pytest.fixture(scope="module")
def simulated() -> Outcome:
    return simulate(Options(1, 40, faults=False))


def changed(picture: Picture, kind: type[Any], change: Callable[[Any], Any]) -> Picture:
    """The picture with one record of a kind changed; None takes it away."""
    first, *others = picture.all(kind)
    made = change(first)
    return Picture(picture.now, {**picture.records, kind: others if made is None else [made, *others]})


BREAKS: dict[str, tuple[type[Any], Callable[[Any], Any]]] = {
    "totals": (Request, lambda each: replace(each, paid=BaseUnits(each.paid + 1))),
    "refunds": (Request, lambda each: replace(each, refunded=BaseUnits(each.received + 1))),
    "lists": (Payment, lambda each: None),
    "ends": (Link, lambda each: replace(each, status=LinkStatus.EXPIRED, expires_at=each.expires_at + 999 * HOUR)),
    "notified_once": (Payment, lambda each: replace(each, tx_hash="0x" + "12" * 32)),
    "numbered_once": (Event, lambda each: replace(each, sequence=each.sequence + 100)),
    "bounded_delays": (Event, lambda each: replace(each, published=False)),
    "escrow": (CommercePayment, lambda each: replace(each, captured=BaseUnits(each.captured + 1))),
    "calls": (RelayedCall, lambda each: replace(each, nonce=each.nonce + 1)),
    "holdings": (HoldingsTotal, lambda each: replace(each, amounts={"held": 7})),
}


def test_a_link_that_expired_by_a_time_that_one_node_alone_said_breaks_an_invariant(simulated: Outcome) -> None:
    run = simulated.run
    picture = Picture.of(run.deployment.store.everything(), run.now)
    picture.records[Cursor] = [replace(each, agreed_until=None) for each in picture.all(Cursor)]
    expired = [each.token for each in picture.all(Link) if each.status is LinkStatus.EXPIRED]
    assert expired
    assert set(expired) <= {each.about for each in violations(picture) if each.invariant == "ends"}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_an_invariant_is_named_by_it(name: str, simulated: Outcome) -> None:
    run = simulated.run
    picture = Picture.of(run.deployment.store.everything(), run.now)
    assert list(violations(picture)) == []
    assert name in {each.invariant for each in violations(changed(picture, *BREAKS[name]))}


def test_a_log_that_is_two_payments_and_an_event_that_is_delivered_twice_are_named(simulated: Outcome) -> None:
    run = simulated.run
    picture = Picture.of(run.deployment.store.everything(), run.now)
    payment, delivery = picture.all(Payment)[0], picture.all(Delivery)[0]
    picture.records[Payment].append(replace(payment, block_hash="0x" + "ef" * 32, request_id="another"))
    picture.records[Delivery].append(replace(delivery, delivery_id="another"))
    assert {"one_payment_per_log", "delivered_once"} <= {each.invariant for each in violations(picture)}


def test_every_invariant_is_explained() -> None:
    assert all(each.__doc__ for each in INVARIANTS)
