"""Somebody on base who pays somebody on arbitrum-one by what npm @lifi/sdk is given: quotes, transactions, statuses."""

from typing import Any

from eth_abi import encode
from eth_account import Account
from eth_utils import keccak

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from infra.local.across import Bridge
from tests.oracles.node import ask_router

PAYEE, FEE_ADDRESS = "0x" + "22" * 20, "0x" + "33" * 20
AMOUNT, FEE = 1_000_000, 10_000
REFERENCE = bytes.fromhex("0011223344556677")
PAYMENT_TOPIC = "0x9f16cbcc523c67a60c450e5ffe4f3b7b6dbe772e7abcadb2686ce029a9a0a2b6"
_PAYMENT = ["address", "address", "uint256", "bytes", "uint256", "address"]


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


HERE, THERE = token("USDC-base"), token("USDC-arbitrum-one")


class BridgePayer:
    """Has a million coins and a million of every token on both chains."""

    def __init__(self, bridge: Bridge, url: str) -> None:
        account = Account.create()
        self.address, self.key, self.bridge, self.url = account.address, account.key.hex(), bridge, url
        self.here, self.there = bridge.chains["base"], bridge.chains["arbitrum-one"]
        for chain in bridge.chains.values():
            chain.fund(self.address, 10**6)

    def ask(self, what: str, parameters: dict[str, Any] | None = None, **more: Any) -> Any:
        """The answer of a method of the SDK."""
        [answer] = ask_router([{"ask": what, "url": self.url, "parameters": parameters or {}, **more}])
        return answer

    def quote(self, amount: int = AMOUNT, **more: Any) -> Any:
        """The step for a payment of `amount` and the fee to the payee, who gets it from the fee proxy."""
        return self.ask("quote", self.wanted(amount, **more))

    def wanted(self, amount: int = AMOUNT, **more: Any) -> dict[str, Any]:
        proxy, total = address_of(ERC20_FEE_PROXY, "arbitrum-one"), str(amount + FEE)
        values = [THERE.address, PAYEE, amount, REFERENCE, FEE, FEE_ADDRESS]
        call = {
            "fromAmount": total,
            "fromTokenAddress": THERE.address,
            "toContractAddress": proxy,
            "toContractCallData": "0xc219a14d" + encode(_PAYMENT, values).hex(),
            "toContractGasLimit": "200000",
        }
        ends = {"fromChain": 8453, "fromToken": HERE.address, "toChain": 42161, "toToken": THERE.address}
        asked = {**ends, "fromAddress": self.address, "toAmount": total, "contractCalls": [call]}
        return {**asked, "toFallbackAddress": self.address, **more}

    def send(self, step: Any) -> dict[str, Any]:
        """Approves what the step wants approved, and sends its transaction; returns the receipt."""
        spender, amount = step["estimate"]["approvalAddress"], int(step["estimate"]["fromAmount"])
        approval = "0x095ea7b3" + encode(["address", "uint256"], [spender, amount]).hex()
        approved = self.here.send({"to": HERE.address, "data": approval}, self.key)
        assert approved["status"] == "0x1"
        transaction = {name: step["transactionRequest"][name] for name in ("to", "data", "value")}
        return self.here.send({**transaction, "gas": int(step["transactionRequest"]["gasLimit"], 16)}, self.key)

    def status(self, receipt: dict[str, Any]) -> tuple[str, str | None]:
        """What the router says of a transaction: status and substatus."""
        answer = self.ask("status", {"txHash": receipt["transactionHash"], "bridge": "across", "fromChain": 8453})
        return answer["status"], answer.get("substatus")

    def payments(self) -> list[dict[str, Any]]:
        """The events of payments with our reference at the destination's fee proxy."""
        topics = [PAYMENT_TOPIC, "0x" + keccak(REFERENCE).hex()]
        query = {"address": address_of(ERC20_FEE_PROXY, "arbitrum-one"), "topics": topics, "fromBlock": "0x0"}
        return list(self.there.rpc("eth_getLogs", query))
