"""Calldata of one payment: our fixed layouts compared with general ABI encoders, which must return the same bytes."""

from collections.abc import Callable

from eth_abi import encode
from web3 import Web3

from chalicelib.chains.calldata import erc20, fee_proxy
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from infra.bench.figures import Figure, cpu_seconds
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.world import PAYEE

NETWORK = "sepolia"
ERC20 = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
REFERENCE = bytes.fromhex("a1b2c3d4e5f60718")
AMOUNT, FEE = 12_500_000, 125_000

_ERC20_TYPES = ["address", "address", "uint256", "bytes", "uint256", "address"]
_NATIVE_TYPES = ["address", "bytes", "uint256", "address"]
_APPROVE_TYPES = ["address", "uint256"]

Build = Callable[[], str]


def measure() -> list[Figure]:
    """Returns CPU microseconds for the calldata of one transaction, without imports."""
    figures = []
    for name, service, abi, web3 in _contenders():
        if not service() == abi() == web3():
            raise AssertionError(f"{name}: the encoders do not agree, so their times cannot be compared")
        by_service, by_abi, by_web3 = (seconds * 1e6 for seconds in cpu_seconds(service, abi, web3))
        figures += [
            Figure(name, by_service, "us", "eth_abi.encode", by_abi),
            Figure(name, by_service, "us", "web3 Contract.encode_abi", by_web3),
        ]
    return figures


def _contenders() -> list[tuple[str, Build, Build, Build]]:
    spender = address_of(ERC20_FEE_PROXY, NETWORK)
    erc20_values = [ERC20, PAYEE, AMOUNT, REFERENCE, FEE, FEE_ADDRESS]
    native_values = [PAYEE, REFERENCE, FEE, FEE_ADDRESS]
    pay_erc20, pay_native = "transferFromWithReferenceAndFee", "transferWithReferenceAndFee"
    return [
        (
            "pay_erc20",
            lambda: fee_proxy.pay_erc20(
                NETWORK,
                token=ERC20,
                payee=PAYEE,
                amount=AMOUNT,
                reference=REFERENCE,
                fee_amount=FEE,
                fee_address=FEE_ADDRESS,
            ).data,
            _abi_encoder("c219a14d", _ERC20_TYPES, erc20_values),
            _web3_encoder(spender, pay_erc20, _ERC20_TYPES, erc20_values),
        ),
        (
            "pay_native",
            lambda: fee_proxy.pay_native(
                NETWORK, payee=PAYEE, amount=AMOUNT, reference=REFERENCE, fee_amount=FEE, fee_address=FEE_ADDRESS
            ).data,
            _abi_encoder("b868980b", _NATIVE_TYPES, native_values),
            _web3_encoder(address_of(NATIVE_FEE_PROXY, NETWORK), pay_native, _NATIVE_TYPES, native_values),
        ),
        (
            "approve",
            lambda: erc20.approve(ERC20, spender, AMOUNT).data,
            _abi_encoder("095ea7b3", _APPROVE_TYPES, [spender, AMOUNT]),
            _web3_encoder(ERC20, "approve", _APPROVE_TYPES, [spender, AMOUNT]),
        ),
    ]


def _abi_encoder(selector: str, types: list[str], values: list[object]) -> Build:
    return lambda: "0x" + selector + encode(types, values).hex()


def _web3_encoder(address: str, name: str, types: list[str], values: list[object]) -> Build:
    inputs = [{"name": f"_{position}", "type": each} for position, each in enumerate(types)]
    abi = [{"type": "function", "name": name, "inputs": inputs, "outputs": [], "stateMutability": "payable"}]
    contract = Web3().eth.contract(address=Web3.to_checksum_address(address), abi=abi)
    return lambda: contract.encode_abi(name, args=values)
