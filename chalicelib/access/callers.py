"""Callers: the modes in which somebody proves who they are, what they send for it, and what rules may ask of them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.core.credentials import ClientId
from chalicelib.core.link_creation import ClientSettings, Owner
from chalicelib.core.rate_limits import Tier
from chalicelib.core.sessions import Session


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


@dataclass(frozen=True)
class Sent:
    """The credential that decides the mode, and the client id beside an API key or an orchestrator's key."""

    mode: Mode
    secret: str
    client_id: str | None = None


@dataclass(frozen=True)
class Caller:
    """Who is calling, for what the rules ask: `account_id` owns what is made, `actor` is named in the audit log.

    `digest` stands for credential and address, in counters; `credential` for the credential wherever it calls from, in
    idempotency keys. `key_id` is the public id of the key that was sent, `client` the client id, also beside a key;
    `session` is set in session mode; `sent_session` is the hash of a session token where no credential is asked for,
    so that signing in can end that session. `blocked_until` and `block_version` tell who is shut out.
    `reads_any_link` is set for the hosted payment page, which belongs to no account: it does what payers do, and
    nothing else.
    """

    mode: Mode
    account_id: str
    actor: str
    digest: str
    credential: str
    tier: Tier
    origin: str | None
    blocked_until: datetime | None = None
    block_version: int = 0
    scopes: tuple[str, ...] = ()
    key_id: str | None = None
    client: ClientId | None = None
    session: Session | None = None
    sent_session: str | None = None
    orchestrator_id: str | None = None
    reads_any_link: bool = False

    @property
    def client_id(self) -> str | None:
        return self.client.client_id if self.client else None

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The public ids of the key and the client id that were sent."""
        sent = (self.key_id, self.client.record_id if self.client else None)
        return tuple(each for each in sent if each is not None)

    @property
    def owner(self) -> Owner:
        client = self.client
        settings = ClientSettings(
            client.fee_percentage, client.fee_address, client.payee_destination_id, client.orchestrator_id
        ) if client else ClientSettings()
        return Owner(self.account_id, self.client_id, self.origin, settings, self.orchestrator_id)
