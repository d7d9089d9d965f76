"""Every order of transfers, forks, readings, recordings and lapses of time of one link with two requests.

The chain has a few transfers: two that pay the first request together, one that pays it whole, one with dust, one to
another payee, and one that pays the second request. Each gets into a block before or after the expiry, is removed by a
fork, comes back, or moves to another block. The scanner makes work of what it reads, which the recorder records later,
twice each. What holds in every state:

- `paid` of a request is the sum of what is recorded and still counts, its numbers are those of its payments, and its
  status follows from that; once all is read and recorded, that is what the chain has;
- the link is completed while all its requests are paid, and only then;
- work that is recorded a second time changes nothing and announces nothing;
- the last event about a request says whether it is paid as it is; a payment is announced at most once more than it was
  taken back, and dust never;
- the link expires only after the chain was read past its expiry and all that was paid in time is recorded;
- it can be paid only before its expiry, while it is not paid.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from chalicelib.payments.links import expiry
from chalicelib.payments.links.records import Link, LinkStatus, Payable, PayableLink
from chalicelib.payments.links.rules import is_payable, status_at
from chalicelib.payments.recording.changes import Changes, RecordedId, Stored
from chalicelib.payments.recording.deciding import decide
from chalicelib.payments.recording.matching import MAX_SMALL_PAYMENTS
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning import transfer_log
from chalicelib.payments.scanning.records import Cursor, LoggedTransfer, TransferId, TransferState, UnrecordedTransfers
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PAYEE, START, World
from tests.models.search import IS_FULL, Machine, search
from tests.payments.recording.test_deciding import ACCEPTED
from tests.payments.recording.test_matching import CONTEXT, new_payable, transfer

DEPTH = 8 if IS_FULL else 6
MOST_PARTS, MOST_FORKS = 2, 3
SECOND = timedelta(seconds=1)
WHOLE = 1_000_000


def _link() -> Payable:
    """Two requests of one token; the first has so many payments that dust is only added up."""
    one = new_payable("1")
    (request,), link = one.requests, one.link
    assert link is not None
    other = replace(request, position=1, request_id="other", payment_reference="0x" + "77" * 8)
    return Payable((replace(request, payment_count=MAX_SMALL_PAYMENTS), other), link)


LINK = _link()
FIRST, SECOND_REQUEST = LINK.requests
TOPICS = [reference_topic(bytes.fromhex(each.payment_reference[2:])) for each in LINK.requests]
EXPIRY = LINK.link.expires_at if LINK.link else START


@dataclass(frozen=True)
class Paid:
    """A transfer that can get into a block."""

    request: int
    amount: int
    payee: str = PAYEE

    @property
    def counts(self) -> bool:
        return self.payee == PAYEE


POOL = (
    Paid(0, WHOLE // 2),
    Paid(0, WHOLE // 2),
    Paid(0, WHOLE),
    Paid(0, 1),
    Paid(0, WHOLE, "0x" + "22" * 20),
    Paid(1, WHOLE),
)
MINED = range(len(POOL)) if IS_FULL else (2, 3)
"""Those that get into blocks: of the small bound the one that pays the first request whole, and dust."""
NOWHERE = 0
"""A place of a transfer in no block; 1 and 2 are the blocks that it can be in."""


@dataclass(frozen=True)
class Place:
    block: int = NOWHERE
    is_late: bool = False
    """Whether its block is after the expiry."""


@cache
def entry(number: int, place: Place) -> LoggedTransfer:
    paid, block = POOL[number], 10 * place.block + number
    return transfer(
        paid.amount,
        number + 1,
        reference_topic=TOPICS[paid.request],
        payee=paid.payee.lower(),
        payable_id=LINK.requests[0].payable_id,
        block_number=block + 100 * place.is_late,
        block_hash=f"0xb{place.block}{number}{place.is_late:d}",
        paid_at=EXPIRY + (SECOND if place.is_late else -SECOND),
    )


@dataclass(frozen=True)
class State:
    payable: Payable
    log: Mapping[TransferId, LoggedTransfer]
    payments: Mapping[RecordedId, Payment]
    unmatched: Mapping[RecordedId, UnmatchedTransfer]
    chain: tuple[Place, ...] = (Place(),) * len(POOL)
    seen: tuple[Place, ...] = (Place(),) * len(POOL)
    """The chain as the scanner has read it last."""
    parts: tuple[UnrecordedTransfers, ...] = ()
    is_late: bool = False
    """Whether our clock, and the chain's, are past the expiry."""
    is_read: bool = False
    """Whether the scanner has read the chain past the expiry."""
    forks: int = 0
    said: tuple[bool, ...] = (False, False)
    """Whether each request is paid by the last event about it."""
    announced: tuple[int, ...] = (0,) * len(POOL)
    """How often each transfer was announced as a payment, less how often it was taken back."""

    @property
    def link(self) -> Link:
        assert self.payable.link is not None
        return self.payable.link

    @property
    def now(self) -> Any:
        return EXPIRY + (SECOND if self.is_late else -SECOND)


