"""What the payment page is told without a caller: a link's facts for its first bytes, and what its QR codes hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chalicelib.access.callers import Caller
from chalicelib.access.rate_limits.flows import count_unknown_token
from chalicelib.base.errors import NotFound
from chalicelib.calldata.checkout import Due
from chalicelib.calldata.payment_uris import uri_of
from chalicelib.calldata.tron import APPROVAL_FEE_LIMIT
from chalicelib.checkout.flows import PayOptions, quote
from chalicelib.checkout.rules import due_of
from chalicelib.links.multicalls import reading as multicalls
from chalicelib.links.reading import Viewer, load_visible
from chalicelib.links.records import PaymentType, SecurePayment
from chalicelib.links.rules import check_payable, status_at
from chalicelib.requests.rules import currency_of, remaining
from chalicelib.services import Services


@dataclass(frozen=True)
class PageFacts:
    """A link as its page shows it before any script runs.

    `state` is `pending`, `completed`, `in_progress` (a multisig transaction is on its way), or another status of the
    link, which cannot be paid then. `dues` is what is still owed, and to whom; `steps` are the transactions that have a
    QR code of their own, in their order: `approve`, `pay`.
    """

    token: str
    state: str
    network: str
    reference: str | None
    expires_at: datetime
    dues: tuple[Due, ...]
    steps: tuple[str, ...]


def page_facts(services: Services, visitor: Caller, token: str) -> PageFacts | None:
    """The facts of a link; None when there is none of that token, which is counted. One read.

    Of a multicall also its children, three keys each in batches of 100.
    """
    try:
        payment = _load(services, visitor, token)
    except NotFound:
        return None
    parts = _parts(services, payment)
    dues = tuple(due_of(r, part.link, currency_of(r)) for part in parts for r in part.requests if remaining(r))
    networks = [request.network for part in parts for request in part.requests]
    return PageFacts(
        token=payment.link.token,
        state=_state(services, payment),
        network=networks[0] if networks else "",
        reference=payment.link.reference,
        expires_at=payment.link.expires_at,
        dues=dues,
        steps=_steps(payment, dues),
    )


def code_text(services: Services, visitor: Caller, token: str, step: int | None) -> str:
    """What a QR code says: without a step the page's own address, else that transaction of `/pay` without a wallet.

    Raises NotFound, which is counted for an unknown link, and what `quote` raises of a link that cannot be paid.
    """
    payment = _load(services, visitor, token)
    if step is None:
        check_payable(payment, services.clock())
        return f"{services.settings.pay_url}/?token={payment.link.token}"
    offered = quote(services, token, Viewer.of(visitor), PayOptions(wallet=None))
    checkout, name = offered.checkout, offered.parts[0].requests[0].network
    if step >= len(checkout.transactions):
        raise NotFound("There is no such step")
    transaction, explanation = checkout.transactions[step], offered.explanations[step]
    is_payment = step >= len(checkout.transactions) - len(checkout.payments)
    limit = checkout.fee_limit if is_payment else APPROVAL_FEE_LIMIT
    uri = uri_of(name, transaction, explanation, limit)
    if uri is None:
        raise NotFound("This step cannot be written as a QR code: a batch needs a wallet in the browser")
    return uri


def _load(services: Services, visitor: Caller, token: str) -> SecurePayment:
    try:
        return load_visible(services, token, Viewer.of(visitor))
    except NotFound:
        count_unknown_token(services, visitor)
        raise


def _parts(services: Services, payment: SecurePayment) -> Sequence[SecurePayment]:
    if payment.link.payment_type is not PaymentType.MULTICALL:
        return (payment,)
    return [child.payment for child in multicalls.details(services, payment).children if child.payment is not None]


def _state(services: Services, payment: SecurePayment) -> str:
    if payment.is_paid:
        return "completed"
    return "in_progress" if payment.is_locked else status_at(payment.link, services.clock()).value


def _steps(payment: SecurePayment, dues: Sequence[Due]) -> tuple[str, ...]:
    """An approval and a payment; of the native coin the payment alone. No code holds what a batch is called with."""
    if payment.link.payment_type is not PaymentType.SINGLE or not dues:
        return ()
    return ("pay",) if dues[0].token.is_native else ("approve", "pay")
