"""Hints: messages that tell the recorder which payables have work."""

from collections.abc import Mapping

from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints

PAYABLES_PER_MESSAGE = 10


def hint(services: Services, payables: Mapping[str, str], reconcile: bool = False) -> None:
    """Queues messages for the recorder, which can also ask it to compare the totals. `payables` are accounts by id.

    A message has payables of one account, by which the queue is grouped: however many of its requests are paid at once,
    it takes few turns, and the payables of others do not wait behind them. Never raises: the sweep finds what is not
    recorded.
    """
    of_accounts = dict[str, list[str]]()
    for payable_id, account_id in payables.items():
        of_accounts.setdefault(account_id, []).append(payable_id)
    also = {"reconcile": True} if reconcile else {}
    messages = [
        Message({"account": account_id, "bills": part, **also}, account_id or part[0])
        for account_id, ids in of_accounts.items()
        for part in (ids[at : at + PAYABLES_PER_MESSAGE] for at in range(0, len(ids), PAYABLES_PER_MESSAGE))
    ]
    send_hints(services.queue, services.log, services.settings.queue("recordings"), messages, continues=True)
