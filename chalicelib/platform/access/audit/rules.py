"""Makes audit log entries for changes to credentials, webhooks, destinations, sessions and orchestrator links."""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.audit.records import Actor, AuditEntry

_ENTRY_ID = re.compile(rb"[0-9A-HJKMNP-TV-Z]{26}")


def make_entry(actor: Actor, action: str, target: str, now: datetime, entropy: Entropy) -> AuditEntry:
    """An audit entry. `action` is `<resource>.<verb>`, such as `api_key.created`."""
    return AuditEntry(
        account_id=actor.account_id,
        entry_id=_entry_id(now, entropy),
        at=now,
        actor=actor.name,
        action=action,
        target=target,
        ip_address=actor.ip_address,
        request_id=actor.request_id,
        session_id=actor.session_id,
    )


def _entry_id(now: datetime, entropy: Entropy) -> str:
    """A ULID whose random part begins with the microseconds: what was done in one millisecond stays in order."""
    return ids.ulid_from(now, (now.microsecond % 1000).to_bytes(2, "big") + entropy(8))


def cursor_after(entry: AuditEntry) -> str:
    """The opaque cursor with which a caller continues the list after this entry."""
    return urlsafe_b64encode(entry.entry_id.encode()).rstrip(b"=").decode()


def entry_id_of(cursor: str) -> str:
    """The entry id that a cursor encodes. Raises BadRequest for a text that is not a cursor."""
    try:
        entry_id = urlsafe_b64decode(cursor.encode() + b"==")  # at most two are missing, others are ignored
    except (UnicodeEncodeError, binascii.Error):
        entry_id = b""
    if not _ENTRY_ID.fullmatch(entry_id):
        raise BadRequest("cursor is not one of this list: send nextCursor as it was given, or none to start")
    return entry_id.decode()


def entries(
    actor: Actor, action: str, target: str, accounts: Iterable[str], now: datetime, entropy: Entropy
) -> tuple[AuditEntry, ...]:
    """One entry for the actor's own account and one for each of `accounts`; the latter do not identify the actor."""
    concerned = dict.fromkeys((actor.account_id, *accounts))
    return tuple(
        make_entry(_actor_shown_to(account_id, actor), action, target, now, entropy) for account_id in concerned
    )


def entries_of_person(
    actor: Actor,
    action: str,
    target: str,
    accounts: Iterable[str],
    now: datetime,
    entropy: Entropy,
    mailed_to: tuple[str, ...] | None = None,
) -> tuple[AuditEntry, ...]:
    """An entry for each account of a person about a change of how they sign in, which concerns all of them.

    It is told to the addresses `mailed_to`, too.
    """
    made = (make_entry(replace(actor, account_id=each), action, target, now, entropy) for each in accounts)
    return tuple(replace(each, mailed_to=mailed_to or None) for each in made)


def _actor_shown_to(account_id: str, actor: Actor) -> Actor:
    """The actor as an account may see it. Another account sees no address and only names of operators and platforms."""
    if account_id == actor.account_id:
        return actor
    is_public = actor.name == "operator" or actor.name.startswith("orchestrator:")
    name = actor.name if is_public else "another account"
    return Actor(account_id, name, "", actor.request_id)
