"""The products of the service in small: what honest people do with each, what runs by itself, and what came of it.

    PRODUCTS     a name for each; `PRODUCTS[name](Random(seed))` is a world with nothing but this product
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import wallets
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base.money import BaseUnits
from chalicelib.base.signatures import personal_digest
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, safe_tx_hash
from chalicelib.chains.nodes.safes.reads import SafeEvent
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links import expiry
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, LinkStatus
from chalicelib.payments.rates.rules import to_pay
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.access.audit.records import Actor
from tests.fakes import announcements as fake_announcements
from tests.fakes.bridge import Bridge, Sent
from tests.fakes.chain import SENDER
from tests.fakes.lying_at_will import OTHER
from tests.fakes.prices import FakePrices
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import WALLET, World
from tests.payments.recording.test_refunds import refund_of
from tests.payments.transfers.test_order_refunds import FULL, Shop
from tests.simulation.product import Fact, NotYet, Product, counted, in_memory, is_locked
from tests.simulation.relayed import Escrowed, Payouts, Relayed, Signed


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

    fates = ("arrives", "bounces", "reverts", "comes back")

    def __init__(self, random: Random) -> None:
        self.bridge = bridge = Bridge()
        self.world, self.payment = bridge.world, bridge.link()
        self.fate = random.choice(self.fates)
        self.sent = sent = self.sign(random)
        self.acts = [self.announce, self.include]
        if self.fate in ("arrives", "bounces"):
            self.acts.append(lambda: bridge.fill(sent, self.payment.requests[0], fails=self.fate == "bounces"))
        if self.fate == "comes back":
            self.acts.append(self.come_back)
        self.jobs = (lambda: bridge.tick(1), lambda: tracking.track_due(self.services))

    def sign(self, random: Random) -> Sent:
        return self.bridge.send(self.payment)

    def announce(self) -> None:
        self.bridge.announce(self.payment, self.sent)

    def include(self) -> None:
        self.bridge.include(self.sent, self.fate != "reverts")

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


class SafeDeposits(Deposits):
    """The same of a Safe, whose deposit is announced by the hash that its owners sign. Perhaps they execute another of
    its transactions with that nonce, and Safe's service or the payer does not say which Safe it is."""

    fates = (*Deposits.fates, "is replaced")

    def sign(self, random: Random) -> Sent:
        source, sent = self.bridge.source, self.bridge.send(self.payment, fake_announcements.SAFE)
        source.contracts.add(fake_announcements.SAFE)
        paying = source.transactions.pop(sent.tx_hash)
        assert paying.to is not None
        proposal = Proposal(paying.sender, SafeTransaction(paying.to, 0, paying.data, 0), SafeTerms(0))
        self.safe_hash = safe_tx_hash(8453, paying.sender, proposal.transaction, proposal.terms)
        if random.random() < 0.8:
            self.world.safes.known["base", self.safe_hash] = proposal
        self.named = paying.sender if random.random() < 0.6 else None
        return sent

    def announce(self) -> None:
        signed = {"safe_tx_hash": self.safe_hash, "deadline": self.world.now + timedelta(hours=1)}
        self.bridge.announce(self.payment, self.sent, tx_hash=None, payer_address=self.named, **signed)

    def include(self) -> None:
        """An owner sends it; if the deposit reverts, that is an event of the Safe, and the transaction is none."""
        source = self.bridge.source
        if self.fate == "is replaced":
            source.execute_safe(fake_announcements.SAFE, "0x" + "cd" * 32)
            return
        deposits = self.fate != "reverts"
        source.transactions[self.sent.tx_hash] = SentTransaction(SENDER, fake_announcements.SAFE, "0x", 0)
        self.bridge.include(self.sent, deposits)
        block, sent = source.blocks[-1], source.transactions[self.sent.tx_hash]
        event = SafeEvent(self.safe_hash, deposits, block.number, block.hash, self.sent.tx_hash)
        block.executed.append((fake_announcements.SAFE, event))
        source.transactions[self.sent.tx_hash] = replace(sent, success=True)


class Conversions(Product):
    """A request in dollars that is paid in tokens: by the conversion contracts, by a path of the payer's own, by a
    quote, or by the rate of the time; and then the rest."""

    def __init__(self, random: Random) -> None:
        self.world = world = in_memory("mainnet")
        world.prices.set("USD", "USDC", "1.0003")
        if random.random() < 0.2:  # then what is paid counts by the feeds alone
            world.services = replace(world.services, prices=FakePrices(world.clock))
        dollars = {"invoice_currency": "USD", "amount": BaseUnits(1_250_000_000), "client_id": World.client_id}
        self.request = store_request(world.services, currency="USDC-mainnet", **dollars)
        self.moved = random.choice((12_503_750, random.randrange(10**6, 12 * 10**6)))
        self.acts = [random.choice((self.convert, self.transfer, self.pay_quoted)), self.transfer]
        self.jobs = (self.mine_and_scan, self.record_waiting)

    def convert(self) -> None:
        self.world.chain.convert(self.loaded(), self.moved)

    def transfer(self) -> None:
        self.world.chain.pay(self.loaded(), self.moved)

    def pay_quoted(self) -> None:
        request = self.loaded()
        rate = quotes.hold(self.services, [request])[request.request_id].rate
        self.world.chain.pay(request, to_pay(request.amount, rate, invoice_of(request), currency_of(request)))

    def record_waiting(self) -> None:
        recording.queue_overdue(self.services)
        self.world.record()

    def loaded(self) -> Request:
        return load_request(self.services, self.request)

    def facts(self) -> Iterable[Fact]:
        if paid := self.loaded().paid:
            yield "paid", paid


PRODUCTS: dict[str, Callable[[Random], Product]] = {
    "payments": Payments,
    "refunds": Refunds,
    "sign-in": SignIn,
    "announced": Announced,
    "deposits": Deposits,
    "deposits of Safes": SafeDeposits,
    "conversions": Conversions,
    "signed": Signed,
    "relayed": Relayed,
    "escrowed": Escrowed,
    "payouts": Payouts,
}
