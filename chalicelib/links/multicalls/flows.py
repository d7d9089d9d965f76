"""Creates multicalls of payouts, and reads them with their children."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from chalicelib.access.callers import Owner
from chalicelib.base.errors import Forbidden, NotFound
from chalicelib.links import flows as links
from chalicelib.links import store as link_store
from chalicelib.links.creation import check_platform
from chalicelib.links.multicalls.rules import (
    ExecutionKind,
    MulticallDetails,
    check_combination,
    check_count,
    check_none_blocked,
    claimed_by_others,
    evaluate_children,
    execution_kind,
    holds_children,
    is_abandoned,
    is_live,
    multicall_details,
    new_parent,
)
from chalicelib.links.records import Link, LinkStatus, PaymentType, SecurePayment
from chalicelib.links.rules import check_unlocked
from chalicelib.services import Services
from chalicelib.storage.store import LARGEST_TRANSACTION, Delete, WriteConflict

_ATTEMPTS = 3
_MAX_EVALUATED_PARENTS = 10


def create(
    services: Services, owner: Owner, child_tokens: Sequence[str], kind: ExecutionKind | None
) -> MulticallDetails:
    """Creates a multicall and claims its children.

    Raises MulticallRefused with every child that cannot be in it, BadRequest if the children cannot be paid together,
    Forbidden if an orchestrator has to create for the client id, WriteConflict after three conflicts with other writes.

    Reads three keys per child in batches of 100 (150 children: 5 calls, 1,000: 30), and the multicalls that claimed
    them before. Writes one transaction for up to 99 children, else 100 records per transaction (150: 2, 1,000: 11).
    """
    check_platform(owner)
    check_count(len(child_tokens), services.settings.multicall_max_children, services.clock())
    unique = tuple(dict.fromkeys(child_tokens))
    for _ in range(_ATTEMPTS):
        now = services.clock()
        found = links.load_many(services, unique)
        parent = new_parent(owner, child_tokens, kind, found, now, services.entropy)
        with suppress(WriteConflict):  # a child was paid or claimed meanwhile: read again
            children = evaluate_children(parent, found, held_tokens(services, found, now), now)
            check_none_blocked(children, now)
            check_combination(kind, children)
            link = _claim(services, parent, [found[token] for token in child_tokens])
            return multicall_details(SecurePayment(link, ()), children, now)
    raise WriteConflict


def read(services: Services, token: str, account_id: str) -> MulticallDetails:
    """A multicall of the account as it is now. One read, and those of `details`.

    Raises NotFound, Forbidden if it belongs to another account, Locked while a multisig transaction is pending for it.
    """
    payment = links.load(services, token)
    if payment is None or payment.link.payment_type is not PaymentType.MULTICALL:
        raise NotFound("Multicall payout not found")
    if payment.link.account_id != account_id:
        raise Forbidden("Not authorized for this multicall payout")
    found = details(services, payment)
    check_unlocked(replace(payment, requests=found.requests))
    return found


def details(services: Services, payment: SecurePayment) -> MulticallDetails:
    """A multicall with its children as they are now. Three keys per child, in batches of 100."""
    now, link = services.clock(), payment.link
    found = links.load_many(services, link.child_tokens, payment)
    return multicall_details(payment, evaluate_children(link, found, claimed_by_others(link, found), now), now)


def payable_children(
    services: Services, payment: SecurePayment, check: Callable[[SecurePayment], None]
) -> tuple[SecurePayment, ...]:
    """The children to pay, in order. The reads of `details`. `check` is called with the multicall and its requests.

    Raises what `check` raises, MulticallRefused with every child that cannot be paid, BadRequest if the children cannot
    be paid together.
    """
    found = details(services, payment)
    status = LinkStatus.COMPLETED if found.status is LinkStatus.COMPLETED else LinkStatus.PENDING
    check(SecurePayment(replace(payment.link, status=status), found.requests, payment.intent))
    check_none_blocked(found.children, found.now)
    execution_kind(payment.link.execution_kind, found.requests)
    return tuple(child.payment for child in found.children if child.payment is not None)


def held_tokens(services: Services, found: Mapping[str, SecurePayment], now: datetime) -> set[str]:
    """The tokens that another multicall holds, that is one that can still be paid; reads all its children to decide.

    Deletes abandoned multicalls, so that their assembly fails if it continues. Evaluates at most _MAX_EVALUATED_PARENTS
    multicalls; the others count as holding what they claimed.
    """
    claims = {token: child.link.parent_token for token, child in found.items() if child.link.parent_token}
    parents = link_store.links(services.store, dict.fromkeys(claims.values()))
    for parent in parents.values():
        if is_abandoned(parent, now):
            with suppress(WriteConflict):  # another process deleted it
                services.store.write(Delete(parent))
    live = {token: parent for token, parent in parents.items() if is_live(parent, now)}
    evaluated = dict(list(live.items())[:_MAX_EVALUATED_PARENTS])
    siblings = dict.fromkeys(token for parent in evaluated.values() for token in parent.child_tokens)
    loaded = links.load_many(services, list(siblings))
    holders = live.keys() - evaluated.keys()
    for parent in evaluated.values():
        children = {token: loaded[token] for token in parent.child_tokens if token in loaded}
        if holds_children(parent, children, now):
            holders.add(parent.token)
    return {token for token, parent_token in claims.items() if parent_token in holders}


def _claim(services: Services, parent: Link, children: Sequence[SecurePayment]) -> Link:
    """Writes the parent and the claims on its children; returns the stored parent. Raises WriteConflict.

    If they do not fit into one transaction, the parent has the status `assembling` from the first transaction to the
    last, and reads do not return it. If the process dies in between, the sweep deletes the parent, which ends its
    claims.
    """
    claims = [replace(child.link, parent_token=parent.token) for child in children]
    if len(claims) < LARGEST_TRANSACTION:
        services.store.write(parent, *claims)
        return replace(parent, version=1)
    assembling, complete = replace(parent, status=LinkStatus.ASSEMBLING), replace(parent, version=1)
    records = [assembling, *claims, complete]
    services.store.write(*records[:LARGEST_TRANSACTION])
    try:
        for start in range(LARGEST_TRANSACTION, len(records), LARGEST_TRANSACTION):
            services.store.write(*records[start : start + LARGEST_TRANSACTION])
    except WriteConflict:
        with suppress(WriteConflict):  # the sweep deleted it as abandoned
            services.store.write(Delete(complete))
        raise
    return replace(complete, version=2)
