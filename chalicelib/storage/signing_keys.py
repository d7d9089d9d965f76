"""The keys of the service's own accounts on chains: one in KMS, and a private key in Secrets Manager."""

from functools import cached_property
from typing import Any

from chalicelib.storage.clients import aws_client


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
