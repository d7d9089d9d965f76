"""Recurring payouts on a real chain: what the contract executed is counted there, by the logs of the fee proxy."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.money import Fee
from chalicelib.calldata.fee_proxy import pay_erc20
from chalicelib.calldata.recurring import typed_data
from chalicelib.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chain.chains import Chains
from chalicelib.chain.jsonrpc import NodeTimeout
from chalicelib.chain.logs import ERC20_TRANSFER_TOPIC
from chalicelib.recurring import flows, jobs
from chalicelib.recurring.creation import Plan
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.relayer.jobs import track_relayed
from chalicelib.requests.creation import Draft, Item
from chalicelib.requests.records import Frequency, Payment, PaymentKind
from chalicelib.requests.references import reference_topic
from infra.local.chain import Chain
from tests.fakes.crash import Crash, Guarded, Tripwire
from tests.fakes.memory_store import MemoryStore
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, JOBS, PAYEE, PREFIX, PlainSigningKeys, World
from tests.onchain.conftest import Nodes
from tests.onchain.payer import FUSDC, Payer
from tests.onchain.schedules import call
from tests.requests.calendar_model import dues_until, midnight

MONEY = 10**12
TICK = timedelta(minutes=1)


class Deployment:
    """A deployment on a chain that mines when it is told to, at the time of a virtual clock, and one payer."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.world = World(client=object(), chains=Chains(Nodes({"sepolia": chain.url})), relayer_keys={"sepolia": "secret"})
        self.services = self.world.services = replace(self.world.services, store=MemoryStore())
        chain.fund_native(PlainSigningKeys.address, 10**21)
        chain.set_relayer(PlainSigningKeys.address)
        self.payer = evm_wallet("on chain")
        chain.fund_native(self.payer.address, 10**18)
        chain.fund_token(self.payer.address, FUSDC, MONEY)
        self.allow(MONEY)
        chain.rpc("evm_setAutomine", False)
        block = chain.rpc("eth_getBlockByNumber", "latest", False)
        self.world.now = datetime.fromtimestamp(int(block["timestamp"], 16), UTC)
        self.go_to(self.world.now + TICK)
        self.world.tick(network="sepolia")

    def allow(self, amount: int) -> None:
        proxy = address_of(RECURRING_PROXY, "sepolia")
        self.chain.rpc("evm_setAutomine", True)
        self.chain.receipt(self.chain.send_as(self.payer.address, {"to": FUSDC, "data": call("095ea7b3", proxy, amount)}))

    def go_to(self, moment: datetime) -> None:
        """Moves the clock, and mines a block of that time: contracts know no other."""
        self.world.now = moment
        self.mine()

    def mine(self) -> None:
        self.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(10**9))
        latest = int(self.chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        self.chain.rpc("evm_setNextBlockTimestamp", max(int(self.world.now.timestamp()), latest + 1))
        self.chain.mine()

    def start(self, start: datetime, frequency: Frequency, total: int) -> RecurringPayment:
        item = Item("10", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
        plan = Plan(start.isoformat(), frequency, total, self.payer.address)
        schedule = flows.create(self.services, self.world.owner, Draft(item), Fee("1", FEE_ADDRESS), plan).schedule
        signature = self.payer.sign_typed(typed_data(schedule.permit, "sepolia"))
        return flows.activate(self.services, self.world.owner, schedule.recurring_id, signature)

    def tick(self, services: Any = None) -> None:
        """What runs in one minute; a block at its end."""
        services = services or self.services
        jobs.run_recurring(services)
        track_relayed(services)
        self.consume(services)
        self.go_to(self.world.now + TICK)
        self.world.tick(network="sepolia")

    def consume(self, services: Any) -> None:
        """Consumes what is queued now, once; transactions that are open are looked at in the next minute again."""
        for message in list(self.world.queue.messages):
            if not message.queue.endswith(("recordings", "announcements", "webhooks")):
                self.world.queue.messages.remove(message)
                JOBS[message.queue.removeprefix(f"{PREFIX}-")](services, message.body)

    def settle(self, ticks: int = 5) -> None:
        for _ in range(ticks):
            self.tick()

    def find(self, schedule: RecurringPayment) -> Any:
        return flows.find(self.services, self.world.owner, schedule.recurring_id)

    def executed(self, schedule: RecurringPayment) -> list[datetime]:
        """When the chain has executed payments of a payout, by the logs of the fee proxy that have its references."""
        _, periods = self.find(schedule)
        topics = {reference_topic(bytes.fromhex(each.payment_reference[2:])) for each in periods}
        logs = self.chain.rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [ERC20_TRANSFER_TOPIC]})
        blocks = [log["blockNumber"] for log in logs if log["topics"][1] in topics]
        found = self.chain.batch([("eth_getBlockByNumber", each, False) for each in blocks])
        return [datetime.fromtimestamp(int(each["timestamp"], 16), UTC) for each in found]

    def transactions(self) -> int:
        """How many transactions of the service are in blocks."""
        return int(self.chain.rpc("eth_getTransactionCount", PlainSigningKeys.address, "latest"), 16)


