"""The queue's consumer that makes the payments that payers have signed."""

import json

from chalicelib.crosschain.service.payment_intents import running, store
from chalicelib.crosschain.service.payment_intents.hints import queue_look
from chalicelib.platform.services import Services


def follow_payment_intent(services: Services, body: str) -> None:
    """Takes the steps of the payment intent that a message names, and queues the next look at it."""
    intent_id = json.loads(body)["paymentIntent"]
    running.advance(services, intent_id, set())
    intent = store.payment_intent(services.store, intent_id)
    if intent is not None:
        queue_look(services, intent)
