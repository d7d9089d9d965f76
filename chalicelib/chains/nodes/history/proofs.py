"""What a node says of a transaction in more than one way, so that one wrong answer is contradicted by another."""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import address_bytes, hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.nodes.accounts.relaying import receipt_from
from chalicelib.chains.nodes.bridges.deposits import token_transfer
from chalicelib.chains.nodes.history.blocks import header_hash
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, InconsistentNode
from chalicelib.chains.nodes.readings import Sight, Sought, TokenBalances, TokenFlow
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

_UINT256 = 2**256


@jsonrpc.unavailable_if_malformed
def sights(node: jsonrpc.JsonRpcClient, sought: Sequence[Sought]) -> tuple[Sight, ...]:
    """The receipts of transactions, the blocks that they are said to be in, and what they have moved. One request."""
    heights = sorted({height for each in sought for height in (each.block_number, each.deep_block)})
    flowing = [(each, each.flow) for each in sought if each.flow is not None]
    calls: list[jsonrpc.RpcCall] = [("eth_getTransactionReceipt", [each.tx_hash]) for each in sought]
    calls += [jsonrpc.block_at(height) for height in heights]
    calls += [_transfers(each.block_number, flow) for each, flow in flowing]
    outcomes = node.outcomes(calls)
    receipts, headers = outcomes[: len(sought)], outcomes[len(sought) : len(sought) + len(heights)]
    jsonrpc.raise_first_error(receipts)
    known = {
        height: header_hash(node, header, height)
        for height, header in zip(heights, headers, strict=True)
        if header is not None and not isinstance(header, jsonrpc.RpcError)
    }
    logs = {each: found for (each, _), found in zip(flowing, outcomes[len(sought) + len(heights) :], strict=True)}
    return tuple(_sight(node, *pair, known, logs) for pair in zip(sought, receipts, strict=True))


def _sight(
    node: jsonrpc.JsonRpcClient,
    each: Sought,
    receipt: Mapping[str, Any] | None,
    hashes: Mapping[int, str],
    logs: Mapping[Sought, Any],
) -> Sight:
    if receipt is not None and hash_of(receipt["transactionHash"]) != each.tx_hash:
        raise InconsistentNode(node.network, "it gave the receipt of another transaction")
    moved: list[int] = []
    if each.flow is not None:
        if receipt is not None:
            moved.append(_sum_of_moved(receipt["logs"], each, each.flow))
        if not isinstance(logs[each], jsonrpc.RpcError):
            moved.append(_sum_of_moved(logs[each], each, each.flow))
    return Sight(
        block_hash=hashes.get(each.block_number),
        is_deep=each.deep_block in hashes,
        receipt=receipt_from(each.tx_hash, receipt) if receipt is not None else None,
        moved=tuple(moved),
    )


def _transfers(block: int, flow: TokenFlow) -> jsonrpc.RpcCall:
    """The search for the transfers of a token to or from an account in one block."""
    account = "0x" + address_bytes(flow.account).rjust(32, b"\0").hex()
    topics = [TRANSFER_TOPIC, None, account] if flow.inward else [TRANSFER_TOPIC, account]
    place = {"fromBlock": hex(block), "toBlock": hex(block)}
    return "eth_getLogs", [{**place, "address": hex_address(flow.token), "topics": topics}]


def _sum_of_moved(logs: Sequence[Mapping[str, Any]], each: Sought, flow: TokenFlow) -> int:
    """What the logs of a transaction say that it has moved in the direction of the flow."""
    token, account, side = address_bytes(flow.token), address_bytes(flow.account), 1 if flow.inward else 0
    own = (log for log in logs if hash_of(log["transactionHash"]) == each.tx_hash)
    transfers = (token_transfer(log, token) for log in own)
    return sum(transfer[2] for transfer in transfers if transfer is not None and transfer[side] == account)


@jsonrpc.unavailable_if_malformed
def token_balances(node: jsonrpc.JsonRpcClient, account: str, tokens: Sequence[str]) -> TokenBalances:
    """What an account has of tokens, and its next nonce, after the newest block. Two requests."""
    block = hex(quantity(node.call("eth_blockNumber")))
    reads = [jsonrpc.contract_read(erc20.balance_of(token, account), block) for token in tokens]
    nonce, *balances = node.results([("eth_getTransactionCount", [account, block]), *reads])
    if any(len(each) != 2 + 64 for each in balances):
        raise ChainUnavailable(f"The {node.network} node does not say what an account has")
    known = {token.lower(): quantity(each, _UINT256) for token, each in zip(tokens, balances, strict=True)}
    return TokenBalances(quantity(nonce), known)
