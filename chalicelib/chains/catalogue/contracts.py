"""The addresses of the payment contracts on each network."""

from collections.abc import Mapping, Sequence

from chalicelib.chains.catalogue.data import load

ERC20_FEE_PROXY = "ERC20FeeProxy"
NATIVE_FEE_PROXY = "EthereumFeeProxy"
BATCH = "BatchConversionPayments"
TRON_BATCH = "ERC20BatchPayments"
ERC20_CONVERSION_PROXY = "Erc20ConversionProxy"
NATIVE_CONVERSION_PROXY = "EthConversionProxy"
ERC20_CONVERSION_RATES = "ChainlinkConversionPath 0.1.0"
"""The contract from which the ERC-20 conversion proxy takes its rates."""
NATIVE_CONVERSION_RATES = "ChainlinkConversionPath 0.2.0"
"""The same for the native conversion proxy; on mainnet it is one contract, because version 0.1.0 knows ether."""
MULTICALL3 = "Multicall3"
MULTI_SEND = "MultiSendCallOnly"
RECURRING_PROXY = "ERC20RecurringPaymentProxy"
ACROSS_SPOKE_POOL = "AcrossSpokePool"
ACROSS_HANDLER = "AcrossMulticallHandler"
"""The recipient of Across transfers that are followed by calls: it makes the calls with the tokens it was given."""
LIFI_DIAMOND = "LiFiDiamond"
LIFI_RECEIVER = "LiFiReceiverAcrossV4"
"""The recipient of Across transfers of LI.FI's diamond that are followed by a call, where its address is known."""
PERMIT2 = "Permit2"
DELEGATE = "Simple7702Account"
"""To what the service's account of gasless payments delegates (EIP-7702): version 0.8 of account-abstraction."""
DELEGATE_CODE_HASH = "0xcc7b633aef4b2543cb8f37522adf1a401f910f0f6b2430c1eecc11f401ccfcf3"
"""The Keccak-256 of its code, which is read before the account delegates to it."""
DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployer: whatever is sent to it after a salt of 32 bytes is created by CREATE2."""
UNIVERSAL_RESOLVER = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"
"""Finds the resolver of a name of ENS, also that of a parent (ENSIP-10), and asks it. On mainnet only."""


def address_of(contract: str, network: str) -> str:
    """The address of a contract on a network: EIP-55, or base58 on tron. Raises LookupError if it has none there."""
    address = contracts_on(network).get(contract)
    if address is None:
        raise LookupError(f"{contract} is not deployed on {network}")
    return address


def contracts_on(network: str) -> Mapping[str, str]:
    """The addresses of all contracts that are known on a network, by their names; none for an unknown network."""
    found: dict[str, str] = load("networks").get(network, {}).get("contracts", {})
    return found


def networks_with(contract: str) -> tuple[str, ...]:
    """The networks that have a contract, in the order of the catalogue."""
    return tuple(name for name, entry in load("networks").items() if contract in entry["contracts"])


def payment_proxies(network: str) -> tuple[str, ...]:
    """The contracts whose events are payments on a network: the fee proxies, then the conversion proxies if any."""
    proxies = (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY)
    return _those_of(proxies, network)


def payment_contracts(network: str) -> tuple[str, ...]:
    """The contracts that take payments on a network: those whose events are payments, and those that call them."""
    return (*payment_proxies(network), *_those_of((BATCH, TRON_BATCH, RECURRING_PROXY), network))


def recurring_networks() -> tuple[str, ...]:
    """The networks that have the contract of recurring payments."""
    return networks_with(RECURRING_PROXY)


def _those_of(contracts: Sequence[str], network: str) -> tuple[str, ...]:
    there = contracts_on(network)
    return tuple(there[each] for each in contracts if each in there)
