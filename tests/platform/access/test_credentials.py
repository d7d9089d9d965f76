"""Which origins a client id admits, and how credentials are spelt and looked up."""

import hashlib
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Forbidden, Unauthorized
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import (
    SCOPES,
    check_api_key,
    check_client_id,
    check_linked,
    check_orchestrator_key,
    check_scope,
    credential_hash,
    ip_range,
    parse_origin,
)
from tests.fakes.world import START

ORIGIN = "https://shop.example"


def client(status: CredentialStatus = CredentialStatus.ACTIVE, domains: tuple[str, ...] = (ORIGIN,)) -> ClientId:
    return ClientId("hash", "cli_x", "01", "acct", "label", domains, status, START)


@pytest.mark.parametrize(
    "origin",
    [
        "http://shop.example",
        "https://shop.example:8443",
        "https://shop.example.",
        "https://shop.example/",
        "HTTPS://shop.example",
        "https://evil-shop.example",
        "https://shop.example.evil.example",
        "https://shop.example@evil.example",
        "null",
        "*",
    ],
)
def test_an_origin_that_is_not_exactly_an_allowed_one_is_forbidden(origin: str) -> None:
    with pytest.raises(Forbidden):
        check_client_id(client(), origin)


def test_without_domains_every_origin_is_admitted_that_can_be_one_of_a_page() -> None:
    longest = f"https://{'a' * 253}:65535"
    assert check_client_id(client(domains=()), longest) == client(domains=())
    with pytest.raises(Forbidden, match="longer than 300 characters"):
        check_client_id(client(domains=()), "https://" + "a" * 293)


ADMITTED = ("https://shop.example", "http://localhost:3000", "https://a.b.example:8443", "http://[::1]:3000")


@st.composite
def resembling(draw: st.DrawFn) -> str:
    """An admitted origin with something before, behind, inside or instead of a part of it, or in another case."""
    origin = draw(st.sampled_from(ADMITTED))
    extra = draw(
        st.sampled_from([".", "/", ":443", ":80", ":3000", "@evil.example", ".evil.example", "?", "#", " ", "\x00", "\t", ","])
        | st.sampled_from(["https://", "http://", "www.", "evil", "null", "*", "%2e", "\u3002", "\u0430", "\u200b", "\\"])
        | st.text(max_size=4)
    )
    place = draw(st.integers(0, len(origin)))
    length = draw(st.integers(0, 3))
    changed = origin[:place] + extra + origin[place + length :]
    return draw(st.sampled_from([changed, origin.upper(), origin.title(), origin.swapcase(), changed * 2]))


