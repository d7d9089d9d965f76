"""Which domains there are, when one counts as verified, and what payers are shown of a merchant."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.accounts.client_ids.rules import new_client_id
from chalicelib.accounts.domains.records import EVERY, GIVEN_UP, KEPT, PageDomain
from chalicelib.accounts.domains.rules import (
    MAX_LABEL,
    MAX_LENGTH,
    Merchant,
    after_check,
    domain_of,
    file_url,
    is_verified,
    merchant_of,
    proves,
    shown_label,
    txt_name,
)
from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.credentials.records import CredentialStatus
from tests.fakes.world import START

CLIENT = new_client_id("acct", {"label": "Ann's Shop"}, {}, START, lambda n: b"\x07" * n)
HOUR = timedelta(hours=1)


def made(text: str = "shop.example", old: PageDomain | None = None) -> PageDomain:
    return domain_of(CLIENT, text, old, START, lambda n: b"\x2a" * n)


VERIFIED = after_check(made(), None, START)


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("shop.example", "shop.example"),
        (" Shop.EXAMPLE ", "shop.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("аррӏе.com", "xn--80ak6aa92e.com"),  # Cyrillic letters that look like apple.com
        ("pаypal.com", "xn--pypal-4ve.com"),  # one of them Cyrillic
        ("shop。example", "shop.example"),
    ],
)
def test_a_domain_is_stored_as_dns_has_it_so_that_look_alikes_show(text: str, domain: str) -> None:
    assert made(text).domain == domain


@pytest.mark.parametrize(
    "text",
    ["", "shop", "localhost", "10.0.0.1", "[::1]", "shop.example.", ".shop.example", "shop..example", "-shop.example",
     "shop.example:443", "https://shop.example", "shop.example/x", "ann@shop.example", "shop example.com", "sh_op.example",
     "shop.example\n.evil.example", "shop.exa\u202emple", "a" * 64 + ".example", "a." * 130 + "example", "\ud800.example",
     "*.shop.example", "shop.1", "xn--\u202e.example"],
)  # fmt: skip
def test_what_is_no_domain_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="domain must be the name of a domain"):
        made(text)


@given(st.text(max_size=300))
def test_a_domain_that_is_taken_is_plain_ascii_with_room_for_the_record(text: str) -> None:
    try:
        domain = made(text)
    except BadRequest:
        return
    assert set(domain.domain) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert len(domain.domain) <= MAX_LENGTH and len(txt_name(domain)) <= 253


def test_the_same_domain_keeps_its_proof_and_another_one_gets_its_own() -> None:
    again = domain_of(CLIENT, "Shop.example", VERIFIED, START + HOUR, lambda n: b"\x11" * n)
    assert again == replace(VERIFIED, set_at=START + HOUR)
    other = domain_of(CLIENT, "shop2.example", VERIFIED, START, lambda n: b"\x11" * n)
    assert (other.proof, other.verified_at) == (f"payment-requests={'11' * 16}", None)
    assert made().proof == f"payment-requests={'2a' * 16}"
    assert file_url(made()) == "https://shop.example/.well-known/payment-requests.txt"


def test_only_the_whole_proof_proves() -> None:
    proof = made().proof
    for texts in ([proof], ["v=spf1", f" {proof}\r"]):
        assert proves(made(), texts)
    for texts in ([], [proof[:-1]], [f"{proof}0"], [proof.upper()], [f"x {proof}"], [proof.removeprefix("payment-requests=")]):
        assert not proves(made(), texts)


def test_one_day_without_the_proof_changes_nothing_and_the_third_ends_it() -> None:
    domain, now = VERIFIED, START
    for _ in range(2):
        now += EVERY
        domain = after_check(domain, "there is no TXT record", now)
        assert is_verified(domain, now)
    assert is_verified(domain, START + KEPT - timedelta(seconds=1)) and not is_verified(domain, START + KEPT)
    found = after_check(after_check(domain, "gone", START + KEPT), None, START + KEPT + HOUR)
    assert is_verified(found, START + KEPT + HOUR) and found.problem is None


def test_it_ends_without_any_check_too() -> None:
    assert not is_verified(VERIFIED, START + KEPT)


def test_it_is_due_every_day_and_given_up_after_a_month_without_proof() -> None:
    assert made().next_due == START
    assert VERIFIED.next_due == START + EVERY
    assert after_check(VERIFIED, "gone", START + GIVEN_UP - HOUR).next_due == START + GIVEN_UP - HOUR + EVERY
    assert after_check(VERIFIED, "gone", START + GIVEN_UP).next_due is None
    assert after_check(made(), "not there", START + GIVEN_UP).next_due is None


def test_a_domain_that_is_set_again_after_a_month_without_proof_is_checked_every_day_again() -> None:
    again = START + GIVEN_UP + 10 * EVERY
    lost = replace(VERIFIED, set_at=again)
    assert after_check(lost, "not there yet", again).next_due == again + EVERY


def test_the_page_names_a_domain_only_while_it_is_verified_and_the_payees_are_known() -> None:
    label = "Ann's Shop"
    assert merchant_of(CLIENT, VERIFIED, True, START) == Merchant("shop.example", label)
    assert merchant_of(CLIENT, VERIFIED, False, START) == Merchant(None, label)
    assert merchant_of(CLIENT, VERIFIED, True, START + KEPT) == Merchant(None, label)
    assert merchant_of(CLIENT, made(), True, START) == Merchant(None, label)


def test_it_names_nobody_whose_owner_set_no_domain_or_who_is_not_in_use() -> None:
    assert merchant_of(CLIENT, None, True, START) is None
    assert merchant_of(None, VERIFIED, True, START) is None
    for status in (CredentialStatus.INACTIVE, CredentialStatus.REVOKED):
        assert merchant_of(replace(CLIENT, status=status), VERIFIED, True, START) is None


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Ann's Shop", "Ann's Shop"),
        ("  two\n\twords ", "two words"),
        ("\u202eknab.elpmaxe\u202c", "knab. elpmaxe"),  # turned around it would read example.bank
        ("\u2066a\u2069\u200b\u200eb\x00c", "abc"),
        ("\u2713 shop.example \u2705 verified", "shop. example verified"),
        ("coinbase.com", "coinbase. com"),
        ("coinbase\u3002com", "coinbase. com"),
        ("\U0001f512", None),
        ("\u202e\u200b\u3164", None),
        ("M\u00fcller & S\u00f6hne + Co", "M\u00fcller & S\u00f6hne + Co"),
        ("\u0936\u094d\u0930\u0940 \u0926\u0941\u0915\u093e\u0928", "\u0936\u094d\u0930\u0940 \u0926\u0941\u0915\u093e\u0928"),
        ("x" * 255, "x" * (MAX_LABEL - 1) + "\u2026"),
    ],
)
def test_a_label_is_shown_as_plain_text_that_is_no_domain_and_has_no_mark(label: str, shown: str | None) -> None:
    assert shown_label(label) == shown


@given(st.text(max_size=255))
def test_no_label_brings_characters_that_are_not_seen_or_is_too_long(label: str) -> None:
    shown = shown_label(label)
    assert shown is None or (shown.isprintable() and 0 < len(shown) <= MAX_LABEL and shown == shown.strip())
