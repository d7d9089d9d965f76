"""Secrets: what KMS encrypts, node URLs (which contain API keys) in Secrets Manager, and the keys of own accounts."""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib.base.keccak import keccak256
from chalicelib.platform.storage.clients import aws_client

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

_CACHED_SECRETS = 1_000  # webhook secrets of 64 bytes each
_KEPT = timedelta(seconds=50)
"""How long a container uses the node URLs before it reads them again: less than the minute between two runs of a
schedule, so that each run knows what was changed before the last one."""
Entries = Mapping[str, str | list[str]]


class _KeyEntry:
    """An attribute of Secrets that is the entry of this name, which is not a URL; None without such a text."""

    def __set_name__(self, owner: type["Secrets"], name: str) -> None:
        self._name = name

    def __get__(self, secrets: "Secrets", owner: type["Secrets"]) -> str | None:
        value = secrets.entries.get(self._name)
        return value if isinstance(value, str) else None


class Secrets:
    """`key` is the KMS alias, `rpc_urls_secret` the name of the secret with {network: URL or URLs of its nodes}.

    The URL of tron is the base URL of a TronGrid or java-tron node. The optional entries that are not URLs are
    TronGrid's key, that of the price source, that of the compliance provider, the key by which that provider signs its
    events, and that of the router; the networks with gasless payments and their accounts (relayer/keys/signer.py); the
    stake on Tron that is delegated (gasless/energy/rules.py); and the keys of Safe's services.

    The first use reads this secret, and later ones read it again when it is older than _KEPT. If that fails, or the
    text or one of its entries has another form, it is logged, and what was read last time holds for as long again.
    """

    tron_api_key = _KeyEntry()
    price_api_key = _KeyEntry()
    compliance_api_key = _KeyEntry()
    compliance_webhook_secret = _KeyEntry()
    lifi_api_key = _KeyEntry()
    gasless_networks = _KeyEntry()
    tron_energy = _KeyEntry()
    safe_api_keys = _KeyEntry()

    def __init__(self, key: str, rpc_urls_secret: str, clock: Callable[[], datetime], log: "Logger") -> None:
        self._key = key
        self._rpc_urls_secret = rpc_urls_secret
        self._clock, self.log = clock, log
        self._kept: tuple[datetime, Entries] | None = None
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

    @property
    def rpc_urls(self) -> dict[str, tuple[str, ...]]:
        """{network: URLs of its nodes, the preferred one first} for the networks of this deployment."""
        keys = {name for name, value in vars(Secrets).items() if isinstance(value, _KeyEntry)}
        entries = {name: value for name, value in self.entries.items() if name not in keys}
        urls = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in entries.items()}
        known = {name: tuple(url for url in each if url) for name, each in urls.items()}
        return {name: each for name, each in known.items() if each}

    def safe_api_key(self, network: str) -> str | None:
        """The key of a network's Safe Transaction Service: the entry is a text such as `base=<key>,mainnet=<key>`."""
        pairs = (each.partition("=") for each in (self.safe_api_keys or "").split(","))
        return {name.strip(): key.strip() for name, _, key in pairs}.get(network) or None

    @property
    def entries(self) -> Entries:
        """The entries as they were read less than _KEPT ago."""
        now = self._clock()
        if self._kept is None:
            client = aws_client("secretsmanager")
            self._kept = now, self._read(client)
        elif now - self._kept[0] >= _KEPT:
            self._kept = now, self._kept[1]  # before the read, so that other threads do not read, too
            try:
                self._kept = now, self._read(self._impatient)
            except Exception:  # whatever AWS raises, or what is not the text of entries
                self.log.exception("node URLs not read again", extra={"secret": self._rpc_urls_secret})
        return self._kept[1]

    @cached_property
    def _impatient(self) -> Any:
        """Requests wait for it, and can do without its answer."""
        return aws_client("secretsmanager", attempts=1)

    def _read(self, client: Any) -> Entries:
        entries, wrong = _split(value_of(client, self._rpc_urls_secret).text)
        if wrong:
            self.log.error("entries are neither a text nor a list of texts", extra={"entries": wrong})
        known = self._kept[1] if self._kept else {}
        return {**entries, **{name: known[name] for name in wrong if name in known}}


class SecretValue(NamedTuple):
    """What a secret holds, and the version that has it; an empty object and None before the operator sets any."""

    text: str
    version: str | None


def value_of(client: Any, secret: str) -> SecretValue:
    """The value of a secret. Raises ClientError if there is no such secret."""
    try:
        found = client.get_secret_value(SecretId=secret)
    except client.exceptions.ResourceNotFoundException as error:
        if "staging label" in str(error):  # the secret is there, and has no value yet
            return SecretValue("{}", None)
        raise
    return SecretValue(found.get("SecretString") or "{}", found["VersionId"])


def read_entries(text: str) -> Entries:
    """The entries of the secret with node URLs. Raises ValueError if it, or one of them, has another form."""
    entries, wrong = _split(text)
    if wrong:
        raise ValueError(f"the entry {wrong[0]} is neither a text nor a list of texts")
    return entries


def _split(text: str) -> tuple[Entries, list[str]]:
    """The entries of the secret, and the names of those that have another form. ValueError if it is not an object."""
    entries = json.loads(text)
    if not isinstance(entries, dict):
        raise ValueError("the secret is not a JSON object")
    wrong = [
        name
        for name, value in entries.items()
        if not all(isinstance(each, str) for each in (value if isinstance(value, list) else [value]))
    ]
    return {name: value for name, value in entries.items() if name not in wrong}, wrong


class SigningKeys:
    """`key` is the alias of a KMS key (ECC_SECG_P256K1, SIGN_VERIFY), `secret` the name of the secret with a private
    key as hexadecimal text."""

    def __init__(self, key: str, secret: str, name: str = "") -> None:
        self._key, self._secret, self._name = key, secret, name
        self._others = dict[str, SigningKeys]()

    def with_name(self, name: str) -> "SigningKeys":
        """Other keys of the same kinds: the KMS key whose alias ends with the name, and a private key that is made of
        this one and the name."""
        return self._others.setdefault(name, SigningKeys(f"{self._key}-{name}", self._secret, name))

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
        """The private key in Secrets Manager, 32 bytes. Read once per container. Raises ValueError if it is not one."""
        text = aws_client("secretsmanager").get_secret_value(SecretId=self._secret)["SecretString"].strip()
        key = bytes.fromhex(text.removeprefix("0x"))
        if len(key) != 32:
            raise ValueError(f"the secret {self._secret} does not hold a private key of 32 bytes")
        return keccak256(key + self._name.encode()) if self._name else key
