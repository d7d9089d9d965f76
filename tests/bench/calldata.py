"""Calldata of one payment: our fixed layouts compared with general ABI encoders, which must return the same bytes."""

from collections.abc import Callable, Iterator
from typing import Any

from eth_abi import encode
from web3 import Web3

from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from tests.bench.figures import Figure, cpu_seconds
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.world import PAYEE

NETWORK = "sepolia"
ERC20 = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
REFERENCE = bytes.fromhex("a1b2c3d4e5f60718")
AMOUNT, FEE = 12_500_000, 125_000

Build = Callable[[], str]


def measure() -> list[Figure]:
    """Returns CPU microseconds for the calldata of one transaction, without imports."""
    figures = []
    for name, service, abi, web3 in _contenders():
        if not service() == abi() == web3():
            raise AssertionError(f"{name}: the encoders do not agree, so their times cannot be compared")
        by_service, by_abi, by_web3 = (seconds * 1e6 for seconds in cpu_seconds(service, abi, web3))
        figures += [
            Figure(name, by_service, "us", "eth_abi.encode", by_abi, 0.1),
            Figure(name, by_service, "us", "web3 Contract.encode_abi", by_web3, 0.02),
        ]
    return figures


def _contenders() -> Iterator[tuple[str, Build, Build, Build]]:
    payment: dict[str, Any] = {"payee": PAYEE, "amount": AMOUNT, "reference": REFERENCE}
    payment |= {"fee_amount": FEE, "fee_address": FEE_ADDRESS}
    values = [PAYEE, REFERENCE, FEE, FEE_ADDRESS]
    proxy, name = address_of(NATIVE_FEE_PROXY, NETWORK), "transferWithReferenceAndFee"
    general = _general(proxy, name, "b868980b", ["address", "bytes", "uint256", "address"], values)
    yield "pay_native", lambda: fee_proxy.pay_native(NETWORK, **payment).data, *general
    proxy, name = address_of(ERC20_FEE_PROXY, NETWORK), "transferFromWithReferenceAndFee"
    types = ["address", "address", "uint256", "bytes", "uint256", "address"]
    general = _general(proxy, name, "c219a14d", types, [ERC20, PAYEE, AMOUNT, *values[1:]])
    yield "pay_erc20", lambda: fee_proxy.pay_erc20(NETWORK, token=ERC20, **payment).data, *general
    general = _general(ERC20, "approve", "095ea7b3", ["address", "uint256"], [proxy, AMOUNT])
    yield "approve", lambda: erc20.approve(ERC20, proxy, AMOUNT).data, *general


def _general(address: str, name: str, selector: str, types: list[str], values: list[Any]) -> tuple[Build, Build]:
    """Encoders of a call by eth_abi and by web3."""
    inputs = [{"name": f"_{position}", "type": each} for position, each in enumerate(types)]
    abi = [{"type": "function", "name": name, "inputs": inputs, "outputs": [], "stateMutability": "payable"}]
    contract = Web3().eth.contract(address=Web3.to_checksum_address(address), abi=abi)
    return lambda: "0x" + selector + encode(types, values).hex(), lambda: contract.encode_abi(name, args=values)
