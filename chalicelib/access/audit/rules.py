"""The audit log: who did what to credentials, webhooks, destinations, sessions and orchestrator links."""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.base.ids import Entropy

_ENTRY_ID = re.compile(rb"[0-9A-HJKMNP-TV-Z]{26}")


def entry(actor: Actor, action: str, target: str, now: datetime, entropy: Entropy) -> AuditEntry:
    """`action` is `<resource>.<verb>`, such as `api_key.created`."""
    return AuditEntry(
        account_id=actor.account_id,
        entry_id=ids.ulid(now, entropy),
        at=now,
        actor=actor.name,
        action=action,
        target=target,
        ip_address=actor.ip_address,
        request_id=actor.request_id,
    )


def cursor_after(entry: AuditEntry) -> str:
    """What a reader sends to go on below this line; opaque to them."""
    return urlsafe_b64encode(entry.entry_id.encode()).rstrip(b"=").decode()


def position_of(cursor: str) -> str:
    """The id of the line that a cursor points at. Raises BadRequest for a text that was never given as a cursor."""
    try:
        entry_id = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
    except (UnicodeEncodeError, binascii.Error):
        entry_id = b""
    if not _ENTRY_ID.fullmatch(entry_id):
        raise BadRequest("cursor is not one of this list: send nextCursor as it was given, or none to start")
    return entry_id.decode()


def entries(
    actor: Actor, action: str, target: str, accounts: Iterable[str], now: datetime, entropy: Entropy
) -> tuple[AuditEntry, ...]:
    """The same line for each account that it concerns, the actor's own among them; others do not learn who it was."""
    concerned = dict.fromkeys((actor.account_id, *accounts))
    return tuple(entry(_as_told_to(account_id, actor), action, target, now, entropy) for account_id in concerned)


def _as_told_to(account_id: str, actor: Actor) -> Actor:
    """The actor as an account may know it: of another one's only that it was a platform or the operator, no address."""
    if account_id == actor.account_id:
        return actor
    is_known = actor.name == "operator" or actor.name.startswith("orchestrator:")
    return replace(
        actor, account_id=account_id, name=actor.name if is_known else "another account", ip_address=""
    )
