"""Decodes the events of the fee proxies into transfers, and defines the ranges of blocks they are read in."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.contracts import address_of
from chalicelib.catalogue.networks import network as known_network

ERC20_TRANSFER_TOPIC = "0x9f16cbcc523c67a60c450e5ffe4f3b7b6dbe772e7abcadb2686ce029a9a0a2b6"
"""The event of ERC20FeeProxy: TransferWithReferenceAndFee(token, to, amount, indexed reference, fee, fee address)."""
NATIVE_TRANSFER_TOPIC = "0xa1c241e337c4610a9d0f881111e977e9dc8690c85fe2108897bb1483c66e6a96"
"""The event of EthereumFeeProxy: TransferWithReferenceAndFee(to, amount, indexed reference, fee, fee address)."""
TRANSFER_TOPICS = (ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC)


@frozen
class ProxyTransfer:
    """One log of a fee proxy. Addresses are lower-case hex, on tron too; `token_address` is None for the native coin.

    `tx_hash` is hex, with 0x on EVM networks and without on tron, as wallets and explorers write it. `paid_at` is the
    time of the block, None until it has been read.
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
    paid_at: datetime | None = None


@frozen
class Checkpoint:
    """The block up to which a network has been read."""

    number: int
    hash: str


@frozen
class BlockRange:
    """The blocks from `first` to `last`, both included."""

    first: int
    last: int


def decode_transfer(network: str, log: Mapping[str, Any]) -> ProxyTransfer | None:
    """Decodes a JSON-RPC log object; None if it is not a transfer event of one of this network's fee proxies.

    Data words (32 bytes each): ERC-20: token, to, amount, fee, feeTo; native: to, amount, fee, feeTo.
    """
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 2 or log.get("removed"):
        return None
    contract, words = {
        ERC20_TRANSFER_TOPIC: ("ERC20FeeProxy", 5),
        NATIVE_TRANSFER_TOPIC: ("EthereumFeeProxy", 4),
    }.get(topics[0], ("", 0))
    if not contract or len(data) != 32 * words or log["address"].lower() != _contract(contract, network):
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
        reference_topic=topics[1].lower(),
        tx_hash=_tx_hash(network, log["transactionHash"].lower()),
        log_index=int(log["logIndex"], 16),
        block_number=int(log["blockNumber"], 16),
        block_hash=log["blockHash"].lower(),
    )


@cache
def _contract(contract: str, network: str) -> str | None:
    try:
        return hex_address(address_of(contract, network))
    except LookupError:
        return None


def _tx_hash(network: str, text: str) -> str:
    known = known_network(network)
    return text.removeprefix("0x") if known is not None and known.family == "tron" else text


def _address(word: bytes) -> str:
    return "0x" + word[12:].hex()
