"""The networks for which this deployment has nodes, and their `Chain`s."""

from typing import TYPE_CHECKING, Any, cast

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network

if TYPE_CHECKING:
    from chalicelib.catalogue.escrows import Escrows
    from chalicelib.chain.evm import EvmChain
    from chalicelib.chain.protocol import Chain
    from chalicelib.chain.tron import TronChain


class Chains:
    """The chains by the names of their networks. A chain is created on first use and kept for the container's life."""

    def __init__(self, secrets: Any, escrows: "Escrows | None" = None) -> None:
        """`escrows` are the contracts of commerce payments that replace those of the catalogue."""
        self._secrets = secrets
        self._escrows = escrows or {}
        self._chains: dict[str, Chain] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, name: str) -> "Chain":
        """The chain of a network. Raises ChainUnavailable if the deployment has no node for it."""
        if name not in self._chains:
            url = self._secrets.rpc_urls.get(name)
            if url is None:
                raise ChainUnavailable(f"This deployment has no node for {name}")
            self._chains[name] = self._create(name, url)
        return self._chains[name]

    def evm(self, name: str) -> "EvmChain":
        """An EVM chain, with the methods that Tron does not have. Raises ChainUnavailable without a node."""
        return cast("EvmChain", self.of(name))

    def tron(self) -> "TronChain":
        """The Tron chain, with the methods that EVM chains do not have. Raises ChainUnavailable without a node."""
        return cast("TronChain", self.of("tron"))

    def _create(self, name: str, url: str) -> "Chain":
        """Imports the module of the family here, so that processes which read no chain do not load it."""
        known = network(name)
        if known is not None and known.family == "tron":
            from chalicelib.chain.tron import TronChain

            return TronChain(name, url, self._secrets.tron_api_key)
        from chalicelib.catalogue.escrows import escrow_contracts
        from chalicelib.chain.evm import EvmChain

        return EvmChain(name, url, escrow_contracts(name, self._escrows))
