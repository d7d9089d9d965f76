"""Follows announced transactions until they are executed, replaced or given up."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.crosschain.service.tracking import following as crossings
from chalicelib.crosschain.service.tracking.times import postponed
from chalicelib.payments.announced import rules as intents
from chalicelib.payments.announced.observing import observed
from chalicelib.payments.announced.rules import Observation
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.reading import load
from chalicelib.payments.links.records import Intent, IntentStatus, LinkStatus, PayableLink, PaymentType
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
"""For how many links of an account one run checks the intents; the others of that account are postponed."""
_TIME_PER_RUN = timedelta(seconds=40)
"""A run checks no more intents after this time; the Lambda may take 60 seconds."""


def track_due(services: Services) -> int:
    """Checks intents that are due, those of one link at a time, one link of each account in turn; returns how many have
    ended.

    An account that has more than _PER_ACCOUNT of them has the rest postponed: so whoever announces many delays only
    their own. A run begins at a random shard of the index and stops in time. A node or Safe Transaction Service that
    does not answer is called once per run; the other intents that need it are checked by a later run. A failure that
    concerns one intent, or one Safe, which can be any contract, delays no others.

    A record that is due costs two reads and one write, and one query per link if one of its intents ends; its intents
    cost a read of the cursor each, and what observing.py and crossings/observing.py say. What was sent for a link that
    is completed costs no more than that: each payment of the payment page is announced.
    """
    now, shard = services.clock(), services.entropy(1)[0]
    deadline = now + _TIME_PER_RUN
    due: list[Intent] = []
    unavailable: set[str] = set()

    def read(token: str) -> bool:
        record = link_store.intent(services.store, token)
        if record is not None and record.next_due is not None and record.next_due <= now:
            due.append(record)
        return True

    def track(record: Intent) -> int:
        return _write(services, record, _tracked(services, record, unavailable))

    def put_off(record: Intent) -> int:
        later = [_postponed(each, now) for each in _due(record, now)]
        return _write(services, record, Checked(_replaced(record, later)))

    ended = 0
    with sweeping.Sweep(services.log) as sweep:
        for token in link_store.tokens_of_due_intents(services.store, now, _DUE_PER_SHARD, shard):
            sweep.run(read, token)
        turn = intents.in_turn(due, _PER_ACCOUNT)
        acts = [*((track, each) for each in turn.checked), *((put_off, each) for each in turn.postponed)]
        for act, record in sweeping.in_time(services.log, services.clock, deadline, acts):
            ended += sweep.run(act, record)
    return ended


def _due(record: Intent, now: datetime) -> list[Intent]:
    return [each for each in record.all if each.status is IntentStatus.PENDING and each.check_at <= now]


def _replaced(record: Intent, changed: Iterable[Intent]) -> Intent:
    """The record with the present state of some of its intents."""
    by_id = {each.intent_id: each for each in changed}
    return intents.together(record, (by_id.get(each.intent_id, each) for each in record.all))


@frozen
class Checked:
    """The record of a link's intents after a check, and what is written with it."""

    record: Intent
    payments: tuple[Payment, ...] = ()
    counts: tuple[Add, ...] = ()
    events: tuple[Event, ...] = ()


def _write(services: Services, before: Intent, checked: Checked) -> int:
    """Writes what follows from a check in one transaction; returns how many of the link's intents have ended."""
    after = checked.record
    if not try_write(services.store, after, *checked.payments, *checked.counts, *checked.events):
        return 0  # another run was faster
    webhooks.queue_announcements(services, checked.events)
    pending = {each.intent_id for each in before.all if each.status is IntentStatus.PENDING}
    ended = [each for each in after.all if each.intent_id in pending and each.status is not IntentStatus.PENDING]
    for each in ended:
        services.log.info("intent ended", extra={"intent_id": each.intent_id, "status": each.status.value})
    return len(ended)


