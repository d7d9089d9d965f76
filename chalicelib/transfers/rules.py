"""Transfers: every one with a request's reference, what it was of what is owed, and what can be done where it is wrong.

Payments are judged in the order of the chain, each against what the ones before it have left to pay:

    class           counts  when                                                  recovery action
    exact           yes     pays just what is owed                                none
    late            yes     the same, but after the link has expired              none
    partial         yes     pays less                                             pay_remaining, none once all is paid
    over            yes     pays more                                             refund_excess
    duplicate       yes     nothing is owed any more                              refund
    wrong_token     no      another token, or the coin, to the payee              refund; contact_payee for a token that
                                                                                  is not in the catalogue
    wrong_payee     no      to somebody else                                      contact_receiver
    wrong_network   no      on another network                                    contact_payee
    reversed        no      a fork took it off the chain                          as partial; none if it never counted

What counts is part of the request's paid amount: the sum of what counts is what is paid, and the sum of all excess what
was paid beyond the amount. An action that refunds becomes `find_payer` where the chain does not tell who paid, or tells
of a contract that may have passed on the money of somebody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.detection.unmatched import token_of
from chalicelib.links.records import Link, SecurePayment
from chalicelib.requests.records import Payment, PaymentStatus, Request, UnmatchedTransfer


class TransfersOfChildren(BadRequest):
    """A multicall has no transfers of its own, only its children have."""

    shown_by = "chalicelib.transfers.schemas"

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
    """Pay what is left: by this link while it can be paid, by another one after that."""
    REFUND_EXCESS = "refund_excess"
    """The payee returns what exceeds."""
    REFUND = "refund"
    """The payee returns all of it."""
    FIND_PAYER = "find_payer"
    """As the two above, once the payee has found out to whom: the chain does not tell for sure."""
    CONTACT_PAYEE = "contact_payee"
    """The payee may hold it, if the address there is theirs and the token worth anything."""
    CONTACT_RECEIVER = "contact_receiver"
    """Somebody else received it."""


REFUNDS = (RecoveryAction.REFUND, RecoveryAction.REFUND_EXCESS)


@dataclass(frozen=True)
class ClassifiedTransfer:
    """One transfer and what it was. `excess` is in base units, None where nothing of it was owed in the first place.

    `token` is what was sent, None when the catalogue does not have it. `late` also tells of transfers of other classes
    that they came after the link had expired.
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
        """What the payee has of it and was not owed, in base units of `token`."""
        if self.action not in REFUNDS:
            return BaseUnits(0)
        return self.transfer.amount if self.excess is None else self.excess


def classify(
    payment: SecurePayment, request: Request, payments: Sequence[Payment], unmatched: Sequence[UnmatchedTransfer]
) -> tuple[ClassifiedTransfer, ...]:
    """Every transfer of a request of a link, in the order of their blocks' times; the order given does not matter."""
    judged = _judged(payment.link, request, sorted(payments, key=lambda p: (p.block_number, p.log_index)))
    found = (*judged, *(_unmatched(payment.link, request, each) for each in unmatched))
    return tuple(sorted(found, key=lambda each: _moment(each.transfer)))


def without_payer(each: ClassifiedTransfer) -> ClassifiedTransfer:
    """A transfer that is to be refunded to somebody whom the chain does not name, or not for sure."""
    return replace(each, action=RecoveryAction.FIND_PAYER)


def _judged(link: Link, request: Request, payments: Sequence[Payment]) -> list[ClassifiedTransfer]:
    paid = sum(p.amount for p in payments if p.status is PaymentStatus.CONFIRMED)
    missing = RecoveryAction.PAY_REMAINING if paid < request.amount else RecoveryAction.NONE
    owed, judged = int(request.amount), []
    for each in payments:
        late, token = _is_late(link, each), token_with_id(request.currency)
        if each.status is PaymentStatus.REVERSED:
            kind, counts, excess, action = Classification.REVERSED, False, 0, missing
        else:
            kind, action = _of_owed(each.amount, owed, late, missing)
            counts, excess = True, max(each.amount - owed, 0)
            owed = max(owed - each.amount, 0)
        judged.append(ClassifiedTransfer(each, request, token, kind, late, counts, BaseUnits(excess), action))
    return judged


def _of_owed(
    amount: int, owed: int, late: bool, missing: RecoveryAction
) -> tuple[Classification, RecoveryAction]:
    if owed == 0:
        return Classification.DUPLICATE, RecoveryAction.REFUND
    if amount > owed:
        return Classification.OVER, RecoveryAction.REFUND_EXCESS
    if amount < owed:
        return Classification.PARTIAL, missing
    return Classification.LATE if late else Classification.EXACT, RecoveryAction.NONE


def _unmatched(link: Link, request: Request, transfer: UnmatchedTransfer) -> ClassifiedTransfer:
    kind, token = Classification(transfer.reason), token_of(transfer)
    if kind is Classification.WRONG_TOKEN and transfer.payee != hex_address(request.payee):
        kind = Classification.WRONG_PAYEE
    action = RecoveryAction.CONTACT_PAYEE
    if transfer.status is PaymentStatus.REVERSED:
        kind, action = Classification.REVERSED, RecoveryAction.NONE
    elif kind is Classification.WRONG_PAYEE:
        action = RecoveryAction.CONTACT_RECEIVER
    elif kind is Classification.WRONG_TOKEN and token is not None:
        action = RecoveryAction.REFUND
    return ClassifiedTransfer(transfer, request, token, kind, _is_late(link, transfer), False, None, action)


def _is_late(link: Link, transfer: Payment | UnmatchedTransfer) -> bool:
    return (transfer.paid_at or transfer.detected_at) >= link.expires_at


def _moment(transfer: Payment | UnmatchedTransfer) -> tuple[object, ...]:
    at = transfer.paid_at or transfer.detected_at
    return at, transfer.network, transfer.block_number, transfer.log_index
