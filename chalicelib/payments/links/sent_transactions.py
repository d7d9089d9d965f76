"""Transactions that were sent to pay a link, and what became of them: counted, or more than was due."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import list_names
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import NOTICED, Direction, Payment, PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, invoice_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, page_after

MAX_ASKED = 5
"""The most transactions of a link whose outcomes somebody can ask for at once."""


_MAX_OTHERS = 4
"""The most transactions of others that paid too much that are looked up."""
_MAX_LISTED = 250
"""The most payments by one transaction that are read: a link has fewer requests."""


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


def find_outcomes(services: Services, payable: PayableLink, asked: Sequence[str]) -> tuple[SentOutcome, ...]:
    """What became of the transactions that somebody asks for, and those of others that paid too much.

    One query for each, at most MAX_ASKED and four. A multicall has to be given the requests of its children.
    """
    if not payable.requests:
        return ()
    network = payable.requests[0].network
    own = dict.fromkeys(shown_hash(network, each.lower()) for each in asked[:MAX_ASKED])
    others = dict.fromkeys(each.surplus_hash for each in payable.requests if each.surplus_hash not in (None, *own))
    found = [_outcome(services, payable, network, each) for each in own]
    outcomes = [_outcome(services, payable, network, each) for each in [*others][:_MAX_OTHERS] if each is not None]
    return (*found, *(each for each in outcomes if each.outcome is Outcome.SURPLUS))


def _outcome(services: Services, payable: PayableLink, network: str, tx_hash: str) -> SentOutcome:
    requests = {each.request_id: each for each in payable.requests}
    made = [
        each for each in _payments_of(services, payable, network, tx_hash) if each.status is PaymentStatus.CONFIRMED
    ]
    made = [each for each in made if each.request_id in requests and each.network == network]
    surplus = next((each for each in made if is_surplus(requests[each.request_id], each)), None)
    if surplus is not None:
        return SentOutcome(tx_hash, network, Outcome.SURPLUS, requests[surplus.request_id], surplus.excess)
    return SentOutcome(tx_hash, network, Outcome.COUNTED if made else Outcome.UNKNOWN)


def _payments_of(services: Services, payable: PayableLink, network: str, tx_hash: str) -> Iterable[Payment]:
    """The payments by a transaction; for several requests from a list, which may lag by about a second."""
    if len(payable.requests) == 1:
        return payment_store.payments_by(services.store, payable.requests[0].request_id, network, tx_hash)
    found = Listing(payable.link.account_id, list_names.PAYMENT, {"by_tx": list_names.transaction(tx_hash)})
    listed = page_after(services.store, Payment, found, None, _MAX_LISTED).records
    return [each for each in listed if each.direction is Direction.IN]  # refunds are in the same list
