"""What recording reads and writes of a part of a payable's transfers: what is stored of them, and what changes."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record
from chalicelib.commerce.core.records import EscrowEntry
from chalicelib.payments.links.records import Payable
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording.valuation import ValuationRate
from chalicelib.payments.requests.payments.records import Payment, Refund, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Reference, Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, TransferState
from chalicelib.webhooks.records import Event

OPEN = (TransferState.UNRECORDED, TransferState.REVERSED)
UNDECIDED = (*OPEN, TransferState.UNVALUED)


@frozen
class RecordedId:
    """Identifies the payment or unmatched transfer of a request that a transfer became."""

    request_id: str
    tx_hash: str
    event_key: str

    @classmethod
    def of(cls, recorded: Payment | UnmatchedTransfer) -> Self:
        return cls(recorded.request_id, recorded.tx_hash, recorded.event_key)


def requests_by_topic(requests: Iterable[Request]) -> dict[str, Request]:
    """The requests by the topics of their references."""
    return {reference_topic(bytes.fromhex(each.payment_reference[2:])): each for each in requests}


def recorded_ids(payable: Payable, entries: Iterable[LoggedTransfer]) -> dict[TransferId, RecordedId]:
    """The id of what each transfer became, or will become; without those whose request is not of the payable."""
    requests = {topic: each.request_id for topic, each in requests_by_topic(payable.requests).items()}
    found = dict[TransferId, RecordedId]()
    for entry in entries:
        of_escrow = payable.commerce.request_id if payable.commerce is not None and entry.escrow is not None else None
        request_id = of_escrow or requests.get(entry.reference_topic)
        if request_id is not None:
            found[entry.transfer_id] = RecordedId(request_id, entry.tx_hash, entry.event_key)
    return found


@frozen
class Stored:
    """What is stored for the transfers of a part.

    `listed` are all listed payments of the requests from which the part removes transfers; they are needed for what
    follows from a removal, and are not read otherwise. `refunds` are by topic and currency. `valuation_rates` are what
    transfers are valued by (`without_valuation_rate`), `dollar_rates` what one US dollar was in their token
    (`without_dollars`). `unmatched` has, besides those with the ids of the part's transfers, all of the requests that
    are `find_misdirected`.
    `ledger` are the entries of the escrow's events, `references` by topic what found those of wallets that are not the
    payer.
    `sent_refunds` are the lines of refunds that were recorded before.
    """

    entries: Mapping[TransferId, LoggedTransfer]
    payments: Mapping[RecordedId, Payment]
    unmatched: Mapping[RecordedId, UnmatchedTransfer]
    listed: Mapping[str, tuple[Payment, ...]]
    refunds: Mapping[tuple[str, str], Refund] = field(default_factory=dict)
    valuation_rates: Mapping[TransferId, ValuationRate] = field(default_factory=dict)
    dollar_rates: Mapping[TransferId, Rate] = field(default_factory=dict)
    ledger: Mapping[TransferId, EscrowEntry] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    sent_refunds: Mapping[TransferId, SentRefund] = field(default_factory=dict)


@dataclass
class Changes:
    """What one part changes, in memory: `payable` is the payable after it, `records` the others to write, by key."""

    payable: Payable
    records: dict[Hashable, Record] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    recorded: int = 0
    """How many transfers were recorded as payments or removed."""
    skipped: list[tuple[LoggedTransfer, str]] = field(default_factory=list)
    """Transfers that do not count, each with the reason."""
    differing: list[tuple[LoggedTransfer, str]] = field(default_factory=list)
    """Events of the escrow that do not agree with its other events, each with what is wrong."""
    unvalued: list[TransferId] = field(default_factory=list)
    """Transfers that have to be valued by a rate, without one."""

    deleted: list[Record] = field(default_factory=list)
    """Records that are stored, and are not after it."""

    def put(self, record: Record) -> None:
        self.records[record.key] = record

    def delete(self, record: Record) -> None:
        self.records.pop(record.key, None)
        self.deleted += [record] if record.version else []
