"""What must be true of all stored records together, whatever happened. Each invariant names the records that break it.

`violations` reads one picture of a deployment: of a stage, or of a simulated one at any moment. A stage changes while
it is read, so there a violation counts if a second picture has it, too (infra/check/__main__.py). What needs more
than what is stored is in truths.py.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from json import loads
from typing import Any, TypeVar

from chalicelib.base.records import Record
from chalicelib.commerce.core.records import CommercePayment, EntryState, EscrowEntry
from chalicelib.payments.links.records import Flow, Link, LinkStatus, PaymentType
from chalicelib.payments.recording.payment_counts import ACCOUNT
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, SentRefund
from chalicelib.payments.requests.records import DailyCount, Request, RequestStatus
from chalicelib.payments.requests.request_counts import series_of
from chalicelib.payments.scanning.records import Cursor, UnrecordedTransfers
from chalicelib.recurring.records import Commitment, Period, RecurringPayment
from chalicelib.relayer.holdings.records import Holding, HoldingsTotal
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction, TakenFunds
from chalicelib.webhooks.deliveries.records import Delivery, DeliveryState
from chalicelib.webhooks.records import Event

T = TypeVar("T", bound=Record)
SERVED_WITHIN = timedelta(minutes=30)
"""How long a payment that was read may wait for the recorder, an event for its deliveries, and a delivery for its next
attempt. Each takes seconds, and sweeps every minute repeat what was lost."""
KINDS = (
    (
        Link, Request, Payment, SentRefund, DailyCount, UnrecordedTransfers, CommercePayment, EscrowEntry,
        RecurringPayment, Period, Commitment, RelayedCall, RelayedTransaction, TakenFunds, Holding, HoldingsTotal,
    ),
    (Event, Delivery),
    (Cursor,),
)  # fmt: skip
"""The records that are compared, by table."""


@dataclass(frozen=True)
class Violation:
    """An invariant by its name, what breaks it (an id), and how."""

    invariant: str
    about: str
    how: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.about}: {self.how}"


@dataclass
class Picture:
    """All records of `KINDS` at one moment."""

    now: datetime
    records: dict[type[Record], list[Any]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, records: Iterable[Record], now: datetime) -> "Picture":
        picture = cls(now)
        for each in records:
            picture.records[type(each)].append(each)
        return picture

    def all(self, kind: type[T]) -> list[T]:
        return self.records.get(kind, [])

    def by(self, kind: type[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
        found: dict[Any, list[T]] = defaultdict(list)
        for each in self.all(kind):
            found[key(each)].append(each)
        return found


Found = Iterator[tuple[str, str]]
"""What breaks an invariant, and how."""


def totals(picture: Picture) -> Found:
    """A request is paid the sum of its confirmed payments and of its dust, and its status says so."""
    payments = picture.by(Payment, lambda each: each.request_id)
    for request in picture.all(Request):
        standing = [each for each in payments[request.request_id] if each.status is PaymentStatus.CONFIRMED]
        listed = sum(each.value for each in standing)
        if listed + request.dust_amount != request.paid:
            yield request.request_id, f"paid {request.paid}, its payments {listed} and dust {request.dust_amount}"
        if len(standing) != request.confirmed_count:
            yield request.request_id, f"counts {request.confirmed_count} payments of {len(standing)}"
        expected = RequestStatus.PARTIALLY_PAID if request.paid else RequestStatus.CREATED
        expected = RequestStatus.PAID if request.paid >= request.due else expected
        expected = RequestStatus.CANCELLED if request.cancelled_at is not None else expected
        if request.status is not expected:
            yield request.request_id, f"is {request.status} with {request.paid} of {request.due}"
        accepted = request.paid_when_accepted
        is_part = accepted is None or 0 < accepted < request.amount
        if not is_part or (accepted is None) != (request.accepted_at is None):
            yield request.request_id, f"{accepted} of {request.amount} was accepted, at {request.accepted_at}"


def one_payment_per_log(picture: Picture) -> Found:
    """No log of a chain is a payment twice, of one request or of two, also in another block after a reorg."""
    logs = Counter(
        (each.network, each.tx_hash, each.log_index)
        for each in picture.all(Payment)
        if each.status is PaymentStatus.CONFIRMED
    )
    for (network, tx_hash, index), count in logs.items():
        if count > 1:
            yield tx_hash, f"log {index} on {network} is {count} payments"


def refunds(picture: Picture) -> Found:
    """Never more is counted as refunded than was received."""
    lines = picture.by(SentRefund, lambda each: each.request_id)
    for request in picture.all(Request):
        if not 0 <= request.refunded <= request.received:
            yield request.request_id, f"refunded {request.refunded} of {request.received}"
        sent = sum(each.amount for each in lines[request.request_id] if each.status is PaymentStatus.CONFIRMED)
        if sent != request.refunded:
            yield request.request_id, f"refunded {request.refunded}, its refunds are {sent}"


def lists(picture: Picture) -> Found:
    """The daily counts of an account are those of its payments and requests, by status and currency."""
    counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for each in picture.all(DailyCount):
        counted[each.account_id, each.series].update(each.counts)
    expected: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for payment in (*picture.all(Payment), *picture.all(SentRefund)):
        if payment.status is PaymentStatus.CONFIRMED:
            name = f"{payment.currency}|{payment.invoice_currency}|{payment.type}|"
            expected[payment.account_id, ACCOUNT][name] += 1
    for request in picture.all(Request):
        if not request.is_moved:
            expected[request.account_id, series_of(None)][request.shown_status] += 1
    for key in {key for key in (*counted, *expected) if key[1] in (ACCOUNT, series_of(None))}:
        if +counted[key] != +expected[key]:
            yield "/".join(key), f"counts {dict(+counted[key])}, has {dict(+expected[key])}"


def ends(picture: Picture) -> Found:
    """A link ends as completed if all of it is paid, and as expired only after its chain was read past its expiry."""
    requests = picture.by(Request, lambda each: each.payable_id)
    read = {each.network: each.agreed_until for each in picture.all(Cursor)}
    for link in picture.all(Link):
        own = requests[link.token]
        if link.payment_type is PaymentType.MULTICALL or not own or any(each.is_moved for each in own):
            continue
        is_paid = all(each.status is RequestStatus.PAID for each in own)
        if is_paid != (link.status is LinkStatus.COMPLETED) and link.flow is Flow.GET_PAID:
            yield link.token, f"is {link.status}, its requests {[str(each.status) for each in own]}"
        for network in {each.network for each in own} if link.status is LinkStatus.EXPIRED else ():
            until = read.get(network)
            if until is None or until < link.expires_at:
                yield link.token, f"expired at {link.expires_at} though {network} is read up to {until}"


def cancellations(picture: Picture) -> Found:
    """Of a cancelled link each request is paid or cancelled, and each request that is cancelled was told once."""
    events = [each for each in picture.all(Event) if each.person_id is None]
    since = min((each.created_at for each in events), default=picture.now)
    notified = Counter(loads(each.body).get("requestId") for each in events if each.kind == "request.cancelled")
    for request in picture.all(Request):
        expected = int(request.cancelled_at is not None)
        if notified[request.request_id] != expected and (request.cancelled_at or picture.now) >= since:
            times = notified[request.request_id]
            yield request.request_id, f"was cancelled at {request.cancelled_at}, notified {times} times"
    requests = picture.by(Request, lambda each: each.payable_id)
    for link in picture.all(Link):
        if link.status is LinkStatus.CANCELLED and not link.is_being_cancelled:
            states = {each.status for each in requests[link.token]}
            if states - {RequestStatus.PAID, RequestStatus.CANCELLED}:
                yield link.token, f"is cancelled, its requests {sorted(map(str, states))}"


def notified_once(picture: Picture) -> Found:
    """A payment that stands and is announced was told once, or once more than it was corrected; no other one was."""
    events = picture.by(Event, lambda each: loads(each.body).get("requestId") if each.person_id is None else None)
    since = min((each.created_at for each in picture.all(Event)), default=picture.now)
    payments = picture.by(Payment, lambda each: each.request_id)
    for request in picture.all(Request):
        own = payments[request.request_id]
        if any(each.detected_at < since for each in own):
            continue  # events are deleted after a while
        notified = Counter[str]()
        for event in sorted(events[request.request_id], key=lambda each: (each.created_at, _TELLS.get(each.kind, 0))):
            body = loads(event.body)
            change, tx_hash = _TELLS.get(event.kind, 0), body.get("txHash")
            if body.get("amount") != "0" and (change > 0 or notified[tx_hash]):  # of 0 is the end of a commerce payment
                notified[tx_hash] += change
        standing = Counter(
            each.tx_hash for each in own if each.status is PaymentStatus.CONFIRMED and each.is_announced
        )
        for tx_hash in {*notified, *standing}:
            if notified[tx_hash] != standing[tx_hash]:
                found = f"{tx_hash} stands {standing[tx_hash]} times, notified were {notified[tx_hash]}"
                yield request.request_id, found


_TELLS = {"payment.confirmed": 1, "payment.partial": 1, "payment.failed": -1}


def numbered_once(picture: Picture) -> Found:
    """No two events about one request have the same number, and its next event has a higher one."""
    newest = {key: max(each.event_count for each in found) for key, found in _requests_by_id(picture).items()}
    for request_id, events in picture.by(Event, lambda each: each.request_id).items():
        numbers = [each.sequence for each in events if each.sequence is not None]
        if request_id in newest and (len(set(numbers)) < len(numbers) or max(numbers, default=0) > newest[request_id]):
            yield request_id, f"its events have the numbers {sorted(numbers)}, it counts {newest[request_id]}"


def _requests_by_id(picture: Picture) -> dict[str, list[Request]]:
    """Of a payout that was merged into a batch there are two records, of which the older one changes no more."""
    return picture.by(Request, lambda each: each.request_id)


def delivered_once(picture: Picture) -> Found:
    """An event has at most one delivery to a webhook under each of its kinds."""
    twice = Counter(
        (each.webhook_id, each.kind, each.body)
        for each in picture.all(Delivery)
        if each.person_id is None and not each.is_test
    )
    for (webhook_id, kind, body), count in twice.items():
        if count > 1:
            yield loads(body).get("requestId") or webhook_id, f"{count} deliveries of {kind} to {webhook_id}"


def bounded_delays(picture: Picture) -> Found:
    """What was read is recorded, what was recorded is told, and what is told is tried, in bounded time."""
    latest = picture.now - SERVED_WITHIN
    for work in picture.all(UnrecordedTransfers):
        if not work.waits_for_rate and work.detected_at < latest:
            yield work.payable_id, f"its transfers wait for the recorder since {work.detected_at}"
    for event in picture.all(Event):
        if not event.published and event.created_at < latest:
            yield event.event_id, f"{event.kind} waits for its deliveries since {event.created_at}"
    for each in picture.all(Delivery):
        if each.state in (DeliveryState.PENDING, DeliveryState.SENDING) and each.due_at < latest:
            yield each.delivery_id, f"its attempt was due at {each.due_at}"


def escrow(picture: Picture) -> Found:
    """The totals of a commerce payment are those of its ledger, and what left the escrow is not more than it took."""
    entries = picture.by(EscrowEntry, lambda each: each.request_id)
    for payment in picture.all(CommercePayment):
        sums = Counter[str]()
        for entry in entries[payment.request_id]:
            if entry.state is EntryState.POSTED:
                sums[entry.kind] += entry.amount
        taken = sums["authorized"] + sums["charged"]
        captured = sums["captured"] + sums["charged"]
        ledger = (taken, captured, sums["voided"], sums["reclaimed"], sums["refunded"])
        stored = (payment.authorized, payment.captured, payment.voided, payment.reclaimed, payment.refunded)
        if ledger != stored:
            yield payment.request_id, f"its totals are {stored}, its ledger {ledger}"
        left = payment.captured + payment.voided + payment.reclaimed
        if left > payment.authorized or payment.refunded > payment.captured or payment.authorized > payment.max_amount:
            yield payment.request_id, f"the totals {stored} of at most {payment.max_amount} cannot be"


def calls(picture: Picture) -> Found:
    """An accepted call has one nonce, no two calls the same, and what open ones take is counted once."""
    nonces = Counter((each.network, each.sender, each.nonce) for each in picture.all(RelayedCall) if each.nonce >= 0)
    for (network, _, nonce), count in nonces.items():
        if count > 1:
            yield f"{network}/{nonce}", f"{count} calls have this nonce"
    open_keys = {each.call_key for each in picture.all(RelayedCall) if each.status is CallStatus.UNKNOWN}
    taken = Counter[Any]()
    for each in picture.all(RelayedTransaction):
        if each.takes is not None and each.call_key in open_keys:
            taken[each.network, each.takes.source] += each.takes.amount
    for counter in picture.all(TakenFunds):
        expected = taken.pop((counter.network, counter.source), 0)
        if counter.under_way != expected:
            yield counter.wallet, f"{counter.under_way} is counted as taken, open calls take {expected}"
    for (_, source), amount in taken.items():
        yield source[0], f"open calls take {amount}, which is not counted"


def holdings(picture: Picture) -> Found:
    """What the service's account holds of a token is the sum of what it holds for each owner."""
    left = Counter[Any]()
    for each in picture.all(Holding):
        left[each.network, each.account, each.token] += each.left
    for total in picture.all(HoldingsTotal):
        expected = left.pop((total.network, total.account, total.token), 0)
        if total.total != expected:
            yield f"{total.network}/{total.token}", f"the total is {total.total}, the entries {expected}"
    for (network, _, token), amount in left.items():
        if amount:
            yield f"{network}/{token}", f"the entries are {amount}, and have no total"


