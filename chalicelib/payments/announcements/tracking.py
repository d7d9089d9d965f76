"""Follows announced transactions until they are executed, replaced or given up."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.payments.announcements import rules as announced_rules
from chalicelib.payments.announcements.bridges import following
from chalicelib.payments.announcements.bridges.rules import postpone_check
from chalicelib.payments.announcements.observing import observe_announced
from chalicelib.payments.announcements.rules import Observation
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.multicalls.reading import add_children
from chalicelib.payments.links.reading import load
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    LinkStatus,
    PayableLink,
)
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Add
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event

_DUE_PER_SHARD = 60
_PER_ACCOUNT = 100
"""For how many links of an account one run checks the announced transactions; the others of that account are
postponed."""
_TIME_PER_RUN = timedelta(seconds=40)
"""A run checks no more announced transactions after this time; the Lambda may take 60 seconds."""


def track_due(services: Services) -> int:
    """Checks announced transactions that are due, those of one link at a time, one link of each account in turn;
    returns how many have ended.

    An account that has more than _PER_ACCOUNT of them has the rest postponed: so whoever announces many delays only
    their own. A run begins at a random shard of the index and stops in time. A node or Safe Transaction Service that
    does not answer is called once per run; the other announced transactions that need it are checked by a later run. A
    failure that concerns one announced transaction, or one Safe, which can be any contract, delays no others.

    A record that is due costs two reads and one write, and one query per link if one of its announced transactions
    ends; its announced transactions cost a read of the cursor each, and what observing.py and
    payments/announcements/bridges/observing.py say. What was sent for a link that is completed costs no more than that:
    each payment of the payment page is announced.
    """
    now, shard = services.clock(), services.entropy(1)[0]
    deadline = now + _TIME_PER_RUN
    due: list[LinkAnnouncements] = []
    unavailable: set[str] = set()

    def read(token: str) -> bool:
        record = link_store.find_announcements(services.store, token)
        if record is not None and record.next_due is not None and record.next_due <= now:
            due.append(record)
        return True

    def track(record: LinkAnnouncements) -> int:
        return _write(services, record, _track_record(services, record, unavailable))

    def put_off(record: LinkAnnouncements) -> int:
        later = [_postpone_check(each, now) for each in _due(record, now)]
        return _write(services, record, Checked(_replace_announced(record, later)))

    ended = 0
    with sweeping.Sweep(services.log) as sweep:
        for token in link_store.tokens_of_due_announcements(services.store, now, _DUE_PER_SHARD, shard):
            sweep.run(read, token)
        turn = announced_rules.take_turns(due, _PER_ACCOUNT)
        acts = [*((track, each) for each in turn.checked), *((put_off, each) for each in turn.postponed)]
        for act, record in sweeping.in_time(services.log, services.clock, deadline, acts):
            ended += sweep.run(act, record)
    return ended


def _due(record: LinkAnnouncements, now: datetime) -> list[AnnouncedTransaction]:
    return [each for each in record.all if each.status is AnnouncedStatus.PENDING and each.check_at <= now]


def _replace_announced(record: LinkAnnouncements, changed: Iterable[AnnouncedTransaction]) -> LinkAnnouncements:
    """The record with the present state of some of its announced transactions."""
    by_id = {each.announced_id: each for each in changed}
    return announced_rules.gather_announced(record, (by_id.get(each.announced_id, each) for each in record.all))


@frozen
class Checked:
    """The record of a link's announced transactions after a check, and what is written with it."""

    record: LinkAnnouncements
    payments: tuple[Payment, ...] = ()
    counts: tuple[Add, ...] = ()
    events: tuple[Event, ...] = ()


def _write(services: Services, before: LinkAnnouncements, checked: Checked) -> int:
    """Writes what follows from a check in one transaction; returns how many of the link's announced transactions have
    ended."""
    after = checked.record
    if not try_write(services.store, after, *checked.payments, *checked.counts, *checked.events):
        return 0  # another run was faster
    webhooks.queue_publishing(services, checked.events)
    pending = {each.announced_id for each in before.all if each.status is AnnouncedStatus.PENDING}
    ended = [each for each in after.all if each.announced_id in pending and each.status is not AnnouncedStatus.PENDING]
    for each in ended:
        services.log.info(
            "announced transaction ended", extra={"announced_id": each.announced_id, "status": each.status.value}
        )
    return len(ended)


