"""The networks as a person reads them out of their sources, and the reason for each choice of ours.

Written from the interface's documents and the networks' own documentation, not from our data; a change there has to be
made here too, by somebody who has read the reason. Chain ids, coins, titles and explorers are compared with npm packages
besides (test_networks_sources.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Reviewed:
    """Facts of others first, then what we chose: confirmations and the range of blocks of one eth_getLogs, with why.

    `seconds` is about how long the confirmations take. `safe` is the short name (EIP-3770) by which Safe's transaction
    service calls the chain. `p256` is since when it has the precompile for P-256 signatures. `recurring_fee` is what a
    payment of a recurring payout costs its payer, in US dollars. `native` is the symbol, the name and the id at the price
    source of the coin as a currency of invoices, and whose feed has its price. `relayer` is what the transactions of a day
    may cost at most, below which balance an alarm is raised, both in coins, and the highest price of gas in gwei.
    `contracts` are those that no package has, each typed from the source that is named beside it. Of one block in
    `headers_every` the header is checked, and `receipts_below` is the first block after those whose receipts were seen.
    """

    chain_id: int
    label: str
    title: str
    coin: tuple[str, str, int]
    explorer: str
    rpc_urls: tuple[str, ...]
    rpc_source: str
    confirmations: int
    seconds: float
    why_confirmations: str
    log_range: int
    why_log_range: str
    aliases: tuple[str, ...] = ()
    family: Literal["evm", "tron"] = "evm"
    headers_every: int = 1
    why_headers: str = "its headers are fewer than 50,000 a day"
    receipts_below: int | None = None
    safe: str | None = None
    p256: str | None = None
    recurring_fee: str = "0"
    why_recurring_fee: str = ""
    native: tuple[str, str, str | None, str | None] | None = None
    relayer: tuple[str, str, int] | None = None
    why_relayer: str = ""
    scan_seconds: int | None = None
    bridge_place: int | None = None
    is_test: bool = False
    contracts: Mapping[str, str] = field(default_factory=dict)


# Contracts below are typed from the artifacts of Request Network's repository (packages/smart-contracts/src/lib/artifacts)
# and, of the diamond and its receiver, from lifinance/contracts (deployments/*.json). Tron's were created in blocks
# 79216121 and 83104290, those of ERC20RecurringPaymentProxy 0.1.0 in 22845710, 354140859, 32422496, 73564289, 52840120
# and 8689800. AuthCaptureEscrow 1.0 was created in 29931650 and 9795220; its collectors are those of
# base/commerce-payments (script/Deploy.s.sol), which names none for sepolia.
COMMON_RANGE = "2,000 blocks is what hosted nodes commonly answer in one eth_getLogs"

NETWORKS = {
    "mainnet": Reviewed(
        chain_id=1,
        label="ETHEREUM",
        title="Ethereum",
        coin=("Ether", "ETH", 18),
        aliases=("ethereum",),
        explorer="https://etherscan.io/tx/",
        rpc_urls=("https://ethereum-rpc.publicnode.com",),
        rpc_source="PublicNode, listed for chain 1 by ethereum-lists",
        confirmations=12,
        seconds=144,
        why_confirmations="blocks every 12 s; reorganisations since proof of stake were one or two blocks deep",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="eth",
        p256="EIP-7951, in the Osaka fork of December 2025",
        recurring_fee="3",
        why_recurring_fee="131,000 gas at 5 gwei and 4,500 USD are 3 USD",
        native=("ETH", "Ether", "ethereum", None),
        relayer=("0.5", "0.2", 100),
        why_relayer="at 5 gwei a capture costs 0.0006 ether: 800 of them a day",
        bridge_place=4,
        contracts={
            "ERC20RecurringPaymentProxy": "0xF0Bebbc99E26Ba7F651E7Ff14e0D3029B0228880",
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "arbitrum-one": Reviewed(
        chain_id=42161,
        label="ARBITRUM",
        title="Arbitrum One",
        coin=("Ether", "ETH", 18),
        explorer="https://arbiscan.io/tx/",
        rpc_urls=("https://arb1.arbitrum.io/rpc",),
        rpc_source="Arbitrum's documentation",
        confirmations=40,
        seconds=10,
        why_confirmations="four blocks a second from one sequencer: ten seconds outlast a restart of it",
        log_range=10_000,
        why_log_range="four blocks a second: 10,000 are forty minutes, and Arbitrum's nodes answer them",
        headers_every=100,
        why_headers="345,000 headers a day are more calls than all others together",
        safe="arb1",
        p256="RIP-7212, since ArbOS 30",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
        native=("AETH", "Arbitrum Ether", "ethereum", "ETH"),
        relayer=("0.1", "0.05", 5),
        why_relayer="gas costs a hundredth of a gwei and, while many use the chain, one",
        bridge_place=3,
        contracts={
            "ERC20RecurringPaymentProxy": "0xC335f956e91faa1DC103f9B54f7009c470dc6EEf",
            "LiFiReceiverAcrossV4": "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "optimism": Reviewed(
        chain_id=10,
        label="OPTIMISM",
        title="OP Mainnet",
        coin=("Ether", "ETH", 18),
        explorer="https://optimistic.etherscan.io/tx/",
        rpc_urls=("https://mainnet.optimism.io",),
        rpc_source="Optimism's documentation",
        confirmations=10,
        seconds=20,
        why_confirmations="blocks every 2 s from one sequencer; unsafe heads are replaced within a few blocks",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="oeth",
        p256="RIP-7212, since Fjord",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
        native=("ETH-optimism", "Optimism Ether", "ethereum", "ETH"),
        relayer=("0.1", "0.05", 5),
        why_relayer="gas costs a hundredth of a gwei and, while many use the chain, one",
        bridge_place=2,
        contracts={
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "base": Reviewed(
        chain_id=8453,
        label="BASE",
        title="Base",
        coin=("Ether", "ETH", 18),
        explorer="https://basescan.org/tx/",
        rpc_urls=("https://mainnet.base.org",),
        rpc_source="Base's documentation",
        confirmations=10,
        seconds=20,
        why_confirmations="the software of Optimism, with blocks as often",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="base",
        p256="RIP-7212, since Fjord",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
        native=("ETH-base", "Base Ether", "ethereum", "ETH"),
        relayer=("0.1", "0.05", 5),
        why_relayer="gas costs a hundredth of a gwei and, while many use the chain, one",
        bridge_place=1,
        contracts={
            "ERC20RecurringPaymentProxy": "0xd2c3392e3e70F4CE033Cb39CC80B414aDdD64fFa",
            "AuthCaptureEscrow": "0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff",
            "PreApprovalPaymentCollector": "0x1b77ABd71FCD21fbe2398AE821Aa27D1E6B94bC6",
            "ERC3009PaymentCollector": "0x0E3dF9510de65469C4518D7843919c0b8C7A7757",
            "Permit2PaymentCollector": "0x992476B9Ee81d52a5BdA0622C333938D0Af0aB26",
            "OperatorRefundCollector": "0x934907bffd0901b6A21e398B9C53A4A38F02fa5d",
            "LiFiReceiverAcrossV4": "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "matic": Reviewed(
        chain_id=137,
        label="POLYGON",
        title="Polygon",
        coin=("POL", "POL", 18),
        aliases=("polygon",),
        explorer="https://polygonscan.com/tx/",
        rpc_urls=("https://polygon-rpc.com",),
        rpc_source="Polygon's documentation",
        confirmations=32,
        seconds=64,
        why_confirmations="blocks every 2 s; deep reorganisations happened before milestones made blocks final",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        receipts_below=80_084_800,  # Madhugiri (PIP-74), which puts state-sync receipts into the roots
        safe="pol",
        p256="RIP-7212, as PIP-27, since Napoli",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
        native=("MATIC", "Matic", "polygon-ecosystem-token", None),
        relayer=("200", "100", 1000),
        why_relayer="gas costs 30 gwei of a coin that is worth a ten-thousandth of ether, and hundreds at times",
        bridge_place=5,
        contracts={
            "ERC20RecurringPaymentProxy": "0xD3BD678f219439c2bcf602Beb07e601a91b8Cd3d",
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "bsc": Reviewed(
        chain_id=56,
        label="BNB",
        title="BNB Smart Chain",
        coin=("BNB", "BNB", 18),
        explorer="https://bscscan.com/tx/",
        rpc_urls=("https://bsc-dataseed.bnbchain.org",),
        rpc_source="BNB Chain's documentation",
        confirmations=15,
        seconds=11.25,
        why_confirmations="blocks every 0.75 s, final after two as a rule; fifteen cover a stall of fast finality",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        headers_every=100,
        why_headers="192,000 headers a day are more calls than all others together",
        receipts_below=0,
        safe="bnb",
        p256="RIP-7212, as BEP-439, since Haber",
        recurring_fee="0.1",
        why_recurring_fee="131,000 gas at 1 gwei and 700 USD are 0.1 USD",
        native=("BNB", "BNB", None, None),
        relayer=("0.5", "0.2", 10),
        why_relayer="validators take any price from 0.05 gwei, and took 5 for years",
        bridge_place=6,
        contracts={
            "ERC20RecurringPaymentProxy": "0xbb0f20890E9e405f9D4c2e707590525ccAA3De16",
            "LiFiReceiverAcrossV4": "0x33b255b5db44A78c34381f89f1a454bc0Ef49871",
            "LiFiDiamond": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        },
    ),
    "tron": Reviewed(
        chain_id=728126428,
        label="TRON",
        title="Tron",
        coin=("Tronix", "TRX", 6),
        explorer="https://tronscan.org/#/transaction/",
        rpc_urls=(),
        rpc_source="no wallet adds Tron by an RPC URL",
        confirmations=1,
        seconds=3,
        why_confirmations="read up to the newest solidified block, on which 19 of 27 representatives have built: final",
        log_range=1000,
        why_log_range="its JSON-RPC is the slowest of all",
        headers_every=0,
        why_headers="a block of java-tron's JSON-RPC is not a header that is hashed",
        family="tron",
        scan_seconds=15,
        contracts={
            "ERC20FeeProxy": "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd",
            "ERC20BatchPayments": "TRZbXXuLd3HW5utzVysA3rpLgU7sVBrd1D",
        },
    ),
    "sepolia": Reviewed(
        chain_id=11155111,
        label="SEPOLIA",
        title="Sepolia",
        coin=("Sepolia Ether", "ETH", 18),
        explorer="https://sepolia.etherscan.io/tx/",
        rpc_urls=("https://ethereum-sepolia-rpc.publicnode.com",),
        rpc_source="PublicNode, listed for chain 11155111 by ethereum-lists",
        confirmations=2,
        seconds=24,
        why_confirmations="test money: two, so that waiting is exercised at all",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="sep",
        p256="EIP-7951, in the Osaka fork of October 2025",
        recurring_fee="0",
        why_recurring_fee="its tokens are worth nothing",
        native=("ETH-sepolia", "Sepolia Ether", "ethereum", "ETH"),
        relayer=("5", "1", 200),
        why_relayer="test money",
        is_test=True,
        contracts={
            "ERC20RecurringPaymentProxy": "0xb6C7448458d8616B00eb8f93883d0081Fa2aDec9",
            "AuthCaptureEscrow": "0xF81E3F293c92CaCfc0d723d2D8183e39Cc3AEdC7",
        },
    ),
}
