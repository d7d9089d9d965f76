"""Secrets: what KMS encrypts, node URLs (which contain API keys) in Secrets Manager, and the keys of own accounts."""

import base64
import json
from functools import cached_property, lru_cache
from typing import Any

from chalicelib.storage.clients import aws_client

_NO_URLS = ("tron_api_key", "price_api_key", "compliance_api_key", "compliance_webhook_secret", "lifi_api_key")
_CACHED_SECRETS = 1_000  # webhook secrets of 64 bytes each


class Secrets:
    """`key` is the KMS alias, `rpc_urls_secret` the name of the secret with {network: URL of its node}.

    The URL of tron is the base URL of a TronGrid or java-tron node. The optional entries of _NO_URLS are no URLs:
    `tron_api_key` holds TronGrid's key, `price_api_key` that of the price source, `compliance_api_key` that of the
    compliance provider, `compliance_webhook_secret` the key by which that provider signs its events, and `lifi_api_key`
    that of the router.
    """

    def __init__(self, key: str, rpc_urls_secret: str) -> None:
        self._key = key
        self._rpc_urls_secret = rpc_urls_secret
        self.decrypt_once = lru_cache(_CACHED_SECRETS)(self.decrypt)

    @cached_property
    def _kms(self) -> Any:
        return aws_client("kms")

    def encrypt(self, text: str, owner: str) -> str:
        """Base64 ciphertext that can only be decrypted with the same `owner` (the webhook's id). One KMS call."""
        response = self._kms.encrypt(KeyId=self._key, Plaintext=text.encode(), EncryptionContext={"owner": owner})
        return base64.b64encode(response["CiphertextBlob"]).decode()

    def decrypt(self, ciphertext: str, owner: str) -> str:
        """The decrypted text. One KMS call; `decrypt_once` caches the texts that were used last in the container."""
        response = self._kms.decrypt(
            KeyId=self._key,
            CiphertextBlob=base64.b64decode(ciphertext),
            EncryptionContext={"owner": owner},
        )
        text: str = response["Plaintext"].decode()
        return text

    @cached_property
    def rpc_urls(self) -> dict[str, str]:
        """{network: URL of its node} for the networks of this deployment. Read once per container."""
        return {name: value for name, value in self._entries.items() if name not in _NO_URLS}

    @property
    def tron_api_key(self) -> str | None:
        return self._entries.get("tron_api_key")

    @property
    def price_api_key(self) -> str | None:
        return self._entries.get("price_api_key")

    @property
    def compliance_api_key(self) -> str | None:
        return self._entries.get("compliance_api_key")

    @property
    def compliance_webhook_secret(self) -> str | None:
        return self._entries.get("compliance_webhook_secret")

    @property
    def lifi_api_key(self) -> str | None:
        return self._entries.get("lifi_api_key")

    @cached_property
    def _entries(self) -> dict[str, str]:
        response = aws_client("secretsmanager").get_secret_value(SecretId=self._rpc_urls_secret)
        entries: dict[str, str] = json.loads(response["SecretString"])
        return entries


class SigningKeys:
    """`key` is the alias of a KMS key (ECC_SECG_P256K1, SIGN_VERIFY), `secret` the name of the secret with a private
    key as hexadecimal text."""

    def __init__(self, key: str, secret: str) -> None:
        self._key, self._secret = key, secret

    @cached_property
    def _kms(self) -> Any:
        return aws_client("kms")

    @cached_property
    def public_key(self) -> bytes:
        """The KMS key's public key, a SubjectPublicKeyInfo in DER. Read once per container."""
        public_key: bytes = self._kms.get_public_key(KeyId=self._key)["PublicKey"]
        return public_key

    def sign(self, digest: bytes) -> bytes:
        """The KMS key's signature over a digest of 32 bytes: the two integers r and s in DER. One KMS call."""
        response = self._kms.sign(
            KeyId=self._key, Message=digest, MessageType="DIGEST", SigningAlgorithm="ECDSA_SHA_256"
        )
        signature: bytes = response["Signature"]
        return signature

    @cached_property
    def private_key(self) -> bytes:
        """The private key in Secrets Manager, 32 bytes. Read once per container. Raises ValueError if it is none."""
        text = aws_client("secretsmanager").get_secret_value(SecretId=self._secret)["SecretString"].strip()
        key = bytes.fromhex(text.removeprefix("0x"))
        if len(key) != 32:
            raise ValueError(f"the secret {self._secret} does not hold a private key of 32 bytes")
        return key
