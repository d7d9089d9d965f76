"""Every order of operations, events of the escrow, forks and lapses of time of one commerce payment.

The escrow is `Contract`, the oracle of tests/commerce; the service reserves operations, sends each to the escrow, posts
events in any order, undoes those that a fork removes, and gives up what reverted. What holds in every state:

- totals are the sums of the posted events, and once all events are posted, what the escrow has itself;
- what was captured, voided and reclaimed is within what was authorized, and refunds within what was captured;
- an operation is executed once: the event of its number is posted once, and it is not reserved again before its end;
- what may still be executed is known as unfinished; of unfinished operations the pending one has the lowest number,
  and nothing is reserved beside it;
- an operation that is accepted when everything is known is one that the escrow accepts;
- nothing expires before the chain was read past the expiry;
- without a fork, what is voided, reclaimed or refunded stays so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.commerce.core import ledger
from chalicelib.commerce.core import rules as commerce_rules
from chalicelib.commerce.core.expiry import can_reclaim
from chalicelib.commerce.core.records import CommercePayment, EntryState, EscrowEntry, PendingOperation
from chalicelib.commerce.core.rules import CommerceStatus
from tests.commerce.core.contract_model import AFTER_ALL, BEFORE_AUTHORIZATION_EXPIRY, Asked, Contract
from tests.commerce.core.test_rules import INSTANTS, PAYMENT, event, operation
from tests.models.search import IS_FULL, Machine, search

DEPTH = 24 if IS_FULL else 9
MOST_OPERATIONS, MOST_FORKS = (8, 3) if IS_FULL else (4, 1)
ASKED = (
    Asked("authorize", 100),
    Asked("charge", 100, 250),
    Asked("capture", 40, 250),
    Asked("capture", 60),
    Asked("void"),
    Asked("refund", 40),
    Asked("refund", 60),
)
ENDED = (CommerceStatus.VOIDED, CommerceStatus.RECLAIMED, CommerceStatus.REFUNDED)


@dataclass(frozen=True)
class Logged:
    """An event of the escrow in the newest blocks: whose operation, what it moved, and the entry if it is posted."""

    asked: Asked
    amount: int
    number: int
    """Of the operation; 0 for what the payer does."""
    entry: EscrowEntry | None = None


@dataclass(frozen=True)
class State:
    payment: CommercePayment = PAYMENT
    phase: int = 0
    read: int | None = None
    """The phase up to which the chain was read and recorded."""
    logs: tuple[Logged, ...] = ()
    """In the order of the chain."""
    sent: tuple[tuple[int, Asked], ...] = ()
    """The transactions of operations that are in no block, by their numbers."""
    forks: int = 0

    @property
    def contract(self) -> Contract:
        """What the escrow has after the logs; the phase does not matter for what was executed in time."""
        contract = Contract()
        for each in self.logs:
            late = each.asked.name == "reclaim"
            after = replace(contract, phase=AFTER_ALL if late else 0).call(each.asked)
            assert after is not None, "the escrow has executed it"
            contract = after
        return replace(contract, phase=self.phase)

    @property
    def is_known(self) -> bool:
        return all(each.entry is not None for each in self.logs)


def events(state: State) -> Iterator[tuple[str, State]]:
    now, payment = INSTANTS[state.phase], state.payment
    if state.phase < AFTER_ALL:
        yield "pass an expiry", replace(state, phase=state.phase + 1)
    if state.is_known and state.read != state.phase:
        yield "read the chain", replace(state, read=state.phase)
    if payment.operations < MOST_OPERATIONS:
        for asked in ASKED:
            reserved = commerce_rules.reserve(payment, operation(asked), now)
            if isinstance(reserved, PendingOperation) and reserved != payment.pending:
                begun, sent = commerce_rules.begin_operation(payment, reserved, now), (*state.sent, (reserved.number, asked))
                yield f"reserve {asked.name} {asked.amount}", replace(state, payment=begun, sent=sent)
    if state.sent:
        yield from _executed(state)
    if payment.pending is not None and payment.pending.number not in _alive(state):
        yield "go back", replace(state, payment=commerce_rules.take_back_operation(payment, "it reverted", now))
    if can_reclaim(payment, now):
        after = state.contract.call(Asked("reclaim"))
        if after is not None:
            yield "reclaim", _logged(state, Asked("reclaim"), after, 0)
    for index, each in enumerate(state.logs):
        if each.entry is None:
            entry = event(each.asked, each.amount, index + 1)
            posted, kept = ledger.post(payment, entry, now)
            yield f"post {index + 1}", replace(state, payment=posted, logs=_with(state.logs, index, kept))
    if state.logs and state.forks < MOST_FORKS:
        yield "fork away", _without_last(state)


def _executed(state: State) -> Iterator[tuple[str, State]]:
    """The first transaction gets into a block: nonces keep the order in which they were sent."""
    (number, asked), *rest = state.sent
    rest_sent = replace(state, sent=tuple(rest))
    after = state.contract.call(asked)
    yield ("execute", _logged(rest_sent, asked, after, number)) if after is not None else ("revert", rest_sent)


def _logged(state: State, asked: Asked, after: Contract, number: int) -> State:
    amount = after.moved(asked.name) - state.contract.moved(asked.name)
    return replace(state, logs=(*state.logs, Logged(asked, amount, number)))


def _with(logs: tuple[Logged, ...], index: int, entry: EscrowEntry | None) -> tuple[Logged, ...]:
    return (*logs[:index], replace(logs[index], entry=entry), *logs[index + 1 :])


def _without_last(state: State) -> State:
    """A fork removes the newest event; its transaction is sent again, before those after it."""
    last, payment = state.logs[-1], state.payment
    if last.entry is not None:
        payment, _ = ledger.undo(payment, last.entry, INSTANTS[state.phase])
    again = ((last.number, last.asked),) if last.number else ()
    return replace(state, payment=payment, logs=state.logs[:-1], sent=(*again, *state.sent), forks=state.forks + 1)


def _alive(state: State) -> set[int]:
    """The operations whose transactions can still have an effect, or have one that is not posted."""
    return {number for number, _ in state.sent} | {each.number for each in state.logs if each.entry is None}


def check(before: State, happened: str, after: State) -> None:
    payment = after.payment
    _check_totals(after)
    unfinished = commerce_rules.unfinished_operations(payment)
    numbers = [each.number for each in unfinished]
    assert numbers == sorted(set(numbers)) and (payment.pending is not None or not payment.waiting), "order of operations"
    assert _alive(after) - {0} <= set(numbers), "an operation that may be executed is not known as begun"
    executed = [each.number for each in after.logs if each.number]
    assert len(set(executed)) == len(executed), "an operation was executed twice"
    ended = [each.entry.operation.number for each in after.logs if each.entry and each.entry.operation]
    assert len(set(ended)) == len(ended) and not set(ended) & set(numbers), "an operation ended twice, or is unfinished"
    if happened.startswith("reserve"):
        assert before.payment.pending is None, "something was reserved beside a pending operation"
        if before.is_known and not before.sent:
            assert before.contract.call(after.sent[-1][1]) is not None, "the escrow refuses what was reserved"
    status = commerce_rules.status_of(payment, Agreed(INSTANTS[after.read]) if after.read is not None else None)
    if status is CommerceStatus.EXPIRED:
        least = BEFORE_AUTHORIZATION_EXPIRY + 1 if payment.is_collected else BEFORE_AUTHORIZATION_EXPIRY
        assert after.read is not None and after.read >= least, "expired while the chain is not read"
    was = commerce_rules.status_of(before.payment, None)
    if was in ENDED and before.is_known and happened != "fork away":
        now = commerce_rules.status_of(payment, None)
        begins_refund = was is not CommerceStatus.REFUNDED and happened.startswith("reserve refund")
        assert now is was or begins_refund, f"{was} became {now}"


def _check_totals(state: State) -> None:
    payment, sums = state.payment, dict[str, int]()
    for each in state.logs:
        if each.entry is not None:
            assert each.entry.state is EntryState.POSTED
            sums[each.asked.name] = sums.get(each.asked.name, 0) + each.amount
    charged = sums.get("charge", 0)
    posted = [sums.get(each, 0) for each in ("authorize", "capture", "void", "reclaim", "refund")]
    posted = [posted[0] + charged, posted[1] + charged, *posted[2:]]
    totals = [payment.authorized, payment.captured, payment.voided, payment.reclaimed, payment.refunded]
    assert totals == posted, "totals are not the sums of the posted events"
    if state.is_known:
        contract = state.contract
        assert ledger.is_balanced(payment), "more went out than came in"
        known = payment.is_collected, payment.capturable, payment.refundable
        assert known == (contract.collected, contract.capturable, contract.refundable), "not what the escrow has"
        assert BaseUnits(payment.fees) == sum(
            commerce_rules.fee_on(each.amount, each.asked.fee_bps) for each in state.logs if each.asked.name in ("charge", "capture")
        ), "fees"


def canonical(state: State) -> object:
    payment = state.payment
    operations = tuple((each.number, each.kind, each.amount) for each in commerce_rules.unfinished_operations(payment))
    logs = tuple(
        (each.asked, each.number, each.entry is not None, each.entry and each.entry.operation and each.entry.operation.number)
        for each in state.logs
    )
    return payment.operations, operations, logs, state.sent, state.phase, state.read, state.forks


def kind(state: State) -> str:
    return commerce_rules.status_of(state.payment, Agreed(INSTANTS[state.read]) if state.read is not None else None).value


def test_the_books_are_the_escrows_and_each_operation_ends_once_in_every_order_of_events() -> None:
    found = search(Machine(State(), events, check, canonical, kind), DEPTH)
    print(f"commerce: {found}")
    assert set(found.kinds) >= {each.value for each in CommerceStatus} - {"REFUNDED", "PARTIALLY_REFUNDED", "REFUNDING"}
    if IS_FULL:
        assert found.states > 250_000
        assert set(found.kinds) == {each.value for each in CommerceStatus}
