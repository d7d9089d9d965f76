"""How requests are signed by a key that only this service has: HTTP Message Signatures (RFC 9421) with Ed25519.

    content-digest: sha-256=:<base64 of the hash of the body>:                                        (RFC 9530)
    signature-input: sig1=("@method" ... "webhook-timestamp");created=1767225600;keyid="...";alg="ed25519";tag="webhook"
    signature: sig1=:<base64 of 64 bytes>:

Signed is the text of one line `"<component>": <value>` for each component in this order, and of a last line
`"@signature-params": <what signature-input has after sig1=>`.
"""

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime

from chalicelib.base.frozen import frozen

COMPONENTS = ("@method", "@target-uri", "content-digest", "content-type", "webhook-id", "webhook-timestamp")
"""What a signature covers: how the body is sent, where to, the body by its hash, and which delivery it is."""
TAG = "webhook"


@frozen
class PrivateKey:
    """32 bytes, and the id of the key."""

    key_id: str
    seed: bytes


def public_key_of(seed: bytes) -> str:
    """The public key as `x` of a JWK has it: its 32 bytes in base64url without padding."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return _base64url(raw)


def thumbprint(public_key: str) -> str:
    """The thumbprint (RFC 7638) of a public key, by which a signature names it: 43 characters."""
    return _base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{public_key}"}}'.encode()).digest())


def signature_headers(
    url: str, headers: Mapping[str, str], body: bytes, key: PrivateKey, now: datetime
) -> dict[str, str]:
    """`content-digest`, `signature-input` and `signature` of a POST of a body with these headers, signed now."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    digest = f"sha-256=:{_base64(hashlib.sha256(body).digest())}:"
    values = {"@method": "POST", "@target-uri": url, **headers, "content-digest": digest}
    covered = " ".join(f'"{each}"' for each in COMPONENTS)
    created = int(now.timestamp())
    parameters = f'({covered});created={created};keyid="{key.key_id}";alg="ed25519";tag="{TAG}"'
    lines = [*(f'"{each}": {values[each]}' for each in COMPONENTS), f'"@signature-params": {parameters}']
    signature = Ed25519PrivateKey.from_private_bytes(key.seed).sign("\n".join(lines).encode())
    return {
        "content-digest": digest,
        "signature-input": f"sig1={parameters}",
        "signature": f"sig1=:{_base64(signature)}:",
    }


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
