"""The announced transactions of a link: their order in its record, and the status that an observation leads to.

A check reads only blocks that detection has finished. These blocks are confirmed and their payments recorded. So if a
transaction was executed and the link is not completed, the transaction did not pay the link; and no announced
transaction lapses before all blocks that could contain its payment have been read.

A Safe can be any contract, and can emit any event. What it emits ends only its own announced transactions. If the node
does not return its events, only its own announced transactions are delayed, by UNREAD_GRACE.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.turns import in_turn
from chalicelib.crosschain.core.records import BridgeTransfer
from chalicelib.payments.announcements.bridges.rules import postpone_check
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    LinkStatus,
    PayableLink,
    Proof,
)
from chalicelib.payments.links.rules import is_read_past

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

MIN_CHECK_DELAY, MAX_CHECK_DELAY = timedelta(seconds=10), timedelta(minutes=5)
"""The delay until the next check: an eighth of the announced transaction's age, within these bounds."""
_CHECKS_PER_AGE = 8
SOON, SENT_CHECK_DELAY = timedelta(hours=1), timedelta(seconds=45)
"""In its first hour a transaction that was sent is checked in each run, so that one that failed frees its link soon."""
UNKNOWN_AFTER = timedelta(minutes=10)
"""How long a multisig transaction can be unknown to the Safe Transaction Service, if that answers. Owners propose
transactions there before they sign; without this limit, announcing a transaction that does not exist would lock the
link. A public announcement ends so also if the service does not answer."""
GONE_AFTER = timedelta(minutes=2)
"""How long the node can be without a transaction that was sent. Nodes know one some seconds after it was sent; they may
forget one that pays too little for a block."""
MOST_WAITING = timedelta(minutes=10)
"""How long a public announcement locks its link while its transaction is in no block: one that offers too little for
gas costs its sender nothing, and may wait for ever. After that the link shows it as a warning."""
MAX_SENT = 6
"""How many publicly announced transactions that the node has had lock a link, in all. Each costs its sender something
only once it is in a block. Later ones are shown as a warning."""
MAX_ANNOUNCERS = 4
"""Of how many announcers of one transaction the secrets are kept: of the first, who is likely to have sent it, and of
the newest, as anybody can announce it."""
UNREAD_GRACE = timedelta(hours=1)
"""How long an announced transaction stays pending after its end if the Safe's events could not be read up to that
end."""
KEPT_ENDED, KEPT_UNLOCKING = 8, 3
"""How many ended announced transactions of a link are kept, and pending ones that do not lock it; the newest of
each."""


@frozen
class Execution:
    """The execution of a transaction. Without success, its calls were reverted and its nonce is used."""

    success: bool
    block: int
    transaction_hash: str


@frozen
class Observation:
    """The state up to `block`, whose timestamp is `block_time`.

    `nonce` is the wallet's after that block, None if it was not read or the nodes do not have it. `is_unknown` means
    that whoever has to know the transaction (the Safe Transaction Service, or the node for one that was sent) answered
    that it does not; `is_foreign`, that the node has it and it does not pay this link; `is_waiting`, that the node has
    it in no block. `detected_to` is the timestamp of the last block that detection has finished.
    """

    block: int
    block_time: "Agreed[datetime]"
    detected_to: "Agreed[datetime]"
    execution: "Agreed[Execution] | None"
    nonce: "Agreed[int | None] | None"
    is_completed: bool
    is_unknown: bool = False
    is_foreign: bool = False
    is_waiting: bool = False


def gather_announced(
    before: LinkAnnouncements | None, transactions: Iterable[AnnouncedTransaction]
) -> LinkAnnouncements:
    """The announced transactions of a link: those that lock it first, of these the proved ones, then the oldest.

    Keeps all pending announced transactions that lock the link, and the newest of the others. Of two pending ones for
    the same transaction, one of which was announced without its Safe, one is kept. `before` is what is stored.
    Publicly announced transactions that the node has got to know are counted, and lock nothing above MAX_SENT.
    """
    pending, ended, unlocking = list[AnnouncedTransaction](), list[AnnouncedTransaction](), list[AnnouncedTransaction]()
    admitted, sent_claims = _count_public(before, transactions)
    for announced in sorted(admitted, key=lambda each: (not each.is_locking, each.proof is None, each.created_at)):
        same = next((each for each in pending if is_same(each, announced)), None)
        if announced.status is not AnnouncedStatus.PENDING:
            ended.append(announced)
        elif same is not None:
            pending[pending.index(same)] = merge_announced(same, announced)
        else:
            (pending if announced.locks else unlocking).append(announced)
    for listed, most in ((unlocking, KEPT_UNLOCKING), (ended, KEPT_ENDED)):
        pending += sorted(listed, key=lambda each: (each.proof is not None, each.created_at), reverse=True)[:most]
    first, *others = pending
    return replace(before or LinkAnnouncements(first), first=first, others=tuple(others), sent_claims=sent_claims)