def of(number: int, strings: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Many strings an example: to begin an example takes longer than to check a string."""
    return st.lists(strings, min_size=number, max_size=number)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(of(50, st.text(max_size=30) | resembling() | st.sampled_from(ADMITTED)))
def test_of_1000_strings_only_the_admitted_origins_themselves_pass(texts: list[str]) -> None:
    limited = client(domains=ADMITTED)
    for text in texts:
        if text in ADMITTED:
            assert check_client_id(limited, text)
            continue
        with pytest.raises((Forbidden, Unauthorized)):
            check_client_id(limited, text)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(of(50, st.text(max_size=30) | resembling()))
def test_a_domain_that_can_be_stored_is_an_origin_that_a_browser_can_send(texts: list[str]) -> None:
    """It then admits exactly itself, and storing it again changes nothing."""
    for text in texts:
        try:
            domain = parse_origin(text)
        except BadRequest:
            continue
        assert re.fullmatch(r"https?://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", domain)
        assert parse_origin(domain) == domain
        assert check_client_id(client(domains=(domain,)), domain)


def api_key(**changes: Any) -> ApiKey:
    return replace(ApiKey("hash", "01", "acct", "label", "key_1234", CredentialStatus.ACTIVE, START), **changes)


ELSEWHERE = "203.0.113.7"


@pytest.mark.parametrize(
    "key",
    [
        None,
        api_key(status=CredentialStatus.REVOKED),
        api_key(status=CredentialStatus.INACTIVE),
        api_key(expires_at=START),
        api_key(expires_at=START - timedelta(days=1)),
    ],
    ids=str,
)
def test_a_key_that_is_unknown_shut_or_expired_is_unauthorized_without_saying_which(key: ApiKey | None) -> None:
    with pytest.raises(Unauthorized, match="^Unauthorized$"):
        check_api_key(key, ELSEWHERE, START)


def test_a_key_holds_until_its_end_and_not_at_it() -> None:
    key = api_key(expires_at=START + timedelta(milliseconds=1))
    assert check_api_key(key, ELSEWHERE, START) == key


@pytest.mark.parametrize(
    ("ranges", "address", "passes"),
    [
        (("203.0.113.0/24",), "203.0.113.7", True),
        (("203.0.113.7/32",), "203.0.113.7", True),
        (("203.0.113.8/32", "10.0.0.0/8"), "203.0.113.7", False),
        (("2001:db8::/32",), "2001:db8::1", True),
        (("2001:db8::/32",), "203.0.113.7", False),
        (("0.0.0.0/0",), "2001:db8::1", False),
        (("203.0.113.0/24",), "", False),
        (("203.0.113.0/24",), "203.0.113.7, 10.0.0.1", False),
    ],
)
def test_a_key_may_be_held_to_addresses(ranges: tuple[str, ...], address: str, passes: bool) -> None:
    key = api_key(allowed_ips=ranges)
    if passes:
        assert check_api_key(key, address, START) == key
        return
    with pytest.raises(Forbidden, match="may not be used from this address"):
        check_api_key(key, address, START)


def test_a_scope_that_is_missing_is_named_and_a_key_without_scopes_may_do_everything() -> None:
    for scope in SCOPES:
        check_scope((), scope)
        check_scope((scope,), scope)
        with pytest.raises(Forbidden, match=scope):
            check_scope(tuple(each for each in SCOPES if each != scope), scope)
    check_scope(("audit:read",), None)


def test_a_platform_acts_only_for_client_ids_that_are_linked_to_it() -> None:
    key = OrchestratorKey("hash", "01", "orc1", "acct", "orc_live_1234", CredentialStatus.ACTIVE, START)
    assert check_orchestrator_key(key) == key
    linked = replace(client(), orchestrator_id="orc1")
    assert check_linked(linked, key) == linked
    for other in (client(), replace(client(), orchestrator_id="orc2")):
        with pytest.raises(Forbidden, match="not linked"):
            check_linked(other, key)
    for status in (CredentialStatus.REVOKED, CredentialStatus.INACTIVE):
        with pytest.raises(Unauthorized):
            check_orchestrator_key(replace(key, status=status))
    with pytest.raises(Unauthorized):
        check_orchestrator_key(None)


def test_a_missing_origin_is_named_unless_the_client_id_has_no_domains() -> None:
    with pytest.raises(Unauthorized, match="Origin header is required"):
        check_client_id(client(), None)
    assert check_client_id(client(domains=()), None)


def test_an_unknown_client_id_is_unauthorized() -> None:
    with pytest.raises(Unauthorized, match="^Unauthorized$"):
        check_client_id(None, ORIGIN)


@pytest.mark.parametrize(
    ("status", "text"),
    [(CredentialStatus.REVOKED, "Client ID has been revoked"), (CredentialStatus.INACTIVE, "Client ID is inactive")],
)
def test_a_revoked_or_inactive_client_id_is_forbidden(status: CredentialStatus, text: str) -> None:
    with pytest.raises(Forbidden, match=f"^{text}$"):
        check_client_id(client(status), ORIGIN)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("203.0.113.7", "203.0.113.7/32"),
        ("203.0.113.7/24", "203.0.113.0/24"),
        ("2001:DB8::1", "2001:db8::1/128"),
        ("2001:db8::1/32", "2001:db8::/32"),
    ],
)
def test_an_address_range_is_stored_in_one_form(text: str, stored: str) -> None:
    assert ip_range(text) == stored


@pytest.mark.parametrize("text", ["", "shop.example", "203.0.113", "203.0.113.7/33", "203.0.113.7 "])
def test_what_is_no_address_range_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="is not an IP address or range"):
        ip_range(text)


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("https://Shop.Example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("https://shop.example:80", "https://shop.example:80"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://localhost:80", "http://localhost"),
        ("http://localhost:443", "http://localhost:443"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
def test_a_domain_is_stored_as_browsers_send_it(given_text: str, stored: str) -> None:
    assert parse_origin(given_text) == stored


@pytest.mark.parametrize(
    "text",
    [
        "shop.example",
        "http://shop.example",
        "https://shop.example/path",
        "https://shop.example?q",
        "https://shop.example#f",
        "https://user@shop.example",
        "https://*.shop.example",
        "https://shop.example:99999",
        "https://",
        "ftp://shop.example",
        "javascript:alert(1)",
        "https://shop.example\n",
        "",
    ],
)
def test_what_is_not_an_origin_is_refused_as_a_domain(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_origin(text)


@given(st.binary(min_size=64, max_size=64))
def test_credentials_have_their_documented_form(seed: bytes) -> None:
    def entropy(n: int) -> bytes:
        return seed[:n]

    assert re.fullmatch(r"cli_[A-Za-z0-9]{30}", ids.client_id(entropy))
    assert re.fullmatch(r"key_[A-Za-z0-9]{43}", ids.api_key(entropy))
    assert re.fullmatch(r"[0-9a-f]{64}", ids.webhook_secret(entropy))
    assert re.fullmatch(r"01[0-9a-f]{64}", ids.request_id(entropy))
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", ids.ulid(START, entropy))


def test_the_stored_hash_does_not_hold_the_credential() -> None:
    assert "secret" not in credential_hash("key_secret")


def test_bytes_of_a_header_that_are_no_text_have_a_hash_too() -> None:
    header = b"key_\xff"
    assert credential_hash(header.decode(errors="surrogateescape")) == hashlib.sha256(header).hexdigest()
