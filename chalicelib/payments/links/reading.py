"""Reads links and requests: one link by its token or by a request, several for a multicall; decides who sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from chalicelib.base.errors import NotFound
from chalicelib.base.frozen import frozen
from chalicelib.payments.links import store
from chalicelib.payments.links.records import LINKS, Flow, Link, LinkStatus, Payable, PayableLink
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing

if TYPE_CHECKING:
    from chalicelib.platform.access.callers import Caller


@frozen
class Viewer:
    """Who reads a link, which decides what is visible. The payment page can read any link whose token it has.

    `mode` is the credential; None for the service itself, which acts for the account. `announcer` is the SHA-256 hash
    of the secret with which the reader announces transactions: those do not lock the link for them.
    """

    account_id: str
    client_id: str | None
    reads_any_link: bool = False
    mode: Mode | None = None
    announcer: str | None = None

    @classmethod
    def of(cls, caller: "Caller") -> Self:
        return cls(caller.account_id, caller.client_id, caller.reads_any_link, caller.mode)

    @property
    def is_public(self) -> bool:
        """Whether the credential is a client id alone, which is not a secret."""
        return self.mode is Mode.CLIENT_ID


def load_visible(services: Services, token: str, viewer: Viewer, *, may_lag: bool = False) -> PayableLink:
    """The link with its requests. One read, two if a multicall has claimed the link, up to three more for payouts with
    a `recipientIdentifier`.

    Raises NotFound if the link does not exist or is not visible to the viewer: it belongs to another account, or was
    created with another client id than the viewer's. What `may_lag` is the link as it was a second ago, for half the
    units; one that is younger than that takes a second read.
    """
    return screen_link(services, load_stored(services, token, viewer, may_lag=may_lag))


def load_stored(services: Services, token: str, viewer: Viewer, *, may_lag: bool = False) -> PayableLink:
    """The link with its requests as they are stored, so that they can be written again. Reads and raises as
    `load_visible`, but for payouts, which it does not screen."""
    lagging = store.payable_link(services.store, token, may_lag=True) if may_lag else None
    payable = lagging or load(services, token)
    if payable is None or not (viewer.reads_any_link or sees(viewer, payable.link)):
        raise NotFound("Secure payment not found")
    payable = payable.without_announced_by(viewer.announcer)
    return _with_parents_holds(services, [payable])[0].without_announced_by(viewer.announcer)


def screen_link(services: Services, payable: PayableLink) -> PayableLink:
    """The link as it can be paid: `compliance_failed` if the compliance provider has refused whom it pays."""
    return _screen_links(services, [payable])[0]


def load(services: Services, token: str) -> PayableLink | None:
    """A link with its requests, without an access check; None while it is not complete. One read."""
    return store.payable_link(services.store, token)


def listing(
    account_id: str,
    reference: str | None,
    status: str | None,
    client_id: str | None,
    first: datetime | None,
    last: datetime | None,
) -> Listing:
    """The list of an account's links with these values, for `storage.pages`."""
    values = {"by_reference": reference, "by_client": client_id, "by_status": status}
    return Listing(account_id, LINKS, values, first, last)


def load_by_request(services: Services, request_id: str, viewer: Viewer) -> PayableLink:
    """The link that a request belongs to, if it is visible to the viewer. Two reads, three if it was merged, and
    up to two more for a payout with a `recipientIdentifier`. Raises NotFound."""
    payable = store.payable_of(services.store, request_id)
    if not isinstance(payable, PayableLink) or not sees(viewer, payable.link):
        raise NotFound("No secure payment found for this request ID")
    return screen_link(services, payable)


def load_request(services: Services, name: str, viewer: Viewer) -> tuple[Request, Payable]:
    """The request with this id or payment reference, and the payable that it is part of; of a merged link the batch.

    Two reads, up to two more if it has a link that was merged, or that a multicall has claimed, and up to three for a
    payout with a `recipientIdentifier`. Raises NotFound if it does not exist or is not visible to the viewer, as
    `load_visible`; here the payment page sees nothing, either.
    """
    payable = store.payable_of(services.store, name)
    if isinstance(payable, PayableLink):
        payable = _screen_links(services, _with_parents_holds(services, [payable]))[0]
    requests, wanted = payable.requests if payable else (), name.lower()
    found = next((each for each in requests if wanted in (each.request_id, each.payment_reference)), None)
    if payable is None or found is None or not sees(viewer, found):
        raise NotFound("Request not found")
    return found, payable


