"""The contracts of commerce payments on each network: the escrow, and the collectors that move tokens into it."""

from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.contracts import contracts_on, networks_with
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.catalogue.networks import require_network

AUTH_CAPTURE_ESCROW = "AuthCaptureEscrow"
PRE_APPROVAL_COLLECTOR = "PreApprovalPaymentCollector"
ERC3009_COLLECTOR = "ERC3009PaymentCollector"
PERMIT2_COLLECTOR = "Permit2PaymentCollector"
REFUND_COLLECTOR = "OperatorRefundCollector"
ESCROW_VERSION = "1.0"
"""The version of the contracts whose calls and events are known here."""
_NAMES = {
    "escrow": AUTH_CAPTURE_ESCROW,
    "preApproval": PRE_APPROVAL_COLLECTOR,
    "erc3009": ERC3009_COLLECTOR,
    "permit2": PERMIT2_COLLECTOR,
    "operatorRefund": REFUND_COLLECTOR,
}


@frozen
class EscrowContracts:
    """Addresses on one network, EIP-55: the escrow, three collectors of payments and the collector of refunds.

    The collectors take the tokens from the payer: `pre_approval` by an allowance and a call of the payer, `erc3009` and
    `permit2` by a signature; `operator_refund` takes them from the operator, by an allowance.
    """

    network: str
    escrow: str
    pre_approval: str
    erc3009: str
    permit2: str
    operator_refund: str

    @property
    def chain_id(self) -> int:
        return require_network(self.network).chain_id

    @property
    def names(self) -> dict[str, str]:
        """The addresses by the names of the contracts."""
        addresses = (self.escrow, self.pre_approval, self.erc3009, self.permit2, self.operator_refund)
        return dict(zip(_NAMES.values(), addresses, strict=True))


Escrows = Mapping[str, EscrowContracts]
"""The contracts of some networks, by the network's name."""


def escrow_contracts(network: str, overrides: Escrows) -> EscrowContracts | None:
    """The contracts of a network: those of the setting, else those of the catalogue; None if it has not all five."""
    if (override := overrides.get(network)) is not None:
        return override
    there = contracts_on(network)
    found = [there[name] for name in _NAMES.values() if name in there]
    return EscrowContracts(network, *found) if len(found) == len(_NAMES) else None


def escrow_networks(overrides: Escrows) -> tuple[str, ...]:
    """The networks that have the contracts, in alphabetical order."""
    known = {*networks_with(AUTH_CAPTURE_ESCROW), *overrides}
    return tuple(sorted(name for name in known if escrow_contracts(name, overrides) is not None))


def read_escrows(values: Any) -> dict[str, EscrowContracts]:
    """The setting ESCROW_CONTRACTS: a JSON object by network, each of the form

        {"version": "1.0", "escrow": "0x...", "preApproval": "0x...", "erc3009": "0x...", "permit2": "0x...",
         "operatorRefund": "0x..."}

    Addresses that are left out are those of the catalogue. Raises ValueError with what is wrong.
    """
    if not isinstance(values, dict):
        raise ValueError("must be a JSON object by network")
    return {each.network: each for each in (_contracts(name, value) for name, value in values.items())}


def _contracts(name: str, given: Any) -> EscrowContracts:
    known = network_named(name)
    if known is None or known.family != "evm":
        raise ValueError(f"{name} is not a network that can have the escrow")
    if not isinstance(given, dict) or given.keys() - {"version", *_NAMES}:
        raise ValueError(f"{name}: must be an object with some of version, {', '.join(_NAMES)}")
    if given.get("version", ESCROW_VERSION) != ESCROW_VERSION:
        raise ValueError(f"{name}: version must be {ESCROW_VERSION}, whose calls and events the service knows")
    return EscrowContracts(known.name, *(_address(known.name, key, given.get(key)) for key in _NAMES))


def _address(network: str, key: str, given: Any) -> str:
    address = contracts_on(network).get(_NAMES[key]) if given is None else given
    if address is None:
        raise ValueError(f"{network}: {key} is missing, and the catalogue has no {_NAMES[key]} there")
    try:
        return evm_address(address)
    except (BadRequest, ValueError, TypeError, AttributeError):
        raise ValueError(f"{network}: {key} is not an address") from None
