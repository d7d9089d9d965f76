"""Every environment variable the service reads, typed and checked when the process starts."""

from functools import cache
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from chalicelib.catalogue.networks import network
from chalicelib.links.multicalls.rules import FEWEST_CHILDREN, MOST_CHILDREN

PositiveInt = Annotated[int, Field(gt=0)]
BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#]*[^/\s?#]$")]
"""An http(s) URL without a slash at its end, to which paths are appended."""
WebOrigin = Annotated[str, StringConstraints(pattern=r"^https?://[a-z0-9.*:\[\]-]+$")]


class Settings(BaseSettings):
    """Names are the environment variables in lower case; JSON where the type is a list or an object."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True)

    stage: Literal["local", "dev", "prod"]
    resource_prefix: str
    """Names every table, queue, key and secret: `<prefix>-payments`, `alias/<prefix>-secrets`, ..."""
    api_url: BaseUrl
    auth_url: BaseUrl
    pay_url: BaseUrl
    explorer_url: BaseUrl
    confirmations: dict[str, PositiveInt] = {}
    """Overrides of a network's confirmations: {"sepolia": 1}."""
    scan_interval_seconds: Annotated[int, Field(ge=1, le=60)] = 5
    link_lifetime_seconds: PositiveInt = 7 * 24 * 3600
    safe_intent_lifetime_seconds: PositiveInt = 24 * 3600
    """How long a link waits for a multisig transaction at the most, whatever deadline its payer names."""
    multicall_max_children: Annotated[int, Field(ge=FEWEST_CHILDREN, le=MOST_CHILDREN)] = 150
    webhook_allow_loopback: bool = False
    """True lets webhooks go to localhost, for tests; private and metadata addresses stay refused."""
    header_brands: tuple[str, ...] = ("service", "request-network")
    """Each delivery carries its headers (`x-<brand>-signature`, ...) once a brand, for receivers of either name."""
    payment_processor: str = "service-network"
    interop_checksum: Literal["warn", "strict"] = "warn"
    """What a wrong ERC-7828 checksum in a destination id leads to: a log line, or 400."""
    transaction_value_form: Literal["plain", "bignumber"] = "plain"
    """plain: 0 or a hex string; bignumber: {"type": "BigNumber", "hex": "0x..."} for every transaction."""
    rate_limit_scale: PositiveInt = 1
    """Multiplies every rate limit; above 1 for local stacks and load tests only."""
    session_origins: tuple[str, ...] = ()
    """Origins of the dashboards that may send session cookies from a browser."""
    session_domain: str = ""
    """The Domain of the session cookie, such as example.com, which lets browsers send it to the API host, too; empty
    keeps it to the auth host."""
    safe_service_urls: dict[str, BaseUrl] = {
        name: f"https://api.safe.global/tx-service/{short}"
        for name, short in (
            ("mainnet", "eth"),
            ("arbitrum-one", "arb1"),
            ("optimism", "oeth"),
            ("base", "base"),
            ("matic", "pol"),
            ("bsc", "bnb"),
            ("sepolia", "sep"),
        )
    }
    """The Safe Transaction Service of each network; {} asks none: then the chain alone tells what a Safe executed."""
    page_client_id: Annotated[str, StringConstraints(pattern=r"^[\w-]{1,64}$")] = "cli_hosted_payment_page"
    """The client id that the hosted payment page sends; it is stored nowhere, and admits the page's origin alone."""
    page_frame_ancestors: tuple[WebOrigin, ...] = ("https://app.safe.global",)
    """Whose pages may show the payment page in a frame, beside its own host."""
    brand: str = "Payment Request Service"
    """Named in the text that wallets sign."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("confirmations", "safe_service_urls")
    @classmethod
    def _known_networks(cls, value: dict[str, object]) -> dict[str, object]:
        for name in value:
            if network(name) is None:
                raise ValueError(f"{name} is not a network")
        return value

    @property
    def page_origin(self) -> str:
        """What browsers send as Origin from the hosted payment page."""
        return origin_of(self.pay_url)

    @property
    def webhooks_queue(self) -> str:
        return f"{self.resource_prefix}-webhooks"

    @property
    def scans_queue(self) -> str:
        return f"{self.resource_prefix}-scans"

    @property
    def secrets_key(self) -> str:
        return f"alias/{self.resource_prefix}-secrets"

    @property
    def rpc_urls_secret(self) -> str:
        return f"{self.resource_prefix}-rpc-urls"


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, as browsers send them for Origin."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@cache
def settings() -> Settings:
    """The settings of this process. Raises ValidationError, naming each variable that is missing or wrong."""
    return Settings()  # type: ignore[call-arg]
