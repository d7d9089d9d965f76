"""Accepts payments: state, event, counts and audit entry in one transaction."""

from chalicelib.base.errors import Conflict
from chalicelib.payments.events import number_events
from chalicelib.payments.links.cancelling.rules import UNRECORDED
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.transfers.accepting import rules
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.ownership import check_changes
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Add, with_next_version
from chalicelib.webhooks import flows as webhooks


@retry_conflicts(5)
def accept(services: Services, name: str, viewer: Viewer, actor: Actor) -> Request:
    """Accepts what was paid of a request as full payment; `name` is its id or its payment reference. The same again
    changes nothing. The reads of `load_request`, a query of its unrecorded transfers, and one transaction.

    What records a payment writes the request, an announcement writes the link, and so does this: whatever comes second
    conflicts and is decided again. Raises NotFound, Forbidden; BadRequest and Conflict as `rules.check`; WriteConflict
    after five conflicts.
    """
    request, payable = load_request(services, name, viewer)
    check_changes(viewer, payable if isinstance(payable, PayableLink) else request)
    if rules.is_accepted(request):
        return request
    rules.check(request, payable)
    if scan_store.has_work(services.store, [request.payable_id]):
        raise Conflict(UNRECORDED)
    now = services.clock()
    done = rules.accept_as_paid(payable, request, now, webhooks.event_context(services))
    requests, events = number_events([done.request], [done.event])
    after = request_counts.mark_request(*requests)
    added = [Add(*each) for each in request_counts.amounts([request], [after])]
    entry = audit.make_entry(actor, "request.accepted", request.request_id, now, services.entropy)
    services.store.write(after, *([done.link] if done.link is not None else []), *events, *added, entry)
    webhooks.queue_publishing(services, events)
    return with_next_version(after)
