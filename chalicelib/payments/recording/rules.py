"""Rules of recording: what is stored for a part of a payable's transfers, which it records, and their totals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chalicelib.chains.catalogue.tokens import dollar
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import unmatched
from chalicelib.payments.recording.causes import postings, refunds
from chalicelib.payments.recording.changes import OPEN, UNDECIDED, Stored, recorded_ids, requests_by_topic
from chalicelib.payments.recording.valuation import Accepted, ValuationRate, needs_valuation_rate
from chalicelib.payments.requests.payments.records import Payment, Refund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import find_mismatch, invoice_of
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, TransferState, UnrecordedTransfers


def mismatch(payable: Payable, request: Request, transfer: LoggedTransfer) -> str | None:
    """Why a transfer with the reference of a request of the payable does not count for it; None if it counts.

    What the escrow is to hold is not paid to the payee directly, whatever the merchant does with it.
    """
    if payable.commerce is not None:
        return "wrong_payee"
    return find_mismatch(request, transfer.network, transfer.token_address, transfer.payee)


def find_misdirected(
    payable: Payable, part: UnrecordedTransfers, entries: Mapping[TransferId, LoggedTransfer]
) -> set[str]:
    """The ids of the requests whose payee has received new transfers that do not count, of tokens of the catalogue."""
    requests, found = requests_by_topic(payable.requests), set[str]()
    for entry in (entries[each] for each in part.added if each in entries):
        request = requests.get(entry.reference_topic)
        if request is None or entry.escrow is not None or mismatch(payable, request, entry) is None:
            continue
        kind = unmatched.kind_of(request, entry.token_address, entry.payee, entry.network)
        found |= {request.request_id} if kind is unmatched.UnmatchedKind.RIGHT_PAYEE else set()
    return found


def refund_keys(payable: Payable, entries: Iterable[LoggedTransfer]) -> set[tuple[str, str]]:
    """Topic and currency of the refunds that transfers may send: those without the reference of a request."""
    requests = requests_by_topic(payable.requests)
    transfers = (each for each in entries if each.escrow is None)
    keys = {refunds.refund_key(entry) for entry in transfers if entry.reference_topic not in requests}
    return {key for key in keys if key is not None}


def refunding(
    payable: Payable, entries: Iterable[LoggedTransfer], known: Mapping[tuple[str, str], Refund]
) -> list[tuple[LoggedTransfer, Request]]:
    """The transfers that send a refund in the token of its request, with the request; so do refunds by the escrow."""
    requests, found = {each.request_id: each for each in payable.requests}, []
    for entry in entries:
        if entry.escrow is not None:
            payment = payable.commerce
            sent = postings.transfer_of_refund(payment, entry) if payment is not None else None
            found += [(sent, requests[payment.request_id])] if payment is not None and sent is not None else []
            continue
        key = refunds.refund_key(entry)
        refund = known.get(key) if key is not None else None
        request = requests.get(refund.request_id) if refund is not None else None
        if refund is None or request is None or refund.currency != request.currency:
            continue
        if refunds.is_sent_by(refund, entry):
            found.append((entry, request))
    return found


def new_payments(payable: Payable, part: UnrecordedTransfers, stored: Stored) -> list[tuple[LoggedTransfer, Request]]:
    """The transfers that a part adds and that count for a request, with their requests.

    Without those that only moved to another block, or come back after a fork: they keep their value.
    """
    requests = recorded_ids(payable, stored.entries.values())
    by_request = {each.request_id: each for each in payable.requests}
    removed = (stored.entries[each] for each in part.removed if each in stored.entries)
    moved = {(each.tx_hash, each.event_key) for each in removed if each.state not in UNDECIDED}
    found = []
    for each in part.added:
        entry, recorded = stored.entries.get(each), requests.get(each)
        if entry is None or recorded is None or not is_due(part, entry):
            continue
        if has_value(stored.payments.get(recorded), entry):
            continue
        request = by_request[recorded.request_id]
        if (entry.tx_hash, entry.event_key) in moved:
            continue
        if entry.escrow is not None:
            paid = postings.transfer_of_capture(payable.commerce, entry) if payable.commerce is not None else None
            found += [(paid, request)] if paid is not None else []
        elif mismatch(payable, request, entry) is None:
            found.append((entry, request))
    return found


def without_valuation_rate(
    new: Iterable[tuple[LoggedTransfer, Request]], accepted: Accepted
) -> list[tuple[LoggedTransfer, Request]]:
    """The new payments that have to be valued by a quote or a rate."""
    return [(entry, request) for entry, request in new if needs_valuation_rate(request, entry, accepted)]


def without_dollars(
    new: Iterable[tuple[LoggedTransfer, Request]],
    valuation_rates: Mapping[TransferId, ValuationRate],
    accepted: Accepted,
) -> list[tuple[LoggedTransfer, Request]]:
    """The new payments that are recorded now, and whose value in dollars nothing else says."""
    return [
        (entry, request)
        for entry, request in new
        if invoice_of(request) != dollar()
        and (entry.transfer_id in valuation_rates or not needs_valuation_rate(request, entry, accepted))
    ]


def waiting(part: UnrecordedTransfers, unvalued: Sequence[TransferId]) -> UnrecordedTransfers:
    """The work that waits for the rates of those transfers of a part that are UNVALUED."""
    version = part.version if part.waits_for_rate else 0
    return replace(part, added=tuple(unvalued), removed=(), waits_for_rate=True, version=version)


def is_due(part: UnrecordedTransfers, entry: LoggedTransfer) -> bool:
    """Whether a part records an added transfer, and has not done so before."""
    return entry.state is TransferState.UNVALUED if part.waits_for_rate else entry.state in OPEN


def has_value(known: Payment | None, entry: LoggedTransfer) -> bool:
    """Whether a transfer was valued before, as the payment that is stored for it."""
    return known is not None and known.amount == entry.amount


def same_content(removed: LoggedTransfer, added: LoggedTransfer) -> bool:
    """Whether two logs, which differ in their blocks, say the same of what was paid."""

    def content(entry: LoggedTransfer) -> tuple[object, ...]:
        return (
            entry.reference_topic, entry.token_address, entry.payee, entry.amount, entry.fee_amount, entry.fee_address,
            entry.escrow,
        )

    return content(removed) == content(added)
