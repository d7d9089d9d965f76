"""The branding of a client id, as it is stored."""

from dataclasses import dataclass
from datetime import datetime

from chalicelib.base.records import IDENTITY, KeyPattern, Record


@dataclass(frozen=True)
class Colours:
    """`#rrggbb` in lower case: a page has all five of the owner's, or none."""

    page_background: str
    card_background: str
    primary_action: str
    primary_text: str
    secondary_text: str


@dataclass(frozen=True)
class ClientBranding(Record):
    """How the payment page looks for the links of a client id. `logo` is a sanitised PNG in base64.

    `display_request_branding` keeps the service's own name in the page's foot.
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
    version: int = 0
