"""Trouble between accepting a call and its outcome: what nodes do, what gas costs, and who else has the key."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import format_amount
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.platform.services import Services
from chalicelib.relayer import flows, store
from chalicelib.relayer.following import WINDOW
from chalicelib.relayer.jobs import follow_relayed, track_relayed
from chalicelib.relayer.records import CallStatus, RelayedTransaction
from chalicelib.relayer.rules import COIN_DECIMALS, GWEI, Call, Submission
from tests.fakes.mempool import GAS, Mempool, Raw
from tests.fakes.world import PlainSigningKeys, World

SENDER = PlainSigningKeys.address
CALL = Call("payout/1", "sepolia", "0x" + "22" * 20, "0x1234", account_id="acct")


class Lines:
    """A log that keeps its lines, each with its level and `extra`."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def __getattr__(self, level: str) -> Callable[..., None]:
        return lambda message, extra=None: self.lines.append((level, message, extra or {}))

    def of(self, message: str) -> list[dict[str, Any]]:
        return [extra for _, found, extra in self.lines if found == message]


@pytest.fixture
def world(world: World) -> World:
    return World(world.client, relayer_keys={"sepolia": "secret"}, relayer_stuck_seconds=60)


@pytest.fixture
def mempool(world: World) -> Mempool:
    return world.chain.mempool


def logged(world: World, **settings: Any) -> tuple[Services, Lines]:
    lines = Lines()
    changed = replace(world.services.settings, **settings)
    return replace(world.services, log=lines, settings=changed), lines  # type: ignore[arg-type]


def submit(world: World, call: Call = CALL, services: Services | None = None) -> Submission:
    (found,) = flows.submit(services or world.services, [call])
    return found


def status(world: World, key: str = CALL.key) -> CallStatus:
    outcome = flows.outcome(world.services, key)
    assert outcome is not None
    return outcome.status


def record(world: World, nonce: int = 0) -> RelayedTransaction:
    (found,) = store.transactions_from(world.services.store, "sepolia", SENDER, nonce, 1)
    return found


def coins(units: int) -> str:
    return format_amount(units, COIN_DECIMALS)


def minutes_pass(world: World, minutes: int = 1) -> None:
    for _ in range(minutes):
        world.advance(54)
        world.relay()


def assert_succeeded_once(world: World) -> None:
    assert status(world) is CallStatus.SUCCEEDED
    assert len(world.chain.mempool.executed) == 1
    assert {raw.nonce for raw in world.chain.mempool.sent} == {0}


@pytest.mark.parametrize("answer", ["ok", "refused", "timeout before", "timeout after"])
def test_however_sending_ends_the_call_is_executed_once(world: World, mempool: Mempool, answer: str) -> None:
    mempool.answers = answer
    assert submit(world).status == "accepted"
    mempool.answers = "ok"
    minutes_pass(world, 2)
    assert_succeeded_once(world)


@pytest.mark.parametrize("answer", ["refused", "timeout before", "timeout after"])
def test_a_node_that_keeps_failing_is_asked_again_with_the_same_nonce(
    world: World, mempool: Mempool, answer: str
) -> None:
    mempool.answers, mempool.holds = answer, True
    submit(world)
    for _ in range(5):
        world.advance(40)
        follow_relayed(world.services, '{"network": "sepolia"}')
    assert status(world) is CallStatus.UNKNOWN
    mempool.answers, mempool.holds = "ok", False
    minutes_pass(world, 3)
    assert_succeeded_once(world)


def test_a_transaction_that_the_node_forgot_is_sent_again(world: World, mempool: Mempool) -> None:
    submit(world)
    mempool.forget()
    for _ in range(2):
        world.advance(30)
        world.relay()
    assert_succeeded_once(world)
    assert len({raw.tx_hash for raw in mempool.sent}) == 1


def test_a_stuck_transaction_is_replaced_with_the_same_nonce_and_a_higher_fee(world: World, mempool: Mempool) -> None:
    mempool.base_fee = 10 * GWEI
    submit(world)
    mempool.base_fee = 40 * GWEI
    minutes_pass(world, 4)
    assert_succeeded_once(world)
    first, last = mempool.sent[0], mempool.sent[-1]
    assert first.tx_hash != last.tx_hash and first.data == last.data
    assert last.max_fee >= 80 * GWEI and last.tip * 8 >= first.tip * 9
    outcome = flows.outcome(world.services, CALL.key)
    assert outcome is not None and outcome.tx_hash == last.tx_hash


