"""Reads the ERC-20 transfers from addresses for plain transfers, what is at them, and the state of one of them."""

from collections.abc import Collection, Sequence
from typing import Any

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.catalogue.contracts import DEPLOYER
from chalicelib.chains.nodes.history.full_blocks import ADDRESSES_PER_QUERY, LogFilter
from chalicelib.chains.nodes.history.log_ranges import logs_of
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, BlockRange
from chalicelib.chains.nodes.plain_transfers.logs import Log, PlainAddress
from chalicelib.chains.nodes.readings import PlainAddressState
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import quantity

BALANCES_PER_CALL = 200
_BALANCES_GAS = 40_000_000
"""200,000 for each balance. Nodes refuse an eth_call with more than 50 million (geth, reth), or lower it."""
_UINT256 = 2**256


@jsonrpc.unavailable_if_malformed
def read_plain_transfers(
    node: jsonrpc.JsonRpcClient, blocks: BlockRange, addresses: Collection[PlainAddress]
) -> tuple[Log, ...]:
    """The transfers of their tokens from addresses in a range of blocks, as the node's JSON. One request for each
    500 addresses. Raises as `ranges.logs_of`."""
    found, ordered = list[Log](), sorted(addresses, key=lambda each: each.address)
    for start in range(0, len(ordered), ADDRESSES_PER_QUERY):
        part = ordered[start : start + ADDRESSES_PER_QUERY]
        tokens = tuple(dict.fromkeys(each.token_address for each in part))
        topics = tuple("0x" + each.address[2:].rjust(2 * WORD, "0") for each in part)
        found += logs_of(node, blocks, LogFilter(tokens, ((TRANSFER_TOPIC,), topics)))
    return tuple(found)


@jsonrpc.unavailable_if_malformed
def read_plain_address(node: jsonrpc.JsonRpcClient, address: str, token: str | None) -> PlainAddressState:
    """The state of an address, with its balance of a token, or with None of the native coin. One request.

    Raises BadRequest if no token is at the address `token`: anybody may name one, so no node is to blame for it.
    """
    coins = ("eth_getBalance", [address, "latest"])
    owned = coins if token is None else jsonrpc.contract_read(erc20.balance_of(token, address))
    balance, *codes = node.outcomes([owned, jsonrpc.code_at(address), jsonrpc.code_at(DEPLOYER)])
    if token is not None and not _is_balance(balance):
        jsonrpc.raise_first_error(codes)
        raise BadRequest(f"token: no token is at {token} on {node.network}")
    jsonrpc.raise_first_error([balance, *codes])
    code, deployer = codes
    return PlainAddressState(BaseUnits(quantity(balance, _UINT256)), len(code) > 2, len(deployer) > 2)


@jsonrpc.unavailable_if_malformed
def read_plain_balances(
    node: jsonrpc.JsonRpcClient, addresses: Sequence[PlainAddress], block: int
) -> tuple[BaseUnits | None, ...]:
    """What each address has of its token after a block, None if the token does not say. One call for each 200 of them.

    Raises ChainUnavailable if the node does not have the state after that block.
    """
    parts = [addresses[start : start + BALANCES_PER_CALL] for start in range(0, len(addresses), BALANCES_PER_CALL)]
    reads = [[erc20.balance_of(each.token_address, each.address) for each in part] for part in parts]
    calls = [
        jsonrpc.contract_read(multicall3.aggregate(node.network, part), hex(block), _BALANCES_GAS) for part in reads
    ]
    found = list[BaseUnits | None]()
    for part, returned in zip(parts, node.results(calls), strict=True):
        balances = [multicall3.as_uint(each) for each in multicall3.decode(returned)]
        if len(balances) != len(part):
            raise ChainUnavailable(f"The {node.network} node gave no answer to a multicall")
        found += (BaseUnits(each) if each is not None else None for each in balances)
    return tuple(found)


def _is_balance(outcome: Any) -> bool:
    """Whether this is a word, or an error of the node; false for what a contract that is no token answers."""
    if isinstance(outcome, jsonrpc.RpcError):
        return not (outcome.is_revert or outcome.says("out of gas", "gas required exceeds"))
    return isinstance(outcome, str) and len(outcome) == 2 + 2 * WORD
