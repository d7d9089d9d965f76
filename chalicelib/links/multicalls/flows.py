"""Multicalls: combine payouts under one parent, and read their state."""

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
    check_count,
    check_together,
    described,
    examine,
    execution_kind,
    holds_children,
    is_abandoned,
    lost,
    may_hold,
    new_parent,
    refuse_blocked,
)
from chalicelib.links.records import Link, LinkStatus, PaymentType, SecurePayment
from chalicelib.links.rules import check_unlocked
from chalicelib.services import Services
from chalicelib.storage.store import LARGEST_TRANSACTION, Delete, WriteConflict

_ATTEMPTS = 3
_EXAMINED_PARENTS = 10


def create(
    services: Services, owner: Owner, child_tokens: Sequence[str], kind: ExecutionKind | None
) -> MulticallDetails:
    """A new multicall that has claimed its children. Raises MulticallRefused with every child that cannot be in it,
    BadRequest when they cannot be paid together, Forbidden when an orchestrator has to create for the client id,
    WriteConflict when they change faster than they can be claimed.

    Read: three keys a child in batches of 100 (150 children: 5 calls, 1,000: 30), and the multicalls that claimed
    them before. Written: one transaction for up to 99 children, of more 100 records a transaction (150: 2, 1,000: 11).
    """
    check_platform(owner)
    check_count(len(child_tokens), services.settings.multicall_max_children, services.clock())
    unique = tuple(dict.fromkeys(child_tokens))
    for _ in range(_ATTEMPTS):
        now = services.clock()
        found = links.load_many(services, unique)
        parent = new_parent(owner, child_tokens, kind, found, now, services.entropy)
        with suppress(WriteConflict):  # a child was paid or claimed meanwhile: look again
            children = examine(parent, found, taken(services, found, now), now)
            refuse_blocked(children, now)
            check_together(kind, children)
            made = _claim(services, parent, [found[token] for token in child_tokens])
            return described(SecurePayment(made, ()), children, now)
    raise WriteConflict


def read(services: Services, token: str, account_id: str) -> MulticallDetails:
    """A multicall of this account as it is now; one read beside those of `details`. Raises NotFound, Forbidden for
    another account's, Locked while a multisig transaction is on its way for the whole."""
    payment = links.load(services, token)
    if payment is None or payment.link.payment_type is not PaymentType.MULTICALL:
        raise NotFound("Multicall payout not found")
    if payment.link.account_id != account_id:
        raise Forbidden("Not authorized for this multicall payout")
    found = details(services, payment)
    check_unlocked(replace(payment, requests=found.requests))
    return found


def details(services: Services, payment: SecurePayment) -> MulticallDetails:
    """A multicall with its children, each as it is now; three keys a child in batches of 100."""
    now, link = services.clock(), payment.link
    found = links.load_many(services, link.child_tokens, payment)
    return described(payment, examine(link, found, lost(link, found), now), now)


def payable_children(
    services: Services, payment: SecurePayment, check: Callable[[SecurePayment], None]
) -> tuple[SecurePayment, ...]:
    """The children that are to be paid, in their order; the reads of `details`.

    Raises Conflict when all are paid, Locked while a multisig transaction is on its way for the whole, Forbidden when
    it is expired, MulticallRefused with every child that cannot be paid, BadRequest when they cannot be paid together.
    """
    found = details(services, payment)
    status = LinkStatus.COMPLETED if found.status is LinkStatus.COMPLETED else LinkStatus.PENDING
    check(SecurePayment(replace(payment.link, status=status), found.requests, payment.intent))
    refuse_blocked(found.children, found.now)
    execution_kind(payment.link.execution_kind, found.requests)
    return tuple(child.payment for child in found.children if child.payment is not None)


def taken(services: Services, found: Mapping[str, SecurePayment], now: datetime) -> set[str]:
    """The tokens that another multicall holds: one that can still be paid, which is decided with all its children read.

    A multicall that was abandoned is removed, so that nobody goes on assembling it. At most _EXAMINED_PARENTS are
    examined; the others count as holding what they claimed.
    """
    claims = {token: child.link.parent_token for token, child in found.items() if child.link.parent_token}
    parents = link_store.links(services.store, dict.fromkeys(claims.values()))
    for parent in parents.values():
        if is_abandoned(parent, now):
            with suppress(WriteConflict):  # another request removed it
                services.store.write(Delete(parent))
    living = {token: parent for token, parent in parents.items() if may_hold(parent, now)}
    examined = dict(list(living.items())[:_EXAMINED_PARENTS])
    siblings = dict.fromkeys(token for parent in examined.values() for token in parent.child_tokens)
    family = links.load_many(services, list(siblings))
    holding = living.keys() - examined.keys()
    for parent in examined.values():
        children = {token: family[token] for token in parent.child_tokens if token in family}
        if holds_children(parent, children, now):
            holding.add(parent.token)
    return {token for token, parent_token in claims.items() if parent_token in holding}


def _claim(services: Services, parent: Link, children: Sequence[SecurePayment]) -> Link:
    """Writes the parent and its claims, or nothing; returns it as it is stored. Raises WriteConflict.

    If one transaction does not hold them all, the parent is `assembling` from the first transaction to the last, and
    readers do not find it. If this process dies in between, the sweep removes the parent, and its claims do not count.
    """
    claims = [replace(child.link, parent_token=parent.token) for child in children]
    if len(claims) < LARGEST_TRANSACTION:
        services.store.write(parent, *claims)
        return replace(parent, version=1)
    assembling, whole = replace(parent, status=LinkStatus.ASSEMBLING), replace(parent, version=1)
    records = [assembling, *claims, whole]
    services.store.write(*records[:LARGEST_TRANSACTION])
    try:
        for start in range(LARGEST_TRANSACTION, len(records), LARGEST_TRANSACTION):
            services.store.write(*records[start : start + LARGEST_TRANSACTION])
    except WriteConflict:
        with suppress(WriteConflict):  # it was taken for abandoned and removed
            services.store.write(Delete(whole))
        raise
    return replace(whole, version=2)
