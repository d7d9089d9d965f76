"""Wallets that sign messages with libraries independent of the service: eth_account, and coincurve for Tron."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from coincurve import PrivateKey
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils import keccak
from tronpy.keys import PrivateKey as TronKey

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass(frozen=True)
class EvmWallet:
    """An externally owned account that signs with personal_sign."""

    key: bytes

    @property
    def address(self) -> str:
        return _evm_address(self.key)

    def sign(self, message: str) -> str:
        return "0x" + Account.sign_message(encode_defunct(text=message), self.key).signature.hex().removeprefix("0x")

    def sign_typed(self, typed: Mapping[str, Any]) -> str:
        """Signs `{domain, types, values}`; texts of numbers become numbers, as wallets read them."""
        (members,) = typed["types"].values()
        values = {
            each["name"]: int(value) if each["type"].startswith("uint") else value
            for each in members
            for value in [typed["values"][each["name"]]]
        }
        signed = Account.sign_typed_data(self.key, dict(typed["domain"]), dict(typed["types"]), values)
        return "0x" + signed.signature.hex().removeprefix("0x")


@dataclass(frozen=True)
class TronWallet:
    """A Tron wallet that signs like TronWeb's signMessageV2, or with `sign_v1` like its older trx.sign."""

    key: bytes

    @property
    def address(self) -> str:
        return str(TronKey(self.key).public_key.to_base58check_address())

    def sign(self, message: str) -> str:
        return self._sign(f"\x19TRON Signed Message:\n{len(message.encode())}".encode() + message.encode())

    def sign_v1(self, message: str) -> str:
        """TronWeb's trx.sign of a text: it takes a hex text, and always counts 32 bytes."""
        return self._sign(b"\x19TRON Signed Message:\n32" + keccak(message.encode()))

    def _sign(self, preimage: bytes) -> str:
        raw = PrivateKey(self.key).sign_recoverable(keccak(preimage), hasher=None)
        return "0x" + (raw[:64] + bytes([27 + raw[64]])).hex()


@cache
def _evm_address(key: bytes) -> str:
    return str(Account.from_key(key).address)


def evm_wallet(name: str = "wallet") -> EvmWallet:
    return EvmWallet(hashlib.sha256(f"evm/{name}".encode()).digest())


def tron_wallet(name: str = "wallet") -> TronWallet:
    return TronWallet(hashlib.sha256(f"tron/{name}".encode()).digest())


def high_s(signature: str) -> str:
    """Returns the other signature that recovers to the same key: s replaced by the curve's order minus s, v flipped."""
    raw = bytes.fromhex(signature[2:])
    s = _ORDER - int.from_bytes(raw[32:64], "big")
    return "0x" + (raw[:32] + s.to_bytes(32, "big") + bytes([55 - raw[64]])).hex()


def with_v(signature: str, v: int) -> str:
    return signature[:-2] + f"{v:02x}"
