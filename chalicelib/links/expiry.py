"""Marks links as expired, and removes multicalls whose creation was interrupted."""

from dataclasses import replace

from chalicelib.links import store
from chalicelib.links.records import Link, LinkStatus
from chalicelib.links.rules import is_abandoned, status_at
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.storage.store import Delete, WriteConflict

_EXPIRY_BATCH = 100


def expire_due(services: Services) -> int:
    """Marks pending links as expired after their expiry, and deletes abandoned multicalls, which frees their children.

    Returns how many. Reads compare the time themselves and do not depend on this sweep.
    """
    now = services.clock()

    def expire(token: str) -> bool:
        link = store.link(services.store, token)
        change: Link | Delete
        if link is not None and is_abandoned(link, now):
            change = Delete(link)
        elif link is not None and link.status is LinkStatus.PENDING and status_at(link, now) is LinkStatus.EXPIRED:
            change = replace(link, status=LinkStatus.EXPIRED)
        else:
            return False
        try:
            services.store.write(change)
        except WriteConflict:
            return False  # a payment was written first; the next sweep checks again
        return True

    return sweeping.each(services.log, store.due_tokens(services.store, now, _EXPIRY_BATCH), expire)