@pytest.fixture
def deployment(chain: Chain) -> Iterator[Deployment]:
    yield Deployment(chain)
    chain.rpc("evm_setAutomine", True)


@pytest.fixture
def daily(deployment: Deployment) -> RecurringPayment:
    """Three daily payments from now on."""
    return deployment.start(deployment.world.now, Frequency.DAILY, 3)


def assert_completed(deployment: Deployment, schedule: RecurringPayment) -> None:
    """Lets all periods pass: each was executed once, and counted once."""
    deployment.settle(8)
    for day in (1, 2):
        deployment.go_to(schedule.start + timedelta(days=day, minutes=20))
        deployment.settle(6)
    found, periods = deployment.find(schedule)
    assert (found.status, found.processed) == (RecurringStatus.COMPLETED, 3)
    assert len(deployment.executed(schedule)) == 3 == len(periods)
    assert deployment.chain.token_balance(FUSDC, deployment.payer.address) == MONEY - 3 * 10_100_000


def test_two_years_of_payments_are_on_the_days_of_the_calendar(deployment: Deployment) -> None:
    """Months of 28 to 31 days, and a leap year, against a model that walks from day to day."""
    begin, end = midnight(2027, 12, 30), midnight(2029, 12, 31)
    deployment.go_to(begin)
    wanted = {
        "DAILY": (midnight(2028, 2, 20), 20),
        "WEEKLY": (midnight(2028, 12, 2), 30),
        "MONTHLY": (midnight(2027, 12, 31), 24),
        "YEARLY": (midnight(2028, 2, 29), 2),
    }
    payouts = {name: deployment.start(at, Frequency(name), total) for name, (at, total) in wanted.items()}
    dues = {name: dues_until(at, name, end)[:total] for name, (at, total) in wanted.items()}
    for moment in sorted({each for listed in dues.values() for each in listed}):
        deployment.go_to(moment - TICK)
        deployment.settle(5)
    for name, payout in payouts.items():
        executed = deployment.executed(payout)
        assert len(executed) == len(dues[name])
        assert all(due <= at <= due + 4 * TICK for due, at in zip(dues[name], executed, strict=True)), name
        assert deployment.find(payout)[0].status is RecurringStatus.COMPLETED
    assert [each.strftime("%m-%d") for each in dues["MONTHLY"][:4]] == ["12-31", "01-31", "02-29", "03-31"]
    assert [each.strftime("%m-%d") for each in dues["YEARLY"]] == ["02-29", "02-28"]
    assert deployment.transactions() == sum(map(len, dues.values()))
    payments = deployment.services.store.all(Payment)
    assert {(each.type, each.payer) for each in payments} == {(PaymentKind.RECURRING, deployment.payer.address)}


def test_each_period_is_executed_once(deployment: Deployment, daily: RecurringPayment) -> None:
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3
    fees = deployment.chain.token_balance(FUSDC, FEE_ADDRESS)
    assert fees == 3 * 100_000


def test_two_workers_with_the_same_message_execute_it_once(deployment: Deployment, daily: RecurringPayment) -> None:
    body = json.dumps({"network": "sepolia", "recurring": [daily.recurring_id]})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: jobs.execute_recurring(deployment.services, body), range(4)))
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3


@pytest.mark.parametrize("before", [True, False], ids=["before it", "after it"])
def test_a_crash_at_the_broadcast_repeats_nothing(deployment: Deployment, daily: RecurringPayment, before: bool) -> None:
    with suppress(Crash):
        deployment.tick(with_guarded(deployment, Tripwire(1, before).guard))
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3


def test_a_timeout_after_the_node_has_taken_a_transaction_repeats_nothing(
    deployment: Deployment, daily: RecurringPayment
) -> None:
    def times_out(send: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any) -> Any:
            send(*args)
            raise NodeTimeout("the node takes too long")

        return guarded

    deployment.tick(with_guarded(deployment, times_out))
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3


def with_guarded(deployment: Deployment, guard: Callable[[Callable[..., Any]], Any]) -> Any:
    """The services of a process that sends transactions through a guard."""
    services = deployment.services
    chain = Guarded(services.chains.evm("sepolia"), ("send_raw",), SimpleNamespace(guard=guard))  # type: ignore[arg-type]
    chains = SimpleNamespace(of=lambda name: chain, evm=lambda name: chain, networks=("sepolia",))
    return replace(services, chains=chains)


