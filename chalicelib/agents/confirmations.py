"""Confirmations: what a call that changes something has to repeat from the answer that said what it would do."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

VALID_FOR = timedelta(minutes=10)
_DIGITS = 32


def confirmation_of(tool: str, arguments: Mapping[str, Any], key_scope: str, now: datetime) -> str:
    """The confirmation of a call with these arguments, by the credential `key_scope`, that is given now.

    It is bound to all of them by an HMAC with the hash of the credential; nothing is stored. Who has the credential can
    compute one, but can call the operation itself as well: this is for an agent that does not see it.
    """
    return _bind(tool, arguments, key_scope, int(now.timestamp()))


def is_confirmed(text: str, tool: str, arguments: Mapping[str, Any], key_scope: str, now: datetime) -> bool:
    """Whether a confirmation is that of this call, and was given within VALID_FOR."""
    given, _, _ = text.partition(".")
    if not (given.isascii() and given.isdecimal() and len(given) < _DIGITS):
        return False
    age = now.timestamp() - int(given)
    is_made = hmac.compare_digest(text.encode(), _bind(tool, arguments, key_scope, int(given)).encode())
    return is_made and -1 <= age <= VALID_FOR.total_seconds()


def _bind(tool: str, arguments: Mapping[str, Any], key_scope: str, given: int) -> str:
    content = json.dumps([tool, arguments, given], sort_keys=True)
    return f"{given}.{hmac.digest(key_scope.encode(), content.encode(), hashlib.sha256).hex()[:_DIGITS]}"