def events(state: State) -> Iterator[tuple[str, State]]:
    for number in MINED:
        place = state.chain[number]
        if place.block == NOWHERE:
            yield f"mine {number}", _placed(state, number, Place(1, state.is_late))
        elif state.forks < MOST_FORKS:
            forked = replace(state, forks=state.forks + 1)
            yield f"remove {number}", _placed(forked, number, Place())
            yield f"move {number}", _placed(forked, number, Place(3 - place.block, place.is_late or state.is_late))
    if len(state.parts) < MOST_PARTS and (state.chain != state.seen or state.is_read != state.is_late):
        yield "scan", _scanned(state)
    if state.parts:
        yield "record", _recorded(state)
    if not state.is_late:
        yield "pass the expiry", replace(state, is_late=True)
    if status_at(state.link, state.now) is LinkStatus.AWAITING_CHAIN:
        swept = _swept(state.link.status, state.is_read, bool(state.parts))
        yield "sweep", replace(state, payable=replace(state.payable, link=replace(state.link, status=swept)))


def _placed(state: State, number: int, place: Place) -> State:
    return replace(state, chain=(*state.chain[:number], place, *state.chain[number + 1 :]))


def _scanned(state: State) -> State:
    """The scanner reads the whole chain. What is in other blocks than before, or in a block that was gone, is the work of
    a fork."""
    places = list(enumerate(zip(state.seen, state.chain, strict=True)))
    logged = [(state.log[entry(each, was).transfer_id], was == now) for each, (was, now) in places if was.block]
    hashes = {each.block_number: each.block_hash if is_there else "0xother" for each, is_there in logged}
    found = [entry(each, now) for each, (was, now) in places if was != now and now.block != NOWHERE]
    gone = transfer_log.find_removed((each for each, _ in logged), hashes, found)
    gone.sort(key=lambda each: each.block_number)
    found = sorted((state.log.get(each.transfer_id, each) for each in found), key=lambda each: each.block_number)
    log = dict(state.log) | {each.transfer_id: each for each in found}
    if gone or any(each.transfer_id in state.log for each in found):
        parts = transfer_log.work_of_fork(gone, found, 1, START)
    else:
        parts = transfer_log.work(transfer_log.select_unrecorded(found, state.log), 1, START)
    after = replace(state, seen=state.chain, is_read=state.is_late, parts=(*state.parts, *parts))
    return replace(after, log=log)


def _recorded(state: State) -> State:
    """The recorder decides the first work, and, as a message may come twice, the same once more."""
    part, *rest = state.parts
    after, changes = _decided(state, part)
    again, repeated = _decided(after, part)
    assert not repeated.events, "work that is recorded again announces something"
    assert again.payable == after.payable and again.payments == after.payments, "work that is recorded again counts"
    said, announced = list(after.said), list(after.announced)
    for event in changes.events:
        body = json.loads(event.body)
        index = 0 if body["requestId"] == FIRST.request_id else 1
        said[index] = float(body["totalAmountPaid"]) >= float(body["expectedAmount"])
        number = int(body["txHash"], 16) - 1
        if event.kind in ("payment.confirmed", "payment.partial"):
            announced[number] += 1
        elif event.kind == "payment.failed":
            announced[number] -= 1
    return replace(after, parts=tuple(rest), said=tuple(said), announced=tuple(announced))


def _decided(state: State, part: UnrecordedTransfers) -> tuple[State, Changes]:
    wanted = {each: state.log[each] for each in (*part.added, *part.removed)}
    listed = {
        each.request_id: tuple(paid for paid in state.payments.values() if paid.request_id == each.request_id)
        for each in state.payable.requests
    }
    changes = decide(state.payable, part, Stored(wanted, state.payments, state.unmatched, listed), ACCEPTED, CONTEXT)
    log, payments, unmatched = dict(state.log), dict(state.payments), dict(state.unmatched)
    for record in changes.records.values():
        match record:
            case LoggedTransfer():
                log[record.transfer_id] = record
            case Payment():
                payments[RecordedId.of(record)] = record
            case UnmatchedTransfer():
                unmatched[RecordedId.of(record)] = record
    return replace(state, payable=changes.payable, log=log, payments=payments, unmatched=unmatched), changes


