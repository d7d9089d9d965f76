"""Payers on Tron with the libraries that Tron wallets and servers use: npm tronweb and tronpy.

Both sign given `{to, data, value, feeLimit}` and wait for each block; they use nothing but a node's URL.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tronpy import Tron
from tronpy.keys import PrivateKey
from tronpy.providers import HTTPProvider

FEE_LIMIT = 300_000_000
"""Sun, for transactions without a feeLimit."""
_HERE = Path(__file__).resolve().parent
_POLL_SECONDS, _PATIENCE_SECONDS = 0.2, 60


class TronpyPayer:
    def __init__(self, url: str, private_key: str) -> None:
        self._key = PrivateKey(bytes.fromhex(private_key.removeprefix("0x")))
        self.address: str = self._key.public_key.to_base58check_address()
        self.client = Tron(HTTPProvider(url, timeout=_PATIENCE_SECONDS))
        self.client.provider.sess.trust_env = False  # the node is on this machine: no proxy

    def pay(self, transactions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Pays; returns the node's info of each transaction. Raises RuntimeError if one is refused or reverts."""
        return [self._pay(transaction) for transaction in transactions]

    def balance(self, token: str | None, holder: str) -> int:
        """Returns the balance of a token or of TRX in base units."""
        if token is None:
            return int(self.client.get_account_balance(holder) * 10**6)
        word = Tron.to_hex_address(holder)[2:].rjust(64, "0")
        result = self.client.trigger_constant_contract(self.address, token, "balanceOf(address)", word)
        return int(result["constant_result"][0], 16)

    def send_trx(self, recipient: str, sun: int) -> dict[str, Any]:
        """Sends TRX, and creates the recipient's account if it is none; as `pay`."""
        sent = self.client.trx.transfer(self.address, recipient, sun).build().sign(self._key).broadcast()
        return dict(sent.wait(timeout=_PATIENCE_SECONDS, interval=_POLL_SECONDS))

    def build(self, transaction: dict[str, Any]) -> Any:
        """Returns tronpy's unsigned transaction."""
        call = {
            "owner_address": self._key.public_key.to_hex_address(),
            "contract_address": Tron.to_hex_address(transaction["to"]),
            "data": transaction["data"].removeprefix("0x"),
            "call_value": int(transaction["value"]),
        }
        builder = self.client.trx._build_transaction("TriggerSmartContract", call)
        return builder.fee_limit(transaction.get("feeLimit", FEE_LIMIT)).build()

    def _pay(self, transaction: dict[str, Any]) -> dict[str, Any]:
        sent = self.build(transaction).sign(self._key).broadcast()
        return _successful(sent.wait(timeout=_PATIENCE_SECONDS, interval=_POLL_SECONDS))


class TronwebPayer:
    """Pays with Node.js and the packages in infra/local/node_modules."""

    def __init__(self, url: str, private_key: str) -> None:
        self._url, self._key = url, private_key.removeprefix("0x")
        self.address: str = PrivateKey(bytes.fromhex(self._key)).public_key.to_base58check_address()

    def pay(self, transactions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Does the same as TronpyPayer.pay, in one process for all transactions."""
        options = {"url": self._url, "privateKey": self._key, "feeLimit": FEE_LIMIT, "transactions": list(transactions)}
        node = shutil.which("node") or str(_HERE.parents[2] / ".venv" / "bin" / "node")
        ran = subprocess.run(
            [node, str(_HERE / "tronweb_payer.js")],
            input=json.dumps(options),
            env={**os.environ, "NODE_PATH": str(_HERE.parent / "node_modules"), "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=180,
        )
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr.strip())
        return [_successful(info) for info in json.loads(ran.stdout)]


def fresh_tron_address() -> str:
    """Returns a new address without balances."""
    return str(PrivateKey.random().public_key.to_base58check_address())


def _successful(info: dict[str, Any]) -> dict[str, Any]:
    if info["receipt"].get("result") != "SUCCESS":
        raise RuntimeError(f"transaction {info['id']}: {info['receipt'].get('result')}")
    return info
