"""The products of the service in small: what honest people do with each, what runs by itself, and what came of it.

    PRODUCTS     a name for each; `PRODUCTS[name](Random(seed))` is a world with nothing but this product

An act that is refused, or whose time has not come, is tried again in the next minute; those after it wait.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import wallets
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base.errors import ServiceError
from chalicelib.base.signatures import personal_digest
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.commerce.core.rules import CommerceStatus, status_of
from chalicelib.commerce.service import running as commerce_running
from chalicelib.commerce.service.reading import read_until
from chalicelib.crosschain.service.payment_intents import running as intent_running
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links import expiry
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.relayer.tracking import track
from tests.fakes import announcements as fake_announcements
from tests.fakes.bridge import SOURCE, Bridge
from tests.fakes.chain import SENDER
from tests.fakes.escrows import HAD, OPERATOR, Commerce
from tests.fakes.lying_at_will import OTHER
from tests.fakes.memory_store import MemoryStore
from tests.fakes.payment_intents import PaymentIntents
from tests.fakes.recurring import Recurring
from tests.fakes.world import PAYEE, WALLET, World
from tests.payments.recording.test_refunds import refund_of
from tests.payments.transfers.test_order_refunds import FULL, Shop

Fact = tuple[Any, ...]
Step = Callable[[], object]


class NotYet(Exception):
    """It is too early for an act."""


class Product:
    """`acts` are what people do, `jobs` what happens in a minute; `chains` are the networks that nodes may lie about."""

    world: World
    acts: list[Step]
    jobs: tuple[Step, ...]
    needs_every_node = False
    """Whether it goes on only by what every configured node confirms, as the outcome of the service's own calls."""

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def chains(self) -> tuple[Any, ...]:
        return (self.world.chain,)

    def facts(self) -> Iterable[Fact]:
        """What cannot be undone: it stays in what is returned."""
        raise NotImplementedError

    def minute(self) -> set[Fact]:
        """What is so after a minute in which somebody acts, and everything runs that can."""
        with suppress(ServiceError, NotYet):
            if self.acts:
                self.acts[0]()
                del self.acts[0]
        for job in (*self.jobs, *(partial(self.compare, chain.network) for chain in self.chains)):
            with suppress(ServiceError, SweepIncomplete):
                job()
        return set(self.facts())

    def compare(self, network: str) -> None:
        """Reads a network as once in a minute, when its nodes are compared."""
        scan_chain(self.services, json.dumps({"network": network, "compareNodes": True}))
        self.world.record()

    def mine_and_scan(self) -> None:
        self.world.advance(60)
        self.world.scan()


def counted(name: str, number: int) -> set[Fact]:
    return {(name, each) for each in range(1, number + 1)}


def is_locked(world: World, payable: PayableLink) -> bool:
    try:
        check_payable(world.load(payable), world.now)
    except ServiceError:
        return True
    return False


def in_memory(**settings: Any) -> World:
    world = World(object(), **settings)
    world.services = replace(world.services, store=MemoryStore())
    world.chain.clock = world.clock
    world.chain.genesis = world.now - timedelta(seconds=len(world.chain.blocks))
    world.scan()
    return world


class Payments(Product):
    """A link that is paid, and one that expires."""

    def __init__(self, random: Random) -> None:
        self.world = world = in_memory()
        self.unpaid = world.create_link()
        world.now = self.unpaid.link.expires_at - timedelta(minutes=random.randrange(2, 8))
        self.paid = world.create_link()
        self.acts = [lambda: world.chain.pay(self.paid.requests[0])]
        self.jobs = (self.mine_and_scan, lambda: expiry.expire_due(self.services))

    def facts(self) -> Iterable[Fact]:
        for name, each in (("paid", self.paid), ("unpaid", self.unpaid)):
            found = self.world.load(each)
            if found.link.status is not LinkStatus.PENDING:
                yield name, found.requests[0].paid, found.link.status


