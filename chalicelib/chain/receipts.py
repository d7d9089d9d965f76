"""Who paid: read from a transaction's receipt.

A batch contract first takes the tokens itself, so that the transfer to the payee comes from it: then the payer is who
sent it that token in the same transaction. Any other contract in between looks like the payer. A
native payment is its sender's only where the transaction goes straight to a payment contract: a Safe's or a smart
account's transaction is sent by somebody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.calldata.abi import WORD
from chalicelib.catalogue.contracts import payment_contracts

_TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Of ERC-20: Transfer(indexed from, indexed to, value)."""


@dataclass(frozen=True)
class PaidTransfer:
    """A payment whose payer is looked for; `token_address` None is the native coin, `amount` in base units."""

    tx_hash: str
    token_address: str | None
    payee: str
    amount: int


@dataclass(frozen=True)
class Payer:
    """Who paid. `is_wallet` when it is a key's own address: what is sent there, the one who paid has.

    Any other is a contract: a wallet, or one that passed on the money of somebody else and would keep a refund.
    """

    address: str
    is_wallet: bool


def payer(network: str, receipt: Mapping[str, Any], paid: PaidTransfer) -> bytes | None:
    """The 20 bytes of the payer's address; None when the receipt does not tell, or tells of several."""
    ours = {address_bytes(contract) for contract in payment_contracts(network)}
    if paid.token_address is None:
        called = receipt.get("to")
        return address_bytes(receipt["from"]) if called and address_bytes(called) in ours else None
    token = address_bytes(paid.token_address)
    moves = [move for log in receipt["logs"] if (move := _move(log, token)) is not None]
    senders = _senders(moves, address_bytes(paid.payee), paid.amount)
    if len(senders) == 1 and senders <= ours:
        senders = _senders(moves, senders.pop())
    return senders.pop() if len(senders) == 1 and not senders & ours else None


def _move(log: Mapping[str, Any], token: bytes) -> tuple[bytes, bytes, int] | None:
    """(from, to, amount) of a log that is a transfer of the token."""
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 3 or len(data) != WORD or topics[0].lower() != _TRANSFER_TOPIC:
        return None
    if address_bytes(log["address"]) != token:
        return None
    return bytes.fromhex(topics[1][-40:]), bytes.fromhex(topics[2][-40:]), int.from_bytes(data, "big")


def _senders(moves: list[tuple[bytes, bytes, int]], receiver: bytes, amount: int | None = None) -> set[bytes]:
    return {sender for sender, to, moved in moves if to == receiver and amount in (None, moved)}