def with_children(services: Services, stored: PayableLink) -> tuple[PayableLink, tuple[PayableLink, ...]]:
    """The link, and the links that it pays. A multicall gets its status and its requests from its children."""
    if stored.link.payment_type is not PaymentType.MULTICALL:
        return stored, (stored,)
    from chalicelib.payments.links.multicalls.reading import details as read_details  # most links are none

    details = read_details(services, stored)
    status = details.status if details.status is LinkStatus.COMPLETED else stored.link.status
    parts = tuple(child.payment for child in details.children if child.payment is not None)
    return PayableLink(details.requests, replace(stored.link, status=status), stored.intent), parts


def _tracked(services: Services, record: Intent, unavailable: set[str]) -> Checked:
    """The record of a link's intents after a check of those that are due.

    The link is read after the cursor. An intent ends without payment only if the recorder has no work left for the
    link, for links that were merged into it, or for its children: then the link, read again, has every payment up to
    the cursor; one from another chain ends only then at all. An intent of a completed link is settled even if the node
    does not answer, unless it comes from another chain: what it brings is the payer's, so its own end is read.
    """
    now, payment = services.clock(), _payment(services, record)
    due = _due(record, now)
    here = [each for each in due if each.crossing is None]
    crossing = [each for each in due if each.crossing is not None]
    is_over = payment.link.status is LinkStatus.COMPLETED
    seen = [
        (each, None) if is_over and each.safe_tx_hash is None else _seen(services, payment, each, unavailable)
        for each in here
    ]
    crossed = [crossings.checked(services, payment, each, unavailable) for each in crossing]
    decided = _decided(seen, _is_completed(services, record), now) if here else []
    has_ended = [each for each in crossed if each.status is not IntentStatus.PENDING]
    if any(intents.ends_unpaid(each) for each in decided) or has_ended:
        link = payment.link
        if scan_store.has_work(services.store, (link.token, *link.merged_tokens, *link.child_tokens)):
            later = (intents.postpone(each, now) for each in here)
            decided = [b if intents.ends_unpaid(a) else a for a, b in zip(decided, later, strict=True)]
            return Checked(_replaced(record, (*decided, *crossings.put_off(crossing, crossed, now))))
        payment = _payment(services, record)
        decided = _decided(seen, payment.link.status is LinkStatus.COMPLETED, now)  # by what was recorded since
    concluded = crossings.concluded(services, payment, record, crossing, crossed)
    checked = replace(_replaced(record, (*decided, *concluded.intents)), failures_told=concluded.failures_told)
    return Checked(checked, concluded.payments, concluded.counts, concluded.events)


def _postponed(intent: Intent, now: datetime) -> Intent:
    return intents.postpone(intent, now) if intent.crossing is None else postponed(intent, now)


def _seen(
    services: Services, payment: PayableLink, intent: Intent, unavailable: set[str]
) -> tuple[Intent, Observation | None]:
    """The intent with what is known of it now, and the observation; None if the node does not answer."""
    if intent.network not in unavailable:
        try:
            return observed(services, payment, intent, unavailable)
        except ChainUnavailable as error:
            services.log.error("intent not checked", extra={"network": intent.network, "reason": error.message})
            unavailable.add(intent.network)
    return intent, None


def _decided(seen: Iterable[tuple[Intent, Observation | None]], is_completed: bool, now: datetime) -> list[Intent]:
    return [
        intents.decide_unobserved(intent, is_completed, now)
        if observation is None
        else intents.decide(intent, replace(observation, is_completed=is_completed), now)
        for intent, observation in seen
    ]


def _payment(services: Services, record: Intent) -> PayableLink:
    """The link of a record as it is now; a multicall has the status and the requests that follow from its children."""
    stored = load(services, record.link_token)
    assert stored is not None, "an intent is written together with its link"
    return with_children(services, stored)[0]


def _is_completed(services: Services, record: Intent) -> bool:
    return _payment(services, record).link.status is LinkStatus.COMPLETED