def _count_public(
    before: LinkAnnouncements | None, transactions: Iterable[AnnouncedTransaction]
) -> tuple[list[AnnouncedTransaction], int]:
    """The announced transactions, those that are one publicly announced transaction too many without their lock, and
    the number."""
    known = {each.announced_id for each in (before.all if before else ()) if each.proof is Proof.SENT}
    count, result = before.sent_claims if before else 0, list[AnnouncedTransaction]()
    for each in transactions:
        is_new = each.proof is Proof.SENT and each.bridge_transfer is None and each.announced_id not in known
        if is_new and each.is_public:
            count += 1
            each = replace(each, locks=each.locks and count <= MAX_SENT)
        result.append(each)
    return result, count


def is_same(one: AnnouncedTransaction, other: AnnouncedTransaction) -> bool:
    """Whether both are for the same transaction: of one network, of one hash and kind, and of the same wallet.

    The hash of a transaction that was sent is of one sender; the hash of a multisig transaction names no Safe.
    """
    if (one.network, one.safe_tx_hash) != (other.network, other.safe_tx_hash):
        return False
    if one.safe_tx_hash is None:
        return one.transaction_hash == other.transaction_hash
    if one.wallet is None or other.wallet is None:
        return one.wallet is other.wallet
    return same_address(one.wallet, other.wallet)


def merge_announced(known: AnnouncedTransaction, new: AnnouncedTransaction) -> AnnouncedTransaction:
    """A pending announced transaction with what a second announcement of its transaction adds: it never ends earlier by
    that.

    If the first one was public and the second one is not, its time begins with the second one.
    """
    deadlines = (known.deadline, new.deadline)
    is_vouched_for = known.is_public and not new.is_public
    return replace(
        known,
        wallet=known.wallet or new.wallet,
        nonce=known.nonce if known.nonce is not None else new.nonce,
        proof=max(known.proof, new.proof, key=_PROOFS.index),
        deadline=max(each for each in deadlines if each is not None) if None not in deadlines else None,
        created_at=new.created_at if is_vouched_for else known.created_at,
        ends_at=max(known.ends_at, new.ends_at),
        missing_since=None if new.proof is Proof.SENT else known.missing_since,
        is_public=known.is_public and new.is_public,
        locks=known.locks or not new.is_public or (new.proof is Proof.SENT and known.proof is not Proof.SENT),
        announcers=_announcers(known.announcers, new.announcers),
        bridge_transfer=_fuller(known.bridge_transfer, new.bridge_transfer),
    )


