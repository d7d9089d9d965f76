"""Creates, reads and expires links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from chalicelib.access.callers import Caller, Owner
from chalicelib.accounts.branding import flows as branding
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.catalogue.interop import parse_destination_id
from chalicelib.links import store
from chalicelib.links.creation import Draft, Terms, check_creator, create_link
from chalicelib.links.multicalls.rules import is_abandoned
from chalicelib.links.records import IntentStatus, Link, LinkStatus, SecurePayment
from chalicelib.links.rules import check_payable, check_unlocked, fee_on, is_payable, status_at
from chalicelib.payees import flows as destinations
from chalicelib.requests import store as request_store
from chalicelib.requests.records import Reference, RequestPointer
from chalicelib.requests.references import reference_topic
from chalicelib.requests.rules import currency_of
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.storage.store import LARGEST_TRANSACTION, Delete, WriteConflict

_EXPIRY_BATCH = 100


@dataclass(frozen=True)
class Viewer:
    """Who reads a link, which decides what is visible. The payment page can read any link whose token it has."""

    account_id: str
    client_id: str | None
    reads_any_link: bool = False

    @classmethod
    def of(cls, caller: Caller) -> Self:
        return cls(caller.account_id, caller.client_id, caller.reads_any_link)


def create(services: Services, owner: Owner, draft: Draft) -> SecurePayment:
    """Creates a link that pays the merchant. One read if the owner's client id is bound to a payee destination."""
    record_id = owner.settings.payee_destination_id
    record = destinations.bound_to(services, owner.account_id, record_id) if record_id else None
    bound = record.route if record else None
    check_creator(owner, bound)
    payment = create_link(draft, owner, terms_of(services), services.clock(), services.entropy, bound)
    for item in draft.items:
        if item.destination_id and not parse_destination_id(item.destination_id, strict=False).checksum_ok:
            services.log.warning("wrong checksum in a destination id", extra={"destination_id": item.destination_id})
    save(services, payment)
    return payment


def terms_of(services: Services) -> Terms:
    """The deployment's settings for new links."""
    return Terms(
        lifetime=timedelta(seconds=services.settings.link_lifetime_seconds),
        strict_checksum=services.settings.interop_checksum == "strict",
    )


def save(services: Services, payment: SecurePayment) -> None:
    """Writes a new link with its requests and their index entries. Raises BadRequest if its network is not served.

    One transaction for up to 33 requests. For more, 100 records per transaction, with the Link record in the last one:
    reads do not find the link before that, and no caller has received a payment reference that a crash leaves behind.
    """
    name = payment.requests[0].network
    if name not in services.chains.networks:
        raise BadRequest(f"This deployment does not serve {name}: payments there would not be seen")
    check_fee_addresses(services, (payment,))
    references = (
        Reference(reference_topic(bytes.fromhex(r.payment_reference[2:])), r.link_token, r.position)
        for r in payment.requests
    )
    pointers = (RequestPointer(r.request_id, r.link_token, r.position) for r in payment.requests)
    records = [*payment.requests, *references, *pointers, payment.link]
    for start in range(0, len(records), LARGEST_TRANSACTION):
        services.store.write(*records[start : start + LARGEST_TRANSACTION])


def load_visible(services: Services, token: str, viewer: Viewer) -> SecurePayment:
    """The link with its requests. One read, two if a multicall has claimed the link.

    Raises NotFound if the link does not exist or is not visible to the viewer: it belongs to another account, or was
    created with another client id than the viewer's.
    """
    payment = load(services, token)
    if payment is None or not _is_visible(viewer, payment.link):
        raise NotFound("Secure payment not found")
    return _with_parents_intents(services, [payment])[0]


def require_payable(services: Services, payment: SecurePayment) -> None:
    """Raises LinkCompleted, LinkLocked or LinkClosed unless the link can be paid now.

    The error holds the link's branding, for the payment page. One read, only if an error is raised.
    """
    now = services.clock()
    if not is_payable(payment, now):
        check_payable(payment, now, branding.of_client(services, payment.link.client_id))


