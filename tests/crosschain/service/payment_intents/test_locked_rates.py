"""A rate that is locked for a signed payment is that payment's alone, whatever is signed, sent and paid beside it."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.nodes.bridges.deposits import relay_hash
from chalicelib.chains.nodes.history.receipts import PaymentSender
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.quotes.records import LockedRate
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.outbound.lifi import RouterUnavailable
from tests.fakes.bridge import Sent
from tests.fakes.lying_node import Liar, served, served_beside
from tests.fakes.payment_intents import PAYER, PaymentIntents
from tests.support.rehearsed import parts

VIEWER = Viewer("acct", None)
DOLLAR = 10**8
"""In the units of amounts in fiat."""


@pytest.fixture
def payment_intents() -> PaymentIntents:
    payment_intents = PaymentIntents()
    payment_intents.world.prices.set("USD", "USDC", "1")
    payment_intents.request = payment_intents.new_request(invoice_currency="USD", amount=BaseUnits(100 * DOLLAR))
    return payment_intents


def offered(payment_intents: PaymentIntents, amount: str | None) -> PaymentIntent:
    asked = PayOptions(PAYER, SourceToken("BASE", "USDC"))
    name = payment_intents.request.request_id
    made = paying.pay(
        payment_intents.services, name, payment_intents.owner, VIEWER, asked, Part(amount=amount, fee=Fee())
    )
    assert isinstance(made, Offer)
    return made.intent


def begin(payment_intents: PaymentIntents, amount: str | None) -> tuple[PaymentIntent, Sent]:
    """A signed payment that is in the bridge, and its deposit."""
    before = len(payment_intents.sent)
    intent = payment_intents.accept(offered(payment_intents, amount))
    for _ in range(12):
        payment_intents.minute()
        if len(payment_intents.sent) > before:
            return intent, payment_intents.sent[-1]
    raise AssertionError(payment_intents.load(intent))


def make(payment_intents: PaymentIntents, amount: str | None = None) -> PaymentIntent:
    """A signed payment that is there."""
    intent, sent = begin(payment_intents, amount)
    payment_intents.fill(sent, fee=0)
    payment_intents.settle(4)
    found = payment_intents.load(intent)
    assert found.end is End.SETTLED, found
    return found


def pay(payment_intents: PaymentIntents, units: int) -> None:
    """A payment on the request's own network."""
    payment_intents.bridge.destination.pay(payment_intents.loaded(), BaseUnits(units))
    payment_intents.bridge.tick(1)


def settle(payment_intents: PaymentIntents, minutes: int = 6) -> None:
    """What the schedules do, that of the recorder among them."""
    for _ in range(minutes):
        payment_intents.minute()
        recording.queue_overdue(payment_intents.services)
        payment_intents.world.record()


def payments(payment_intents: PaymentIntents) -> tuple[Payment, ...]:
    return payment_store.payments(payment_intents.services.store, payment_intents.request.request_id)


def test_small_signed_payments_hold_no_rate_for_the_rest(payment_intents: PaymentIntents) -> None:
    make(payment_intents, "1")
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.settle(6)
    make(payment_intents, "1")
    pay(payment_intents, 98_000_000)
    request = payment_intents.loaded()
    assert request.status is RequestStatus.PARTIALLY_PAID
    first, second, rest = sorted(payments(payment_intents), key=lambda each: each.paid_at)
    assert (first.value, first.amount) == (DOLLAR, 1_000_000)
    assert (second.value, second.amount) == (DOLLAR, 1_050_000)
    assert rest.value == 98 * DOLLAR * 100 // 105


def test_a_rate_that_is_locked_is_offered_to_nobody(payment_intents: PaymentIntents) -> None:
    begin(payment_intents, "1")
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.settle(3)
    payment_intents.world.advance(200)
    assert paying.direct_route(
        payment_intents.services, payment_intents.request.request_id, payment_intents.owner, VIEWER, PAYER, Part()
    ) is None
    payment_intents.fill(payment_intents.sent[-1], fee=0)
    payment_intents.settle(4)
    assert offered(payment_intents, "1").due == 1_050_000
    assert Fraction(payment_intents.loaded().paid, DOLLAR) == 1


