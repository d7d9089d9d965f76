"""Stored record: the branding of a client id."""

from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record


@frozen
class Colours:
    """Colours as `#rrggbb` in lower case. An owner sets all five or none."""

    page_background: str
    card_background: str
    primary_action: str
    primary_text: str
    secondary_text: str


@frozen
class PageBranding(Record):
    """The look of the payment page for the links of a client id. `logo` is a sanitised PNG in base64.

    With `display_request_branding` the page's footer shows the name of the service.
    """

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{client_id_hash:.64}", "BRANDING")

    client_id_hash: str
    record_id: str
    account_id: str
    updated_at: datetime
    logo: str | None = None
    colours: Colours | None = None
    terms_url: str | None = None
    privacy_url: str | None = None
    display_request_branding: bool = True
