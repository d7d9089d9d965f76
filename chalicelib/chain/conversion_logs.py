"""Decodes the events of the conversion proxies into converted transfers.

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
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.contracts import ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY
from chalicelib.chain.hex_values import hash_of, quantity
from chalicelib.chain.logs import InconsistentNode, ProxyTransfer, contract_address, decode_transfer, identified

CONVERSION_TOPIC = "0x96d0d1d75923f40b50f6fe74613b2c23239149607848fbca3941fee7ac041cdc"
"""TransferWithConversionAndReference(amount, currency, indexed reference, fee amount, maximum age of the rate)."""
_PROXIES = (ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY)


@frozen
class ConvertedTransfer:
    """One converted payment. `transfer` is what moved, in base units of its token (None: the native coin).

    `currency` is the hash of the invoice currency (lower-case hex); `amount` and `fee_amount` are in it, as the
    contracts count it (`from_on_chain_units`). `max_rate_age` is what the payer accepted, in seconds; 0 is any age.
    """

    transfer: ProxyTransfer
    currency: str
    amount: BaseUnits
    fee_amount: BaseUnits
    max_rate_age: int


@frozen
class _Conversion:
    """The second of the two events, and where it is in the chain."""

    currency: str
    amount: BaseUnits
    fee_amount: BaseUnits
    max_rate_age: int
    reference_topic: str
    place: tuple[str, str, int]


def converted_transfers_of(network: str, logs: Iterable[Mapping[str, Any]]) -> tuple[ConvertedTransfer, ...]:
    """The converted payments among the JSON-RPC logs of one reading, in the order of the chain.

    Logs of other contracts and other events are skipped, and a log that the node repeats counts once. Raises
    InconsistentNode if one of the two events of a payment is missing, ChainUnavailable if a log does not have the
    documented form.
    """
    transfers: dict[tuple[str, str, int], ProxyTransfer] = {}
    conversions: dict[tuple[str, str, int], _Conversion] = {}
    try:
        for log in logs:
            if (transfer := decode_transfer(network, log, _PROXIES)) is not None:
                transfers[_place(log)] = transfer
            elif (conversion := _decode_conversion(network, log)) is not None:
                conversions[conversion.place] = conversion
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ChainUnavailable(f"The {network} node does not answer as it should") from error
    if len(transfers) != len(conversions):
        raise InconsistentNode(network, f"{len(transfers)} transfers by conversion have {len(conversions)} amounts")
    keyed = {(each.block_hash, each.tx_hash, each.log_index): each for each in identified(network, transfers.values())}
    found = [_joined(network, conversion, keyed) for conversion in conversions.values()]
    return tuple(sorted(found, key=lambda each: (each.transfer.block_number, each.transfer.log_index)))


def _joined(
    network: str, conversion: _Conversion, transfers: dict[tuple[str, str, int], ProxyTransfer]
) -> ConvertedTransfer:
    """The conversion with the transfer directly before it."""
    block_hash, tx_hash, index = conversion.place
    transfer = transfers.get((block_hash, tx_hash, index - 1))
    if transfer is None or transfer.reference_topic != conversion.reference_topic:
        raise InconsistentNode(network, f"the conversion with log index {index} of {tx_hash} has no transfer before it")
    return ConvertedTransfer(
        transfer, conversion.currency, conversion.amount, conversion.fee_amount, conversion.max_rate_age
    )


def _decode_conversion(network: str, log: Mapping[str, Any]) -> _Conversion | None:
    """Data words (32 bytes each): amount, currency, fee amount, maximum age of the rate."""
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 2 or topics[0].lower() != CONVERSION_TOPIC or log.get("removed") or len(data) != 32 * 4:
        return None
    if log["address"].lower() not in {contract_address(proxy, network) for proxy in _PROXIES}:
        return None
    amount, currency, fee, age = (int.from_bytes(data[at : at + 32], "big") for at in range(0, 128, 32))
    return _Conversion(
        currency=f"0x{currency:040x}",
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(fee),
        max_rate_age=age,
        reference_topic=hash_of(topics[1]),
        place=_place(log),
    )


def _place(log: Mapping[str, Any]) -> tuple[str, str, int]:
    """What a log is told apart by: the hash of its block, its transaction, and its index in the block."""
    return hash_of(log["blockHash"]), hash_of(log["transactionHash"]), quantity(log["logIndex"])
