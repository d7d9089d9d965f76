"""Stored records: accounts, users, API keys, client ids, orchestrator keys and when they were last used."""

import hashlib
from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, OPS, KeyPattern, Record
from chalicelib.platform.access.modes import Tier


def name_hash(name: str) -> str:
    """The hash under which a user is stored."""
    return hashlib.sha256(name.encode()).hexdigest()


@frozen
class LastUse(Record):
    """When a credential was last used, to the minute."""

    KEY = KeyPattern(OPS, "USED#{record_id}", "USED")

    record_id: str
    at: datetime
    version: int = 0


@frozen
class User(Record):
    """A wallet or e-mail user, who has one account.

    `name` is a wallet address in its canonical form or an e-mail address in lower case.
    """

    KEY = KeyPattern(IDENTITY, "USER#{name_hash}", "USER")

    name: str
    account_id: str
    password_hash: str | None
    created_at: datetime
    version: int = 0

    @property
    def name_hash(self) -> str:
        return name_hash(self.name)


class CredentialStatus(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"
    REVOKED = "revoked"


@frozen
class Account(Record):
    """The owner of credentials, links and webhooks: the account of a wallet or e-mail user, or made by the operator.

    Sessions that were opened for the user's record before its version `sessions_since` have ended.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "ACCOUNT")

    account_id: str
    name: str
    created_at: datetime
    sessions_since: int = 0
    version: int = 0


@frozen
class ApiKey(Record):
    """A credential for servers. Only the SHA-256 of the key is stored; `prefix` helps people tell keys apart.

    With `uses_payment_intents` a payment of a request from another chain is signed instead of sent.
    """

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{credential_hash}", "API_KEY")
    KIND = "API_KEY"

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
    uses_payment_intents: bool = False
    tier: Tier = Tier.DEFAULT
    version: int = 0

    @property
    def credential_hash(self) -> str:
        return self.key_hash

    @property
    def public_id(self) -> str:
        return self.key_id


@frozen
class ClientId(Record):
    """A public credential for browsers, bound to origins. One without `allowed_domains` needs no Origin.

    A `fee_percentage` other than "0" overrides the fee of a request. Links that name only an amount are paid to
    `payee_destination_id`. `admits_orchestrator` is the orchestrator that may link the client id; `orchestrator_id` is
    the one that is linked to it now. Without a secret credential it creates links only to `allowed_payees` (canonical
    addresses) in `allowed_currencies` (ids of tokens), and to its bound destination; None is no limit. With
    `uses_payment_intents` a payment of a request from another chain is signed instead of sent. With `may_execute` it
    has the service's own account send transactions, also when it is sent alone.
    """

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{credential_hash}", "CLIENT_ID")
    KIND = "CLIENT_ID"

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
    allowed_payees: tuple[str, ...] | None = None
    allowed_currencies: tuple[str, ...] | None = None
    uses_payment_intents: bool = False
    may_execute: bool = False
    tier: Tier = Tier.DEFAULT
    version: int = 0

    @property
    def credential_hash(self) -> str:
        return self.client_id_hash

    @property
    def public_id(self) -> str:
        return self.record_id


@frozen
class OrchestratorKey(Record):
    """The key with which a platform creates links for client ids of other accounts. Only its SHA-256 is stored."""

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{credential_hash}", "ORCHESTRATOR_KEY")
    KIND = "ORCHESTRATOR_KEY"

    key_hash: str
    key_id: str
    orchestrator_id: str
    account_id: str
    prefix: str
    status: CredentialStatus
    created_at: datetime
    tier: Tier = Tier.DEFAULT
    version: int = 0

    @property
    def credential_hash(self) -> str:
        return self.key_hash

    @property
    def public_id(self) -> str:
        return self.key_id


@frozen
class CredentialAdditions(Record):
    """Written with every new credential of a kind, so that of two at once, which count the same ones, one fails.

    It counts nothing itself: the pointers are counted, and its version shows that none was added meanwhile. So no
    revocation has to wait for it.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "ADDITIONS#{kind}")

    account_id: str
    kind: str
    version: int = 0


@frozen
class CredentialPointer(Record):
    """Points from an account to one of its credentials, by `KIND` and public id (`record_id`)."""

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "{kind}#{record_id:.64}")

    account_id: str
    kind: str
    record_id: str
    credential_hash: str
    version: int = 0
