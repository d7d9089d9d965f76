"""Rules of claims to sign: who alone is asked to sign the payment of a link, and for how long.

A claim is public: whoever has the link can make one. So it ends by itself after LEASE, and all claims together hold a
link for MOST_CLAIMED at most, until none was made for a day (`SigningClaim.MEMORY`). After that a link is paid without
a claim, by one transaction after the other.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from chalicelib.base.errors import Conflict
from chalicelib.base.keccak import keccak256
from chalicelib.payments.links.errors import LinkBeingSigned
from chalicelib.payments.links.records import PayableLink, SigningClaim

LEASE = timedelta(minutes=5)
RENEWED_IN = timedelta(minutes=1)
"""Before the end of a claim, within which the same call prolongs it."""
MOST_CLAIMED = timedelta(minutes=15)


def claim(payable: PayableLink, claimant: str, calls: str, now: datetime) -> SigningClaim:
    """The link's claim once `claimant`, the hash of a secret, claims to sign `calls`, the hash of a batch.

    The same claim again is the same one, prolonged in its last minute; another batch of the same claimant takes its
    place. Raises LinkBeingSigned while somebody else has it, Conflict if claims have held the link for too long.
    """
    before = payable.signing
    if before is not None and before.link_token != payable.link.token:  # of its multicall
        raise LinkBeingSigned(payable, before.ends_at)
    if before is None:
        return SigningClaim(payable.link.token, payable.link.account_id, claimant, calls, 1, now, now + LEASE)
    is_same = before.is_valid(now) and before.claimant == claimant and before.calls == calls
    if before.is_valid(now) and before.claimant != claimant:
        raise LinkBeingSigned(payable, before.ends_at)
    if is_same and before.ends_at - now > RENEWED_IN:
        return before
    spent = _time_claimed(before, now)
    if spent + LEASE > MOST_CLAIMED:
        raise Conflict("Claims have held this link for 15 minutes: sign one transaction after the other")
    attempt = before.attempt if is_same else before.attempt + 1
    fresh = replace(before, claimant=claimant, calls=calls, attempt=attempt, claimed_at=now, ends_at=now + LEASE)
    return replace(fresh, claimed_seconds=int(spent.total_seconds()))


def end_claim(before: SigningClaim | None, claimant: str | None, now: datetime) -> SigningClaim | None:
    """The claim once its claimant gives it back; None if it is not theirs, or is over."""
    if before is None or before.claimant != claimant or not before.is_valid(now):
        return None
    return replace(before, ends_at=max(now, before.claimed_at))


def calls_id(claimed: SigningClaim) -> str:
    """The id of a batch for `wallet_sendCalls`: of this link, attempt and calls alone."""
    return "0x" + keccak256(f"{claimed.link_token} {claimed.attempt} {claimed.calls}".encode()).hex()


def _time_claimed(before: SigningClaim, now: datetime) -> timedelta:
    """For how long claims have held the link until now, in whole seconds, rounded up; nothing if that is forgotten."""
    if now >= before.vanishes_at:
        return timedelta()
    seconds = (min(now, before.ends_at) - before.claimed_at) / timedelta(seconds=1)
    return timedelta(seconds=before.claimed_seconds + ceil(max(seconds, 0)))
