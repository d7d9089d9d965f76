"""The catalogue of currencies: tokens, native coins and fiat, with lookups by id, network, symbol and address."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from chalicelib.base.addresses import address_of_log
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.data import InvalidData, load, path_of
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network, canonical_name, find_network

FIAT = "fiat"
_NATIVE_DECIMALS = 18
_FIAT_DECIMALS = 2

# Ids that clients use for tokens which have another id in the catalogue.
_ALIASES = {
    "USDC-base-base": "USDC-base",
    "USDC-matic": "USDCn-matic",
    "USDC-optimism": "USDCn-optimism",
    "USDC-sepolia": "fUSDC-sepolia",
    "USDT-sepolia": "fUSDT-sepolia",
    "USDT0-arbitrum-one": "USDT-arbitrum-one",
    "USDT0-matic": "USDT-matic",
    "USDT0-optimism": "USDT-optimism",
}


@frozen
class Token:
    """One currency with the nine fields of the interface.

    `type` is ERC20, TRC20, ETH (any native coin) or ISO4217. Native coins and fiat have no contract: their `hash` is
    computed, and a native coin's `address` is its hash. Responses omit the `hash` of a TRC20 (specification, Token).
    """

    id: str
    name: str
    symbol: str
    decimals: int
    address: str
    network: str
    type: str
    hash: str
    chain_id: int

    @property
    def is_native(self) -> bool:
        return self.type == "ETH"

    @property
    def is_fiat(self) -> bool:
        return self.type == "ISO4217"


def token_with_id(id: str) -> Token | None:
    """The token with an id, in any case, an alias of the id, or a network alias in it (`USDT-polygon`); or None."""
    folded = id.lower()
    symbol, _, suffix = folded.rpartition("-")
    chain = find_network(suffix)
    return _by_folded_id().get(f"{symbol}-{chain.name}" if chain and symbol else folded)


def require_token(id: str) -> Token:
    """The token with an id that is stored, or otherwise known to be in the catalogue."""
    token = _by_id().get(id) or token_with_id(id)
    assert token is not None, f"{id} is not a catalogued currency"
    return token


def dollar() -> Token:
    """The US dollar."""
    return _by_id()["USD"]


def family_of(token: Token) -> str:
    """The family of a token's network, `evm` or `tron`. Fiat has none."""
    chain = find_network(token.network)
    assert chain is not None, "fiat has no network family"
    return chain.family


def find_tokens(network: str | None = None, symbol: str | None = None) -> tuple[Token, ...]:
    """The tokens of a network (a name, an alias or `fiat`) with a symbol (case-insensitive); None matches all."""
    name = None if network is None else canonical_name(network)
    folded = None if symbol is None else symbol.lower()
    return tuple(
        entry
        for entry in _by_id().values()
        if (name is None or entry.network == name) and (folded is None or entry.symbol.lower() == folded)
    )


def token_at(network: str, address: str) -> Token | None:
    """The token with a contract address on a network, or the native coin with this hash; None if it is not listed."""
    return _by_address().get((canonical_name(network), _address_key(address)))


def token_of_log(name: str, address: str | None) -> Token | None:
    """The token with the address in a log of a network (None: the native coin); None if it is not in the catalogue."""
    chain = find_network(name)
    if chain is None:
        return None
    if address is not None:
        return token_at(chain.name, address_of_log(address, chain.family))
    return token_with_id(chain.native_currency_id) if chain.native_currency_id else None


def currency_hash(type: str, symbol: str) -> str:
    """The hash that replaces a contract address: the last 20 bytes of keccak256 of a lower-case JSON text."""
    text = f'{{"type":"{type}","value":"{symbol}"}}'.lower()
    return "0x" + keccak256(text.encode())[-20:].hex()


def _address_key(address: str) -> str:
    # Hex addresses are compared without case, base58 addresses exactly.
    return address.lower() if address.startswith("0x") else address


@cache
def _by_id() -> dict[str, Token]:
    catalogue = load("tokens")
    return {
        entry.id: entry
        for part in (
            *(_tokens_of(chain, catalogue) for chain in ALL_NETWORKS),
            _fiat_tokens(catalogue["fiat"], catalogue["fiatDecimals"]),
        )
        for entry in part
    }


@cache
def _by_folded_id() -> dict[str, Token]:
    """The tokens by their ids and the aliases of these, in lower case."""
    known = _by_id()
    aliases = {alias: known[id] for alias, id in _ALIASES.items()}
    return {name.lower(): entry for name, entry in (known | aliases).items()}


@cache
def _by_address() -> dict[tuple[str, str], Token]:
    return {(entry.network, _address_key(entry.address)): entry for entry in _by_id().values()}


def _tokens_of(chain: Network, catalogue: dict[str, Any]) -> Iterator[Token]:
    if chain.native is not None and chain.native_currency_id is not None:
        address = currency_hash("ETH", chain.native.symbol)
        yield Token(
            id=chain.native_currency_id,
            name=chain.native.name,
            symbol=chain.native.symbol,
            decimals=_NATIVE_DECIMALS,
            address=address,
            network=chain.name,
            type="ETH",
            hash=address,
            chain_id=chain.chain_id,
        )
    for key, entry in catalogue["contracts"].get(chain.name, {}).items():
        if missing := {"decimals", "address"} - entry.keys():
            raise InvalidData(f"{path_of('tokens')}: {key} on {chain.name} has no {' and no '.join(sorted(missing))}")
        symbol = entry.get("symbol", key)
        yield Token(
            id=f"{key}-{chain.name}",
            name=entry.get("name", symbol),
            symbol=symbol,
            decimals=entry["decimals"],
            address=entry["address"],
            network=chain.name,
            type="TRC20" if chain.family == "tron" else "ERC20",
            hash=entry["address"],
            chain_id=chain.chain_id,
        )


def _fiat_tokens(names: dict[str, str], exceptions: dict[str, list[str]]) -> Iterator[Token]:
    decimals = {code: int(count) for count, codes in exceptions.items() for code in codes}
    for code, name in names.items():
        yield Token(
            id=code,
            name=name,
            symbol=code,
            decimals=decimals.get(code, _FIAT_DECIMALS),
            address="0x" + code.encode().hex().zfill(40),
            network=FIAT,
            type="ISO4217",
            hash=currency_hash("ISO4217", code),
            chain_id=0,
        )
