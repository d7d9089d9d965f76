"""Pure rules of the transfer log: which transfers are entered, and which work that makes for the recorder."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from chalicelib.base.frozen import frozen, make_from
from chalicelib.chains.nodes.history.logs import InconsistentNode, ProxyTransfer
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId, TransferState, UnrecordedTransfers

TRANSFERS_PER_PART = 10
"""The most transfers of one piece of work. Recording a transfer writes up to nine records (its entry in the log, a
payment, its request, an event, five daily counts), and DynamoDB accepts 100 in a transaction, with the link and the
work itself. What its requests add to daily counts is left out if it does not fit (payments/recording/flows.py)."""
REMOVALS_PER_PART = 6
"""As TRANSFERS_PER_PART, for work with removed transfers: undoing one writes up to 17 records, of which ten are daily
counts, as the payment that is announced in its place may be counted then, too."""

_OPEN = (TransferState.UNRECORDED, TransferState.REVERSED)
Logs = Sequence[Mapping[str, Any]]
Stored = Mapping[TransferId, LoggedTransfer]
"""Entries of the log by their ids."""
_Identity = tuple[str, str]
T = TypeVar("T")


class PayableId(NamedTuple):
    """A payable, and whose it is."""

    payable_id: str
    account_id: str


@frozen
class Matched:
    """The transfers of some blocks that have the reference of a request: their entries in the order of the chain, those
    of them that are in the log, and the node's logs of payments, with the Transfers to the payees of the others."""

    entries: Sequence[LoggedTransfer] = ()
    stored: Stored = field(default_factory=dict)
    logs: Logs = ()

    def __add__(self, later: "Matched") -> "Matched":
        """What these blocks and later ones have."""
        return Matched((*self.entries, *later.entries), {**self.stored, **later.stored}, (*self.logs, *later.logs))

    @property
    def to_compare(self) -> tuple[LoggedTransfer, ...]:
        """The entries that are not in the log, or were taken back: one node alone may say that they are there (again).
        """
        return tuple(each for each in self.entries if not is_kept(self.stored, each.transfer_id))


def is_kept(stored: Stored, each: TransferId) -> bool:
    """Whether a transfer is in the log and was not taken back."""
    known = stored.get(each)
    return known is not None and known.state is not TransferState.REVERSED


def counting(transfers: Iterable[ProxyTransfer]) -> list[ProxyTransfer]:
    """The transfers with an amount, and the events of the escrow. A transfer of zero costs its sender only gas, so it
    must have no effect."""
    return [transfer for transfer in transfers if transfer.amount or transfer.escrow is not None]


def entries_of(
    transfers: Iterable[ProxyTransfer], payables: Mapping[str, PayableId], now: datetime
) -> list[LoggedTransfer]:
    """The entries of transfers, in the order of the chain. `payables` are those of the topics of references.

    The transfers must have the times of their blocks (`paid_at`).
    """
    return [
        make_from(
            LoggedTransfer,
            transfer,
            payable_id=payables[transfer.reference_topic].payable_id,
            account_id=payables[transfer.reference_topic].account_id,
            paid_at=_time(transfer),
            detected_at=now,
            conversion=transfer.conversion,
            escrow=transfer.escrow,
            emptied_address=transfer.emptied_address,
        )
        for transfer in sorted(transfers, key=lambda each: (each.block_number, each.log_index))
    ]


def can_count(each: LoggedTransfer | ProxyTransfer) -> bool:
    """Whether a transfer can be a payment: an event of the escrow, or of a token of the catalogue, which others are
    never."""
    from chalicelib.chains.catalogue.tokens import token_of_log

    return each.escrow is not None or token_of_log(each.network, each.token_address) is not None


def is_of_token(each: LoggedTransfer | ProxyTransfer) -> bool:
    """Whether the token's own logs say what arrived: those of the escrow and of native coins have none."""
    return each.token_address is not None and each.escrow is None and can_count(each)


def addresses_of_emptied(found: Iterable[LoggedTransfer]) -> set[PlainAddress]:
    """The addresses for plain transfers that were emptied without an event, by which such entries are found again."""
    return {
        PlainAddress(each.emptied_address, each.token_address, each.payee, each.reference_topic)
        for each in found
        if each.emptied_address is not None and each.token_address is not None
    }


def find_reindexed(found: Iterable[LoggedTransfer], stored: Stored) -> list[LoggedTransfer]:
    """The entries that had another log index before in the same block, which a node can only give by mistake."""
    return [entry for entry in found if (known := stored.get(entry.transfer_id)) and known.log_index != entry.log_index]


def select_unrecorded(found: Iterable[LoggedTransfer], stored: Stored) -> list[LoggedTransfer]:
    """The entries that the recorder has not recorded, whether they are new or not."""
    return [entry for entry in found if stored.get(entry.transfer_id, entry).state in _OPEN]


def work(added: Iterable[LoggedTransfer], sequence: int, now: datetime) -> list[UnrecordedTransfers]:
    """The work of recording these transfers, by payable, in the order of the chain."""
    return [
        _part(payable_id, sequence, index, chunk, (), now)
        for payable_id, of_payable in _by_payable(added).items()
        for index, chunk in enumerate(_chunks(of_payable, TRANSFERS_PER_PART))
    ]