def test_a_dropped_transaction_is_sent_again(deployment: Deployment, daily: RecurringPayment) -> None:
    jobs.run_recurring(deployment.services)
    deployment.consume(deployment.services)
    deployment.chain.rpc("anvil_dropAllTransactions")
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3


def test_a_transaction_that_pays_too_little_is_replaced(deployment: Deployment, daily: RecurringPayment) -> None:
    jobs.run_recurring(deployment.services)
    deployment.consume(deployment.services)
    for _ in range(5):
        deployment.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(50 * 10**9))
        deployment.chain.mine()
        deployment.world.advance(60)
        track_relayed(deployment.services)
        deployment.consume(deployment.services)
    assert_completed(deployment, daily)
    assert deployment.transactions() == 3


def test_an_allowance_that_is_withdrawn_between_periods_pauses_and_resumes(
    deployment: Deployment, daily: RecurringPayment
) -> None:
    deployment.settle()
    deployment.allow(0)
    deployment.chain.rpc("evm_setAutomine", False)
    for hours in (24, 26, 28):
        deployment.go_to(daily.start + timedelta(hours=hours))
        deployment.settle(3)
    paused = deployment.find(daily)[0]
    assert (paused.status, paused.processed) == (RecurringStatus.PAUSED, 1)
    assert (paused.failures, paused.failure_reason) == (3, "Insufficient token allowance")
    assert deployment.transactions() == 1, "nothing that would revert was sent"
    deployment.allow(MONEY)
    deployment.chain.rpc("evm_setAutomine", False)
    deployment.go_to(daily.start + timedelta(days=2, hours=12))
    flows.resume(deployment.services, deployment.world.owner, daily.recurring_id)
    deployment.settle(12)
    assert deployment.find(daily)[0].status is RecurringStatus.COMPLETED
    assert len(deployment.executed(daily)) == 3


def test_a_payment_that_reverts_in_its_block_is_tried_again(deployment: Deployment, daily: RecurringPayment) -> None:
    """The payer withdraws the allowance in the same block."""
    jobs.run_recurring(deployment.services)
    deployment.consume(deployment.services)
    data = call("095ea7b3", address_of(RECURRING_PROXY, "sepolia"), 0)
    sent = {"from": deployment.payer.address, "to": FUSDC, "data": data, "gas": hex(100_000), "gasPrice": hex(10**12)}
    deployment.chain.rpc("anvil_impersonateAccount", deployment.payer.address)
    deployment.chain.rpc("eth_sendTransaction", sent)
    deployment.settle(6)
    found = deployment.find(daily)[0]
    assert (found.failures, found.failure_reason, found.processed) == (1, "Insufficient token allowance", 0)
    deployment.allow(MONEY)
    deployment.chain.rpc("evm_setAutomine", False)
    deployment.go_to(daily.start + timedelta(hours=2))
    assert_completed(deployment, daily)
    assert deployment.transactions() == 4, "one of them reverted"


def test_a_period_that_is_paid_by_hand_is_not_executed(deployment: Deployment, daily: RecurringPayment) -> None:
    (period,) = deployment.find(daily)[1]
    reference = bytes.fromhex(period.payment_reference[2:])
    paying = pay_erc20("sepolia", token=FUSDC, payee=PAYEE, amount=10_000_000, reference=reference)
    deployment.chain.rpc("evm_setAutomine", True)
    payer = Payer(deployment.chain)
    payer.send({"to": FUSDC, "data": call("095ea7b3", paying.to, MONEY), "value": 0})
    payer.send({"to": paying.to, "data": paying.data, "value": 0})
    deployment.chain.rpc("evm_setAutomine", False)
    deployment.go_to(deployment.world.now + TICK)
    deployment.mine()
    deployment.world.tick(network="sepolia")
    deployment.settle(3)
    assert deployment.find(daily)[0].processed == 1
    assert deployment.transactions() == 0


def test_periods_are_counted_by_what_the_chain_executed(deployment: Deployment, daily: RecurringPayment) -> None:
    """Every log of the fee proxy for the payee has the reference of exactly one period."""
    assert_completed(deployment, daily)
    logs = deployment.chain.rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [ERC20_TRANSFER_TOPIC]})
    mine = Counter(log["topics"][1] for log in logs if PAYEE[2:].lower() in log["data"])
    wanted = {reference_topic(bytes.fromhex(each.payment_reference[2:])) for each in deployment.find(daily)[1]}
    assert {topic: mine[topic] for topic in wanted} == dict.fromkeys(wanted, 1)
