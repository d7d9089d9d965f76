"""Those who look and those who try: an auditor of every write, and people who repeat what is cheap until it pays.

Each of them notes what must not be in `complaints`, which a run reads when it has settled.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from json import loads
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.links.records import Link, LinkStatus, SigningClaim
from chalicelib.payments.links.signing import MOST_CLAIMED
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, SentRefund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.relayer.records import RelayedCall
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.records import Event
from tests.simulation.chain import Transfer, transfers_in
from tests.simulation.people import DollarInvoice, Invoice, Order, wallet
from tests.simulation.strangers import Burner, Plan, Stranger
from tests.support.sequences import Sequences

HOUR = 3600
MOST_ANNOUNCEMENTS = 12
ALWAYS_NOTIFIED = ("payment.confirmed", "payment.partial", "payment.failed")
"""Kinds that every webhook receives unless it has chosen others."""


@dataclass
class Auditor(Stranger):
    """Compares what is written, when it is written, with the chains; and what merchants see with what is stored."""

    complaints: list[str] = field(default_factory=list)
    sent: dict[str, list[Transfer]] = field(default_factory=dict)
    """What wallets have sent, by the hash of the transaction without 0x."""
    counted: dict[tuple[type[Payment], str, str], set[str]] = field(default_factory=dict)
    """The event keys of what counts, by kind, request and transaction."""
    networks: dict[str, set[str]] = field(default_factory=dict)
    """Of the requests of each link."""
    claims: dict[str, dict[datetime, datetime]] = field(default_factory=dict)
    """When each claim to sign a link began and ended."""
    sequences: Sequences = field(default_factory=Sequences)

    def __post_init__(self) -> None:
        store = self.run.deployment.store
        put = store._put

        def audited(key: Any, record: Any) -> None:
            self.audit(record)
            put(key, record)

        store._put = audited  # type: ignore[method-assign]
        for chain in self.run.deployment.chains.values():
            chain.submit = self._noting(chain.submit)  # type: ignore[method-assign]

    def _noting(self, submit: Callable[..., str]) -> Callable[..., str]:
        def noted(payer: str, transfers: list[Transfer], name: str) -> str:
            tx_hash = submit(payer, transfers, name)
            self.sent[tx_hash.removeprefix("0x")] = list(transfers)
            return tx_hash

        return noted

    def plan(self) -> Plan:
        return []

    # --- while it happens ---

    def audit(self, record: Any) -> None:
        if isinstance(record, Request):
            self.networks.setdefault(record.payable_id, set()).add(record.network)
        elif isinstance(record, Link) and record.status is LinkStatus.EXPIRED:
            self._expired(record)
        elif isinstance(record, Payment):
            self._moved(record)
        elif isinstance(record, SigningClaim):
            self._claimed(record)
        elif isinstance(record, RelayedCall):
            self._sent(record)
        elif isinstance(record, Event) and record.key not in self.run.deployment.store._records:
            self.complaints += self.sequences.add(record)

    def _claimed(self, claim: SigningClaim) -> None:
        """One wallet at a time is asked to sign."""
        before = self.run.deployment.store._records.get(claim.key)
        if before is not None and before.is_valid(self.run.now) and before.claimant != claim.claimant:
            self.complaints.append(f"claimed: {claim.link_token} by two at {self.run.now}")
        self.claims.setdefault(claim.link_token, {})[claim.claimed_at] = claim.ends_at

    def _sent(self, call: RelayedCall) -> None:
        """The service's account pays for nothing that a public credential asks for."""
        burners = [each for each in self.run.strangers if isinstance(each, Burner)]
        created = [request for each in burners for request in each.requests]
        if self.run.chance.work.startswith("burner-") or any(each in call.call_key for each in created):
            self.complaints.append(f"burnt: {call.call_key} is sent at the expense of the service")

    def _expired(self, link: Link) -> None:
        """Nothing ends while its chain is not read, or not recorded."""
        before = self.run.deployment.store._records.get(link.key)
        if before is None or before.status is LinkStatus.EXPIRED:
            return
        read = {each.network: each.agreed_until for each in self.run.deployment.store.all_cursors()}
        if any((read.get(each) or link.created_at) <= link.expires_at for each in self.networks[link.token]):
            self.complaints.append(f"blind: link {link.token} expires before its chain is read")
        if scan_store.has_work(self.run.deployment.store, (link.token,)):  # type: ignore[arg-type]
            self.complaints.append(f"blind: link {link.token} expires before what was read is recorded")

    def _moved(self, payment: Payment) -> None:
        """What counts was sent by somebody, as often as it counts, to whom it says."""
        moved = self.sent.get(payment.tx_hash.removeprefix("0x"))
        if moved is None:
            return  # by a contract, or a node has invented it: that is taken back when it is read again
        to_payee = [each for each in moved if hex_address(each.payee) == hex_address(payment.payee)]
        known = self.counted.setdefault((type(payment), payment.request_id, payment.tx_hash), set())
        known.discard(payment.event_key)
        if payment.status is PaymentStatus.CONFIRMED:
            known.add(payment.event_key)
        if len(known) > len(to_payee):
            self.complaints.append(f"counted: {payment.tx_hash} counts {len(known)} times and was sent {len(to_payee)} times")

    # --- in the end ---

    def found(self) -> Iterator[str]:
        yield from self.complaints
        yield from self._currencies()
        yield from self._claimed_too_long()
        yield from self._repeated()
        yield from self._undelivered()
        yield from self._missing_from_lists()

    def _currencies(self) -> Iterator[str]:
        """What merchants are sent of a payment says its currencies."""
        requests = {each.request_id: each for each in self.run.deployment.store.all(Request)}
        for bodies in self.run.deployment.receivers.bodies.values():
            for _, _, text in bodies:
                body = loads(text)
                request = requests.get(body.get("requestId", ""))
                if request is None or body["event"] not in ALWAYS_NOTIFIED:
                    continue
                said = body.get("currency"), body.get("paymentCurrency")
                if said != (invoice_of(request).symbol, currency_of(request).symbol):
                    yield f"currency: {body['event']} of {request.request_id} says {said}"

    def _claimed_too_long(self) -> Iterator[str]:
        """Claims hold no link for longer than a quarter of an hour in a day: nobody's run here takes two."""
        for token, claims in self.claims.items():
            begins = sorted(claims)
            ends = [min(claims[at], after) for at, after in zip(begins, [*begins[1:], datetime.max.replace(tzinfo=UTC)], strict=True)]
            claimed = sum((end - begin for begin, end in zip(begins, ends, strict=True)), timedelta())
            if claimed > MOST_CLAIMED:
                yield f"claimed: {token} was claimed for {claimed}"

    def _repeated(self) -> Iterator[str]:
        """One order is one request, however often the merchant's server repeats it under its key."""
        references = Counter(each.reference for each in self.run.deployment.store.all(Request) if each.reference)
        yield from (f"repeated: {name} was created {count} times" for name, count in references.items() if count > 1)

    def _undelivered(self) -> Iterator[str]:
        """Every event has its delivery to the merchant's own webhook."""
        deliveries = {(each.account_id, each.body) for each in self.run.deployment.store.all(Delivery)}
        for event in self.run.deployment.store.all(Event):
            if event.kind in ALWAYS_NOTIFIED and event.person_id is None and (event.account_id, event.body) not in deliveries:
                yield f"undelivered: {event.kind} of {event.created_at} has no delivery"

    def _missing_from_lists(self) -> Iterator[str]:
        """A merchant's list of payments has all that are stored, and no other."""
        for merchant in self.run.merchants:
            shown, path = set[str](), f"/v2/payments?limit=100&walletAddress={merchant.payee}"
            cursor = ""
            for _ in range(50):
                answer = self.run.deployment.call("GET", path + cursor, None, merchant.by_key)
                if not answer.ok:
                    yield f"unlisted: {path}: {answer}"
                    return
                shown |= {each["id"] for each in answer.body["payments"]}
                following = answer.body["pagination"].get("nextCursor")
                if not following:
                    break
                cursor = f"&cursor={following}"
            stored = {
                each.payment_id
                for kind in (Payment, SentRefund)
                for each in self.run.deployment.store.all(kind)
                if type(each) is kind and each.account_id == merchant.account_id and each.status is PaymentStatus.CONFIRMED
            }
            if shown != stored:
                yield f"unlisted: {merchant.name} sees {len(shown)} payments, has {len(stored)}"


