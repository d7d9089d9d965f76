"""An authenticator in software: makes passkeys and signs with them, as WebAuthn Level 3 writes the bytes.

It takes the options and gives the JSON of `toJSON()`, so that it stands in the place of `navigator.credentials`.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib.accounts.passkeys.rules import decode_base64url, encode_base64url

_USER_PRESENT, _USER_VERIFIED, _BACKUP_ELIGIBLE, _BACKED_UP, _HAS_CREDENTIAL = 0x01, 0x04, 0x08, 0x10, 0x40


@dataclass
class SoftKey:
    """One passkey. Without `is_synced` it is bound to its device and counts its uses."""

    rp_id: str
    user_handle: str
    is_synced: bool = False
    count: int = 0
    raw_id: bytes = field(default_factory=lambda: os.urandom(16))
    secret: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def cose(self) -> bytes:
        numbers = self.secret.public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        return cbor2.dumps(key)

    def authenticator_data(self, rp_id: str, *, verified: bool = True, attested: bytes = b"") -> bytes:
        flags = _USER_PRESENT | (_USER_VERIFIED if verified else 0) | (_HAS_CREDENTIAL if attested else 0)
        flags |= _BACKUP_ELIGIBLE | _BACKED_UP if self.is_synced else 0
        return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big") + attested


def client_data(kind: str, challenge: str, origin: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False, **more}).encode()


def create(options: dict[str, Any], origin: str, *, synced: bool = False, **changes: Any) -> tuple[SoftKey, dict[str, Any]]:
    """A new passkey for registration options, and its credential. `changes` are `verified`, `rp_id` or of client data."""
    verified, rp_id = changes.pop("verified", True), changes.pop("rp_id", options["rp"]["id"])
    key = SoftKey(rp_id, options["user"]["id"], synced)
    attested = bytes(16) + len(key.raw_id).to_bytes(2, "big") + key.raw_id + key.cose
    data = key.authenticator_data(rp_id, verified=verified, attested=attested)
    client = client_data("webauthn.create", changes.pop("challenge", options["challenge"]), origin, **changes)
    response = {
        "clientDataJSON": encode_base64url(client),
        "attestationObject": encode_base64url(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
    }
    return key, _credential(key, response)


def get(key: SoftKey, options: dict[str, Any], origin: str, **changes: Any) -> dict[str, Any]:
    """The credential with which a passkey answers request options. It counts the use unless it is synced."""
    key.count += 0 if key.is_synced else 1
    verified, rp_id = changes.pop("verified", True), changes.pop("rp_id", options["rpId"])
    client = client_data("webauthn.get", changes.pop("challenge", options["challenge"]), origin, **changes)
    data = key.authenticator_data(rp_id, verified=verified)
    signature = key.secret.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
    response = {
        "clientDataJSON": encode_base64url(client),
        "authenticatorData": encode_base64url(data),
        "signature": encode_base64url(signature),
        "userHandle": key.user_handle,
    }
    return _credential(key, response)


def _credential(key: SoftKey, response: dict[str, str]) -> dict[str, Any]:
    text = encode_base64url(key.raw_id)
    return {"id": text, "rawId": text, "type": "public-key", "response": response, "clientExtensionResults": {}}


def with_response(credential: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**credential, "response": {**credential["response"], **changes}}


def flipped(text: str) -> str:
    """The same bytes in base64url with one bit changed."""
    raw = bytearray(decode_base64url(text))
    raw[-1] ^= 1
    return encode_base64url(bytes(raw))
