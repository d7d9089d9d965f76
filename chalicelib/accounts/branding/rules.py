"""Checks the branding that the owner of a client id sets, and refuses colours that make text unreadable."""

import hashlib
import re
from datetime import datetime
from typing import Any

from chalicelib.accounts.branding.images import sanitise_logo
from chalicelib.accounts.branding.records import Colours, PageBranding
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.urls import HTTPS_URL, is_url
from chalicelib.platform.access.credentials.records import ClientId

LEAST_CONTRAST = 4.5
"""Of text on its background (WCAG 2.2, 1.4.3 AA)."""
LEAST_CONTRAST_OF_SIGNS = 3.0
"""Of a button's edge, the current step and the keyboard focus (WCAG 2.2, 1.4.11 AA)."""
MAX_URL_LENGTH = 2048
_COLOUR = re.compile(r"#[0-9a-f]{6}")

COLOURS = {
    "pageBackgroundColor": "page_background",
    "cardBackgroundColor": "card_background",
    "primaryActionColor": "primary_action",
    "primaryTextColor": "primary_text",
    "secondaryTextColor": "secondary_text",
}
"""The field of each colour, by its name in the API."""


@frozen
class BrandingDraft:
    """A complete branding as it was sent: it replaces the old one, so what is left out is removed."""

    logo: str | None = None
    colours: Colours | None = None
    terms_url: str | None = None
    privacy_url: str | None = None
    display_request_branding: bool = True


def branding_of(client: ClientId, draft: BrandingDraft, now: datetime, version: int = 0) -> PageBranding:
    """The branding of a client id. Raises BadRequest that names the field, or the colours and their contrast."""
    return PageBranding(
        client_id_hash=client.client_id_hash,
        record_id=client.record_id,
        account_id=client.account_id,
        updated_at=now,
        logo=None if draft.logo is None else sanitise_logo(draft.logo),
        colours=None if draft.colours is None else _readable(draft.colours),
        terms_url=_link("termsUrl", draft.terms_url),
        privacy_url=_link("privacyUrl", draft.privacy_url),
        display_request_branding=draft.display_request_branding,
        version=version,
    )


def link_branding(branding: PageBranding | None) -> dict[str, Any] | None:
    """The fields of a branding in responses about a link. Fields that the owner did not set are left out."""
    if branding is None:
        return None
    optional = {"logoPath": logo_path(branding), "termsPath": branding.terms_url, "privacyPath": branding.privacy_url}
    return {
        "id": f"brand_{branding.record_id}",
        "clientIdId": branding.record_id,
        "displayRequestBranding": branding.display_request_branding,
        **{name: value for name, value in optional.items() if value is not None},
        **({name: getattr(branding.colours, field) for name, field in COLOURS.items()} if branding.colours else {}),
    }


def logo_path(branding: PageBranding) -> str | None:
    """The path of the logo on the host of the payment page."""
    return f"/pages/logos/{branding.client_id_hash}" if branding.logo else None


def version_of(logo: str) -> str:
    """A hash of the logo."""
    return hashlib.sha256(logo.encode()).hexdigest()[:16]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def text_on(colour: str) -> str:
    """Black or white, whichever has more contrast on a colour. The greater contrast is at least 4.5:1."""
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, colour))


def _readable(sent: Colours) -> Colours:
    colours = Colours(**{field: _colour(name, getattr(sent, field)) for name, field in COLOURS.items()})
    for text_name, text in (
        ("primaryTextColor", colours.primary_text),
        ("secondaryTextColor", colours.secondary_text),
    ):
        _check_contrast(text_name, text, "pageBackgroundColor", colours.page_background)
        _check_contrast(text_name, text, "cardBackgroundColor", colours.card_background)
    action = colours.primary_action
    _check_contrast("the button's text", text_on(action), "primaryActionColor", action)
    for ground_name, ground in (
        ("pageBackgroundColor", colours.page_background),
        ("cardBackgroundColor", colours.card_background),
    ):
        if contrast(action, ground) < LEAST_CONTRAST_OF_SIGNS:
            raise BadRequest(
                f"primaryActionColor {action} on {ground_name} {ground} has a contrast of {_ratio(action, ground)}:1, "
                "too little for a button and for the keyboard's focus to be seen: it needs "
                f"{LEAST_CONTRAST_OF_SIGNS:g}:1, so choose a darker or a lighter one"
            )
    return colours


def _check_contrast(text_name: str, text: str, ground_name: str, ground: str) -> None:
    if contrast(text, ground) < LEAST_CONTRAST:
        raise BadRequest(
            f"{text_name} {text} on {ground_name} {ground} has a contrast of {_ratio(text, ground)}:1, "
            f"too little to be read: it needs {LEAST_CONTRAST}:1"
        )


def _ratio(one: str, other: str) -> str:
    """The contrast with two decimals, rounded down, so that it does not look sufficient if it is not."""
    return f"{int(contrast(one, other) * 100) / 100:.2f}"


def _colour(name: str, text: str) -> str:
    if not _COLOUR.fullmatch(text.lower()):
        raise BadRequest(f"{name} must be a colour such as #1a2b3c")
    return text.lower()


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def _link(name: str, url: str | None) -> str | None:
    """A URL by the rules of redirectUrl, but only https."""
    if url is None:
        return None
    if len(url) > MAX_URL_LENGTH or not is_url(url, HTTPS_URL):
        raise BadRequest(f"{name} must be a safe https URL with no script/HTML payload, such as https://shop.example/terms")
    return url