@dataclass
class Page(Stranger):
    """A merchant's page without a server: it creates with the public client id, sends everything twice under one key, as
    after a lost response, and its customer pays."""

    order: Invoice | None = None

    def plan(self) -> Plan:
        return [(0, self.create), (75, self.create), (300, self.pay)]

    def create(self) -> None:
        if self.order is None:
            self.order = Invoice(self.run, self.name, self.draw.choice(self.run.merchants), self.draw)
        order, name = self.order, f"page-{self.name}"
        info = {"firstName": "Ann", "email": f"{name}{order.SECRET}"}
        body = {"amount": order.amounts[0], "payee": order.merchant.payee, "reference": name, "customerInfo": info}
        headers = {**order.merchant.by_client, "idempotency-key": name}
        answer = self.run.deployment.call("POST", "/v2/request", {**body, **order.currencies}, headers)
        if answer.ok:
            order.requests = [answer.body["requestId"]]
            self.run.reach("created by a page")

    def pay(self) -> None:
        if self.order is not None and self.order.requests:
            self.order.pay()


class Overpayer(Stranger):
    """A merchant who returns a payment many times over, as a broken script would."""

    def plan(self) -> Plan:
        return [(delay, self.refund) for delay in (HOUR, 2 * HOUR, 3 * HOUR)]

    def refund(self) -> None:
        for order in [each for each in self.run.orders if each.requests and each.paid][:40]:
            path = f"/v2/request/{order.requests[0]}/refund"
            answer = self.run.deployment.call("POST", path, {}, order.merchant.by_key)
            offered = transfers_in(order.network, answer.body.get("transactions", [])) if answer.ok else []
            if offered:
                sent = [replace(each, amount=each.amount * 50) for each in offered]
                self.run.deployment.chains[order.network].submit(order.merchant.payee, sent, self.run.chance.work)
                self.run.reach("refunded too much")
                return