def test_the_payment_waits_until_it_is_known_whether_the_rate_is_locked_for_it(payment_intents: PaymentIntents) -> None:
    """It may be recorded before the source chain's deposit was read. Nobody is alarmed, and nothing else waits."""
    alarms = list[str]()
    payment_intents.services.log.error = lambda message, **_: alarms.append(message)
    intent, sent = begin(payment_intents, "40")
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    assert payment_intents.load(intent).stage is Stage.TAKEN
    payment_intents.fill(sent, fee=0)
    pay(payment_intents, 1_000_000)
    payment_intents.bridge.tick()
    assert payment_intents.load(intent).stage is Stage.TAKEN and payment_intents.loaded().paid == DOLLAR
    settle(payment_intents)
    assert payment_intents.loaded().paid == 41 * DOLLAR
    assert payment_intents.load(intent).end is End.SETTLED and alarms == []


def test_the_fill_of_another_deposit_has_no_part_in_the_rate(payment_intents: PaymentIntents) -> None:
    """Anybody may fill what was never deposited, in the name of the payer, with their own tokens."""
    intent, sent = begin(payment_intents, "1")
    settle(payment_intents)
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.world.advance(600)
    forged = replace(sent, deposit_id=sent.deposit_id + 1)
    payment_intents.fill(forged, fee=0)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR * 100 // 105
    payment_intents.fill(sent, fee=0)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR * 100 // 105 + DOLLAR
    assert payment_intents.load(intent).end is End.SETTLED


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_of_two_has_a_payment_valued_by_the_rate_of_a_deposit_that_did_not_bring_it(
    payment_intents: PaymentIntents, is_first: bool
) -> None:
    intent, _ = begin(payment_intents, "1")
    settle(payment_intents)
    (locked,) = payment_intents.services.store.all(LockedRate)
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.world.advance(600)
    honest = payment_intents.bridge.destination
    fill = PaymentSender(locked.payer, is_wallet=False, bridged_from=locked.source, fill_key=locked.fill_key)
    liar = Liar(honest, payers_of=lambda paid, read=None: (fill,) * len(paid))
    payment_intents.world.services = served_beside(payment_intents.services, honest.network, liar, is_first)
    pay(payment_intents, intent.due)
    settle(payment_intents)
    assert payment_intents.loaded().paid in (0, DOLLAR * 100 // 105), "it waits, or counts for what it is worth"
    payment_intents.world.services = served(payment_intents.services, honest.network, honest)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR * 100 // 105


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_of_two_takes_the_rate_from_the_payment_that_it_is_locked_for(
    payment_intents: PaymentIntents, is_first: bool
) -> None:
    _, sent = begin(payment_intents, "1")
    settle(payment_intents)
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.world.advance(600)
    honest = payment_intents.bridge.destination
    liar = Liar(honest, payers_of=lambda paid, read=None: (None,) * len(paid))
    payment_intents.world.services = served_beside(payment_intents.services, honest.network, liar, is_first)
    payment_intents.fill(sent, fee=0)
    settle(payment_intents)
    assert payment_intents.loaded().paid in (0, DOLLAR), "it waits, or counts for what was signed"
    payment_intents.world.services = served(payment_intents.services, honest.network, honest)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR


def test_after_half_an_hour_the_rate_is_not_locked_any_more(payment_intents: PaymentIntents) -> None:
    _, sent = begin(payment_intents, "1")
    settle(payment_intents)
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.world.advance(31 * 60)
    payment_intents.fill(sent, fee=0)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR * 100 // 105


def test_a_payment_that_a_fork_moves_to_another_transaction_keeps_its_rate(payment_intents: PaymentIntents) -> None:
    _, sent = begin(payment_intents, "1")
    settle(payment_intents)
    payment_intents.world.prices.set("USD", "USDC", "1.05")
    payment_intents.world.advance(600)
    payment_intents.fill(sent, fee=0)
    payment_intents.bridge.tick(1)
    assert payment_intents.loaded().paid == DOLLAR
    payment_intents.bridge.destination.fork(5)
    payment_intents.bridge.tick(1)
    assert payment_intents.loaded().paid == 0
    payment_intents.fill(sent, fee=0)
    settle(payment_intents)
    assert payment_intents.loaded().paid == DOLLAR


def test_what_goes_back_to_the_payer_leaves_no_rate_behind(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.accept(offered(payment_intents, "1"))
    payment_intents.minute()
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.world.advance(120)
    payment_intents.settle(30)
    assert payment_intents.load(intent).end is End.REFUNDED
    (locked,) = payment_intents.services.store.all(LockedRate)
    assert locked.ends_at == payment_intents.load(intent).taken_at


@pytest.mark.parametrize("part", parts(4))
@pytest.mark.parametrize("step", ["0.97", "1.03", "either"], ids=["falling", "rising", "either"])
def test_in_no_history_is_a_payment_worth_more_than_by_a_rate_that_was_its_own(step: str, part: int) -> None:
    """A dollar is more tokens, or fewer, from minute to minute, while payers sign, pay and fill in every order.

    A payment on the request's own network is worth no more than by the best rate of the time of a quote, and the one of
    a signed payment no more than by the rate that was signed.
    """
    for seed in range(part, 20, 4):
        chance, payment_intents = random.Random(f"{step}/{seed}"), PaymentIntents(seed, payment_tolerance_bps=0)
        history = History(payment_intents, chance, step)
        for _ in range(chance.randint(5, 12)):
            history.go_on()
        history.end()
        history.check()


class History:
    def __init__(self, payment_intents: PaymentIntents, chance: random.Random, step: str) -> None:
        self.payment_intents, self.chance, self.step = payment_intents, chance, step
        self.rate, self.rates = Fraction(1), list[tuple[datetime, Fraction]]()
        self.begun, self.open = list[PaymentIntent](), list[Sent]()
        self.set(Fraction(1))
        payment_intents.request = payment_intents.new_request(invoice_currency="USD", amount=BaseUnits(100 * DOLLAR))

    def set(self, rate: Fraction) -> None:
        self.rate = rate
        self.rates.append((self.payment_intents.world.now, rate))
        self.payment_intents.world.prices.set("USD", "USDC", str(rate))

    def go_on(self) -> None:
        act = self.chance.choice((self.begin, self.begin, self.fill, self.fill, self.pay, self.wait, self.move))
        with suppress(ServiceError):
            act()
        for sent in self.payment_intents.sent[len(self.open) :]:
            self.open.append(sent)
        self.payment_intents.settle(self.chance.choice((0, 1, 4)))

    def begin(self) -> None:
        amount = self.chance.choice(("1", "2.5", "7", "40", None))
        self.begun.append(self.payment_intents.accept(offered(self.payment_intents, amount)))

    def fill(self) -> None:
        if self.open:
            sent = self.chance.choice(self.open)
            if self.chance.random() < 0.3:
                sent = replace(sent, deposit_id=sent.deposit_id + 50 + len(self.rates))
            elif sent in self.filled():
                return
            self.payment_intents.fill(sent, fee=0)

    def filled(self) -> list[Sent]:
        known = self.payment_intents.bridge.destination.filled
        return [each for each in self.open if relay_hash(each.logged, 8453) in known]

    def pay(self) -> None:
        due = [each.due for each in self.begun] or [BaseUnits(3_000_000)]
        units = self.chance.choice((1, 1_000_000, 9_999_999, 30_000_000, *due))
        pay(self.payment_intents, units)

    def wait(self) -> None:
        self.payment_intents.world.advance(self.chance.choice((60, 200, 400, 1500)))

    def move(self) -> None:
        step = self.chance.choice(("0.97", "1.03")) if self.step == "either" else self.step
        self.set(self.rate * Fraction(step))

    def end(self) -> None:
        self.payment_intents.settle(8)
        for sent in self.open:
            if sent not in self.filled():
                self.payment_intents.fill(sent, fee=0)
        settle(self.payment_intents, 12)

    def best(self, paid_at: datetime) -> Fraction:
        """The best rate of the five minutes of a quote, and of 15 seconds by which the clocks of blocks may differ."""
        since = paid_at - timedelta(seconds=316)
        before = [rate for at, rate in self.rates if at <= since][-1:]
        return min(before + [rate for at, rate in self.rates if since < at <= paid_at + timedelta(seconds=16)])

    def check(self) -> None:
        found, own = payments(self.payment_intents), [each for each in self.begun if each.rate is not None]
        for each in found:
            if each.value <= Fraction(each.amount * 100) / self.best(each.paid_at):
                continue
            signed = [made for made in own if made.due == each.amount and made.rate == each.rate]
            assert signed and each.type is PaymentKind.CROSSCHAIN, each
            own.remove(signed[0])
        request = self.payment_intents.loaded()
        assert request.paid == sum(each.value for each in found) + request.dust_amount
