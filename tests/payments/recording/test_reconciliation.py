"""The totals of a request are compared with its payments, six hours after the blocks in which it was paid."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.payments.recording import matching
from chalicelib.payments.recording.reconciliation import reconcile, reconcile_escrow
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import flows as scanning
from tests.fakes.commerce import BUYER, FakeEscrow, hash_with, store_commerce
from tests.fakes.world import World


def paid_request(world: World) -> Request:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=5_000_000)
    world.chain.pay(payment.requests[0], amount=6_000_000)
    world.scan()
    return world.load(payment).requests[0]


def test_totals_that_are_the_sum_of_the_payments_do_not_differ(world: World) -> None:
    request = paid_request(world)
    assert request.paid == 11_000_000
    assert reconcile(world.services, request.payable_id) == []


def test_the_totals_include_what_was_only_summed_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 2)
    request = paid_request(world)
    store = world.services.store
    for _ in range(3):
        world.chain.pay(request, amount=1)
    world.scan()
    assert store.query(Request, Request.KEY.all(payable_id=request.payable_id))[0].dust_amount == 3
    assert reconcile(world.services, request.payable_id) == []


@pytest.mark.parametrize("change", [{"paid": BaseUnits(1)}, {"payment_count": 3}, {"dust_amount": BaseUnits(2)}])
def test_a_total_that_differs_is_found(world: World, change: dict[str, int]) -> None:
    request = replace(paid_request(world), **change)  # type: ignore[arg-type]
    world.services.store.write(request)
    assert [each.request_id for each in reconcile(world.services, request.payable_id)] == [request.request_id]


def test_a_link_that_does_not_exist_has_no_totals(world: World) -> None:
    assert reconcile(world.services, "01NOSUCHLINK") == []


def test_the_recorder_compares_a_link_six_hours_after_it_was_paid(world: World) -> None:
    request = paid_request(world)
    asked: dict[int, list[str]] = {}
    for hours in (5, 7):
        world.advance(timedelta(hours=hours).total_seconds())
        world.chain.mine(3)
        scanning.scan(world.services, "sepolia")
        asked[hours] = [each.body for each in world.queue.messages if "reconcile" in each.body]
        world.drain()
    assert asked == {5: [], 7: [json.dumps({"account": "acct", "bills": [request.payable_id], "reconcile": True})]}


def test_the_books_of_a_commerce_payment_are_compared_with_the_escrow(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = list[str]()
    monkeypatch.setattr(world.services.log, "error", lambda message, **_: logged.append(message))
    payment = store_commerce(world)
    escrow = FakeEscrow(world.chain, payment)
    escrow.log(EscrowEventKind.AUTHORIZED, 100)
    escrow.log(EscrowEventKind.CAPTURED, 60)
    escrow.log(EscrowEventKind.REFUNDED, 10)
    world.scan()
    world.chain.escrow_states[hash_with(payment, BUYER)] = EscrowState(True, BaseUnits(40), BaseUnits(50), True)
    assert reconcile_escrow(world.services, payment.payable_id) is True
    world.chain.escrow_states[hash_with(payment, BUYER)] = EscrowState(True, BaseUnits(39), BaseUnits(51), True)
    assert reconcile_escrow(world.services, payment.payable_id) is False
    assert logged == ["escrow differs"]


def test_what_is_not_recorded_yet_or_was_never_paid_is_not_compared(world: World) -> None:
    payment = store_commerce(world)
    FakeEscrow(world.chain, payment).log(EscrowEventKind.AUTHORIZED, 100)
    world.scan()
    world.chain.mine(2)
    FakeEscrow(world.chain, payment).log(EscrowEventKind.CAPTURED, 60)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")
    assert reconcile_escrow(world.services, payment.payable_id) is None
    assert reconcile_escrow(world.services, store_commerce(world, buyer=None).payable_id) is None
    assert reconcile_escrow(world.services, world.create_link().link.token) is None
