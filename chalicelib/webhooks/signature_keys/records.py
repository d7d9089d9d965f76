"""The stored record of the keys by which deliveries are signed."""

from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record


@frozen
class SignatureKey:
    """An Ed25519 key. `key_id` is the thumbprint of its public key (RFC 7638), `public_key` that key in base64url, and
    `ciphertext` the private key, 32 bytes in hexadecimal, encrypted for `owner`; empty once it signs no more."""

    key_id: str
    public_key: str
    ciphertext: str
    signs_from: datetime

    @property
    def owner(self) -> str:
        return f"signature-key#{self.key_id}"


@frozen
class SignatureKeys(Record):
    """The keys of the service, in the order in which they begin to sign. One record, which the first key creates."""

    KEY = KeyPattern(WEBHOOKS, "SIGNATURE_KEYS", "SIGNATURE_KEYS")

    keys: tuple[SignatureKey, ...] = ()
