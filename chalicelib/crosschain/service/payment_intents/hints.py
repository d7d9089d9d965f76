"""Messages by which a payment intent is looked at as soon as something can have happened, and not once a minute.

They may be lost: the schedule finds every payment intent that is due.
"""

from math import ceil

from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints

MOST_LOOKS = 12
"""How many messages follow each other. AWS ends a chain in which one function came about 16 times over SQS; what is not
done by then is left to the schedule."""
LONGEST_SECONDS = 60
"""What is due later than that is left to the schedule, which runs every minute."""


def queue_look(services: Services, intent: PaymentIntent, looks: int = 0) -> None:
    """Queues the next look at a payment intent for when it is due, after `looks` others of the same chain."""
    if intent.check_at is None or looks >= MOST_LOOKS:
        return
    seconds = max(ceil((intent.check_at - services.clock()).total_seconds()), 0)
    if seconds < LONGEST_SECONDS:
        message = Message({"paymentIntent": intent.intent_id, "looks": looks}, intent.account_id, seconds)
        send_hints(services.queue, services.log, services.settings.payment_intents_queue, [message])
