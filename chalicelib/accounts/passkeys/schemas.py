"""Models of passkeys. Credentials have the form of toJSON() of a PublicKeyCredential, in base64url."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.base.timestamps import iso
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output

_BASE64URL = r"^[A-Za-z0-9_-]+=*$"

# A whole credential has at most 16 kB: no parser of CBOR sees more.
CredentialId = Annotated[str, StringConstraints(min_length=1, max_length=1364), form(_BASE64URL)]  # 1,023 bytes
ClientData = Annotated[str, StringConstraints(min_length=1, max_length=2000), form(_BASE64URL)]
Attestation = Annotated[str, StringConstraints(min_length=1, max_length=11_000), form(_BASE64URL)]
AuthenticatorData = Annotated[str, StringConstraints(min_length=1, max_length=4000), form(_BASE64URL)]
Signature = Annotated[str, StringConstraints(min_length=1, max_length=2000), form(_BASE64URL)]
UserHandle = Annotated[str, StringConstraints(min_length=1, max_length=100), form(_BASE64URL)]
PasskeyName = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), form(r"\S")]


class AttestationResponse(Input):
    clientDataJSON: ClientData = Field(description="As the browser gave it")
    attestationObject: Attestation = Field(description="As the browser gave it")


class AssertionResponse(Input):
    clientDataJSON: ClientData = Field(description="As the browser gave it")
    authenticatorData: AuthenticatorData = Field(description="As the browser gave it")
    signature: Signature = Field(description="As the browser gave it")
    userHandle: UserHandle | None = Field(None, description="Needed to sign in")


class NewCredential(Input):
    """What `navigator.credentials.create()` gave."""

    id: CredentialId = Field(description="The credential id")
    rawId: CredentialId = Field(description="The same")
    type: Literal["public-key"] = Field(description="The only one there is")
    response: AttestationResponse = Field(description="What the authenticator says")


class UsedCredential(Input):
    """What `navigator.credentials.get()` gave."""

    id: CredentialId = Field(description="The credential id")
    rawId: CredentialId = Field(description="The same")
    type: Literal["public-key"] = Field(description="The only one there is")
    response: AssertionResponse = Field(description="What the authenticator says")


class RegisterPasskey(Input):
    name: PasskeyName = Field(description="Your own name for it")
    credential: NewCredential = Field(description="What `toJSON()` of the new credential gives")


class RenamePasskey(Input):
    name: PasskeyName = Field(description="Your own name for it")


class UsePasskey(Input):
    credential: UsedCredential = Field(description="What `toJSON()` of the credential gives")


class PasskeyOptions(Output):
    """The options of WebAuthn in JSON, for `parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`."""

    publicKey: dict[str, Any]


class PasskeyAnswer(Output):
    id: str
    name: str
    synced: bool = Field(description="Whether it may be on several devices")
    createdAt: str
    lastUsedAt: str | None

    @classmethod
    def of(cls, passkey: Passkey) -> Self:
        used = iso(passkey.last_used_at) if passkey.last_used_at else None
        return cls.from_record(passkey, id=passkey.passkey_id, synced=passkey.is_synced, lastUsedAt=used)


class PasskeyRemoved(Output):
    id: str
    removed: Literal[True]
