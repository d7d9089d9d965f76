"""Reads the balances and allowances of wallets, the gas price and the batch contract's fee from a node."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.calldata.batch import batch_fee_of
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import quantity

_HIGHEST_BATCH_FEE_BPS = 1_000
"""The owner of the contract can set any fee. Payers are not offered a batch with a fee above a tenth."""
_HIGHEST_GAS_PRICE = 2**128
_MULTICALL_GAS = 40_000_000
"""100,000 for each of 401 reads. Nodes refuse an eth_call with more than 50 million (geth, reth), or lower it."""
_UINT256 = 2**256


@frozen
class TokenReading:
    """A wallet's balance of a token and its allowance for the spender, in base units."""

    balance: BaseUnits
    allowance: BaseUnits


@frozen
class WalletReading:
    """A wallet's balances in base units. `tokens` has the addresses in the caller's spelling as keys.

    `batch_fee_bps` is the batch contract's own fee in basis points, 0 if it was not read. `gas_price` is in base units
    of the native coin per unit of gas; on tron, per unit of energy. `is_contract` is whether a contract is at the
    address whose code was asked for; a key's address that delegates to one (EIP-7702) is not one.
    """

    native_balance: BaseUnits
    tokens: Mapping[str, TokenReading]
    gas_price: BaseUnits
    batch_fee_bps: int = 0
    is_contract: bool = False

    def balance_of(self, token: Token) -> BaseUnits:
        """The balance of a token that was read, or of the native coin."""
        return self.native_balance if token.is_native else self.tokens[token.address].balance


@jsonrpc.unavailable_if_malformed
def read_by_multicall(
    node: jsonrpc.JsonRpcClient,
    wallet: str,
    tokens: Sequence[str],
    spender: str,
    *,
    batch_fee: bool = False,
    code_of: str | None = None,
) -> WalletReading:
    """Balances, allowances and the batch contract's fee by Multicall3, the gas price, and whether there is a contract
    at the address `code_of`, all in one request.

    For up to 200 tokens.
    """
    reads = [multicall3.eth_balance(node.network, wallet)]
    for token in tokens:
        reads += [erc20.balance_of(token, wallet), erc20.allowance(token, wallet, spender)]
    if batch_fee:
        reads.append(batch_fee_of(node.network))
    aggregate = jsonrpc.contract_read(multicall3.aggregate(node.network, reads), gas=_MULTICALL_GAS)
    returned, gas_price, *code = node.results(
        [aggregate, ("eth_gasPrice", []), *([jsonrpc.code_at(code_of)] if code_of is not None else [])]
    )
    values = [multicall3.as_uint(value) for value in multicall3.decode(returned)]
    if len(values) != len(reads):
        raise ChainUnavailable(f"The {node.network} node gave no answer to a multicall")
    known = [value for value in values if value is not None]
    if len(known) != len(reads):
        raise ChainUnavailable(f"A contract on {node.network} does not answer balanceOf, allowance or batchFee")
    fee = _check_batch_fee(node.network, known.pop()) if batch_fee else 0
    reading = _wallet_reading(tokens, known, quantity(gas_price, _HIGHEST_GAS_PRICE), fee)
    return replace(reading, is_contract=any(map(_is_contract, code)))


@jsonrpc.unavailable_if_malformed
def read_one_by_one(node: jsonrpc.JsonRpcClient, wallet: str, tokens: Sequence[str], spender: str) -> WalletReading:
    """Balances and allowances by one call each, for networks without Multicall3."""
    calls: list[jsonrpc.RpcCall] = [("eth_getBalance", [hex_address(wallet), "latest"]), ("eth_gasPrice", [])]
    for token in tokens:
        calls.append(jsonrpc.contract_read(erc20.balance_of(token, wallet)))
        calls.append(jsonrpc.contract_read(erc20.allowance(token, wallet, spender)))
    balance, gas_price, *returned = node.results(calls)
    values = [quantity(balance, _UINT256), *map(_uint, returned)]
    return _wallet_reading(tokens, values, quantity(gas_price, _HIGHEST_GAS_PRICE), 0)


@jsonrpc.unavailable_if_malformed
def read_funds(node: jsonrpc.JsonRpcClient, wanted: Sequence[tuple[str, str, str]]) -> tuple[TokenReading, ...]:
    """What each wallet has of a token, and has allowed a spender: `wanted` are their addresses in this order. One
    request."""
    calls: list[jsonrpc.RpcCall] = []
    for wallet, token, spender in wanted:
        calls.append(jsonrpc.contract_read(erc20.balance_of(token, wallet)))
        calls.append(jsonrpc.contract_read(erc20.allowance(token, wallet, spender)))
    values = [BaseUnits(_uint(each)) for each in node.results(calls)]
    return tuple(map(TokenReading, values[::2], values[1::2]))


@jsonrpc.unavailable_if_malformed
def read_batch_fee(node: jsonrpc.JsonRpcClient) -> int:
    """The batch contract's own fee, in basis points of the amounts. Raises ChainUnavailable if it is above a tenth."""
    (fee,) = node.results([jsonrpc.contract_read(batch_fee_of(node.network))])
    return _check_batch_fee(node.network, _uint(fee))


@jsonrpc.unavailable_if_malformed
def has_code(node: jsonrpc.JsonRpcClient, address: str) -> bool:
    """Whether there is a contract at the address."""
    (code,) = node.results([jsonrpc.code_at(address)])
    return len(code) > 2


@jsonrpc.unavailable_if_malformed
def read_codes(node: jsonrpc.JsonRpcClient, *addresses: str) -> tuple[bytes, ...]:
    """The code at each address, at the newest block. One request."""
    return tuple(
        bytes.fromhex(code.removeprefix("0x")) for code in node.results([jsonrpc.code_at(each) for each in addresses])
    )


def _wallet_reading(tokens: Sequence[str], values: Sequence[int], gas_price: int, batch_fee_bps: int) -> WalletReading:
    """The reading of a native balance, then balance and allowance of each token."""
    native, *of_tokens = (BaseUnits(value) for value in values)
    pairs = zip(tokens, of_tokens[::2], of_tokens[1::2], strict=True)
    readings = {token: TokenReading(balance, allowance) for token, balance, allowance in pairs}
    return WalletReading(native, readings, BaseUnits(gas_price), batch_fee_bps)


def _check_batch_fee(network: str, batch_fee_bps: int) -> int:
    if batch_fee_bps > _HIGHEST_BATCH_FEE_BPS:
        raise ChainUnavailable(f"The batch contract on {network} takes a fee out of reason")
    return batch_fee_bps


def _is_contract(code: str) -> bool:
    """Raises ValueError for what is not code: a refund could be lost with a contract that is taken for a wallet."""
    if code[:2] != "0x":
        raise ValueError("the node did not return code")
    return len(code) > 2 and not jsonrpc.delegates(code)


def _uint(returned: str) -> int:
    """The uint256 that a contract returned. Raises ValueError for another length: older java-tron nodes return the data
    of a failed call as its result."""
    raw = bytes.fromhex(returned.removeprefix("0x"))
    if len(raw) != WORD:
        raise ValueError("the contract did not return one number")
    return int.from_bytes(raw, "big")
