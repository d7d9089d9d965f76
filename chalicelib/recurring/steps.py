"""Writes what a decision about a recurring payout changes; reads what its payer has."""

from typing import TypeVar

from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.payments.events import number_events
from chalicelib.payments.requests.flows import reference_of, writes_with_daily_counts
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Add
from chalicelib.recurring.periods import Holdings, Step, commitment_of
from chalicelib.recurring.records import COMMITTED, RecurringPayment
from chalicelib.webhooks import flows as webhooks

T = TypeVar("T", RecurringPayment, Request)


def write(services: Services, before: RecurringPayment, step: Step) -> None:
    """Writes what a step changes, with its events, in one transaction, and queues the events. Raises WriteConflict."""
    requests, events = number_events((each for each in step.records if isinstance(each, Request)), step.events)
    records = [*requests, *(each for each in step.records if not isinstance(each, Request))]
    new = [each for each in records if each.version == 0]
    references = [reference_of(each) for each in new if isinstance(each, Request)]
    changed = [each for each in records if each.version]
    writes = [step.schedule, *writes_with_daily_counts([*new, *references]), *changed, *events]
    if change := step.schedule.committed - before.committed:
        writes.append(Add(commitment_of(before), {COMMITTED: change}))
    services.store.write(*writes)
    webhooks.queue_publishing(services, step.events)


def holdings(services: Services, schedule: RecurringPayment) -> Holdings:
    """What the payer has of the token, and what of it the contract may take. One call to the node; ChainUnavailable."""
    permit = schedule.permit
    spender = address_of(RECURRING_PROXY, schedule.network)
    reading = services.chains.of(schedule.network).read_wallet(permit.subscriber, [permit.token], spender)
    of_token = reading.tokens[permit.token]
    return Holdings(of_token.balance, of_token.allowance)
