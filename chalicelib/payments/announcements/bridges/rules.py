"""What becomes of a payment from another chain, by what both chains say of it. Nobody else's word decides anything.

    SOURCE      the transaction is not deep enough in the source chain      FAILED    it is, without a deposit
                                                                            REPLACED  its nonce is used by another
                                                                            LAPSED    the source chain refuses it by now
    BRIDGE      deposited: whoever fills it pays the link                   SETTLED   the payee has been paid
                                                                            PARTIAL   the payment failed there, and the
                                                                                      payer has the tokens there
    REFUNDING   the destination chain refuses to have it filled             REFUNDED  the payer has the tokens back

Until one of the ends on the right is proven the announced transaction is pending, so that its link is not offered
again: the money may still arrive. What is not known stays as it is. No end follows from what a single reading does not
find: that needs the chain's own clock, or a second reading some time later.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.money import BaseUnits
from chalicelib.crosschain.core.records import LONGEST_QUOTE, BridgeTransfer, Stage
from chalicelib.payments.announcements.bridges.observations import (
    Arrival,
    ArrivalObservation,
    Observation,
    RefundObservation,
    Source,
    SourceObservation,
)
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

GONE_AFTER = timedelta(minutes=10)
"""How long a node has to be without a transaction before that counts: nodes behind one address may lag."""
REFUSED_AFTER = timedelta(minutes=10)
"""How long the chain's clock has to be past a deadline before the chain is taken to refuse what comes later."""
MAX_FAILURES_NOTIFIED = 20
"""The most failures of one link's bridge transfers that are announced; anybody can cause some with little money."""
UNKNOWN_AFTER = timedelta(minutes=30)
"""How long after its time an outcome may be missing until it is shown as unknown."""
OVERDUE_AFTER = timedelta(hours=2)
OVERDUE_REFUND_AFTER = timedelta(hours=24)
"""How long after its time an outcome may be missing until somebody has to look at it. Refunds are sent by the bridge
some hours after the deadline."""
MIN_DELAY, MAX_DELAY, OVERDUE_DELAY = timedelta(seconds=10), timedelta(minutes=5), timedelta(minutes=30)
"""The delay until the next check: an eighth of the time at the stage, within these bounds; the last one if overdue."""
_CHECKS_PER_AGE = 8
_FILLED_BPS = 9_900
_FAILURES = (AnnouncedStatus.FAILED, AnnouncedStatus.PARTIAL, AnnouncedStatus.REFUNDED)


def decide(announced: AnnouncedTransaction, observation: Observation, now: datetime) -> AnnouncedTransaction:
    """The announced transaction after a check; unchanged if it is not pending."""
    if announced.status is not AnnouncedStatus.PENDING:
        return announced
    assert announced.bridge_transfer is not None, "it comes from another chain"
    if announced.bridge_transfer.stage is Stage.SOURCE and observation.source is not None:
        announced = _after_source(announced, announced.bridge_transfer, observation.source, now)
    if is_on_its_way(announced) and observation.arrival is not None:
        announced = _after_arrival(announced, observation.arrival, observation.refund, now)
    return postpone_check(announced, now) if announced.status is AnnouncedStatus.PENDING else announced


def _after_source(
    announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer, observation: SourceObservation, now: datetime
) -> AnnouncedTransaction:
    if observation.outcome in (Source.MISSING, Source.REPLACED):
        return _after_missing(announced, bridge_transfer, observation, now)
    is_new = bridge_transfer.deposit is None
    bridge_transfer = replace(_change_destination(bridge_transfer, observation), nonce_used_since=None)
    announced = replace(
        announced,
        bridge_transfer=bridge_transfer,
        wallet=announced.wallet or observation.wallet,
        nonce=announced.nonce if announced.nonce is not None else observation.nonce,
        transaction_hash=observation.tx_hash or announced.transaction_hash,
        missing_since=None,
    )
    if observation.deposit is not None:
        bridge_transfer = replace(bridge_transfer, deposit=observation.deposit)
        announced = replace(
            announced,
            proof=observation.proof or announced.proof,
            locks=observation.covers if is_new else announced.locks,
            bridge_transfer=bridge_transfer,
            ends_at=observation.deposit.execution_deadline,
        )
    if observation.outcome is Source.FOREIGN:
        return end_announced(announced, AnnouncedStatus.FAILED, now, reason="The transaction does not pay this link")
    if observation.outcome is Source.REVERTED:
        reason = "The transaction failed on the chain that it was to pay from, and nothing was taken"
        reason = f"{reason}: {observation.reason}" if observation.reason else reason
        return end_announced(announced, AnnouncedStatus.FAILED, now, reason=reason)
    if observation.outcome is Source.DEPOSITED:
        assert observation.deposit is not None, "it was read from the deposit's event"
        deposited = replace(
            bridge_transfer,
            stage=Stage.BRIDGE,
            since=now,
            deposit_id=observation.deposit_id,
            relay_hash=observation.relay_hash,
            fill_key=observation.fill_key,
            deposited_block=observation.block,
            deposited_at=observation.deposited_at,
        )
        ends_at = observation.deposit.fill_deadline
        return replace(announced, bridge_transfer=deposited, executed_block=observation.block, ends_at=ends_at)
    if observation.in_block:
        return announced
    if _is_refused(announced, observation.time, now):
        return end_announced(announced, AnnouncedStatus.LAPSED, now, reason="It was in no block before its deadline")
    return _without_lock(announced, now)