class Refunds(Product):
    """An order that is paid, and paid again by somebody else; both are offered back, and the order is sent back."""

    def __init__(self, random: Random) -> None:
        self.shop = shop = Shop()
        self.world, self.offered = shop.world, set[Fact]()
        self.acts = [lambda: self.pay(WALLET, 0), lambda: self.pay(fake_announcements.SAFE, FULL), self.send]
        self.jobs = (self.mine_and_scan, self.order, self.duplicate)

    def pay(self, payer: str, paid: int) -> None:
        if self.shop.request.paid < paid:
            raise NotYet
        log = self.world.chain.pay(self.shop.request, amount=FULL)
        self.world.chain.payers[log["transactionHash"]] = payer

    def send(self) -> None:
        self.world.chain.pay(refund_of(self.shop.request, self.shop.refund(to=WALLET).offer.payer), amount=FULL)

    def order(self) -> None:
        offer = self.shop.refund(to=WALLET if self.shop.request.paid > FULL else None).offer
        self.offered.add(("order", offer.payer))

    def duplicate(self) -> None:
        viewer = Viewer(self.world.account_id, None)
        listing = transfers.list_of_link(self.services, self.shop.payment.link.token, viewer)
        refunds = [each.refund for each in listing.transfers if each.refund is not None]
        self.offered |= {("transfer", each.payer, each.amount) for each in refunds}

    def facts(self) -> Iterable[Fact]:
        yield from self.offered
        yield from counted("paid", self.shop.request.paid // FULL)
        yield from counted("refunded", self.shop.request.refunded // FULL)


class SignIn(Product):
    """A contract wallet that signs in, and somebody who has no signature of it."""

    def __init__(self, random: Random) -> None:
        self.world, self.signed_in = in_memory(), set[Fact]()
        self.acts = [lambda: self.sign_in(True)]
        self.jobs = (self.mine_and_scan, lambda: self.sign_in(False))

    def sign_in(self, is_right: bool) -> None:
        issued = wallets.create_challenge(self.services, OTHER, 11155111)
        signature = bytes([is_right]) * 130
        if is_right:
            self.world.chain.signed.add((OTHER, personal_digest(issued.message), signature))
        signed = SignedChallenge(issued.challenge_id, issued.nonce, issued.message, "0x" + signature.hex())
        sign_in_flows.sign_in(self.services, signed, None, Actor("", "anonymous", "203.0.113.7", "req-1"))
        self.signed_in.add(("signed in", is_right))

    def facts(self) -> Iterable[Fact]:
        return self.signed_in


class Announced(Product):
    """A link for which a transaction is announced, of a wallet or of a Safe, that pays, fails, or is never there."""

    def __init__(self, random: Random) -> None:
        self.world = world = fake_announcements.with_safe(in_memory())
        self.payment = world.create_link()
        self.fate, self.is_safe = random.choice(("pays", "fails", "is replaced", "is lost")), random.random() < 0.5
        proposal = fake_announcements.paying(self.payment)
        self.safe_hash = fake_announcements.hash_of(proposal)
        world.safes.known["sepolia", self.safe_hash] = proposal
        self.tx_hash = world.chain.send(self.payment.requests[0])
        if self.fate == "is lost":
            del world.chain.transactions[self.tx_hash]
        self.acts = [self.announce, self.execute]
        self.jobs = (self.mine_and_scan, lambda: tracking.track_due(self.services))

    def announce(self) -> None:
        draft = Announcement(self.tx_hash, None, None, "SEPOLIA", "USDC", None)
        if self.is_safe:
            draft = fake_announcements.announcement(self.safe_hash)
        fake_announcements.record(self.world, self.payment, draft)

    def execute(self) -> None:
        chain, succeeds = self.world.chain, self.fate == "pays"
        if self.fate == "is lost":
            return
        if self.fate == "is replaced":
            del chain.transactions[self.tx_hash]
            chain.counts[SENDER] = 1
            chain.execute_safe(fake_announcements.SAFE, "0x" + "cd" * 32)
        elif self.is_safe:
            self.tx_hash = chain.execute_safe(fake_announcements.SAFE, self.safe_hash, succeeds).transaction_hash
            block = chain.blocks[-1]
            executed = SentTransaction(SENDER, fake_announcements.SAFE, "0x", 0, block.number, succeeds, (), block.hash)
            chain.transactions[self.tx_hash] = executed
        else:
            chain.include(self.tx_hash, succeeds)
        if succeeds:
            paid = (fake_announcements.paid_event(self.payment.requests[0]),)
            chain.transactions[self.tx_hash] = replace(chain.transactions[self.tx_hash], paid=paid)
            chain.pay_too(self.payment.requests[0])

    def facts(self) -> Iterable[Fact]:
        found = self.world.load(self.payment)
        yield "paid", found.requests[0].paid
        for each in found.announcements.all if found.announcements is not None else ():
            if each.status is not AnnouncedStatus.PENDING:  # what was not read before it was replaced has lapsed
                yield "ended", each.status is AnnouncedStatus.SETTLED
            if not is_locked(self.world, self.payment):
                yield ("free",)


class Deposits(Product):
    """A link that is paid from another chain: it arrives, fails there, reverts, or nobody brings it and it comes back."""

    def __init__(self, random: Random) -> None:
        self.bridge = bridge = Bridge()
        self.world, self.payment = bridge.world, bridge.link()
        self.fate = random.choice(("arrives", "bounces", "reverts", "comes back"))
        self.sent = sent = bridge.send(self.payment)
        self.acts = [lambda: bridge.announce(self.payment, sent), lambda: bridge.include(sent, self.fate != "reverts")]
        if self.fate in ("arrives", "bounces"):
            self.acts.append(lambda: bridge.fill(sent, self.payment.requests[0], fails=self.fate == "bounces"))
        if self.fate == "comes back":
            self.acts.append(self.come_back)
        self.jobs = (lambda: bridge.tick(1), lambda: tracking.track_due(self.services))

    def come_back(self) -> None:
        self.bridge.tick(130)
        self.bridge.refund(self.sent)

    @property
    def chains(self) -> tuple[Any, ...]:
        return self.bridge.source, self.bridge.destination

    def facts(self) -> Iterable[Fact]:
        yield "paid", self.world.load(self.payment).requests[0].paid
        for each in self.bridge.announcements(self.payment):
            assert each.bridge_transfer is not None
            if each.status is not AnnouncedStatus.PENDING:
                yield "ended", each.status, each.bridge_transfer.stage, each.bridge_transfer.returned
            if not is_locked(self.world, self.payment):
                yield ("free",)


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
        self.jobs = (lambda: commerce_running.run_due(self.services), self.world.relay, self.mine_and_scan)

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


PRODUCTS: dict[str, Callable[[Random], Product]] = {
    "payments": Payments,
    "refunds": Refunds,
    "sign-in": SignIn,
    "announced": Announced,
    "deposits": Deposits,
    "relayed": Relayed,
    "escrowed": Escrowed,
    "payouts": Payouts,
}
