"""The networks on which payments are made, each with all that is known of it, as networks.json has it.

Settings override some of it for a deployment (docs/operations.md). A network without a key that the code needs is
refused here, when a process starts, with a sentence that names the file, the network and the key.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.data import load


@frozen
class Coin:
    """The native coin of a network, as wallets name it."""

    name: str
    symbol: str
    decimals: int


@frozen
class NativeCurrency:
    """The native coin as a currency of the catalogue: its id is `<symbol>-<network>`.

    `price_id` is its id at the price source. `feed` is the symbol of the currency whose price feed is used on networks
    with feeds, where that is not its own symbol.
    """

    symbol: str
    name: str
    price_id: str | None
    feed: str | None


@frozen
class RelayerLimits:
    """What holds for the service's own account on a network: in native coins as text, gas prices in gwei.

    `recurring_fee` is what a payer of a recurring payout pays for each payment unless the operator sets it, in US
    dollars as text.
    """

    daily_limit: str
    low_balance: str
    max_fee_gwei: int
    recurring_fee: str


@frozen
class AbsencePolicy:
    """How it is known that blocks have no more payments than a node lists (payments/scanning/checks/absence.py).

    The headers of each block are read, or of one in `headers_every`, or none with 0. The reading goes on after blocks
    of which the evidence is `moves_on` at least. `receipts_recorded_below` is the block from which on no receipts of
    the network are among those that the code is tested with, None if there is no such block: receipts that do not give
    the root of their header are no contradiction from there on.
    """

    headers_every: int
    moves_on: str
    receipts_recorded_below: int | None


@frozen
class Network:
    """One network. `label` is its name in `chain` queries and in `paymentOptions`, `title` its name for people.

    `confirmations` is the number of blocks, the payment's own block included, that must exist before a payment is
    reported; it depends on how deep the chain's reorganisations reach. `log_range` is how many blocks one eth_getLogs
    call may span; hosted nodes commonly accept 2,000. `block_milliseconds` is about how long it takes until the next
    block. A transaction's page is `explorer_url` followed by its hash. `public_rpc_urls` are for wallets that add the
    network; the service itself does not use them. Tron has no `native` currency and no `relayer`.
    """

    name: str
    chain_id: int
    label: str
    family: Literal["evm", "tron"]
    confirmations: int
    log_range: int
    block_milliseconds: int
    native: NativeCurrency | None
    aliases: tuple[str, ...]
    title: str
    coin: Coin
    absence: AbsencePolicy
    explorer_url: str
    public_rpc_urls: tuple[str, ...]
    relayer: RelayerLimits | None
    safe_service_url: str | None
    """The Safe Transaction Service; None if Safe has none there."""
    scan_seconds: int | None
    """The seconds between two ticks of the scanner, where they are not those of all networks."""
    bridge_place: int | None
    """Its place in the interface's list of the networks that are paid from; None if nothing is paid from there."""
    has_p256: bool
    """Whether it checks signatures of passkeys by a precompile (RIP-7212, EIP-7951)."""
    is_test: bool
    """Whether its money is worth nothing."""

    @property
    def native_currency_id(self) -> str | None:
        """The id of its native coin as a currency, such as ETH-base-base."""
        return f"{self.native.symbol}-{self.name}" if self.native else None


def _network(name: str, entry: Mapping[str, Any]) -> Network:
    is_evm, absence = entry["family"] == "evm", entry["absence"]
    native, relayer = (entry["currency"], entry["relayer"]) if is_evm else (None, None)
    return Network(
        name=name,
        chain_id=entry["chainId"],
        label=entry["label"],
        family=entry["family"],
        confirmations=entry["confirmations"],
        log_range=entry["logRange"],
        block_milliseconds=entry["blockMilliseconds"],
        native=native and NativeCurrency(native["symbol"], native["name"], native.get("priceId"), native.get("feed")),
        aliases=tuple(entry.get("aliases", ())),
        title=entry["title"],
        coin=Coin(**entry["coin"]),
        absence=AbsencePolicy(absence["headersEvery"], absence["movesOn"], absence.get("receiptsRecordedBelow")),
        explorer_url=entry["explorer"],
        public_rpc_urls=tuple(entry["rpcUrls"]),
        relayer=relayer
        and RelayerLimits(relayer["dailyLimit"], relayer["lowBalance"], relayer["maxFeeGwei"], relayer["recurringFee"]),
        safe_service_url=entry.get("safeServiceUrl"),
        scan_seconds=entry.get("scanSeconds"),
        bridge_place=entry.get("bridgePlace"),
        has_p256=entry.get("hasP256", False),
        is_test=entry.get("isTest", False),
    )


def _networks() -> tuple[Network, ...]:
    entries = load("networks")
    try:
        return tuple(_network(name, entry) for name, entry in entries.items())
    except (KeyError, TypeError):
        from chalicelib.chains.catalogue.network_entries import check  # says what is wrong in which entry

        check(entries)
        raise


ALL_NETWORKS: tuple[Network, ...] = _networks()


def find_network(name: str) -> Network | None:
    """The network with a name or an alias (`polygon` is matic, `ethereum` is mainnet), in any case, or None."""
    return _by_name().get(name.lower())


def require_network(name: str) -> Network:
    """The network with a name that is stored, or otherwise known to be in the catalogue. Raises KeyError."""
    return _by_name()[name]


def network_of_chain(chain_id: int) -> Network | None:
    return _by_chain().get(chain_id)


def relayer_limits(name: str) -> RelayerLimits:
    """What holds for the service's own account on an EVM network. Raises LookupError for any other name."""
    found = find_network(name)
    if found is None or found.relayer is None:
        raise LookupError(f"{name} is not an EVM network of networks.json, and only on those are there relayer limits")
    return found.relayer


def canonical_name(name: str) -> str:
    """The name of the network that has this name or alias, in any case; any other text is returned in lower case."""
    chain = find_network(name)
    return chain.name if chain else name.lower()


@cache
def _by_name() -> dict[str, Network]:
    return {name: entry for entry in ALL_NETWORKS for name in (entry.name, *entry.aliases)}


@cache
def _by_chain() -> dict[int, Network]:
    return {entry.chain_id: entry for entry in ALL_NETWORKS}
