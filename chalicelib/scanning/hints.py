"""Hints: messages that tell the recorder which bills have work."""

from collections.abc import Mapping

from chalicelib.services import Services
from chalicelib.storage.queue import Message, send_hints

BILLS_PER_MESSAGE = 10


def hint(services: Services, bills: Mapping[str, str], reconcile: bool = False) -> None:
    """Queues messages for the recorder, which can also ask it to compare the totals. `bills` are accounts by bill.

    A message has bills of one account, by which the queue is grouped: however many of its requests are paid at once,
    it takes few turns, and the bills of others do not wait behind them. Never raises: the sweep finds what is not
    recorded.
    """
    of_accounts = dict[str, list[str]]()
    for bill_id, account_id in bills.items():
        of_accounts.setdefault(account_id, []).append(bill_id)
    also = {"reconcile": True} if reconcile else {}
    messages = [
        Message({"account": account_id, "bills": part, **also}, account_id or part[0])
        for account_id, bill_ids in of_accounts.items()
        for part in (bill_ids[at : at + BILLS_PER_MESSAGE] for at in range(0, len(bill_ids), BILLS_PER_MESSAGE))
    ]
    send_hints(services.queue, services.log, services.settings.recordings_queue, messages)
