"""ERC20RecurringPaymentProxy in memory, and recurring payouts of a World whose payer signs with a key of its own."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata import recurring as recurring_calldata
from chalicelib.chains.calldata.reverts import ALREADY_MADE, NOT_DUE_YET
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Frequency
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.recurring import flows as recurring
from chalicelib.recurring import running
from chalicelib.recurring.creation import Fees, Plan, create_recurring
from chalicelib.recurring.records import Commitment, Period, RecurringPayment
from chalicelib.relayer.jobs import track_relayed
from chalicelib.webhooks.records import Event
from tests.fakes.crash import FragileQueue, Guarded
from tests.fakes.memory_store import MemoryStore
from tests.fakes.mempool import Raw
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PAYEE, World

AMOUNT = 10_000_000
TRIGGER = "0xac7a9e00"
SUBSCRIBER = evm_wallet("subscriber")


def store_recurring(services: Services, owner: Owner, *, is_active: bool = False, **changes: Any) -> RecurringPayment:
    """Writes a recurring payout of three daily payments of 10 fUSDC from 2101 on, without a call to the node."""
    item = Item("10", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    template = requests.payout(services, owner, Draft(item))
    plan = {"start_date": "2101-01-31", "frequency": Frequency.DAILY, "total_payments": 3, "payer": SUBSCRIBER.address}
    made = create_recurring(template, Plan(**{**plan, **changes}), Fees(Fee(), {}), (), services.clock(), services.entropy)
    services.store.write(made)
    return recurring.activate(services, owner, made.recurring_id, signature_of(made)) if is_active else made


def signature_of(schedule: RecurringPayment) -> str:
    """The signature of SUBSCRIBER."""
    return SUBSCRIBER.sign_typed(recurring_calldata.typed_data(schedule.permit, schedule.network))


@dataclass
class RecurringProxy:
    """The contract on the chain of a World: the payments that it makes are logs of the fee proxy in the newest block."""

    world: World
    balance: int = 10**30
    allowance: int = 10**30
    refusal: str | None = None
    """With which it refuses everything, if it is set."""
    made: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How often each payment was made, by the nonce of the permit and the index."""
    references: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.chain.mempool.executes = lambda raw: self._execute(raw)
        self.world.chain.mempool.dry_run = self._refusal
        self._show()

    def set(self, balance: int | None = None, allowance: int | None = None) -> None:
        self.balance = self.balance if balance is None else balance
        self.allowance = self.allowance if allowance is None else allowance
        self._show()

    def _show(self) -> None:
        self.world.chain.holding = TokenReading(BaseUnits(self.balance), BaseUnits(self.allowance))

    def _refusal(self, to: str, data: str) -> str | None:
        call = trigger_of(data)
        if self.refusal is not None:
            return self.refusal
        if call.time_of_index > self.world.now.timestamp():
            return NOT_DUE_YET
        if self.made[call.nonce, call.index]:
            return ALREADY_MADE
        if self.allowance < call.total:
            return "ERC20: insufficient allowance"
        return "ERC20: transfer amount exceeds balance" if self.balance < call.total else None

    def _execute(self, raw: Raw) -> str | None:
        if not raw.data.startswith(TRIGGER):
            return None
        if (reason := self._refusal(raw.to, raw.data)) is not None:
            return reason
        call = trigger_of(raw.data)
        self.made[call.nonce, call.index] += 1
        self.references.append(call.reference)
        self.set(self.balance - call.total, self.allowance - call.total)
        paid = SimpleNamespace(currency="fUSDC-sepolia", payee=call.payee, amount=call.amount, payment_reference=call.reference)
        self.world.chain.pay_too(paid, fee=call.fee, fee_address=call.fee_address)  # type: ignore[arg-type]
        return None


def trigger_of(data: str) -> Any:
    """What a call of the contract says, by the names below."""
    assert data.startswith(TRIGGER)
    raw = bytes.fromhex(data[10:])
    words = [int.from_bytes(raw[start : start + 32], "big") for start in range(0, 0x1E0, 32)]
    (subscriber, _, payee, fee_address, amount, fee, relayer_fee, period, first, _, nonce, *_), index = words[:13], words[14]
    return SimpleNamespace(
        subscriber=f"0x{subscriber:040x}",
        payee=f"0x{payee:040x}",
        fee_address=f"0x{fee_address:040x}",
        amount=amount,
        fee=fee,
        total=amount + fee + relayer_fee,
        time_of_index=first + (index - 1) * period,
        nonce=nonce,
        index=index,
        reference="0x" + raw[0x2A0:0x2A8].hex(),
    )


