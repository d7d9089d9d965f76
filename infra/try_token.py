"""Says on the command line whether a token moves exactly what it is asked to, before it is listed:

    python -m infra.try_token USDC-base --node https://... --holder 0x...

The node runs everything in blocks that are not kept (eth_simulateV1): the holder allows a spender, which moves one
base unit, one token and half of the holder's balance to another address, as the fee proxies do. Balances are read
before and after each, and once more in a block a year later. So a fee, a refusal and balances that change with time are
found; what the owner of the token may switch on later is not. TRC-20 tokens cannot be tried, as nodes of Tron do not
have that method.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import evm_address, hex_address
from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.chains.nodes.plain_transfers.logs import ends_of
from chalicelib.chains.nodes.rpc.hex_values import quantity
from chalicelib.chains.nodes.rpc.http_client import HttpClient
from chalicelib.chains.nodes.rpc.jsonrpc import (
    MAX_RESPONSE_BYTES,
    JsonRpcClient,
    contract_read,
    unavailable_if_malformed,
)
from infra.explain import Parser

_SYMBOL, _DECIMALS = "0x95d89b41", "0x313ce567"
_SPENDER, _RECEIVER = ("0x" + keccak256(text)[-20:].hex() for text in (b"spender", b"receiver"))
_YEAR = 365 * 24 * 3600
_UINT256 = 2**256

_Result = Mapping[str, Any]
"""What eth_simulateV1 returns of a call."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: exit code 0 if the token is plain, 1 with a line for each thing that it does otherwise, 2 with
    one sentence if it cannot be tried."""
    parser = Parser(prog="python -m infra.try_token", description="Says whether a token moves what it is asked to.")
    parser.add_argument("token", help="its id in the catalogue, such as USDC-base")
    parser.add_argument("--node", required=True, metavar="URL", help="a node of its network")
    parser.add_argument("--holder", required=True, metavar="ADDRESS", help="any wallet that has four of the token")
    options = parser.parse_args(arguments)
    token = token_with_id(options.token)
    if token is None or token.type != "ERC20":
        parser.error(f"{options.token} is not an ERC-20 token of the catalogue")
    node = JsonRpcClient(token.network, HttpClient(options.node, MAX_RESPONSE_BYTES))
    try:
        problems = find_problems(node, token, evm_address(options.holder))
    except (BadRequest, ChainUnavailable) as error:
        parser.error(error.message.rstrip("."))
    sys.stdout.write("".join(f"{each}\n" for each in problems or [f"{token.id} is plain."]))
    sys.exit(bool(problems))


@unavailable_if_malformed
def find_problems(node: JsonRpcClient, token: Token, holder: str) -> list[str]:
    """What a token does otherwise than a plain one, a sentence for each thing. Raises BadRequest if the node is of
    another network or the holder has too little, ChainUnavailable."""
    reads = [contract_read(Call(token.address, each)) for each in (_SYMBOL, _DECIMALS)]
    chain_id, balance, symbol, decimals = node.results(
        [("eth_chainId", []), contract_read(erc20.balance_of(token.address, holder)), *reads]
    )
    if quantity(chain_id) != token.chain_id:
        raise BadRequest(f"The node is not of {token.network}.")
    one, owned = 10**token.decimals, quantity(balance, _UINT256)
    if owned < 4 * one:
        raise BadRequest(f"{holder} has less than four {token.symbol}.")
    problems = []
    if (shown := _text(symbol)) != token.symbol:
        problems.append(f"Its symbol is {shown!r}, in the catalogue {token.symbol!r}.")
    if quantity(decimals, _UINT256) != token.decimals:
        problems.append(f"It has {quantity(decimals, _UINT256)} decimals, in the catalogue {token.decimals}.")
    return [*problems, *_find_wrong_movements(node, token, holder, (1, one, owned // 2))]


def _find_wrong_movements(node: JsonRpcClient, token: Token, holder: str, amounts: Sequence[int]) -> Iterator[str]:
    balances = [
        _call(_SPENDER, Transaction(token.address, erc20.balance_of(token.address, each).data, 0))
        for each in (holder, _RECEIVER)
    ]
    calls = [*balances]
    for amount in amounts:
        calls.append(_call(holder, erc20.approve(token.address, _SPENDER, amount)))
        calls.append(_call(_SPENDER, erc20.transfer_from(token.address, holder, _RECEIVER, amount)))
        calls += balances
    now = quantity(node.call("eth_getBlockByNumber", "latest", False)["timestamp"])
    blocks = [{"calls": calls}, {"blockOverrides": {"time": hex(now + _YEAR)}, "calls": balances}]
    first, later = node.call("eth_simulateV1", {"blockStateCalls": blocks, "validation": False}, "latest")
    results = first["calls"]
    before = _balances(results[:2])
    for amount, at in zip(amounts, range(2, len(calls), 4), strict=True):
        approval, moved, *read = results[at : at + 4]
        after = _balances(read)
        yield from _problems_of_movement(amount, approval, moved, (before[0] - after[0], after[1] - before[1]), holder)
        before = after
    if (after := _balances(later["calls"])) != before:
        yield f"A year later the balances are {after} base units without a transfer, before {before}."


def _problems_of_movement(
    amount: int, approval: _Result, moved: _Result, changes: tuple[int, int], holder: str
) -> Iterator[str]:
    """`changes` are what the holder has less and the receiver has more afterwards, in base units."""
    if quantity(approval["status"]) != 1 or quantity(moved["status"]) != 1:
        yield f"It does not move {amount} base units for who is allowed to take them."
        return
    if moved["returnData"] not in ("0x", "0x" + "1".zfill(64)):
        yield f"It returns {moved['returnData']} when it has moved {amount} base units, which is not true."
    if changes != (amount, amount):
        yield f"Of {amount} base units {changes[1]} arrive, and the sender has {changes[0]} less."
    logged = [ends[1:] for ends in map(ends_of, moved["logs"]) if ends is not None]
    if logged != [(hex_address(holder), _RECEIVER, amount)]:
        yield f"Its Transfer logs of {amount} base units are {logged}."


def _call(sender: str, each: Transaction) -> dict[str, str]:
    return {"from": hex_address(sender), "to": hex_address(each.to), "data": each.data}


def _balances(results: Sequence[_Result]) -> tuple[int, int]:
    holder, receiver = (quantity(each["returnData"], _UINT256) for each in results)
    return holder, receiver


def _text(returned: str) -> str:
    """The string, or the bytes32 of the oldest tokens, that a function returned."""
    raw = bytes.fromhex(returned.removeprefix("0x"))
    if len(raw) > 32:
        length = int.from_bytes(raw[32:64], "big")
        raw = raw[64 : 64 + length]
    return raw.rstrip(b"\0").decode(errors="replace")


if __name__ == "__main__":
    main()
