"""Contract calls on Tron as Tron wallets sign them, by an encoder and a library independent of the service."""

import hashlib
import time
from dataclasses import replace
from typing import Any

from tronpy.keys import PrivateKey

from infra.local.tron_transactions import Call, Transaction, address21
from tests.fakes.wallets import TronWallet


def call_of(wallet: TronWallet, to: str, data: str, **changes: Any) -> Call:
    """Returns the wallet's call of {to, data}, valid for a minute."""
    now = int(time.time() * 1000)
    call = Call(
        owner=address21(wallet.address),
        contract=address21(to),
        data=bytes.fromhex(data.removeprefix("0x")),
        call_value=0,
        fee_limit=300_000_000,
        ref_block_bytes=bytes.fromhex("267e"),
        ref_block_hash=bytes.fromhex("9a447d222e8de9f2"),
        expiration=now + 60_000,
        timestamp=now,
    )
    return replace(call, **changes)


def signed_call(wallet: TronWallet, to: str, data: str, **changes: Any) -> dict[str, Any]:
    """Returns the signed transaction in tronweb's form; `changes` are fields of its call."""
    call = call_of(wallet, to, data, **changes)
    return Transaction(call, call.encode(), (sign_raw(wallet, call.encode()),)).json()


def signed_raw(wallet: TronWallet, raw: bytes) -> dict[str, Any]:
    """Returns a signed transaction of any raw bytes."""
    return {"raw_data_hex": raw.hex(), "signature": [sign_raw(wallet, raw).hex()], "raw_data": {"contract": [{}]}}


def sign_raw(wallet: TronWallet, raw: bytes) -> bytes:
    signature: bytes = PrivateKey(wallet.key).sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes()
    return signature
