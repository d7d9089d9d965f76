"""Follows announced transactions until they are executed, replaced or given up."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from chalicelib.payments.announcements import rules
from chalicelib.payments.announcements.bridges.ends import Conclusion
from chalicelib.payments.announcements.checks import check_transactions
from chalicelib.payments.events import number_events
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.multicalls.reading import add_children
from chalicelib.payments.links.reading import load
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    PayableLink,
)
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write
from chalicelib.webhooks import flows as webhooks

_DUE_PER_SHARD = 1_000
"""So many are read, a hundred at once; there is time to check fewer."""
_PER_ACCOUNT = 100
"""How many announced transactions of an account one run checks, those of a link together; the others of that account
are postponed. Each is some requests to nodes, whose quota all accounts share."""
_TIME_PER_RUN = timedelta(seconds=40)
"""A run checks no more announced transactions after this time; the Lambda may take 60 seconds."""


def track_due(services: Services) -> int:
    """Checks announced transactions that are due, those of one link at a time, one link of each account in turn;
    returns how many have ended.

    An account that has more than _PER_ACCOUNT of them has the rest postponed: so whoever announces many delays only
    their own. A run begins at a random shard of the index and stops in time. A node or Safe Transaction Service that
    does not answer is called once per run; the other announced transactions that need it are checked by a later run. A
    failure that concerns one announced transaction, or one Safe, which can be any contract, delays no others.

    A hundred records that are due cost a read, and each one a read and one write, and one query per link if one of its
    announced transactions ends; its announced transactions cost a read of the cursor each, and what observing.py and
    payments/announcements/bridges/observing.py say. What was sent for a link that is completed costs no more than that:
    each payment of the payment page is announced.
    """
    now, shard = services.clock(), services.entropy(1)[0]
    deadline = now + _TIME_PER_RUN
    unavailable: set[str] = set()

    def track(record: LinkAnnouncements) -> int:
        read_again = partial(_read_link, services, record)
        payable, checked = read_again(), _due(record, services.clock())
        made = check_transactions(services, payable, read_again, checked, unavailable, record.failures_notified)
        return _write(services, record, made.conclusion)

    def put_off(record: LinkAnnouncements) -> int:
        later = tuple(rules.postpone(each, now) for each in _due(record, now))
        return _write(services, record, Conclusion(later, record.failures_notified))

    ended = 0
    with sweeping.Sweep(services.log) as sweep:
        tokens = link_store.tokens_of_due_announcements(services.store, now, _DUE_PER_SHARD, shard)
        found = sweep.read(partial(link_store.find_announcements, services.store), tokens)
        due = [each for each in found if each.next_due is not None and each.next_due <= now]
        checked, postponed = rules.take_turns(due, _PER_ACCOUNT)
        acts = [*((track, each) for each in checked), *((put_off, each) for each in postponed)]
        for act, record in sweeping.in_time(services.log, services.clock, deadline, acts):
            ended += sweep.run(act, record)
    return ended


def _due(record: LinkAnnouncements, now: datetime) -> list[AnnouncedTransaction]:
    return [each for each in record.all if each.status is AnnouncedStatus.PENDING and each.check_at <= now]


def _write(services: Services, before: LinkAnnouncements, made: Conclusion) -> int:
    """Writes what follows from a check in one transaction; returns how many of the link's announced transactions have
    ended."""
    by_id = {each.announced_id: each for each in made.transactions}
    gathered = rules.gather_announced(before, (by_id.get(each.announced_id, each) for each in before.all))
    after = replace(gathered, failures_notified=made.failures_notified)
    requests, events = number_events(made.requests, made.events)
    if not try_write(services.store, after, *made.payments, *made.counts, *requests, *events):
        return 0  # another run was faster, or a payment was recorded
    webhooks.queue_publishing(services, events)
    pending = {each.announced_id for each in before.all if each.status is AnnouncedStatus.PENDING}
    ended = [each for each in after.all if each.announced_id in pending and each.status is not AnnouncedStatus.PENDING]
    for each in ended:
        services.log.info(
            "announced transaction ended", extra={"announced_id": each.announced_id, "status": each.status.value}
        )
    return len(ended)


def _read_link(services: Services, record: LinkAnnouncements) -> PayableLink:
    """The link of a record as it is now; a multicall has the status and the requests that follow from its children."""
    stored = load(services, record.link_token)
    assert stored is not None, "an announced transaction is written together with its link"
    return add_children(services, stored)[0]
