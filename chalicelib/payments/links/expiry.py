"""Expires links once their network was read past it, removes abandoned multicalls, finishes what is being cancelled."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.payments.links import store
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.links.rules import is_abandoned, is_read_past, status_at, with_next_check
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Delete

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

_DUE_PER_SHARD = 500
_TIME_PER_RUN = timedelta(seconds=40)
"""A run checks no more links after this time; the Lambda may take 60 seconds."""


def expire_due(services: Services, within: timedelta = _TIME_PER_RUN) -> int:
    """Marks pending links as expired, and deletes abandoned multicalls, which frees their children. Returns how many.
    No link is checked later than `within`.

    A link expires when its network was read past its expiry and everything that was read for it is recorded: so a
    payment sent in time is recorded first, however long the network was not read. Nor does it expire while the service
    makes a payment of it whose signature was accepted in time. Until then the link is checked again with growing
    delays. A network without a node is never read, so its links do not expire.

    The cursors are read once, before any link: the transfers up to them are the recorder's work already, or recorded.
    Reads of links compare the time themselves (`status_at`) and do not depend on this sweep.
    """
    now, shard = services.clock(), services.entropy(1)[0]

    @cache
    def read_until() -> dict[str, "Agreed[datetime] | None"]:
        cursors = scan_store.cursors(services.store, [network.name for network in ALL_NETWORKS])
        return {name: cursor.ends_until for name, cursor in cursors.items()}

    due = store.due_tokens(services.store, now, _DUE_PER_SHARD, shard)
    in_time = sweeping.in_time(services.log, services.clock, now + within, due)
    return sweeping.each(services.log, in_time, lambda token: _check(services, token, read_until(), now))


def _check(services: Services, token: str, read_until: Mapping[str, "Agreed[datetime] | None"], now: datetime) -> bool:
    """Expires or deletes a due link, or postpones its check; returns whether it is over. Up to two reads, one write.

    If a payment is written first, the next sweep checks again.
    """
    link, requests = store.link_with_requests(services.store, token)
    if link is None:
        return False
    if is_abandoned(link, now):
        return try_write(services.store, Delete(link))
    if link.is_being_cancelled:
        from chalicelib.payments.links.cancelling.flows import finish  # few links have so many requests

        return finish(services, token)
    if status_at(link, now) is not LinkStatus.AWAITING_CHAIN:
        return False
    is_read = bool(requests) and all(is_read_past(link.expires_at, read_until.get(each.network)) for each in requests)
    is_made = any(each.is_executed for each in requests)
    if not is_read or is_made or scan_store.has_work(services.store, (token, *link.merged_tokens)):
        try_write(services.store, with_next_check(link, now))
        return False
    return try_write(services.store, replace(link, status=LinkStatus.EXPIRED))
