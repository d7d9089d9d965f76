"""Creates payouts, one or several as a batch, and merges several into a batch that one transaction pays."""

from dataclasses import replace

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links import flows as links
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.payouts.rules import (
    MergeDraft,
    PayoutDraft,
    PayoutsDraft,
    create_payout,
    create_payouts,
    merge,
)
from chalicelib.payments.links.records import Flow, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.names import flows as names
from chalicelib.payments.requests.names.rules import NamedField, is_name
from chalicelib.payments.requests.permissions import check_platform
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts


def create(services: Services, owner: Owner, session: Session | None, draft: PayoutDraft) -> PayableLink:
    """Creates a payout. `session` is the caller's, if any. Raises BadRequest, Forbidden.

    No read, but one of the payee destination for a client id that its owner limits; one transaction.
    """
    check_platform(owner)
    draft, wallet = _with_address(services, owner, draft), _wallet_of(session)
    payable = create_payout(draft, owner, links.terms_of(services), services.clock(), services.entropy, wallet)
    links.check_link_limits(services, owner, (payable,))
    links.save(services, payable)
    return payable


def create_batch(services: Services, owner: Owner, session: Session | None, draft: PayoutsDraft) -> PayableLink:
    """Creates payouts as one link, which one transaction pays, or none of them. `session` as in `create`.

    Raises ValidationFailed with what is wrong with each entry, BadRequest, Forbidden. Reads as `create`; as many
    transactions as a link of so many requests takes (`links.save`).
    """
    check_platform(owner)
    paths = [("requests", str(position)) for position in range(len(draft.link.items))]
    link = replace(draft.link, items=names.of_items(services, owner, draft.link.items, paths))
    wanted, terms, wallet = replace(draft, link=link), links.terms_of(services), _wallet_of(session)
    payable = create_payouts(wanted, owner, terms, services.clock(), services.entropy, wallet)
    links.check_link_limits(services, owner, (payable,))
    links.save(services, payable)
    return payable


def _wallet_of(session: Session | None) -> Wallet | None:
    """The wallet that signed in, if one did."""
    return Wallet(session.subject, session.chain_id) if session and session.kind is SessionKind.WALLET else None


def _with_address(services: Services, owner: Owner, draft: PayoutDraft) -> PayoutDraft:
    """The draft with the address of a recipient that is a name. Raises as names.resolve."""
    token = token_with_id(draft.currency)
    if token is None or not is_name(draft.recipient):
        return draft
    (found,) = names.resolve(services, owner, [NamedField(("recipient",), draft.recipient, token.network)])
    return replace(draft, recipient=found.address, recipient_name=found.payee)


@retry_conflicts(3)
def combine(services: Services, owner: Owner, draft: MergeDraft) -> PayableLink:
    """Creates a batch of the owner's payouts, which are invalidated in the same transaction.

    The index entries of a request (by reference, by id, from an unfinalized transfer) are not changed: they lead to the
    payout, and its `successor_token` leads to the batch. Reads four keys per payout in one call, and the multicalls
    that claimed them. Raises MulticallRefused, BadRequest, Forbidden, and WriteConflict after three conflicts.
    """
    check_platform(owner)
    now = services.clock()
    found = link_reading.load_many(services, list(dict.fromkeys(draft.tokens)))
    claimed = multicalls.find_claimed_tokens(services, found, now)
    merged = merge(draft, owner, found, claimed, links.terms_of(services), now, services.entropy)
    links.check_link_limits(services, owner, (merged.batch,))
    children = [record for child in merged.children for record in (child.link, *child.requests)]
    return replace(merged.batch, link=services.store.write(merged.batch.link, *merged.batch.requests, *children))


def refuse(services: Services, token: str, actor: Actor) -> None:
    """Marks an unpaid payout as refused by compliance, which ends it: the operator's decision, in the audit log.

    Raises NotFound, Conflict for what is not a payout, or none that is pending; and for a multicall, whose payouts
    would be free to be paid otherwise.
    """
    payable = link_reading.load(services, token)
    if payable is None:
        raise NotFound("Secure payment not found")
    link = payable.link
    if link.flow is not Flow.PAY or payable.is_paid or link.status is not LinkStatus.PENDING:
        raise Conflict(f"Only a pending payout can be refused: this is {link.flow.value}, {link.status.value}")
    if link.payment_type is PaymentType.MULTICALL:
        raise Conflict(f"A multicall pays payouts of their own: refuse its payouts, {', '.join(link.child_tokens)}")
    entry = audit.make_entry(actor, "payout.refused", token, services.clock(), services.entropy)
    services.store.write(replace(link, status=LinkStatus.COMPLIANCE_FAILED), entry)
