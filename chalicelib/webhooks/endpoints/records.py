"""Stored records: webhooks, where an account finds those of its client ids, their URLs, and registrations."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Self

from chalicelib.base.destinations import Destination
from chalicelib.base.frozen import frozen
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record
from chalicelib.platform.access.modes import Mode

ALL_EVENTS = ("*",)


@frozen
class Choices:
    """What a new webhook chooses: the kinds of events that it receives, whether its attempts have the signature of
    RFC 9421 as well, and of a destination in AWS its role."""

    events: Sequence[str] = ALL_EVENTS
    http_signature: bool = False
    role_arn: str | None = None


@frozen
class Endpoint(Record):
    """A webhook. Without a `client_id` it receives every event of the account. The secret is stored encrypted.

    `events` are the kinds of events that it receives: a kind, a prefix such as `payment.*`, or `*` for all.
    `created_with` is the credential that it was registered with. A secret that was replaced is the
    `previous_ciphertext`, and holds beside the new one until `previous_until`. `secret_number` counts
    its secrets. `is_confirmed` once the account has confirmed one that is public. With `http_signature` its attempts
    are also signed by the service's own key (webhooks/signature_keys). With a `role_arn` the `url` is the ARN of a
    queue, topic or event bus, to which that role sends under the `external_id`.
    """

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "ENDPOINT#{webhook_id:.64}")
    ARE_FEW = True
    UNREPEATABLE = frozenset({"secret_ciphertext", "previous_until"})
    RESOURCE = "webhook"
    NAMED_BY = ("url", "client_id")
    SHOWN = (*NAMED_BY, "role_arn", "events", "is_active", "secret_number", "is_confirmed", "http_signature")
    SWITCHED_BY = ("is_active", "is_confirmed")

    webhook_id: str
    account_id: str
    client_id: str | None
    url: str
    secret_ciphertext: str
    is_active: bool
    created_at: datetime
    created_with: Mode
    events: tuple[str, ...] = ALL_EVENTS
    previous_ciphertext: str | None = None
    previous_until: datetime | None = None
    secret_number: int = 1
    is_confirmed: bool = False
    http_signature: bool = False
    role_arn: str | None = None
    external_id: str | None = None

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """The encrypted secrets that sign at this time: the replaced one as long as it holds, then the current one."""
        if self.previous_ciphertext is None or self.previous_until is None or now >= self.previous_until:
            return (self.secret_ciphertext,)
        return self.previous_ciphertext, self.secret_ciphertext

    @property
    def destination(self) -> Destination | None:
        """Where it is in AWS; None if it has a URL."""
        if self.role_arn is None or self.external_id is None:
            return None
        return Destination(self.url, self.role_arn, self.external_id)

    @property
    def owner(self) -> str:
        """The client id, or the account id if the webhook is the account's."""
        return self.client_id or self.account_id

    @property
    def is_public(self) -> bool:
        """Whether a client id alone registered it, which anybody can send. A client id alone finds no other webhook."""
        return self.client_id is not None and self.created_with is Mode.CLIENT_ID

    @property
    def gets_personal_data(self) -> bool:
        """Whether a secret of the account has registered or confirmed it."""
        return self.is_confirmed or not self.is_public

    def redirects(self, before: Self | None) -> bool:
        """One that gets personal data, and is new, on again, confirmed now, or has another secret, on or off."""
        if not self.gets_personal_data:
            return False
        if before is not None and before.secret_number != self.secret_number:
            return True
        return self.is_active and not (before is not None and before.is_active and before.gets_personal_data)


@frozen
class ClientEndpoint(Record):
    """Index entry: a webhook of a client id, by which its account finds it."""

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{account_id}", "CLIENT_ENDPOINT#{webhook_id:.64}")
    ARE_FEW = True

    account_id: str
    webhook_id: str
    client_id: str


@frozen
class EndpointUrl(Record):
    """Makes a URL unique among the webhooks of a client id or account, of a client id alone among its public ones: the
    others are neither kept from a URL by them nor found out by trying one."""

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "URL#{url_hash}")
    ARE_FEW = True

    account_id: str
    client_id: str | None
    url: str
    webhook_id: str
    is_public: bool = False

    @property
    def owner(self) -> str:
        """The client id, or the account id if the webhook is the account's."""
        return f"PUBLIC#{self.client_id}" if self.is_public else self.client_id or self.account_id

    @property
    def url_hash(self) -> str:
        return hashlib.sha256(self.url.encode()).hexdigest()


@frozen
class Registrations(Record):
    """Written with every registration of an owner, so that of two at once, which count the same webhooks, one fails.

    It counts nothing itself: the webhooks are counted, and its version shows that none was added meanwhile.
    """

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "REGISTRATIONS")
    ARE_FEW = True

    owner: str
