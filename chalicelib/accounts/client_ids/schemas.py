"""Models of client ids, on the API host and on the auth host."""

from datetime import datetime
from typing import Annotated, Literal, Self, cast

from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from chalicelib.accounts.client_ids.rules import ClientIdSettings
from chalicelib.accounts.credentials.schemas import TEST, USES_PAYMENT_INTENTS
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import ORIGIN_PATTERN
from chalicelib.platform.http.fields import WHOLE, CurrencyId, EvmRecipient, Recipient, form, together
from chalicelib.platform.http.schemas import Input, Output, iso_or_none, unsent

Label = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Domain = Annotated[str, StringConstraints(max_length=300), form(ORIGIN_PATTERN, "web-origin")]
Domains = Annotated[list[Domain], Field(max_length=10)]
SomeDomains = Annotated[list[Domain], Field(min_length=1, max_length=10)]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Payees = Annotated[list[Annotated[Recipient, StringConstraints(min_length=1, max_length=255)]], Field(max_length=100)]
Currency = Annotated[CurrencyId, StringConstraints(min_length=1, max_length=255)]
Currencies = Annotated[list[Currency], Field(max_length=100)]
Fee = Annotated[ShortText, form(r"^(100(\.0{1,2})?|[1-9]?[0-9](\.[0-9]{1,2})?)$")]
Wallet = Annotated[EvmRecipient, StringConstraints(min_length=1, max_length=255)]
Seconds = Annotated[int, Field(strict=True, gt=0, le=2**32), WHOLE]


class _Settings(Input):
    """Settings that can be set and unset. Settings that are left out do not change; null unsets."""

    feePercentage: Fee | None = Field(
        default_factory=unsent, description='0 to 100, at most 2 decimals; any but "0" overrides the fee of a request'
    )
    feeAddress: Wallet | None = Field(default_factory=unsent, description="Needed with feePercentage")
    operatorWalletAddress: Wallet | None = Field(
        default_factory=unsent,
        description="The operator of its commerce payments, and the wallet whose destination this client id may be "
        "bound to without a key",
    )
    defaultPreApprovalExpiry: Seconds | None = Field(
        default_factory=unsent, description="How many seconds its commerce payments can be authorized"
    )
    defaultAuthorizationExpiry: Seconds | None = Field(
        default_factory=unsent, description="How many seconds after that they can be captured"
    )
    orchestratorId: ShortText | None = Field(
        default_factory=unsent, description="Which orchestrator may link it; null withdraws that and ends its link"
    )

    payeeDestinationId: ShortText | None = Field(
        default_factory=unsent, description="Where links with only an amount are paid: an active destination"
    )
    allowedPayees: Payees | None = Field(
        default_factory=unsent,
        description="Whom the client id may have paid when it is sent alone: addresses; null for anybody, and [] for "
        "its payee destination only, which is always allowed",
    )
    allowedCurrencies: Currencies | None = Field(
        default_factory=unsent, description="In what, as ids of GET /v2/currencies; null for any"
    )

    usesPaymentIntents: StrictBool = Field(default_factory=unsent, description=USES_PAYMENT_INTENTS)
    mayExecute: StrictBool = Field(
        default_factory=unsent,
        description="Whether it has the service's own account send transactions when it is sent alone: executed "
        "operations of commerce payments, recurring payouts and signed payment intents. Anybody can send it, and each "
        "transaction counts against your account's share of the day; false by default",
    )
    mayReadPayers: StrictBool = Field(
        default_factory=unsent,
        description="Whether it reads by GET /v2/payer/{client_user_id} how far the checks of a person are when it is "
        "sent alone. Anybody can send it, about any clientUserId; false by default",
    )

    def settings(self) -> ClientIdSettings:
        sent = self.sent_fields()
        if "orchestrator_id" in sent:
            sent["admits_orchestrator"] = sent.pop("orchestrator_id")
        if "test" in sent:
            sent["is_test"] = sent.pop("test")
        if "status" in sent:
            sent["status"] = CredentialStatus(sent["status"])
        return cast(ClientIdSettings, sent)


class CreateClientId(_Settings):
    model_config = ConfigDict(json_schema_extra=together({"feePercentage": ["feeAddress"]}))

    label: Label = Field(description="Your own name for it")
    allowedDomains: SomeDomains = Field(description="Origins such as https://shop.example")
    test: StrictBool = Field(False, description=TEST)


class UpdateClientId(_Settings):
    label: Label = Field(default_factory=unsent, description="Your own name for it")
    allowedDomains: SomeDomains = Field(default_factory=unsent, description="Origins such as https://shop.example")
    status: Literal["active", "inactive", "revoked"] = Field(default_factory=unsent, description="revoked is permanent")


class CreateOwnClientId(CreateClientId):
    """A client id without domains is for servers."""

    allowedDomains: Domains = Field(default_factory=list, description="Origins such as https://shop.example")


class UpdateOwnClientId(UpdateClientId):
    allowedDomains: Domains = Field(default_factory=unsent, description="Origins such as https://shop.example")


class _ClientId(Output):
    @classmethod
    def of(cls, client: ClientId, last_used: datetime | None = None) -> Self:
        """The model of a client id, with the fields that the class has."""
        values = {
            "id": client.record_id,
            "orchestratorId": client.admits_orchestrator,
            "test": client.is_test,
            "updatedAt": iso(client.updated_at or client.created_at),
            "lastUsedAt": iso_or_none(last_used),
        }
        return cls.from_record(client, **{name: value for name, value in values.items() if name in cls.model_fields})


class ClientIdListed(_ClientId):
    id: str
    clientId: str
    label: str
    allowedDomains: list[str]
    orchestratorId: str | None
    payeeDestinationId: str | None
    allowedPayees: list[str] | None
    status: CredentialStatus
    createdAt: str
    lastUsedAt: str | None
    test: bool = Field(description="Whether it is for test mode")


class _Answer(_ClientId):
    """All settings. Subclasses add times."""

    id: str
    clientId: str
    label: str
    allowedDomains: list[str]
    feePercentage: str | None
    feeAddress: str | None
    operatorWalletAddress: str | None
    defaultPreApprovalExpiry: int | None
    defaultAuthorizationExpiry: int | None
    orchestratorId: str | None
    payeeDestinationId: str | None
    allowedPayees: list[str] | None
    allowedCurrencies: list[str] | None
    usesPaymentIntents: bool
    mayExecute: bool
    mayReadPayers: bool
    status: CredentialStatus
    test: bool = Field(description="Whether it is for test mode")


class ClientIdCreated(_Answer):
    createdAt: str


class ClientIdUpdated(_Answer):
    updatedAt: str


class ClientIdAnswer(_Answer):
    createdAt: str
    updatedAt: str
    lastUsedAt: str | None

