"""What the payment page shows without credentials: the facts of a link in its HTML, and the texts of its QR codes."""

from collections.abc import Sequence
from datetime import datetime

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.books.receipts.flows import Paid, find_all_paid
from chalicelib.chains.calldata.payment_uris import uri_of
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.checkout.flows import pay
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.multicalls.rules import MulticallDetails
from chalicelib.payments.links.reading import Viewer, load_visible
from chalicelib.payments.links.records import PayableLink, PaymentType
from chalicelib.payments.links.rules import check_payable, is_being_signed, status_at
from chalicelib.payments.payable.rules import amounts_owed
from chalicelib.payments.requests.rules import name_of
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.rate_limits.flows import count_unknown_token
from chalicelib.platform.services import Services

MOST_RECEIPTS = 50
"""Of one link, in a file."""


@frozen
class PageDue:
    """What is still owed to a payee, with its name if the page shows it: amount, and fee on top, in on-chain units of
    `invoice`, paid in `token`."""

    payee: str
    name: str | None
    invoice: Token
    token: Token
    amount: BaseUnits
    fee: BaseUnits


@frozen
class PageFacts:
    """A link as its page shows it before any script runs.

    `state` is `pending`, `completed`, `in_progress` (a multisig transaction is announced), `sent` (a transaction was
    sent and is not confirmed, or the service makes a signed payment), `being_signed` (somebody is asked to sign its
    payment), `awaiting_chain`, or another status of the link, in which it cannot be paid. `dues` are the amounts still
    owed per payee; `steps` are the transactions with a QR code, in order: `approve`, `pay`.
    """

    token: str
    state: str
    network: str
    reference: str | None
    expires_at: datetime
    dues: tuple[PageDue, ...]
    steps: tuple[str, ...]


def page_facts(services: Services, visitor: Caller, token: str) -> PageFacts | None:
    """Returns the facts of a link, or None if no link has the token, which is counted against the visitor's limit.

    One DynamoDB read; for a multicall also its children, four keys each in batches of 100.
    """
    try:
        payable = _load(services, visitor, token)
    except NotFound:
        return None
    details = _details(services, payable)
    parts = _parts(payable, details)
    dues = tuple(
        PageDue(
            each.request.payee, name_of(each.request), each.invoice, each.token, each.amount, each.fee.on(each.amount)
        )
        for each in amounts_owed(parts)
    )
    networks = [request.network for part in parts for request in part.requests]
    return PageFacts(
        token=payable.link.token,
        state=_state(payable, details, services.clock()),
        network=networks[0] if networks else "",
        reference=payable.link.reference,
        expires_at=payable.link.expires_at,
        dues=dues,
        steps=_steps(payable, dues),
    )


def list_paid(services: Services, visitor: Caller, token: str) -> tuple[Paid, ...]:
    """The requests of a link of which something was paid, for its receipts.

    Reads as `page_facts`, and one query for each request. Raises NotFound if no link has the token (counted against
    the visitor's limit), and Conflict if nothing was paid or there are more than MOST_RECEIPTS requests: anybody may
    ask.
    """
    payable = _load(services, visitor, token)
    parts = [(each, part) for part in _parts(payable, _details(services, payable)) for each in part.requests]
    if len(parts) > MOST_RECEIPTS:
        raise Conflict(f"This link has more than {MOST_RECEIPTS} payments: ask the payee for the receipt of yours")
    return find_all_paid(services, parts)


def code_text(services: Services, visitor: Caller, token: str, step: int | str) -> str:
    """Returns the text of a QR code: the page's URL if `step` is `page`, the address for plain transfers if it is
    `address`, as exchanges scan it, else the URI of that transaction of `/pay`.

    Transactions are those for a payer whose wallet is not known. Raises NotFound if there is no such step or link (an
    unknown link is counted against the visitor's limit), and the errors of `pay` if the link cannot be paid.
    """
    payable = _load(services, visitor, token)
    if isinstance(step, str):
        check_payable(payable, services.clock())
        return _own_address(payable) if step == "address" else f"{services.settings.pay_url}/?token={token}"
    prepared = pay(services, token, Viewer.of(visitor), PayOptions(wallet=None))
    if any(position.converted for position in prepared.cart.positions):
        raise NotFound("This step cannot be written as a QR code: its rate is held for minutes only")
    checkout, network_name = prepared.checkout, prepared.cart.positions[0].due.token.network
    if step >= len(checkout.transactions):
        raise NotFound("There is no such step")
    transaction, explanation = checkout.transactions[step], prepared.explanations[step]
    is_payment = step >= len(checkout.transactions) - len(checkout.payments)
    limit = checkout.fee_limit if is_payment else APPROVAL_FEE_LIMIT
    uri = uri_of(network_name, transaction, explanation, limit)
    if uri is None:
        raise NotFound("This step cannot be written as a QR code: a batch needs a wallet in the browser")
    return uri


def _own_address(payable: PayableLink) -> str:
    own = payable.requests[0].plain_transfer if len(payable.requests) == 1 else None
    if own is None:
        raise NotFound("This link has no address for plain transfers")
    return own.address


def _load(services: Services, visitor: Caller, token: str) -> PayableLink:
    try:
        return load_visible(services, token, Viewer.of(visitor))
    except NotFound:
        count_unknown_token(services.real, visitor)
        raise


def _details(services: Services, payable: PayableLink) -> MulticallDetails | None:
    is_multicall = payable.link.payment_type is PaymentType.MULTICALL
    return multicall_reading.details(services, payable) if is_multicall else None


def _parts(payable: PayableLink, details: MulticallDetails | None) -> Sequence[PayableLink]:
    if details is None:
        return (payable,)
    return [child.payable for child in details.children if child.payable is not None]


def _state(payable: PayableLink, details: MulticallDetails | None, now: datetime) -> str:
    if payable.is_paid or (payable.commerce is not None and payable.commerce.is_collected):
        return "completed"
    if payable.is_locked:
        of_safe = not payable.is_executed and payable.announcements and payable.announcements.first.safe_tx_hash
        return "in_progress" if of_safe else "sent"
    if is_being_signed(payable, now):
        return "being_signed"
    return (details.time_status if details else status_at(payable.link, now)).value


def _steps(payable: PayableLink, dues: Sequence[PageDue]) -> tuple[str, ...]:
    """Returns the steps of a single payment: approval and payment, for the native coin the payment only.

    The calldata of a batch or of a commerce payment does not fit a QR code, and that of a conversion is right for
    minutes only.
    """
    is_single = payable.link.payment_type is PaymentType.SINGLE and payable.commerce is None
    if not is_single or not dues or dues[0].invoice != dues[0].token:
        return ()
    return ("pay",) if dues[0].token.is_native else ("approve", "pay")
