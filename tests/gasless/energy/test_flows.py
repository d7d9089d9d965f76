"""Energy for single payments on Tron: given once, taken back whatever happens, and no more than the operator allows."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, ServiceError
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.readings import Delegated, ResourceTotals
from chalicelib.gasless.energy import flows
from chalicelib.gasless.energy.records import EnergyDelegation, EnergyUse, Stage
from chalicelib.payments.links.records import PayableLink
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.sweeping import SweepIncomplete
from infra.local.tron_resources import SUN
from infra.local.tron_transactions import DELEGATE, Transaction, address21, base58_address
from tests.fakes.crash import Crash, Guarded, Interruption, Tripwire
from tests.fakes.energy import BANDWIDTH, ENERGY, OTHER, PAYER, Energy, with_chain
from tests.fakes.wallets import tron_wallet

GIVEN = (ENERGY // 10 * SUN, BANDWIDTH * 2 // 3 * SUN)
STORED = ("get", "get_many", "query", "query_mixed", "due", "write")
OF_CHAIN = ("read_stake", "read_delegated", "read_reference_block", "broadcast")
STAGES = {"asked": 8, "given": 6, "paid": 8, "late": 8, "taking": 6, "taken": 5}
"""Each with how many calls the next step takes."""


def guarded(energy: Energy, wire: Any) -> Any:
    """The services of a process whose calls to the store and the nodes are guarded."""
    services = with_chain(energy.services, Guarded(energy.chain, OF_CHAIN, wire))
    return replace(services, store=Guarded(services.store, STORED, wire))


def with_settings(services: Any, **settings: Any) -> Any:
    return replace(services, settings=replace(services.settings, **settings))


# --- what is given, and taken back ---


def test_what_a_wallet_lacks_is_given_once_and_taken_back_after_the_payment() -> None:
    energy = Energy()
    link = energy.link()
    made = energy.delegate(link)
    assert (made.energy_stake, made.bandwidth_stake) == GIVEN
    assert energy.delegate(link) == made
    energy.run(4)
    assert (energy.delegated(), energy.load().stage, len(energy.chain.made)) == (GIVEN, Stage.GIVEN, 2)
    energy.complete(link)
    energy.run(1)
    assert (energy.delegated(), energy.load().stage) == ((0, 0), Stage.TAKING)
    energy.run(4)
    assert (energy.load().stage, energy.load().unpaid, energy.load().next_due) == (Stage.ENDED, False, None)
    assert len(energy.chain.made) == 4


def test_what_is_not_paid_is_taken_back_after_a_quarter_of_an_hour_and_the_wallet_waits_a_day() -> None:
    energy = Energy()
    link = energy.link()
    energy.delegate(link)
    energy.run(14)
    assert energy.delegated() == GIVEN
    energy.run(6)
    assert (energy.delegated(), energy.load().stage, energy.load().unpaid) == ((0, 0), Stage.ENDED, True)
    for again in (link, energy.link()):
        with pytest.raises(Conflict, match="did not pay with it"):
            energy.delegate(again)
    assert energy.delegate(energy.link(), account_id="another").stage is Stage.GIVEN, "another merchant's wallet"
    energy.run(20)
    energy.world.advance(86_400)
    assert energy.delegate(link, account_id="another").stage is Stage.GIVEN


def test_a_wallet_has_one_delegation_at_a_time() -> None:
    energy = Energy()
    energy.delegate(energy.link())
    with pytest.raises(Conflict, match="not finished"):
        energy.delegate(energy.link())
    assert energy.delegate(energy.link(), OTHER).stage is Stage.GIVEN


def test_what_never_got_into_a_block_ends_and_may_be_asked_for_anew() -> None:
    energy = Energy()
    link = energy.link()
    energy.chain.takes = False
    energy.delegate(link)
    energy.run(5)
    assert (energy.load().stage, energy.load().unpaid) == (Stage.ENDED, False)
    energy.chain.takes = True
    energy.delegate(link)
    energy.run(2)
    assert energy.delegated() == GIVEN


def test_a_link_that_is_closed_or_gone_has_it_taken_back_at_once() -> None:
    energy = Energy()
    link = energy.link()
    energy.delegate(link)
    energy.run(4)
    energy.services.store.write(replace(energy.world.load(link).link, expires_at=energy.world.now))
    energy.run(1)
    assert (energy.delegated(), energy.load().stage) == ((0, 0), Stage.TAKING)


def test_what_cannot_be_taken_back_for_an_hour_raises_an_alarm_and_is_tried_on() -> None:
    energy = Energy()
    energy.delegate(energy.link())
    energy.run(2)
    energy.chain.takes = False
    energy.run(70)
    with pytest.raises(SweepIncomplete):
        energy.run(5)
    energy.chain.takes = True
    for _ in range(9):
        with suppress(SweepIncomplete):
            energy.run(1)
    assert (energy.delegated(), energy.load().stage) == ((0, 0), Stage.ENDED)


# --- limits ---


def wallet(number: int) -> str:
    return tron_wallet(f"wallet {number}").address


def test_the_budgets_of_an_account_and_of_a_day_hold() -> None:
    energy = Energy(5 * ENERGY, relayer_account_percent=40)
    link, given = energy.link(), []
    for number, account in enumerate("aaabbbccc"):
        with suppress(Conflict):
            given.append(energy.delegate(link, wallet(number), account_id=account).account_id)
    assert given == ["a", "a", "b", "b", "c"]
    assert {each.account_id: each.energy for each in energy.services.store.all(EnergyUse)} == {
        "*": 5 * ENERGY, "a": 2 * ENERGY, "b": 2 * ENERGY, "c": ENERGY
    }  # fmt: skip
    with pytest.raises(Conflict, match="No more energy is delegated today"):
        energy.delegate(link, wallet(9), account_id="d")
    energy.world.advance(86_400)
    assert energy.delegate(link, wallet(9), account_id="d").stage is Stage.GIVEN


def test_two_workers_never_pass_a_budget_or_give_a_wallet_twice() -> None:
    def at(position: int, other: str) -> Energy:
        energy = Energy(ENERGY, relayer_account_percent=100)
        link = energy.link()

        def ask(services: Any, who: str) -> None:
            with suppress(ServiceError, WriteConflict):
                flows.delegate(services, energy.wish(link, who))

        ask(guarded(energy, Interruption(position, lambda: ask(energy.services, other))), PAYER)
        energy.run(2)
        return energy

    for position in range(1, 14):
        for other in (PAYER, OTHER):
            energy = at(position, other)
            (of_all,) = [each for each in energy.services.store.all(EnergyUse) if each.account_id == "*"]
            assert (of_all.energy, len(energy.chain.made)) == (ENERGY, 2), (position, other)


def test_a_stake_that_has_too_little_left_gives_nothing() -> None:
    energy = Energy()
    energy.chain.stake[1] = GIVEN[0] - 1
    with pytest.raises(Conflict, match="Too little of the stake"):
        energy.delegate(energy.link())
    assert energy.services.store.all(EnergyUse) == []


def test_without_a_stake_that_is_set_rightly_nothing_is_given() -> None:
    energy = Energy()
    for text in (None, "", "account=T1,daily=1", f"account={OTHER}", f"account={OTHER},daily=-1", f"account={OTHER},daily=1,key=x", "1"):
        energy.services.secrets.tron_energy = text
        with pytest.raises(BadRequest, match="delegates no energy"):
            energy.delegate(energy.link())
    energy.set(OTHER)
    with pytest.raises(BadRequest, match="delegates no energy"):
        flows.delegate(with_settings(energy.services, stage="prod"), energy.wish(energy.link()))
    assert energy.services.store.all(EnergyDelegation) == []


def test_with_a_budget_of_nothing_what_is_delegated_is_taken_back() -> None:
    energy = Energy()
    energy.delegate(energy.link())
    energy.set(energy.chain.owner, 0)
    with pytest.raises(Conflict):
        energy.delegate(energy.link(), OTHER)
    energy.run(20)
    assert energy.load().stage is Stage.ENDED


def test_another_key_than_that_of_the_stake_signs_by_its_permission() -> None:
    energy = Energy()
    energy.chain.permits = True
    energy.set(OTHER)
    made = energy.delegate(energy.link())
    signed = [Transaction.of_hex(each) for each in made.signed]
    assert {(base58_address(each.call.owner), each.call.permission_id) for each in signed} == {(OTHER, 2)}
    assert all(each.signature_problem(address21(energy.chain.owner)) is None for each in signed)


# --- processes that die, and nodes that lie ---


def at(stage: str) -> tuple[Energy, PayableLink]:
    energy = Energy()
    link = energy.link()
    if stage == "asked":
        return energy, link
    energy.delegate(link)
    if stage == "paid":
        energy.complete(link)
    energy.run({"given": 0, "paid": 3, "late": 14, "taking": 15, "taken": 18}[stage])
    energy.world.advance(60)
    energy.chain.pass_time(60)
    return energy, link


def work(energy: Energy, link: PayableLink, services: Any) -> None:
    with suppress(ServiceError, WriteConflict, SweepIncomplete):
        energy.look(services)
        if not energy.services.store.all(EnergyDelegation):
            flows.delegate(services, energy.wish(link))


def check(energy: Energy, where: object) -> None:
    """At most one delegation was made, and nothing of it is left."""
    energy.run(25)
    given = [each for _, each in energy.chain.made if each.call.type == DELEGATE]
    assert energy.delegated() == (0, 0) and len(given) in (0, 2), where
    assert all(each.stage is Stage.ENDED for each in energy.services.store.all(EnergyDelegation)), where
    assert energy.chain.stake == {0: 10**6 * SUN, 1: 10**6 * SUN}, where


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_left_delegated_wherever_a_worker_dies_or_is_overtaken(stage: str) -> None:
    wire = Tripwire()
    energy, link = at(stage)
    work(energy, link, guarded(energy, wire))
    assert wire.calls >= STAGES[stage]
    for position in range(1, wire.calls + 1):
        for before in (True, False):
            energy, link = at(stage)
            with suppress(Crash):
                work(energy, link, guarded(energy, Tripwire(position, before)))
            check(energy, (stage, position, before))
        energy, link = at(stage)
        other = Interruption(position, lambda one=energy, it=link: work(one, it, one.services))  # type: ignore[misc]
        work(energy, link, guarded(energy, other))
        check(energy, (stage, position))


class Liar:
    """A node beside an honest one, which says something else."""

    def __init__(self, honest: Any, **lies: Any) -> None:
        self._honest, self._lies = honest, lies

    def __getattr__(self, name: str) -> Any:
        return self._lies.get(name) or getattr(self._honest, name)


def beside(energy: Energy, is_first: bool, **lies: Any) -> None:
    pair = [("liar", Liar(energy.chain, **lies)), ("honest", energy.chain)]
    energy.serve(Nodes(pair if is_first else pair[::-1], energy.world.clock))  # type: ignore[arg-type]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("times", [100, 0.01])
def test_no_node_alone_says_what_a_stake_gives(is_first: bool, times: float) -> None:
    energy = Energy()
    true = energy.chain.read_stake("")
    totals = ResourceTotals(true.energy_totals.limit, int(true.energy_totals.weight * times))
    beside(energy, is_first, read_stake=lambda _: replace(true, energy_totals=totals))
    with pytest.raises(ChainUnavailable, match="what a stake gives"):
        energy.delegate(energy.link())
    assert energy.chain.pending == []


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_alone_ends_a_delegation_or_has_what_may_be_pending_signed_anew(is_first: bool) -> None:
    energy = Energy()
    link = energy.link()
    energy.delegate(link)
    energy.run(2)
    beside(energy, is_first, read_delegated=lambda *_: Delegated(10**15))
    energy.complete(link)
    energy.run(3)
    assert (energy.delegated(), energy.load().stage) == (GIVEN, Stage.GIVEN)
    energy.serve(energy.chain)
    energy.run(6)
    assert (energy.delegated(), energy.load().stage) == ((0, 0), Stage.ENDED)


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_alone_makes_what_is_signed_valid_for_longer(is_first: bool) -> None:
    energy = Energy()
    late = replace(energy.chain.read_reference_block(), time=energy.chain.time + 10**9)
    beside(energy, is_first, read_reference_block=lambda: late)
    made = energy.delegate(energy.link())
    assert made.signed_until == energy.chain.time + 120_000
