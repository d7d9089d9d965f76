"""Random histories of a payout: events lost, late, repeated and mixed up, payments, forks and sweeps in any order."""

import json
import random

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.core.rules import FAILURES, STEPS
from chalicelib.offramp.service import checking, flows
from chalicelib.payments.requests.records import Request
from chalicelib.platform.outbound.compliance import ProviderOrder, order_of
from tests.fakes.offramps import load_order, load_payer, notified, store_payer
from tests.fakes.requests import load_request
from tests.fakes.world import World, in_process_aws
from tests.offramp.service.test_flows import choose, unpaid
from tests.support.rehearsed import parts

WALK = [each.value for each in OrderStatus if each not in (OrderStatus.CREATED, OrderStatus.LOST, OrderStatus.UNKNOWN)]
STEP_NAMES = [step.value for step in STEPS]


def events(world: World) -> list[ProviderOrder]:
    """All events that the provider has sent about the order."""
    sent = [json.loads(raw) for raw in world.compliance.provider.events]
    return [order_of(each["data"]) for each in sent if each["kind"] == "order"]


def provided(world: World, order_id: str) -> str:
    """The status of the order at the provider."""
    return str(world.compliance.provider.resources["orders"][order_id]["status"])


def history(world: World, request: Request, chance: random.Random, steps: int) -> None:
    order_id, is_paid = load_order(world.services, request).order_id, False
    for _ in range(steps):
        match chance.choice(["move", "move", "move", "arrive", "arrive", "pay", "fork", "sweep"]):
            case "move" if provided(world, order_id) != "refunded":  # its event may never arrive; nothing follows this
                world.compliance.provider.move("orders", order_id, {"status": chance.choice(WALK)})
            case "arrive" if events(world):
                flows.take(world.services, chance.choice(events(world)))
            case "pay" if not is_paid:
                world.chain.pay(request)
                world.scan()
                is_paid = True
            case "fork" if is_paid and chance.random() < 0.5:
                world.chain.fork(4)
                world.scan()
                is_paid = False
            case "sweep":
                world.advance(chance.choice([60, 3600, 86_400]))
                checking.check_due(world.services)
        world.drain()
    if not is_paid:
        world.chain.pay(request)
        world.scan()
    for _ in range(3):
        world.advance(86_400)
        checking.check_due(world.services)


@pytest.mark.parametrize("group", parts(5))
def test_every_history_is_told_in_order_without_repetition_and_to_its_end(group: int) -> None:
    for seed in range(group * 6, group * 6 + 6):
        with in_process_aws() as client:
            world, chance = World(client, seed=seed), random.Random(seed)
            payer = store_payer(world.services)
            request = choose(world, unpaid(world))
            history(world, request, chance, steps=25)
            order = load_order(world.services, request)
            assert order.provider_status == provided(world, order.order_id), seed
            check(notified(world), order.status, seed)
            assert load_request(world.services, request).fiat is not None
            assert load_payer(world.services, payer).open_orders == order.is_counted


def check(sent: list[tuple[str, str]], status: OrderStatus, seed: int) -> None:
    """The steps of each attempt are in order, none twice and none left out; the last attempt has come to its end."""
    attempt: list[str] = []
    for number, (event, sub_status) in enumerate(sent):
        if event == "failed":
            attempt = []
        elif event == "processing" and sub_status in STEP_NAMES:
            if sub_status == "initiated":  # a new attempt begins after a failure, or is the first one
                assert attempt == [], (seed, number)
            attempt.append(sub_status)
            assert attempt == STEP_NAMES[: len(attempt)] or not attempt, (seed, number)
        elif event == "confirmed":
            assert attempt == STEP_NAMES, (seed, number)
            assert sent[number - 1] == ("processing", "fiat_sent"), (seed, number)
    main = [(event, sub_status) for event, sub_status in sent if sub_status != "retry_required"]
    if status in FAILURES:
        assert main[-1][0] == "failed", seed
    elif status is OrderStatus.FIAT_SENT:
        assert main[-1][0] == "confirmed", seed
    elif status in STEPS:
        assert status.value in attempt or not attempt, seed


def test_two_calls_that_choose_accounts_at_once_make_one_order(world: World) -> None:
    """The second one comes between the provider's answer to the first and its write."""
    store_payer(world.services)
    request, asked = unpaid(world), world.compliance._send

    def overtaken(*arguments: object) -> tuple[int, bytes]:
        answer = asked(*arguments)  # type: ignore[arg-type]
        world.compliance._send = asked  # type: ignore[method-assign]
        choose(world, request)
        return answer

    world.compliance._send = overtaken  # type: ignore[method-assign]
    first = choose(world, request)
    assert first == load_request(world.services, request)
    assert load_order(world.services, request).version == 1
    assert len(world.compliance.provider.resources["orders"]) == 1


def test_a_payment_between_the_choice_and_its_write_is_not_lost(world: World) -> None:
    """The request had a payee, to whom a part was paid while the provider made the order."""
    store_payer(world.services)
    request, asked = unpaid(world, payee="0x" + "11" * 20), world.compliance._send

    def overtaken(*arguments: object) -> tuple[int, bytes]:
        world.chain.pay(request, amount=5)
        world.scan()
        return asked(*arguments)  # type: ignore[arg-type]

    world.compliance._send = overtaken  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="has been paid to its payee"):
        choose(world, request)
    assert load_request(world.services, request).payee == request.payee