def _change_destination(bridge_transfer: BridgeTransfer, observation: SourceObservation) -> BridgeTransfer:
    """The bridge transfer with the destination that its transaction turned out to have, which a multicall's may not
    know."""
    if observation.destination is None:
        return bridge_transfer
    return replace(bridge_transfer, destination=observation.destination, searched_to=observation.searched_to)


def _without_lock(announced: AnnouncedTransaction, now: datetime) -> AnnouncedTransaction:
    """A public announcement that nothing proves after GONE_AFTER is still followed, and locks the link no more: anybody
    who has the link can announce any number."""
    is_claim = announced.is_public and announced.proof is None and now - announced.created_at >= GONE_AFTER
    return replace(announced, locks=False) if is_claim else announced


def _after_missing(
    announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer, observation: SourceObservation, now: datetime
) -> AnnouncedTransaction:
    """The transfer ends only if that was read for some time: that its nonce is used, or that the chain refuses it by
    now."""
    missing_since = announced.missing_since or now
    used_since = (bridge_transfer.nonce_used_since or now) if observation.outcome is Source.REPLACED else None
    announced = replace(
        announced, missing_since=missing_since, bridge_transfer=replace(bridge_transfer, nonce_used_since=used_since)
    )
    if used_since is not None and now - used_since >= GONE_AFTER:
        return end_announced(
            announced, AnnouncedStatus.REPLACED, now, reason="Its wallet sent another transaction in its place"
        )
    if now - missing_since >= GONE_AFTER and _is_refused(announced, observation.time, now):
        return end_announced(announced, AnnouncedStatus.LAPSED, now, reason="It was in no block before its deadline")
    return _without_lock(announced, now)


def _is_refused(announced: AnnouncedTransaction, chain_time: "Agreed[datetime]", now: datetime) -> bool:
    """Whether the source chain refuses the deposit in all blocks to come, by the chain's clock and by ours."""
    deadline = execution_deadline(announced) + REFUSED_AFTER
    return chain_time.value > deadline and now > deadline


def is_on_its_way(announced: AnnouncedTransaction) -> bool:
    """Whether a bridge transfer was deposited, and neither chain has proven its end."""
    bridge_transfer = announced.bridge_transfer
    return bridge_transfer is not None and bridge_transfer.stage in (Stage.BRIDGE, Stage.REFUNDING)


