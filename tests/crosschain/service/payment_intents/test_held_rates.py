"""A rate that is held for a signed payment is that payment's alone, whatever is signed, sent and paid beside it."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.nodes.bridges.deposits import relay_hash
from chalicelib.checkout.requests import flows as requests
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.quotes.records import HeldRate
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.outbound.lifi import RouterUnavailable
from tests.fakes.bridge import Sent
from tests.fakes.permits import PAYER, Permits

VIEWER = Viewer("acct", None)
DOLLAR = 10**8
"""In the units of amounts in fiat."""


@pytest.fixture
def permits() -> Permits:
    permits = Permits()
    permits.world.prices.set("USD", "USDC", "1")
    permits.request = permits.new_request(invoice_currency="USD", amount=BaseUnits(100 * DOLLAR))
    return permits


def offered(permits: Permits, amount: str | None) -> PaymentIntent:
    asked = PayOptions(PAYER, SourceToken("BASE", "USDC"))
    name = permits.request.request_id
    made = requests.pay(permits.services, name, permits.owner, VIEWER, asked, Part(amount=amount, fee=Fee()))
    assert isinstance(made, Offer)
    return made.intent


def begin(permits: Permits, amount: str | None) -> tuple[PaymentIntent, Sent]:
    """A signed payment that is in the bridge, and its deposit."""
    before = len(permits.sent)
    intent = permits.accept(offered(permits, amount))
    for _ in range(12):
        permits.minute()
        if len(permits.sent) > before:
            return intent, permits.sent[-1]
    raise AssertionError(permits.load(intent))


def make(permits: Permits, amount: str | None = None) -> PaymentIntent:
    """A signed payment that is there."""
    intent, sent = begin(permits, amount)
    permits.fill(sent, fee=0)
    permits.settle(4)
    found = permits.load(intent)
    assert found.end is End.SETTLED, found
    return found


def pay(permits: Permits, units: int) -> None:
    """A payment on the request's own network."""
    permits.bridge.destination.pay(permits.loaded(), BaseUnits(units))
    permits.bridge.tick(1)


def settle(permits: Permits, minutes: int = 6) -> None:
    """What the schedules do, that of the recorder among them."""
    for _ in range(minutes):
        permits.minute()
        recording.sweep(permits.services)
        permits.world.record()


def payments(permits: Permits) -> tuple[Payment, ...]:
    return payment_store.payments(permits.services.store, permits.request.request_id)


def test_small_signed_payments_hold_no_rate_for_the_rest(permits: Permits) -> None:
    make(permits, "1")
    permits.world.prices.set("USD", "USDC", "1.05")
    permits.settle(6)
    make(permits, "1")
    pay(permits, 98_000_000)
    request = permits.loaded()
    assert request.status is RequestStatus.PARTIALLY_PAID
    first, second, rest = sorted(payments(permits), key=lambda each: each.paid_at)
    assert (first.counted, first.amount) == (DOLLAR, 1_000_000)
    assert (second.counted, second.amount) == (DOLLAR, 1_050_000)
    assert rest.counted == 98 * DOLLAR * 100 // 105


def test_a_rate_that_is_held_is_offered_to_nobody(permits: Permits) -> None:
    begin(permits, "1")
    permits.world.prices.set("USD", "USDC", "1.05")
    permits.settle(3)
    permits.world.advance(200)
    assert requests.direct_route(
        permits.services, permits.request.request_id, permits.owner, VIEWER, PAYER, Part()
    ) is None
    permits.fill(permits.sent[-1], fee=0)
    permits.settle(4)
    assert offered(permits, "1").due == 1_050_000
    assert Fraction(permits.loaded().paid, DOLLAR) == 1


def test_the_payment_waits_until_it_is_known_whether_the_rate_is_held_for_it(permits: Permits) -> None:
    """It may be recorded before the source chain's deposit was read. Nobody is alarmed, and nothing else waits."""
    alarms = list[str]()
    permits.services.log.error = lambda message, **_: alarms.append(message)
    intent, sent = begin(permits, "40")
    permits.world.prices.set("USD", "USDC", "1.05")
    assert permits.load(intent).stage is Stage.TAKEN
    permits.fill(sent, fee=0)
    pay(permits, 1_000_000)
    permits.bridge.tick()
    assert permits.load(intent).stage is Stage.TAKEN and permits.loaded().paid == DOLLAR
    settle(permits)
    assert permits.loaded().paid == 41 * DOLLAR
    assert permits.load(intent).end is End.SETTLED and alarms == []


def test_the_fill_of_another_deposit_has_no_part_in_the_rate(permits: Permits) -> None:
    """Anybody may fill what was never deposited, in the name of the payer, with their own tokens."""
    intent, sent = begin(permits, "1")
    settle(permits)
    permits.world.prices.set("USD", "USDC", "1.05")
    permits.world.advance(600)
    forged = replace(sent, deposit_id=sent.deposit_id + 1)
    permits.fill(forged, fee=0)
    settle(permits)
    assert permits.loaded().paid == DOLLAR * 100 // 105
    permits.fill(sent, fee=0)
    settle(permits)
    assert permits.loaded().paid == DOLLAR * 100 // 105 + DOLLAR
    assert permits.load(intent).end is End.SETTLED


