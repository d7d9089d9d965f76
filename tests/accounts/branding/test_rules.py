"""White label: what an owner may choose, and why the rest is refused."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.accounts.branding import rules
from chalicelib.accounts.branding.records import Colours
from chalicelib.accounts.branding.rules import (
    LEAST_CONTRAST,
    BrandingDraft,
    branding_of,
    contrast,
    link_branding,
    logo_path,
    text_on,
    version_of,
)
from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from tests.accounts.branding.png import png, text

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLIENT = ClientId("hash", "cli_1", "record", "account", "shop", (), CredentialStatus.ACTIVE, NOW)
COLOURS = Colours("#FFFFFF", "#f8fafc", "#00875f", "#1e293b", "#475569")


def test_a_branding_is_kept_as_it_was_asked_for() -> None:
    draft = BrandingDraft(text(png()), COLOURS, "https://shop.example/terms?a=1#b", "https://shop.example", False)
    branding = branding_of(CLIENT, draft, NOW, version=3)
    assert (branding.client_id_hash, branding.record_id, branding.account_id) == ("hash", "record", "account")
    assert branding.logo == text(png())
    assert branding.colours == replace(COLOURS, page_background="#ffffff")
    assert (branding.terms_url, branding.privacy_url) == (draft.terms_url, draft.privacy_url)
    assert (branding.display_request_branding, branding.version) == (False, 3)


def test_a_branding_may_be_empty() -> None:
    branding = branding_of(CLIENT, BrandingDraft(), NOW)
    assert (branding.logo, branding.colours, branding.terms_url, branding.version) == (None, None, None, 0)


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#000000", "#ffffff", 21), ("#ffffff", "#ffffff", 1), ("#777777", "#ffffff", 4.48), ("#767676", "#ffffff", 4.54)],
)
def test_contrast_is_as_wcag_has_it(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == contrast(other, one) == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"primary_text": "#eeeeee"}, "primaryTextColor #eeeeee on pageBackgroundColor #ffffff has a contrast of 1.16:1"),
        ({"page_background": "#1e293b"}, "primaryTextColor #1e293b on pageBackgroundColor #1e293b has a contrast of 1.00:1"),
        ({"secondary_text": "#777777"}, "secondaryTextColor #777777 on pageBackgroundColor #ffffff has a contrast of 4.47:1"),
        ({"card_background": "#334155"}, "primaryTextColor #1e293b on cardBackgroundColor #334155"),
        ({"primary_action": "#fdfdfd"}, "primaryActionColor #fdfdfd on pageBackgroundColor #ffffff has a contrast of 1.01:1"),
        ({"primary_action": "#00d395"}, "primaryActionColor #00d395 on pageBackgroundColor #ffffff has a contrast of 1.95:1"),
        (
            {"primary_action": "#949494", "card_background": "#f4f4f4"},
            "primaryActionColor #949494 on cardBackgroundColor #f4f4f4 has a contrast of 2.75:1, too little for a button "
            "and for the keyboard's focus to be seen: it needs 3:1, so choose a darker or a lighter one",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_pair_and_its_ratio(changes: dict[str, str], wanted: str) -> None:
    with pytest.raises(BadRequest) as refused:
        branding_of(CLIENT, BrandingDraft(colours=replace(COLOURS, **changes)), NOW)
    assert refused.value.message.startswith(wanted)


def test_a_contrast_of_exactly_the_limit_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    action, ground = COLOURS.primary_action, COLOURS.card_background
    monkeypatch.setattr(rules, "LEAST_CONTRAST_OF_SIGNS", contrast(action, ground))
    assert branding_of(CLIENT, BrandingDraft(colours=COLOURS), NOW).colours is not None
    monkeypatch.setattr(rules, "LEAST_CONTRAST", contrast(COLOURS.secondary_text, ground))
    pale = replace(COLOURS, primary_action=COLOURS.secondary_text)
    assert branding_of(CLIENT, BrandingDraft(colours=pale), NOW).colours is not None


def test_a_ratio_in_a_message_is_rounded_down() -> None:
    """#777777 has 4.478 on white."""
    with pytest.raises(BadRequest, match="a contrast of 4.47:1, too little to be read: it needs 4.5:1"):
        branding_of(CLIENT, BrandingDraft(colours=replace(COLOURS, primary_text="#777777")), NOW)


