"""Callers: the credential that a request sends, the caller it identifies, and the owner of what the caller creates."""

from datetime import datetime

from chalicelib.base.errors import Forbidden, Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.money import Fee
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import Account, ClientId
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.access.people.records import Membership, Person
from chalicelib.platform.access.sessions.records import Session


@frozen
class ClientSettings:
    """What a client id sets for its links: a fee, the record id of its payee destination, its orchestrator.

    With an orchestrator, only that orchestrator creates links for the client id. The payees and currencies limit what
    the client id creates without a secret credential; None is no limit. The next three are for commerce payments: who
    operates them, how many seconds they can be authorized, and how many more they can be captured. With `may_execute`
    the client id has the service's own account send transactions without a secret credential, with `may_read_payers` it
    reads then how far the checks of a payer are.
    """

    fee_percentage: str | None = None
    fee_address: str | None = None
    payee_destination_id: str | None = None
    orchestrator_id: str | None = None
    allowed_payees: tuple[str, ...] | None = None
    allowed_currencies: tuple[str, ...] | None = None
    operator_wallet: str | None = None
    pre_approval_seconds: int | None = None
    authorization_seconds: int | None = None
    may_execute: bool = False
    may_read_payers: bool = False

    @property
    def fee(self) -> Fee:
        return Fee(self.fee_percentage, self.fee_address)


@frozen
class Owner:
    """The owner of a new link: the account, and the client id and Origin that were sent.

    `orchestrator_id` is set if an orchestrator acts for the client id. `mode` is how the caller authenticated. With
    `uses_payment_intents` payers sign a payment from another chain instead of sending its transactions. One that
    `is_test` owns what is made in the sandbox of the account.
    """

    account_id: str
    client_id: str | None
    origin: str | None
    settings: ClientSettings = ClientSettings()
    orchestrator_id: str | None = None
    mode: Mode | None = None
    uses_payment_intents: bool = False
    is_test: bool = False

    @property
    def sandbox(self) -> str | None:
        """The account in whose sandbox the link is made; None for a live one."""
        return self.account_id if self.is_test else None

    @property
    def may_execute(self) -> bool:
        """Whether the service's own account sends transactions for the caller, which costs gas. A client id is public:
        one that is sent alone needs its owner's word."""
        return self.mode is not Mode.CLIENT_ID or self.settings.may_execute


def check_executes(owner: Owner) -> None:
    """Raises Forbidden for a client id that is sent alone, unless its owner lets it have transactions sent."""
    if not owner.may_execute:
        raise Forbidden(
            "This client ID alone has no transactions sent by the service, which pays their gas: send an x-api-key. "
            "The owner can allow it by mayExecute of PUT /v2/client-ids/{id}"
        )


def check_reads_payers(owner: Owner) -> None:
    """Raises Forbidden for a client id that is sent alone, unless its owner lets it read of payers."""
    if owner.mode is Mode.CLIENT_ID and not owner.settings.may_read_payers:
        raise Forbidden(
            "This client ID alone reads nothing of payers, who are persons: send an x-api-key. "
            "The owner can allow it by mayReadPayers of PUT /v2/client-ids/{id}"
        )


@frozen
class SentCredential:
    """The credential that decides the mode, and the client id sent with an API key or an orchestrator's key.

    `beside_key` is an API key that is sent and not used, `beside_account` the account of a session that is sent and not
    used, as its token names it.
    """

    mode: Mode
    secret: str
    client_id: str | None = None
    beside_key: str | None = None
    beside_account: str | None = None


@frozen
class Member:
    """Who is signed in: the session, its account, the membership of it, and the person."""

    session: Session
    account: Account
    membership: Membership
    person: Person


@frozen
class Caller:
    """Who is calling. `account_id` owns what the call creates; `actor` is the name in the audit log.

    `digest` is a hash of credential and address, for counters and bans. `key_scope` names those who share idempotency
    keys: a hash of the credential alone if it is secret. A client id is public, so its callers, and those without a
    credential, are told apart by Origin and network address: a stranger can neither take a key nor read its response.
    `key_id` is the public id of the key that was sent; `client` is the client id, also when it is
    sent with a key. `member` is set in session mode. `sent_session` is the hash of a session token that was sent to an
    operation that signs in, which ends that session. `banned_until` and `ban_version` are those of the
    caller's ban. `reads_any_link` is set for the hosted payment page, which belongs to no account and may do only
    what payers do. `uses_payment_intents` is the setting of the API key, or of the client id without one. `quota`
    names whose units the call uses (rate_limits/rules.py): the account of a secret credential, or a client id that is
    sent alone; None for anonymous callers and the payment page. `is_test` is set for a test credential, whose calls
    see the sandbox of the account (sandbox/opening.py).
    """

    mode: Mode
    account_id: str
    actor: str
    digest: str
    key_scope: str
    tier: Tier
    origin: str | None
    banned_until: datetime | None = None
    ban_version: int = 0
    scopes: tuple[str, ...] = ()
    key_id: str | None = None
    client: ClientId | None = None
    member: Member | None = None
    sent_session: str | None = None
    orchestrator_id: str | None = None
    reads_any_link: bool = False
    uses_payment_intents: bool = False
    quota: str | None = None
    is_test: bool = False

    @property
    def signed_in(self) -> Member:
        """Who is signed in, for operations that only sessions call."""
        assert self.member is not None, "set in session mode"
        return self.member

    @property
    def session(self) -> Session | None:
        return self.member.session if self.member else None

    def acting(self, ip_address: str, request_id: str) -> Actor:
        """The caller as the actor of audit entries."""
        session_id = self.session.session_id if self.session else None
        return Actor(self.account_id, self.actor, ip_address, request_id, session_id)

    @property
    def client_id(self) -> str | None:
        return self.client.client_id if self.client else None

    def finds_of(self, wanted: str | None) -> str | None:
        """The client id whose records the caller finds in lists; None finds all of the account.

        A caller with a client id finds what belongs to it alone. Raises ValidationFailed if another one is wanted.
        """
        if self.client_id is not None and wanted not in (None, self.client_id):
            raise ValidationFailed((Problem(("clientId",), "must be the client ID that is sent, or none"),))
        return self.client_id or wanted

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The public ids of the key and the client id that were sent."""
        sent = (self.key_id, self.client.record_id if self.client else None)
        return tuple(each for each in sent if each is not None)

    @property
    def owner(self) -> Owner:
        client = self.client
        settings = ClientSettings(
            client.fee_percentage,
            client.fee_address,
            client.payee_destination_id,
            client.orchestrator_id,
            client.allowed_payees,
            client.allowed_currencies,
            client.operator_wallet_address,
            client.default_pre_approval_expiry,
            client.default_authorization_expiry,
            client.may_execute,
            client.may_read_payers,
        ) if client else ClientSettings()
        return Owner(
            account_id=self.account_id,
            client_id=self.client_id,
            origin=self.origin,
            settings=settings,
            orchestrator_id=self.orchestrator_id,
            mode=self.mode,
            uses_payment_intents=self.uses_payment_intents,
            is_test=self.is_test,
        )