def executed_once(picture: Picture) -> Found:
    """Of each signed payment the tokens are taken by one call and spent by one; of each period one attempt is made."""
    succeeded = Counter[str]()
    for call in picture.all(RelayedCall):
        if call.status is CallStatus.SUCCEEDED:
            succeeded[_operation(call.call_key)] += 1
    for operation, count in succeeded.items():
        if count > 1:
            yield operation, f"was made {count} times"


def _operation(key: str) -> str:
    """What a call does once: the key without the number of the attempt, where that is another try of the same."""
    parts = key.split("/")
    if parts[0] == "recurring":
        return "/".join(parts[:3])
    return "/".join(parts[:-1]) if len(parts) > 2 and parts[-2] == "spend" else key


def commitments(picture: Picture) -> Found:
    """What payers have committed is the sum of what is left of their recurring payouts."""
    owed = Counter[Any]()
    for each in picture.all(RecurringPayment):
        owed[each.template.currency, each.permit.subscriber.lower()] += each.committed
    for commitment in picture.all(Commitment):
        expected = owed[commitment.currency, commitment.payer]
        if commitment.committed != expected:
            yield commitment.payer, f"committed {commitment.committed}, owes {expected}"


def periods(picture: Picture) -> Found:
    """A recurring payout has counted as many periods as have a payment."""
    paid = picture.by(Period, lambda each: each.recurring_id)
    for each in picture.all(RecurringPayment):
        numbers = [period.number for period in paid[each.recurring_id] if period.payment_id is not None]
        if sum(number <= each.processed for number in numbers) != each.processed or each.processed > each.total:
            yield each.recurring_id, f"has counted {each.processed} of {each.total}, paid are {sorted(numbers)}"


INVARIANTS: tuple[Callable[[Picture], Found], ...] = (
    totals, one_payment_per_log, refunds, lists, ends, cancellations, notified_once, numbered_once, delivered_once,
    bounded_delays, escrow, calls, holdings, executed_once, commitments, periods,
)  # fmt: skip


def violations(picture: Picture) -> Iterator[Violation]:
    """Everything in a picture that breaks an invariant."""
    for invariant in INVARIANTS:
        for about, how in invariant(picture):
            yield Violation(invariant.__name__, about, how)
