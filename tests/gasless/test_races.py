"""Two workers at the same gasless payments, and processes that die between any two of their calls."""

from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, Stage
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.emergency_stop import flows as emergency_stop
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.relayer.tracking import track
from tests.fakes.crash import Crash, Guarded, Interruption, Tripwire
from tests.fakes.gasless import HAD, NETWORK, PAYER, Gasless

OTHER = "0x" + "0d" * 20
STORED = ("get", "get_many", "query", "due", "write", "put_many")
OF_CHAIN = ("read_account", "run_as_sent", "send_raw", "read_wallet", "receipts_of", "read_codes")
STAGES = ("accepted", "delegated", "sending", "mined", "confirmed")
WORK = [*((each, False) for each in STAGES), ("delegated", True), ("confirmed", True)]
"""Where a payment is when a worker looks at it, and whether it is of a link: of one where something is read for it."""


def guarded(gasless: Gasless, wire: Any) -> Any:
    """The services of a process whose calls to the store and the node are guarded."""
    chain = Guarded(gasless.chain, OF_CHAIN, wire)
    chains = SimpleNamespace(of=lambda _: chain, evm=lambda _: chain, networks=gasless.services.chains.networks)
    return replace(gasless.services, store=Guarded(gasless.services.store, STORED, wire), chains=chains)


def work(services: Any) -> None:
    with suppress(SweepIncomplete, WriteConflict, ServiceError):
        gasless_running.run_due(services)
    with suppress(WriteConflict, ServiceError):
        track(services, NETWORK)


def at(stage: str, of_link: bool = False) -> tuple[Gasless, GaslessPayment]:
    gasless = Gasless(of_link=of_link)
    gasless.delegations = stage != "accepted"
    made = gasless.accept(gasless.offer())
    for _ in range({"accepted": 0, "delegated": 0, "sending": 1, "mined": 2, "confirmed": 4}[stage]):
        gasless.run()
        gasless.world.advance(15)
        if stage != "sending":
            gasless.chain.mine()
    gasless.world.advance(15)
    return gasless, made


def settle(gasless: Gasless) -> None:
    for _ in range(30):
        gasless.world.advance(60)
        work(gasless.services)
        gasless.world.scan()


def check(gasless: Gasless, *made: GaslessPayment) -> None:
    """What was taken is paid, at most once, and all of it has ended a while later."""
    settle(gasless)
    state = gasless.state
    assert state.made["taken"] == state.made["paid"] <= 1
    assert gasless.reverted == 0
    assert sum(state.balances.values()) == HAD * len({PAYER.lower(), *(each.payer.lower() for each in made)})
    stages = [gasless.load(each).stage for each in made]
    assert stages.count(Stage.PAID) == state.made["paid"] and set(stages) <= {Stage.PAID, Stage.FAILED, Stage.OFFERED}
    assert not gasless.loaded().is_executed
    assert all(each.check_at is None for each in gasless.services.store.all(GaslessBatch))


def calls(stage: str, of_link: bool) -> int:
    wire = Tripwire()
    gasless, _ = at(stage, of_link)
    work(guarded(gasless, wire))
    return wire.calls


@pytest.mark.parametrize(("stage", "of_link"), WORK)
def test_two_workers_make_a_payment_once(stage: str, of_link: bool) -> None:
    for position in range(1, calls(stage, of_link) + 1):
        gasless, made = at(stage, of_link)
        work(guarded(gasless, Interruption(position, lambda one=gasless: work(one.services))))  # type: ignore[misc]
        check(gasless, made)
        assert gasless.state.made["paid"] == 1, position


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("stage", "of_link"), WORK)
def test_a_payment_is_made_once_wherever_a_worker_dies(stage: str, of_link: bool, before: bool) -> None:
    for position in range(1, calls(stage, of_link) + 1):
        gasless, made = at(stage, of_link)
        with suppress(Crash):
            work(guarded(gasless, Tripwire(position, before)))
        check(gasless, made)
        assert gasless.state.made["paid"] == 1, position


