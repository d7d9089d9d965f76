"""Makes keys of signatures, replaces them, and signs requests and documents with them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from secrets import token_bytes

from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Write
from chalicelib.webhooks.json_signatures import compact_jws
from chalicelib.webhooks.message_signatures import PrivateKey, public_key_of, signature_headers, thumbprint
from chalicelib.webhooks.signature_keys import rules, store
from chalicelib.webhooks.signature_keys.records import SignatureKey, SignatureKeys

CACHED_FOR = timedelta(seconds=5)
"""How long a container signs with the keys that it read: a key that is replaced at once signs so much longer."""


@retry_conflicts(5)
def ensure_key(services: Services) -> None:
    """Makes the first key, with which the first webhook that chooses signatures is signed. One read while there is one;
    else also a KMS call and a write of its own, which stays if the caller's request is refused."""
    known = store.signature_keys(services.store)
    if not known.keys:
        now = services.clock()
        services.store.apart.write(rules.with_key(known, _new_key(services, now), at_once=False))


@retry_conflicts(5)
def rotate(services: Services, *audit: Write, at_once: bool) -> SignatureKey:
    """Makes a new key and returns it; `audit` is written with it. `at_once` ends all others.

    Raises Conflict (rules.begins_at).
    """
    known, now = store.signature_keys(services.store), services.clock()
    new = _new_key(services, rules.begins_at(known, now, at_once=at_once))
    services.store.write(rules.with_key(known, new, at_once=at_once), *audit)
    return new


def list_published(services: Services) -> tuple[SignatureKey, ...]:
    """The keys whose public halves are published: all. One read."""
    return store.signature_keys(services.store).keys


def sign(services: Services, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """The headers that sign a POST to a URL, as it is sent; none without a key, which is logged.

    At most one read in CACHED_FOR in each container, and one KMS call for each key.
    """
    now = services.clock()
    key = rules.signing_key(_read_keys(services, now), now)
    if key is None:
        services.log.error("no key signs deliveries")
        return {}
    return signature_headers(url, headers, body, _private_key(services, key), now)


def sign_document(services: Services, document: bytes, kind: str) -> str:
    """A document of a kind as a compact JSON Web Signature. Reads as `sign`; without a key the first one is made."""
    now = services.clock()
    if (key := rules.signing_key(_read_keys(services, now), now)) is None:
        ensure_key(services)
        services.signature_keys.clear()
        key = rules.signing_key(_read_keys(services, now), now)
        assert key is not None, "a key was made"
    return compact_jws(document, kind, _private_key(services, key))


def _private_key(services: Services, key: SignatureKey) -> PrivateKey:
    return PrivateKey(key.key_id, bytes.fromhex(services.secrets.decrypt_once(key.ciphertext, key.owner)))


def _read_keys(services: Services, now: datetime) -> SignatureKeys:
    read = services.signature_keys.get(SignatureKeys.__name__)
    if read is None or not timedelta(0) <= now - read[0] < CACHED_FOR:
        read = services.signature_keys[SignatureKeys.__name__] = (now, store.signature_keys(services.store))
    known: SignatureKeys = read[1]
    return known


def _new_key(services: Services, signs_from: datetime) -> SignatureKey:
    """A key that nobody else can derive: the entropy of a request may be made of its idempotency key."""
    seed = token_bytes(32)
    public_key = public_key_of(seed)
    key_id = thumbprint(public_key)
    key = SignatureKey(key_id, public_key, "", signs_from)
    return SignatureKey(key_id, public_key, services.secrets.encrypt(seed.hex(), key.owner), signs_from)
