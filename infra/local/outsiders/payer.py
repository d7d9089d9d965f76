"""A payer with a private key and a node, who signs and broadcasts given transactions; independent of the service."""

import time
from typing import Any

import requests
from eth_account import Account

RECEIPT_SECONDS = 60
GAS_MARGIN_PERCENT = 20
TIP_WEI = 10**9


class Payer:
    def __init__(self, rpc_url: str, private_key: str) -> None:
        self._account = Account.from_key(private_key)
        self.address: str = self._account.address
        self._rpc_url, self._node = rpc_url, requests.Session()
        self._node.trust_env = False  # the node is on this machine: no proxy

    def pay(self, transaction: dict[str, Any]) -> dict[str, Any]:
        """Sends `{to, data, value}` as an EIP-1559 transaction with estimated gas; returns the receipt.

        Raises RuntimeError if the node refuses it, if it reverts, or if it is not mined in time.
        """
        base_fee = int(self.rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
        call = {"from": self.address, **{name: transaction[name] for name in ("to", "data", "value")}}
        call["value"] = hex(_number(call["value"]))
        gas = int(self.rpc("eth_estimateGas", call), 16)
        signed = self._account.sign_transaction(
            {
                "type": 2,
                "chainId": self.chain_id(),
                "nonce": int(self.rpc("eth_getTransactionCount", self.address, "pending"), 16),
                "to": bytes.fromhex(transaction["to"][2:]),
                "data": transaction["data"],
                "value": _number(transaction["value"]),
                "gas": gas + gas * GAS_MARGIN_PERCENT // 100,
                "maxFeePerGas": 2 * base_fee + TIP_WEI,
                "maxPriorityFeePerGas": TIP_WEI,
            }
        )
        receipt = self._receipt(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))
        if receipt["status"] != "0x1":
            raise RuntimeError(f"transaction {receipt['transactionHash']} reverted")
        return receipt

    def sign_permit(self, typed: dict[str, Any]) -> str:
        """Signs `{domain, types, values}` by EIP-712; returns 0x hex."""
        (members,) = typed["types"].values()
        values = {
            each["name"]: int(typed["values"][each["name"]]) if each["type"].startswith("uint") else
            typed["values"][each["name"]]
            for each in members
        }
        signed = Account.sign_typed_data(self._account.key, typed["domain"], typed["types"], values)
        return "0x" + bytes(signed.signature).hex()

    def chain_id(self) -> int:
        return int(self.rpc("eth_chainId"), 16)

    def balance(self, token: str | None, holder: str) -> int:
        """Returns the balance of a token or of the native coin in base units."""
        if token is None:
            return int(self.rpc("eth_getBalance", holder, "latest"), 16)
        data = "0x70a08231" + holder[2:].lower().rjust(64, "0")  # balanceOf(address)
        return int(self.rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = self._node.post(self._rpc_url, json=body, timeout=30).json()
        if "error" in response:
            raise RuntimeError(f"{method}: {response['error'].get('message', response['error'])}")
        return response["result"]

    def _receipt(self, transaction_hash: str) -> dict[str, Any]:
        deadline = time.monotonic() + RECEIPT_SECONDS
        while time.monotonic() < deadline:
            receipt: dict[str, Any] | None = self.rpc("eth_getTransactionReceipt", transaction_hash)
            if receipt is not None:
                return receipt
            time.sleep(0.1)
        raise RuntimeError(f"no block took {transaction_hash} within {RECEIPT_SECONDS} s")


def _number(value: Any) -> int:
    """Returns a transaction's value, 0, hex text or an ethers BigNumber, as an int."""
    value = value["hex"] if isinstance(value, dict) else value
    return int(value, 16) if isinstance(value, str) else int(value)
