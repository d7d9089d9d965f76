"""Creates requests that stand by themselves; changes their recurrence and the notes of all."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from chalicelib.accounts.payees import flows as payees
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.money import Fee
from chalicelib.base.records import Record
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.requests import permissions, request_counts, store
from chalicelib.payments.requests.creation import Draft, create_request
from chalicelib.payments.requests.field_problems import Path, for_each
from chalicelib.payments.requests.plain_transfers.flows import with_address
from chalicelib.payments.requests.plain_transfers.rules import watched_address_of
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import FirstRequest, Reference, Request
from chalicelib.payments.requests.recurring import with_recurrence
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.rules import currency_of
from chalicelib.payments.requests.serving import check_served
from chalicelib.payments.requests.targets import Terms
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import check_changes, sees
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, Add, Write, WriteConflict


def create(services: Services, owner: Owner, draft: Draft) -> Request:
    """Creates a request. One transaction; one read if the owner's client id is bound to a payee destination.

    Raises BadRequest with what to change, Forbidden if the client id may not create it.
    """
    bound = bound_destination(services, owner)
    permissions.check_creator(owner, bound)
    if draft.is_crypto_to_fiat:
        from chalicelib.offramp.payers.reading import check_offered

        check_offered(services)
    (draft,) = _with_resolved_payees(services, owner, (draft,), ((),))
    request = create_request(draft, (), owner, terms_of(services), services.clock(), services.entropy, bound)
    request = with_address(services, owner, request, owner.settings.fee, draft.plain_transfer)
    check_served(services, [request.network])
    permissions.check_limits(owner, (request,), None, bound)
    save_many(services, (request,))
    return request


def payout(services: Services, owner: Owner, draft: Draft) -> Request:
    """Creates a payout of one draft that is the whole body. One transaction."""
    permissions.check_platform(owner)
    (draft,) = _with_resolved_payees(services, owner, (draft,), ((),))
    request = create_request(draft, (), owner, terms_of(services), services.clock(), services.entropy, None)
    check_served(services, [request.network])
    return replace(request, is_payout=True)


def payouts(services: Services, owner: Owner, drafts: Sequence[Draft]) -> tuple[Request, ...]:
    """The new requests of payouts, which are not written: `save_many` does that.

    The payee destination of a client id does not apply, as it is for payments to the client. Raises ValidationFailed
    with the problems of all drafts, BadRequest, or Forbidden. Whether a limited client id may create them is to be
    checked with their fee (`check_limits`).
    """
    permissions.check_platform(owner)
    terms, now = terms_of(services), services.clock()
    drafts = _with_resolved_payees(services, owner, drafts, [("requests", str(at)) for at in range(len(drafts))])
    requests = for_each(
        drafts, lambda draft, path: create_request(draft, path, owner, terms, now, services.entropy, None)
    )
    check_served(services, (each.network for each in requests))
    return tuple(replace(each, is_payout=True) for each in requests)


def _with_resolved_payees(
    services: Services, owner: Owner, drafts: Sequence[Draft], paths: Sequence[Path]
) -> tuple[Draft, ...]:
    """The drafts with the addresses of payees that are names. Raises as names.resolve."""
    from chalicelib.payments.requests.names import flows as names  # workers create without names

    items = names.of_items(services, owner, [each.item for each in drafts], paths)
    return tuple(replace(draft, item=item) for draft, item in zip(drafts, items, strict=True))


def save_many(services: Services, requests: Sequence[Request], quotes: Sequence[Quote] = ()) -> None:
    """Writes new requests that stand by themselves, each with the entry that finds it by its reference, and any quotes.

    One transaction for up to 48 requests. For more there are several, and no request is written in part: if the process
    dies between two, those that are written are complete and counted, and nobody was notified of them. With an
    idempotency key, the repeated call writes the others (platform/access/idempotency/flows.py). One quote for each pair
    of currencies is written first, by which `first` of quotes/flows.py finds the rates again; the others are written at
    the end.
    """
    of_pairs = {(quote.rate.base, quote.rate.quote): quote for quote in reversed(quotes)}
    first = list(of_pairs.values())[:LARGEST_TRANSACTION]
    together: list[Record] = [*first]
    for request in requests:
        if len(together) + 3 > LARGEST_TRANSACTION - request_counts.LARGEST:
            services.store.write(*start_scanning(services, together))
            together = []
        together += (request, *index_of(request))
    services.store.write(*start_scanning(services, together))
    services.store.put_many(quote for quote in quotes if quote not in first)


def start_scanning(services: Services, new: Sequence[Record]) -> list[Write]:
    """What `writes_with_daily_counts` returns of records that are created, after the cursors of the requests' networks
    were written: blocks are read from before the creation on."""
    start_reading(services, {each.network for each in new if isinstance(each, Request)})
    return writes_with_daily_counts(new)


def start_reading(services: Services, networks: Iterable[str]) -> None:
    """Notes when the first request of a network is created: blocks are read from then on. Every kind of creation calls
    it before it writes what can be paid.

    One read for a network on which this process has created nothing before, and one write if nobody has.
    """
    for name in networks:
        if name not in services.read_networks:
            if store.first_request(services.store, name) is None:
                with suppress(WriteConflict):  # another process was faster
                    services.store.apart.write(FirstRequest(name, services.clock()))
            services.read_networks.add(name)


def writes_with_daily_counts(new: Sequence[Record]) -> list[Write]:
    """New records as they are written in one transaction: requests with what they add to the daily counts."""
    marked = [request_counts.mark_request(each) if isinstance(each, Request) else each for each in new]
    amounts = request_counts.amounts((), (each for each in marked if isinstance(each, Request)))
    return [*marked, *(Add(*each) for each in amounts)]


@frozen
class Change:
    """What of a request changes: its recurrence, unless None, and with `sets_note` its note."""

    is_recurrence_stopped: bool | None = None
    sets_note: bool = False
    note: str | None = None


@retry_conflicts(3)
def change(services: Services, name: str, owner: Owner, actor: Actor, wanted: Change) -> Request:
    """Stops or resumes the recurrence of a request, sets its note, or both; `name` is its id or its payment reference.
    One or two reads and one write, none if nothing changes. A note is set with an audit entry.

    Raises NotFound unless the owner sees the request, Forbidden unless it may change it and sets a note that it may
    read, BadRequest if it has no recurrence, Conflict for the note of a payout that was merged into a batch,
    WriteConflict after three conflicts.
    """
    request = store.request(services.store, name)
    if request is None or not sees(owner, request):
        raise NotFound("Request not found")
    check_changes(owner, request)
    changed = request
    if wanted.is_recurrence_stopped is not None:
        changed = with_recurrence(request, wanted.is_recurrence_stopped, services.clock())
    if wanted.sets_note:
        changed = permissions.with_note(changed, wanted.note, owner)
    if changed != request:
        entry = audit.make_entry(actor, "request.updated", request.request_id, services.clock(), services.entropy)
        services.store.write(changed, *([entry] if changed.note != request.note else []))
    return changed


def index_of(request: Request) -> tuple[Record, ...]:
    """The index entries that find a request by the logs of its payments."""
    found = watched_address_of(request)
    return (reference_of(request),) if found is None else (reference_of(request), found)


def reference_of(request: Request) -> Reference:
    """The index entry that finds a request by the topic of its payments' logs."""
    topic = reference_topic(bytes.fromhex(request.payment_reference[2:]))
    return Reference(topic, request.payable_id, request.position, account_id=request.account_id)


