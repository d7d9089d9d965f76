"""Models of branding: what the owner of a client id sets, and what responses about its links show."""

from typing import Annotated, Self

from pydantic import Field, StrictBool, StringConstraints, model_validator

from chalicelib.accounts.branding.images import MAX_BASE64, MAX_SIDE
from chalicelib.accounts.branding.records import Colours, PageBranding
from chalicelib.accounts.branding.rules import (
    COLOURS,
    MAX_URL_LENGTH,
    BrandingDraft,
    link_branding,
    logo_path,
)
from chalicelib.base.urls import HTTPS_URL
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

Colour = Annotated[str, StringConstraints(max_length=20), form("^#[0-9a-fA-F]{6}$")]
Link = Annotated[str, StringConstraints(max_length=MAX_URL_LENGTH), form(HTTPS_URL, "https-url")]


class PutBranding(Input):
    """The whole branding: fields that are left out or null are unset. Either all five colours are set or none."""

    logo: Annotated[str, StringConstraints(max_length=MAX_BASE64), form(format="logo")] | None = Field(
        None, description=f"A PNG in base64, at most 32 kB and {MAX_SIDE} x {MAX_SIDE} pixels"
    )
    pageBackgroundColor: Colour | None = Field(None, description="#rrggbb")
    cardBackgroundColor: Colour | None = Field(None, description="#rrggbb")
    primaryActionColor: Colour | None = Field(None, description="Of buttons; their text is black or white")
    primaryTextColor: Colour | None = Field(None, description="At least 4.5:1 on both backgrounds")
    secondaryTextColor: Colour | None = Field(None, description="At least 4.5:1 on both backgrounds")
    termsUrl: Link | None = Field(None, description="https only")
    privacyUrl: Link | None = Field(None, description="https only")
    displayRequestBranding: StrictBool = Field(True, description="Whether the page names the service")

    @model_validator(mode="after")
    def _all_colours_or_none(self) -> Self:
        missing = [name for name in COLOURS if getattr(self, name) is None]
        if missing and len(missing) < len(COLOURS):
            raise rule(f"Give all five colours or none of them: {', '.join(missing)} missing")
        return self

    def draft(self) -> BrandingDraft:
        """The body as plain values."""
        colours = {field: getattr(self, name) for name, field in COLOURS.items()}
        return self.plain(BrandingDraft, colours=Colours(**colours) if all(colours.values()) else None)


class _Colours(Output):
    pageBackgroundColor: str | None = Field(default_factory=unsent, description="#rrggbb")
    cardBackgroundColor: str | None = Field(default_factory=unsent, description="#rrggbb")
    primaryActionColor: str | None = Field(default_factory=unsent, description="#rrggbb")
    primaryTextColor: str | None = Field(default_factory=unsent, description="#rrggbb")
    secondaryTextColor: str | None = Field(default_factory=unsent, description="#rrggbb")


class OwnBrandingAnswer(_Colours):
    """The branding of a client id. `logo` is the stored image, without the parts that are not needed to show it."""

    clientIdId: str
    logo: str | None
    logoPath: str | None = Field(description="On the payment page's host")
    termsUrl: str | None
    privacyUrl: str | None
    displayRequestBranding: bool
    updatedAt: str

    @classmethod
    def of(cls, branding: PageBranding) -> Self:
        colours = {name: getattr(branding.colours, field, None) for name, field in COLOURS.items()}
        return cls.from_record(branding, clientIdId=branding.record_id, logoPath=logo_path(branding), **colours)


class BrandingRemoved(Output):
    removed: bool


class LinkBranding(_Colours):
    """The branding of the page of a link. Fields that the owner did not set are left out."""

    id: str = Field(description="Names the branding")
    clientIdId: str = Field(description="The record of the client id")
    logoPath: str | None = Field(None, description="On the payment page's host")
    termsPath: str | None = Field(None, description="A link on the page")
    privacyPath: str | None = Field(None, description="A link on the page")
    displayRequestBranding: bool = Field(description="Whether the page names the service")

    @classmethod
    def of(cls, branding: PageBranding | None) -> Self | None:
        fields = link_branding(branding)
        return None if fields is None else cls(**fields)
