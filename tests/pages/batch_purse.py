"""Wallets that make several calls at once (EIP-5792), on the real chain: delegated accounts (EIP-7702), Safes, and liars."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle
from infra.local.chain import Chain
from infra.local.safe import MULTI_SEND_CALL_ONLY, Safe, install_safe
from tests.onchain.conftest import SAFE_OWNERS
from tests.pages.purse import Purse

CAPABILITIES, CALLS, STATUS = "wallet_getCapabilities", "wallet_sendCalls", "wallet_getCallsStatus"


def refuses(code: int, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


class BatchPurse(Purse):
    """An account that makes calls at once by a delegation to MultiSendCallOnly, as MetaMask's make them by their own.

    It answers a batch with an id of its own, whatever id it is given, unless it `honours` that. `upgrade` is what it says
    before its account is delegated: `ready`, or `supported` if it is from the beginning.
    """

    honours = False

    def __init__(self, chain: Chain, upgrade: str = "supported", name: str = "Batch Wallet", whole: int = 10**6) -> None:
        super().__init__(chain, name, whole)
        install_safe(chain)
        self.upgrade = upgrade
        self.batches = list[dict[str, Any]]()
        self.made = dict[str, str | None]()
        """The transaction of each batch by its id; None for one that is not sent."""
        if upgrade == "supported":
            self._delegate([])

    @property
    def is_delegated(self) -> bool:
        return bool(self.chain.rpc("eth_getCode", self.address, "latest") != "0x")

    def capabilities(self) -> dict[str, Any]:
        status = "supported" if self.is_delegated else self.upgrade
        return {hex(self.chain_id): {"atomic": {"status": status}}}

    def _result(self, method: str, params: list[Any]) -> Any:
        if method == CAPABILITIES:
            return self.capabilities()
        if method == CALLS:
            return self.make(params[0])
        if method == STATUS:
            return self.status(params[0])
        return super()._result(method, params)

    def make(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Makes a batch as it was asked for, and answers its id."""
        self.check(asked)
        self.batches.append(asked)
        name = str(asked["id"]) if self.honours else "0x" + secrets.token_hex(16)
        self.made[name] = self.execute(asked["calls"])
        return {"id": name}

    def check(self, asked: dict[str, Any]) -> None:
        """As EIP-5792 has it, and MetaMask demands it."""
        assert asked["version"] == "2.0.0" and asked["atomicRequired"] is True
        assert asked["chainId"] == hex(self.chain_id) and asked["from"].lower() == self.address.lower()
        assert len(asked["calls"]) > 1 and int(asked["id"], 16) >= 0 and len(asked["id"]) == 66
        assert all(each.keys() == {"to", "data", "value"} for each in asked["calls"])

    def execute(self, calls: Sequence[dict[str, Any]]) -> str:
        return self._delegate(calls)

    def _delegate(self, calls: Sequence[dict[str, Any]]) -> str:
        """One transaction of the account to itself, with a delegation before the first."""
        made = tuple(Transaction(each["to"], each["data"], int(each["value"], 16)) for each in calls)
        data = vars(bundle(self.chain.network, made))["data"] if made else "0x"
        nonce = int(self.chain.rpc("eth_getTransactionCount", self.address, "pending"), 16)
        terms = {"to": self.address, "data": data, "value": 0, "nonce": nonce, "gas": 2_000_000, "chainId": self.chain.chain_id}
        terms |= {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9}
        if not self.is_delegated:
            terms["authorizationList"] = [
                self._account.sign_authorization(
                    {"chainId": self.chain.chain_id, "address": MULTI_SEND_CALL_ONLY, "nonce": nonce + 1}
                )
            ]
        raw = self._account.sign_transaction(terms).raw_transaction
        sent = str(self.chain.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex()))
        if made:
            self.sent.append(sent)
        return sent

    def status(self, name: str) -> dict[str, Any]:
        if name not in self.made:
            raise Unknown
        sent = self.made[name]
        receipt = self.chain.rpc("eth_getTransactionReceipt", sent) if sent else None
        if receipt is None:
            return self.shown(name, 100)
        return self.shown(name, 200 if receipt["status"] == "0x1" else 500, receipt)

    def shown(self, name: str, status: int | str, *receipts: dict[str, Any]) -> dict[str, Any]:
        facts = ("logs", "status", "blockHash", "blockNumber", "gasUsed", "transactionHash")
        shown = [{fact: each[fact] for fact in facts} for each in receipts]
        found = {"version": "2.0.0", "id": name, "chainId": hex(self.chain_id), "status": status, "atomic": True}
        return {**found, "receipts": shown} if shown else found

    def answer(self, method: str, params: list[Any]) -> dict[str, Any]:
        try:
            return super().answer(method, params)
        except Unknown:
            return refuses(5730, "No matching bundle found")


class Unknown(Exception):
    """The wallet does not know an id."""


class SafeBatchPurse(BatchPurse):
    """A Safe whose app answers as a wallet in the page: with the hash of its transaction, and a receipt for each call.

    `is_old`: as it answered until 2025, without the word atomic.
    """

    def __init__(self, chain: Chain, *, is_old: bool = False, inner_failure: bool = False) -> None:
        Purse.__init__(self, chain, "Safe in a page", whole=0)
        self.safe = Safe.deploy(chain, SAFE_OWNERS, salt=secrets.randbits(64))
        self.address, self.is_old, self.inner_failure = self.safe.address, is_old, inner_failure
        self.batches, self.made, self._counts = [], {}, dict[str, int]()
        chain.fund(self.address, 10**6)

    def capabilities(self) -> dict[str, Any]:
        old = {"atomicBatch": {"supported": True}}
        new = {} if self.is_old else {"atomic": {"status": "supported"}}
        return {hex(self.chain_id).replace("0x", "0x0"): {**new, **old}}

    def make(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.check(asked)
        self.batches.append(asked)
        calls = asked["calls"][1:] * 2 if self.inner_failure else asked["calls"]  # without its approval it fails inside
        made = tuple(Transaction(each["to"], each["data"], int(each["value"], 16)) for each in calls)
        terms = vars(bundle(self.chain.network, made))
        proposed = self.safe.transaction(terms, safe_tx_gas=500_000 if self.inner_failure else 0)
        name = self.safe.hash(proposed)
        receipt = self.safe.execute(proposed)
        self.made[name], self._counts[name] = receipt["transactionHash"], len(made)
        self.sent.append(receipt["transactionHash"])
        return {"id": name}

    def shown(self, name: str, status: int | str, *receipts: dict[str, Any]) -> dict[str, Any]:
        return super().shown(name, status, *(receipts * self._counts[name]))


class LyingPurse(BatchPurse):
    """Says of each batch what `lie` makes of it, and sends it first if `sends`."""

    def __init__(self, chain: Chain, lie: Callable[[str | None], dict[str, Any]], *, sends: bool) -> None:
        super().__init__(chain, "supported")
        self.lie, self.sends = lie, sends

    def execute(self, calls: Sequence[dict[str, Any]]) -> str:
        return super().execute(calls) if self.sends else ""

    def status(self, name: str) -> dict[str, Any]:
        return {**self.shown(name, 200), **self.lie(self.made[name])}

