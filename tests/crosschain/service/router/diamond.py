"""Calls of LI.FI's diamond, written by eth_abi with the types of the deployed contract."""

from dataclasses import dataclass, field, replace
from typing import Any

from eth_abi import encode
from eth_utils import keccak

from chalicelib.chains.calldata.bridges.across import Deposit
from chalicelib.chains.catalogue.contracts import LIFI_DIAMOND, LIFI_RECEIVER, address_of
from chalicelib.platform.outbound.lifi import QuoteCall
from tests.fakes.router import answer_of, deposit_of

BRIDGE = "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool)"
SWAPS = "(address,address,address,address,uint256,bytes,bool)[]"
ACROSS = "(bytes32,bytes32,bytes32,uint256,uint128,bytes32,uint32,uint32,uint32,bytes)"
FEES = "(address,uint256)[]"
ID = bytes(range(32))
FORWARDER, TREASURY = "0xCE40449B773a3E6E5e769ADb4e567179d4828cbd", "0x2f7f1a1C392e58012B84cfA673df73101666314D"
ONE = 10**30


@dataclass(frozen=True)
class Call:
    """What a call of the diamond says. `fees` are (recipient, amount); without any it makes no swap."""

    deposit: Deposit
    fees: tuple[tuple[str, int], ...] = ()
    swap: dict[str, Any] = field(default_factory=dict)
    """Fields of the swap that are not what the fees say."""
    least: int | None = None
    multiplier: int = ONE
    has_swaps: bool | None = None
    has_call: bool = True
    more_swaps: int = 0

    @property
    def taken(self) -> int:
        return self.deposit.input_amount + sum(amount for _, amount in self.fees)


def data(call: Call) -> str:
    """The calldata."""
    deposit, least = call.deposit, call.deposit.input_amount if call.least is None else call.least
    has_swaps = bool(call.fees) if call.has_swaps is None else call.has_swaps
    bridge = (
        *(ID, "across", "payment-requests", TREASURY, deposit.input_token, deposit.depositor, least),
        *(deposit.destination_chain_id, has_swaps, call.has_call),
    )
    across = (
        *(word(deposit.recipient), word(deposit.depositor), word(deposit.output_token), deposit.output_amount),
        *(call.multiplier, word(deposit.exclusive_relayer), deposit.quote_timestamp, deposit.fill_deadline),
        *(deposit.exclusivity, deposit.message),
    )
    if not call.fees:
        return encoded("startBridgeTokensViaAcrossV4", [BRIDGE, ACROSS], [bridge, across])
    fees = encoded("forwardERC20Fees", ["address", FEES], [deposit.input_token, call.fees])
    swap = {
        "callTo": FORWARDER,
        "approveTo": FORWARDER,
        "sendingAssetId": deposit.input_token,
        "receivingAssetId": deposit.input_token,
        "fromAmount": call.taken,
        "callData": bytes.fromhex(fees[2:]),
        "requiresDeposit": True,
        **call.swap,
    }
    swaps = [tuple(swap.values())] * (1 + call.more_swaps)
    return encoded("swapAndStartBridgeTokensViaAcrossV4", [BRIDGE, SWAPS, ACROSS], [bridge, swaps, across])


def encoded(name: str, types: list[str], values: list[Any]) -> str:
    return "0x" + (keccak(text=f"{name}({','.join(types)})")[:4] + encode(types, values)).hex()


def word(address: str) -> bytes:
    return bytes(12) + bytes.fromhex(address[2:])


def message(token: str, target: str, calldata: str, amount: int, receiver: str, times: int = 1, spender: str = "") -> bytes:
    """What LI.FI's contract does on the other chain."""
    swap = (target, spender or target, token, token, amount, bytes.fromhex(calldata[2:]), True)
    return encode(["bytes32", SWAPS, "address"], [ID, [swap] * times, receiver])


def true_call(question: QuoteCall, now: int, fees: tuple[tuple[str, int], ...] = ()) -> Call:
    """The call of a true quote; what arrives is what the multiplier makes of what is deposited."""
    plain = deposit_of(question, now)
    deposit = replace(
        plain,
        recipient=receiver(question.to_chain),
        message=message(question.to_token, question.target, question.calldata, question.to_amount, question.fallback),
    )
    multiplier = -(-deposit.output_amount * ONE // deposit.input_amount) if fees else ONE
    return Call(deposit, fees, multiplier=multiplier)


def receiver(chain_id: int) -> str:
    return address_of(LIFI_RECEIVER, {42161: "arbitrum-one", 8453: "base", 56: "bsc"}[chain_id])


def answer(call: Call, question: QuoteCall) -> dict[str, Any]:
    """The answer of the router with such a call."""
    plain, diamond = answer_of(call.deposit, question), address_of(LIFI_DIAMOND, "mainnet")
    estimate = {**plain["estimate"], "approvalAddress": diamond, "fromAmount": str(call.taken)}
    return {
        **plain,
        "estimate": estimate,
        "transactionRequest": {**plain["transactionRequest"], "to": diamond, "data": data(call)},
    }
