"""What flows are handed: adapters, clock and entropy, assembled once per container."""

from collections import Counter
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from functools import cache, partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.safes.service import SafeService
from chalicelib.platform.metrics import RPC_ERRORS, LineCounter, Metrics
from chalicelib.platform.outbound.compliance import Compliance
from chalicelib.platform.outbound.lifi import Lifi
from chalicelib.platform.outbound.prices import Prices
from chalicelib.platform.outbound.sender import WebhookSender
from chalicelib.platform.outbound.ses import Ses
from chalicelib.platform.outbound.txt_records import TxtRecords
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.objects import Objects
from chalicelib.platform.storage.queue import Queue
from chalicelib.platform.storage.secrets import Secrets, SigningKeys
from chalicelib.platform.storage.store import Store

if TYPE_CHECKING:
    from chalicelib.platform.outbound.destination_sender import DestinationSender


@frozen
class Services:
    """Every adapter opens its clients on first use, so a path pays only for what it touches."""

    settings: Settings
    store: Store
    queue: Queue
    secrets: Secrets
    signing_keys: SigningKeys
    archive: Objects
    chains: Chains
    safes: SafeService
    prices: Prices
    compliance: Compliance
    router: Lifi
    sender: WebhookSender
    destinations: Callable[[], "DestinationSender"]
    """Makes, once, what sends to destinations in AWS, which few workers need."""
    txt_records: TxtRecords
    ses: Ses
    log: Logger
    metrics: Metrics
    clock: Callable[[], datetime]
    entropy: Entropy
    last_uses: dict[str, datetime] = field(default_factory=dict, compare=False)
    """When this container last recorded the use of a credential, by its id. It only saves writes."""
    read_networks: set[str] = field(default_factory=set, compare=False)
    """On which networks this container knows that requests were created. It only saves reads."""
    dollar_rates: dict[tuple[str, datetime], Any] = field(default_factory=dict, compare=False)
    """What a dollar was in a token in a minute, as this container last read it (payments/rates/dollars.py)."""
    shown_rates: dict[tuple[str, str], tuple[datetime, Any]] = field(default_factory=dict, compare=False)
    """The rates, or None, that this container last showed, with the times at which they were read
    (payments/rates/flows.py)."""
    plain_transfers: dict[str, tuple[datetime, bool]] = field(default_factory=dict, compare=False)
    """Whether an account has addresses for all payments, as this container last read it
    (payments/requests/plain_transfers/flows.py)."""
    watched_addresses: dict[str, tuple[datetime, Counter[tuple[str, bool]]]] = field(
        default_factory=dict, compare=False
    )
    """How many addresses of a network are watched, as this container last read it
    (payments/requests/plain_transfers/flows.py)."""
    signature_keys: dict[str, tuple[datetime, Any]] = field(default_factory=dict, compare=False)
    """The keys of signatures of deliveries, as this container last read them (webhooks/signature_keys/flows.py)."""
    own_accounts: dict[str, tuple[datetime, tuple[bytes, ...]]] = field(default_factory=dict, compare=False)
    """The addresses of the service's own accounts, as this container last read them
    (platform/own_accounts/flows.py)."""
    stops: dict[str, tuple[datetime, datetime | None]] = field(default_factory=dict, compare=False)
    """When this container last read whether payments are stopped, and since when they are
    (platform/emergency_stop/flows.py)."""
    live: "Services | None" = field(default=None, compare=False)
    """Set in test mode: the services that these were made of (sandbox/opening.py). None: these are the live ones."""

    @property
    def real(self) -> "Services":
        """The live services, for what a sandbox has none of its own of: the real time, and keys of signatures."""
        return self.live or self


def assemble(settings: Settings) -> Services:
    """The services of a process, by its settings. Adapters open their clients on first use."""
    prefix = settings.resource_prefix
    log = Logger(service="payment-requests", level=settings.log_level, json_deserializer=str)  # messages are no JSON
    metrics = Metrics(prefix)
    log.addHandler(LineCounter(metrics))
    secrets = Secrets(f"alias/{prefix}-secrets", settings.rpc_urls_secret, _now, log)
    return Services(
        settings=settings,
        store=Store(prefix),
        queue=Queue(),
        secrets=secrets,
        signing_keys=SigningKeys(f"alias/{prefix}-relayer", f"{prefix}-relayer-key"),
        archive=Objects(settings.archive_bucket),
        chains=Chains(
            secrets,
            settings.escrow_contracts,
            _now,
            lambda network: metrics.add(RPC_ERRORS, network),
            lambda network, reason: log.error("nodes disagree", extra={"network": network, "reason": reason}),
        ),
        safes=SafeService(settings.safe_service_urls, secrets.safe_api_key),
        prices=Prices(settings.price_api_url, lambda: _headers_with_key(settings.price_api_key_header, secrets)),
        compliance=Compliance(settings.compliance_api_url, lambda: secrets.compliance_api_key),
        router=Lifi(settings.lifi_base_url, settings.lifi_integrator, lambda: secrets.lifi_api_key),
        sender=WebhookSender(settings.webhook_allow_loopback),
        destinations=cache(partial(_destination_sender, settings)),
        txt_records=TxtRecords(),
        ses=Ses(settings.mail_sender, settings.brand, f"{prefix}-mails"),
        log=log,
        metrics=metrics,
        clock=_now,
        entropy=token_bytes,
    )


def _destination_sender(settings: Settings) -> "DestinationSender":
    from chalicelib.platform.outbound.destination_sender import DestinationSender

    return DestinationSender(demands_external_id=not settings.webhook_allow_loopback)


def _now() -> datetime:
    return datetime.now(UTC)


def _headers_with_key(header: str, secrets: Secrets) -> dict[str, str]:
    """The header with the key of the price source; none without a key."""
    return {header: secrets.price_api_key} if header and secrets.price_api_key else {}
