"""The networks for which this deployment has nodes, and their `Chain`s."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.networks import find_network

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.escrows import Escrows
    from chalicelib.chains.nodes.evm import EvmChain
    from chalicelib.chains.nodes.protocol import Chain
    from chalicelib.chains.nodes.tron import TronChain

_PORTS = {"http": ":80", "https": ":443"}


class Chains:
    """The chains by the names of their networks. A chain is created on first use, and anew if its URLs have changed."""

    def __init__(
        self,
        secrets: Any,
        escrows: "Escrows | None" = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_error: Callable[[str], None] = lambda network: None,
        on_disagreement: Callable[[str, str], None] = lambda network, reason: None,
    ) -> None:
        """`escrows` are the contracts of commerce payments that replace those of the catalogue.

        `on_error` is called with the network of each request to a node that failed, `on_disagreement` with a network
        and the reason where its nodes say different things of what decides (chains/nodes/agreement.py).
        """
        self._secrets = secrets
        self._escrows = escrows or {}
        self._clock = clock
        self._on_error, self._on_disagreement = on_error, on_disagreement
        self._chains: dict[str, tuple[tuple[str, ...], Chain]] = {}

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self._secrets.rpc_urls)

    def of(self, name: str) -> "Chain":
        """The chain of a network. Raises ChainUnavailable if the deployment has no node for it."""
        urls = self._secrets.rpc_urls.get(name)
        if urls is None:
            raise ChainUnavailable(f"This deployment has no node for {name}")
        known = self._chains.get(name)
        if known is None or known[0] != urls:
            known = self._chains[name] = urls, self._create(name, urls)
        return known[1]

    def evm(self, name: str) -> "EvmChain":
        """An EVM chain, with the methods that Tron does not have. Raises ChainUnavailable without a node."""
        return cast("EvmChain", self.of(name))

    def tron(self) -> "TronChain":
        """The Tron chain, with the methods that EVM chains do not have. Raises ChainUnavailable without a node."""
        return cast("TronChain", self.of("tron"))

    def _create(self, name: str, urls: tuple[str, ...]) -> "Chain":
        """The chain by its node, or by several, which share the time that one would have.

        A URL that is there twice, in whatever spelling, is one node: it does not confirm itself.
        """
        urls = tuple({endpoint_of(url): url for url in reversed(urls)}.values())[::-1]
        if len(urls) == 1:
            return self._of_node(name, urls[0], 1)
        from chalicelib.chains.nodes.nodes import Nodes

        each = [(host_of(url), self._of_node(name, url, 1 / len(urls))) for url in urls]
        return cast("Chain", Nodes(each, self._clock, self._on_disagreement))

    def _of_node(self, name: str, url: str, share: float) -> "Chain":
        """Imports the module of the family here, so that processes which read no chain do not load it."""
        known = find_network(name)
        if known is not None and known.family == "tron":
            from chalicelib.chains.nodes.tron import TronChain

            return TronChain(name, url, self._secrets.tron_api_key, share, partial(self._on_error, name))
        from chalicelib.chains.catalogue.escrows import escrow_contracts
        from chalicelib.chains.nodes.evm import EvmChain

        contracts = escrow_contracts(name, self._escrows)
        return EvmChain(name, url, contracts, share, partial(self._on_error, name))


def endpoint_of(url: str) -> tuple[str, str, str]:
    """What is the same of two URLs of one node: host and port, path, query. Whatever the case of the host, a port that
    goes without saying, or a slash at the end, and by http as by https."""
    parts = urlsplit(url.strip())
    place = host_of(url.strip()).lower().removesuffix(_PORTS.get(parts.scheme, "")).rstrip(".")
    return place, unquote(parts.path).rstrip("/"), parts.query


def host_of(url: str) -> str:
    """The host and port of a node's URL, without what may be secret: its path, query, user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]
