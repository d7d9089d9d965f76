"""Reads of what was recorded before of logged transfers: payments, unmatched transfers, entries of the escrow."""

from collections.abc import Iterable

from chalicelib.base.records import Key, Record
from chalicelib.commerce.core.records import EscrowEntry
from chalicelib.payments.recording.changes import RecordedId
from chalicelib.payments.requests.payments.records import Payment, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.platform.storage.store import Store


def find_recorded(
    store: Store, network: str, ids: Iterable[RecordedId]
) -> tuple[dict[RecordedId, Payment], dict[RecordedId, UnmatchedTransfer]]:
    """The payments and the unmatched transfers with these ids that exist. Two keys per id, in batches of 100."""
    wanted: dict[Key, type[Record]] = {}
    for each in ids:
        names = {"request_id": each.request_id, "network": network, "tx_hash": each.tx_hash}
        names["event_key"] = each.event_key
        wanted[Payment.KEY.of(**names)] = Payment
        wanted[UnmatchedTransfer.KEY.of(**names)] = UnmatchedTransfer
    found = list(store.get_many(wanted).values())
    return (
        {RecordedId.of(each): each for each in found if isinstance(each, Payment)},
        {RecordedId.of(each): each for each in found if isinstance(each, UnmatchedTransfer)},
    )


def find_sent_refunds(
    store: Store, transfers: Iterable[tuple[LoggedTransfer, Request]]
) -> dict[TransferId, SentRefund]:
    """The lines of transfers that send refunds of these requests, as far as they exist, in batches of 100."""
    keys = {
        entry.transfer_id: SentRefund.KEY.of(
            request_id=request.request_id, network=entry.network, tx_hash=entry.tx_hash, event_key=entry.event_key
        )
        for entry, request in transfers
    }
    found = store.get_many(dict.fromkeys(keys.values(), SentRefund)) if keys else {}
    return {transfer_id: found[key] for transfer_id, key in keys.items() if key in found}


def ledger(store: Store, request_id: str, events: Iterable[LoggedTransfer]) -> dict[TransferId, EscrowEntry]:
    """The entries of these events of the escrow that exist, in batches of 100."""
    keys = (EscrowEntry.KEY.of(request_id=request_id, **vars(each.transfer_id)) for each in events)
    found = store.get_many(dict.fromkeys(keys, EscrowEntry)).values()
    return {TransferId(each.block_number, each.block_hash, each.tx_hash, each.event_key): each for each in found}
