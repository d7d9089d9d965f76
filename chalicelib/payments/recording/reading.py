"""Reads all that is stored for one part of a payable's transfers, and the rates that value its new payments."""

from dataclasses import replace

from chalicelib.chains.catalogue.tokens import dollar
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import rules, store
from chalicelib.payments.recording.changes import RecordedId, Stored, recorded_ids
from chalicelib.payments.recording.valuation_rates import ValuationRates
from chalicelib.payments.recording.valuing import Accepted
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.rules import invoice_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.services import Services


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
    stored = replace(stored, sent_refunds=store.find_sent_refunds(services.store, returns))
    new = rules.new_payments(payable, part, stored)
    known = valuation_rates.of(rules.without_valuation_rate(new, accepted))
    wanted = rules.without_dollars(new, known, accepted)
    wanted += [(entry, request) for entry, request in returns if invoice_of(request) != dollar()]
    return replace(stored, valuation_rates=known, dollar_rates=valuation_rates.dollars(wanted))


def _read_recorded(services: Services, part: UnrecordedTransfers, payable: Payable) -> Stored:
    entries = scan_store.find_logged(services.store, part.network, [*part.added, *part.removed])
    ids = recorded_ids(payable, entries.values())
    paid, unmatched = store.find_recorded(services.store, part.network, ids.values())
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
    ledger = store.ledger(services.store, payment.request_id, events) if events else {}
    found = request_store.references(services.store, topics) if topics else []
    return replace(stored, ledger=ledger, references={each.topic: each for each in found})
