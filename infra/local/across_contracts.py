"""The contracts of Across, a bridge, on local chains: the real ones at their production addresses; calls of contracts.

They are those of npm @across-protocol/contracts (AGPL-3.0, the SpokePool BUSL-1.1, the handler GPL-3.0), of which only
compiled files are read, for tests and demonstrations: nothing of it is part of the service.
"""

import json
from collections.abc import Sequence
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, ACROSS_SPOKE_POOL, address_of
from infra.local.bytecode import DEPLOYER, MODULES
from infra.local.chain import Chain
from infra.local.process import StackProblem

QUOTE_SECONDS, FILL_SECONDS = 3600, 21600
"""How old the time of a quote may be when it is deposited, and how far ahead the end of the time to fill it."""
_ARTEFACTS = MODULES / "@across-protocol/contracts/artifacts"
_SPOKE_POOL = "contracts/Ethereum_SpokePool.sol/Ethereum_SpokePool.json"
_PROXY = "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol/ERC1967Proxy.json"
_HANDLER = "contracts/handlers/MulticallHandler.sol/MulticallHandler.json"
_IMPLEMENTATION = evm_address("0x" + keccak256(b"the implementation of the SpokePool")[-20:].hex())
_IMPLEMENTATION_SLOT = hex(int.from_bytes(keccak256(b"eip1967.proxy.implementation")) - 1)


def install_across(chain: Chain) -> None:
    """Puts the contracts on a chain unless they exist; anvil's first account owns the SpokePool."""
    pool, handler = address_of(ACROSS_SPOKE_POOL, chain.network), address_of(ACROSS_HANDLER, chain.network)
    if chain.rpc("eth_getCode", pool, "latest") != "0x":
        return
    chain.batch(
        [
            ("anvil_setCode", _IMPLEMENTATION, _runtime_of_pool(chain)),
            ("anvil_setStorageAt", pool, _IMPLEMENTATION_SLOT, f"0x{_IMPLEMENTATION[2:].lower():0>64}"),
            ("anvil_setCode", pool, _artefact(_PROXY)["deployedBytecode"]),
        ]
    )
    chain.etch(_artefact(_HANDLER)["bytecode"], (handler,))
    data = call_data("initialize(uint32,address)", ["uint32", "address"], [0, DEPLOYER])
    sent = chain.send_as(DEPLOYER, {"to": pool, "data": data})
    chain.mine()  # at once, also if blocks are mined by time
    if chain.receipt(sent)["status"] != "0x1":
        raise StackProblem(f"the SpokePool on {chain.network} could not be initialised")


def call_data(function: str, types: Sequence[str], values: Sequence[Any]) -> str:
    """Returns the calldata of a call like `approve(address,uint256)` as hex."""
    return "0x" + (keccak256(function.encode())[:4] + encode_abi(types, values)).hex()


def encode_abi(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Returns arguments as a contract takes them."""
    from eth_abi import encode

    return encode(types, values)


def topic_of(event: str) -> str:
    """Returns the first topic of an event, given its signature, as hex."""
    return "0x" + keccak256(event.encode()).hex()


def send_call(chain: Chain, sender: str, to: str, data: str) -> dict[str, Any]:
    """Sends a call from any sender and returns its receipt, which may be of a reverted one."""
    return chain.receipt(chain.send_as(sender, {"to": to, "data": data}))


def send_good_call(chain: Chain, sender: str, to: str, data: str) -> dict[str, Any]:
    """Sends a call that has to succeed, and returns its receipt. Raises StackProblem if it reverts."""
    receipt = send_call(chain, sender, to, data)
    if receipt["status"] != "0x1":
        raise StackProblem(f"a call to {to} on {chain.network} reverted")
    return receipt


def _runtime_of_pool(chain: Chain) -> str:
    """Returns the code that the SpokePool's constructor returns at its address.

    The constructor is called like a function, because the code is longer than a chain lets a transaction deploy.
    """
    arguments = encode_abi(["address", "uint32", "uint32"], [ZERO_ADDRESS, QUOTE_SECONDS, FILL_SECONDS])
    creation = _artefact(_SPOKE_POOL)["bytecode"] + arguments.hex()
    call = {"to": _IMPLEMENTATION, "data": "0x"}
    return str(chain.rpc("eth_call", call, "latest", {_IMPLEMENTATION: {"code": creation}}))


def _artefact(file: str) -> dict[str, str]:
    path = _ARTEFACTS / file
    if not path.exists():
        raise StackProblem(f"the npm package has no {path.name}: run `make setup`")
    content: dict[str, str] = json.loads(path.read_text())
    return content
