"""The eight networks as a person reads them out of their sources, and the reason for each choice of ours.

Written from the interface's documents and the networks' own documentation, not from our data; a change there has to be
made here too, by somebody who has read the reason. Chain ids, coins, titles and explorers are compared with npm packages
besides (test_networks_sources.py).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reviewed:
    """Facts of others first, then what we chose: confirmations and the range of blocks of one eth_getLogs, with why.

    `seconds` is about how long the confirmations take. `safe` is the short name (EIP-3770) by which Safe's transaction
    service calls the chain. `p256` is since when it has the precompile for P-256 signatures. `recurring_fee` is what a
    payment of a recurring payout costs its payer, in US dollars.
    """

    chain_id: int
    label: str
    title: str
    coin: tuple[str, str, int]
    native_id: str | None
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
    safe: str | None = None
    p256: str | None = None
    recurring_fee: str = "0"
    why_recurring_fee: str = ""


COMMON_RANGE = "2,000 blocks is what hosted nodes commonly answer in one eth_getLogs"

NETWORKS = {
    "mainnet": Reviewed(
        chain_id=1,
        label="ETHEREUM",
        title="Ethereum",
        coin=("Ether", "ETH", 18),
        native_id="ETH-mainnet",
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
    ),
    "arbitrum-one": Reviewed(
        chain_id=42161,
        label="ARBITRUM",
        title="Arbitrum One",
        coin=("Ether", "ETH", 18),
        native_id="AETH-arbitrum-one",
        explorer="https://arbiscan.io/tx/",
        rpc_urls=("https://arb1.arbitrum.io/rpc",),
        rpc_source="Arbitrum's documentation",
        confirmations=40,
        seconds=10,
        why_confirmations="four blocks a second from one sequencer: ten seconds outlast a restart of it",
        log_range=10_000,
        why_log_range="four blocks a second: 10,000 are forty minutes, and Arbitrum's nodes answer them",
        safe="arb1",
        p256="RIP-7212, since ArbOS 30",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
    ),
    "optimism": Reviewed(
        chain_id=10,
        label="OPTIMISM",
        title="OP Mainnet",
        coin=("Ether", "ETH", 18),
        native_id="ETH-optimism-optimism",
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
    ),
    "base": Reviewed(
        chain_id=8453,
        label="BASE",
        title="Base",
        coin=("Ether", "ETH", 18),
        native_id="ETH-base-base",
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
    ),
    "matic": Reviewed(
        chain_id=137,
        label="POLYGON",
        title="Polygon",
        coin=("POL", "POL", 18),
        native_id="MATIC-matic",
        aliases=("polygon",),
        explorer="https://polygonscan.com/tx/",
        rpc_urls=("https://polygon-rpc.com",),
        rpc_source="Polygon's documentation",
        confirmations=32,
        seconds=64,
        why_confirmations="blocks every 2 s; deep reorganisations happened before milestones made blocks final",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="pol",
        p256="RIP-7212, as PIP-27, since Napoli",
        recurring_fee="0.05",
        why_recurring_fee="gas costs cents",
    ),
    "bsc": Reviewed(
        chain_id=56,
        label="BNB",
        title="BNB Smart Chain",
        coin=("BNB", "BNB", 18),
        native_id="BNB-bsc",
        explorer="https://bscscan.com/tx/",
        rpc_urls=("https://bsc-dataseed.bnbchain.org",),
        rpc_source="BNB Chain's documentation",
        confirmations=15,
        seconds=11.25,
        why_confirmations="blocks every 0.75 s, final after two as a rule; fifteen cover a stall of fast finality",
        log_range=2000,
        why_log_range=COMMON_RANGE,
        safe="bnb",
        p256="RIP-7212, as BEP-439, since Haber",
        recurring_fee="0.1",
        why_recurring_fee="131,000 gas at 1 gwei and 700 USD are 0.1 USD",
    ),
    "tron": Reviewed(
        chain_id=728126428,
        label="TRON",
        title="Tron",
        coin=("Tronix", "TRX", 6),
        native_id=None,
        explorer="https://tronscan.org/#/transaction/",
        rpc_urls=(),
        rpc_source="no wallet adds Tron by an RPC URL",
        confirmations=1,
        seconds=3,
        why_confirmations="read up to the newest solidified block, on which 19 of 27 representatives have built: final",
        log_range=1000,
        why_log_range="its JSON-RPC is the slowest of all",
        family="tron",
    ),
    "sepolia": Reviewed(
        chain_id=11155111,
        label="SEPOLIA",
        title="Sepolia",
        coin=("Sepolia Ether", "ETH", 18),
        native_id="ETH-sepolia-sepolia",
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
    ),
}
