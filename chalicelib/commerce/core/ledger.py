"""The ledger of a commerce payment: what each event of the escrow adds to its totals, and takes from them again.

    authorized = captured + voided + reclaimed + capturable        refunded <= captured

Entries may be posted and undone in any order: totals are sums. If an event is missing, the equations do not hold until
it is read (`is_balanced`).
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.records import (
    CommercePayment,
    EntryState,
    EscrowEntry,
    OperationKind,
    PendingOperation,
)
from chalicelib.commerce.core.rules import fee_on, unfinished_operations, with_unfinished

MOST_PRE_APPROVALS = 100
"""The most wallets that are remembered as having pre-approved a payment; anybody can be one, for the gas."""
_FULFILS = {
    EscrowEventKind.AUTHORIZED: OperationKind.AUTHORIZE,
    EscrowEventKind.CHARGED: OperationKind.CHARGE,
    EscrowEventKind.CAPTURED: OperationKind.CAPTURE,
    EscrowEventKind.VOIDED: OperationKind.VOID,
    EscrowEventKind.REFUNDED: OperationKind.REFUND,
}


_TOTALS = {
    EscrowEventKind.AUTHORIZED: ("authorized",),
    EscrowEventKind.CHARGED: ("authorized", "captured"),
    EscrowEventKind.CAPTURED: ("captured",),
    EscrowEventKind.VOIDED: ("voided",),
    EscrowEventKind.RECLAIMED: ("reclaimed",),
    EscrowEventKind.REFUNDED: ("refunded",),
}
"""The totals of a payment that the amount of an event is added to; of what is captured the fee has its own."""


def post(payment: CommercePayment, entry: EscrowEntry, now: datetime) -> tuple[CommercePayment, EscrowEntry]:
    """The payment after an event, and the entry with the operation that the event ends, if it ends one."""
    added = _with_totals(payment, entry, 1)
    if entry.kind is EscrowEventKind.PRE_APPROVED and entry.payer is not None:
        others = tuple(each for each in payment.pre_approved_by if each != entry.payer)
        added = replace(added, pre_approved_by=(*others, entry.payer)[-MOST_PRE_APPROVALS:])
    posted = replace(entry, state=EntryState.POSTED)
    begun = unfinished_operations(payment)
    ended = next((each for each in begun if fulfils(each, entry)), None)
    if ended is not None:
        posted = replace(posted, operation=ended)
        added = replace(added, failure=None, failed_payer=None)
        added = with_unfinished(added, (each for each in begun if each is not ended))
    return replace(added, changed_at=now, check_at=now), posted


def undo(payment: CommercePayment, entry: EscrowEntry, now: datetime) -> tuple[CommercePayment, EscrowEntry]:
    """The payment without an event that a fork removed. The operation that had ended by it is pending again, as its
    transaction is sent again, so that nobody begins it a second time; a later one that is pending now waits for it, as
    its transaction does."""
    without = _with_totals(payment, entry, -1)
    if entry.kind is EscrowEventKind.PRE_APPROVED:
        left = tuple(each for each in payment.pre_approved_by if each != entry.payer)
        without = replace(without, pre_approved_by=left)
    if entry.operation is not None:
        without = with_unfinished(without, (*unfinished_operations(payment), entry.operation))
    return replace(without, changed_at=now, check_at=now), replace(entry, state=EntryState.VOIDED, operation=None)


def fulfils(pending: PendingOperation, entry: EscrowEntry) -> bool:
    """Whether an event is the end of an operation. Only the operator causes such events, and of operations that are
    unfinished at once the transaction of the first is made first, so that kind and amount tell."""
    if _FULFILS.get(entry.kind) is not pending.kind:
        return False
    return entry.kind is EscrowEventKind.VOIDED or entry.amount == pending.amount


def is_balanced(payment: CommercePayment) -> bool:
    """Whether no event is missing: nothing more has left the escrow than it took, or was refunded than captured."""
    gone = payment.captured + payment.voided + payment.reclaimed
    return gone <= payment.authorized and payment.refunded <= payment.captured


def is_state_of(payment: CommercePayment, collected: bool, capturable: int, refundable: int) -> bool:
    """Whether the totals are what the escrow has stored for the payment."""
    known = (payment.is_collected, payment.capturable, payment.refundable)
    return is_balanced(payment) and known == (collected, capturable, refundable)


def _with_totals(payment: CommercePayment, entry: EscrowEntry, sign: int) -> CommercePayment:
    changes = dict.fromkeys(_TOTALS.get(entry.kind, ()), entry.amount)
    if "captured" in changes:
        changes["fees"] = fee_on(entry.amount, entry.fee_bps)
    totals: dict[str, Any] = {name: BaseUnits(getattr(payment, name) + sign * each) for name, each in changes.items()}
    return replace(payment, **totals)
