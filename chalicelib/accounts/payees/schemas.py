"""Models of payee destinations, on the API host and on the auth host."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StringConstraints, field_validator

from chalicelib.accounts.payees.records import PayeeDestination, SigningNonce
from chalicelib.accounts.payees.rules import signing_data, wallet_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.interop import interop_address, interop_binary
from chalicelib.platform.http.fields import WHOLE, Address, form
from chalicelib.platform.http.schemas import Input, Output, rule

_MAX_CHAIN_ID = 2**53 - 1  # the largest integer that JSON numbers represent exactly
Text = Annotated[str, StringConstraints(min_length=1)]

ChainId = form(format="chain-id")
Token = Annotated[Address, form(format="token-address")]
Route = Annotated[Text, form("^[0-9A-Za-z]+(@eip155)?:[0-9A-Za-z#]+:[0-9A-Za-z]+$", "destination-id")]


class WalletAddressQuery(Input):
    walletAddress: Address = Field(description="The wallet whose destination is read")

    @field_validator("walletAddress")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            return wallet_address(value)
        except BadRequest as error:
            raise rule(error.message) from None


class SigningDataQuery(Input):
    walletAddress: Address = Field(description="The wallet that signs")
    action: Literal["add", "deactivate"] = Field(description="What is signed for")
    tokenAddress: Token = Field(description="The token that the wallet is paid in")
    chainId: Annotated[str, form("^[0-9]{1,16}$", "chain-id")] = Field(description="Of the token, such as 8453")

    @field_validator("chainId")
    @classmethod
    def _number(cls, value: str) -> str:
        if not (value.isascii() and value.isdigit() and len(value) <= 16):
            raise rule("must be a whole number, such as 8453")
        return value


class SignedNonce(Input):
    """A nonce from signing-data, and the wallet's signature of its typed data."""

    signature: Annotated[str, StringConstraints(pattern=r"^0x[a-fA-F0-9]{130}$")] = Field(
        description="The wallet's signature of the typed data"
    )
    nonce: Text = Field(description="Of the signing data; it can be used once")


class DestinationAccessPolicy(Input):
    """Who may pay. Screening of wallets is not supported, so the only mode is `off` and nothing can be hidden."""

    mode: Annotated[str, form(const="off")] = Field(description="Only off")
    hideUntilApproved: Annotated[StrictBool, form(const=False)] = Field(False, description="Only false")
    hidePayeeAddress: Annotated[StrictBool, form(const=False)] = Field(False, description="Only false")

    @field_validator("mode")
    @classmethod
    def _off(cls, value: str) -> str:
        if value != "off":
            raise rule("must be off: screening of wallets is not supported yet")
        return value

    @field_validator("hideUntilApproved", "hidePayeeAddress")
    @classmethod
    def _refuse_screening(cls, value: bool) -> bool:
        if value:
            raise rule("cannot be true: screening of wallets is not supported yet")
        return value


class KeepDestination(Input):
    """`walletAddress` is optional; it must be the wallet of the session."""

    tokenAddress: Token = Field(description="The token that the wallet is paid in")
    chainId: Annotated[int, Field(strict=True, gt=0, le=_MAX_CHAIN_ID), WHOLE, ChainId] = Field(
        description="The chain of the token"
    )
    accessPolicy: DestinationAccessPolicy | None = None
    walletAddress: str | None = Field(None, description="Repeats the wallet of the session; 403 for another one")

    @property
    def access_mode(self) -> str | None:
        return self.accessPolicy.mode if self.accessPolicy else None


class DestinationIdQuery(Input):
    destinationId: Route = Field(description="`<wallet>@eip155:<chain id>#<checksum>:<token>`, the # sent as %23")


class DeactivateDestination(Input):
    destinationId: Route = Field(description="`<wallet>@eip155:<chain id>#<checksum>:<token>`")


class TypedDataField(Output):
    name: str
    type: str


class TypedDataDomain(Output):
    name: str
    version: str
    chainId: int


class TypedDataMessage(Output):
    walletAddress: str
    tokenAddress: str
    chainId: int
    action: str
    clientId: str
    nonce: str
    expiresAt: int


class SigningDataAnswer(Output):
    """EIP-712 data (TIP-712 for Tron). `values` and the fields after it repeat `message`, as libraries differ."""

    domain: TypedDataDomain
    types: dict[str, list[TypedDataField]]
    primaryType: str
    message: TypedDataMessage
    values: TypedDataMessage
    nonce: str
    expiresAt: int
    walletAddress: str
    action: str
    clientId: str
    tokenAddress: str
    chainId: int

    @classmethod
    def of(cls, nonce: SigningNonce, brand: str) -> Self:
        typed = signing_data(nonce, brand)
        return cls.model_validate({**typed, "values": typed["message"], **typed["message"]})


class AccessPolicyAnswer(Output):
    mode: Literal["off"]
    screeningProvider: str | None
    hideUntilApproved: bool
    hidePayeeAddress: bool


class PayeeDestinationAnswer(Output):
    """Where a wallet is paid. `claimed` is always true: the wallet itself has made or signed it."""

    id: str
    destinationId: str
    walletAddress: str
    tokenAddress: str
    chainId: int
    accessPolicy: AccessPolicyAnswer | None
    binaryInteropAddress: str
    humanReadableInteropAddress: str
    claimed: bool
    active: bool
    createdAt: str

    @classmethod
    def of(cls, destination: PayeeDestination) -> Self:
        return cls(**_fields(destination))


class PayeeDestinationCreated(PayeeDestinationAnswer):
    message: str

    @classmethod
    def of(cls, destination: PayeeDestination) -> Self:
        return cls(**_fields(destination), message="Payee destination created successfully")


class PayeeDestinationRemoved(Output):
    success: bool
    message: str
    destinationId: str
    active: bool


class DestinationDeactivated(Output):
    success: bool
    message: str


class PayoutDestinationAnswer(Output):
    """Where a recipient is paid."""

    destinationId: str
    walletAddress: str
    tokenAddress: str
    chainId: int
    claimed: bool

    @classmethod
    def of(cls, destination: PayeeDestination) -> Self:
        return cls.from_record(destination, claimed=True)


def _fields(destination: PayeeDestination) -> dict[str, Any]:
    wallet, chain_id = destination.wallet_address, destination.chain_id
    policy = destination.access_mode and AccessPolicyAnswer(
        mode="off", screeningProvider=None, hideUntilApproved=False, hidePayeeAddress=False
    )
    return {
        "id": destination.record_id,
        "destinationId": destination.destination_id,
        "walletAddress": wallet,
        "tokenAddress": destination.token_address,
        "chainId": chain_id,
        "accessPolicy": policy,
        "binaryInteropAddress": "0x" + interop_binary(wallet, chain_id).hex(),
        "humanReadableInteropAddress": interop_address(wallet, chain_id),
        "claimed": True,
        "active": destination.is_active,
        "createdAt": iso(destination.created_at),
    }
