"""The networks that this deployment has nodes for."""

from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network
from chalicelib.chain.evm import EvmChain
from chalicelib.chain.protocol import Chain
from chalicelib.chain.tron import TronChain


class Chains:
    """The networks that have a node, by name. A chain is created on first use and kept as long as the container."""

    def __init__(self, secrets: Any) -> None:
        self._secrets = secrets
        self._chains: dict[str, EvmChain | TronChain] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, name: str) -> Chain:
        """Raises ChainUnavailable when the deployment has no node for the network."""
        return self._chain(name)

    def evm(self, name: str) -> EvmChain:
        """An EVM network, for what Tron does not have. Raises ChainUnavailable when the deployment has no node."""
        chain = self._chain(name)
        assert isinstance(chain, EvmChain), f"{name} is an EVM network"
        return chain

    def tron(self) -> TronChain:
        """Tron, for what EVM networks do not have. Raises ChainUnavailable when the deployment has no node."""
        chain = self._chain("tron")
        assert isinstance(chain, TronChain), "the network named tron is of the family tron"
        return chain

    def _chain(self, name: str) -> EvmChain | TronChain:
        if name not in self._chains:
            url = self._secrets.rpc_urls.get(name)
            if url is None:
                raise ChainUnavailable(f"This deployment has no node for {name}")
            known = network(name)
            is_tron = known is not None and known.family == "tron"
            self._chains[name] = TronChain(name, url, self._secrets.tron_api_key) if is_tron else EvmChain(name, url)
        return self._chains[name]