def test_the_transaction_that_was_replaced_may_be_the_one_in_the_block(world: World, mempool: Mempool) -> None:
    submit(world)
    mempool.holds = True
    minutes_pass(world, 3)
    old, new = mempool.sent[0], mempool.sent[-1]
    assert old.tx_hash != new.tx_hash and old.nonce == new.nonce
    world.chain.mine()
    mempool.execute(old)
    minutes_pass(world)
    outcome = flows.outcome(world.services, CALL.key)
    assert outcome is not None and (outcome.status, outcome.tx_hash) == (CallStatus.SUCCEEDED, old.tx_hash)
    assert len(mempool.executed) == 1


def test_fees_are_raised_up_to_the_limit_and_no_further(world: World, mempool: Mempool) -> None:
    services, lines = logged(world, relayer_max_fee_gwei={"sepolia": 5})
    submit(world, services=services)
    mempool.base_fee = 6 * GWEI
    for _ in range(30):
        world.advance(61)
        follow_relayed(services, '{"network": "sepolia"}')
    offered = {raw.max_fee for raw in mempool.sent}
    assert max(offered) <= 5 * GWEI and len(offered) > 1
    assert lines.of("transaction is stuck")[0] == {"network": "sepolia", "sender": SENDER, "nonce": 0, "call": CALL.key}
    mempool.base_fee = 2 * GWEI
    minutes_pass(world, 2)
    assert_succeeded_once(world)


def test_a_transaction_in_a_block_that_a_fork_removed_waits_and_is_executed_on_the_other_branch(
    world: World, mempool: Mempool
) -> None:
    submit(world)
    world.chain.mine()
    mempool.holds = True
    world.chain.fork(2)
    world.advance(10)
    follow_relayed(world.services, '{"network": "sepolia"}')
    assert status(world) is CallStatus.UNKNOWN
    mempool.holds = False
    minutes_pass(world, 2)
    assert_succeeded_once(world)


def test_a_receipt_of_a_block_that_is_not_canonical_is_none(world: World, mempool: Mempool) -> None:
    """A load balancer asks one node for the receipt and another one for the block."""
    submit(world)
    world.chain.mine(3)
    found = mempool.receipts_of

    def of_a_fork(tx_hashes: Any) -> Any:
        return {each: replace(receipt, block_hash="0x" + "ff" * 32) for each, receipt in found(tx_hashes).items()}

    mempool.receipts_of = of_a_fork  # type: ignore[method-assign]
    minutes_pass(world, 30)
    assert status(world) is CallStatus.UNKNOWN
    mempool.receipts_of = found  # type: ignore[method-assign]
    minutes_pass(world)
    assert_succeeded_once(world)


def test_an_outcome_is_final(world: World, mempool: Mempool) -> None:
    submit(world)
    minutes_pass(world)
    before = flows.outcome(world.services, CALL.key)
    world.chain.fork(5)
    minutes_pass(world, 2)
    assert flows.outcome(world.services, CALL.key) == before
    assert submit(world).status == "accepted"
    assert len({raw.nonce for raw in mempool.sent}) == 1


def test_a_revert_that_the_node_cannot_repeat_is_still_one(world: World, mempool: Mempool) -> None:
    submit(world)
    mempool.executes = lambda raw: "ERC20RecurringPaymentProxy__AlreadyPaid"
    mempool.replayed = lambda each: StepResult(None)  # type: ignore[method-assign]
    minutes_pass(world)
    outcome = flows.outcome(world.services, CALL.key)
    assert outcome is not None and outcome.status is CallStatus.REVERTED
    assert outcome.reason == "reverted, and the node does not say why"


