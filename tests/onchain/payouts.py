"""Recurring payouts of the service on a real chain, whose blocks have the time of a clock that only tests advance."""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.recurring import digest, typed_data
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, RECURRING_PROXY, address_of
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC
from chalicelib.platform.services import Services
from chalicelib.platform.storage.secrets import SigningKeys
from chalicelib.recurring import flows as recurring
from chalicelib.recurring import running
from chalicelib.recurring.periods import period_due
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.relayer import jobs as relayer_jobs
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.flows import account_address
from chalicelib.relayer.records import RelayedCall, RelayedTransaction
from infra.local.chain import Chain
from tests.fakes.crash import Crash
from tests.fakes.memory_store import MemoryStore
from tests.fakes.recurring import Recurring
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.fakes.world import JOBS, PREFIX, Waiting, World
from tests.onchain.conftest import Nodes
from tests.onchain.payer import FUSDC
from tests.onchain.schedules import call
from tests.onchain.troubled_node import TroubledNode

NETWORK = "sepolia"
MONEY = 10**15
BLOCK_SECONDS = 20
VISIBILITY_SECONDS = 90


class PayoutsOnChain(Recurring):
    """The service with its relayer on a chain that mines when `block` is called; several payers."""

    def __init__(
        self, chain: Chain, start: datetime, seed: int = 0, keys: SigningKeys | None = None, **settings: Any
    ) -> None:
        """`keys` are those of a cloud, whose KMS then signs; a private key signs without them."""
        self.real, self.node = chain, TroubledNode(chain)
        self.world = World(
            client=object(),
            chains=Chains(Nodes({NETWORK: self.node.url})),
            seed=seed,
            relayer_keys={NETWORK: "secret" if keys is None else "kms"},
            confirmations={NETWORK: 2},
            **settings,
        )
        self.world.now = start
        self.store = MemoryStore()
        signing_keys = keys or self.world.services.signing_keys
        self.world.services = replace(self.world.services, store=self.store, signing_keys=signing_keys)
        self.address = account_address(self.world.services, NETWORK)
        self.payer: EvmWallet = evm_wallet("subscriber")
        self.begun: list[RecurringPayment] = []
        self.copies = 1
        """How often each message comes."""
        self.in_work: Waiting | None = None
        self.failed: Counter[str] = Counter()
        chain.set_relayer(self.address)
        chain.fund_native(self.address, 10**21)
        chain.rpc("evm_setAutomine", False)
        self.block()
        self.tick()

    def worker(self) -> Services:
        """The services of another worker at the same tables, queues, clock and node."""
        return replace(self.services, chains=Chains(Nodes({NETWORK: self.node.url})))

    def paying(self, name: str) -> EvmWallet:
        """Makes somebody with money and an allowance the payer of what is created next."""
        self.payer = evm_wallet(name)
        self.real.fund_native(self.payer.address, 10**18)
        self.real.fund_token(self.payer.address, FUSDC, MONEY)
        self.allow(self.payer, MONEY)
        return self.payer

    def allow(self, payer: EvmWallet, amount: int) -> None:
        data = call("095ea7b3", address_of(RECURRING_PROXY, NETWORK), amount)
        sent = self.real.send_as(payer.address, {"to": FUSDC, "data": data})
        self.block()
        assert self.real.receipt(sent)["status"] == "0x1"

    def begin(self, **changes: Any) -> RecurringPayment:
        """An active payout of 3 daily payments from the next hour on, to a payee and by a payer of its own."""
        number = len(self.begun)
        self.paying(f"subscriber {number}")
        payee = evm_address(f"0x{0xA11CE0000 + number:040x}")
        start = self.world.now.replace(minute=0, second=0) + timedelta(hours=1)
        self.begun.append(self.start(**{"payee": payee, "start_date": start.isoformat(), **changes}))
        return self.begun[-1]

    def activate(self, schedule: RecurringPayment) -> RecurringPayment:
        signature = self.payer.sign_typed(typed_data(schedule.permit, NETWORK))
        return recurring.activate(self.services, self.owner, schedule.recurring_id, signature)

    # --- time ---

    def block(self, seconds: int = 1) -> None:
        """Advances the clock, and mines a block with its time and what waits at the node."""
        self.world.advance(seconds)
        self.real.rpc("evm_setNextBlockTimestamp", int(self.world.now.timestamp()))
        self.real.mine()

    def tick(self) -> None:
        """What the schedules of a minute queue."""
        running.start_due(self.services)
        relayer_jobs.track_relayed(self.services)
        self.world.queue.messages.append(Waiting(self.world.now, f"{PREFIX}-scans", json.dumps({"network": NETWORK})))

    def minute(self) -> None:
        self.tick()
        for _ in range(60 // BLOCK_SECONDS):
            self.work()
            self.block(BLOCK_SECONDS)

    def work(self) -> None:
        """Consumes the messages that are due. One whose worker fails comes back after the visibility timeout."""
        while due := [each for each in self.world.queue.messages if each.due <= self.world.now]:
            for message in due:
                self.world.queue.messages.remove(message)
                self.consume(message)

    def consume(self, message: Waiting) -> None:
        name, self.in_work = message.queue.removeprefix(f"{PREFIX}-"), message
        try:
            for _ in range(self.copies):
                JOBS[name](self.services, message.body)
        except AssertionError:
            raise
        except (Exception, Crash) as problem:
            self.failed[f"{name}: {type(problem).__name__}"] += 1
            message.due = self.world.now + timedelta(seconds=VISIBILITY_SECONDS)
            self.world.queue.messages.append(message)
        finally:
            self.in_work = None

    def overtake(self) -> bool:
        """Another worker handles the message whose worker is asking the node; False if it is not a message of payouts."""
        message = self.in_work
        if message is None or not message.queue.endswith(("recurring", "relayed")):
            return False
        self.in_work = None
        name = message.queue.removeprefix(f"{PREFIX}-")
        try:
            JOBS[name](self.worker(), message.body)
        except Exception as problem:
            self.failed[f"another {name}: {type(problem).__name__}"] += 1
        return True

    def jump_to(self, moment: datetime) -> None:
        """Passes over time in which nothing is due."""
        seconds = (moment - self.world.now).total_seconds()
        if seconds > 1:
            self.block(int(seconds))

    def run_past(self, moment: datetime, most_minutes: int = 15) -> None:
        """Runs minutes until every payment that is due at a moment is counted, or its payout is paused."""
        while self.world.now <= moment:
            self.minute()
        for _ in range(most_minutes):
            if all(self.is_settled(self.load(each)) for each in self.begun):
                return
            self.minute()
        raise AssertionError(f"not settled after {most_minutes} minutes: {self.failed}")

    def is_settled(self, schedule: RecurringPayment) -> bool:
        return schedule.status is not RecurringStatus.ACTIVE or period_due(schedule) > self.world.now

    # --- what payers and the network do ---

    def raise_base_fee(self, wei: int) -> None:
        """For the next block; it falls by an eighth in each empty block after that."""
        self.real.rpc("anvil_setNextBlockBaseFeePerGas", hex(wei))

    def withdraw_at_once(self, schedule: RecurringPayment) -> None:
        """The payer's allowance is 0 at the begin of the next block that has a transaction of the payer."""
        self.real.rpc("anvil_impersonateAccount", schedule.permit.subscriber)
        withdrawal = {"to": FUSDC, "data": call("095ea7b3", address_of(RECURRING_PROXY, NETWORK), 0), "gas": hex(100_000)}
        offered = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**11)}
        self.real.rpc("eth_sendTransaction", {"from": schedule.permit.subscriber, **withdrawal, **offered})

    def pay_by_hand(self, schedule: RecurringPayment) -> None:
        """The payer pays the request of the period in work through the fee proxy."""
        period = self.find(schedule)[1][-1]
        proxy, permit = address_of(ERC20_FEE_PROXY, NETWORK), schedule.permit
        pay = pay_erc20(
            NETWORK,
            token=permit.token,
            payee=permit.recipient,
            amount=permit.amount,
            reference=bytes.fromhex(period.payment_reference[2:]),
        )
        self.real.send_as(permit.subscriber, {"to": FUSDC, "data": call("095ea7b3", proxy, permit.amount)})
        sent = self.real.send_as(permit.subscriber, {"to": pay.to, "data": pay.data})
        self.block()
        assert self.real.receipt(sent)["status"] == "0x1"

    # --- what the service has recorded ---

    def transactions(self) -> tuple[RelayedTransaction, ...]:
        """Of the service's own account, by their nonces."""
        return relayer_store.transactions_from(self.store, NETWORK, self.address, 0, 200)

    def calls(self) -> list[RelayedCall]:
        """The calls that its account was to make, in the order of their nonces."""
        found = (relayer_store.call(self.store, each.call_key) for each in self.transactions())
        return [each for each in found if each is not None]

    # --- what the chain says ---

    def executions(self, schedule: RecurringPayment) -> list[tuple[int, str]]:
        """The payments of a payout on the chain, counted by nothing but the chain: the time of the block and the topic
        of the reference of each, in order."""
        logs = self.real.rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [ERC20_TRANSFER_TOPIC]})
        to = schedule.permit.recipient[2:].lower()
        amount = f"{schedule.permit.amount:064x}"
        mine = [log for log in logs if to in log["data"] and amount in log["data"]]
        return [(int(log["blockTimestamp"], 16), log["topics"][1]) for log in mine]

    def references(self, schedule: RecurringPayment) -> list[str]:
        """The payment references of its executions, in order. An unknown one is its topic."""
        known = {topic_of(each.payment_reference): each.payment_reference for each in self.find(schedule)[1]}
        return [known.get(topic, topic) for _, topic in self.executions(schedule)]

    def height(self) -> int:
        return int(self.real.rpc("eth_blockNumber"), 16)

    def bitmap(self, schedule: RecurringPayment) -> int:
        """The payments that the contract has noted as made: bit k for payment k."""
        data = f"0x{_BITMAP}{digest(schedule.permit, NETWORK).hex()}"
        return int(self.real.rpc("eth_call", {"to": address_of(RECURRING_PROXY, NETWORK), "data": data}, "latest"), 16)


_BITMAP = "40f4483b"


def topic_of(reference: str) -> str:
    return "0x" + keccak256(bytes.fromhex(reference[2:])).hex()