def load_many(services: Services, tokens: Sequence[str], parent: PayableLink | None = None) -> dict[str, PayableLink]:
    """The links that exist, by token, each with its first request, its announced transaction and its claim to sign;
    other requests are not read.

    Reads four keys per link, two per multicall that claimed some of them, except `parent`, and two per payout with a
    `recipientIdentifier`; in batches of 100.
    """
    found = store.links_with_first_request(services.store, tokens)
    payments = _with_parents_holds(services, list(found.values()), parent)
    return dict(zip(found, _screen_links(services, payments), strict=True))


def _screen_links(services: Services, payments: list[PayableLink]) -> list[PayableLink]:
    """The links; a payout to a person whom the compliance provider has refused is `compliance_failed`, and so is a
    batch of such payouts. That is not stored: the provider may take its refusal back. A person is known by the
    `recipientIdentifier` of the payout.

    Not so a payout that a client id alone has created: with it, anybody could ask about any person by making payouts.
    """
    payouts = [each for each in payments if each.link.flow is Flow.PAY and each.link.status is LinkStatus.PENDING]
    tokens = [token for each in payouts for token in each.link.merged_tokens]
    merged = store.find_links(services.store, tokens) if tokens else {}
    named = {each.link.token: _recipients(each, merged) for each in payouts}
    if not any(named.values()):
        return payments
    from chalicelib.offramp.payers import (
        store as payer_store,  # what workers read names nobody, and they load none of it
    )
    from chalicelib.offramp.payers.rules import name_hash

    hashes = {
        each.link.token: {name_hash(each.link.account_id, name) for name in named[each.link.token]} for each in payouts
    }
    payers = payer_store.with_names(services.store, dict.fromkeys(one for found in hashes.values() for one in found))
    refused = {name for name, payer in payers.items() if payer.is_refused}
    return [
        replace(each, link=replace(each.link, status=LinkStatus.COMPLIANCE_FAILED))
        if refused & hashes.get(each.link.token, set())
        else each
        for each in payments
    ]


def _recipients(payable: PayableLink, merged: Mapping[str, Link]) -> set[str]:
    """Whom the payouts of a link name, of those that a secret credential has created."""
    link = payable.link
    payouts = [merged.get(token) for token in link.merged_tokens] or [link]
    created_with = {request.position: request.created_with for request in payable.requests}
    return {
        payout.recipient_identifier
        for position, payout in enumerate(payouts)
        if payout is not None and payout.recipient_identifier is not None
        and created_with.get(position) not in (None, Mode.CLIENT_ID)
    }  # fmt: skip


def _with_parents_holds(
    services: Services, payments: Sequence[PayableLink], known: PayableLink | None = None
) -> list[PayableLink]:
    """The links, each with the pending announced transaction of its multicall, if any: that transaction pays the
    children, too. So with the claim to sign the multicall, while it is valid and the child has none of its own.

    Reads both, except those of the `known` parent, whose claim does not hold its children: it is to pay them.
    """
    parents = {payable.link.parent_token for payable in payments if not payable.is_locked}
    parents -= {None, known.link.token if known else None}
    announcements, claims = store.holding(services.store, [parent for parent in parents if parent])
    if known is not None and known.announcements is not None:
        announcements[known.link.token] = known.announcements
    pending = {token: each for token, each in announcements.items() if each.is_locking}
    now = services.clock()
    valid = {token: claim for token, claim in claims.items() if claim.is_valid(now)}

    def with_holds(each: PayableLink) -> PayableLink:
        parent, own = each.link.parent_token or "", each.signing
        signing = own if own is not None and own.is_valid(now) else valid.get(parent, own)
        return replace(each, announcements=pending.get(parent, each.announcements), signing=signing)

    return [with_holds(each) for each in payments]
