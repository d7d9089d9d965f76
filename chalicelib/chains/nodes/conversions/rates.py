"""Reads the rates at which the conversion proxies of an EVM chain would convert."""

from collections.abc import Mapping, Sequence

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.conversions.rates import PathRate, as_rate, rate_of, rates_contract_of
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import (
    ERC20_CONVERSION_PROXY,
    ERC20_CONVERSION_RATES,
    NATIVE_CONVERSION_PROXY,
    NATIVE_CONVERSION_RATES,
    address_of,
)
from chalicelib.chains.catalogue.conversions import currency_with_hash
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, contract_read, unavailable_if_malformed

_RATES = {ERC20_CONVERSION_PROXY: ERC20_CONVERSION_RATES, NATIVE_CONVERSION_PROXY: NATIVE_CONVERSION_RATES}
_GAS_OF_A_READ = 1_000_000
_MOST_PATHS = 40


def read_rates(
    node: JsonRpcClient, paths: Sequence[tuple[str, ...]], block: int | None = None
) -> tuple[PathRate | None, ...]:
    """The rate of each path after a block, for up to 40 paths; None where the proxy could not convert by it.

    Without a block after the newest; nodes keep the state of a limited number of blocks.

    The proxies' owner can give them another contract to take rates from. So the same request asks the proxies for it,
    and the rates are read again if it is not the one of the catalogue. Raises LookupError for a network without
    proxies, ChainUnavailable if a proxy's contract changes between the two requests.
    """
    assert len(paths) <= _MOST_PATHS
    proxies = [_proxy_of(node.network, path) for path in paths]
    contracts = {proxy: address_of(_RATES[proxy], node.network) for proxy in proxies}
    state = "latest" if block is None else hex(block)
    for _ in range(2):
        used, rates = _read(node, contracts, list(zip(proxies, paths, strict=True)), state)
        if used == contracts:
            return rates
        contracts = used
    raise ChainUnavailable(f"A conversion contract on {node.network} is being changed")


@unavailable_if_malformed
def _read(
    node: JsonRpcClient, contracts: Mapping[str, str], paths: Sequence[tuple[str, tuple[str, ...]]], state: str
) -> tuple[dict[str, str], tuple[PathRate | None, ...]]:
    """The contract that each proxy takes its rates from, and the rates of the given contracts."""
    reads = [rates_contract_of(address_of(proxy, node.network)) for proxy in contracts]
    reads += [rate_of(contracts[proxy], path) for proxy, path in paths]
    results = read_aggregated(node, reads, state=state)
    used = {proxy: address_in(result) for proxy, result in zip(contracts, results, strict=False)}
    return used, tuple(as_rate(result) for result in results[len(contracts) :])


def read_aggregated(
    node: JsonRpcClient, reads: Sequence[Call], gas_of_each: int = _GAS_OF_A_READ, state: str = "latest"
) -> tuple[bytes | None, ...]:
    """The results of reads of contracts in one request, None for each that failed. Raises ChainUnavailable."""
    aggregate = multicall3.aggregate(node.network, reads)
    (returned,) = node.results([contract_read(aggregate, state, gas_of_each * len(reads))])
    results = multicall3.decode(returned)
    if len(results) != len(reads):
        raise ChainUnavailable(f"The {node.network} node gave no answer to a multicall")
    return results


def proxy_of(network: str, path: Sequence[str]) -> str:
    """The address of the conversion proxy that a path is for. Raises LookupError if the network has none."""
    return address_of(_proxy_of(network, path), network)


def _proxy_of(network: str, path: Sequence[str]) -> str:
    payment = currency_with_hash(network, path[-1])
    return NATIVE_CONVERSION_PROXY if payment and payment.is_native else ERC20_CONVERSION_PROXY


def address_in(result: bytes | None) -> str:
    """The address that a read returned. Raises ValueError if it did not return one."""
    number = multicall3.as_uint(result)
    if number is None or number >> 160:
        raise ValueError("a conversion contract does not say which contract it uses")
    return evm_address(f"0x{number:040x}")
