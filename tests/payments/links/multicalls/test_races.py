"""Multicalls on a real local cloud: how many calls they cost, what a crash leaves, and who wins a race."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.payments.links import expiry
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls import flows, reading
from chalicelib.payments.links.multicalls.children import MulticallRefused
from chalicelib.payments.links.multicalls.rules import MulticallDetails
from chalicelib.payments.links.records import ASSEMBLY_TIME, Link, PayableLink
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.bench.calls import counted
from tests.bench.multicalls import create
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.payouts import store_payouts
from tests.fakes.world import World
from tests.support.errors import body_of
from tests.support.rehearsed import few, rehearsed

PARALLEL = 20
_worlds = itertools.count(70_000)


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud."""
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=number, multicall_max_children=1000)
    world.account_id, world.client_id = f"acct{number}", f"cli{number}"
    return world


def loaded(world: World, children: list[PayableLink]) -> list[Link]:
    found = link_reading.load_many(world.services, [child.link.token for child in children])
    return [found[child.link.token].link for child in children]


def living(world: World, children: list[PayableLink]) -> set[str]:
    """The multicalls that exist, in whatever state, among those that claimed the children."""
    keys = {Link.KEY.of(token=child.parent_token) for child in loaded(world, children) if child.parent_token}
    return {found.token for found in world.services.store.get_many(dict.fromkeys(keys, Link)).values()}


@pytest.mark.parametrize(
    ("count", "calls"),
    [
        (2, {"BatchGetItem": 1, "TransactWriteItems": 1}),
        (98, {"BatchGetItem": 4, "TransactWriteItems": 1}),
        (99, {"BatchGetItem": 4, "TransactWriteItems": 2}),
        (150, {"BatchGetItem": 6, "TransactWriteItems": 2}),
        pytest.param(1000, {"BatchGetItem": 40, "TransactWriteItems": 11}, marks=rehearsed),
    ],
)
def test_combining_payouts_costs_batches_of_a_hundred(world: World, count: int, calls: dict[str, int]) -> None:
    """Four keys of each child are read; the parent is written with 98 children, or first and last of all records."""
    made = store_payouts(world.services, world.account_id, count)
    counts, _ = create(world, made)
    assert dict(counts.by_operation) == calls
    (token,) = living(world, made)
    with counted(world.client) as reads:
        details = reading.read(world.services, token, world.account_id)
    assert dict(reads.by_operation) == {"Query": 1, "BatchGetItem": calls["BatchGetItem"]}
    assert details.can_execute
    assert details.payable.link.child_tokens == tuple(child.link.token for child in made)


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
def test_a_multicall_is_whole_or_its_children_are_free_wherever_its_creation_dies(world: World, before: bool) -> None:
    made = store_payouts(world.services, world.account_id, 250)
    tokens = [child.link.token for child in made]
    die(world, tokens, 10 + 1, before=False)  # its claims are looked up by those that follow
    sweep(world)
    reads, writes = 10 + 2, 3  # the children; their last parent, and what may hold it
    for fatal in (1, *range(reads, reads + writes + 1)):
        die(world, tokens, fatal, before)
        is_whole = fatal == reads + writes and not before
        for parent in living(world, made):
            assert (link_reading.load(world.services, parent) is not None) == is_whole, "no reader sees half of one"
        sweep(world)
        assert len(living(world, made)) == is_whole, f"died at call {fatal}"
    if before:
        assert flows.create(world.services, world.owner, tokens, None).can_execute
    else:
        assert {link.parent_token for link in loaded(world, made)} == living(world, made)


def die(world: World, tokens: list[str], fatal: int, before: bool) -> None:
    """A process that combines the payouts ends at its `fatal` call."""
    services = world.start(FragileClient(world.client, Tripwire(fatal, before)))
    with pytest.raises(Crash):
        flows.create(services, world.owner, tokens, None)


def sweep(world: World) -> None:
    world.advance(ASSEMBLY_TIME.total_seconds())
    expiry.expire_due(world.services)


def in_parallel(create: Callable[[Any, int], MulticallDetails], cloud: Cloud, world: World) -> list[Any]:
    """Runs `create` in 20 threads that start together, each as a process of its own; refusals are results."""
    barrier = threading.Barrier(PARALLEL)

    def run(number: int) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return create(services, number)
        except (MulticallRefused, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))


def winners_of(results: list[Any]) -> list[MulticallDetails]:
    """Those that were made; every other one was told that its children are claimed."""
    for refusal in results:
        if isinstance(refusal, MulticallRefused):
            assert {failure["reason"] for failure in body_of(refusal)["failures"]} == {"invalid_child_linkage"}
    return [result for result in results if isinstance(result, MulticallDetails)]


@pytest.mark.parametrize("count", few([5], [5, 120]), ids=["one transaction", "in chunks"])
def test_of_20_parallel_multicalls_over_the_same_children_one_wins_or_none(
    cloud: Cloud, world: World, count: int
) -> None:
    made = store_payouts(world.services, world.account_id, count)
    tokens = [child.link.token for child in made]

    def combine(services: Any, number: int) -> MulticallDetails:
        start = number * count // PARALLEL
        return flows.create(services, world.owner, tokens[start:] + tokens[:start], None)

    winners = winners_of(in_parallel(combine, cloud, world))
    assert len(winners) == 1 if count < 100 else len(winners) <= 1
    if not winners:
        assert living(world, made) == set(), "and the children are free"
        winners = [flows.create(world.services, world.owner, tokens, None)]
    token = winners[0].payable.link.token
    assert {link.parent_token for link in loaded(world, made)} == living(world, made) == {token}
    assert reading.read(world.services, token, world.account_id).can_execute


def test_of_20_parallel_multicalls_that_overlap_each_winner_holds_all_its_children(cloud: Cloud, world: World) -> None:
    made = store_payouts(world.services, world.account_id, PARALLEL)
    tokens = [child.link.token for child in made]

    def combine(services: Any, number: int) -> MulticallDetails:
        pair = [tokens[number], tokens[(number + 1) % PARALLEL]]
        return flows.create(services, world.owner, pair, None)

    winners = winners_of(in_parallel(combine, cloud, world))
    assert winners
    for winner in winners:
        assert reading.read(world.services, winner.payable.link.token, world.account_id).can_execute
    assert len(living(world, made)) == len(winners)
