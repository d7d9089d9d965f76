"""The circuit breaker of a webhook, so that one that does not answer takes no worker's time from the others.

    closed      attempts are made; in the slow lane after two deliveries failed, until an attempt succeeds, and after an
                answer that took SLOW_ANSWER, until one is quicker
    open        no attempt is made, deliveries wait; a probe is due at growing intervals
    half open   one waiting delivery is attempted as a probe: success closes, failure opens again

A circuit opens when OPEN_AFTER_DELIVERIES different deliveries failed in OPEN_AFTER or longer, and none succeeded in
between: a receiver that restarts within that time keeps the schedule of its deliveries.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum

from chalicelib.base.timestamps import iso
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.kinds import body_of, new_event, with_sequence
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

SLOW_AFTER_DELIVERIES = 2
"""A single failure, which every receiver has now and then, delays no first attempt."""
SLOW_ANSWER = timedelta(seconds=2)
"""Answers that take so long, up to the deadline of five seconds, occupy workers as receivers that do not answer."""
OPEN_AFTER_DELIVERIES = 5
OPEN_AFTER = timedelta(seconds=10)
FIRST_PROBE = timedelta(seconds=15)
LONGEST_PAUSE = timedelta(minutes=15)
"""Between two probes; each pause is twice as long as the one before. SQS delays no message longer."""
PROBE_LEASE = timedelta(seconds=20)
"""How long a probe may take until another one is made in its place; as the lease of an attempt."""
DRAIN_FOR = timedelta(seconds=60)
"""How long waiting deliveries are looked for after a circuit closed. Longer than a worker lives (30 s), so that what is
set aside by one that read the open circuit before is found."""
DRAIN_PAUSE = timedelta(seconds=1)
"""Between two releases of waiting deliveries, so that a receiver which is back is not flooded."""


LONG = timedelta(hours=1)
"""After which operator and merchant hear of an open circuit."""

FAILING = "webhook.failing"


class Route(Enum):
    """What is done with a delivery."""

    ATTEMPT = "attempt"
    ATTEMPT_IN_SLOW_LANE = "attempt in slow lane"
    PROBE = "probe"
    WAIT = "wait"


def route(circuit: Circuit | None, now: datetime) -> Route:
    """What the circuit of its webhook says about a delivery whose attempt is due."""
    if circuit is None:
        return Route.ATTEMPT
    if circuit.state is CircuitState.CLOSED:
        is_slow = circuit.is_slow or len(circuit.failed_deliveries) >= SLOW_AFTER_DELIVERIES
        return Route.ATTEMPT_IN_SLOW_LANE if is_slow else Route.ATTEMPT
    assert circuit.due_at is not None, "a circuit that is not closed has a next probe"
    return Route.PROBE if now >= circuit.due_at else Route.WAIT


def is_alive(status: int | None) -> bool:
    """Whether a status shows a receiver that works. One that refuses what it was sent (4xx) does."""
    return status is not None and status < 500 and status != 429


def new_circuit(
    webhook_id: str, account_id: str, client_id: str | None, now: datetime, is_public: bool = False
) -> Circuit:
    """The circuit of a webhook that never failed."""
    return Circuit(
        webhook_id=webhook_id,
        account_id=account_id,
        client_id=client_id,
        state=CircuitState.CLOSED,
        failed_deliveries=(),
        failing_since=None,
        failed_probes=0,
        closed_at=None,
        due_at=None,
        updated_at=now,
        is_public=is_public,
    )


def begin_probe(circuit: Circuit, now: datetime) -> Circuit:
    """The circuit while the probe is made that is due."""
    return replace(circuit, state=CircuitState.HALF_OPEN, due_at=now + PROBE_LEASE, updated_at=now)


def after_failure(circuit: Circuit, delivery_id: str, is_probe: bool, now: datetime) -> Circuit:
    """The circuit after a failed attempt. An attempt that began before it opened changes nothing."""
    if circuit.state is not CircuitState.CLOSED:
        if not is_probe:
            return circuit
        failed = circuit.failed_probes + 1
        due_at = now + pause(failed)
        return replace(circuit, state=CircuitState.OPEN, failed_probes=failed, due_at=due_at, updated_at=now)
    failed_deliveries, since = circuit.failed_deliveries, circuit.failing_since or now
    if delivery_id not in failed_deliveries and len(failed_deliveries) < OPEN_AFTER_DELIVERIES:
        failed_deliveries = (*failed_deliveries, delivery_id)
    changed = replace(circuit, failed_deliveries=failed_deliveries, failing_since=since, updated_at=now)
    if len(failed_deliveries) == OPEN_AFTER_DELIVERIES and now - since >= OPEN_AFTER:
        return replace(changed, state=CircuitState.OPEN, due_at=now + pause(circuit.failed_probes), closed_at=None)
    return circuit if failed_deliveries == circuit.failed_deliveries else changed


def is_long_open(circuit: Circuit, now: datetime) -> bool:
    """Whether all attempts at the webhook of an open circuit have failed for LONG or more."""
    since = circuit.failing_since
    return circuit.state is CircuitState.OPEN and since is not None and now - since >= LONG


def failing_since(circuit: Circuit | None, now: datetime) -> datetime | None:
    """Since when every attempt at a webhook has failed, if those of OPEN_AFTER_DELIVERIES did, for LONG or more.

    It holds until an attempt succeeds, also when no delivery waits for a probe any more. None of a public webhook, as
    anybody may register those.
    """
    if circuit is None or circuit.is_public or circuit.failing_since is None:
        return None
    is_long = now - circuit.failing_since >= LONG and len(circuit.failed_deliveries) == OPEN_AFTER_DELIVERIES
    return circuit.failing_since if is_long else None


def failing_event(circuit: Circuit, context: EventContext) -> Event | None:
    """What the merchant is sent of a circuit that is open for LONG: one event until an attempt succeeds. None of a
    public webhook, as anybody may register those.

    Its sequence is the time in seconds, as the circuit, which may vanish and begin anew, has one in LONG at most.
    """
    if circuit.is_public or circuit.is_notified or not is_long_open(circuit, context.now):
        return None
    assert circuit.failing_since is not None, "it is long open"
    since, now = iso(circuit.failing_since), iso(context.now)
    body = body_of(FAILING, {"timestamp": now, "webhookId": circuit.webhook_id, "failingSince": since})
    event = new_event(FAILING, body, circuit.account_id, circuit.client_id, context)
    return replace(with_sequence(event, int(context.now.timestamp())), about_webhook_id=circuit.webhook_id)


def after_success(circuit: Circuit, now: datetime, took: timedelta = timedelta()) -> Circuit:
    """The circuit after an answer: closed, and without failures. The same object if nothing changes."""
    is_slow = took >= SLOW_ANSWER
    closed = circuit
    if circuit.state is not CircuitState.CLOSED:
        closed = close(circuit, now)
    elif not circuit.failed_deliveries and circuit.is_slow is is_slow:
        return circuit
    answering = replace(closed, failing_since=None, is_notified=False, is_slow=is_slow, updated_at=now)
    return replace(answering, failed_deliveries=(), failed_probes=0)


def close(circuit: Circuit, now: datetime) -> Circuit:
    """An open circuit as closed with its failures, so that the next one opens it again: nothing waits for a probe."""
    return replace(circuit, state=CircuitState.CLOSED, closed_at=now, due_at=now, updated_at=now)


def after_draining(circuit: Circuit, found: bool, now: datetime) -> Circuit:
    """A closed circuit after a release of waiting deliveries; not due any more if none were `found` for DRAIN_FOR."""
    end = (circuit.closed_at or now) + DRAIN_FOR
    due_at = now + DRAIN_PAUSE if found else end if now < end else None
    return replace(circuit, due_at=due_at, updated_at=now)


def probe_now(circuit: Circuit, now: datetime) -> Circuit:
    """An open circuit whose probe is due at once, because the merchant asks for it."""
    return replace(circuit, due_at=now, updated_at=now)


def pause(failed_probes: int) -> timedelta:
    """The time until the next probe."""
    doubled: int = 2 ** min(failed_probes, 16)
    return min(FIRST_PROBE * doubled, LONGEST_PAUSE)
