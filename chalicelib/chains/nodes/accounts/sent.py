"""Reads a transaction that somebody sent: of a block, or one that waits for a block."""

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address
from chalicelib.chains.calldata.transaction import PaidEvent, SentTransaction
from chalicelib.chains.nodes.bridges.deposits import deposits_in
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, unavailable_if_malformed


@unavailable_if_malformed
def read_sent_transaction(node: JsonRpcClient, tx_hash: str) -> SentTransaction | None:
    """The transaction with a hash (0x and 64 lower-case digits); None if the node does not have it. One request."""
    calls = ("eth_getTransactionByHash", "eth_getTransactionReceipt")
    transaction, receipt = node.results([(method, [tx_hash]) for method in calls])
    if transaction is None:
        if receipt is not None:
            raise InconsistentNode(node.network, "it has the receipt of a transaction, but not the transaction")
        return None
    for each in (transaction["hash"], receipt["transactionHash"] if receipt else tx_hash):
        if hash_of(each) != tx_hash:
            raise InconsistentNode(node.network, "it gave another transaction than the requested one")
    data = transaction["input"]
    bytes.fromhex(data.removeprefix("0x"))
    return SentTransaction(
        sender=_address(transaction["from"]),
        to=_address(transaction["to"]) if transaction.get("to") else None,
        data=data,
        nonce=quantity(transaction["nonce"]),
        block=quantity(receipt["blockNumber"]) if receipt else None,
        success=quantity(receipt["status"]) == 1 if receipt else None,
        paid=_paid_events(node.network, receipt["logs"]) if receipt else (),
        block_hash=hash_of(receipt["blockHash"]) if receipt else None,
        deposits=deposits_in(node.network, receipt["logs"]) if receipt else (),
    )


@unavailable_if_malformed
def transaction_count(node: JsonRpcClient, address: str, block: int) -> int:
    """The nonce of an address's next transaction after a block: the number of transactions it had sent."""
    return quantity(node.call("eth_getTransactionCount", address, hex(block)))


def _address(text: str) -> str:
    """An address in EIP-55. Raises ValueError for another text."""
    return evm_address("0x" + address_bytes("0x" + text.removeprefix("0x")).hex())


def _paid_events(network: str, logs: Iterable[Mapping[str, Any]]) -> tuple[PaidEvent, ...]:
    found = transfers_of(network, logs)
    return tuple(PaidEvent(each.reference_topic, each.token_address, each.payee) for each in found)
