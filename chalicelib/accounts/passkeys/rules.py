"""Challenges of passkeys, and the checks that the library for WebAuthn leaves to the service."""

import base64
import binascii
import json
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from chalicelib.accounts.passkeys.records import Passkey, PasskeyChallenge
from chalicelib.accounts.sign_in.rules import Wanted
from chalicelib.base.errors import BadRequest, Conflict, Unauthorized
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.people.records import Person

CHALLENGE_LIFETIME = timedelta(minutes=5)
CHALLENGE_BYTES = 32
MAX_PASSKEYS = 10
"""How many passkeys a person may have."""
REFUSED = "The passkey's answer is not valid here: ask for new options, and use a passkey of this site"
"""One text for whatever is wrong with a proof."""


@frozen
class RelyingParty:
    """The site that passkeys belong to: the host of AUTH_URL, and its origin as browsers write it."""

    id: str
    origin: str
    name: str


@frozen
class Verified:
    """What the library found in a valid response."""

    credential_id: str
    public_key: str
    sign_count: int
    is_synced: bool


def encode_base64url(raw: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Raises BadRequest unless it is base64url, with or without padding."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest("The credential is not in base64url, as toJSON() of a PublicKeyCredential writes it") from None


def new_challenge(challenge: bytes, wanted: Wanted, now: datetime) -> PasskeyChallenge:
    return PasskeyChallenge(_hash(challenge), wanted.purpose, wanted.session_id, now + CHALLENGE_LIFETIME)


def passkey_id_of(credential_id: str) -> str:
    """The id of the passkey with this credential id. Raises BadRequest."""
    return _hash(decode_base64url(credential_id))


def challenge_in(client_data: str) -> tuple[bytes, str]:
    """The challenge that a browser's client data answers, and the hash that it is stored under.

    Raises BadRequest for what is no client data; Unauthorized if the page was inside one of another origin.
    """
    try:
        found: Any = json.loads(decode_base64url(client_data))
    except (ValueError, RecursionError):
        found = None
    challenge = found.get("challenge") if isinstance(found, dict) else None
    if not isinstance(challenge, str):
        raise BadRequest("clientDataJSON is not what a browser writes")
    if found.get("crossOrigin") not in (None, False) or "topOrigin" in found:
        raise Unauthorized(REFUSED)
    raw = decode_base64url(challenge)
    return raw, _hash(raw)


def check_challenge(stored: PasskeyChallenge | None, wanted: Wanted, now: datetime) -> PasskeyChallenge:
    """Raises Unauthorized unless the challenge was issued for what is wanted, is unused and has not expired."""
    is_wanted = stored is not None and (stored.purpose, stored.session_id) == (wanted.purpose, wanted.session_id)
    if stored is None or not is_wanted or now >= stored.expires_at:
        raise Unauthorized(REFUSED)
    return stored


def person_named_in(user_handle: str | None) -> str:
    """The id of the person that a passkey was made for. Raises Unauthorized if the response names none."""
    try:
        return decode_base64url(user_handle or "").decode("ascii")
    except (UnicodeDecodeError, BadRequest):
        raise Unauthorized(REFUSED) from None


def expected_count(passkey: Passkey) -> int:
    """The sign count that the next one has to exceed, unless both are 0.

    Passkeys that are synced count per device or not at all, so that a count of theirs proves nothing (WebAuthn 6.1.1).
    """
    return 0 if passkey.is_synced else passkey.sign_count


def use_passkey(passkey: Passkey, verified: Verified, now: datetime) -> tuple[Passkey, bool]:
    """The passkey after a use, and whether its count fell. Raises Unauthorized if its backup eligibility changed."""
    if verified.is_synced != passkey.is_synced:
        raise Unauthorized(REFUSED)
    fell = verified.sign_count < passkey.sign_count
    return replace(passkey, sign_count=verified.sign_count, last_used_at=now), fell


def with_passkey(person: Person, passkey_id: str) -> Person:
    """Raises Conflict if the person has it, BadRequest if they have too many."""
    if passkey_id in person.passkeys:
        raise Conflict("This passkey is registered already")
    if len(person.passkeys) >= MAX_PASSKEYS:
        raise BadRequest(f"No more than {MAX_PASSKEYS} passkeys a person")
    return replace(person, passkeys=(*person.passkeys, passkey_id))


def _hash(raw: bytes) -> str:
    return sha256(raw).hexdigest()
