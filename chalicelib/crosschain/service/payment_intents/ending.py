"""Ends payment intents: what is written with the end, so that the request can be paid again, and who is told."""

from dataclasses import replace

from chalicelib.crosschain.service.payment_intents import locked_rates, stages
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent
from chalicelib.payments.events import failed_event
from chalicelib.payments.requests import executions
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.quotes.records import LockedRate
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Add
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import RelayedCall
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event

NOTHING_TAKEN = "Nothing was taken: the payment could not be begun"
Also = tuple[Payment | Add | LockedRate | RelayedCall, ...]


def end(services: Services, intent: PaymentIntent, request: Request, how: End, also: Also = ()) -> None:
    """Ends a payment intent that never got into the bridge, and tells the merchant why, unless the request is paid."""
    ended, events = stages.end_intent(intent, how, services.clock()), tuple[Event, ...]()
    if request.status is not RequestStatus.PAID:
        status = "bounced" if how is End.REFUNDED else "failed"
        context, facts = webhooks.event_context(services), {"network": intent.network, "subStatus": status}
        events = (
            failed_event(request, intent.reason, context, stages.amount_counted(intent), intent.returned_by, **facts),
        )
    write(services, ended, request, (*locked_rates.end_lock(services, intent), *also), events)


def give_up(services: Services, intent: PaymentIntent, request: Request, why: str) -> None:
    """Ends a payment intent of which nothing was taken, in words why. From then on no worker can have it taken.

    Raises WriteConflict if one has done so in the meantime, and if anything else has changed: then nothing is written.
    """
    withdrawn = relayer_flows.withdrawal(services, intent.network, stages.call_key(intent, "take"), why)
    end(services, replace(intent, reason=f"{NOTHING_TAKEN}: {why}"), request, End.FAILED, (withdrawn,))


def write(services: Services, intent: PaymentIntent, request: Request, also: Also, events: tuple[Event, ...]) -> None:
    """Writes the end with its events and the request, which can be paid again from then on, in one transaction."""
    assert intent.end is not None and request.execution is not None, "it was accepted and has ended"
    execution = executions.end_execution(request.execution, ExecutionStatus(intent.end.value))
    services.store.write(intent, replace(request, execution=execution), *also, *events)
    webhooks.queue_publishing(services, events)
    services.log.info("payment intent ended", extra={**facts_of(intent), "end": intent.end.value})


def facts_of(intent: PaymentIntent) -> dict[str, str]:
    """What lines of the log say of a payment intent."""
    return {"intent_id": intent.intent_id, "network": intent.network, "stage": intent.stage.value}
