"""Cancels links and requests: state, events, counts and audit entry in one transaction."""

from dataclasses import replace
from typing import TypeVar

from chalicelib.base.errors import Conflict
from chalicelib.payments.events import number_events
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.cancelling import rules
from chalicelib.payments.links.multicalls.children import is_live
from chalicelib.payments.links.multicalls.reading import details
from chalicelib.payments.links.reading import Viewer, load_request, load_stored
from chalicelib.payments.links.records import LinkStatus, Payable, PayableLink, PaymentType
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.ownership import check_changes
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Add, Write, with_next_version
from chalicelib.webhooks import flows as webhooks

P = TypeVar("P", bound=Payable)


@retry_conflicts(5)
def cancel_request(services: Services, name: str, viewer: Viewer, actor: Actor) -> Request:
    """Cancels a request that stands by itself; `name` is its id or its payment reference. The same again changes
    nothing. Two reads, a query of its unrecorded transfers, and one transaction.

    A payment that is recorded meanwhile conflicts with it, and so does a payment intent that is accepted: then it is
    decided again. Raises NotFound, Forbidden; BadRequest and Conflict as `rules.check_request`; WriteConflict after
    five conflicts.
    """
    request, payable = load_request(services, name, viewer)
    check_changes(viewer, request)
    if request.is_cancelled:
        return request
    rules.check_request(request, payable)
    _check_recorded(services, request.request_id)
    entry = audit.make_entry(actor, "request.cancelled", request.request_id, services.clock(), services.entropy)
    (after,) = _write(services, payable, entry).requests
    return after


@retry_conflicts(5)
def cancel_link(services: Services, token: str, viewer: Viewer, actor: Actor) -> PayableLink:
    """Cancels a link with its unpaid requests; of a multicall its payouts are free to be paid otherwise. The same again
    changes nothing, but finishes what a crash has left.

    An announcement writes the link, and one of a multicall the multicall, which is written here, too; what records a
    payment writes its request. So whatever comes second conflicts and is decided again. One transaction for up to
    AT_ONCE requests; else the first one cancels the link and the sweep of expiries finishes what is left.

    Raises NotFound, Forbidden, Conflict as `rules.check_link`, and WriteConflict after five conflicts.
    """
    payable = load_stored(services, token, viewer)
    check_changes(viewer, payable)
    if payable.link.status is not LinkStatus.CANCELLED:
        rules.check_link(_with_children(services, payable))
        _check_recorded(services, token, *payable.link.merged_tokens)
        entry = audit.make_entry(actor, "secure_payment.cancelled", token, services.clock(), services.entropy)
        payable = _write(services, payable, entry, *_claiming(services, payable))
    return _finish_cancelling(services, payable)


def finish(services: Services, token: str) -> bool:
    """Cancels what is left of a link that is being cancelled; returns whether there was anything."""
    payable = link_store.payable_link(services.store, token)
    if payable is None or not payable.link.is_being_cancelled:
        return False
    _finish_cancelling(services, payable)
    return True


def _finish_cancelling(services: Services, payable: PayableLink) -> PayableLink:
    while payable.link.is_being_cancelled:
        payable = _write(services, payable)
    return payable


def _check_recorded(services: Services, *payable_ids: str) -> None:
    """Raises Conflict while transfers that were seen are not recorded: they may pay it."""
    if scan_store.has_work(services.store, payable_ids):
        raise Conflict(rules.UNRECORDED)


def _with_children(services: Services, payable: PayableLink) -> PayableLink:
    """A multicall with the requests of its children, and another link as it is."""
    if payable.link.payment_type is not PaymentType.MULTICALL:
        return payable
    found = details(services, payable)
    return replace(payable, requests=found.requests)


def _claiming(services: Services, payable: PayableLink) -> tuple[Write, ...]:
    """The multicall that has claimed a payout: written again, so that an announcement of it conflicts."""
    parent_token = payable.link.parent_token
    parent = link_store.find_link(services.store, parent_token) if parent_token is not None else None
    return (parent,) if parent is not None and is_live(parent, services.clock()) else ()


def _write(services: Services, payable: P, *also: Write) -> P:
    done = rules.cancel_link(payable, services.clock(), webhooks.event_context(services))
    requests, events = number_events(done.changed, done.events)
    marked = {each.key: request_counts.mark_request(each) for each in requests}
    before = [each for each in payable.requests if each.key in marked]
    added = [Add(*each) for each in request_counts.amounts(before, marked.values())]
    records: list[Write] = [*([done.link] if done.link is not None else []), *marked.values()]
    services.store.write(*records, *events, *added, *also)
    webhooks.queue_publishing(services, events)
    requests = tuple(with_next_version(marked[each.key]) if each.key in marked else each for each in payable.requests)
    return replace(payable, link=with_next_version(done.link) if done.link is not None else None, requests=requests)
