"""The contracts of a local chain: creation bytecode from npm packages or compiled here, and production addresses."""

import json
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chalicelib.base.addresses import ZERO_ADDRESS, tron_to_evm
from chalicelib.chains.calldata.batch import native_hash
from chalicelib.chains.catalogue.contracts import (
    BATCH,
    DELEGATE,
    ERC20_CONVERSION_PROXY,
    ERC20_CONVERSION_RATES,
    ERC20_FEE_PROXY,
    MULTICALL3,
    NATIVE_CONVERSION_PROXY,
    NATIVE_CONVERSION_RATES,
    NATIVE_FEE_PROXY,
    PERMIT2,
    RECURRING_PROXY,
    TRON_BATCH,
    address_of,
    recurring_networks,
)
from chalicelib.chains.catalogue.conversions import conversion_networks
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from infra.local.compiling import compile_contract
from infra.local.process import StackProblem

MODULES = Path(__file__).with_name("node_modules")
_FACTORIES = MODULES / "@requestnetwork/smart-contracts/dist/src/types/factories/src/contracts"
_PERMIT2 = MODULES / "@1inch/solidity-utils/dist/src/permit2.json"
_DELEGATE = MODULES / "@account-abstraction/contracts/artifacts/Simple7702Account.json"
_VIEM_CONSTANTS = MODULES / "viem/_cjs/constants/contracts.js"
_MINTED_TO_DEPLOYER = (10**24).to_bytes(32).hex()
TEST_ERC20 = "TestERC20"
DOLLAR_DOUBLE = "SignedTransferToken"
_SIGNED_TRANSFERS = ("USDC-base", "fUSDC-sepolia")  # the tokens of the networks with the escrow that have ERC-3009
_DECIMALS_CODE = "60006012905090"  # the body of its function decimals: return 18
CONVERSION_PATH = "ChainlinkConversionPath"
_ETHER_HASH = native_hash("mainnet")
_TRON_BATCH_SUBSTITUTE = "BatchPayments"  # the package has no batch contract for Tron; this one has the same selectors

DEPLOYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""anvil's first account, which is unlocked; the owner of the contracts that have one."""


@dataclass(frozen=True)
class Artefact:
    """A contract: creation code with constructor arguments, hex with 0x, and the addresses of its runtime code."""

    name: str
    creation: str
    addresses: tuple[str, ...]


def artefacts(network: str) -> tuple[Artefact, ...]:
    """Returns the contracts that payments on a network use: fee, conversion and recurring proxies, batches, tokens."""
    known = network_named(network)
    return _tron_artefacts() if known and known.family == "tron" else _evm_artefacts(network)


def _evm_artefacts(network: str) -> tuple[Artefact, ...]:
    erc20, native, batch = (address_of(contract, network) for contract in (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, BATCH))
    converts = network in conversion_networks()
    conversion = tuple(
        address_of(contract, network) if converts else ZERO_ADDRESS
        for contract in (ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY, NATIVE_CONVERSION_RATES)
    )
    tokens = {token.address: token for token in find_tokens(network=network) if token.type == "ERC20"}
    signed = tuple(address for address, token in tokens.items() if token.id in _SIGNED_TRANSFERS)
    plain = {address: token for address, token in tokens.items() if address not in signed}
    return (
        Artefact(ERC20_FEE_PROXY, creation_code(ERC20_FEE_PROXY), (erc20,)),
        Artefact(NATIVE_FEE_PROXY, creation_code(NATIVE_FEE_PROXY), (native,)),
        Artefact(BATCH, creation_code(BATCH) + words(erc20, native, *conversion, DEPLOYER), (batch,)),
        Artefact(MULTICALL3, _multicall3(), (address_of(MULTICALL3, network),)),
        Artefact(PERMIT2, _permit2(), (address_of(PERMIT2, network),)),
        Artefact(DELEGATE, _delegate(), (address_of(DELEGATE, network),)),
        *_token_artefacts(plain),
        *([Artefact(DOLLAR_DOUBLE, compile_contract(DOLLAR_DOUBLE), signed)] if signed else ()),
        *(_conversion_artefacts(network, erc20, native) if converts else ()),
        *(_recurring_artefacts(network, erc20) if network in recurring_networks() else ()),
    )


def _recurring_artefacts(network: str, erc20: str) -> tuple[Artefact, ...]:
    """Returns the proxy of recurring payments, which has no relayer before `Chain.set_relayer`."""
    creation = compile_contract(RECURRING_PROXY) + words(DEPLOYER, DEPLOYER, erc20)
    return (Artefact(RECURRING_PROXY, creation, (address_of(RECURRING_PROXY, network),)),)