def test_a_nonce_that_somebody_else_used_supersedes_the_call_when_that_transaction_is_found(
    world: World, mempool: Mempool
) -> None:
    mempool.holds = True
    submit(world)
    services, lines = logged(world)
    mempool.steal_nonce(SENDER)
    search = mempool.used_nonces
    mempool.used_nonces = lambda *_: ()  # type: ignore[method-assign]
    for _ in range(100):
        world.advance(54)
        world.relay(services)
        assert status(world) is CallStatus.UNKNOWN
    assert len(lines.of("nonce used without a receipt")) == 1 and lines.of("nonce used by another transaction") == []
    reported = lines.of("call outcome unknown")
    assert reported[0] == {
        "network": "sepolia",
        "sender": SENDER,
        "nonce": 0,
        "call": CALL.key,
        "minutes": 10,
        "reason": "not every node confirms it",
    }
    assert {raw.nonce for raw in mempool.sent} == {0} and len({raw.tx_hash for raw in mempool.sent}) == 1
    mempool.used_nonces = search  # type: ignore[method-assign]
    for _ in range(20):
        world.advance(54)
        world.relay(services)
    (found,) = lines.of("nonce used by another transaction")
    assert found == {"network": "sepolia", "sender": SENDER, "nonce": 0, "call": CALL.key, "other": f"0x{0:064x}"}
    outcome = flows.outcome(world.services, CALL.key)
    assert outcome is not None and outcome.status is CallStatus.SUPERSEDED
    assert outcome.reason == "another transaction of the account has the nonce of this one"
    mempool.holds = False
    assert submit(world).status == "accepted", "the key has had its nonce"
    assert submit(world, replace(CALL, key="payout/2")).status == "accepted"
    minutes_pass(world, 2)
    assert status(world, "payout/2") is CallStatus.SUCCEEDED
    assert [raw.data for _, raw, _ in mempool.executed.values()] == ["0x", CALL.data]


def test_several_nonces_that_somebody_else_used_are_passed_over(world: World, mempool: Mempool) -> None:
    mempool.holds = True
    submit(world)
    for _ in range(3):
        mempool.steal_nonce(SENDER)
    minutes_pass(world, 5)
    assert status(world) is CallStatus.SUPERSEDED
    mempool.holds = False
    submit(world, replace(CALL, key="payout/2"))
    minutes_pass(world)
    assert status(world, "payout/2") is CallStatus.SUCCEEDED and record(world, 3).nonce == 3


def test_a_transaction_that_waited_before_the_first_call_and_is_dropped_holds_up_nothing(
    world: World, mempool: Mempool
) -> None:
    foreign = Raw("0x" + "ff" * 32, SENDER, 0, "0x" + "99" * 20, "0x", 0, GAS, 10**6, 10**6)
    mempool.waiting[SENDER, 0] = foreign
    submit(world)
    mempool.forget()
    minutes_pass(world, 3)
    assert_succeeded_once(world)


def test_a_transaction_that_a_deep_fork_removed_is_sent_again_with_the_same_bytes(
    world: World, mempool: Mempool
) -> None:
    """The fork is deeper than the confirmations, and no node has the transaction any more."""
    submit(world)
    minutes_pass(world)
    assert_succeeded_once(world)
    (first,) = {raw.tx_hash for raw in mempool.sent}
    mempool.executed.clear()
    mempool.holds = True
    submit(world, replace(CALL, key="payout/2"))
    services, lines = logged(world)
    world.advance(61)
    world.chain.mine()
    follow_relayed(services, '{"network": "sepolia"}')
    (reported,) = lines.of("transactions removed by a fork")
    assert reported == {"network": "sepolia", "sender": SENDER, "nonce": 0, "count": 1}
    assert status(world) is CallStatus.UNKNOWN and mempool.waiting[SENDER, 0].tx_hash == first
    mempool.holds = False
    minutes_pass(world, 3)
    assert status(world) is CallStatus.SUCCEEDED is status(world, "payout/2")
    assert sorted(raw.nonce for _, raw, _ in mempool.executed.values()) == [0, 1]
    assert {raw.tx_hash for raw in mempool.sent if raw.nonce == 0} == {first}
    assert submit(world).status == "accepted" and {raw.nonce for raw in mempool.sent} == {0, 1}


def test_a_node_that_is_behind_takes_no_outcome_back(world: World, mempool: Mempool) -> None:
    submit(world)
    minutes_pass(world)
    before = flows.outcome(world.services, CALL.key)
    read = mempool.read_account
    mempool.read_account = lambda address: replace(read(address), head=read(address).head - 2, nonce=0)  # type: ignore[method-assign]
    for _ in range(3):
        world.advance(61)
        follow_relayed(world.services, '{"network": "sepolia"}')
    assert flows.outcome(world.services, CALL.key) == before and len(mempool.sent) == 1


def test_more_transactions_than_one_write_holds_are_sent_again_after_a_deep_fork(
    world: World, mempool: Mempool
) -> None:
    calls = [replace(CALL, key=f"payout/{n}") for n in range(35)]
    for each in calls:
        submit(world, each)
    minutes_pass(world, 2)
    mempool.executed.clear()
    minutes_pass(world, 3)
    assert {status(world, each.key) for each in calls} == {CallStatus.SUCCEEDED}
    assert len(mempool.executed) == 35 == len({raw.tx_hash for raw in mempool.sent})


