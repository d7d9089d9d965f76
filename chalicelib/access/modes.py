"""How a caller may prove who they are, and which limits a call can be under."""

from enum import StrEnum


class Mode(StrEnum):
    """How a caller may prove who they are."""

    PUBLIC = "public"
    ORCHESTRATOR = "orchestrator"
    """The pair: an orchestrator's key and the client id it acts for."""
    ORCHESTRATOR_KEY = "orchestratorKey"
    """The key alone, for the orchestrator's own affairs."""
    API_KEY = "apiKey"
    CLIENT_ID = "clientId"
    SESSION = "session"


CREDENTIALS = (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
"""The four-way operations accept all of them."""

class Tier(StrEnum):
    """What a credential is entitled to (supplement, 12.2)."""

    BASIC = "basic"
    DEFAULT = "default"
    PREMIUM = "premium"
    HIGH_VOLUME = "high_volume"


class Rate(StrEnum):
    """Which limit an operation is under, besides the tier of its caller."""

    TIER = "tier"
    SIGN_IN = "sign_in"
    """Login, registration, challenges: by address alone, so that guessing is slow."""