def _conversion_artefacts(network: str, erc20: str, native: str) -> tuple[Artefact, ...]:
    """Returns the proxies that convert, and the contracts of their rates, which know no feeds (infra/local/feeds.py).

    The package has no bytecode of ChainlinkConversionPath 0.1.0, whose only native coin is ether; the newer version is
    told its native coin, so that it behaves the same when that is ether.
    """
    erc20_proxy, native_proxy, erc20_rates, native_rates = (
        address_of(contract, network)
        for contract in (
            ERC20_CONVERSION_PROXY,
            NATIVE_CONVERSION_PROXY,
            ERC20_CONVERSION_RATES,
            NATIVE_CONVERSION_RATES,
        )
    )
    coins = {erc20_rates: _ETHER_HASH, native_rates: native_hash(network)}
    return (
        *(
            Artefact(CONVERSION_PATH, creation_code(CONVERSION_PATH) + words(coin, DEPLOYER), (rates,))
            for rates, coin in coins.items()
        ),
        Artefact(
            ERC20_CONVERSION_PROXY,
            creation_code(ERC20_CONVERSION_PROXY) + words(erc20, erc20_rates, DEPLOYER),
            (erc20_proxy,),
        ),
        Artefact(
            NATIVE_CONVERSION_PROXY,
            creation_code(NATIVE_CONVERSION_PROXY) + words(native, native_rates, native_hash(network), DEPLOYER),
            (native_proxy,),
        ),
    )


def _tron_artefacts() -> tuple[Artefact, ...]:
    """Returns the contracts for the 20 bytes of their base58 addresses; Tron has no native proxy and no Multicall3."""
    proxy, batch = (tron_to_evm(address_of(contract, "tron")) for contract in (ERC20_FEE_PROXY, TRON_BATCH))
    tokens = {tron_to_evm(token.address): token for token in find_tokens(network="tron")}
    return (
        Artefact(ERC20_FEE_PROXY, creation_code(ERC20_FEE_PROXY), (proxy,)),
        Artefact(TRON_BATCH, creation_code(_TRON_BATCH_SUBSTITUTE) + words(proxy, ZERO_ADDRESS, DEPLOYER), (batch,)),
        *_token_artefacts(tokens),
    )


def _token_artefacts(tokens: Mapping[str, Token]) -> Iterator[Artefact]:
    """Yields TestERC20 for the hex addresses of tokens, with their decimals in the place of its own 18."""
    code = creation_code(TEST_ERC20)
    if code.count(_DECIMALS_CODE) != 1:
        raise StackProblem(f"{TEST_ERC20} has not the expected content: run `make setup`")
    for decimals in sorted({token.decimals for token in tokens.values()}):
        with_decimals = code.replace(_DECIMALS_CODE, f"600060{decimals:02x}905090")
        addresses = tuple(address for address, token in tokens.items() if token.decimals == decimals)
        yield Artefact(TEST_ERC20, with_decimals + _MINTED_TO_DEPLOYER, addresses)


def creation_code(contract: str) -> str:
    """Returns the creation code of a contract of @requestnetwork/smart-contracts, without constructor arguments."""
    files = (
        f"{contract}__factory.js",
        f"{contract}.sol/{contract}__factory.js",
        f"test/{contract}__factory.js",
    )
    for file in files:
        if (_FACTORIES / file).exists():
            return _only_match(_FACTORIES / file, r'_bytecode = "(0x[0-9a-f]+)"')
    raise StackProblem(f"the npm package has no bytecode of {contract}: run `make setup`")


def anvil() -> str:
    """Returns the path of the anvil binary for this machine."""
    system = platform.system().lower()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    binary = MODULES / f"@foundry-rs/anvil-{system}-{machine}" / "bin" / "anvil"
    if not binary.exists():
        raise StackProblem(f"there is no anvil for {system}-{machine} in {MODULES}: run `make setup`")
    return str(binary)


def words(*addresses: str) -> str:
    """Returns addresses as constructor arguments, hex without 0x."""
    return "".join(address[2:].lower().rjust(64, "0") for address in addresses)


def _multicall3() -> str:
    return _only_match(_VIEM_CONSTANTS, r"multicall3Bytecode = '(0x[0-9a-f]+)'")


def _delegate() -> str:
    if not _DELEGATE.exists():
        raise StackProblem(f"the npm package has no {_DELEGATE.name}: run `make setup`")
    return str(json.loads(_DELEGATE.read_text())["bytecode"])


def _permit2() -> str:
    """Returns code that creates Permit2: the package has its runtime, which computes its domain for any chain id."""
    if not _PERMIT2.exists():
        raise StackProblem(f"the npm package has no {_PERMIT2.name}: run `make setup`")
    return returning(json.loads(_PERMIT2.read_text())["bytecode"])


def returning(runtime: str) -> str:
    """Returns code that creates a contract with this runtime code, hex with 0x."""
    digits = runtime.removeprefix("0x")
    return f"0x61{len(digits) // 2:04x}80600a3d393df3{digits}"  # returns what comes after these ten bytes


def _only_match(file: Path, pattern: str) -> str:
    matches = re.findall(pattern, file.read_text()) if file.exists() else []
    if len(matches) != 1:
        raise StackProblem(f"{file} has not the expected content: run `make setup`")
    return str(matches[0])