def _after_arrival(
    announced: AnnouncedTransaction, observation: ArrivalObservation, refund: RefundObservation | None, now: datetime
) -> AnnouncedTransaction:
    assert announced.bridge_transfer is not None, "it is on its way"
    bridge_transfer = replace(
        announced.bridge_transfer, searched_to=max(announced.bridge_transfer.searched_to, observation.searched_to)
    )
    announced = replace(announced, bridge_transfer=bridge_transfer)
    if observation.outcome is Arrival.PAID:
        paid = replace(
            bridge_transfer,
            stage=Stage.DESTINATION,
            destination_hash=observation.tx_hash,
            payment_key=observation.payment_key,
        )
        return end_announced(replace(announced, bridge_transfer=paid), AnnouncedStatus.SETTLED, now)
    if observation.outcome is Arrival.BOUNCED:
        bounced = replace(
            bridge_transfer,
            stage=Stage.DESTINATION,
            destination_hash=observation.tx_hash,
            returned=observation.returned,
        )
        reason = "The payment failed on the chain of the request, and the payer has the tokens there"
        return end_announced(replace(announced, bridge_transfer=bounced), AnnouncedStatus.PARTIAL, now, reason=reason)
    if observation.outcome is not Arrival.EXPIRED:
        return announced
    if bridge_transfer.stage is Stage.BRIDGE:
        bridge_transfer = replace(bridge_transfer, stage=Stage.REFUNDING, since=now)
    if refund is not None:
        bridge_transfer = replace(bridge_transfer, refund_searched_to=refund.searched_to)
        if refund.tx_hash is not None:
            back = replace(bridge_transfer, stage=Stage.RETURNED, refund_hash=refund.tx_hash, returned=refund.returned)
            reason = "Nobody brought the payment to the chain of the request in time, and the payer has it back"
            return end_announced(replace(announced, bridge_transfer=back), AnnouncedStatus.REFUNDED, now, reason=reason)
    return replace(announced, bridge_transfer=bridge_transfer)


def end_announced(
    announced: AnnouncedTransaction, status: AnnouncedStatus, now: datetime, reason: str | None = None
) -> AnnouncedTransaction:
    """The announced transaction at its end, from now on."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    return replace(
        announced,
        status=status,
        bridge_transfer=replace(announced.bridge_transfer, since=now, reason=reason, is_unknown=False),
    )


def is_failure(before: AnnouncedTransaction, after: AnnouncedTransaction) -> bool:
    """Whether a check ended a proven payment without paying: the merchant is notified of it."""
    has_ended = before.status is AnnouncedStatus.PENDING and after.status in _FAILURES
    return has_ended and after.bridge_transfer is not None and after.bridge_transfer.deposit is not None


def least_input(output: BaseUnits, output_decimals: int, input_decimals: int) -> int:
    """The least deposit that somebody will fill, both tokens being worth a dollar."""
    unit_in, unit_out = 10**input_decimals, 10**output_decimals
    return int(output * unit_in * _FILLED_BPS // (unit_out * 10_000))


def execution_deadline(announced: AnnouncedTransaction) -> datetime:
    """Until when the source chain accepts the deposit; as long as that is not known, the latest that it can be."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    deposit = announced.bridge_transfer.deposit
    return deposit.execution_deadline if deposit is not None else announced.created_at + LONGEST_QUOTE


def outcome_due(announced: AnnouncedTransaction) -> datetime:
    """By when the outcome of a pending bridge transfer, or its next stage, should be known."""
    bridge_transfer = announced.bridge_transfer
    assert bridge_transfer is not None, "it comes from another chain"
    if bridge_transfer.stage is Stage.SOURCE or bridge_transfer.deposit is None:
        return execution_deadline(announced)
    return bridge_transfer.deposit.fill_deadline if bridge_transfer.stage is Stage.BRIDGE else bridge_transfer.since


def is_unknown(announced: AnnouncedTransaction, now: datetime) -> bool:
    """Whether a pending bridge transfer is shown as unknown: nobody has its transaction, or its time has passed."""
    is_refunding = announced.bridge_transfer is not None and announced.bridge_transfer.stage is Stage.REFUNDING
    return announced.missing_since is not None or (not is_refunding and now > outcome_due(announced) + UNKNOWN_AFTER)


def is_overdue(announced: AnnouncedTransaction, now: datetime) -> bool:
    """Whether somebody has to find out what became of a pending bridge transfer."""
    is_refunding = announced.bridge_transfer is not None and announced.bridge_transfer.stage is Stage.REFUNDING
    return now > outcome_due(announced) + (OVERDUE_REFUND_AFTER if is_refunding else OVERDUE_AFTER)


def postpone_check(announced: AnnouncedTransaction, now: datetime) -> AnnouncedTransaction:
    """The pending announced transaction with its next check: the longer it has been at its stage, the later."""
    assert announced.bridge_transfer is not None, "it comes from another chain"
    delay = min(max((now - announced.bridge_transfer.since) / _CHECKS_PER_AGE, MIN_DELAY), MAX_DELAY)
    if is_overdue(announced, now):
        delay = OVERDUE_DELAY
    return replace(
        announced,
        check_at=now + delay,
        bridge_transfer=replace(announced.bridge_transfer, is_unknown=is_unknown(announced, now)),
    )
