"""Reads from a token's contract what a signed approval (EIP-2612) and a signed transfer (ERC-3009) need."""

from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.tokens import erc2612, erc3009
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, contract_read, unavailable_if_malformed


@unavailable_if_malformed
def read_permit_answers(node: JsonRpcClient, token: str, owner: str) -> tuple[bytes | None, ...]:
    """What the token answers to `erc2612.reads`, None for what it does not have. One request."""
    aggregate = multicall3.aggregate(node.network, erc2612.reads(token, owner))
    (returned,) = node.results([contract_read(aggregate)])
    return multicall3.decode(returned)


@unavailable_if_malformed
def read_transfer_answers(node: JsonRpcClient, token: str, payer: str, nonce: str) -> tuple[bytes | None, ...]:
    """What the token answers to `erc3009.reads`, None for what it does not have. One request."""
    aggregate = multicall3.aggregate(node.network, erc3009.reads(token, payer, nonce))
    (returned,) = node.results([contract_read(aggregate)])
    return multicall3.decode(returned)
