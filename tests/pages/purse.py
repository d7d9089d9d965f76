"""The mind of a wallet in a page: answers by EIP-1193, signs with a key and sends to the chain, or does as it is told."""

import json
from collections.abc import Callable
from typing import Any

from eth_account import Account

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle
from infra.local.chain import Chain, RpcError
from infra.local.outsiders.tron_payer import TronwebPayer
from infra.local.safe import Safe, SafeTransaction
from infra.local.tron import TronNode
from tests.onchain.conftest import SAFE_OWNERS
from tests.support.patience import patience

REJECTS = {"error": {"code": 4001, "message": "User rejected the request."}}
BUSY = {"error": {"code": -32002, "message": "Already processing"}}
UNKNOWN_CHAIN = {"error": {"code": 4902, "message": "Unrecognized chain"}}
HANGS = {"hang": True}
OK = {"result": None}

Says = dict[str, Any] | Callable[..., dict[str, Any]]
"""An answer as it leaves the page, or what makes one from the parameters."""


class Purse:
    """Somebody's keys, with a million coins and of every token unless told else.

    `says` overrides the answer to a method; `asked` has every method that was asked for, `sent` the hashes.
    """

    how = "announced"

    def __init__(self, chain: Chain, name: str = "Test Wallet", whole: int = 10**6) -> None:
        self.chain, self.name, self._account = chain, name, Account.create()
        self.address: str = self._account.address
        self.private_key = bytes(self._account.key)
        self.key: str | None = None  # in the page; of Tron's alone
        self.says: dict[str, Says] = {}
        self.asked, self.sent, self.raw = list[str](), list[str](), list[str]()
        self.is_connected, self.chain_id = False, chain.chain_id
        if whole:
            chain.fund(self.address, whole)

    def answer(self, method: str, params: list[Any]) -> dict[str, Any]:
        self.asked.append(method)
        answered = self.says.get(method)
        if answered is not None:
            return answered(*params) if callable(answered) else answered
        try:
            return {"result": self._result(method, params)}
        except RpcError as error:
            return {"error": {"code": -32000, "message": str(error)}}

    def _result(self, method: str, params: list[Any]) -> Any:
        if method == "eth_requestAccounts":
            self.is_connected = True
        if method in ("eth_requestAccounts", "eth_accounts"):
            return [self.address] if self.is_connected else []
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "wallet_switchEthereumChain":
            self.chain_id = int(params[0]["chainId"], 16)
            return None
        if method == "eth_sendTransaction":
            return self.send(params[0])
        return self.chain.rpc(method, *params)

    def signs_typed_data(self) -> None:
        """By EIP-712, as texts or numbers."""

        def sign(address: str, text: str) -> dict[str, Any]:
            return {"result": Account.sign_typed_data(self.private_key, full_message=json.loads(text)).signature.to_0x_hex()}

        self.says["eth_signTypedData_v4"] = sign

    def sign_hash(self, digest: str) -> bytes:
        return bytes(Account.unsafe_sign_hash(digest, self.private_key).signature)

    def send(self, asked: dict[str, Any]) -> str:
        """Signs what was asked for and broadcasts it; the hash."""
        assert asked["from"].lower() == self.address.lower()
        call = {name: asked[name] for name in ("from", "to", "data", "value")}
        nonce, gas, price = self.chain.batch(
            [("eth_getTransactionCount", self.address, "pending"), ("eth_estimateGas", call), ("eth_gasPrice",)]
        )
        fees = {"maxFeePerGas": 2 * int(price, 16), "maxPriorityFeePerGas": min(int(price, 16), 10**9)}
        filled = {"to": bytes.fromhex(asked["to"][2:]), "data": asked["data"], "value": int(asked["value"], 16), **fees}
        filled |= {"nonce": int(nonce, 16), "gas": int(gas, 16) * 6 // 5, "chainId": self.chain.chain_id}
        self.raw.append("0x" + bytes(self._account.sign_transaction(filled).raw_transaction).hex())
        self.sent.append(self.chain.rpc("eth_sendRawTransaction", self.raw[-1]))
        return self.sent[-1]


class TronPurse(Purse):
    """Builds and signs in the page, with npm tronweb; its requests to the node leave the page here."""

    how = "tron"

    def __init__(self, node: TronNode, name: str = "Tron Wallet") -> None:
        super().__init__(node.chain, name, whole=0)
        self._node, self.key = node, bytes(self._account.key).hex()
        self.address = TronwebPayer(node.url, self.key).address
        node.chain.fund(self.address, 10**6)

    def _result(self, method: str, params: list[Any]) -> Any:
        if method == "node":
            import requests

            path, payload, verb = params
            return requests.request(verb, f"{self._node.url}/{path}", json=payload, timeout=patience()).json()
        return super()._result(method, params)


class SafePurse(Purse):
    """Safe's app around the page, for a Safe whose owners sign when the test says so."""

    how = "framing"

    def __init__(self, chain: Chain, keys: tuple[str, ...] = SAFE_OWNERS) -> None:
        super().__init__(chain, "Safe", whole=0)
        self.safe = Safe.deploy(chain, keys)
        self.address = self.safe.address
        chain.fund(self.address, 10**6)
        self.proposed: list[SafeTransaction] = []

    def _result(self, method: str, params: list[Any]) -> Any:
        if method == "getSafeInfo":
            return {"safeAddress": self.address, "chainId": self.chain_id, "threshold": 2, "owners": []}
        if method == "sendTransactions":
            calls = tuple(Transaction(each["to"], each["data"], int(each["value"])) for each in params[0]["txs"])
            self.proposed.append(self.safe.transaction(vars(bundle(self.chain.network, calls))))
            return {"safeTxHash": self.safe.hash(self.proposed[-1])}
        assert method == "rpcCall"
        return self.chain.rpc(params[0]["call"], *params[0]["params"])


# Speaks the protocol of the Safe Apps SDK with the page that it frames.
FRAMING_PAGE = """<!doctype html><title>Safe</title><script>
addEventListener("message", async ({ source, origin, data: { id, method, params } }) => {
  if (!method) return;
  const { result, error, again } = await askWallet("Safe", method, [params]);
  const answer = error ? { success: false, error: error.message } : { success: true, data: result };
  source.postMessage({ id, version: "9.1.0", ...answer }, origin);
  if (again) source.postMessage({ id, version: "9.1.0", success: true, data: again }, origin);
});
</script><iframe src="PAGE" width="800" height="900"></iframe>"""