def _announcers(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """The first announcer, whom nobody who repeats the announcement displaces, and the newest others."""
    first = (known or new)[:1]
    others = [each for each in known if each not in (*first, *new)] + [each for each in new if each not in first]
    return (*first, *others[-(MAX_ANNOUNCERS - 1) :])


def _fuller(known: BridgeTransfer | None, new: BridgeTransfer | None) -> BridgeTransfer | None:
    """What is known of a bridge transfer: what was read before, unless that was nothing and the new one says more."""
    return new if known is not None and known.deposit is None else known


def decide(announced: AnnouncedTransaction, observation: Observation, now: datetime) -> AnnouncedTransaction:
    """The announced transaction after an observation; unchanged if it is not pending.

    It lapses when both the chain's clock and ours are past its end: a transaction in an earlier block counts however
    late the block is read, and a chain whose clock is ahead does not shorten the time. If the Safe's events stay
    unread, it lapses UNREAD_GRACE after its end by `detected_to` instead of `block_time`.
    """
    if announced.status is not AnnouncedStatus.PENDING:
        return announced
    updated = replace(announced, scanned_to=observation.block) if announced.wallet is not None else announced
    if observation.execution is not None:
        executed = observation.execution.value
        updated = replace(updated, executed_block=executed.block, transaction_hash=executed.transaction_hash)
    if observation.is_completed:
        return replace(updated, status=AnnouncedStatus.SETTLED)
    if observation.execution is not None or observation.is_foreign:
        return replace(updated, status=AnnouncedStatus.FAILED)
    if _is_nonce_used(announced, observation.nonce):
        return replace(updated, status=AnnouncedStatus.REPLACED)
    if observation.is_waiting and announced.is_public and now > announced.created_at + MOST_WAITING:
        updated = replace(updated, locks=False)
    if announced.safe_tx_hash is None and observation.is_unknown:
        updated = replace(updated, missing_since=announced.missing_since or now)
    end = _end_if_unknown(updated) if _is_unknown(announced, observation) else announced.ends_at
    is_read = is_read_past(end, observation.block_time)
    is_read = is_read or (now > end + UNREAD_GRACE and is_read_past(end, observation.detected_to))
    if now > end and is_read:
        return replace(updated, status=AnnouncedStatus.LAPSED)
    return postpone(updated, now)


def _is_nonce_used(announced: AnnouncedTransaction, count: "Agreed[int | None] | None") -> bool:
    """Whether the wallet has used the nonce, by the next one that it has."""
    if announced.nonce is None or count is None or count.value is None:
        return False
    return count.value > announced.nonce


def _is_unknown(announced: AnnouncedTransaction, observation: Observation) -> bool:
    is_claim = announced.safe_tx_hash is not None and announced.is_public and announced.proof is not Proof.PROPOSED
    return observation.is_unknown or is_claim


def _end_if_unknown(announced: AnnouncedTransaction) -> datetime:
    grace = announced.missing_since + GONE_AFTER if announced.missing_since else announced.created_at + UNKNOWN_AFTER
    return min(announced.ends_at, grace)


def ends_unpaid(announced: AnnouncedTransaction) -> bool:
    """Whether the announced transaction has ended without paying its link."""
    return announced.status not in (AnnouncedStatus.PENDING, AnnouncedStatus.SETTLED)


def take_turns(
    due: Iterable[LinkAnnouncements], per_account: int
) -> tuple[tuple[LinkAnnouncements, ...], tuple[LinkAnnouncements, ...]]:
    """The links to check in one run, in this order: one of each account in turn; and those beyond `per_account` pending
    transactions of it, each of which is asked about at the nodes."""
    checked, postponed, pending = list[LinkAnnouncements](), list[LinkAnnouncements](), Counter[str]()
    for link in sorted(due, key=lambda each: each.next_due or each.first.check_at):
        pending[link.first.account_id] += sum(each.status is AnnouncedStatus.PENDING for each in link.all)
        (checked if pending[link.first.account_id] <= per_account else postponed).append(link)
    return tuple(in_turn(checked, lambda each: each.first.account_id)), tuple(postponed)


def decide_unobserved(announced: AnnouncedTransaction, is_completed: bool, now: datetime) -> AnnouncedTransaction:
    """The pending announced transaction if the node does not answer: settled if its link is completed, else checked
    again later."""
    return replace(announced, status=AnnouncedStatus.SETTLED) if is_completed else postpone(announced, now)


def withdraw_announced(payable: PayableLink) -> LinkAnnouncements:
    """The link's announced transactions, the pending ones ended by its owner. Raises NotFound if none is pending.

    If one of the transactions is executed later, its payment counts like any other.
    """
    transactions = payable.announcements.all if payable.announcements else ()
    is_pending = any(each.status is AnnouncedStatus.PENDING for each in transactions)
    if not is_pending or payable.link.status is LinkStatus.COMPLETED:
        raise NotFound("No announced transaction is pending for this link")
    ended = (
        replace(each, status=AnnouncedStatus.LAPSED) if each.status is AnnouncedStatus.PENDING else each
        for each in transactions
    )
    return gather_announced(payable.announcements, ended)


def postpone(announced: AnnouncedTransaction, now: datetime) -> AnnouncedTransaction:
    """The announced transaction with its next check: the older the announced transaction, the longer the delay, but
    soon after its end. One from another chain as its bridge transfer says."""
    if announced.bridge_transfer is not None:
        return postpone_check(announced, now)
    age = now - announced.created_at
    most = SENT_CHECK_DELAY if announced.safe_tx_hash is None and age < SOON else MAX_CHECK_DELAY
    wait = min(max(age / _CHECKS_PER_AGE, MIN_CHECK_DELAY), most)
    return replace(announced, check_at=min(now + wait, max(announced.ends_at, now) + MIN_CHECK_DELAY))


def span_of(announced: AnnouncedTransaction, max_span: int) -> int:
    """How many blocks of the Safe's events are requested at once: `max_span`, or less after refusals for this Safe."""
    return max_span if announced.span is None else min(announced.span, max_span)


def narrow_span(announced: AnnouncedTransaction, refused: int) -> AnnouncedTransaction:
    """The announced transaction with half of the span that the node refused."""
    return replace(announced, span=max(refused // 2, 1))


def widen_span(announced: AnnouncedTransaction, max_span: int) -> AnnouncedTransaction:
    """The announced transaction after a successful read: its span grows slowly back to `max_span`."""
    if announced.span is None:
        return announced
    wider = announced.span + announced.span // 16 + 1
    return replace(announced, span=wider if wider < max_span else None)


_PROOFS = (None, Proof.COMPUTED, Proof.PROPOSED, Proof.SENT)
"""In the order of their strength."""
