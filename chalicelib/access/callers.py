"""Callers: the modes in which somebody proves who they are, what they send for it, and what rules may ask of them."""

from dataclasses import dataclass
from datetime import datetime

from chalicelib.access.credentials.records import ClientId
from chalicelib.access.modes import Mode, Tier
from chalicelib.access.sessions.records import Session
from chalicelib.base.money import Fee


@dataclass(frozen=True)
class ClientSettings:
    """What a client id lays down for its links: its fee, the record of the destination it is bound to, and the
    orchestrator that alone creates for it."""

    fee_percentage: str | None = None
    fee_address: str | None = None
    payee_destination_id: str | None = None
    orchestrator_id: str | None = None

    @property
    def fee(self) -> Fee:
        return Fee(self.fee_percentage, self.fee_address)


@dataclass(frozen=True)
class Owner:
    """Who creates a link: the account, and the client id with its Origin when one was used.

    `orchestrator_id` is set when an orchestrator acts for the client id.
    """

    account_id: str
    client_id: str | None
    origin: str | None
    settings: ClientSettings = ClientSettings()
    orchestrator_id: str | None = None

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
    so that signing in can end that session. `banned_until` and `ban_version` are of the caller's ban, if there is one.
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
    banned_until: datetime | None = None
    ban_version: int = 0
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
