"""Messages by which a payment intent is looked at as soon as something can have happened, and not once a minute.

They may be lost: the schedule finds every payment intent that is due.
"""

from math import ceil

from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints

LONGEST_SECONDS = 60
"""What is due later than that is left to the schedule, which runs every minute."""


def queue_look(services: Services, intent: PaymentIntent) -> None:
    """Queues the next look at a payment intent for when it is due."""
    if intent.check_at is None:
        return
    seconds = max(ceil((intent.check_at - services.clock()).total_seconds()), 0)
    if seconds < LONGEST_SECONDS:
        message = Message({"paymentIntent": intent.intent_id}, intent.account_id, seconds)
        send_hints(services.queue, services.log, services.settings.queue("payment-intents"), [message], continues=True)
