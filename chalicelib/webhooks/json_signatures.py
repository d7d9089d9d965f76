"""How documents are signed: JSON Web Signatures (RFC 7515) in compact form, with Ed25519 (RFC 8037)."""

import base64

from chalicelib.webhooks.message_signatures import PrivateKey


def compact_jws(document: bytes, kind: str, key: PrivateKey) -> str:
    """`<header>.<document>.<signature>`, each in base64url; the header names the algorithm, the key, and what kind of
    document it is, so that none is taken for one of another kind."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    header = f'{{"alg":"EdDSA","kid":"{key.key_id}","typ":"{kind}"}}'
    signed = f"{_base64url(header.encode())}.{_base64url(document)}"
    return f"{signed}.{_base64url(Ed25519PrivateKey.from_private_bytes(key.seed).sign(signed.encode()))}"


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