def test_after_half_an_hour_the_rate_is_not_held_any_more(permits: Permits) -> None:
    _, sent = begin(permits, "1")
    settle(permits)
    permits.world.prices.set("USD", "USDC", "1.05")
    permits.world.advance(31 * 60)
    permits.fill(sent, fee=0)
    settle(permits)
    assert permits.loaded().paid == DOLLAR * 100 // 105


def test_a_payment_that_a_fork_moves_to_another_transaction_keeps_its_rate(permits: Permits) -> None:
    _, sent = begin(permits, "1")
    settle(permits)
    permits.world.prices.set("USD", "USDC", "1.05")
    permits.world.advance(600)
    permits.fill(sent, fee=0)
    permits.bridge.tick(1)
    assert permits.loaded().paid == DOLLAR
    permits.bridge.destination.fork(5)
    permits.bridge.tick(1)
    assert permits.loaded().paid == 0
    permits.fill(sent, fee=0)
    settle(permits)
    assert permits.loaded().paid == DOLLAR


def test_what_goes_back_to_the_payer_leaves_no_rate_behind(permits: Permits) -> None:
    intent = permits.accept(offered(permits, "1"))
    permits.minute()
    permits.world.router.trouble = RouterUnavailable("down")
    permits.world.advance(120)
    permits.settle(30)
    assert permits.load(intent).end is End.REFUNDED
    (held,) = permits.services.store.all(HeldRate)
    assert held.ends_at == permits.load(intent).taken_at


@pytest.mark.parametrize("step", ["0.97", "1.03", "either"], ids=["falling", "rising", "either"])
def test_in_no_history_is_a_payment_worth_more_than_by_a_rate_that_was_its_own(step: str) -> None:
    """A dollar is more tokens, or fewer, from minute to minute, while payers sign, pay and fill in every order.

    A payment on the request's own network is worth no more than by the best rate of the time of a quote, and the one of
    a signed payment no more than by the rate that was signed.
    """
    for seed in range(20):
        chance, permits = random.Random(f"{step}/{seed}"), Permits(seed, payment_tolerance_bps=0)
        history = History(permits, chance, step)
        for _ in range(chance.randint(5, 12)):
            history.go_on()
        history.end()
        history.check()


class History:
    def __init__(self, permits: Permits, chance: random.Random, step: str) -> None:
        self.permits, self.chance, self.step = permits, chance, step
        self.rate, self.rates = Fraction(1), list[tuple[datetime, Fraction]]()
        self.begun, self.open = list[PaymentIntent](), list[Sent]()
        self.set(Fraction(1))
        permits.request = permits.new_request(invoice_currency="USD", amount=BaseUnits(100 * DOLLAR))

    def set(self, rate: Fraction) -> None:
        self.rate = rate
        self.rates.append((self.permits.world.now, rate))
        self.permits.world.prices.set("USD", "USDC", str(rate))

    def go_on(self) -> None:
        act = self.chance.choice((self.begin, self.begin, self.fill, self.fill, self.pay, self.wait, self.move))
        with suppress(ServiceError):
            act()
        for sent in self.permits.sent[len(self.open) :]:
            self.open.append(sent)
        self.permits.settle(self.chance.choice((0, 1, 4)))

    def begin(self) -> None:
        amount = self.chance.choice(("1", "2.5", "7", "40", None))
        self.begun.append(self.permits.accept(offered(self.permits, amount)))

    def fill(self) -> None:
        if self.open:
            sent = self.chance.choice(self.open)
            if self.chance.random() < 0.3:
                sent = replace(sent, deposit_id=sent.deposit_id + 50 + len(self.rates))
            elif sent in self.filled():
                return
            self.permits.fill(sent, fee=0)

    def filled(self) -> list[Sent]:
        known = self.permits.bridge.destination.filled
        return [each for each in self.open if relay_hash(each.logged, 8453) in known]

    def pay(self) -> None:
        due = [each.due for each in self.begun] or [BaseUnits(3_000_000)]
        units = self.chance.choice((1, 1_000_000, 9_999_999, 30_000_000, *due))
        pay(self.permits, units)

    def wait(self) -> None:
        self.permits.world.advance(self.chance.choice((60, 200, 400, 1500)))

    def move(self) -> None:
        step = self.chance.choice(("0.97", "1.03")) if self.step == "either" else self.step
        self.set(self.rate * Fraction(step))

    def end(self) -> None:
        self.permits.settle(8)
        for sent in self.open:
            if sent not in self.filled():
                self.permits.fill(sent, fee=0)
        settle(self.permits, 12)

    def best(self, paid_at: datetime) -> Fraction:
        """The best rate of the five minutes of a quote, and of 15 seconds by which the clocks of blocks may differ."""
        since = paid_at - timedelta(seconds=316)
        before = [rate for at, rate in self.rates if at <= since][-1:]
        return min(before + [rate for at, rate in self.rates if since < at <= paid_at + timedelta(seconds=16)])

    def check(self) -> None:
        found, own = payments(self.permits), [each for each in self.begun if each.rate is not None]
        for each in found:
            if each.counted <= Fraction(each.amount * 100) / self.best(each.paid_at):
                continue
            signed = [made for made in own if made.due == each.amount and made.rate == each.rate]
            assert signed and each.type is PaymentKind.CROSSCHAIN, each
            own.remove(signed[0])
        request = self.permits.loaded()
        assert request.paid == sum(each.counted for each in found) + request.unlisted_amount
