"""The schedule and the queue's consumer that make the payments that payers have signed."""

import json

from chalicelib.crosschain.service.payment_intents import running, store
from chalicelib.crosschain.service.payment_intents.hints import queue_look
from chalicelib.platform.services import Services


def run_payment_intents(services: Services) -> None:
    looked_at = running.run_due(services)
    if looked_at:
        services.log.info("payment intents looked at", extra={"count": looked_at})


def follow_payment_intent(services: Services, body: str) -> None:
    """Takes the steps of the payment intent that a message names, and queues the next look at it."""
    message = json.loads(body)
    intent_id = message["paymentIntent"]
    running.advance(services, intent_id, set())
    intent = store.payment_intent(services.store, intent_id)
    if intent is not None:
        queue_look(services, intent, message["looks"] + 1)
