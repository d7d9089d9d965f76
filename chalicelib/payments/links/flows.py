"""Creates, reads and expires links."""

from collections.abc import Iterable
from datetime import timedelta

from chalicelib.accounts.branding import flows as branding
from chalicelib.base.records import Record
from chalicelib.chains.catalogue.interop import parse_destination_id
from chalicelib.payments.links import permissions
from chalicelib.payments.links.creation import Draft, Terms, create_link
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.links.rules import check_payable, is_payable
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.counts import LARGEST
from chalicelib.payments.requests.permissions import check_creator, is_limited
from chalicelib.payments.requests.records import RequestPointer
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import LARGEST_TRANSACTION


def create(services: Services, owner: Owner, draft: Draft) -> PayableLink:
    """Creates a link that pays the merchant. One read if the owner's client id is bound to a payee destination."""
    bound = requests.bound_destination(services, owner)
    check_creator(owner, bound)
    payment = create_link(draft, owner, terms_of(services), services.clock(), services.entropy, bound)
    permissions.check_limits(owner, (payment,), bound)
    for item in draft.items:
        if item.destination_id and not parse_destination_id(item.destination_id, strict=False).checksum_ok:
            services.log.warning("wrong checksum in a destination id", extra={"destination_id": item.destination_id})
    save(services, payment)
    return payment


def check_limits(services: Services, owner: Owner, payments: Iterable[PayableLink]) -> None:
    """Raises Forbidden if the owner's client id may not create or combine these; see permissions.check_limits.

    One read if the client id is limited and bound to a payee destination.
    """
    if is_limited(owner):
        permissions.check_limits(owner, payments, requests.bound_destination(services, owner))


def terms_of(services: Services) -> Terms:
    """The deployment's settings for new links."""
    lifetime = timedelta(seconds=services.settings.link_lifetime_seconds)
    return Terms(lifetime, requests.terms_of(services))


def save(services: Services, payment: PayableLink, *others: Record) -> None:
    """Writes a new link with its requests, their index entries and `others`. Raises BadRequest if its network is not
    served.

    One transaction for up to 32 requests. For more, 97 records per transaction, with what the requests among them add
    to the daily counts, and with the Link record in the last one: reads do not find the link before that, and no caller
    has received a payment reference that a crash leaves behind.
    """
    requests.check_served(services, payment.requests)
    check_fee_addresses(services, (payment,))
    references = map(requests.reference_of, payment.requests)
    pointers = (RequestPointer(r.request_id, r.payable_id, r.position) for r in payment.requests)
    records = [*payment.requests, *references, *pointers, *others, payment.link]
    size = LARGEST_TRANSACTION - LARGEST
    for start in range(0, len(records), size):
        services.store.write(*requests.created(services, records[start : start + size]))


def require_payable(services: Services, payment: PayableLink) -> None:
    """Raises LinkCompleted, LinkLocked or LinkClosed unless the link can be paid now.

    The error holds the link's branding, for the payment page. One read, only if an error is raised.
    """
    now = services.clock()
    if not is_payable(payment, now):
        check_payable(payment, now, branding.of_client(services, payment.link.client_id))


def require_open(services: Services, payment: PayableLink) -> None:
    """Raises LinkCompleted, or LinkLocked while the link is waiting for an announced transaction, with the branding."""
    if payment.is_paid or payment.is_locked:
        client_branding = branding.of_client(services, payment.link.client_id)
        check_payable(payment, services.clock(), client_branding)


def check_fee_addresses(services: Services, payments: Iterable[PayableLink]) -> None:
    """As requests.flows.check_fee_addresses, for the fees of links."""
    requests.check_fee_addresses(
        services,
        ((request, payment.link.fee) for payment in payments for request in payment.requests),
    )
