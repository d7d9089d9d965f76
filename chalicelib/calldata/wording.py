"""How addresses, amounts and contracts are named in explanations: from the catalogue alone."""

from collections.abc import Iterable

from chalicelib.base.addresses import address_of_family, evm_address, same_address, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import MAX_UINT256, format_amount
from chalicelib.catalogue.contracts import BATCH, ERC20_FEE_PROXY, MULTI_SEND, NATIVE_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.catalogue.networks import Network
from chalicelib.catalogue.tokens import Token, token_at, token_with_id

_CONTRACTS = (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, BATCH, TRON_BATCH, MULTI_SEND)


class Wording:
    """The words for one network; without a network addresses are hex and no token or contract is known."""

    def __init__(self, network: Network | None) -> None:
        self.network = network
        coin = token_with_id(network.native_currency_id) if network and network.native_currency_id else None
        self.coin = coin
        self._deployed = {name: place for name in _CONTRACTS if (place := self._place(name))}

    def address(self, raw: bytes) -> str:
        """EIP-55, or base58 on Tron."""
        if self.network and self.network.family == "tron":
            return tron_address_of(raw)
        return evm_address("0x" + raw.hex())

    def spelled(self, address: str) -> str:
        """The same address as the network spells it. Raises ValueError when it is none of the network's."""
        family = self.network.family if self.network else "evm" if address.startswith("0x") else "tron"
        try:
            return address_of_family(address, family)
        except BadRequest as error:
            raise ValueError("its address is not one of the network") from error

    def deployed(self, contract: str) -> str | None:
        """Where a contract is on this network."""
        return self._deployed.get(contract)

    def contract_at(self, address: str) -> str | None:
        """The name of the contract at an address, if it is one of those we call."""
        return next((name for name, place in self._deployed.items() if same_address(place, address)), None)

    def token_at(self, address: str | None) -> Token | None:
        """The listed token with this contract; the native coin has none."""
        token = token_at(self.network.name, address) if self.network and address else None
        return None if token is None or token.is_native else token

    def is_coin(self, address: str) -> bool:
        """Whether this is the hash of the native coin. Without a network it cannot be told, and may be."""
        return self.coin is not None and same_address(self.coin.hash, address) if self.network else True

    def spender(self, address: str) -> str:
        """Who is allowed to take tokens: the contract's name, or the address and that it is none."""
        stranger = f"{address}, which is no payment contract," if self.network else address
        return self.contract_at(address) or stranger

    def human(self, units: int, token: Token | None) -> str | None:
        """`12.5 USDC`, None when the decimals are not known."""
        return None if token is None else f"{format_amount(units, token.decimals)} {token.symbol}"

    def tokens(self, units: int, address: str | None) -> str:
        """An amount in a sentence; `address` is the token's, None for a token that is not told."""
        return self.human(units, self.token_at(address)) or f"{units} base units of {self.symbol(address)}"

    def coins(self, units: int) -> str:
        """An amount of the native coin in a sentence."""
        return self.human(units, self.coin) or f"{units} base units of the native coin"

    def symbol(self, address: str | None) -> str:
        """A token in a sentence."""
        token = self.token_at(address)
        return token.symbol if token else f"the unlisted token {address}" if address else "a token that is not told"

    def allowance(self, units: int, address: str | None) -> str:
        """What an approval allows: amounts that are practically unlimited are said to be."""
        if units < MAX_UINT256:
            return f"up to {self.tokens(units, address)}"
        return f"any amount of {self.symbol(address)}"

    def _place(self, contract: str) -> str | None:
        try:
            return address_of(contract, self.network.name) if self.network else None
        except LookupError:
            return None


def listed(parts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
