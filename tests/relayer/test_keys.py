"""Signing with keys in KMS and Secrets Manager: 1,000 digests against eth_account, and every form of DER."""

import hashlib

import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_keys.datatypes import PublicKey
from hexbytes import HexBytes
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.signatures import Signature
from chalicelib.platform.storage.secrets import SigningKeys
from chalicelib.relayer.keys.kms import ORDER, KmsSigner, integers_of
from chalicelib.relayer.keys.secret import SecretSigner
from chalicelib.relayer.transactions import sign
from infra.local.cloud import Cloud
from tests.relayer.transactions import transaction
from tests.support.signing import keys_in

DIGESTS = 200
HALF = ORDER // 2


@pytest.fixture(scope="module")
def keys(cloud: Cloud) -> SigningKeys:
    return keys_in(cloud)


class KnownKey:
    """KMS in memory: signs with a known key, in DER as KMS does, with a high s for every other digest."""

    def __init__(self, private_key: bytes = b"\x07" * 32) -> None:
        self.account = Account.from_key(private_key)
        self.public_key = bytes(88 - 65) + b"\x04" + self.account._key_obj.public_key.to_bytes()
        self.calls = 0

    def sign(self, digest: bytes) -> bytes:
        self.calls += 1
        signed = self.account.unsafe_sign_hash(digest)
        return der(signed.r, ORDER - signed.s if self.calls % 2 else signed.s)


def der(*numbers: int) -> bytes:
    parts = [number.to_bytes((number.bit_length() // 8) + 1, "big") for number in numbers]
    body = b"".join(bytes([2, len(part)]) + part for part in parts)
    return bytes([0x30, len(body)]) + body


def digests(count: int = DIGESTS) -> list[bytes]:
    return [hashlib.sha256(f"digest {n}".encode()).digest() for n in range(count)]


def recovered(digest: bytes, signature: Signature) -> str:
    return Account._recover_hash(digest, vrs=(signature.recovery_id, signature.r, signature.s))


def test_signatures_of_kms_are_by_its_address_with_a_low_s(keys: SigningKeys) -> None:
    signer = KmsSigner(keys)
    assert signer.address == PublicKey(keys.public_key[-64:]).to_checksum_address()
    ids = set()
    for digest in digests():
        signature = signer.sign(digest)
        assert 0 < signature.r < ORDER and 0 < signature.s <= HALF
        assert recovered(digest, signature) == signer.address
        ids.add(signature.recovery_id)
    assert ids == {0, 1}


def test_a_thousand_digests_signed_through_der_are_what_eth_account_signs_with_the_same_key() -> None:
    """eth_account's signatures are deterministic (RFC 6979); those of KMS are not, so it is played by a known key."""
    known = KnownKey()
    signer = KmsSigner(known)  # type: ignore[arg-type]
    assert signer.address == known.account.address
    for digest in digests():
        signed = known.account.unsafe_sign_hash(digest)
        assert signer.sign(digest) == Signature(signed.r, signed.s, signed.v - 27)


def test_transactions_signed_by_kms_are_what_eth_account_encodes_for_the_same_signature(keys: SigningKeys) -> None:
    signer = KmsSigner(keys)
    for nonce in range(20):
        record = transaction(nonce, network=["sepolia", "base", "mainnet"][nonce % 3], sender=signer.address)
        signed = sign(record, signer)
        raw = bytes.fromhex(signed.raw[2:])
        assert Account.recover_transaction(raw) == signer.address
        fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
        assert (fields["nonce"], fields["gas"]) == (record.nonce, record.gas_limit)
        assert (fields["maxFeePerGas"], fields["maxPriorityFeePerGas"]) == (record.max_fee, record.tip)
        assert TypedTransaction.from_dict(fields).encode() == raw


def test_a_key_in_a_secret_signs_what_eth_account_signs(keys: SigningKeys) -> None:
    """Including the transaction: byte for byte, and its hash."""
    signer, account = SecretSigner(keys.private_key), Account.from_key(keys.private_key)
    assert signer.address == account.address
    for digest in digests(100):
        signed = account.unsafe_sign_hash(digest)
        assert signer.sign(digest) == Signature(signed.r, signed.s, signed.v - 27)
    record = transaction(7, sender=account.address)
    theirs = account.sign_transaction(
        {
            "type": 2,
            "chainId": 11155111,
            "nonce": 7,
            "maxPriorityFeePerGas": record.tip,
            "maxFeePerGas": record.max_fee,
            "gas": record.gas_limit,
            "to": record.to,
            "value": record.value,
            "data": record.data,
        }
    )
    mine = sign(record, signer)
    assert (mine.raw, mine.tx_hash) == ("0x" + theirs.raw_transaction.hex(), "0x" + theirs.hash.hex())


@given(r=st.integers(1, ORDER - 1), s=st.integers(1, ORDER - 1))
def test_every_pair_of_integers_is_read_from_der(r: int, s: int) -> None:
    assert integers_of(der(r, s)) == (r, s)


GOOD = der(2**255 + 1, 5)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\x30",
        GOOD[:-1],
        GOOD + b"\0",
        b"\x31" + GOOD[1:],
        der(1),
        der(1, 2, 3),
        der(0, 5),
        der(5, 0),
        der(ORDER, 5),
        der(5, ORDER),
        bytes([0x30, 6, 3, 1, 5, 2, 1, 5]),
        bytes([0x30, 6, 2, 1, 0xFB, 2, 1, 5]),  # negative
        bytes([0x30, 5, 2, 0, 2, 1, 5]),
        bytes([0x30, 6, 2, 9, 5, 2, 1, 5]),
        bytes([0x30, 6, 2, 1, 5, 2, 2, 5]),
        bytes([0x30, 4, 2, 1, 5, 2]),
    ],
)
def test_other_bytes_are_no_signature(broken: bytes) -> None:
    with pytest.raises(ValueError, match="a signature of KMS"):
        integers_of(broken)


def test_a_signature_by_another_key_is_noticed() -> None:
    known, other = KnownKey(), KnownKey(b"\x08" * 32)
    signer = KmsSigner(known)  # type: ignore[arg-type]
    signer._keys = other  # type: ignore[assignment]
    assert signer.address == other.account.address
    known_signer = KmsSigner(known)  # type: ignore[arg-type]
    assert known_signer.address == known.account.address
    known_signer._keys = other  # type: ignore[assignment]
    with pytest.raises(ValueError, match="another key than that of the address"):
        known_signer.sign(bytes(32))


def test_a_public_key_of_another_kind_is_refused() -> None:
    known = KnownKey()
    known.public_key = known.public_key[:-65] + b"\x02" + known.public_key[-64:]
    with pytest.raises(ValueError, match="ECC_SECG_P256K1"):
        _ = KmsSigner(known).address  # type: ignore[arg-type]


