"""The life of a key: published, then it signs, then its public half stays published.

    published     PUBLISHED_AHEAD before it signs; the first key, which nobody waits for, signs at once
    signs         until the next one does
    published     from then on, for who verifies an old receipt; its private half is deleted with the next new key
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.errors import Conflict
from chalicelib.base.timestamps import iso
from chalicelib.webhooks.signature_keys.records import SignatureKey, SignatureKeys

PUBLISHED_AHEAD = timedelta(hours=24)


def signing_key(known: SignatureKeys, now: datetime) -> SignatureKey | None:
    """The key that signs now; None if there is none yet. Where a clock is behind, the oldest one that can sign has
    begun, too."""
    able = [each for each in known.keys if each.ciphertext]
    return next((each for each in reversed(able) if each.signs_from <= now), next(iter(able), None))


def begins_at(known: SignatureKeys, now: datetime, *, at_once: bool) -> datetime:
    """From when a new key signs. Raises Conflict if another new one does not sign yet, unless it ends all at once."""
    if at_once or not known.keys:
        return now
    if known.keys[-1].signs_from > now:
        raise Conflict(f"There is a new key already, which signs from {iso(known.keys[-1].signs_from)} on")
    return now + PUBLISHED_AHEAD


def with_key(known: SignatureKeys, new: SignatureKey, *, at_once: bool) -> SignatureKeys:
    """The keys with a new one, and the private half of none but it and the one before, which signs until then;
    `at_once` without any other, which then are published no more."""
    if at_once:
        return replace(known, keys=(new,))
    public = (replace(each, ciphertext="") for each in known.keys[:-1])
    return replace(known, keys=(*public, *known.keys[-1:], new))