class Recurring:
    """A World in memory with the contract, and what a merchant does with recurring payouts."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.world = World(client=object(), seed=seed, relayer_keys={"sepolia": "secret"}, **settings)
        self.store = MemoryStore()
        self.world.services = replace(self.world.services, store=self.store)
        self.world.chain.clock = self.world.clock
        self.world.chain.mine()
        self.world.scan()
        self.proxy = RecurringProxy(self.world)
        self.payer = SUBSCRIBER

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def owner(self) -> Owner:
        return self.world.owner

    def create(self, **changes: Any) -> RecurringPayment:
        """Three daily payments of 10 fUSDC from now on; `changes` are fields of the plan, or `fee`, `amount`, `payee`."""
        item = Item(changes.pop("amount", "10"), None, changes.pop("payee", PAYEE), "fUSDC-sepolia", "fUSDC-sepolia")
        fee = changes.pop("fee", Fee())
        plan = Plan(
            **{
                "start_date": self.world.now.isoformat(),
                "frequency": Frequency.DAILY,
                "total_payments": 3,
                "payer": self.payer.address,
                **changes,
            }
        )
        return recurring.create(self.services, self.owner, Draft(item, reference="PAY-1"), fee, plan).schedule

    def activate(self, schedule: RecurringPayment) -> RecurringPayment:
        return recurring.activate(self.services, self.owner, schedule.recurring_id, signature_of(schedule))

    def start(self, **changes: Any) -> RecurringPayment:
        return self.activate(self.create(**changes))

    def load(self, schedule: RecurringPayment) -> RecurringPayment:
        return self.find(schedule)[0]

    def find(self, schedule: RecurringPayment) -> tuple[RecurringPayment, tuple[Period, ...]]:
        return recurring.find(self.services, self.owner, schedule.recurring_id)

    def minute(self) -> None:
        """One tick: what is due is run, transactions get into blocks, and payments are recorded."""
        running.start_due(self.services)
        track_relayed(self.services)
        end = self.world.now + timedelta(minutes=1)
        self._consume(end)
        self.world.scan()
        self._consume(end)
        self.world.now = end

    def _consume(self, end: datetime) -> None:
        """Consumes what is due up to then; what is open is looked at every ten seconds, perhaps for ever."""
        while due := [each for each in self.world.queue.messages if each.due < end]:
            message = min(due, key=lambda each: each.due)
            self.world.now = max(self.world.now, message.due)
            self.world.queue.messages.remove(message)
            with suppress(SweepIncomplete):
                self.world.consume(message, self.services)

    def run_until(self, moment: datetime) -> None:
        while self.world.now < moment:
            self.minute()

    def settle(self, minutes: int = 3) -> None:
        """The ticks that a payment takes until it is counted."""
        for _ in range(minutes):
            self.minute()

    def jump(self, **time: float) -> None:
        self.world.now += timedelta(**time)

    def guarded(self, wire: Any) -> Any:
        """The services of a process whose calls to the store, the queue and the node are guarded by a tripwire."""
        services = self.services
        stored = ("get", "get_many", "query", "query_mixed", "page", "due", "write", "put_many")
        of_chain = ("read_account", "run_each", "send_raw", "receipts_of", "read_wallet", "read_funds", "replayed", "sights")
        chain = Guarded(self.world.chain, of_chain, wire)
        chains = SimpleNamespace(of=lambda name: chain, evm=lambda name: chain, networks=("sepolia",))
        return replace(
            services, store=Guarded(self.store, stored, wire), queue=FragileQueue(services.queue, wire), chains=chains
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of all events of a kind, as they were stored."""
        found = (each for each in self.store.all(Event) if each.kind == kind)
        return [json.loads(each.body) for each in sorted(found, key=lambda each: each.created_at)]

    @property
    def committed(self) -> int:
        return sum(each.committed for each in self.store.all(Commitment))
