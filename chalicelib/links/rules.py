"""Secure payment links, their requests and payments: the records, and when a link may be read or paid."""

from datetime import datetime

from chalicelib.base import money
from chalicelib.base.errors import Conflict, Forbidden, Locked
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.networks import network
from chalicelib.links.records import Link, LinkStatus, SafeIntent, SecurePayment
from chalicelib.requests.records import Request, RequestStatus


def status_at(link: Link, now: datetime) -> LinkStatus:
    """A pending link is expired from its expiry on, whether or not the sweep has written that down yet."""
    if link.status is LinkStatus.PENDING and now >= link.expires_at:
        return LinkStatus.EXPIRED
    return link.status


def check_payable(payment: SecurePayment, now: datetime) -> None:
    """Raises Conflict when the link is completed, Locked while a multisig transaction is on its way for it, Forbidden
    when it is expired or invalidated (supplement, error bodies 7.2)."""
    status = status_at(payment.link, now)
    if payment.is_paid:
        raise Conflict(
            "Secure payment has already been completed",
            status=LinkStatus.COMPLETED.value,
            **_for_page(payment.link),
            requestStatuses=[
                {"requestId": r.request_id, "hasBeenPaid": True, "txHash": r.tx_hash} for r in payment.requests
            ],
        )
    check_unlocked(payment)
    if status is not LinkStatus.PENDING:
        told = _for_page(payment.link)
        raise Forbidden("Secure payment token expired or invalid status", status=status.value, **told)


def check_unlocked(payment: SecurePayment) -> None:
    """Raises Locked while a multisig transaction is on its way for the link; one that is paid waits for none."""
    intent = payment.intent
    if intent is not None and payment.is_locked:
        raise Locked(
            "Secure payment is in progress",
            status=LinkStatus.PENDING.value,
            **_for_page(payment.link),
            requestStatuses=[_in_progress(request, intent) for request in payment.requests],
        )


def _for_page(link: Link) -> dict[str, object]:
    """What the payment page shows of a link that cannot be paid: the way back, and the branding, which a flow adds."""
    return {"branding": None, "redirectUrl": link.redirect_url, "redirectLabel": link.redirect_label}


def _in_progress(request: Request, intent: SafeIntent) -> dict[str, object]:
    known = network(intent.network)
    assert known is not None, "an intent is recorded on a catalogued network"
    facts = {
        "requestId": request.request_id,
        "hasBeenPaid": request.status is RequestStatus.PAID,
        "safeTxHash": intent.safe_tx_hash,
        "chainId": known.chain_id,
    }
    deadline = {"safePaymentDeadline": int(intent.deadline.timestamp())} if intent.deadline else {}
    return {**facts, **deadline}


def fee_on(amount: BaseUnits, link: Link) -> BaseUnits:
    """The platform fee that is paid on top of `amount`, in base units, rounded down."""
    if link.fee_percentage is None or link.fee_address is None:
        return BaseUnits(0)
    return money.fee_of(amount, money.parse_percentage(link.fee_percentage))


def amount_with_fee(amount: BaseUnits, link: Link) -> BaseUnits:
    """What a payer is debited for `amount`."""
    return BaseUnits(amount + fee_on(amount, link))
