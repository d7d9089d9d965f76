"""The addresses of the payment contracts on each network."""

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


def address_of(contract: str, network: str) -> str:
    """The address of a contract on a network: EIP-55, or base58 on tron. Raises LookupError if it has none there."""
    entry = load("contracts").get(contract, {}).get(network)
    if entry is None:
        raise LookupError(f"{contract} is not deployed on {network}")
    return str(entry)


def payment_proxies(network: str) -> tuple[str, ...]:
    """The contracts whose events are payments on a network: the fee proxies, then the conversion proxies if any."""
    deployed = load("contracts")
    proxies = (ERC20_FEE_PROXY, NATIVE_FEE_PROXY, ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY)
    return tuple(str(deployed[contract][network]) for contract in proxies if network in deployed[contract])


def payment_contracts(network: str) -> tuple[str, ...]:
    """The contracts that take payments on a network: those whose events are payments, and those that call them."""
    deployed = load("contracts")
    callers = (deployed[contract].get(network) for contract in (BATCH, TRON_BATCH, RECURRING_PROXY))
    return (*payment_proxies(network), *(str(address) for address in callers if address))


def recurring_networks() -> tuple[str, ...]:
    """The networks that have the contract of recurring payments."""
    return tuple(load("contracts")[RECURRING_PROXY])