def require_unlocked(services: Services, payment: SecurePayment) -> None:
    """Raises LinkLocked, with the link's branding, while the link is waiting for a multisig transaction."""
    if payment.is_locked:
        check_unlocked(payment, branding.of_client(services, payment.link.client_id))


def load(services: Services, token: str) -> SecurePayment | None:
    """A link with its requests, without an access check; None while it is not complete. One read."""
    return store.link_with_requests(services.store, token)


def _is_visible(viewer: Viewer, link: Link) -> bool:
    if viewer.reads_any_link:
        return True
    is_of_client = viewer.client_id is None or link.client_id in (viewer.client_id, None)
    return link.account_id == viewer.account_id and is_of_client


def load_by_request(services: Services, request_id: str, account_id: str) -> SecurePayment:
    """The account's link that a request belongs to. Two reads, three if it was merged. Raises NotFound."""
    pointer = request_store.pointer(services.store, request_id)
    payment = store.current_link(services.store, pointer.link_token) if pointer else None
    if payment is None or payment.link.account_id != account_id:
        raise NotFound("No secure payment found for this request ID")
    return payment


def load_many(
    services: Services, tokens: Sequence[str], parent: SecurePayment | None = None
) -> dict[str, SecurePayment]:
    """The links that exist, by token, each with its first request and its intent; other requests are not read.

    Reads three keys per link, and one per multicall that claimed some of them, except `parent`; in batches of 100.
    """
    found = store.links_with_first_request(services.store, tokens)
    return dict(zip(found, _with_parents_intents(services, list(found.values()), parent), strict=True))


def _with_parents_intents(
    services: Services, payments: Sequence[SecurePayment], known: SecurePayment | None = None
) -> list[SecurePayment]:
    """The links, each with the pending intent of its multicall, if any: that transaction pays the children, too.

    Reads the intents, except the intent of the `known` parent.
    """
    parents = {payment.link.parent_token for payment in payments if not payment.is_locked}
    parents -= {None, known.link.token if known else None}
    intents = store.intents(services.store, [parent for parent in parents if parent])
    if known is not None and known.intent is not None:
        intents.append(known.intent)
    pending = {intent.link_token: intent for intent in intents if intent.status is IntentStatus.PENDING}
    return [replace(each, intent=pending.get(each.link.parent_token or "", each.intent)) for each in payments]


def expire_due(services: Services) -> int:
    """Marks pending links as expired after their expiry, and deletes abandoned multicalls, which frees their children.

    Returns how many. Reads compare the time themselves and do not depend on this sweep.
    """
    now = services.clock()

    def expire(token: str) -> bool:
        link = store.link(services.store, token)
        change: Link | Delete
        if link is not None and is_abandoned(link, now):
            change = Delete(link)
        elif link is not None and link.status is LinkStatus.PENDING and status_at(link, now) is LinkStatus.EXPIRED:
            change = replace(link, status=LinkStatus.EXPIRED)
        else:
            return False
        try:
            services.store.write(change)
        except WriteConflict:
            return False  # a payment was written first; the next sweep checks again
        return True

    return sweeping.each(services.log, store.due_tokens(services.store, now, _EXPIRY_BATCH), expire)


def check_fee_addresses(services: Services, payments: Iterable[SecurePayment]) -> None:
    """Raises BadRequest if a fee in a native coin goes to a contract, ChainUnavailable if the node does not answer.

    The native proxy sends the fee with 2,300 gas, so with a contract as fee address every payment would revert. One
    call to the node per network and fee address.
    """
    charged = {
        (request.network, payment.link.fee_address): request.currency
        for payment in payments
        for request in payment.requests
        if currency_of(request).is_native and fee_on(request.amount, payment.link) > 0
    }
    for (name, fee_address), currency in charged.items():
        if fee_address is not None and services.chains.of(name).has_code(fee_address):
            raise BadRequest(
                f"feeAddress is a contract, which cannot receive a fee in {currency}: give a wallet address"
            )
