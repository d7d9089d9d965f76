"""Runs what is due: hands the payments of recurring payouts to the relayer, follows them, and repeats requests.

    by_due index ── start_due ── queue, up to 10 of one network a message ── run_payments ── relayer
                                             requests that recur ── repeat_requests

A message is a hint: what a worker does not do is due again in the next minute. Every change is conditional on the state
that it was decided for, so a message that comes twice, or to two workers, changes nothing twice.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.payments.events import number_events
from chalicelib.payments.links.rules import is_read_past
from chalicelib.payments.requests.flows import reference_of, writes_with_daily_counts
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.recurring import recur
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints
from chalicelib.platform.storage.store import WriteConflict, with_next_version
from chalicelib.platform.storage.sweeping import Sweep
from chalicelib.recurring import forks, periods, steps, store
from chalicelib.recurring.periods import Facts, Holdings, Step
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.recurring.store import InWork
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.delays import find_delays
from chalicelib.relayer.rules import Submission, SubmissionStatus
from chalicelib.webhooks import flows as webhooks

PER_MESSAGE = relayer_flows.MOST_CALLS
_DUE_PER_SHARD = 3_000
_MOST_DATES = 31
"""How many dates of one request that were missed one message makes up for; the next one goes on."""


def start_due(services: Services) -> int:
    """Queues what is due now; returns how many records. One query for each shard of the index."""
    due = store.due(services.store, services.clock(), _DUE_PER_SHARD, services.entropy(1)[0])
    groups: dict[str | None, list[str]] = defaultdict(list)
    for each in due:
        groups[each.network].append(each.name)
    messages = [
        Message(_body(network, names[start : start + PER_MESSAGE]), group=network or "requests")
        for network, names in groups.items()
        for start in range(0, len(names), PER_MESSAGE)
    ]
    send_hints(services.queue, services.log, services.settings.queue("recurring"), messages)
    return sum(len(names) for names in groups.values())


def execute_recurring(services: Services, body: str) -> None:
    """One step of the recurring payouts or requests that a message names."""
    message = json.loads(body)
    if "requests" in message:
        created = repeat_requests(services, message["requests"])
        services.log.info("requests repeated", extra={"count": created})
    else:
        submitted = run_payments(services, message["network"], message["recurring"])
        services.log.info("recurring payments submitted", extra={"count": submitted, "network": message["network"]})


def run_payments(services: Services, network: str, recurring_ids: Sequence[str]) -> int:
    """One step of each of up to 10 recurring payouts of one network that is due; returns how many payments it submits.

    Reads them by one call, their requests and transactions by another, and by two at most how many calls of payers
    of several are open: what has to wait for these is not handed over. Each step is one transaction, written before
    its payment is submitted: so whoever cancels a payout knows whether a payment can be under way. A step that fails is
    logged and stops no other one. Raises SweepIncomplete then.
    """
    now = services.clock()
    due = [each for each in store.many(services.store, network, recurring_ids) if periods.is_due(each, now)]
    in_work = store.in_work(services.store, due, [periods.call_key(each) for each in due])
    by_id = {each.recurring_id: each for each in due}
    room = Counter(each.permit.subscriber.lower() for each in due)
    several = find_delays(services, network, [payer for payer, count in room.items() if count > 1])
    room.update({payer: each.room - room[payer] for payer, each in several.items()})
    sent: dict[str, tuple[RecurringPayment, Request]] = {}

    def run(recurring_id: str) -> int:
        schedule = by_id[recurring_id]
        facts = _facts(services, schedule, in_work)
        step = periods.decide_step(schedule, facts, _retry_after(services), webhooks.event_context(services))
        if step.request is not None:
            payer = schedule.permit.subscriber.lower()
            room[payer] -= 1
            step = step if room[payer] >= 0 else periods.hold_payment(schedule, step, now)
        if _write(services, schedule, step) and step.request is not None:
            sent[recurring_id] = with_next_version(step.schedule), step.request
        return 1

    with Sweep(services.log) as sweep:
        for each in by_id:
            sweep.run(run, each)
        if sent:
            sweep.run(lambda name: _submit(services, name, list(sent.values())), network)
    return len(sent)


def repeat_requests(services: Services, request_ids: Sequence[str]) -> int:
    """Creates the new requests of requests that recur and are due; returns how many. One read, and one write for each.

    Requests that a fork made unpaid are followed by their recurring payouts: one query and one write. A failure is
    logged and stops no other request; raises SweepIncomplete then.
    """
    found = store.requests(services.store, request_ids)
    with Sweep(services.log) as sweep:
        return sum(sweep.run(lambda name: _count_attempts(services, found[name]), each) for each in found)


def _count_attempts(services: Services, request: Request) -> int:
    if request.unpaid_at is None:
        return _repeat(services, request)
    assert request.recurring_payment_id is not None, "it is the period of a recurring payout"
    schedule, known = store.with_periods(services.store, request.recurring_payment_id)
    if schedule is not None:  # it is never removed once it is signed
        _write(services, schedule, forks.take_back_period(schedule, known, request, services.clock()))
    return 0


def _repeat(services: Services, request: Request) -> int:
    for count in range(_MOST_DATES):
        context = webhooks.event_context(services)
        new = recur(request, context.now, services.entropy)
        if new is None:
            return count
        (created,), events = number_events([new.request], [periods.recurring_event(new.request, context)])
        try:
            services.store.write(new.original, *writes_with_daily_counts([created, reference_of(created)]), *events)
        except WriteConflict:  # it was paid or stopped, or another worker is at it: the next run goes on
            return count
        webhooks.queue_publishing(services, events)
        request = with_next_version(new.original)
    return _MOST_DATES


def _facts(
    services: Services,
    schedule: RecurringPayment,
    in_work: InWork,
) -> Facts:
    """What is known of the period in work. One query if it is paid, one call to the node if its attempt has failed.

    Raises LookupError if its request or payment is missing: then it is not known whether it is paid.
    """
    call, period = in_work.calls.get(periods.call_key(schedule)), in_work.periods.get(schedule.recurring_id)
    if schedule.request_id is None:
        return Facts(period)
    request = in_work.requests[schedule.request_id]
    if periods.is_paid(request):
        return Facts(period, request, store.completing_payment(services.store, request), call)
    holdings = _holdings(services, schedule) if call is not None and periods.has_failed(call) else None
    return Facts(period, request, None, call, holdings, _is_recorded(services, schedule))


def _is_recorded(services: Services, schedule: RecurringPayment) -> bool:
    """Whether nothing is left to record of what was on the chain when a payment was known to be made, which is asked
    only once the recorder is late. Two reads then."""
    if not periods.is_overdue(schedule, services.clock()) or schedule.unrecorded_since is None:
        return False
    cursor = scan_store.cursor(services.store, schedule.network)
    if cursor is None or not is_read_past(schedule.unrecorded_since, cursor.ends_until):
        return False
    return not scan_store.has_work(services.store, [schedule.request_id or ""])


def _holdings(services: Services, schedule: RecurringPayment) -> Holdings | None:
    """What the payer has; None if the node does not tell. It only explains a failure."""
    try:
        return steps.holdings(services, schedule)
    except ChainUnavailable:
        return None


def _submit(services: Services, network: str, sent: Sequence[tuple[RecurringPayment, Request]]) -> int:
    """Submits the payments of periods, and writes what follows from those that the relayer does not accept."""
    try:
        submissions = relayer_flows.submit(services, [periods.call_of(*each) for each in sent])
    except ChainUnavailable as error:  # nothing is known to have been accepted: the next look submits them again
        facts = {"network": network, "reason": error.message}
        services.log.error("recurring payments wait", extra=facts)
        return 0
    for (schedule, request), submission in zip(sent, submissions, strict=True):
        if submission.status is not SubmissionStatus.ACCEPTED:
            _write(services, schedule, _not_accepted(services, schedule, request, submission))
    return len(submissions)


def _not_accepted(services: Services, schedule: RecurringPayment, request: Request, submission: Submission) -> Step:
    context, reason = webhooks.event_context(services), submission.reason or periods.NO_REASON
    facts = {"recurring_id": schedule.recurring_id, "network": schedule.network, "reason": reason}
    if submission.is_limited:  # the operator need not be told
        services.log.info("recurring payment waits for its account", extra=facts)
        return Step(periods.postpone_look(schedule, context.now))
    if submission.status is SubmissionStatus.POSTPONED or periods.is_operators(reason):
        services.log.error("recurring payments wait", extra=facts)
        return Step(periods.postpone_look(schedule, context.now))
    services.log.info("recurring payment refused", extra=facts)
    if submission.status is SubmissionStatus.WAITING:
        return Step(periods.waiting(schedule, context.now))
    is_recorded = _is_recorded(services, schedule)
    known = Facts(request=request, holdings=_holdings(services, schedule), is_recorded=is_recorded)
    return periods.decide_refused(schedule, known, reason, _retry_after(services), context)


def _write(services: Services, before: RecurringPayment, step: Step) -> bool:
    """Whether a step was written: its record may have been cancelled, or be in the hands of another worker."""
    try:
        steps.write(services, before, step)
    except WriteConflict:
        return False
    after = step.schedule
    if after.status is RecurringStatus.PAUSED and after.failure_reason == periods.NOT_RECORDED and step.events:
        facts = {"recurring_id": after.recurring_id, "network": after.network, "period": after.period}
        services.log.error("recurring payment not recorded", extra=facts)
    return True


def _retry_after(services: Services) -> timedelta:
    return timedelta(seconds=services.settings.recurring_retry_seconds)


def _body(network: str | None, names: Sequence[str]) -> dict[str, Any]:
    return {"requests": list(names)} if network is None else {"network": network, "recurring": list(names)}