@cache
def _world() -> World:
    return World(object())


@cache
def _swept(status: LinkStatus, is_read: bool, has_work: bool) -> LinkStatus:
    """What the sweep makes of the link, in a store that has what it reads."""
    world, store = _world(), MemoryStore()
    world.services, world.now = replace(world.services, store=store), EXPIRY + SECOND
    assert LINK.link is not None
    link = replace(LINK.link, status=status)
    store.write(link, *LINK.requests)
    read_until = EXPIRY + (SECOND if is_read else -SECOND)
    store.write(Cursor("sepolia", 10, (), 1000, read_until, world.now, agreed_until=read_until))
    if has_work:
        store.write(*transfer_log.work([replace(entry(0, Place(1)), payable_id=link.token)], 1, START))
    expiry.expire_due(world.services)
    found: Link | None = store.get(Link, link.key)
    assert found is not None
    return found.status


def check(before: State, happened: str, after: State) -> None:
    requests, link = after.payable.requests, after.link
    for request in requests:
        _check_totals(after, request)
    all_paid = all(each.status is RequestStatus.PAID for each in requests)
    assert (link.status is LinkStatus.COMPLETED) is all_paid, "the link is completed while a request is not paid"
    paid = tuple(each.status is RequestStatus.PAID for each in requests)
    assert after.said == paid, "the merchant was told otherwise than it is"
    assert max(after.announced) <= 1 and after.announced[3] <= 1, "a payment was announced twice"
    if before.link.status is not LinkStatus.EXPIRED and link.status is LinkStatus.EXPIRED:
        assert happened == "sweep" and after.is_read and not after.parts, "expired before the chain was read"
    if is_payable(PayableLink(requests, link), after.now):
        assert not after.is_late and not all_paid, "payable too late, or again"


def _check_totals(state: State, request: Request) -> None:
    payments = [each for each in state.payments.values() if each.request_id == request.request_id]
    confirmed = [each for each in payments if each.status is PaymentStatus.CONFIRMED]
    topic = TOPICS[request.position]
    dust = [each for each in state.log.values() if each.state is TransferState.DUST and each.reference_topic == topic]
    assert request.paid == sum(each.value for each in confirmed) + sum(each.amount for each in dust), "paid"
    assert request.received == request.paid and request.dust_amount == sum(each.amount for each in dust), "received"
    first = MAX_SMALL_PAYMENTS if request.position == 0 else 0
    numbers = request.payment_count - first, request.confirmed_count, request.dust_count
    assert numbers == (len(payments), len(confirmed), len(dust)), "numbers of payments"
    status = RequestStatus.PAID if request.paid >= request.amount else RequestStatus.PARTIALLY_PAID
    assert request.status is (status if request.paid else RequestStatus.CREATED), "status"
    if not state.parts:
        places = zip(POOL, state.seen, strict=True)
        on_chain = sum(each.amount for each, place in places if each.request == request.position and each.counts and place.block)
        assert request.paid == on_chain, "not what the chain has"


def canonical(state: State) -> object:
    requests = tuple(
        (each.paid, each.payment_count, each.dust_count, each.tx_hash, each.surplus_hash, each.unexpected_count)
        for each in state.payable.requests
    )
    log = frozenset((each.transfer_id.block_hash, each.state) for each in state.log.values())
    payments = frozenset(
        (each.tx_hash, each.status, each.block_hash, each.is_announced, each.is_unexpected, each.excess)
        for each in state.payments.values()
    )
    unmatched = frozenset((each.status, each.block_hash, each.is_unexpected) for each in state.unmatched.values())
    parts = tuple((_hashes(each.added), _hashes(each.removed)) for each in state.parts)
    rest = state.chain, state.seen, state.is_late, state.is_read, state.forks, state.said, state.announced
    return state.link.status, requests, log, payments, unmatched, parts, rest


def _hashes(ids: tuple[TransferId, ...]) -> tuple[str, ...]:
    return tuple(each.block_hash for each in ids)


def kind(state: State) -> str:
    return status_at(state.link, state.now).value


def test_totals_statuses_and_events_are_those_of_the_chain_in_every_order() -> None:
    found = search(Machine(State(LINK, {}, {}, {}), events, check, canonical, kind), DEPTH)
    print(f"links: {found}")
    assert set(found.kinds) >= {"pending", "awaiting_chain", "expired"}
    if IS_FULL:
        assert "completed" in found.kinds
        assert found.states > 250_000
