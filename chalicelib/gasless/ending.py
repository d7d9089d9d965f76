"""Ends gasless payments: what is written with the end, so that the request can be paid again, and who is told."""

from dataclasses import replace

from chalicelib.base.records import Record
from chalicelib.gasless import rules, store
from chalicelib.gasless.records import Stage
from chalicelib.payments.events import Counted, failed_event, number_events
from chalicelib.payments.requests import executions
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event


def end_lost(services: Services, payment_id: str, reason: str) -> None:
    """Ends a payment that no transaction has, and tells the merchant why, unless the request is paid."""
    end(services, payment_id, Stage.SIGNED, Stage.FAILED, None, f"Nothing was taken: {reason}")


@retry_conflicts(5)  # a payment of the request may be recorded meanwhile
def end(
    services: Services, payment_id: str, before: Stage, stage: Stage, tx_hash: str | None, reason: str | None
) -> None:
    """Ends a payment that is in the stage `before`, and unlocks its request, in one transaction with the event that it
    has failed; nothing if it is in another stage now. Of a request that is not stored any more there is nothing to
    tell. Two reads and a write. Raises WriteConflict after five conflicts.
    """
    payment = store.payment(services.store, payment_id)
    if payment is None or payment.stage is not before:
        return
    request = request_store.request(services.store, payment.request_id)
    ended: list[Record] = [rules.end_payment(payment, stage, tx_hash, reason, services.clock())]
    events = tuple[Event, ...]()
    if request is not None and stage is Stage.FAILED and request.status is not RequestStatus.PAID:
        counted, context = Counted(payment.owed, payment.amount), webhooks.event_context(services)
        events = (failed_event(request, reason, context, counted, None, network=payment.network),)
    unlocked = request
    if request is not None and request.execution is not None and request.execution.intent_id == payment_id:
        status = ExecutionStatus.SETTLED if stage is Stage.PAID else ExecutionStatus.FAILED
        unlocked = replace(request, execution=executions.end_execution(request.execution, status))
    if unlocked is not None and (unlocked != request or events):
        requests, events = number_events([unlocked], events)
        ended += requests
    services.store.write(*ended, *events)
    webhooks.queue_publishing(services, events)
    services.log.info("gasless payment ended", extra={"payment_id": payment_id, "stage": stage.value})