@pytest.mark.parametrize("stage", ["accepted", "delegated", "sending", "mined"])
def test_while_payments_are_stopped_nothing_more_is_sent_and_afterwards_each_is_made_once(stage: str) -> None:
    for position in range(1, calls(stage, False) + 1):
        gasless, made = at(stage)

        def stop(one: Gasless = gasless) -> None:
            emergency_stop.stop(one.services, "a drill")
            one.services.stops.clear()  # as five seconds later

        work(guarded(gasless, Interruption(position, stop)))
        sent = len(gasless.chain.mempool.sent)
        for _ in range(4):
            gasless.world.advance(60)
            work(gasless.services)
        assert len(gasless.chain.mempool.sent) == sent, position
        emergency_stop.resume(gasless.services)
        check(gasless, made)
        assert gasless.state.made["paid"] == 1, position


def accept(gasless: Gasless, made: GaslessPayment, wire: Any = None) -> None:
    with suppress(ServiceError):
        gasless.accept(made, guarded(gasless, wire) if wire is not None else None)


def two_offers(of_link: bool) -> tuple[Gasless, GaslessPayment, GaslessPayment]:
    """Of one request to two payers."""
    gasless = Gasless(of_link=of_link)
    gasless.delegations = 1
    gasless.state.balances[OTHER] = HAD
    return gasless, gasless.offer(), gasless.offer(OTHER)


def calls_of_accepting(of_link: bool) -> int:
    wire = Tripwire()
    gasless, first, _ = two_offers(of_link)
    accept(gasless, first, wire)
    return wire.calls


def pay_by_transaction(gasless: Gasless) -> None:
    """Somebody pays the request, which is recorded."""
    gasless.chain.pay(gasless.loaded())
    gasless.chain.mine(3)
    gasless.world.scan()
    assert gasless.loaded().status is RequestStatus.PAID


@pytest.mark.parametrize("of_link", [False, True])
def test_of_two_payers_who_sign_at_once_one_pays(of_link: bool) -> None:
    for position in range(1, calls_of_accepting(of_link) + 1):
        gasless, first, second = two_offers(of_link)
        accept(gasless, first, Interruption(position, lambda one=gasless, it=second: accept(one, it)))  # type: ignore[misc]
        assert {gasless.load(first).stage, gasless.load(second).stage} == {Stage.SIGNED, Stage.OFFERED}
        check(gasless, first, second)
        assert gasless.state.made["paid"] == 1


@pytest.mark.parametrize("of_link", [False, True])
def test_a_request_that_is_paid_while_a_signature_is_accepted_is_not_paid_by_it(of_link: bool) -> None:
    for position in range(1, calls_of_accepting(of_link) + 1):
        gasless, first, second = two_offers(of_link)
        accept(gasless, first, Interruption(position, lambda one=gasless: pay_by_transaction(one)))  # type: ignore[misc]
        check(gasless, first, second)
        assert not gasless.state.made["paid"]


def test_a_request_that_is_paid_while_nodes_run_its_payment_is_not_paid_again() -> None:
    gasless, made = at("delegated")
    slow = Interruption(1, lambda: pay_by_transaction(gasless))
    chain = Guarded(gasless.chain, ("run_as_sent",), slow)
    chains = SimpleNamespace(of=lambda _: chain, evm=lambda _: chain, networks=gasless.services.chains.networks)
    work(replace(gasless.services, chains=chains))
    assert slow.calls
    check(gasless, made)
    assert not gasless.state.made["paid"]


def test_a_request_that_is_paid_before_a_worker_goes_on_with_its_batch_is_not_paid_again() -> None:
    gasless, made = at("delegated")
    position = 0
    while not gasless.services.store.all(GaslessBatch):  # dies once it is stored
        gasless, made = at("delegated")
        position += 1
        with suppress(Crash):
            work(guarded(gasless, Tripwire(position, before=False)))
    pay_by_transaction(gasless)
    check(gasless, made)
    assert not gasless.state.made["paid"]
