"""The texts for addresses, amounts and contracts in explanations, from the catalogue."""

from collections.abc import Iterable
from datetime import UTC, datetime

from chalicelib.base.addresses import address_of_family, evm_address_of, same_address, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import MAX_UINT256, format_amount
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ERC20_CONVERSION_RATES,
    LIFI_RECEIVER,
    MULTICALL3,
    NATIVE_CONVERSION_RATES,
    PERMIT2,
    contracts_on,
)
from chalicelib.chains.catalogue.conversions import currency_with_hash, on_chain_decimals
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.catalogue.tokens import Token, token_at, token_with_id

_NOT_SIGNED_FOR = (
    ACROSS_HANDLER, LIFI_RECEIVER, PERMIT2, MULTICALL3, ERC20_CONVERSION_RATES, NATIVE_CONVERSION_RATES
)  # fmt: skip
"""Contracts that no transaction of a wallet calls here, so that explanations do not name them."""


class Wording:
    """The texts for one network. Without a network, addresses are hex, and no token or contract is known.

    `escrow` are the contracts of commerce payments, if they are not those of the catalogue.
    """

    def __init__(self, network: Network | None, escrow: EscrowContracts | None = None) -> None:
        self.network = network
        coin = token_with_id(network.native_currency_id) if network and network.native_currency_id else None
        self.coin, self._coin_hash = coin, None if coin is None else coin.hash.lower()
        there = contracts_on(network.name) if network else {}
        self._deployed = {name: address for name, address in there.items() if name not in _NOT_SIGNED_FOR}
        if escrow is not None:
            self._deployed |= escrow.names
        # a batch names the same payees, token and fee address again and again
        self._addresses: dict[bytes, str] = {}
        self._tokens: dict[str, Token | None] = {}

    def address(self, raw: bytes) -> str:
        """The 20 bytes of an address as text: EIP-55, or base58 on Tron."""
        known = self._addresses.get(raw)
        if known is None:
            is_tron = self.network is not None and self.network.family == "tron"
            known = self._addresses[raw] = tron_address_of(raw) if is_tron else evm_address_of(raw)
        return known

    def canonical(self, address: str) -> str:
        """The address in the network's spelling. Raises ValueError if it is not an address of the network."""
        family = self.network.family if self.network else "evm" if address.startswith("0x") else "tron"
        try:
            return address_of_family(address, family)
        except BadRequest as error:
            raise ValueError("its address is not one of the network") from error

    def address_of_contract(self, contract: str) -> str | None:
        """The address of a contract on this network, if it is deployed there."""
        return self._deployed.get(contract)

    def contract_at(self, address: str) -> str | None:
        """The name of the contract at an address, if it is one that this package calls."""
        return next((name for name, deployed in self._deployed.items() if same_address(deployed, address)), None)

    def token_at(self, address: str | None) -> Token | None:
        """The listed token with this contract address; None for the native coin, which has no contract."""
        if self.network is None or not address:
            return None
        if address not in self._tokens:
            token = token_at(self.network.name, address)
            self._tokens[address] = None if token is None or token.is_native else token
        return self._tokens[address]

    def is_coin(self, address: str) -> bool:
        """Whether this is the hash of the native coin. True without a network, as it is not known."""
        return address.lower() == self._coin_hash if self.network else True

    def currency(self, hash: str) -> Token | None:
        """The listed currency of a conversion path, which is fiat, a token or the native coin."""
        return currency_with_hash(self.network.name, hash) if self.network else None

    def invoice_amount(self, units: int, hash: str) -> str:
        """An amount to convert, as the contracts count it, for a summary: `12.5 USD`."""
        currency = self.currency(hash)
        if currency is None:
            return f"{units} units of the currency {hash}"
        return f"{format_amount(units, on_chain_decimals(currency))} {currency.symbol}"

    def spender(self, address: str) -> str:
        """The spender of an allowance: the contract's name, or the address, marked as no payment contract."""
        unknown = f"{address}, which is not a payment contract," if self.network else address
        return self.contract_at(address) or unknown

    def human(self, units: int, token: Token | None) -> str | None:
        """An amount such as `12.5 USDC`; None if the token, and so its decimals, is not known."""
        return None if token is None else f"{format_amount(units, token.decimals)} {token.symbol}"

    def token_amount(self, units: int, address: str | None) -> str:
        """An amount of the token at an address for a summary; the address is None if the token is not known."""
        return self.human(units, self.token_at(address)) or f"{units} base units of {self.symbol(address)}"

    def coin_amount(self, units: int) -> str:
        """An amount of the native coin for a summary."""
        return self.human(units, self.coin) or f"{units} base units of the native coin"

    def symbol(self, address: str | None) -> str:
        """The name of a token for a summary."""
        token = self.token_at(address)
        return token.symbol if token else f"the unlisted token {address}" if address else "a token that is not told"

    def allowance(self, units: int, address: str | None) -> str:
        """The amount that an approval allows; the largest uint256 means any amount."""
        if units < MAX_UINT256:
            return f"up to {self.token_amount(units, address)}"
        return f"any amount of {self.symbol(address)}"


def time_text(seconds: int) -> str:
    """A Unix time in words. Raises ValueError after the year 9999."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        raise ValueError("a time is after the year 9999") from None


def join_words(parts: Iterable[str]) -> str:
    """The parts as a list in a sentence: `a`, `a and b`, `a, b and c`; empty for none."""
    *most, last = tuple(parts) or ("",)
    return f"{', '.join(most)} and {last}" if most else last
