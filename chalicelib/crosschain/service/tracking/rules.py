"""What becomes of a payment from another chain, by what both chains say of it. Nobody else's word decides anything.

    SOURCE      the transaction is not deep enough in the source chain      FAILED    it is, without a deposit
                                                                            REPLACED  its nonce is used by another
                                                                            LAPSED    the source chain refuses it by now
    BRIDGE      deposited: whoever fills it pays the link                   SETTLED   the payee has been paid
                                                                            PARTIAL   the payment failed there, and the
                                                                                      payer has the tokens there
    REFUNDING   the destination chain refuses to have it filled             REFUNDED  the payer has the tokens back

Until one of the ends on the right is proven the intent is pending, so that its link is not offered again: the money may
still arrive. What is not known stays as it is. No end follows from what a single reading does not find: that needs the
chain's own clock, or a second reading some time later.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.money import BaseUnits
from chalicelib.crosschain.core.records import Crossing, Stage
from chalicelib.crosschain.service.tracking.observations import (
    Arrival,
    ArrivalSeen,
    RefundSeen,
    Seen,
    Source,
    SourceSeen,
)
from chalicelib.crosschain.service.tracking.times import execution_deadline, postponed
from chalicelib.payments.links.records import Intent, IntentStatus

GONE_AFTER = timedelta(minutes=10)
"""How long a node has to be without a transaction before that counts: nodes behind one address may lag."""
REFUSED_AFTER = timedelta(minutes=10)
"""How long the chain's clock has to be past a deadline before the chain is taken to refuse what comes later."""
MAX_FAILURES_TOLD = 20
"""The most failures of one link's crossings that are announced; anybody can cause some with little money."""
_FILLED_BPS = 9_900
_FAILURES = (IntentStatus.FAILED, IntentStatus.PARTIAL, IntentStatus.REFUNDED)


def decide(intent: Intent, seen: Seen, now: datetime) -> Intent:
    """The intent after a check; unchanged if it is not pending."""
    if intent.status is not IntentStatus.PENDING:
        return intent
    assert intent.crossing is not None, "it comes from another chain"
    if intent.crossing.stage is Stage.SOURCE and seen.source is not None:
        intent = _after_source(intent, intent.crossing, seen.source, now)
    if _is_on_its_way(intent) and seen.arrival is not None:
        intent = _after_arrival(intent, seen.arrival, seen.refund, now)
    return postponed(intent, now) if intent.status is IntentStatus.PENDING else intent


def _after_source(intent: Intent, crossing: Crossing, seen: SourceSeen, now: datetime) -> Intent:
    if seen.outcome in (Source.MISSING, Source.REPLACED):
        return _after_missing(intent, crossing, seen, now)
    is_new, crossing = crossing.deposit is None, replace(redirected(crossing, seen), nonce_used_since=None)
    intent = replace(
        intent,
        crossing=crossing,
        wallet=intent.wallet or seen.wallet,
        nonce=intent.nonce if intent.nonce is not None else seen.nonce,
        transaction_hash=seen.tx_hash or intent.transaction_hash,
        unseen_since=None,
    )
    if seen.deposit is not None:
        crossing = replace(crossing, deposit=seen.deposit)
        intent = replace(
            intent,
            proof=seen.proof or intent.proof,
            locks=seen.covers if is_new else intent.locks,
            crossing=crossing,
            ends_at=seen.deposit.execution_deadline,
        )
    if seen.outcome is Source.FOREIGN:
        return ended(intent, IntentStatus.FAILED, now, reason="The transaction does not pay this link")
    if seen.outcome is Source.REVERTED:
        reason = "The transaction failed on the chain that it was to pay from, and nothing was taken"
        return ended(intent, IntentStatus.FAILED, now, reason=f"{reason}: {seen.reason}" if seen.reason else reason)
    if seen.outcome is Source.DEPOSITED:
        assert seen.deposit is not None, "it was read from the deposit's event"
        on_its_way = replace(
            crossing,
            stage=Stage.BRIDGE,
            since=now,
            deposit_id=seen.deposit_id,
            relay_hash=seen.relay_hash,
            fill_key=seen.fill_key,
            deposited_block=seen.block,
            deposited_at=seen.deposited_at,
        )
        return replace(intent, crossing=on_its_way, executed_block=seen.block, ends_at=seen.deposit.fill_deadline)
    if seen.in_block:
        return intent
    if _is_refused(intent, seen.time, now):
        return ended(intent, IntentStatus.LAPSED, now, reason="It was in no block before its deadline")
    return _without_lock(intent, now)


