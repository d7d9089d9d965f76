"""Reading a chain: which logs of the fee proxies are payments, which blocks to read next, and what a fork undoes.

The rule of chain truth: a block is read once it is `confirmations` deep, so a log that a fork drops earlier was never
seen. The hash of each range's last block is kept as a checkpoint, and every range must connect to the one before it.
Where it does not, a fork went deeper than the confirmations: reading resumes at the newest checkpoint still canonical.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from chalicelib.core.addresses import hex_address
from chalicelib.core.contracts import address_of
from chalicelib.core.money import BaseUnits
from chalicelib.core.networks import network as known_network

ERC20_TRANSFER_TOPIC = "0x9f16cbcc523c67a60c450e5ffe4f3b7b6dbe772e7abcadb2686ce029a9a0a2b6"
"""Of ERC20FeeProxy: TransferWithReferenceAndFee(token, to, amount, indexed reference, fee, fee address)."""
NATIVE_TRANSFER_TOPIC = "0xa1c241e337c4610a9d0f881111e977e9dc8690c85fe2108897bb1483c66e6a96"
"""Of EthereumFeeProxy: TransferWithReferenceAndFee(to, amount, indexed reference, fee, fee address)."""
TRANSFER_TOPICS = (ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC)

MAX_CHECKPOINTS = 64


@dataclass(frozen=True)
class ProxyTransfer:
    """One log of a fee proxy. Addresses are lower-case hex, on tron too; `token_address` is None for the native coin.

    `tx_hash` is spelt as wallets and explorers of the network do: 0x hex, on tron without the 0x. `paid_at` is the
    time of the block, once it has been read.
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


@dataclass(frozen=True)
class Checkpoint:
    number: int
    hash: str


@dataclass(frozen=True)
class Cursor:
    """How far a network has been read: every block up to `scanned_to` is confirmed and done.

    `range_limit` is how many blocks the node answers for at once; it falls when the node refuses and grows again.
    """

    network: str
    scanned_to: int
    checkpoints: tuple[Checkpoint, ...]
    range_limit: int
    version: int = 0

    @property
    def newest(self) -> Checkpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None


@dataclass(frozen=True)
class BlockRange:
    first: int
    last: int


def decode_transfer(network: str, log: Mapping[str, Any]) -> ProxyTransfer | None:
    """A JSON-RPC log object as a transfer; None when it is not exactly what this network's fee proxies emit.

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


def first_cursor(network: str, head: int, confirmations: int, range_limit: int) -> Cursor:
    """Where reading begins on a network that has never been read.

    One range before the newest confirmed block, so that a link paid before the first tick is still seen.
    """
    return Cursor(network, max(confirmed_height(head, confirmations) - range_limit, 0), (), range_limit)


def confirmed_height(head: int, confirmations: int) -> int:
    """The newest block that is `confirmations` deep; the head itself is one deep."""
    return head - confirmations + 1


def next_range(cursor: Cursor, head: int, confirmations: int) -> BlockRange | None:
    """The next blocks to read, within the cursor's limit; None when every confirmed block has been read.

    Where the limit has room, the range before is read once more: a node that served its logs from a machine that
    lagged behind is heard a second time, a tick later.
    """
    next_block, newest = cursor.scanned_to + 1, confirmed_height(head, confirmations)
    if next_block > newest:
        return None
    last = min(newest, next_block + cursor.range_limit - 1)
    before = cursor.checkpoints[-2].number + 1 if len(cursor.checkpoints) > 1 else next_block
    return BlockRange(before if last - before < cursor.range_limit else next_block, last)


def advance(cursor: Cursor, last: Checkpoint, most: int) -> Cursor:
    """The cursor after everything up to `last` was read; its limit grows slowly back towards `most`."""
    return replace(
        cursor,
        scanned_to=last.number,
        checkpoints=_thinned((*cursor.checkpoints, last)),
        range_limit=min(cursor.range_limit + cursor.range_limit // 16 + 1, most),
    )


def narrow(cursor: Cursor) -> Cursor:
    """The cursor with half the limit, after the node refused a range."""
    return replace(cursor, range_limit=max(cursor.range_limit // 2, 1))


def cut_short(cursor: Cursor, done: Checkpoint | None) -> Cursor:
    """The cursor after a range that was too much for one tick: behind the last block known to be done, if that is one
    of the new ones, and with half the limit."""
    if done is not None and done.number > cursor.scanned_to:
        cursor = advance(cursor, done, cursor.range_limit)
    return narrow(cursor)


def roll_back(cursor: Cursor, canonical: Mapping[int, str]) -> Cursor:
    """The cursor at the newest checkpoint whose hash is still canonical.

    `canonical` maps checkpoint numbers to the hashes the chain has now. Without any match the fork is deeper than the
    memory; reading resumes before the oldest checkpoint.
    """
    kept = cursor.checkpoints
    while kept and canonical.get(kept[-1].number) != kept[-1].hash:
        kept = kept[:-1]
    if kept:
        return replace(cursor, scanned_to=kept[-1].number, checkpoints=kept)
    oldest = min((c.number for c in cursor.checkpoints), default=cursor.scanned_to)
    return replace(cursor, scanned_to=max(oldest - 1, 0), checkpoints=())


def _thinned(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """Every checkpoint of the newest 16 blocks, then one in ever wider aligned spans: short, but reaching far back."""
    newest = checkpoints[-1].number
    kept: dict[tuple[int, int], Checkpoint] = {}
    for checkpoint in checkpoints:
        level = max((newest - checkpoint.number).bit_length() - 4, 0)
        kept.setdefault((level, checkpoint.number >> level), checkpoint)
    return tuple(kept.values())[-MAX_CHECKPOINTS:]


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
