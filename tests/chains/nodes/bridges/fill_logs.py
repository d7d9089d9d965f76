"""Logs of transactions in which fills of a bridge on arbitrum-one make payments, as Across's contracts emit them."""

from dataclasses import dataclass
from typing import Any

from chalicelib.chains.calldata.abi import address_word, uint_word
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    ERC20_FEE_PROXY,
    LIFI_RECEIVER,
    address_of,
)
from chalicelib.chains.nodes.bridges.deposits import FILLED_TOPIC
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, TRANSFER_TOPIC

NETWORK = "arbitrum-one"
HANDLER, RECEIVER = (address_of(name, NETWORK) for name in (ACROSS_HANDLER, LIFI_RECEIVER))
EXECUTOR = "0x2dfaDAB8266483beD9Fd9A292Ce56596a2D1378D"
TOKEN = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
PAYEE, FEE_ADDRESS, RELAYER, FALLBACK = ("0x" + digit * 40 for digit in "6923")
HASH = "0x" + "cd" * 32
REFERENCE = "0x" + "0f" * 32

Log = dict[str, Any]


@dataclass(frozen=True)
class Filled:
    """A deposit that is filled: `number` is the bridge's, `amount` and `fee` what it is to pay, `rest` what is left."""

    number: int
    depositor: str
    amount: int = 500
    fee: int = 5
    rest: int = 0
    recipient: str = HANDLER

    @property
    def brings(self) -> int:
        return self.amount + self.fee + self.rest


MINE = Filled(7, "0x3333333333333333333333333333333333333333")
THEIRS = Filled(8, "0x5555555555555555555555555555555555555555")


def fill(each: Filled, is_empty: bool = False) -> list[Log]:
    """The event of a fill, and the transfer of what it brings; `is_empty` without that."""
    words = [bytes(32)] * 15
    words[1], words[3], words[13] = address_word(TOKEN), uint_word(each.brings), uint_word(each.brings)
    words[8], words[9], words[11] = (address_word(text) for text in (each.depositor, each.recipient, each.recipient))
    topics = [
        FILLED_TOPIC,
        *("0x" + word.hex() for word in (uint_word(8453), uint_word(each.number), address_word(RELAYER))),
    ]
    event = {"address": address_of(ACROSS_SPOKE_POOL, NETWORK), "topics": topics, "data": "0x" + b"".join(words).hex()}
    return [event] if is_empty else [event, moved(RELAYER, each.recipient, each.brings)]


def payment(each: Filled, reference: str = REFERENCE) -> list[Log]:
    """What the calls of a message make: the payment, its fee and its event; and what is left goes to the fallback."""
    caller, passed = each.recipient, list[Log]()
    if caller == RECEIVER:
        caller, passed = EXECUTOR, [moved(RECEIVER, EXECUTOR, each.brings)]
    rest = [moved(caller, FALLBACK, each.rest)] if each.rest else []
    return [*passed, *paid(caller, each.amount, each.fee, reference), *rest]


def paid(caller: str, amount: int, fee: int = 0, reference: str = REFERENCE) -> list[Log]:
    """A payment through the fee proxy by whoever has the tokens."""
    words = [address_word(TOKEN), address_word(PAYEE), uint_word(amount), uint_word(fee), address_word(FEE_ADDRESS)]
    proxy = address_of(ERC20_FEE_PROXY, NETWORK)
    event = {"address": proxy, "topics": [ERC20_TRANSFER_TOPIC, reference], "data": "0x" + b"".join(words).hex()}
    fees = [moved(caller, FEE_ADDRESS, fee)] if fee else []
    return [moved(caller, PAYEE, amount), *fees, event]


def bounced(each: Filled) -> list[Log]:
    """The calls have failed: everything goes to the fallback."""
    return [moved(each.recipient, FALLBACK, each.brings)]


def moved(sender: str, receiver: str, amount: int) -> Log:
    topics = [TRANSFER_TOPIC, *("0x" + address_word(each).hex() for each in (sender, receiver))]
    return {"address": TOKEN, "topics": topics, "data": "0x" + uint_word(amount).hex()}


def in_transaction(groups: list[Any]) -> list[Log]:
    """The logs of a transaction, with their places; groups of logs are taken one after the other."""
    flat = [log for group in groups for log in (group if isinstance(group, list) else [group])]
    place = {"transactionHash": HASH, "blockNumber": "0x1", "blockHash": HASH}
    return [{**log, **place, "logIndex": hex(40 + index)} for index, log in enumerate(flat)]
