"""Products whose calls the service makes itself: what their people do, and what came of them."""

from collections.abc import Iterable
from datetime import timedelta
from random import Random
from typing import Any

from chalicelib.commerce.core.rules import CommerceStatus, status_of
from chalicelib.commerce.service import due_payments as commerce_due_payments
from chalicelib.commerce.service.reading import read_until
from chalicelib.crosschain.service.payment_intents import running as intent_running
from chalicelib.relayer.tracking import track
from tests.fakes import gasless as fake_gasless
from tests.fakes.bridge import SOURCE
from tests.fakes.escrows import HAD, OPERATOR, Commerce
from tests.fakes.gasless import Gasless
from tests.fakes.payment_intents import PaymentIntents
from tests.fakes.recurring import Recurring
from tests.fakes.world import PAYEE
from tests.simulation.product import Fact, NotYet, Product, counted


class Signed(Product):
    """A payment that the service makes with what its payer signs, without gas: it is made, reverts, or is given up, as
    the payer has spent the tokens."""

    needs_every_node = True

    def __init__(self, random: Random) -> None:
        self.gasless = gasless = Gasless()
        self.world = gasless.world
        self.fate = random.choice(("is made", "is made", "is given up", "reverts"))
        gasless.delegations, gasless.fails = random.choice((0, 1)), self.fate == "reverts"
        if random.random() < 0.3:
            gasless.chain.contracts.add(fake_gasless.PAYER)
        self.delegated = gasless.delegations
        self.acts = [self.offer, self.sign]
        self.jobs = (gasless.run, self.mine_and_scan)

    def offer(self) -> None:
        self.offered = self.gasless.offer()

    def sign(self) -> None:
        self.gasless.accept(self.offered)
        if self.fate == "is given up":
            self.gasless.state.balances.clear()

    def facts(self) -> Iterable[Fact]:
        for name, number in self.gasless.state.made.items():
            yield from counted(name, number)
        yield from counted("reverted", self.gasless.reverted)
        yield from counted("delegated", self.gasless.delegations - self.delegated)
        yield "paid", self.gasless.loaded().paid
        if len(self.acts) < 2 and (made := self.gasless.load(self.offered)).ended_at is not None:
            yield "ended", made.stage


class Relayed(Product):
    """A payment that the service makes with a payer's tokens, through the bridge; its calls may revert."""

    needs_every_node = True

    def __init__(self, random: Random) -> None:
        self.intents = intents = PaymentIntents()
        self.world = intents.world
        intents.fails = {random.choice(("take", "approve", "deposit"))} if random.random() < 0.3 else set()
        self.offered = intents.offer().intent
        self.acts = [lambda: intents.accept(self.offered), self.fill]
        self.jobs = (
            lambda: intent_running.run_due(self.services),
            lambda: intents.bridge.tick(1),
            lambda: track(self.services, SOURCE),
        )

    def fill(self) -> None:
        if not self.intents.sent:
            raise NotYet
        self.intents.fill(self.intents.sent[-1])

    @property
    def chains(self) -> tuple[Any, ...]:
        return self.intents.bridge.source, self.intents.bridge.destination

    def facts(self) -> Iterable[Fact]:
        for name in ("take", "deposit", "transfer"):
            yield from counted(name, self.intents.made[name])
        yield "paid", self.intents.loaded().paid
        found = self.intents.load(self.offered)
        if found.end is not None:
            yield "ended", found.end


class Escrowed(Product):
    """A commerce payment: authorized, and then captured and refunded, voided, or left until it expires."""

    needs_every_node = True

    def __init__(self, random: Random) -> None:
        self.commerce = commerce = Commerce()
        self.world, self.created = commerce.world, commerce.create()
        fate = random.choice(("is captured", "is voided", "expires"))
        self.acts = [lambda: commerce.pre_approve(self.created)]
        if fate == "is captured":
            commerce.allow(PAYEE, OPERATOR, HAD)
            self.acts.append(lambda: commerce.capture(self.created, 60 * 10**6))
            self.acts.append(lambda: commerce.refund(self.created, 10**7))
        if fate == "is voided":
            self.acts.append(lambda: commerce.void(self.created))
        if fate == "expires":
            self.acts.append(self.let_expire)
        self.jobs = (lambda: commerce_due_payments.run_due(self.services), self.world.relay, self.mine_and_scan)

    def let_expire(self) -> None:
        payment = self.commerce.load(self.created)
        if not payment.authorized:
            raise NotYet
        self.world.now = payment.authorization_expiry - timedelta(minutes=2)

    def facts(self) -> Iterable[Fact]:
        for name, number in self.commerce.made.items():
            yield from counted(name, number)
        payment = self.commerce.load(self.created)
        for name in ("authorized", "captured", "voided", "refunded"):
            yield name, "here", getattr(payment, name)
        if payment.is_end_notified:
            yield ("ended",)
        if status_of(payment, read_until(self.services, payment)) is CommerceStatus.EXPIRED:
            yield ("expired",)


class Payouts(Product):
    """A recurring payout of three daily payments."""

    def __init__(self, random: Random) -> None:
        self.recurring = recurring = Recurring()
        self.world, self.schedule = recurring.world, recurring.create()
        self.acts = [lambda: recurring.activate(self.schedule), *(lambda n=n: self.next_day(n) for n in (1, 2))]
        self.jobs = (recurring.minute,)

    def next_day(self, processed: int) -> None:
        if self.recurring.load(self.schedule).processed < processed:
            raise NotYet
        self.recurring.jump(hours=23, minutes=58)

    def facts(self) -> Iterable[Fact]:
        schedule, periods = self.recurring.find(self.schedule)
        for (_, index), times in self.recurring.proxy.made.items():
            yield from ((*each, index) for each in counted("made", times))
        yield from counted("processed", schedule.processed)
        yield from (("period", each.number, each.amount) for each in periods if each.payment_id is not None)
        yield "status", schedule.status