def test_a_nonce_that_no_transaction_can_have_again_is_an_alarm(world: World, mempool: Mempool) -> None:
    """A deep fork took away the transaction by which somebody else had superseded a call."""
    mempool.holds = True
    submit(world)
    mempool.steal_nonce(SENDER)
    minutes_pass(world, 5)
    assert status(world) is CallStatus.SUPERSEDED
    mempool.executed.clear()
    submit(world, replace(CALL, key="payout/2"))
    services, lines = logged(world)
    world.advance(61)
    follow_relayed(services, '{"network": "sepolia"}')
    assert lines.of("transaction is stuck")[0] == {"network": "sepolia", "sender": SENDER, "nonce": 1, "missing": 0}
    assert status(world) is CallStatus.SUPERSEDED


class OtherKeys(PlainSigningKeys):
    """The key that replaced the first one."""

    private_key = bytes.fromhex("5d" * 32)


def with_other_key(world: World, lines: Lines | None = None, **settings: Any) -> Services:
    services, _ = logged(world, **settings)
    return replace(services, signing_keys=OtherKeys(), **({"log": lines} if lines else {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("keys", [{"sepolia": "secret"}, {}], ids=["another key", "no key"])
def test_calls_of_an_account_whose_key_was_replaced_are_followed_to_their_end(
    world: World, mempool: Mempool, keys: dict[str, str]
) -> None:
    submit(world)
    follow_relayed(world.services, '{"network": "sepolia"}')
    mempool.forget()
    services = with_other_key(world, relayer_keys=keys)
    for _ in range(4):
        world.advance(54)
        track_relayed(services)
        world.queue.messages.clear()
        world.relay(services)
    assert_succeeded_once(world)
    if keys:
        assert submit(world, replace(CALL, key="payout/2"), services).status == "accepted"
        for _ in range(2):
            world.advance(54)
            world.relay(services)
        assert status(world, "payout/2") is CallStatus.SUCCEEDED
        assert len({raw.sender for raw in mempool.sent}) == 2


def test_the_schedule_has_former_accounts_checked_and_finished_ones_cost_no_call_to_the_node(world: World) -> None:
    submit(world)
    follow_relayed(world.services, '{"network": "sepolia"}')
    services = with_other_key(world, relayer_keys={})
    world.queue.messages.clear()
    track_relayed(services)
    assert [each.body for each in world.queue.messages] == ['{"network": "sepolia"}']
    world.relay(services)
    assert status(world) is CallStatus.SUCCEEDED
    world.chain.is_down = True
    world.advance(61)
    follow_relayed(services, '{"network": "sepolia"}')


def test_a_call_that_only_the_replaced_key_could_make_is_an_alarm(world: World, mempool: Mempool) -> None:
    """It offers too little, and is made when the price falls or the key is back."""
    submit(world)
    follow_relayed(world.services, '{"network": "sepolia"}')
    mempool.base_fee = 10**15
    services, lines = with_other_key(world), Lines()
    services = replace(services, log=lines)  # type: ignore[arg-type]
    for _ in range(3):
        world.advance(61)
        follow_relayed(services, '{"network": "sepolia"}')
    facts = {"network": "sepolia", "sender": SENDER, "nonce": 0, "call": CALL.key}
    assert lines.of("transaction is stuck")[-1] == facts
    assert status(world) is CallStatus.UNKNOWN and len({raw.tx_hash for raw in mempool.sent}) == 1
    mempool.base_fee = 10**9
    minutes_pass(world, 2)
    assert_succeeded_once(world)


def test_a_node_without_our_receipt_supersedes_nothing_however_long_that_takes(
    world: World, mempool: Mempool
) -> None:
    submit(world)
    world.chain.mine(3)
    found, (services, lines) = mempool.receipts_of, logged(world)
    mempool.receipts_of = lambda tx_hashes: {}  # type: ignore[method-assign]
    for _ in range(90):
        world.advance(54)
        world.relay(services)
    assert record(world).nonce_used_since is not None and status(world) is CallStatus.UNKNOWN
    assert lines.of("call outcome unknown") and lines.of("nonce used by another transaction") == []
    mempool.receipts_of = found  # type: ignore[method-assign]
    minutes_pass(world)
    assert_succeeded_once(world)


def test_a_nonce_that_a_fork_gives_back_is_ours_again(world: World, mempool: Mempool) -> None:
    mempool.holds = True
    submit(world)
    world.chain.mine()
    mempool.steal_nonce(SENDER)
    world.chain.mine(3)
    minutes_pass(world, 1)
    assert record(world).nonce_used_since is not None
    for tx_hash in [each for each, (_, raw, _) in mempool.executed.items() if raw.data == "0x"]:
        del mempool.executed[tx_hash]
    minutes_pass(world, 1)
    assert record(world).nonce_used_since is None
    mempool.holds = False
    minutes_pass(world, 2)
    assert_succeeded_once(world)


def test_with_a_node_that_is_down_nothing_is_written(world: World) -> None:
    world.chain.is_down = True
    with pytest.raises(ChainUnavailable):
        submit(world)
    world.chain.is_down = False
    assert flows.outcome(world.services, CALL.key) is None
    assert submit(world).status == "accepted"


def test_a_call_that_the_node_cannot_run_is_postponed_and_holds_up_no_other(world: World, mempool: Mempool) -> None:
    run = mempool.run_each
    mempool.run_each = lambda sender, wanted: (StepResult(None, "the node did not say"), *run(sender, wanted[1:]))  # type: ignore[method-assign]
    first, second = flows.submit(world.services, [CALL, replace(CALL, key="payout/2")])
    assert (first.status, first.reason) == ("postponed", "the node did not say")
    assert second.status == "accepted"


def test_the_costs_of_a_day_have_a_limit(world: World, mempool: Mempool) -> None:
    cost = GAS * 5 // 4 * (2 * mempool.base_fee + mempool.tip)
    services, lines = logged(world, relayer_daily_limits={"sepolia": coins(2 * cost)}, relayer_reserve_percent=0, relayer_account_percent=100)
    calls = [replace(CALL, key=f"payout/{n}") for n in range(3)]
    *accepted, postponed = flows.submit(services, calls)
    assert [each.status for each in accepted] == ["accepted"] * 2
    assert (postponed.status, postponed.reason) == ("postponed", "RELAYER_DAILY_LIMITS is reached for today on sepolia")
    assert lines.of("call postponed") == [{"network": "sepolia", "call": "payout/2", "reason": postponed.reason}]
    world.relay(services)
    assert lines.of("relayer limit is near") == [{"network": "sepolia", "spent": str(2 * cost)}]
    assert submit(world, calls[2], services).status == "postponed"
    world.advance(24 * 3600)
    assert submit(world, calls[2], services).status == "accepted"
    assert [raw.nonce for raw in mempool.sent] == [0, 1, 2]


def test_value_counts_towards_the_limit_and_the_balance(world: World, mempool: Mempool) -> None:
    services, _ = logged(world, relayer_daily_limits={"sepolia": "1"})
    assert submit(world, replace(CALL, value=10**18), services).status == "postponed"
    mempool.balance = 10**17
    found = submit(world, replace(CALL, value=10**17 + 1), services)
    assert found.reason == "the service's account on sepolia does not have what the call sends"
    found = submit(world, replace(CALL, value=10**17), services)
    assert found.reason == "the service's account on sepolia cannot pay for the gas"


def test_higher_fees_count_towards_the_day_and_are_not_stopped_by_its_limit(world: World, mempool: Mempool) -> None:
    cost = GAS * 5 // 4 * (2 * mempool.base_fee + mempool.tip)
    services, _ = logged(world, relayer_daily_limits={"sepolia": coins(cost)}, relayer_reserve_percent=0, relayer_account_percent=100)
    submit(world, services=services)
    mempool.base_fee = 4 * GWEI
    for _ in range(3):
        world.advance(61)
        world.relay(services)
    account = store.account(world.services.store, "sepolia", SENDER)
    assert account is not None and account.spent > 2 * cost
    assert status(world) is CallStatus.SUCCEEDED
    assert submit(world, replace(CALL, key="payout/2"), services).status == "postponed"


@pytest.mark.parametrize("reason", ["AccessControl: account 0x19e7 is missing role 0xe2b7", "Pausable: paused"])
def test_a_call_that_the_contract_takes_from_nobody_or_not_from_this_account_is_postponed(
    world: World, mempool: Mempool, reason: str
) -> None:
    """So that what the operator has to mend counts against no call."""
    mempool.dry_run = lambda to, data: reason
    found = submit(world)
    assert (found.status, found.reason) == ("postponed", reason)


def test_gas_above_the_highest_price_postpones_calls(world: World, mempool: Mempool) -> None:
    mempool.base_fee = 300 * GWEI
    assert submit(world).reason == "gas on sepolia costs more than RELAYER_MAX_FEE_GWEI allows"
    mempool.base_fee = 150 * GWEI
    assert submit(world).status == "accepted"
    assert record(world).max_fee == 200_000_000_000


def test_a_low_balance_is_logged_with_the_address_to_send_to(world: World, mempool: Mempool) -> None:
    services, lines = logged(world)
    world.relay(services)
    assert lines.of("relayer balance is low") == []
    assert store.networks_with_low_balance(world.services.store, world.services.clock()) == ()
    mempool.balance = 10**18 - 1
    world.relay(services)
    assert store.networks_with_low_balance(world.services.store, world.services.clock()) == ("sepolia",)
    assert store.networks_with_low_balance(world.services.store, world.services.clock() + timedelta(seconds=1)) == ()
    facts = {"network": "sepolia", "address": SENDER, "balance": str(10**18 - 1)}
    assert [(level, extra) for level, message, extra in lines.lines if message == "relayer balance is low"] == [("error", facts)]


def test_transactions_far_ahead_of_the_next_nonce_wait_until_the_others_are_executed(
    world: World, mempool: Mempool
) -> None:
    mempool.holds = True
    count = WINDOW + 25
    for start in range(0, count, 5):
        flows.submit(world.services, [replace(CALL, key=f"payout/{n}") for n in range(start, start + 5)])
    assert len(mempool.sent) == WINDOW
    mempool.holds = False
    minutes_pass(world, 4)
    assert sorted(raw.nonce for _, raw, _ in mempool.executed.values()) == list(range(count))
    assert status(world, f"payout/{count - 1}") is CallStatus.SUCCEEDED


def test_those_that_nodes_have_room_for_are_sent_while_the_ones_before_wait_for_confirmations(
    world: World, mempool: Mempool
) -> None:
    mempool.holds = True
    count = 2 * WINDOW + 5
    for start in range(0, count, 5):
        flows.submit(world.services, [replace(CALL, key=f"payout/{n}") for n in range(start, start + 5)])
    mempool.holds = False
    world.chain.mine()
    world.advance(61)
    follow_relayed(world.services, '{"network": "sepolia"}')
    assert status(world) is CallStatus.UNKNOWN, "not confirmed"
    assert {raw.nonce for raw in mempool.sent} == set(range(2 * WINDOW))
    minutes_pass(world, 6)
    assert sorted(raw.nonce for _, raw, _ in mempool.executed.values()) == list(range(count))
    assert {status(world, f"payout/{n}") for n in range(count)} == {CallStatus.SUCCEEDED}


def test_the_schedule_queues_a_check_of_each_network_and_a_check_the_next_one_while_something_is_open(
    world: World, mempool: Mempool
) -> None:
    track_relayed(world.services)
    (message,) = world.queue.messages
    assert (message.queue, message.body) == ("payment-requests-local-relayed", '{"network": "sepolia"}')
    world.queue.messages.clear()

    follow_relayed(world.services, message.body)
    assert world.queue.messages == [], "nothing is open"
    submit(world)
    (hint,) = world.queue.messages
    assert (hint.due - world.now).total_seconds() == 10
    follow_relayed(world.services, message.body)
    assert len(world.queue.messages) == 1, "a check has just begun"
    world.advance(6)
    follow_relayed(world.services, message.body)
    assert len(world.queue.messages) == 2
    world.drain()
    assert_succeeded_once(world)


def test_a_network_without_a_node_is_not_checked(world: World) -> None:
    services, _ = logged(world, relayer_keys={"base": "kms", "sepolia": "secret"})
    track_relayed(services)
    assert [message.body for message in world.queue.messages] == ['{"network": "sepolia"}']


def test_a_message_of_a_network_that_never_had_an_account_is_dropped(world: World) -> None:
    follow_relayed(world.services, '{"network": "base"}')


def test_the_account_is_described_to_the_operator(world: World, mempool: Mempool) -> None:
    mempool.holds = True
    flows.submit(world.services, [CALL, replace(CALL, key="payout/2")])
    described = flows.AccountState("sepolia", SENDER, 10**21, 2, 2)  # type: ignore[arg-type]
    assert flows.account_states(world.services) == [described]
    follow_relayed(world.services, '{"network": "sepolia"}')
    assert flows.account_states(with_other_key(world, relayer_keys={})) == [described], "its key was replaced"
    mempool.holds = False
    minutes_pass(world, 2)
    assert flows.account_states(with_other_key(world, relayer_keys={})) == []
