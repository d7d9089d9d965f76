"""Hints: messages that tell the recorder which bills have work."""

from collections.abc import Iterable

from chalicelib.services import Services
from chalicelib.storage.queue import Message, send_hints


def hint(services: Services, bill_ids: Iterable[str], reconcile: bool = False) -> None:
    """Queues a message for the recorder per bill, which can also ask it to compare the bill's totals.

    Never raises: the sweep finds what is not recorded.
    """
    also = {"reconcile": True} if reconcile else {}
    messages = [Message({"link": bill_id, **also}, bill_id) for bill_id in bill_ids]
    send_hints(services.queue, services.log, services.settings.recordings_queue, messages)
