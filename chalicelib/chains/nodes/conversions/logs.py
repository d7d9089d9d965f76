"""Decodes the events of the conversion proxies into transfers.

A conversion proxy runs the code of the fee proxy in its own context (delegatecall). So a converted payment has two
events, both of the conversion proxy and none of a fee proxy, one directly after the other:

    TransferWithReferenceAndFee           token, payee, amount and fee as they were paid, in base units of the token
    TransferWithConversionAndReference    the invoice currency, amount and fee in it (fiat with 8 decimals)

Both have the reference as their indexed topic. They are one payment, counted once: by the amount in the invoice
currency of the second, if it went to the payee and in the token that the first names.

The second says what the payer asked for. It counts only if it is in the currency of the invoice; if `max_rate_age` is
at most the age that was asked for and not 0, which accepts a rate of any age; and if the first moved anything, because
a feed that answers 0 converts every amount to nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY
from chalicelib.chains.nodes.history.logs import (
    InconsistentNode,
    LoggedConversion,
    ProxyTransfer,
    contract_address,
    decode_transfer,
)
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

CONVERSION_TOPIC = "0x96d0d1d75923f40b50f6fe74613b2c23239149607848fbca3941fee7ac041cdc"
"""TransferWithConversionAndReference(amount, currency, indexed reference, fee amount, maximum age of the rate)."""
_LONGEST_AGE = 2**62
"""Seconds. A payer can accept an age of up to 2^256 - 1, which is more than is stored, and is taken for this one."""
_PROXIES = (ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY)


@frozen
class _Place:
    """What a log is told apart by."""

    block_hash: str
    tx_hash: str
    log_index: int


@frozen
class _SecondEvent:
    """What the second of the two events says, and where it is."""

    conversion: LoggedConversion
    reference_topic: str
    place: _Place


def decode_conversions(network: str, logs: Iterable[Mapping[str, Any]]) -> set[ProxyTransfer]:
    """The payments by the conversion proxies among the JSON-RPC logs of one reading, without event keys.

    Logs of other contracts and other events are skipped, and a log that the node repeats counts once. Raises
    InconsistentNode if one of the two events of a payment is missing, and as `decode_transfer`.
    """
    if not _addresses(network):
        return set()
    firsts, seconds = set[tuple[_Place, ProxyTransfer]](), set[_SecondEvent]()
    for log in logs:
        if (transfer := decode_transfer(network, log, _PROXIES)) is not None:
            firsts.add((_place(log), transfer))
        elif (second := _decode_second(network, log)) is not None:
            seconds.add(second)
    if len(firsts) != len(seconds):
        raise InconsistentNode(network, f"{len(firsts)} transfers by conversion have {len(seconds)} amounts")
    transfers = dict(firsts)
    return {_join_events(network, second, transfers) for second in seconds}


def _join_events(network: str, second: _SecondEvent, transfers: Mapping[_Place, ProxyTransfer]) -> ProxyTransfer:
    """The transfer directly before the second event, with its conversion."""
    before = replace(second.place, log_index=second.place.log_index - 1)
    transfer = transfers.get(before)
    if transfer is None or transfer.reference_topic != second.reference_topic:
        where = f"log index {second.place.log_index} of {second.place.tx_hash}"
        raise InconsistentNode(network, f"the conversion with {where} has no transfer before it")
    return replace(transfer, conversion=second.conversion)


def _decode_second(network: str, log: Mapping[str, Any]) -> _SecondEvent | None:
    """Data words (32 bytes each): amount, currency, fee amount, maximum age of the rate."""
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 2 or topics[0].lower() != CONVERSION_TOPIC or log.get("removed") or len(data) != 32 * 4:
        return None
    if log["address"].lower() not in _addresses(network):
        return None
    amount, currency, fee, age = (int.from_bytes(data[at : at + 32], "big") for at in range(0, 128, 32))
    conversion = LoggedConversion(f"0x{currency:040x}", BaseUnits(amount), BaseUnits(fee), min(age, _LONGEST_AGE))
    return _SecondEvent(conversion, hash_of(topics[1]), _place(log))


def _addresses(network: str) -> set[str]:
    found = (contract_address(proxy, network) for proxy in _PROXIES)
    return {address for address in found if address is not None}


def _place(log: Mapping[str, Any]) -> _Place:
    return _Place(hash_of(log["blockHash"]), hash_of(log["transactionHash"]), quantity(log["logIndex"]))
