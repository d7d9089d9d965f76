"""Secrets: webhook signing keys under KMS, node URLs (which carry provider keys) in Secrets Manager."""

import base64
import json
from functools import cached_property, lru_cache
from typing import Any

from chalicelib.storage.clients import aws_client

_TRON_API_KEY = "tron_api_key"
_REMEMBERED = 1_000  # webhook secrets of 64 bytes each


class Secrets:
    """`key` is the KMS alias, `rpc_urls_secret` the name of the secret that holds {network: url}.

    The URL of tron is the base of a TronGrid or java-tron node; beside it `tron_api_key` may hold TronGrid's key.
    """

    def __init__(self, key: str, rpc_urls_secret: str) -> None:
        self._key = key
        self._rpc_urls_secret = rpc_urls_secret
        self.decrypt_once = lru_cache(_REMEMBERED)(self.decrypt)

    @cached_property
    def _kms(self) -> Any:
        return aws_client("kms")

    def encrypt(self, text: str, owner: str) -> str:
        """Base64 ciphertext that only decrypts for the same `owner` (the webhook's id)."""
        answer = self._kms.encrypt(KeyId=self._key, Plaintext=text.encode(), EncryptionContext={"owner": owner})
        return base64.b64encode(answer["CiphertextBlob"]).decode()

    def decrypt(self, ciphertext: str, owner: str) -> str:
        """The text again. `decrypt_once` remembers it for as long as the container lives, for what is used often."""
        answer = self._kms.decrypt(
            KeyId=self._key,
            CiphertextBlob=base64.b64decode(ciphertext),
            EncryptionContext={"owner": owner},
        )
        text: str = answer["Plaintext"].decode()
        return text

    @cached_property
    def rpc_urls(self) -> dict[str, str]:
        """{network: URL of its node}; a network without one is not served. Read once per container."""
        return {name: value for name, value in self._nodes.items() if name != _TRON_API_KEY}

    @property
    def tron_api_key(self) -> str | None:
        return self._nodes.get(_TRON_API_KEY)

    @cached_property
    def _nodes(self) -> dict[str, str]:
        answer = aws_client("secretsmanager").get_secret_value(SecretId=self._rpc_urls_secret)
        kept: dict[str, str] = json.loads(answer["SecretString"])
        return kept
