"""The queue consumers that send mails and note news of them; the schedules that tell of changes and sweep mails."""

import json

from chalicelib.mail import changes, flows
from chalicelib.platform.services import Services


def send_mail(services: Services, body: str) -> None:
    """Makes one attempt to send one mail per message."""
    flows.send(services, json.loads(body)["mailId"])


def note_mail(services: Services, body: str) -> None:
    """Notes what SES says of a message that was sent."""
    flows.note(services, body)


def sweep_mails(services: Services) -> int:
    """Queues mails whose message was not sent because of a crash, and those whose next attempt is due."""
    return flows.sweep(services)


def tell_changes(services: Services) -> int:
    """Writes the mails to owners about what was changed in their accounts."""
    return changes.tell(services)
