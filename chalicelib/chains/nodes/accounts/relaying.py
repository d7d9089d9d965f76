"""What sending transactions of the service's own account needs from a node: its state, dry runs, sending, receipts."""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts.simulation import call_of, estimate_of, step_of_call
from chalicelib.chains.nodes.history.blocks import check_chain_id
from chalicelib.chains.nodes.readings import AccountReading, Receipt, StepResult
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import (
    JsonRpcClient,
    RpcCall,
    RpcError,
    raise_first_error,
    unavailable_if_malformed,
)
from chalicelib.chains.nodes.rpc.receipts import find_receipts

_UINT256 = 2**256
_HIGHEST_PRICE = 2**96
UNKNOWN = "the node did not say whether the call succeeds"


@unavailable_if_malformed
def read_account(node: JsonRpcClient, address: str) -> AccountReading:
    """The state of an account, and the prices of gas. One request. Raises ChainUnavailable, also for another chain."""
    calls: list[RpcCall] = [
        ("eth_chainId", []),
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_getTransactionCount", [address, "latest"]),
        ("eth_getBalance", [address, "latest"]),
        ("eth_gasPrice", []),
        ("eth_maxPriorityFeePerGas", []),
    ]
    *required, tip = node.outcomes(calls)
    raise_first_error(required)
    chain_id, block, nonce, balance, gas_price = required
    check_chain_id(node.network, chain_id)
    base_fee = quantity(block.get("baseFeePerGas") or "0x0", _HIGHEST_PRICE)
    if isinstance(tip, RpcError):  # a node without the method; its gas price is base fee and tip
        tip = hex(max(quantity(gas_price, _HIGHEST_PRICE) - base_fee, 0))
    return AccountReading(
        head=quantity(block["number"]),
        nonce=quantity(nonce),
        balance=BaseUnits(quantity(balance, _UINT256)),
        base_fee=BaseUnits(base_fee),
        tip=BaseUnits(quantity(tip, _HIGHEST_PRICE)),
    )


@unavailable_if_malformed
def run_each(node: JsonRpcClient, sender: str, wanted: Sequence[tuple[Transaction, int]]) -> tuple[StepResult, ...]:
    """Runs transactions, each alone on the newest state and with the most gas that it may take. One request.

    Where the node does not answer for all of them, each is run in a request of its own: one that the node cannot run
    has the result None, and holds up no other.
    """
    try:
        return _run(node, sender, wanted)
    except ChainUnavailable:
        if len(wanted) == 1:
            raise
    steps: list[StepResult] = []
    for each in wanted:
        try:
            steps += _run(node, sender, [each])
        except ChainUnavailable:
            steps.append(StepResult(None, UNKNOWN))
    if all(step.success is None for step in steps):
        raise ChainUnavailable(f"The {node.network} node does not answer")
    return tuple(steps)


@unavailable_if_malformed
def run_as_sent(node: JsonRpcClient, sender: str, each: Transaction, gas: int, max_fee: int, tip: int) -> StepResult:
    """Runs a transaction as it is sent, with its gas limit and price: the contract sees those that a block has.

    Its gas is the limit: code that tells a dry run from a block is not estimated.
    """
    method, [fields, block] = call_of(sender, each, gas)
    priced = {**fields, "maxFeePerGas": hex(max_fee), "maxPriorityFeePerGas": hex(min(tip, max_fee))}
    return step_of_call(node.outcomes([(method, [priced, block])])[0], hex(gas))


def _run(node: JsonRpcClient, sender: str, wanted: Sequence[tuple[Transaction, int]]) -> tuple[StepResult, ...]:
    calls = [call for each, gas in wanted for call in (call_of(sender, each, gas), estimate_of(sender, each, gas))]
    outcomes = node.outcomes(calls)
    return tuple(step_of_call(*pair) for pair in zip(outcomes[::2], outcomes[1::2], strict=True))


def send_raw(node: JsonRpcClient, signed: Sequence[str]) -> tuple[str | None, ...]:
    """Sends signed transactions (0x hex) in one request; returns what the node says against each, None if nothing.

    An answer proves nothing: the node may have a transaction that it refuses (as known, or after an error), and forget
    one that it took. Raises ChainUnavailable if there is no answer.
    """
    outcomes = node.outcomes([("eth_sendRawTransaction", [raw]) for raw in signed])
    return tuple(outcome.reason if isinstance(outcome, RpcError) else None for outcome in outcomes)


@unavailable_if_malformed
def receipts_of(node: JsonRpcClient, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
    """The receipts of those transactions that are in a block, by their hashes. One request. Raises ChainUnavailable if
    the node does not say of one of them."""
    found = find_receipts(node, tx_hashes)
    return {each: receipt_from(each, receipt) for each in tx_hashes if (receipt := found[each])}


@unavailable_if_malformed
def replay_transaction(node: JsonRpcClient, sender: str, each: Transaction, gas: int, block: int) -> StepResult:
    """The result of a transaction on the state before a block, which tells why one in that block failed, if nothing
    before it in the block matters. The result is None if the node no longer has that state."""
    try:
        return step_of_call(node.outcomes([call_of(sender, each, gas, hex(block - 1))])[0], None)
    except ChainUnavailable:
        return StepResult(None)


def receipt_from(tx_hash: str, receipt: Mapping[str, Any]) -> Receipt:
    """A receipt of the node's JSON."""
    price = quantity(receipt.get("effectiveGasPrice") or "0x0", _HIGHEST_PRICE)
    return Receipt(
        tx_hash=tx_hash,
        block_number=quantity(receipt["blockNumber"]),
        block_hash=hash_of(receipt["blockHash"]),
        success=quantity(receipt["status"]) == 1,
        cost=BaseUnits(quantity(receipt["gasUsed"]) * price),
    )
