"""Decodes the ERC-20 transfers of addresses for plain transfers (calldata/plain_transfers.py).

What leaves an address does so in one of two ways, each by anybody's call:

    through the fee proxy        Transfer to the payee, Transfer of the fee, TransferWithReferenceAndFee
    by rescueERC20Funds(token)   Transfer to the payee

The event of the fee proxy is a payment as any other. A transfer to the payee that is in no such event emptied the
address without one, and is a payment without a fee.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, ProxyTransfer
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

Log = Mapping[str, Any]


@frozen
class PlainAddress:
    """An address for plain transfers, all in lower-case hex: its token, the payee, and the topic of its payments."""

    address: str
    token_address: str
    payee: str
    topic: str


def decode_emptied(
    network: str, logs: Iterable[Log], addresses: Collection[PlainAddress], paid: Iterable[ProxyTransfer]
) -> set[ProxyTransfer]:
    """The transfers to their payees that emptied addresses without an event, among the logs of whole transactions.

    `paid` are the transfers by the proxies in the same logs. Raises as `decode_transfer` for a log that does not have
    the documented form.
    """
    known = {each.address: each for each in addresses}
    if not known:
        return set()
    by_proxy = Counter(part for each in paid for part in _transfers_behind_event(each))
    decoded = {each for log in logs if (each := _decode_emptied_one(network, log, known)) is not None}
    found = set[ProxyTransfer]()
    for each in sorted(decoded, key=lambda each: (each.block_number, each.log_index)):
        moved = each.tx_hash, each.token_address, each.payee, each.amount, each.reference_topic
        if by_proxy[moved]:
            by_proxy[moved] -= 1
        else:
            found.add(each)
    return found


def ends_of(log: Log) -> tuple[str, str, str, int] | None:
    """(token, from, to, amount) of a log that is an ERC-20 transfer; None for other logs."""
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 3 or len(data) != WORD or topics[0].lower() != TRANSFER_TOPIC or log.get("removed"):
        return None
    sender, receiver = ("0x" + hash_of(topic)[-40:] for topic in topics[1:])
    return log["address"].lower(), sender, receiver, int.from_bytes(data, "big")


def _decode_emptied_one(network: str, log: Log, known: Mapping[str, PlainAddress]) -> ProxyTransfer | None:
    ends = ends_of(log)
    if ends is None or ends[1] not in known:
        return None
    token, sender, receiver, amount = ends
    of = known[sender]
    if token != of.token_address or receiver != of.payee or not amount:
        return None
    return ProxyTransfer(
        network=network,
        token_address=token,
        payee=receiver,
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(0),
        fee_address=ZERO_ADDRESS,
        reference_topic=of.topic,
        tx_hash=hash_of(log["transactionHash"]),
        log_index=quantity(log["logIndex"]),
        block_number=quantity(log["blockNumber"]),
        block_hash=hash_of(log["blockHash"]),
        emptied_address=sender,
    )


def _transfers_behind_event(paid: ProxyTransfer) -> Sequence[tuple[object, ...]]:
    """The transfers of tokens behind an event: to the payee, and of the fee, which may be to the payee, too."""
    parts = [(paid.payee, paid.amount), *([(paid.fee_address, paid.fee_amount)] if paid.fee_amount else [])]
    return [(paid.tx_hash, paid.token_address, *part, paid.reference_topic) for part in parts]
