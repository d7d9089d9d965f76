"""The contracts of commerce payments on local chains: our doubles, or the runtime code that ESCROW_RUNTIME names.

ESCROW_RUNTIME is a file with the runtime code of AuthCaptureEscrow as hex, or with a JSON object of such texts by the
names of the contracts: AuthCaptureEscrow, TokenStore and the collectors. What it does not hold is our double.
"""

import json
import os
from pathlib import Path

from chalicelib.base.addresses import address_bytes, evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import MULTICALL3, PERMIT2, address_of
from chalicelib.chains.catalogue.escrows import (
    AUTH_CAPTURE_ESCROW,
    ERC3009_COLLECTOR,
    PERMIT2_COLLECTOR,
    PRE_APPROVAL_COLLECTOR,
    REFUND_COLLECTOR,
    EscrowContracts,
    escrow_contracts,
    read_escrows,
)
from infra.local.bytecode import Artefact, returning, words
from infra.local.compiling import compile_contract
from infra.local.process import StackProblem

STORE = "TokenStore"
LOCAL_ESCROWS = {
    "sepolia": {
        "preApproval": address_of(PRE_APPROVAL_COLLECTOR, "base"),
        "erc3009": address_of(ERC3009_COLLECTOR, "base"),
        "permit2": address_of(PERMIT2_COLLECTOR, "base"),
        "operatorRefund": address_of(REFUND_COLLECTOR, "base"),
    }
}
"""The setting ESCROW_CONTRACTS of the local stack: no source names collectors on sepolia, so here they are where those
of base are."""


def local_escrow(network: str) -> EscrowContracts | None:
    """The contracts of commerce payments on a local chain; None if the network has none."""
    return escrow_contracts(network, read_escrows(LOCAL_ESCROWS))


def escrow_artefacts(network: str) -> tuple[Artefact, ...]:
    """Returns the escrow, its store of tokens and its collectors; nothing for a network without them.

    Raises StackProblem if ESCROW_RUNTIME names no file of its form.
    """
    contracts = local_escrow(network)
    if contracts is None:
        return ()
    escrow, store = contracts.escrow, token_store_of(contracts.escrow)
    multicall, permit2 = address_of(MULTICALL3, network), address_of(PERMIT2, network)
    arguments = {
        AUTH_CAPTURE_ESCROW: words(store),
        STORE: words(escrow),
        PRE_APPROVAL_COLLECTOR: words(escrow),
        ERC3009_COLLECTOR: words(escrow, multicall),
        PERMIT2_COLLECTOR: words(escrow, permit2, multicall),
        REFUND_COLLECTOR: words(escrow),
    }
    given, addresses = _read_runtimes(), contracts.names | {STORE: store}
    return tuple(
        Artefact(name, returning(given[name]) if name in given else compile_contract(name) + words_, (addresses[name],))
        for name, words_ in arguments.items()
    )


def token_store_of(escrow: str) -> str:
    """Returns where the constructor of the escrow creates the code of its stores of tokens: its first contract.

    The address is the end of keccak256( 0xd6 | 0x94 | escrow | 0x01 ), the RLP of the creator and its nonce.
    """
    return evm_address("0x" + keccak256(b"\xd6\x94" + address_bytes(escrow) + b"\x01")[-20:].hex())


def _read_runtimes() -> dict[str, str]:
    path = os.environ.get("ESCROW_RUNTIME")
    if not path:
        return {}
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
        found = json.loads(text) if text.startswith("{") else {AUTH_CAPTURE_ESCROW: text}
        if all(bytes.fromhex(code.removeprefix("0x")) for code in found.values()):
            return dict(found)
    except (OSError, ValueError, AttributeError):
        pass
    raise StackProblem(f"ESCROW_RUNTIME: {path} has no runtime code as hex, or as JSON by the names of contracts")
