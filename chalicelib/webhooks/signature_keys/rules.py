"""The life of a key: published, then it signs, then it is published for some more time, then it is gone.

    published     PUBLISHED_AHEAD before it signs; the first key, which nobody waits for, signs at once
    signs         until the next one does
    published     PUBLISHED_AFTER longer, for receivers that verify late
"""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from chalicelib.base.errors import Conflict
from chalicelib.base.timestamps import iso
from chalicelib.webhooks.signature_keys.records import SignatureKey, SignatureKeys

PUBLISHED_AHEAD = timedelta(hours=24)
PUBLISHED_AFTER = timedelta(days=7)


def signing_key(known: SignatureKeys, now: datetime) -> SignatureKey | None:
    """The key that signs now; None if there is none yet. Where a clock is behind, the oldest one has begun, too."""
    return next((each for each in reversed(known.keys) if each.signs_from <= now), next(iter(known.keys), None))


def published_keys(known: SignatureKeys, now: datetime) -> tuple[SignatureKey, ...]:
    """The keys that receivers need now: that which signs, those after it, and those that signed not long ago."""
    former = (one for one, following in pairwise(known.keys) if now < following.signs_from + PUBLISHED_AFTER)
    return (*former, *known.keys[-1:])


def begins_at(known: SignatureKeys, now: datetime, *, at_once: bool) -> datetime:
    """From when a new key signs. Raises Conflict if another new one does not sign yet, unless it ends all at once."""
    if at_once or not known.keys:
        return now
    if known.keys[-1].signs_from > now:
        raise Conflict(f"There is a new key already, which signs from {iso(known.keys[-1].signs_from)} on")
    return now + PUBLISHED_AHEAD


def with_key(known: SignatureKeys, new: SignatureKey, now: datetime, *, at_once: bool) -> SignatureKeys:
    """The keys with a new one; `at_once` without any other, which then are published no more."""
    return replace(known, keys=(new,) if at_once else (*published_keys(known, now), new))
