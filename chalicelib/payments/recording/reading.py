"""Reads all that is stored for one part of a payable's transfers, and the rates that value its new payments."""

from collections.abc import Iterable
from dataclasses import replace

from chalicelib.base.records import Key, Record
from chalicelib.chains.catalogue.tokens import dollar
from chalicelib.commerce.core.records import CommercePayment, EscrowEntry
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import rules
from chalicelib.payments.recording.changes import RecordedId, Stored, recorded_ids
from chalicelib.payments.recording.valuation_rates import ValuationRates
from chalicelib.payments.recording.valuing import Accepted
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import invoice_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, UnrecordedTransfers
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Store


def read_stored(
    services: Services,
    valuation_rates: ValuationRates,
    part: UnrecordedTransfers,
    payable: Payable,
    accepted: Accepted,
) -> Stored:
    """What is stored for the transfers of a part.

    Two reads, up to two more if there are transfers without the reference of a request, which may send refunds, and one
    query per request with removals, or with transfers to its payee that do not count; of a commerce payment one read
    more for its events, and one if some have another hash. Rates are asked for as `ValuationRates` says.
    """
    stored = _read_recorded(services, part, payable)
    if payable.commerce is not None:
        stored = _with_ledger(services, stored, payable.commerce)
    returns = rules.refunding(payable, stored.entries.values(), stored.refunds)
    stored = replace(stored, sent_refunds=find_sent_refunds(services.store, returns))
    new = rules.new_payments(payable, part, stored)
    known = valuation_rates.of(rules.without_valuation_rate(new, accepted))
    wanted = rules.without_dollars(new, known, accepted)
    wanted += [(entry, request) for entry, request in returns if invoice_of(request) != dollar()]
    return replace(stored, valuation_rates=known, dollar_rates=valuation_rates.dollars(wanted))


def _read_recorded(services: Services, part: UnrecordedTransfers, payable: Payable) -> Stored:
    entries = scan_store.find_logged(services.store, part.network, [*part.added, *part.removed])
    ids = recorded_ids(payable, entries.values())
    paid, unmatched = find_recorded(services.store, part.network, ids.values())
    for request_id in rules.find_misdirected(payable, part, entries):
        known = payment_store.list_unmatched_transfers(services.store, request_id)
        unmatched |= {RecordedId.of(each): each for each in known}
    removed = {ids[each].request_id for each in part.removed if each in ids}
    listed = {request_id: payment_store.payments(services.store, request_id) for request_id in removed}
    refunds = payment_store.refunds(services.store, rules.refund_keys(payable, entries.values()))
    return Stored(entries, paid, unmatched, listed, refunds)


def _with_ledger(services: Services, stored: Stored, payment: CommercePayment) -> Stored:
    """What is stored for a part, with the entries of its events of the escrow, and what found those whose hash is not
    the payment's. One read of each, if there are any."""
    events = [each for each in stored.entries.values() if each.escrow is not None]
    topics = {each.reference_topic for each in events if each.reference_topic != payment.payment_hash}
    ledger = find_entries(services.store, payment.request_id, events) if events else {}
    found = request_store.references(services.store, topics) if topics else []
    return replace(stored, ledger=ledger, references={each.topic: each for each in found})


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


def find_entries(store: Store, request_id: str, events: Iterable[LoggedTransfer]) -> dict[TransferId, EscrowEntry]:
    """The entries of these events of the escrow that exist, in batches of 100."""
    keys = {
        EscrowEntry.key_of(request_id, each.block_number, each.block_hash, each.tx_hash, each.event_key): EscrowEntry
        for each in events
    }
    found = store.get_many(keys).values()
    return {TransferId(each.block_number, each.block_hash, each.tx_hash, each.event_key): each for each in found}
