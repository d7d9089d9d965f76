"""Transfers: the classification of every transfer with a request's reference, and the recovery action for it.

Payments are classified in the order of the chain, each by the amount that is still owed before it. What is owed, what a
payment counts for and its excess are in the units of the request's amount; a refund is in the token that was sent.


    class           counts  when                                                  recovery action
    exact           yes     pays exactly what is owed                               none
    late            yes     as exact, after the expiry of its link                none
    partial         yes     pays less, or what was accepted instead of all        pay_remaining; none once all is paid
    over            yes     pays more                                             refund_excess
    duplicate       yes     nothing is owed any more: it is paid, or cancelled    refund
    wrong_token     no      another token, or the native coin, to the payee       refund; contact_payee for a token that
                                                                                  is not in the catalogue
    wrong_payee     no      to another address                                    contact_receiver
    wrong_network   no      on another network                                    contact_payee
    reversed        no      a fork removed it from the chain                      as partial; none if it never counted

The sum of the transfers that count, and of the payments that are too small to be listed, is the request's paid amount.
The small ones are taken as paid before the others; so the sum of the excesses is what was paid beyond the amount.

A refund action becomes `find_payer` if the payer cannot be read from the chain, or is a contract that may have passed
on somebody else's money.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.links.records import Link
from chalicelib.payments.recording.events import is_late
from chalicelib.payments.recording.unmatched import token_of
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import Request


class TransfersOfChildren(BadRequest):
    """Transfers were requested for a multicall; only its children have transfers."""

    shown_by = "chalicelib.payments.transfers.schemas"

    def __init__(self, child_tokens: tuple[str, ...]) -> None:
        super().__init__("A multicall has no transfers of its own: ask for those of its children")
        self.child_tokens = child_tokens


class Classification(StrEnum):
    EXACT = "exact"
    PARTIAL = "partial"
    OVER = "over"
    DUPLICATE = "duplicate"
    LATE = "late"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a reason, no secret
    WRONG_PAYEE = "wrong_payee"
    WRONG_NETWORK = "wrong_network"
    REVERSED = "reversed"


class RecoveryAction(StrEnum):
    NONE = "none"
    PAY_REMAINING = "pay_remaining"
    """Pay the remaining amount: through this link while it can be paid, later through a new one."""
    REFUND_EXCESS = "refund_excess"
    """The payee returns the excess."""
    REFUND = "refund"
    """The payee returns the whole amount."""
    FIND_PAYER = "find_payer"
    """The payee returns it after finding out who paid: the chain does not say that for certain."""
    CONTACT_PAYEE = "contact_payee"
    """The payee may have received it, if the address is theirs on that network and the token has a value."""
    CONTACT_RECEIVER = "contact_receiver"
    """Another address received it."""


@frozen
class ClassifiedTransfer:
    """One transfer with its classification.

    `token` is what was sent, None if it is not in the catalogue. `late` is true for transfers of any class in a block
    after the link's expiry. `excess` is in the units of the request's amount, None if the transfer is unmatched.
    """

    transfer: Payment | UnmatchedTransfer
    request: Request
    token: Token | None
    classification: Classification
    late: bool
    counts: bool
    excess: BaseUnits | None
    action: RecoveryAction

    @property
    def refundable(self) -> BaseUnits:
        """What the payee received and was not owed, in base units of `token`; 0 if no refund is possible.

        Of an excess it is the part of the payment that the excess is of what it counts for, rounded down.
        """
        match self.action, self.transfer:
            case RecoveryAction.REFUND_EXCESS, Payment() as payment:
                return BaseUnits(payment.amount * (self.excess or 0) // payment.value)
            case RecoveryAction.REFUND, transfer:
                return transfer.amount
        return BaseUnits(0)


def classify(
    link: Link | None, request: Request, payments: Sequence[Payment], unmatched: Sequence[UnmatchedTransfer]
) -> tuple[ClassifiedTransfer, ...]:
    """Every transfer of a request, ordered by block time, whatever the order of the arguments.

    Without a link a request does not expire, and nothing is late.
    """
    counted = _classify_payments(link, request, sorted(payments, key=lambda p: (p.block_number, p.log_index)))
    classified = (*counted, *(_classify_unmatched(link, request, each) for each in unmatched))
    return tuple(sorted(classified, key=lambda each: _time_order(each.transfer)))


def without_payer(each: ClassifiedTransfer) -> ClassifiedTransfer:
    """The transfer with the action `find_payer`, because the chain does not say for certain who paid."""
    return replace(each, action=RecoveryAction.FIND_PAYER)


def _classify_payments(link: Link | None, request: Request, payments: Sequence[Payment]) -> list[ClassifiedTransfer]:
    listed = sum(p.value for p in payments if p.status is PaymentStatus.CONFIRMED)
    is_owed = not request.is_cancelled and listed + request.dust_amount < request.due
    if_partial = RecoveryAction.PAY_REMAINING if is_owed else RecoveryAction.NONE
    owed, classified = max(request.due - request.dust_amount, 0), []
    for each in payments:
        late, token = _is_late(link, each), token_with_id(request.currency)
        if each.status is PaymentStatus.REVERSED:
            kind, counts, excess, action = Classification.REVERSED, False, 0, if_partial
        else:
            kind, action = _classification(each.value, owed, late, if_partial, request.due < request.amount)
            counts, excess = True, max(each.value - owed, 0)
            owed = max(owed - each.value, 0)
        classified.append(ClassifiedTransfer(each, request, token, kind, late, counts, BaseUnits(excess), action))
    return classified


def _classification(
    value: int, owed: int, late: bool, if_partial: RecoveryAction, is_part_owed: bool
) -> tuple[Classification, RecoveryAction]:
    if owed == 0:
        return Classification.DUPLICATE, RecoveryAction.REFUND
    if value > owed:
        return Classification.OVER, RecoveryAction.REFUND_EXCESS
    if value < owed or is_part_owed:
        return Classification.PARTIAL, if_partial
    return Classification.LATE if late else Classification.EXACT, RecoveryAction.NONE


def _classify_unmatched(link: Link | None, request: Request, transfer: UnmatchedTransfer) -> ClassifiedTransfer:
    kind, token = Classification(transfer.reason), token_of(transfer)
    if kind is Classification.WRONG_TOKEN and transfer.payee != request.payee_in_logs:
        kind = Classification.WRONG_PAYEE
    action = RecoveryAction.CONTACT_PAYEE
    if transfer.status is PaymentStatus.REVERSED:
        kind, action = Classification.REVERSED, RecoveryAction.NONE
    elif kind is Classification.WRONG_PAYEE:
        action = RecoveryAction.CONTACT_RECEIVER
    elif kind is Classification.WRONG_TOKEN and token is not None:
        action = RecoveryAction.REFUND
    return ClassifiedTransfer(transfer, request, token, kind, _is_late(link, transfer), False, None, action)


def _is_late(link: Link | None, transfer: Payment | UnmatchedTransfer) -> bool:
    return is_late(link, transfer.paid_at or transfer.detected_at)


def _time_order(transfer: Payment | UnmatchedTransfer) -> tuple[object, ...]:
    at = transfer.paid_at or transfer.detected_at
    return at, transfer.network, transfer.block_number, transfer.log_index
