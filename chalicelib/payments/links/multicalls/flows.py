"""Creates multicalls of payouts, and reads them with their children."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import ServiceError, Undone
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.flows import check_link_limits
from chalicelib.payments.links.multicalls import rules
from chalicelib.payments.links.multicalls.children import (
    Child,
    Reason,
    SetRefused,
    check_count,
    check_none_blocked,
    evaluate_children,
    is_live,
)
from chalicelib.payments.links.records import Link, LinkStatus, PayableLink
from chalicelib.payments.links.rules import is_abandoned
from chalicelib.payments.requests.permissions import check_platform
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, Delete, WriteConflict, with_next_version

_MAX_EVALUATED_PARENTS = 10
_ATTEMPTS = 3


class _TakenBack(WriteConflict):
    """Another process has changed a child after a part of a multicall was written, which was deleted again."""


def create(
    services: Services, owner: Owner, child_tokens: Sequence[str], kind: rules.ExecutionKind | None
) -> rules.MulticallDetails:
    """Creates a multicall and claims its children.

    Raises MulticallRefused with every child that cannot be in it, SetRefused if the children cannot be paid together,
    Forbidden if an orchestrator has to create for the client id or its owner limits what it combines, WriteConflict
    after three conflicts with other writes, and Undone if a part was written before one of them. What is raised after
    that `is_undone`: the children may be combined later.
    """
    is_taken_back = False
    for _ in range(_ATTEMPTS):
        try:
            return _create(services, owner, child_tokens, kind)
        except WriteConflict as error:
            is_taken_back, conflict = is_taken_back or isinstance(error, _TakenBack), error
        except ServiceError as error:
            error.is_undone = error.is_undone or is_taken_back
            raise
    if is_taken_back:
        raise Undone("Payouts were changed at the same moment, and none were combined: try again") from conflict
    raise conflict


def _create(
    services: Services, owner: Owner, child_tokens: Sequence[str], kind: rules.ExecutionKind | None
) -> rules.MulticallDetails:
    """One attempt to create a multicall.

    Reads four keys per child in batches of 100 (150 children: 6 calls, 1,000: 40), and the multicalls that claimed
    them before. Writes one transaction for up to 98 children, else 99 records per transaction (150: 2, 1,000: 11).
    """
    check_platform(owner)
    check_count(len(child_tokens), services.settings.multicall_max_children)
    unique = tuple(dict.fromkeys(child_tokens))
    now = services.clock()
    found = link_reading.load_many(services, unique)
    parent = rules.new_parent(owner, child_tokens, kind, found, now, services.entropy)
    claimed = find_claimed_tokens(services, found, now, parent.token)
    children = evaluate_children(parent, found, claimed, now)
    check_none_blocked(children, now)
    rules.check_combination(kind, children)
    _check_routes(services, kind, children)
    check_link_limits(services, owner, [found[token] for token in child_tokens])
    link = _claim(services, parent, [found[token] for token in child_tokens])
    return rules.multicall_details(PayableLink((), link), children, now)


def _check_routes(services: Services, kind: rules.ExecutionKind | None, children: Sequence[Child]) -> None:
    """Raises SetRefused if the children can only be paid by routes, and there are more than are paid so, or none."""
    if not rules.is_cross_chain(kind, [child.request for child in children if child.request is not None]):
        return
    check_count(len(children), services.settings.multicall_max_crosschain_children, Reason.CAP_EXCEEDED)
    if not services.router.is_configured:
        raise SetRefused(
            Reason.UNSUPPORTED_ROUTE,
            "Children of several networks or currencies are paid by routes from one source, and this deployment has no "
            "router: make a multicall of each currency",
        )


def find_claimed_tokens(
    services: Services, found: Mapping[str, PayableLink], now: datetime, own: str | None = None
) -> set[str]:
    """The tokens that another multicall holds, that is one that can still be paid; reads all its children to decide.

    `own` is the multicall that is being created: it has claimed children before if its request is resumed.

    Deletes abandoned multicalls, so that their assembly fails if it continues. Evaluates at most _MAX_EVALUATED_PARENTS
    multicalls; the others count as holding what they claimed.
    """
    claimed = {token: child.link.parent_token for token, child in found.items() if child.link.parent_token}
    claims = {token: parent_token for token, parent_token in claimed.items() if parent_token != own}
    parents = link_store.find_links(services.store, dict.fromkeys(claims.values()))
    for parent in parents.values():
        if is_abandoned(parent, now):
            try_write(services.store.apart, Delete(parent))  # False: another process deleted it
    live = {token: parent for token, parent in parents.items() if is_live(parent, now)}
    evaluated = dict(list(live.items())[:_MAX_EVALUATED_PARENTS])
    siblings = dict.fromkeys(token for parent in evaluated.values() for token in parent.child_tokens)
    loaded = link_reading.load_many(services, list(siblings))
    holders = live.keys() - evaluated.keys()
    for parent in evaluated.values():
        children = {token: loaded[token] for token in parent.child_tokens if token in loaded}
        if rules.holds_children(parent, children, now):
            holders.add(parent.token)
    return {token for token, parent_token in claims.items() if parent_token in holders}


def _claim(services: Services, parent: Link, children: Sequence[PayableLink]) -> Link:
    """Writes the parent and the claims on its children; returns the stored parent. Raises WriteConflict, and _TakenBack
    if a part of it was written.

    If they do not fit into one transaction, the parent has the status `assembling` from the first transaction to the
    last, and reads do not return it. If the process dies in between, the sweep deletes the parent, which ends its
    claims.
    """
    claims = [replace(child.link, parent_token=parent.token) for child in children]
    if len(claims) < LARGEST_TRANSACTION:
        return services.store.write(parent, *claims)
    assembling, complete = replace(parent, status=LinkStatus.ASSEMBLING), with_next_version(parent)
    records = [assembling, *claims, complete]
    services.store.write(*records[:LARGEST_TRANSACTION])
    try:
        for start in range(LARGEST_TRANSACTION, len(records), LARGEST_TRANSACTION):
            services.store.write(*records[start : start + LARGEST_TRANSACTION])
    except WriteConflict as error:
        try_write(services.store, Delete(complete))  # False: the sweep deleted it as abandoned
        raise _TakenBack from error
    return with_next_version(complete)
