"""Refunds: which transfers send an offered refund, what they change, and what undoing one does.

A refund has a reference of its own, so its transfers never count as payments. The reference is public once it was used:
anybody can send more to the payer with it, which is then part of the sum, as the payer has the money.
"""

from dataclasses import replace

from chalicelib.base.addresses import hex_address
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_of_log
from chalicelib.payments.recording.causes import refund_totals
from chalicelib.payments.recording.causes.state import State
from chalicelib.payments.recording.changes import OPEN
from chalicelib.payments.recording.events import refunded_event
from chalicelib.payments.requests.payments.records import Refund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

MAX_ANNOUNCED = 20
"""The transfers of a refund after which only those that `is_noticed` cause events; anybody can send small ones."""


def refund_key(transfer: LoggedTransfer) -> tuple[str, str] | None:
    """Topic and currency of the refund that a transfer may send; None if its token is not in the catalogue."""
    token = token_of_log(transfer.network, transfer.token_address)
    return None if token is None else (transfer.reference_topic, token.id)


def is_sent_by(refund: Refund, transfer: LoggedTransfer) -> bool:
    """Whether a transfer with the refund's reference and token reaches the payer, on the refund's network."""
    return transfer.network == refund.network and transfer.payee == hex_address(refund.payer)


def send(
    refund: Refund, transfer: LoggedTransfer, request: Request, is_noticed: bool, context: EventContext
) -> tuple[Refund, Event | None]:
    """The refund after a transfer, and `payment.refunded` unless MAX_ANNOUNCED transfers were announced.

    A transfer that `is_noticed` is announced all the same: it returns a part of the request that is not small, of which
    there is a limited number.
    """
    sent = replace(
        refund,
        sent=BaseUnits(refund.sent + transfer.amount),
        sent_count=refund.sent_count + 1,
        tx_hash=transfer.tx_hash,
        block_number=transfer.block_number,
    )
    if refund.announced_count >= MAX_ANNOUNCED and not is_noticed:
        return sent, None
    sent = replace(sent, announced_count=refund.announced_count + 1)
    return sent, refunded_event(request, sent, transfer.amount, context)


def undo(refund: Refund, transfer: LoggedTransfer) -> Refund:
    """The refund without a transfer that a fork removed."""
    is_newest = refund.tx_hash == transfer.tx_hash
    return replace(
        refund,
        sent=BaseUnits(refund.sent - transfer.amount),
        sent_count=refund.sent_count - 1,
        tx_hash=None if is_newest else refund.tx_hash,
        block_number=None if is_newest else refund.block_number,
    )


def add_refund(state: State, entry: LoggedTransfer) -> None:
    """Adds a transfer to the refund that it sends; it has no effect if there is none."""
    if entry.state not in OPEN:
        return
    refund = _refund_of(state, entry)
    request = state.request(refund.request_id) if refund is not None else None
    if refund is None or request is None or not is_sent_by(refund, entry):
        state.ignore(entry, "reference without a request" if refund is None else "refund to another address")
        return
    known, dollar_rate = state.sent_refunds.get(entry.transfer_id), state.stored.dollar_rates.get(entry.transfer_id)
    now, payable = state.context.now, state.payable
    after, line = refund_totals.count_refund(payable, request, refund, entry, known, dollar_rate, now)
    is_noticed = refund_totals.is_noticed(request, line)
    sent, event = send(refund, entry, request, is_noticed, state.context)
    state.put_refund(sent)
    state.put_sent_refund(entry, after, line)
    state.changes.events += [event] if event is not None else []
    state.mark(entry, TransferState.REFUND)


def remove_refund(state: State, entry: LoggedTransfer) -> None:
    """Takes a transfer from the refund that it has sent."""
    refund = _refund_of(state, entry)
    if refund is None:
        return
    state.put_refund(undo(refund, entry))
    request, sent = state.request(refund.request_id), state.sent_refunds.get(entry.transfer_id)
    if sent is not None and request is not None:
        state.put_sent_refund(entry, *refund_totals.remove_refund(request, sent))


def _refund_of(state: State, entry: LoggedTransfer) -> Refund | None:
    key = refund_key(entry)
    return None if key is None else state.refunds.get(key)