def work_of_fork(
    removed: Iterable[LoggedTransfer], added: Iterable[LoggedTransfer], sequence: int, now: datetime
) -> list[UnrecordedTransfers]:
    """The work after a fork, by payable: what vanished, the newest first, then the others in the order of the chain.

    `removed` are the entries of replaced blocks, `added` those of the blocks that replace them, both in the order of
    the chain. So no payment is announced in place of a vanished one that vanished itself. A transfer that moved to
    another block is in one part with its former block.
    """
    parts = []
    removed_by, added_by = _by_payable(removed), _by_payable(added)
    for payable_id in {**removed_by, **added_by}:
        come = {_identity(entry): ([entry], list[LoggedTransfer]()) for entry in added_by.get(payable_id, [])}
        gone = list[tuple[list[LoggedTransfer], list[LoggedTransfer]]]()
        for entry in reversed(removed_by.get(payable_id, [])):
            if (moved := come.get(_identity(entry))) is not None:
                moved[1].append(entry)
            else:
                gone.append(([], [entry]))
        for index, chunk in enumerate(_chunks([*gone, *come.values()], REMOVALS_PER_PART // 2)):
            new = [entry for entries, _ in chunk for entry in entries]
            old = [entry for _, entries in chunk for entry in entries]
            parts.append(replace(_part(payable_id, sequence, index, new, old, now), block_number=0))
    return parts


def find_removed(
    stored: Iterable[LoggedTransfer], hashes: Mapping[int, str | None], added: Iterable[LoggedTransfer]
) -> list[LoggedTransfer]:
    """The entries whose block is no longer canonical, which are those whose transfer is in another block now, too.

    If the node does not have an entry's block, nothing else is known. Entries that were reversed before are included,
    because work that adds them again may not be recorded yet.
    """
    blocks_of = {_identity(entry): entry.block_hash for entry in added}
    return [
        entry
        for entry in stored
        if entry.block_hash != (blocks_of.get(_identity(entry)) or hashes.get(entry.block_number) or entry.block_hash)
    ]


def find_vanished(removed: Iterable[LoggedTransfer], added: Iterable[LoggedTransfer]) -> list[LoggedTransfer]:
    """The removed transfers that are in none of the blocks that replaced theirs, without those reversed before."""
    found = {_identity(entry) for entry in added}
    return [entry for entry in removed if _identity(entry) not in found and entry.state is not TransferState.REVERSED]


def missing(logged: Iterable[LoggedTransfer], found: Iterable[LoggedTransfer]) -> list[LoggedTransfer]:
    """The entries that a later reading of their blocks does not have, without those reversed before."""
    known = {entry.transfer_id for entry in found}
    return [each for each in logged if each.transfer_id not in known and each.state is not TransferState.REVERSED]


def check_vanished(
    network: str, gone: Iterable[LoggedTransfer], in_receipts: Iterable[ProxyTransfer], last: int
) -> None:
    """Raises InconsistentNode if the node's receipts have a transfer in the replaced blocks that its logs do not have.

    `in_receipts` are the transfers in the receipts of the transactions. A node that has deleted old logs answers that
    there are none, which must not undo a payment. A transaction can also be in a new block without its event, because
    what a contract does can depend on the block.
    """
    blocks = {(each.tx_hash, each.event_key): each.block_number for each in in_receipts}
    for entry in gone:
        block = blocks.get(_identity(entry))
        if block is not None and block <= last:
            reason = f"a transfer of {entry.tx_hash} has a receipt in block {block}, but no event"
            raise InconsistentNode(network, reason)


def _time(transfer: ProxyTransfer) -> datetime:
    assert transfer.paid_at is not None, "the times of blocks are read before"
    return transfer.paid_at


def _by_payable(found: Iterable[LoggedTransfer]) -> dict[str, list[LoggedTransfer]]:
    by_payable: dict[str, list[LoggedTransfer]] = {}
    for entry in found:
        by_payable.setdefault(entry.payable_id, []).append(entry)
    return by_payable


def _part(
    payable_id: str,
    sequence: int,
    index: int,
    added: Sequence[LoggedTransfer],
    removed: Sequence[LoggedTransfer],
    now: datetime,
) -> UnrecordedTransfers:
    first = (*removed, *added)[0]
    part = UnrecordedTransfers(
        payable_id=payable_id,
        network=first.network,
        sequence=sequence,
        block_number=min(entry.block_number for entry in (*removed, *added)),
        part=index,
        digest="",
        detected_at=now,
        added=tuple(entry.transfer_id for entry in added),
        removed=tuple(entry.transfer_id for entry in removed),
        account_id=first.account_id,
    )
    content = repr((part.added, part.removed))
    return replace(part, digest=hashlib.sha256(content.encode()).hexdigest()[:16])


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _identity(entry: LoggedTransfer) -> _Identity:
    return entry.tx_hash, entry.event_key
