"""Stored records: accounts, API keys, client ids, orchestrator keys and when they were last used."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, OPS, KeyPattern, Record
from chalicelib.platform.access.modes import Tier

APPROVAL_DELAY_HOURS = 24
"""After how many hours a change takes effect that nobody approves or refuses, unless the account chooses otherwise."""


@frozen
class LastUse(Record):
    """When a credential was last used, to the minute."""

    KEY = KeyPattern(OPS, "USED#{record_id}", "USED")

    record_id: str
    at: datetime


class CredentialStatus(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"
    REVOKED = "revoked"


@frozen
class Account(Record):
    """The owner of credentials, links and webhooks. People are members of it (people/records.py).

    It is written with every change of its members and invitations, so that of two at once, which count the same ones,
    one fails. An account that the operator made has none at first. With `requires_second_factor` a password alone opens
    no session that may do anything in it. With `has_approvals` what redirects money waits (accounts/changes): for
    another person, or for `approval_delay_hours`; 0 is without a delay, for another person alone. It is None until the
    account first has two people who may approve, or chooses. With `plain_transfers` every payment that can have one
    gets an address for plain transfers. Receipts name the merchant by `business_name`, `business_address` and `tax_id`.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "ACCOUNT")
    RESOURCE = "account"
    SHOWN = ("has_approvals", "approval_delay_hours", "requires_second_factor")

    account_id: str
    name: str
    created_at: datetime
    requires_second_factor: bool = False
    has_approvals: bool | None = None
    approval_delay_hours: int = APPROVAL_DELAY_HOURS
    plain_transfers: bool = False
    business_name: str | None = None
    business_address: str | None = None
    tax_id: str | None = None

    def redirects(self, before: Self | None) -> bool:
        """Weaker proofs, and any other rule for what waits."""
        return before is not None and (
            (self.has_approvals, self.approval_delay_hours) != (before.has_approvals, before.approval_delay_hours)
            or (before.requires_second_factor and not self.requires_second_factor)
        )


@frozen
class ApiKey(Record):
    """A credential for servers. Only the SHA-256 of the key is stored; `prefix` helps people tell keys apart.

    With `uses_payment_intents` a payment of a request from another chain is signed instead of sent. One that `is_test`
    reads and writes the sandbox of its account alone (sandbox/opening.py).
    """

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{credential_hash}", "API_KEY")
    KIND = "API_KEY"
    RESOURCE = "api_key"
    NAMED_BY = ("key_id",)
    SHOWN = ("label", "status", "scopes", "allowed_ips", "expires_at")
    SWITCHED_BY = ("status",)

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
    is_test: bool = False

    @property
    def writes(self) -> bool:
        """Whether the key may do more than read."""
        return not self.scopes or any(each.endswith(":write") for each in self.scopes)

    def redirects(self, before: Self | None) -> bool:
        """A key that writes, and is new, on again, or may be used for more, from elsewhere or longer."""
        if self.status is not CredentialStatus.ACTIVE or not self.writes:
            return False
        if before is None or before.status is not CredentialStatus.ACTIVE:
            return True
        is_longer = before.expires_at is not None and (self.expires_at is None or self.expires_at > before.expires_at)
        return is_longer or _is_wider(before.scopes, self.scopes) or _is_wider(before.allowed_ips, self.allowed_ips)

    @property
    def credential_hash(self) -> str:
        return self.key_hash

    @property
    def public_id(self) -> str:
        return self.key_id


def _is_wider(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether a list permits something that it did not; an empty one is no limit."""
    return bool(before) and (not now or not set(now) <= set(before))


_DIRECTING = (
    "fee_percentage", "fee_address", "operator_wallet_address", "payee_destination_id", "admits_orchestrator",
)
_LIMITING = ("allowed_payees", "allowed_currencies")


@frozen
class ClientId(Record):
    """A public credential for browsers, bound to origins. One without `allowed_domains` needs no Origin.

    A `fee_percentage` other than "0" overrides the fee of a request. Links that name only an amount are paid to
    `payee_destination_id`. `admits_orchestrator` is the orchestrator that may link the client id; `orchestrator_id` is
    the one that is linked to it now. Without a secret credential it creates links only to `allowed_payees` (canonical
    addresses) in `allowed_currencies` (ids of tokens), and to its bound destination; None is no limit. With
    `uses_payment_intents` a payment of a request from another chain is signed instead of sent. With `may_execute` it
    has the service's own account send transactions, also when it is sent alone; with `may_read_payers` it reads then
    how far the checks of a payer are. One that `is_test` reads and writes the sandbox of its account alone.
    """

    KEY = KeyPattern(IDENTITY, "CREDENTIAL#{credential_hash}", "CLIENT_ID")
    KIND = "CLIENT_ID"
    RESOURCE = "client_id"
    NAMED_BY = ("client_id",)
    SHOWN = ("label", "status", *_DIRECTING, *_LIMITING, "may_execute", "may_read_payers", "allowed_domains")
    SWITCHED_BY = ("status",)

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
    may_read_payers: bool = False
    tier: Tier = Tier.DEFAULT
    is_test: bool = False

    def redirects(self, before: Self | None) -> bool:
        """Another fee, wallet, destination, platform or limit; one that is on again, or may execute, or is used from
        elsewhere."""
        if before is None:
            return self.may_execute or any(getattr(self, each) is not None for each in _DIRECTING)
        if self.status is CredentialStatus.ACTIVE and before.status is not CredentialStatus.ACTIVE:
            return True
        if self.may_execute > before.may_execute or _is_wider(before.allowed_domains, self.allowed_domains):
            return True
        return any(getattr(self, each) != getattr(before, each) for each in (*_DIRECTING, *_LIMITING))

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


@frozen
class CredentialPointer(Record):
    """Points from an account to one of its credentials, by `KIND` and public id (`record_id`)."""

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "{kind}#{record_id:.64}")

    account_id: str
    kind: str
    record_id: str
    credential_hash: str
