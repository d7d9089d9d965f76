"""Makes and changes API keys, and checks the settings that their owner chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypedDict

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.credentials.records import ApiKey, CredentialStatus
from chalicelib.platform.access.credentials.rules import SCOPES, credential_hash, ip_range

_MAX_QUOTED = 80  # characters of a sent text that an error message quotes


class ApiKeySettings(TypedDict, total=False):
    """Settings by the field name of the record. Settings that are left out do not change."""

    label: str
    scopes: Sequence[str] | None
    allowed_ips: Sequence[str] | None
    expires_at: datetime | None
    uses_payment_intents: bool
    status: CredentialStatus
    is_test: bool
    """Only of a new key."""


def new_api_key(account_id: str, settings: ApiKeySettings, now: datetime, source: ids.Source) -> tuple[ApiKey, str]:
    """A new key of the account: its record, and the key, which is shown once. Raises BadRequest."""
    checked = _check_settings(settings, now)
    key = ids.api_key(source.entropy, settings.get("is_test", False))
    record = ApiKey(
        key_hash=credential_hash(key),
        key_id=ids.ulid(*source),
        account_id=account_id,
        label="",
        prefix=key[: 13 if settings.get("is_test") else 8],
        status=CredentialStatus.ACTIVE,
        created_at=now,
    )
    return replace(record, **checked), key


def apply_settings(record: ApiKey, settings: ApiKeySettings, now: datetime) -> ApiKey:
    """The key with other settings. Raises BadRequest."""
    return replace(record, **_check_settings(settings, now))


def toggle_api_key(record: ApiKey) -> ApiKey:
    """The key switched off or on."""
    is_active = record.status is CredentialStatus.ACTIVE
    return replace(record, status=CredentialStatus.INACTIVE if is_active else CredentialStatus.ACTIVE)


def parse_time(text: str) -> datetime:
    """The time of an ISO 8601 text with an offset. Raises BadRequest."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadRequest("must be a time in ISO 8601 with its offset, such as 2027-01-31T12:00:00Z")


def _check_settings(settings: ApiKeySettings, now: datetime) -> Mapping[str, Any]:
    expires_at = settings.get("expires_at")
    if expires_at is not None and expires_at <= now:
        raise BadRequest("expiresAt is in the past: give a time in the future, or none")
    checked: dict[str, Any] = dict(settings)
    if "scopes" in settings:
        checked["scopes"] = _scopes(settings["scopes"])
    if "allowed_ips" in settings:
        checked["allowed_ips"] = _ranges(settings["allowed_ips"] or ())
    return checked


def _scopes(wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The scopes in the order of SCOPES. All of them become no limit, so that scopes added later are included."""
    for each in wanted or ():
        if each not in SCOPES:
            raise BadRequest(f"scopes: {each[:_MAX_QUOTED]!r} is not a scope; allowed are {', '.join(SCOPES)}")
    if wanted is None or set(wanted) == set(SCOPES):
        return ()
    return tuple(each for each in SCOPES if each in wanted)


def _ranges(texts: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(ip_range(text) for text in texts))
    except BadRequest as error:
        raise BadRequest(f"allowedIps: {error.message}") from None
