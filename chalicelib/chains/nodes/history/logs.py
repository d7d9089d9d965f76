"""Decodes the transfer events of the proxies, and defines the ranges of blocks they are read in."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from chalicelib.chains.catalogue.networks import find_network as known_network
from chalicelib.chains.nodes.escrow.logs import LoggedEscrow
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

ERC20_TRANSFER_TOPIC = "0x9f16cbcc523c67a60c450e5ffe4f3b7b6dbe772e7abcadb2686ce029a9a0a2b6"
"""The event of ERC20FeeProxy: TransferWithReferenceAndFee(token, to, amount, indexed reference, fee, fee address)."""
NATIVE_TRANSFER_TOPIC = "0xa1c241e337c4610a9d0f881111e977e9dc8690c85fe2108897bb1483c66e6a96"
"""The event of EthereumFeeProxy: TransferWithReferenceAndFee(to, amount, indexed reference, fee, fee address)."""
TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""The event of an ERC-20 token: Transfer(indexed from, indexed to, amount)."""
TRANSFER_TOPICS = (ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC)


class InconsistentNode(ChainUnavailable):
    """Two responses of a node, or two parts of one, cannot both be true. `reason` is for logs, not for callers."""

    def __init__(self, network: str, reason: str) -> None:
        super().__init__(f"The {network} node contradicts itself")
        self.reason = reason


@frozen
class LoggedConversion:
    """What the second event of a conversion proxy says (conversions/logs.py): an amount in an invoice currency.

    `currency` is its hash in lower case, amounts are in the units that the contracts count in, `max_rate_age` is what
    the payer accepted, in seconds; 0 is any age.
    """

    currency: str
    amount: BaseUnits
    fee_amount: BaseUnits
    max_rate_age: int


@frozen
class ProxyTransfer:
    """One payment by a proxy. Addresses are lower-case hex, on tron too; `token_address` is None for the native coin.

    `tx_hash` is hex, with 0x on EVM networks and without on tron, as wallets and explorers write it. `event_key` is a
    hash of what the event says and a number that tells equal events of a transaction apart. (network, `tx_hash`,
    `event_key`) identifies the transfer: it stays the same when a reorganization puts the transaction into another
    block, or when a node leaves out other logs of the transaction or gives them other indices. `paid_at` is the time of
    the block, None until it has been read. `conversion` is set if a conversion proxy paid it; the other amounts are
    what was paid, in base units of the token, all the same. `escrow` is set if it is not a transfer but an event of the
    commerce escrow: its topic is then the hash of the payment, and of the others only `amount` says something.
    """

    network: str
    token_address: str | None
    payee: str
    amount: BaseUnits
    fee_amount: BaseUnits
    fee_address: str
    reference_topic: str
    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    event_key: str = ""
    paid_at: datetime | None = None
    conversion: LoggedConversion | None = None
    escrow: LoggedEscrow | None = None
    emptied_address: str | None = None
    """Set if it is no event of a proxy: the address for plain transfers that sent its token to the payee without one
    (plain_transfers/logs.py)."""


@frozen
class Checkpoint:
    """The block up to which a network has been read."""

    number: int
    hash: str


@frozen
class BlockFacts:
    """The canonical hash of a block, in lower case, and its time (UTC)."""

    hash: str
    time: datetime


@frozen
class BlockRange:
    """The blocks from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def ends(self) -> tuple[int, int]:
        return self.first, self.last

    @property
    def first_half(self) -> "BlockRange":
        """What is read of a range that the node refused; the range itself if it is one block."""
        return BlockRange(self.first, self.first + max(self.count // 2, 1) - 1)


def with_block_times(transfers: Iterable[ProxyTransfer], facts: Mapping[int, BlockFacts]) -> tuple[ProxyTransfer, ...]:
    """The transfers with the times of their blocks. `facts` has the canonical block of each height among them.

    Raises InconsistentNode if a transfer's block is not the canonical one: the log comes from a machine on another
    branch, or the block was removed since.
    """
    dated = list[ProxyTransfer]()
    for transfer in transfers:
        block = facts[transfer.block_number]
        if transfer.block_hash != block.hash:
            reason = f"a log of block {transfer.block_number} has block hash {transfer.block_hash}, not {block.hash}"
            raise InconsistentNode(transfer.network, reason)
        dated.append(replace(transfer, paid_at=block.time))
    return tuple(dated)


def decode_transfer(
    network: str, log: Mapping[str, Any], emitters: tuple[str, str] = (ERC20_FEE_PROXY, NATIVE_FEE_PROXY)
) -> ProxyTransfer | None:
    """Decodes a JSON-RPC log object; None if it is not a transfer event of one of this network's fee proxies.

    The contract that emitted the log decides, not the topic: any contract can emit these topics. `emitters` are the
    contracts for tokens and for the native coin. Raises ValueError, TypeError, LookupError or AttributeError if the log
    does not have the documented form.

    Data words (32 bytes each): ERC-20: token, to, amount, fee, feeTo; native: to, amount, fee, feeTo.
    """
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 2 or log.get("removed"):
        return None
    contract, words = {
        ERC20_TRANSFER_TOPIC: (emitters[0], 5),
        NATIVE_TRANSFER_TOPIC: (emitters[1], 4),
    }.get(topics[0].lower(), ("", 0))
    if not contract or len(data) != 32 * words or log["address"].lower() != contract_address(contract, network):
        return None
    values = [data[i : i + 32] for i in range(0, len(data), 32)]
    token_address = _address(values.pop(0)) if words == 5 else None
    return ProxyTransfer(
        network=network,
        token_address=token_address,
        payee=_address(values[0]),
        amount=BaseUnits(int.from_bytes(values[1], "big")),
        fee_amount=BaseUnits(int.from_bytes(values[2], "big")),
        fee_address=_address(values[3]),
        reference_topic=hash_of(topics[1]),
        tx_hash=_tx_hash(network, hash_of(log["transactionHash"])),
        log_index=quantity(log["logIndex"]),
        block_number=quantity(log["blockNumber"]),
        block_hash=hash_of(log["blockHash"]),
    )


@cache
def contract_address(contract: str, network: str) -> str | None:
    """The address of a contract as logs have it, in lower-case hex; None if it is not deployed on the network."""
    try:
        return hex_address(address_of(contract, network))
    except LookupError:
        return None


def _tx_hash(network: str, text: str) -> str:
    known = known_network(network)
    return text.removeprefix("0x") if known is not None and known.family == "tron" else text


def _address(word: bytes) -> str:
    return "0x" + word[12:].hex()
