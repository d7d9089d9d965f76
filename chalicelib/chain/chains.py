"""The networks that this deployment has nodes for."""

from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network
from chalicelib.chain.evm import EvmChain
from chalicelib.chain.tron import TronChain


class Chains:
    """The networks that have a node, by name. Chains are made on first use and kept with the container."""

    def __init__(self, secrets: Any) -> None:
        self._secrets = secrets
        self._chains: dict[str, EvmChain] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, name: str) -> EvmChain:
        """Raises ChainUnavailable when the deployment has no node for the network."""
        if name not in self._chains:
            url = self._secrets.rpc_urls.get(name)
            if url is None:
                raise ChainUnavailable(f"This deployment has no node for {name}")
            self._chains[name] = self._made(name, url)
        return self._chains[name]

    def tron(self) -> TronChain:
        """Tron's node, for what only Tron has. Raises ChainUnavailable when the deployment has none."""
        chain = self.of("tron")
        assert isinstance(chain, TronChain), "the network named tron is of the family tron"
        return chain

    def _made(self, name: str, url: str) -> EvmChain:
        known = network(name)
        if known is not None and known.family == "tron":
            return TronChain(name, url, self._secrets.tron_api_key)
        return EvmChain(name, url)
