"""The networks that this deployment has nodes for."""

from typing import TYPE_CHECKING, Any, cast

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain
    from chalicelib.chain.protocol import Chain
    from chalicelib.chain.tron import TronChain


class Chains:
    """The networks that have a node, by name. A chain is created on first use and kept as long as the container."""

    def __init__(self, secrets: Any) -> None:
        self._secrets = secrets
        self._chains: dict[str, Chain] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, name: str) -> "Chain":
        """Raises ChainUnavailable when the deployment has no node for the network."""
        if name not in self._chains:
            url = self._secrets.rpc_urls.get(name)
            if url is None:
                raise ChainUnavailable(f"This deployment has no node for {name}")
            self._chains[name] = self._created(name, url)
        return self._chains[name]

    def evm(self, name: str) -> "EvmChain":
        """An EVM network, for what Tron does not have. Raises ChainUnavailable when the deployment has no node."""
        return cast("EvmChain", self.of(name))

    def tron(self) -> "TronChain":
        """Tron, for what EVM networks do not have. Raises ChainUnavailable when the deployment has no node."""
        return cast("TronChain", self.of("tron"))

    def _created(self, name: str, url: str) -> "Chain":
        """The family's module is imported here: a process that reads no chain does not pay for it."""
        known = network(name)
        if known is not None and known.family == "tron":
            from chalicelib.chain.tron import TronChain

            return TronChain(name, url, self._secrets.tron_api_key)
        from chalicelib.chain.evm import EvmChain

        return EvmChain(name, url)
