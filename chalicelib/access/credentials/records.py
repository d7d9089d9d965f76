"""Accounts, users, API keys, client ids and orchestrator keys, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.access.modes import Tier


@dataclass(frozen=True)
class LastUse:
    """When a credential was last used, to the minute."""

    record_id: str
    at: datetime
    version: int = 0

@dataclass(frozen=True)
class User:
    """`name` is a wallet address in its canonical form or an e-mail address in lower case; one account each."""

    name: str
    account_id: str
    password_hash: str | None
    created_at: datetime
    version: int = 0

class CredentialStatus(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Account:
    """Who owns credentials, links and webhooks: a wallet, an e-mail user, or one made by the operator."""

    account_id: str
    name: str
    created_at: datetime
    version: int = 0


@dataclass(frozen=True)
class ApiKey:
    """A server-side credential. The key itself is never stored, only its SHA-256; `prefix` tells keys apart."""

    key_hash: str
    key_id: str
    account_id: str
    label: str
    prefix: str
    status: CredentialStatus
    created_at: datetime
    scopes: tuple[str, ...] = ()
    allowed_ips: tuple[str, ...] = ()
    expires_at: datetime | None = None
    tier: Tier = Tier.DEFAULT
    version: int = 0


@dataclass(frozen=True)
class ClientId:
    """A browser-side credential: public, bound to origins. No `allowed_domains` means server use, no Origin needed.

    `fee_percentage` other than "0" overrides the fee of a request. `payee_destination_id` is where links pay to that
    name only an amount. `admits_orchestrator` is whom the owner lets link it; `orchestrator_id` is set while an
    orchestrator acts for it.
    """

    client_id_hash: str
    client_id: str
    record_id: str
    account_id: str
    label: str
    allowed_domains: tuple[str, ...]
    status: CredentialStatus
    created_at: datetime
    updated_at: datetime | None = None
    fee_percentage: str | None = None
    fee_address: str | None = None
    operator_wallet_address: str | None = None
    default_pre_approval_expiry: int | None = None
    default_authorization_expiry: int | None = None
    payee_destination_id: str | None = None
    admits_orchestrator: str | None = None
    orchestrator_id: str | None = None
    was_linked: bool = False
    tier: Tier = Tier.DEFAULT
    version: int = 0


@dataclass(frozen=True)
class OrchestratorKey:
    """The key of a platform that creates links for the client ids of others; stored as its SHA-256."""

    key_hash: str
    key_id: str
    orchestrator_id: str
    account_id: str
    prefix: str
    status: CredentialStatus
    created_at: datetime
    tier: Tier = Tier.DEFAULT
    version: int = 0


@dataclass(frozen=True)
class Owned:
    """Leads from an account to one of its credentials: `kind` as in its key, `record_id` its public id."""

    account_id: str
    kind: str
    record_id: str
    credential_hash: str
    version: int = 0
