"""Authentication modes, tiers and rate limit groups."""

from enum import StrEnum


class Mode(StrEnum):
    """How a caller authenticates."""

    PUBLIC = "public"
    ORCHESTRATOR = "orchestrator"
    """An orchestrator's key with the client id that it acts for."""
    ORCHESTRATOR_KEY = "orchestratorKey"
    """An orchestrator's key without a client id, to manage the orchestrator."""
    API_KEY = "apiKey"
    CLIENT_ID = "clientId"
    SESSION = "session"


CREDENTIALS = (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
"""The modes of the operations that accept every kind of credential."""


class Tier(StrEnum):
    """How often a credential may call (supplement, 12.2)."""

    BASIC = "basic"
    DEFAULT = "default"
    PREMIUM = "premium"
    HIGH_VOLUME = "high_volume"


class Rate(StrEnum):
    """Which rate limit an operation has."""

    TIER = "tier"
    """The limit of the caller's tier."""
    SIGN_IN = "sign_in"
    """Login, registration and challenges: counted by address only, so that guessing is slow."""
    WEBHOOK_TEST = "webhook_test"
    """Tests of webhooks: counted by account, and not among its other calls."""
    PROVIDER_EVENT = "provider_event"
    """Events of the compliance provider, which come in bursts: counted by address, and not among its other calls."""
