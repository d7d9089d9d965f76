"""Models of API keys."""

from typing import Annotated, Self, cast

from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from chalicelib.accounts.api_keys.rules import ApiKeySettings, parse_time
from chalicelib.accounts.credentials.schemas import TEST, USES_PAYMENT_INTENTS
from chalicelib.base.errors import BadRequest
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.records import ApiKey, CredentialStatus
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

Label = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Scopes = Annotated[list[Annotated[str, form(enum=list(SCOPES))]], Field(min_length=1, max_length=100)]
Range = Annotated[str, StringConstraints(max_length=64), form(format="ip-range")]
Ranges = Annotated[list[Range], Field(max_length=50)]
_SCOPES = f"What the key may do; everything when null. Of: {', '.join(SCOPES)}"
_RANGES = "Addresses and CIDR ranges it may be used from; anywhere when null or empty"


def _check_time(value: str) -> str:
    try:
        return iso(parse_time(value))
    except BadRequest as error:
        raise rule(error.message) from None


Time = Annotated[str, form(format="future-time"), AfterValidator(_check_time)]


class _Settings(Input):
    def settings(self) -> ApiKeySettings:
        sent = self.sent_fields()
        if sent.get("expires_at") is not None:
            sent["expires_at"] = parse_time(sent["expires_at"])
        if "test" in sent:
            sent["is_test"] = sent.pop("test")
        if "is_active" in sent:
            sent["status"] = CredentialStatus.ACTIVE if sent.pop("is_active") else CredentialStatus.INACTIVE
        return cast(ApiKeySettings, sent)


class CreateApiKey(_Settings):
    label: Label = Field(description="Your own name for it")
    scopes: Scopes | None = Field(None, description=_SCOPES)
    expiresAt: Time | None = Field(None, description="ISO 8601 with offset, in the future; never when null")
    allowedIps: Ranges | None = Field(None, description=_RANGES)
    usesPaymentIntents: StrictBool = Field(False, description=USES_PAYMENT_INTENTS)
    test: StrictBool = Field(False, description=TEST)


class UpdateApiKey(_Settings):
    """Fields that are left out do not change."""

    label: Label = Field(default_factory=unsent, description="Your own name for it")
    scopes: Scopes | None = Field(default_factory=unsent, description=_SCOPES)
    allowedIps: Ranges | None = Field(default_factory=unsent, description=_RANGES)
    expiresAt: Time | None = Field(default_factory=unsent, description="As on create; null lifts the expiry")
    usesPaymentIntents: StrictBool = Field(default_factory=unsent, description=USES_PAYMENT_INTENTS)
    isActive: StrictBool = Field(default_factory=unsent, description="false switches it off")


class ApiKeyAnswer(Output):
    """A key's settings. `prefix` is how the key begins. A key without a limit has all scopes."""

    id: str
    prefix: str
    label: str
    scopes: list[str]
    expiresAt: str | None
    allowedIps: list[str]
    usesPaymentIntents: bool
    isActive: bool
    createdAt: str
    test: bool = Field(description="Whether it is for test mode")

    @classmethod
    def of(cls, key: ApiKey, /, **more: str | None) -> Self:
        """`more` are the fields that a subclass adds."""
        shown = {"id": key.key_id, "isActive": key.status is CredentialStatus.ACTIVE, "test": key.is_test}
        return cls.from_record(key, scopes=key.scopes or SCOPES, **shown, **more)


class ApiKeyCreated(ApiKeyAnswer):
    """The only response that shows the key."""

    key: str


class ApiKeyUsed(ApiKeyAnswer):
    lastUsedAt: str | None


class ApiKeyRevoked(Output):
    id: str
    revoked: bool
