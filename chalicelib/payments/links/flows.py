"""Creates links, changes their expiry, and says whether they can be paid."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.accounts.branding import flows as branding
from chalicelib.base.records import Record
from chalicelib.chains.catalogue.interop import parse_destination_id
from chalicelib.payments.links import permissions
from chalicelib.payments.links.creation import Draft, Terms, create_link
from chalicelib.payments.links.reading import Viewer, load_stored
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.links.rules import check_payable, is_being_signed, is_payable, with_expiry
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.field_problems import refuse_field
from chalicelib.payments.requests.permissions import check_creator, is_limited
from chalicelib.payments.requests.plain_transfers.flows import with_address
from chalicelib.payments.requests.plain_transfers.rules import FIELD
from chalicelib.payments.requests.records import RequestPointer
from chalicelib.payments.requests.request_counts import LARGEST
from chalicelib.payments.requests.serving import check_served
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import check_changes
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import LARGEST_TRANSACTION


def create(services: Services, owner: Owner, draft: Draft) -> PayableLink:
    """Creates a link that pays the merchant. One read if the owner's client id is bound to a payee destination."""
    payable = make(services, owner, draft)
    save(services, payable)
    return payable


def make(services: Services, owner: Owner, draft: Draft) -> PayableLink:
    """The link that `create` stores, with ids and references that are used for nothing."""
    bound = requests.bound_destination(services, owner)
    check_creator(owner, bound)
    from chalicelib.payments.requests.names import flows as names  # workers create no links

    paths = [("requests", str(position)) for position in range(len(draft.items))]
    draft = replace(draft, items=names.of_items(services, owner, draft.items, paths))
    payable = create_link(draft, owner, terms_of(services), services.clock(), services.entropy, bound)
    payable = _with_address(services, owner, payable, draft.plain_transfer)
    permissions.check_link_limits(owner, (payable,), bound)
    for item in draft.items:
        if item.destination_id and not parse_destination_id(item.destination_id, strict=False).checksum_ok:
            services.log.warning("wrong checksum in a destination id", extra={"destination_id": item.destination_id})
    return payable


def _with_address(services: Services, owner: Owner, payable: PayableLink, wanted: bool | None) -> PayableLink:
    """The link with an address for plain transfers, if that is wanted. Raises as `with_address`."""
    if len(payable.requests) == 1:
        request = with_address(services, owner, payable.requests[0], payable.link.fee, wanted)
        return replace(payable, requests=(request,))
    if wanted:
        raise refuse_field((FIELD,), "is for one payment: make a link for each")
    return payable


def check_link_limits(services: Services, owner: Owner, payments: Iterable[PayableLink]) -> None:
    """Raises Forbidden if the owner's client id may not create or combine these; see permissions.check_link_limits.

    One read if the client id is limited and bound to a payee destination.
    """
    if is_limited(owner):
        permissions.check_link_limits(owner, payments, requests.bound_destination(services, owner))


def terms_of(services: Services) -> Terms:
    """The deployment's settings for new links."""
    lifetime = timedelta(seconds=services.settings.link_lifetime_seconds)
    return Terms(lifetime, requests.terms_of(services))


def save(services: Services, payable: PayableLink, *others: Record) -> None:
    """Writes a new link with its requests, their index entries and `others`. Raises BadRequest if its network is not
    served.

    One transaction for up to 32 requests. For more, 97 records per transaction, with what the requests among them add
    to the daily counts, and with the Link record in the last one: reads do not find the link before that, and no caller
    has received a payment reference that a crash leaves behind.
    """
    check_served(services, (each.network for each in payable.requests))
    check_fee_addresses(services, (payable,))
    references = (entry for each in payable.requests for entry in requests.index_of(each))
    pointers = (RequestPointer(r.request_id, r.payable_id, r.position) for r in payable.requests)
    records = [*payable.requests, *references, *pointers, *others, payable.link]
    size = LARGEST_TRANSACTION - LARGEST
    for start in range(0, len(records), size):
        services.store.write(*requests.start_scanning(services, records[start : start + size]))


@retry_conflicts(5)
def change_expiry(services: Services, token: str, viewer: Viewer, actor: Actor, expires_at: datetime) -> PayableLink:
    """Sets when a pending link expires. One read, two if a multicall has claimed it, and one transaction with an audit
    entry; no write if nothing changes.

    Raises NotFound, Forbidden, BadRequest and Conflict as `rules.with_expiry`, and WriteConflict after five conflicts.
    """
    payable = load_stored(services, token, viewer)
    check_changes(viewer, payable)
    changed = with_expiry(payable, expires_at, services.clock())
    if changed == payable.link:
        return payable
    entry = audit.make_entry(actor, "secure_payment.updated", token, services.clock(), services.entropy)
    return replace(payable, link=services.store.write(changed, entry))


def require_payable(services: Services, payable: PayableLink) -> None:
    """Raises LinkCompleted, LinkLocked, LinkBeingSigned or LinkClosed unless the link can be paid now.

    The error holds the link's branding, for the payment page. One read, only if an error is raised.
    """
    now = services.clock()
    if not is_payable(payable, now):
        check_payable(payable, now, branding.of_client(services, payable.link.client_id))


def require_open(services: Services, payable: PayableLink) -> None:
    """Raises LinkCompleted, LinkLocked while the link is waiting for an announced transaction or a payment that the
    service makes, or LinkBeingSigned while somebody else is asked to sign its payment; with the branding."""
    now = services.clock()
    if payable.is_paid or payable.is_locked or is_being_signed(payable, now):
        check_payable(payable, now, branding.of_client(services, payable.link.client_id))


def check_fee_addresses(services: Services, payments: Iterable[PayableLink]) -> None:
    """Raises BadRequest if a fee of one of the links is paid to an address that is refused."""
    requests.check_fee_addresses(
        services,
        ((request, payable.link.fee) for payable in payments for request in payable.requests),
    )