def test_a_link_shows_what_the_owner_set_and_nothing_else() -> None:
    empty = branding_of(CLIENT, BrandingDraft(), NOW)
    assert link_branding(empty) == {"id": "brand_record", "clientIdId": "record", "displayRequestBranding": True}
    assert logo_path(empty) is None and link_branding(None) is None
    draft = BrandingDraft(text(png()), COLOURS, "https://shop.example/terms", "https://shop.example/privacy", False)
    assert link_branding(branding_of(CLIENT, draft, NOW)) == {
        "id": "brand_record",
        "clientIdId": "record",
        "displayRequestBranding": False,
        "logoPath": "/pages/logos/hash",
        "termsPath": "https://shop.example/terms",
        "privacyPath": "https://shop.example/privacy",
        "pageBackgroundColor": "#ffffff",
        "cardBackgroundColor": "#f8fafc",
        "primaryActionColor": "#00875f",
        "primaryTextColor": "#1e293b",
        "secondaryTextColor": "#475569",
    }


def test_a_logos_version_is_16_digits_of_its_hash() -> None:
    assert version_of("logo") == hashlib.sha256(b"logo").hexdigest()[:16]


def test_a_link_has_2048_characters_at_most() -> None:
    longest = "https://shop.example/" + "x" * (2048 - len("https://shop.example/"))
    assert branding_of(CLIENT, BrandingDraft(terms_url=longest), NOW).terms_url == longest
    with pytest.raises(BadRequest, match="termsUrl must be a safe https URL"):
        branding_of(CLIENT, BrandingDraft(terms_url=longest + "x"), NOW)


def test_channels_are_linear_below_a_threshold_and_a_power_above_it() -> None:
    """WCAG 2.2, relative luminance: 10 of 255 is below the threshold, 11 above it; every channel has its weight."""
    for grey, luminance in ((10, 10 / 255 / 12.92), (11, ((11 / 255 + 0.055) / 1.055) ** 2.4)):
        assert contrast("#" + f"{grey:02x}" * 3, "#000000") == pytest.approx((luminance + 0.05) / 0.05, rel=1e-12)
    for colour, weight in (("#ff0000", 0.2126), ("#00ff00", 0.7152), ("#0000ff", 0.0722)):
        assert contrast(colour, "#000000") == pytest.approx((weight + 0.05) / 0.05, rel=1e-12)


@pytest.mark.parametrize("colour", ["", "red", "#fff", "#12345g", "#1234567", "url(x)", "#123456;}", "#12345\n", "１２３４５６７"])
def test_what_is_no_colour_is_refused(colour: str) -> None:
    with pytest.raises(BadRequest, match="^primaryActionColor must be a colour"):
        branding_of(CLIENT, BrandingDraft(colours=replace(COLOURS, primary_action=colour)), NOW)


@settings(max_examples=200)
@given(st.integers(0, 0xFFFFFF))
def test_a_button_can_be_read_whatever_its_colour(number: int) -> None:
    colour = f"#{number:06x}"
    assert contrast(text_on(colour), colour) >= LEAST_CONTRAST


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://shop.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "//shop.example",
        "https://",
        "https:///x",
        "https://shop.example/<script>",
        'https://shop.example/"onclick',
        "https://shop.example/a b",
        "https://shop.example/\n",
        "https://bank.example@evil.example",
        "https://bank.example\\@evil.example",
        "https://[::1",
        "https://shop.example/" + "a" * 2048,
    ],
)
@pytest.mark.parametrize("name", ["terms_url", "privacy_url"])
def test_a_link_that_is_not_safe_is_refused(name: str, url: str) -> None:
    with pytest.raises(BadRequest, match="Url must be a safe https URL"):
        branding_of(CLIENT, BrandingDraft(**{name: url}), NOW)