def redirected(crossing: Crossing, seen: SourceSeen) -> Crossing:
    """The crossing with the destination that its transaction turned out to have, which a multicall's may not know."""
    if seen.destination is None:
        return crossing
    return replace(crossing, destination=seen.destination, searched_to=seen.searched_to)


def _without_lock(intent: Intent, now: datetime) -> Intent:
    """A public announcement that nothing proves after GONE_AFTER is still followed, and locks the link no more: anybody
    who has the link can announce any number."""
    is_claim = intent.is_public and intent.proof is None and now - intent.created_at >= GONE_AFTER
    return replace(intent, locks=False) if is_claim else intent


def _after_missing(intent: Intent, crossing: Crossing, seen: SourceSeen, now: datetime) -> Intent:
    """It ends only if that was read for some time: that its nonce is used, or that the chain refuses it by now."""
    unseen_since = intent.unseen_since or now
    used_since = (crossing.nonce_used_since or now) if seen.outcome is Source.REPLACED else None
    intent = replace(intent, unseen_since=unseen_since, crossing=replace(crossing, nonce_used_since=used_since))
    if used_since is not None and now - used_since >= GONE_AFTER:
        return ended(intent, IntentStatus.REPLACED, now, reason="Its wallet sent another transaction in its place")
    if now - unseen_since >= GONE_AFTER and _is_refused(intent, seen.time, now):
        return ended(intent, IntentStatus.LAPSED, now, reason="It was in no block before its deadline")
    return _without_lock(intent, now)


def _is_refused(intent: Intent, chain_time: datetime, now: datetime) -> bool:
    """Whether the source chain refuses the deposit in all blocks to come, by the chain's clock and by ours."""
    deadline = execution_deadline(intent) + REFUSED_AFTER
    return chain_time > deadline and now > deadline


def _is_on_its_way(intent: Intent) -> bool:
    crossing = intent.crossing
    return crossing is not None and crossing.stage in (Stage.BRIDGE, Stage.REFUNDING)


def _after_arrival(intent: Intent, seen: ArrivalSeen, refund: RefundSeen | None, now: datetime) -> Intent:
    assert intent.crossing is not None, "it is on its way"
    crossing = replace(intent.crossing, searched_to=max(intent.crossing.searched_to, seen.searched_to))
    intent = replace(intent, crossing=crossing)
    if seen.outcome is Arrival.PAID:
        paid = replace(
            crossing,
            stage=Stage.DESTINATION,
            destination_hash=seen.tx_hash,
            payment_key=seen.payment_key,
            is_surplus=seen.is_surplus,
        )
        return ended(replace(intent, crossing=paid), IntentStatus.SETTLED, now)
    if seen.outcome is Arrival.BOUNCED:
        bounced = replace(crossing, stage=Stage.DESTINATION, destination_hash=seen.tx_hash, held=seen.held)
        reason = "The payment failed on the chain of the request, and the payer has the tokens there"
        return ended(replace(intent, crossing=bounced), IntentStatus.PARTIAL, now, reason=reason)
    if seen.outcome is not Arrival.EXPIRED:
        return intent
    if crossing.stage is Stage.BRIDGE:
        crossing = replace(crossing, stage=Stage.REFUNDING, since=now)
    if refund is not None:
        crossing = replace(crossing, refund_searched_to=refund.searched_to)
        if refund.tx_hash is not None:
            back = replace(crossing, stage=Stage.RETURNED, refund_hash=refund.tx_hash, held=refund.held)
            reason = "Nobody brought the payment to the chain of the request in time, and the payer has it back"
            return ended(replace(intent, crossing=back), IntentStatus.REFUNDED, now, reason=reason)
    return replace(intent, crossing=crossing)


def ended(intent: Intent, status: IntentStatus, now: datetime, reason: str | None = None) -> Intent:
    """The intent at its end, from now on."""
    assert intent.crossing is not None, "it comes from another chain"
    return replace(intent, status=status, crossing=replace(intent.crossing, since=now, reason=reason, is_unknown=False))


def is_failure(before: Intent, after: Intent) -> bool:
    """Whether a check ended a proven payment without paying: the merchant is told of it."""
    has_ended = before.status is IntentStatus.PENDING and after.status in _FAILURES
    return has_ended and after.crossing is not None and after.crossing.deposit is not None


def least_input(output: BaseUnits, output_decimals: int, input_decimals: int) -> int:
    """The least deposit that somebody will fill, both tokens being worth a dollar."""
    unit_in, unit_out = 10**input_decimals, 10**output_decimals
    return int(output * unit_in * _FILLED_BPS // (unit_out * 10_000))
