"""Which settings an API key may have, in which form they are stored, and how it is switched off and on."""

import hashlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.accounts.api_keys.rules import (
    ApiKeySettings,
    apply_settings,
    new_api_key,
    parse_time,
    toggle_api_key,
)
from chalicelib.base.errors import BadRequest
from chalicelib.base.ids import Source
from chalicelib.platform.access.credentials.records import ApiKey, CredentialStatus
from chalicelib.platform.access.credentials.rules import SCOPES, credential_hash
from tests.fakes.world import START

TICK = timedelta(milliseconds=1)


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


def made(settings: ApiKeySettings) -> ApiKey:
    return new_api_key("acct", settings, START, Source(START, entropy()))[0]


def test_a_new_key_is_active_and_only_its_hash_and_its_first_letters_are_stored() -> None:
    record, key = new_api_key("acct", {"label": "server"}, START, Source(START, entropy()))
    expected = ApiKey(credential_hash(key), record.key_id, "acct", "server", key[:8], CredentialStatus.ACTIVE, START)
    assert record == expected
    assert key.startswith("key_") and len(record.prefix) == 8
    assert made({}).label == ""


def test_scopes_are_stored_in_one_order_and_all_of_them_are_no_limit() -> None:
    assert made({"scopes": ["webhooks:read", "secure_payments:write"]}).scopes == ("secure_payments:write", "webhooks:read")
    for everything in (SCOPES, tuple(reversed(SCOPES)), None):
        assert made({"scopes": everything}).scopes == ()
    assert made({"scopes": []}).scopes == ()


def test_an_unknown_scope_is_quoted_in_80_characters_at_most() -> None:
    with pytest.raises(BadRequest) as refused:
        made({"scopes": ["webhooks:read", "x" * 81]})
    assert refused.value.message.startswith(f"scopes: {'x' * 80!r} is not a scope; allowed are secure_payments:read, ")


def test_address_ranges_are_stored_in_one_form_and_once() -> None:
    assert made({"allowed_ips": ["203.0.113.9/24", "203.0.113.0/24", "::1"]}).allowed_ips == ("203.0.113.0/24", "::1/128")
    assert made({"allowed_ips": None}).allowed_ips == ()
    with pytest.raises(BadRequest, match="^allowedIps: 'here' is not an IP address or range"):
        made({"allowed_ips": ["here"]})


def test_a_key_ends_in_the_future_or_never() -> None:
    assert made({"expires_at": START + TICK}).expires_at == START + TICK
    assert made({"expires_at": None}).expires_at is None
    for past in (START, START - TICK):
        with pytest.raises(BadRequest, match="expiresAt is in the past"):
            made({"expires_at": past})


def test_what_is_not_said_does_not_change() -> None:
    record = made({"label": "one", "scopes": ["audit:read"], "allowed_ips": ["::1"], "expires_at": START + TICK})
    changed = apply_settings(record, {"label": "two"}, START)
    assert changed.label == "two"
    assert (changed.scopes, changed.allowed_ips, changed.expires_at) == (("audit:read",), ("::1/128",), START + TICK)
    assert apply_settings(record, {"expires_at": None}, START).expires_at is None


def test_a_key_is_switched_off_and_on() -> None:
    off = toggle_api_key(made({}))
    assert off.status is CredentialStatus.INACTIVE
    assert toggle_api_key(off).status is CredentialStatus.ACTIVE


@pytest.mark.parametrize("text", ["2027-01-31T12:00:00Z", "2027-01-31T13:00:00+01:00"])
def test_a_time_is_stored_in_utc(text: str) -> None:
    time = parse_time(text)
    assert (time, time.tzinfo) == (datetime(2027, 1, 31, 12, tzinfo=UTC), UTC)


@pytest.mark.parametrize("text", ["", "soon", "2027-01-31T12:00:00", "2027-13-01T00:00:00Z", "9999-12-31T23:59:59-01:00"])
def test_what_is_no_time_with_an_offset_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="must be a time in ISO 8601 with its offset"):
        parse_time(text)
