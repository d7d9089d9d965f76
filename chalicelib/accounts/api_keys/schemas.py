"""Models of API keys."""

from typing import Annotated, Self

from pydantic import Field, StrictBool, StringConstraints, field_validator

from chalicelib.accounts.api_keys.rules import ApiKeySettings, parse_time
from chalicelib.accounts.credentials.schemas import USES_PAYMENT_INTENTS
from chalicelib.base.errors import BadRequest
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.records import ApiKey, CredentialStatus
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, iso_or_none, rule, unsent

Label = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Scopes = Annotated[list[Annotated[str, form(enum=list(SCOPES))]], Field(min_length=1, max_length=100)]
Range = Annotated[str, StringConstraints(max_length=64), form(format="ip-range")]
Ranges = Annotated[list[Range], Field(max_length=50)]
Time = Annotated[str, form(format="future-time")]
_SCOPES = f"What the key may do; everything when null. Of: {', '.join(SCOPES)}"
_RANGES = "Addresses and CIDR ranges it may be used from; anywhere when null or empty"


def _checked_time(value: str | None) -> str | None:
    try:
        return iso(parse_time(value)) if value is not None else None
    except BadRequest as error:
        raise rule(error.message) from None


class CreateApiKey(Input):
    label: Label = Field(description="Your own name for it")
    scopes: Scopes | None = Field(None, description=_SCOPES)
    expiresAt: Time | None = Field(None, description="ISO 8601 with offset, in the future; never when null")
    allowedIps: Ranges | None = Field(None, description=_RANGES)
    usesPaymentIntents: StrictBool = Field(False, description=USES_PAYMENT_INTENTS)

    @field_validator("expiresAt")
    @classmethod
    def _time(cls, value: str | None) -> str | None:
        return _checked_time(value)

    def settings(self) -> ApiKeySettings:
        return {
            "label": self.label,
            "scopes": self.scopes,
            "allowed_ips": self.allowedIps,
            "expires_at": parse_time(self.expiresAt) if self.expiresAt is not None else None,
            "uses_payment_intents": self.usesPaymentIntents,
        }


class UpdateApiKey(Input):
    """Fields that are left out do not change."""

    label: Label = Field(default_factory=unsent, description="Your own name for it")
    scopes: Scopes | None = Field(default_factory=unsent, description=_SCOPES)
    allowedIps: Ranges | None = Field(default_factory=unsent, description=_RANGES)
    expiresAt: Time | None = Field(default_factory=unsent, description="As on create; null lifts the expiry")
    usesPaymentIntents: StrictBool = Field(default_factory=unsent, description=USES_PAYMENT_INTENTS)
    isActive: StrictBool = Field(default_factory=unsent, description="false switches it off")

    @field_validator("expiresAt")
    @classmethod
    def _time(cls, value: str | None) -> str | None:
        return _checked_time(value)

    def settings(self) -> ApiKeySettings:
        sent, settings = self.model_fields_set, ApiKeySettings()
        if "label" in sent:
            settings["label"] = self.label
        if "scopes" in sent:
            settings["scopes"] = self.scopes
        if "allowedIps" in sent:
            settings["allowed_ips"] = self.allowedIps
        if "expiresAt" in sent:
            settings["expires_at"] = parse_time(self.expiresAt) if self.expiresAt is not None else None
        if "usesPaymentIntents" in sent:
            settings["uses_payment_intents"] = self.usesPaymentIntents
        if "isActive" in sent:
            settings["status"] = CredentialStatus.ACTIVE if self.isActive else CredentialStatus.INACTIVE
        return settings


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

    @classmethod
    def of(cls, key: ApiKey, /, **more: str | None) -> Self:
        """`more` are the fields that a subclass adds."""
        return cls(
            id=key.key_id,
            prefix=key.prefix,
            label=key.label,
            scopes=list(key.scopes or SCOPES),
            expiresAt=iso_or_none(key.expires_at),
            allowedIps=list(key.allowed_ips),
            usesPaymentIntents=key.uses_payment_intents,
            isActive=key.status is CredentialStatus.ACTIVE,
            createdAt=iso(key.created_at),
            **more,
        )


class ApiKeyCreated(ApiKeyAnswer):
    """The only response that shows the key."""

    key: str


class ApiKeyUsed(ApiKeyAnswer):
    lastUsedAt: str | None


class ApiKeyRevoked(Output):
    id: str
    revoked: bool
