"""Conservation: after random histories of an escrow, with forks, repeats and crashes, the books are the chain's."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.commerce.core import ledger
from chalicelib.commerce.core import rules as commerce_rules
from chalicelib.commerce.core.records import (
    CommercePayment,
    EntryState,
    EscrowEntry,
    OperationKind,
    PendingOperation,
)
from chalicelib.payments.links.records import LinkStatus, Payable
from chalicelib.payments.recording.changes import RecordedId, Stored
from chalicelib.payments.recording.deciding import decide
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, SentRefund
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, UnrecordedTransfers
from tests.commerce.core.contract_model import Asked, Contract
from tests.fakes.commerce import new_payment
from tests.fakes.world import START
from tests.payments.recording.test_deciding import ACCEPTED
from tests.payments.recording.test_matching import CONTEXT, new_payable, transfer
from tests.support.rehearsed import few

HISTORIES, GROUPS = int(os.environ.get("HISTORIES", "1000")), 10
"""`make chaos` takes 10,000."""
KINDS = {
    "authorize": EscrowEventKind.AUTHORIZED,
    "charge": EscrowEventKind.CHARGED,
    "capture": EscrowEventKind.CAPTURED,
    "void": EscrowEventKind.VOIDED,
    "reclaim": EscrowEventKind.RECLAIMED,
    "refund": EscrowEventKind.REFUNDED,
}
LINK = new_payable()
(REQUEST,) = LINK.requests
PAYMENT = new_payment(START, REQUEST.payable_id, REQUEST.request_id)
TOPIC = PAYMENT.payment_hash or ""


@dataclass
class Books:
    """What is stored: a decision is written whole, or not at all if the process dies before."""

    payable: Payable = field(
        default_factory=lambda: replace(LINK, requests=(replace(REQUEST, amount=PAYMENT.amount),), commerce=PAYMENT)
    )
    log: dict[TransferId, LoggedTransfer] = field(default_factory=dict)
    payments: dict[RecordedId, Payment] = field(default_factory=dict)
    sent_refunds: dict[RecordedId, SentRefund] = field(default_factory=dict)
    ledger: dict[TransferId, EscrowEntry] = field(default_factory=dict)
    notified: list[str] = field(default_factory=list)
    sequences: list[int | None] = field(default_factory=list)

    begun: Counter[str] = field(default_factory=Counter)
    """The operations that the service has begun and that did not go back, by their kind."""

    def begin(self, name: str, amount: int) -> None:
        pending = PendingOperation(self.payment.operations + 1, OperationKind(name), BaseUnits(amount), START)
        self.payable = replace(self.payable, commerce=commerce_rules.begin_operation(self.payment, pending, START))
        self.begun[name] += 1

    def go_back(self) -> None:
        assert self.payment.pending is not None
        self.begun[self.payment.pending.kind.value] -= 1
        self.payable = replace(self.payable, commerce=commerce_rules.take_back_operation(self.payment, "dropped", START))

    @property
    def open(self) -> Counter[str]:
        pending = self.payment.pending
        assert pending is not None or not self.payment.waiting
        return Counter(each.kind.value for each in (pending, *self.payment.waiting) if each is not None)

    @property
    def payment(self) -> CommercePayment:
        assert self.payable.commerce is not None
        return self.payable.commerce

    def record(self, added: list[LoggedTransfer], removed: list[LoggedTransfer], dies: bool) -> None:
        for each in (*added, *removed):
            self.log.setdefault(each.transfer_id, each)
        new, gone = (tuple(each.transfer_id for each in entries) for entries in (added, removed))
        part = UnrecordedTransfers(REQUEST.payable_id, "sepolia", 1, 1, 0, "", START, new, gone)
        wanted = {each: self.log[each] for each in (*new, *gone)}
        listed = {REQUEST.request_id: tuple(self.payments.values())}
        ids = {each: RecordedId(REQUEST.request_id, entry.tx_hash, entry.event_key) for each, entry in wanted.items()}
        sent_refunds = {each: self.sent_refunds[id] for each, id in ids.items() if id in self.sent_refunds}
        stored = Stored(wanted, dict(self.payments), {}, listed, ledger=dict(self.ledger), sent_refunds=sent_refunds)
        changes = decide(self.payable, part, stored, ACCEPTED, CONTEXT)
        if dies:
            return
        self.payable = changes.payable
        self.notified += [event.kind for event in changes.events]
        self.sequences += [event.sequence for event in changes.events]
        for record in changes.records.values():
            match record:
                case LoggedTransfer():
                    self.log[record.transfer_id] = record
                case SentRefund():
                    self.sent_refunds[RecordedId.of(record)] = record
                case Payment():
                    self.payments[RecordedId.of(record)] = record
                case EscrowEntry():
                    place = record.block_number, record.block_hash, record.tx_hash, record.event_key
                    self.ledger[TransferId(*place)] = record


@dataclass
class Escrow:
    """A chain whose every block is one call of the contract that succeeded."""

    random: random.Random
    states: list[Contract] = field(default_factory=lambda: [Contract()])
    blocks: list[LoggedTransfer] = field(default_factory=list)
    transactions: int = 0

    def call(self, books: Books) -> list[LoggedTransfer]:
        """One random call, which the service begins unless it is the payer's or another one is pending; the log of it
        if it does not revert, and is not left out of the chain."""
        before, name = self.states[-1], self.random.choice((*KINDS, "later"))
        if name == "later":
            self.states[-1] = before.later()
            return []
        most = {"authorize": 100, "charge": 100, "capture": before.capturable, "refund": before.refundable}.get(name, 0)
        amount = self.random.choice((most, self.random.randint(0, most), most + 1))
        asked = Asked(name, amount, self.random.choice((0, 0, 250, 1000)) if name in ("charge", "capture") else 0)
        after = before.call(asked)
        if after is None:
            return []
        if name != "reclaim":
            if books.payment.pending is not None:
                return []
            books.begin(name, after.moved(name) - before.moved(name))
            if self.random.random() < 0.2:
                return []
        self.transactions += 1
        moved = BaseUnits(after.moved(name) - before.moved(name))
        said = LoggedEscrow(KINDS[name], TOPIC, moved, None, asked.fee_bps, None)
        log = transfer(moved, self.transactions, reference_topic=TOPIC, escrow=said, tx_hash=f"0xt{self.transactions}")
        self.states.append(after)
        self.blocks.append(self._placed(log))
        return self.blocks[-1:]

    def fork(self) -> tuple[list[LoggedTransfer], list[LoggedTransfer]]:
        """Removes some of the newest blocks and mines the first of their calls again, in other blocks; returns the
        removed logs, the newest first, and the new ones."""
        depth = self.random.randint(1, min(4, len(self.blocks)))
        removed = self.blocks[-depth:]
        kept = self.random.randint(0, depth)
        del self.blocks[-depth:]
        again = [self._placed(each) for each in removed[:kept]]
        self.blocks += again
        del self.states[len(self.blocks) + 1 :]
        return removed[::-1], again

    def _placed(self, log: LoggedTransfer) -> LoggedTransfer:
        number = len(self.blocks) + 1
        return replace(log, block_number=number, block_hash=f"0xb{number}-{self.random.random()}")


def history(seed: int) -> tuple[Escrow, Books]:
    chance = random.Random(seed)
    escrow, books = Escrow(chance), Books()
    for _ in range(chance.randint(3, 12)):
        if escrow.blocks and chance.random() < 0.25:
            removed, added = escrow.fork()
            moved = {each.tx_hash for each in added}
            parts = [([], [each]) for each in removed if each.tx_hash not in moved]
            parts += [([each], [one for one in removed if one.tx_hash == each.tx_hash]) for each in added]
        else:
            if books.payment.pending is not None and chance.random() < 0.5:
                books.go_back()
            parts = [([each], []) for each in escrow.call(books)]
        for new, gone in parts:
            while chance.random() < 0.2:
                books.record(new, gone, dies=True)
            books.record(new, gone, dies=False)
            if chance.random() < 0.2:
                books.record(new, gone, dies=False)
    return escrow, books


@pytest.mark.parametrize("group", few(range(3), range(GROUPS)))
def test_money_is_conserved_and_the_books_are_those_of_the_chain(group: int) -> None:
    for seed in range(group, HISTORIES, GROUPS):
        escrow, books = history(seed)
        contract, payment = escrow.states[-1], books.payment
        captured = contract.moved("capture") + contract.moved("charge")
        assert ledger.is_state_of(payment, contract.collected, contract.capturable, contract.refundable), seed
        assert payment.authorized == payment.captured + payment.voided + payment.reclaimed + payment.capturable, seed
        assert payment.refunded <= payment.captured == captured, seed
        paid = [each for each in books.payments.values() if each.status is PaymentStatus.CONFIRMED]
        request = books.payable.requests[0]
        sent = [each for each in books.sent_refunds.values() if each.status is PaymentStatus.CONFIRMED]
        assert sum(each.amount for each in sent) == request.refunded == payment.refunded, seed
        assert len(sent) == request.refund_count, seed
        assert sum(each.value for each in paid) == request.paid == captured, seed
        assert sum(each.fee_amount for each in paid) == payment.fees, seed
        assert all(each.amount + each.fee_amount == each.value for each in paid), seed
        posted = [each for each in books.ledger.values() if each.state is EntryState.POSTED]
        assert sorted(each.tx_hash for each in posted) == sorted(each.tx_hash for each in escrow.blocks), seed
        made = Counter(each.escrow.kind.value for each in escrow.blocks if each.escrow is not None)
        assert books.open == books.begun - Counter({name: made[KINDS[name].value] for name in books.begun}), seed
        is_paid = bool(captured) and not contract.capturable
        assert (request.status is RequestStatus.PAID) is is_paid, seed
        assert not is_paid or (request.amount == captured and "payment.confirmed" in books.notified), seed
        assert books.sequences == list(range(1, request.event_count + 1)), seed
        link = books.payable.link
        assert link is None or (link.status is LinkStatus.COMPLETED) is is_paid, seed


def test_the_merchant_was_notified_of_every_end_and_of_every_refund() -> None:
    for seed in range(500):
        escrow, books = history(seed)
        names = [each.escrow.kind for each in escrow.blocks if each.escrow is not None]
        refunds, captures = (sum(name is kind for name in names) for kind in (KINDS["refund"], KINDS["capture"]))
        assert books.notified.count("payment.refunded") >= refunds, seed
        assert sum(kind in ("payment.partial", "payment.confirmed") for kind in books.notified) >= captures, seed
        contract = escrow.states[-1]
        is_over = contract.collected and not contract.capturable and not contract.refundable
        if is_over and not contract.moved("refund"):
            assert "payment.failed" in books.notified, seed


def test_histories_have_forks_and_every_kind_of_event() -> None:
    found = [history(seed) for seed in range(300)]
    kinds = {each.kind for _, books in found for each in books.ledger.values()}
    assert kinds == set(KINDS.values())
    assert any(each.state is EntryState.VOIDED for _, books in found for each in books.ledger.values())
    assert any(books.payment.waiting for _, books in found)
