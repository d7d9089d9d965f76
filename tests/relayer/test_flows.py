"""Submitting calls, and what becomes of them, on a chain in memory."""

from typing import Any

import pytest

from chalicelib.base.money import parse_amount
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.relayer import flows
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.keys.signer import NoRelayer
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Call, Submission, SubmissionStatus
from tests.fakes.world import PlainSigningKeys, World

TO = "0x" + "22" * 20
SENDER = PlainSigningKeys.address


def call(name: str = "payout/1", **changes: Any) -> Call:
    return Call(**{"account_id": "acct", "key": name, "network": "sepolia", "to": TO, "data": "0x1234", **changes})


@pytest.fixture
def world(world: World) -> World:
    return World(relayer_keys={"sepolia": "secret"})


def test_every_network_with_a_key_has_a_limit_of_a_day_and_of_the_price_of_gas_whatever_is_overridden() -> None:
    """Also a network that is added: networks.json is refused without its limits (tests/chains/catalogue/test_networks.py)."""
    services = World(relayer_daily_limits={"base": "0.2"}, relayer_max_fee_gwei={"base": 9}).services
    for each in ALL_NETWORKS:
        if each.relayer is not None and each.name != "base":
            budget = flows.budget_of(services, each.name)
            assert budget.daily_limit == parse_amount(each.relayer.daily_limit, 18) > 0
            assert budget.max_fee == each.relayer.max_fee_gwei * 10**9
    changed = flows.budget_of(services, "base")
    assert (changed.daily_limit, changed.max_fee) == (2 * 10**17, 9 * 10**9)
    with pytest.raises(LookupError, match="tron"):
        flows.budget_of(services, "tron")


def accepted(*names: str) -> tuple[Submission, ...]:
    return tuple(Submission(name, SubmissionStatus.ACCEPTED) for name in names)


def test_a_call_is_sent_at_once_and_succeeds_when_its_block_has_the_confirmations(world: World) -> None:
    assert flows.submit(world.services, [call()]) == accepted("payout/1")
    (raw,) = world.chain.mempool.sent
    assert (raw.sender, raw.nonce, raw.to, raw.data, raw.value) == (SENDER, 0, TO, "0x1234", 0)
    assert flows.outcome(world.services, "payout/1") == Outcome(CallStatus.UNKNOWN)

    world.chain.mine()
    world.advance(10)
    from chalicelib.relayer.tracking import track

    assert track(world.services, "sepolia")
    assert flows.outcome(world.services, "payout/1") == Outcome(CallStatus.UNKNOWN), "one confirmation of two"

    assert not world.relay()
    block = len(world.chain.blocks) - 3
    assert flows.outcome(world.services, "payout/1") == Outcome(CallStatus.SUCCEEDED, raw.tx_hash, block)


def test_calls_get_one_nonce_after_the_other_and_the_same_key_never_gets_a_second_one(world: World) -> None:
    names = [f"payout/{n}" for n in range(10)]
    assert flows.submit(world.services, [call(name) for name in names]) == accepted(*names)
    assert flows.submit(world.services, [call("payout/new"), call("payout/3")]) == accepted("payout/new", "payout/3")
    assert [raw.nonce for raw in world.chain.mempool.sent] == list(range(11))
    assert not world.relay()
    assert len(world.chain.mempool.executed) == 11


def test_a_call_that_would_revert_is_refused_with_the_reason_and_leaves_no_trace(world: World) -> None:
    world.chain.mempool.dry_run = lambda to, data: "ERC20: insufficient allowance" if data == "0xbad0" else None
    found = flows.submit(world.services, [call("a", data="0xbad0"), call("b")])
    assert found == (Submission("a", SubmissionStatus.REFUSED, "ERC20: insufficient allowance"), *accepted("b"))
    assert flows.outcome(world.services, "a") is None
    world.chain.mempool.dry_run = lambda to, data: None
    assert flows.submit(world.services, [call("a")]) == accepted("a")
    assert [raw.nonce for raw in world.chain.mempool.sent] == [0, 1]


def test_a_call_that_reverts_on_chain_has_the_reason_in_words(world: World) -> None:
    flows.submit(world.services, [call()])
    world.chain.mempool.executes = lambda raw: "ERC20: transfer amount exceeds balance"
    world.relay()
    outcome = flows.outcome(world.services, "payout/1")
    assert outcome is not None
    assert (outcome.status, outcome.reason) == (CallStatus.REVERTED, "ERC20: transfer amount exceeds balance")


def test_without_a_key_the_operator_is_told_what_to_set(world: World) -> None:
    services = World().services
    assert not flows.can_submit(services, "sepolia")
    with pytest.raises(NoRelayer, match="no transactions on sepolia.*RELAYER_KEYS"):
        flows.submit(services, [call()])


def test_a_call_that_no_key_has_submitted_has_no_outcome(world: World) -> None:
    assert flows.outcome(world.services, "payout/9") is None
