"""The contracts a local chain carries: creation bytecode out of the npm packages, and where production has them."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

from chalicelib.base.addresses import ZERO_ADDRESS, tron_to_evm
from chalicelib.catalogue.contracts import BATCH, ERC20_FEE_PROXY, MULTICALL3, NATIVE_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.catalogue.networks import network as network_named
from chalicelib.catalogue.tokens import find_tokens
from infra.local.process import StackProblem

MODULES = Path(__file__).with_name("node_modules")
_FACTORIES = MODULES / "@requestnetwork/smart-contracts/dist/src/types/factories/src/contracts"
_VIEM_CONSTANTS = MODULES / "viem/_cjs/constants/contracts.js"
_MINTED_TO_DEPLOYER = (10**24).to_bytes(32).hex()
TEST_ERC20 = "TestERC20"
_TRON_BATCH_STAND_IN = "BatchPayments"  # the package has none for Tron; this one has the same selectors

DEPLOYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""anvil's first account, unlocked; it owns the batch contracts."""


@dataclass(frozen=True)
class Artefact:
    """Creation code with its constructor's arguments, hex with 0x, and the addresses its runtime code is put at."""

    name: str
    creation: str
    addresses: tuple[str, ...]


def artefacts(network: str) -> tuple[Artefact, ...]:
    """What a payment on that network touches: the proxies, the batch contract that calls them, the tokens."""
    known = network_named(network)
    return _tron_artefacts() if known and known.family == "tron" else _evm_artefacts(network)


def _evm_artefacts(network: str) -> tuple[Artefact, ...]:
    erc20, native, batch = (address_of(contract, network) for contract in (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, BATCH))
    no_conversion = (ZERO_ADDRESS,) * 3
    tokens = tuple(token.address for token in find_tokens(network=network) if token.type == "ERC20")
    return (
        Artefact(ERC20_FEE_PROXY, creation_code(ERC20_FEE_PROXY), (erc20,)),
        Artefact(NATIVE_FEE_PROXY, creation_code(NATIVE_FEE_PROXY), (native,)),
        Artefact(BATCH, creation_code(BATCH) + _words(erc20, native, *no_conversion, DEPLOYER), (batch,)),
        Artefact(MULTICALL3, _multicall3(), (address_of(MULTICALL3, network),)),
        Artefact(TEST_ERC20, creation_code(TEST_ERC20) + _MINTED_TO_DEPLOYER, tokens),
    )


def _tron_artefacts() -> tuple[Artefact, ...]:
    """At the 20 bytes of each base58 address; no native payments there, and no Multicall3."""
    proxy, batch = (tron_to_evm(address_of(contract, "tron")) for contract in (ERC20_FEE_PROXY, TRON_BATCH))
    tokens = tuple(tron_to_evm(token.address) for token in find_tokens(network="tron"))
    return (
        Artefact(ERC20_FEE_PROXY, creation_code(ERC20_FEE_PROXY), (proxy,)),
        Artefact(TRON_BATCH, creation_code(_TRON_BATCH_STAND_IN) + _words(proxy, ZERO_ADDRESS, DEPLOYER), (batch,)),
        Artefact(TEST_ERC20, creation_code(TEST_ERC20) + _MINTED_TO_DEPLOYER, tokens),
    )


def creation_code(contract: str) -> str:
    """A contract of @requestnetwork/smart-contracts, without constructor arguments."""
    places = (
        f"{contract}__factory.js",
        f"{contract}.sol/{contract}__factory.js",
        f"test/{contract}__factory.js",
    )
    for place in places:
        if (_FACTORIES / place).exists():
            return _only_match(_FACTORIES / place, r'_bytecode = "(0x[0-9a-f]+)"')
    raise StackProblem(f"the npm package has no bytecode of {contract}: run `make setup`")


def anvil() -> str:
    """The anvil binary of this machine's platform."""
    system = platform.system().lower()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    binary = MODULES / f"@foundry-rs/anvil-{system}-{machine}" / "bin" / "anvil"
    if not binary.exists():
        raise StackProblem(f"there is no anvil for {system}-{machine} in {MODULES}: run `make setup`")
    return str(binary)


def _words(*addresses: str) -> str:
    """Constructor arguments, hex without 0x."""
    return "".join(address[2:].lower().rjust(64, "0") for address in addresses)


def _multicall3() -> str:
    return _only_match(_VIEM_CONSTANTS, r"multicall3Bytecode = '(0x[0-9a-f]+)'")


def _only_match(file: Path, pattern: str) -> str:
    found = re.findall(pattern, file.read_text()) if file.exists() else []
    if len(found) != 1:
        raise StackProblem(f"{file} is not the file it should be: run `make setup`")
    return str(found[0])
