"""Transactions that were sent to pay a link, and what became of them: counted, or more than was due."""

from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.payments.records import NOTICED, Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, invoice_of

MAX_ASKED = 5
"""The most transactions of a link whose outcomes somebody can ask for at once."""


class Outcome(StrEnum):
    COUNTED = "counted"
    SURPLUS = "surplus"
    """It paid more than was due when it was recorded, or when nothing was due any more."""
    WAITING = "waiting"
    """It can still pay the link."""
    UNKNOWN = "unknown"
    """No payment of the link by it is recorded: it is not confirmed, has failed, or is not one."""


@frozen
class SentOutcome:
    """A transaction with its outcome; `request` and `excess`, in its units, are of the first payment of too much."""

    tx_hash: str
    network: str
    outcome: Outcome
    request: Request | None = None
    excess: BaseUnits = BaseUnits(0)


def warnings(payable: PayableLink) -> tuple[SentOutcome, ...]:
    """The transactions that can still pay a link, and that do not lock it any more."""
    found = payable.announcements.all if payable.announcements is not None else ()
    return tuple(
        SentOutcome(shown_hash(each.network, each.transaction_hash), each.network, Outcome.WAITING)
        for each in found
        if each.is_open_warning and each.transaction_hash is not None
    )


def is_surplus(request: Request, payment: Payment) -> bool:
    """Whether a payment is to be told to who has made it: it paid noticeably more than was due, or nothing was due."""
    return payment.excess > 0 and (not payment.is_announced or payment.excess * NOTICED >= request.amount)


def shown_hash(network: str, tx_hash: str | None) -> str:
    """A transaction's hash as its network writes it."""
    text = (tx_hash or "").removeprefix("0x")
    return text if network == "tron" else f"0x{text}"


def answer_sent(sent: SentOutcome) -> dict[str, Any]:
    """A transaction that was sent to pay a link, with what became of it, as JSON."""
    facts = {"txHash": sent.tx_hash, "network": sent.network, "status": sent.outcome.value}
    if sent.request is None:
        return facts
    excess = amount_text(sent.excess, sent.request)
    return {**facts, "excessAmount": excess, "currency": invoice_of(sent.request).id}