class RefundThief(Stranger):
    """Pays himself with the reference of a refund, so that it looks as if it was sent."""

    def plan(self) -> Plan:
        return [(delay, self.steal) for delay in (HOUR, 2 * HOUR, 3 * HOUR)]

    def steal(self) -> None:
        for order in [each for each in self.run.orders if each.requests and each.paid][:40]:
            path = f"/v2/request/{order.requests[0]}/refund"
            answer = self.run.deployment.call("POST", path, {}, order.merchant.by_key)
            offered = transfers_in(order.network, answer.body.get("transactions", [])) if answer.ok else []
            if offered:
                sent = [replace(each, payee=wallet(f"{self.name}'s other")) for each in offered]
                self.run.deployment.chains[order.network].submit(self.wallet, sent, self.run.chance.work)
                self.run.reach("refund redirected")
                return


@dataclass
class Speculator(Stranger):
    """Asks what an invoice in dollars costs, and pays that long after, when it is worth less than then."""

    order: Order | None = None
    paid: list[tuple[str, datetime, int]] = field(default_factory=list)
    """Request, when it was paid, and in base units of USDC what."""

    def plan(self) -> Plan:
        return [(0, self.create), (120, self.ask), *((600 * number, self.pay) for number in range(3, 30))]

    def create(self) -> None:
        self.order = DollarInvoice(self.run, self.name, self.run.merchants[0], self.draw)
        self.order.create()

    def ask(self) -> None:
        if self.order is not None:
            self.order.ask()

    def pay(self) -> None:
        order = self.order
        if order is None or not order.owed or self.paid or self._value(self.run.now, order.owed[0].amount) > 0.96:
            return
        order.pay()
        self.paid.append((order.requests[0], self.run.now, order.owed[0].amount))
        self.run.reach("speculated")

    def _value(self, at: datetime, amount: int) -> float:
        """What a payment is of the invoice by the market of a moment."""
        assert self.order is not None
        rate = self.run.deployment.prices.rate("USD", "USDC", at)
        assert rate is not None
        return float(amount / 10**6 / rate) / float(self.order.amounts[0])

    def found(self) -> Iterator[str]:
        for request_id, at, amount in self.paid:
            request = next(each for each in self.run.deployment.store.all(Request) if each.request_id == request_id)
            best = max(self._value(at + timedelta(minutes=each), amount) for each in (-1, 0, 1, 2))
            if request.paid >= request.amount and best < 0.985:
                yield f"held: {request_id} is paid by {best:.3f} of its amount"


@dataclass
class Locker(Stranger):
    """Announces transactions for the links of others that nobody has sent, so that nobody else can pay them."""

    complaints: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        return [(600 * number, self.announce) for number in range(1, MOST_ANNOUNCEMENTS)] + [(12 * HOUR, self.look)]

    @property
    def target(self) -> Order | None:
        """The first link that was created and is not paid."""
        return next((each for each in self.run.orders if each.token and each.style == "none"), None)

    def announce(self) -> None:
        if (order := self.target) is not None:
            body = {
                "txHash": f"0x{self.draw.getrandbits(256):064x}",
                "chain": require_network(order.network).label,
                "token": order.currency.partition("-")[0],
                "payerAddress": self.wallet,
            }
            path = f"/v2/secure-payments/{order.token}/intent"
            answer = self.run.deployment.call("POST", path, body, order.merchant.by_client)
            self.run.reach(f"announced {answer.status}")

    def look(self) -> None:
        if (order := self.target) is not None:
            answer = self.run.deployment.call("GET", order.pay_path, None, order.merchant.by_client)
            if answer.status == 423 or (answer.status in (403, 409) and "announced" in str(answer.body)):
                self.complaints.append(f"locked: {order.token} is locked for hours: {answer.body}")

    def found(self) -> Iterator[str]:
        yield from self.complaints


class Claimer(Stranger):
    """Claims to sign the payment of somebody else's link, again and again, so that nobody else can pay it."""

    def plan(self) -> Plan:
        return [(200 * number, partial(self.claim, f"{number % 3}")) for number in range(25)]

    def claim(self, name: str) -> None:
        if (order := next((each for each in self.run.orders if each.token and each.style == "none"), None)) is not None:
            secret = sha256(f"{self.name}{name}".encode()).hexdigest()
            body = {"calls": f"0x{secret}", "announcerSecret": secret}
            answer = self.run.deployment.call("POST", f"{order.path}/signing", body, order.merchant.by_client)
            self.run.reach(f"claimed by a stranger: {answer.status}")


AUDITORS: dict[type[Stranger], float] = {
    Auditor: 0, Page: 0.05, Overpayer: 0.02, RefundThief: 0.02, Speculator: 0.04, Locker: 0.02, Claimer: 0.02,
}  # fmt: skip
"""As STRANGERS; there is one of each at least."""