def _track_record(services: Services, record: LinkAnnouncements, unavailable: set[str]) -> Checked:
    """The record of a link's announced transactions after a check of those that are due.

    The link is read after the cursor. An announced transaction ends without payment only if the recorder has no work
    left for the link, for links that were merged into it, or for its children: then the link, read again, has every
    payment up to the cursor; one from another chain ends only then at all. An announced transaction of a completed link
    is settled even if the node does not answer, unless it comes from another chain: what it brings is the payer's, so
    its own end is read.
    """
    now, payable = services.clock(), _payment(services, record)
    due = _due(record, now)
    here = [each for each in due if each.bridge_transfer is None]
    from_elsewhere = [each for each in due if each.bridge_transfer is not None]
    is_over = payable.link.status is LinkStatus.COMPLETED
    observations = [
        (each, None)
        if is_over and each.safe_tx_hash is None
        else _observe_announced(services, payable, each, unavailable)
        for each in here
    ]
    checked_there = [following.check_announced(services, payable, each, unavailable) for each in from_elsewhere]
    decided = _decide_announced(observations, _is_completed(services, record), now) if here else []
    has_ended = [each for each in checked_there if each.status is not AnnouncedStatus.PENDING]
    if any(announced_rules.ends_unpaid(each) for each in decided) or has_ended:
        link = payable.link
        if scan_store.has_work(services.store, (link.token, *link.merged_tokens, *link.child_tokens)):
            later = (announced_rules.postpone(each, now) for each in here)
            decided = [b if announced_rules.ends_unpaid(a) else a for a, b in zip(decided, later, strict=True)]
            return Checked(
                _replace_announced(record, (*decided, *following.put_off(from_elsewhere, checked_there, now)))
            )
        payable = _payment(services, record)
        decided = _decide_announced(
            observations, payable.link.status is LinkStatus.COMPLETED, now
        )  # by what was recorded since
    concluded = following.conclude_ends(services, payable, record.failures_notified, from_elsewhere, checked_there)
    checked = replace(
        _replace_announced(record, (*decided, *concluded.announcements)), failures_notified=concluded.failures_notified
    )
    return Checked(checked, concluded.payments, concluded.counts, concluded.events)


def _postpone_check(announced: AnnouncedTransaction, now: datetime) -> AnnouncedTransaction:
    return (
        announced_rules.postpone(announced, now)
        if announced.bridge_transfer is None
        else postpone_check(announced, now)
    )


def _observe_announced(
    services: Services, payable: PayableLink, announced: AnnouncedTransaction, unavailable: set[str]
) -> tuple[AnnouncedTransaction, Observation | None]:
    """The announced transaction with what is known of it now, and the observation; None if the node does not answer."""
    if announced.network not in unavailable:
        try:
            return observe_announced(services, payable, announced, unavailable)
        except ChainUnavailable as error:
            services.log.error(
                "announced transaction not checked", extra={"network": announced.network, "reason": error.message}
            )
            unavailable.add(announced.network)
    return announced, None


def _decide_announced(
    observations: Iterable[tuple[AnnouncedTransaction, Observation | None]], is_completed: bool, now: datetime
) -> list[AnnouncedTransaction]:
    return [
        announced_rules.decide_unobserved(announced, is_completed, now)
        if observation is None
        else announced_rules.decide(announced, replace(observation, is_completed=is_completed), now)
        for announced, observation in observations
    ]


def _payment(services: Services, record: LinkAnnouncements) -> PayableLink:
    """The link of a record as it is now; a multicall has the status and the requests that follow from its children."""
    stored = load(services, record.link_token)
    assert stored is not None, "an announced transaction is written together with its link"
    return add_children(services, stored)[0]


def _is_completed(services: Services, record: LinkAnnouncements) -> bool:
    return _payment(services, record).link.status is LinkStatus.COMPLETED
