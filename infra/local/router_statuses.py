"""What the local router says of a transfer: read from the chains that it is between."""

from collections.abc import Mapping
from typing import Any

from infra.local.across import Bridge, Deposited


def status_of(bridge: Bridge, hash_: str) -> dict[str, Any]:
    """Returns the body of GET /v1/status for a transaction on any of the chains."""
    for network, chain in bridge.chains.items():
        transaction = chain.rpc("eth_getTransactionByHash", hash_)
        if transaction is not None:
            return _answer_found(bridge, network, transaction)
    return {"status": "NOT_FOUND"}


def _answer_found(bridge: Bridge, network: str, transaction: Mapping[str, Any]) -> dict[str, Any]:
    chain, hash_ = bridge.chains[network], str(transaction["hash"])
    sending = {"txHash": hash_, "txLink": "", "chainId": chain.chain_id}
    common = {"tool": "across", "transactionId": hash_, "fromAddress": transaction["from"], "sending": sending}
    receipt = chain.rpc("eth_getTransactionReceipt", hash_)
    if receipt is None:  # anvil shows a transaction as pending for a moment after its receipt is there
        return {**common, "status": "PENDING", "substatus": "WAIT_SOURCE_CONFIRMATIONS"}
    if receipt["status"] != "0x1":
        return {**common, "status": "FAILED", "substatus": "UNKNOWN_FAILED_ERROR"}
    deposits = bridge.deposits_of(network, hash_)
    return {**common, **(_follow_deposit(bridge, deposits[0], sending) if deposits else {"status": "INVALID"})}


def _follow_deposit(bridge: Bridge, deposited: Deposited, sending: Mapping[str, Any]) -> dict[str, Any]:
    """What became of a deposit; a transaction with several is taken for its first one."""
    outcome, there = bridge.outcome(deposited), {"chainId": deposited.destination}
    if outcome.filled:
        substatus = "PARTIAL" if outcome.has_failed_calls else "COMPLETED"
        receiving = {**there, "txHash": outcome.filled, "txLink": ""}
        return {"status": "DONE", "substatus": substatus, "receiving": receiving}
    if outcome.refunded:
        receiving = {**sending, "txHash": outcome.refunded}
        return {"status": "DONE", "substatus": "REFUNDED", "receiving": receiving}
    substatus = "REFUND_IN_PROGRESS" if outcome.is_expired else "WAIT_DESTINATION_TRANSACTION"
    return {"status": "PENDING", "substatus": substatus, "receiving": there}
