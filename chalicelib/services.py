"""The world that flows are handed: adapters, clock and entropy, assembled once per container."""

import secrets as random_source
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from aws_lambda_powertools import Logger

from chalicelib.base.ids import Entropy
from chalicelib.chain.chains import Chains
from chalicelib.chain.safe_service import SafeService
from chalicelib.outbound.sender import WebhookSender
from chalicelib.settings import Settings, settings
from chalicelib.storage.queue import Queue
from chalicelib.storage.secrets import Secrets
from chalicelib.storage.store import Store
from chalicelib.webhooks.rules import EventContext


@dataclass(frozen=True)
class Services:
    """Every adapter opens its clients on first use, so a path pays only for what it touches."""

    settings: Settings
    store: Store
    queue: Queue
    secrets: Secrets
    chains: Chains
    safes: SafeService
    sender: WebhookSender
    log: Logger
    clock: Callable[[], datetime]
    entropy: Entropy
    noted: dict[str, datetime] = field(default_factory=dict, compare=False)
    """When this container last wrote down that a credential was used; to lose it costs a write."""

    def event_context(self) -> EventContext:
        return EventContext(
            self.clock(), self.entropy, self.settings.explorer_url, self.settings.payment_processor
        )


@cache
def assembled() -> Services:
    """The services of this process, by its settings."""
    rules = settings()
    keeper = Secrets(rules.secrets_key, rules.rpc_urls_secret)
    return Services(
        settings=rules,
        store=Store(rules.resource_prefix),
        queue=Queue(),
        secrets=keeper,
        chains=Chains(keeper),
        safes=SafeService(rules.safe_service_urls),
        sender=WebhookSender(rules.webhook_allow_loopback),
        log=Logger(service="payment-requests", level=rules.log_level),
        clock=lambda: datetime.now(UTC),
        entropy=random_source.token_bytes,
    )
