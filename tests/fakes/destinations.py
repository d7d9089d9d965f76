"""Signing of payee destinations by wallets, with eth_account."""

from typing import Any

import base58
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.fakes.wallets import EvmWallet, TronWallet

USDC_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
USDT_BASE = "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2"
FUSDC_SEPOLIA = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
FUSDT_SEPOLIA = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"
USDT_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
BASE, SEPOLIA, TRON = 8453, 11155111, 728126428


def sign(wallet: EvmWallet | TronWallet, data: dict[str, Any]) -> str:
    """Returns the EIP-712 signature; for Tron TIP-712, which is the same with the 20 bytes of each base58 address."""
    message = {name: _hexadecimal(value) for name, value in data["message"].items()}
    signed = Account.sign_message(encode_typed_data(data["domain"], data["types"], message), wallet.key)
    return "0x" + signed.signature.hex().removeprefix("0x")


def _hexadecimal(value: Any) -> Any:
    is_tron = isinstance(value, str) and len(value) == 34 and value.startswith("T")
    return "0x" + base58.b58decode_check(value)[1:].hex() if is_tron else value
