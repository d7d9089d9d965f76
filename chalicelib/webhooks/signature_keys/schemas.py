"""Models of the public keys."""

from typing import Self

from pydantic import Field

from chalicelib.platform.http.schemas import Output
from chalicelib.webhooks.signature_keys.records import SignatureKey


class PublicKey(Output):
    """An Ed25519 key as a JSON Web Key (RFC 8037). It has no `alg`, which libraries write in two ways."""

    kty: str = Field(description="`OKP`")
    crv: str = Field(description="`Ed25519`")
    x: str = Field(description="The public key, 32 bytes in base64url")
    kid: str = Field(description="The `keyid` of signatures by it: its thumbprint (RFC 7638)")
    use: str = Field(description="`sig`")

    @classmethod
    def of(cls, key: SignatureKey) -> Self:
        return cls(kty="OKP", crv="Ed25519", x=key.public_key, kid=key.key_id, use="sig")


class PublicKeys(Output):
    """A JSON Web Key set (RFC 7517)."""

    keys: list[PublicKey]
