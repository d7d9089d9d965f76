"""A call is sent, or refused, by what all nodes say that answer: one of them alone neither makes the service pay for a
call that reverts, nor withholds one that does not."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable, NotConfirmed
from chalicelib.chains.calldata.reverts import ALREADY_MADE
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.relayer import flows
from chalicelib.relayer.dry_runs import NOT_AGREED, REASONS_DIFFER
from chalicelib.relayer.rules import Submission, SubmissionStatus
from tests.fakes.lying_node import Liar, served, silent
from tests.fakes.world import World
from tests.relayer.test_flows import SENDER, call

Made = Callable[..., Any]
FOREIGN = {"runs_foreign_code": True, "gas_limit": 300_000}


@pytest.fixture
def world(world: World) -> World:
    return World(relayer_keys={"sepolia": "secret"})


def saying(world: World, success: bool | None, gas: int = 50_000) -> Liar:
    result = StepResult(success, None if success else "it reverts", gas if success else None)
    return Liar(
        world.chain,
        run_each=lambda sender, wanted: tuple(result for _ in wanted),
        run_as_sent=lambda *args: result,
    )


def dead(world: World) -> Liar:
    return Liar(world.chain, run_each=silent, run_as_sent=silent)


@pytest.mark.parametrize("kind", [{}, FOREIGN], ids=["plain", "foreign code"])
@pytest.mark.parametrize(
    ("said", "status"),
    [
        ((True, True), SubmissionStatus.ACCEPTED),
        ((False, False), SubmissionStatus.REFUSED),
        ((True, False), SubmissionStatus.POSTPONED),
        ((True, True, False), SubmissionStatus.POSTPONED),
        ((False, False, True), SubmissionStatus.POSTPONED),
        ((True, None), SubmissionStatus.POSTPONED),
        ((True, True, None), SubmissionStatus.ACCEPTED),
    ],
)
def test_a_call_is_sent_or_refused_by_what_all_nodes_say(
    world: World, kind: dict[str, Any], said: tuple[bool | None, ...], status: SubmissionStatus
) -> None:
    for number, order in enumerate(set(permutations(said))):
        services = served(world.services, "sepolia", *(saying(world, each) for each in order))
        name = f"{number}"
        (found,) = flows.submit(services, [call(name, **kind)])
        assert (found.key, found.status) == (name, status), order
        assert (found.reason == NOT_AGREED) is (status is SubmissionStatus.POSTPONED)


@pytest.mark.parametrize("kind", [{}, FOREIGN], ids=["plain", "foreign code"])
def test_no_node_alone_says_why_a_call_fails(world: World, kind: dict[str, Any]) -> None:
    """For some reasons a recurring payout is not tried again, as if it was paid."""
    for reasons in permutations((ALREADY_MADE, "why", "why")):
        each = [StepResult(False, reason) for reason in reasons]
        nodes = [Liar(world.chain, run_each=lambda _, wanted, it=it: (it,), run_as_sent=lambda *_, it=it: it) for it in each]
        (found,) = flows.submit(served(world.services, "sepolia", *nodes), [call("a", **kind)])
        assert (found.status, found.reason) == (SubmissionStatus.REFUSED, REASONS_DIFFER)


def test_what_one_node_says_of_several_calls_holds_those_alone_that_it_is_about(world: World) -> None:
    def lies(sender: str, wanted: Any) -> tuple[StepResult, ...]:
        return tuple(StepResult(each.data != "0x1111", "no", 21_000) for each, _ in wanted)

    services = served(world.services, "sepolia", Liar(world.chain, run_each=lies), world.chain)
    found = flows.submit(services, [call("a", data="0x1111"), call("b")])
    assert [each.status for each in found] == [SubmissionStatus.POSTPONED, SubmissionStatus.ACCEPTED]
    assert len(world.chain.mempool.sent) == 1


def test_one_node_of_several_alone_sends_nothing(world: World) -> None:
    for nodes in permutations((saying(world, True), dead(world))):
        with pytest.raises(NotConfirmed):
            flows.submit(served(world.services, "sepolia", *nodes), [call("a")])
    assert world.chain.mempool.sent == []
    services = served(world.services, "sepolia", saying(world, True), dead(world), saying(world, True))
    assert flows.submit(services, [call("a")]) == (Submission("a", SubmissionStatus.ACCEPTED),)


def test_the_gas_is_the_most_that_a_node_estimates(world: World) -> None:
    services = served(world.services, "sepolia", saying(world, True, gas=100_000), saying(world, True, gas=400_000))
    flows.submit(services, [call("a"), call("b")])
    (alone, _) = world.chain.mempool.sent
    flows.submit(served(world.services, "sepolia", saying(world, True, gas=400_000)), [call("c")])
    assert alone.gas == world.chain.mempool.sent[-1].gas


def test_what_a_caller_tries_is_not_known_while_nodes_differ(world: World) -> None:
    services = served(world.services, "sepolia", saying(world, True), saying(world, False))
    with pytest.raises(ChainUnavailable, match="try again"):
        flows.try_call(services, SENDER, call("a"))
    services = served(world.services, "sepolia", saying(world, False), saying(world, False))
    assert flows.try_call(services, SENDER, call("a")).success is False