def check_limits(services: Services, owner: Owner, requests: Iterable[Request], fee_address: str | None) -> None:
    """Raises Forbidden if the owner's client id may not create or combine these; see permissions.check_limits.

    One read if the client id is limited and bound to a payee destination.
    """
    if permissions.is_limited(owner):
        permissions.check_limits(owner, requests, fee_address, bound_destination(services, owner))


def check_fee_addresses(services: Services, charged: Iterable[tuple[Request, Fee]]) -> None:
    """Raises BadRequest if a fee in a native coin goes to a contract, ChainUnavailable if the node does not answer.

    The native proxies send the fee with 2,300 gas, so with a contract as fee address every payment would revert. One
    call to the node per network and fee address.
    """
    receivers = {
        (request.network, fee.address): request.currency
        for request, fee in charged
        if currency_of(request).is_native and fee.on(request.amount) > 0
    }
    for (name, fee_address), currency in receivers.items():
        if fee_address is not None and services.chains.of(name).has_code(fee_address):
            raise BadRequest(
                f"feeAddress is a contract, which cannot receive a fee in {currency}: give a wallet address"
            )


def terms_of(services: Services) -> Terms:
    """The deployment's settings for new requests."""
    settings = services.settings
    return Terms(settings.interop_checksum == "strict", conversion_facts(services), own_addresses(services))


def bound_destination(services: Services, owner: Owner) -> Destination | None:
    """The active payee destination that the owner's client id is bound to. One read if there may be one."""
    record_id = owner.settings.payee_destination_id
    record = payees.bound_to(services, owner.account_id, record_id) if record_id else None
    return record.route if record else None
