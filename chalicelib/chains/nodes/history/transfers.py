"""Finds the payments among the logs of a reading: the transfers of the proxies, and the events of the escrow."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue import contracts
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC, decode_conversions
from chalicelib.chains.nodes.escrow.transfers import escrow_events, escrow_transfers
from chalicelib.chains.nodes.history.logs import (
    ERC20_TRANSFER_TOPIC,
    NATIVE_TRANSFER_TOPIC,
    TRANSFER_TOPICS,
    InconsistentNode,
    ProxyTransfer,
    contract_address,
    decode_transfer,
)
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress, decode_emptied

PAYMENT_TOPICS = (*TRANSFER_TOPICS, CONVERSION_TOPIC)
"""The events that say that something was paid."""


def payment_events(network: str, escrow: EscrowContracts | None = None) -> tuple[tuple[str, ...], ...]:
    """The events that are payments on a network: a contract in lower-case hex, and the first topics that it emits
    together, one or, for a conversion, two. Any contract may emit these topics, and a contract others."""
    by_contract = {
        contracts.ERC20_FEE_PROXY: (ERC20_TRANSFER_TOPIC,),
        contracts.NATIVE_FEE_PROXY: (NATIVE_TRANSFER_TOPIC,),
        contracts.ERC20_CONVERSION_PROXY: (ERC20_TRANSFER_TOPIC, CONVERSION_TOPIC),
        contracts.NATIVE_CONVERSION_PROXY: (NATIVE_TRANSFER_TOPIC, CONVERSION_TOPIC),
    }
    found = ((contract_address(contract, network), topics) for contract, topics in by_contract.items())
    of_proxies = [(address, *topics) for address, topics in found if address is not None]
    return (*of_proxies, *(sorted(escrow_events(escrow)) if escrow is not None else ()))


def transfers_of(
    network: str,
    logs: Iterable[Mapping[str, Any]],
    escrow: EscrowContracts | None = None,
    addresses: Collection[PlainAddress] = (),
) -> tuple[ProxyTransfer, ...]:
    """The transfers among the JSON-RPC logs of one reading, in the order of the chain, with their event keys.

    `addresses` are those for plain transfers that may have been emptied without an event. The two events of a
    conversion are one transfer; each event of the network's `escrow` is one. Logs of other contracts and other events
    are skipped, and a log that the node repeats counts once. Raises InconsistentNode if two
    logs contradict each other or one of the two events of a conversion is missing, ChainUnavailable if a log does not
    have the documented form.
    """
    found = tuple(logs)
    try:
        decoded = {transfer for log in found if (transfer := decode_transfer(network, log)) is not None}
        converted = decode_conversions(network, found)
        escrowed = set() if escrow is None else escrow_transfers(escrow, found)
        without_event = decode_emptied(network, found, addresses, decoded)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ChainUnavailable(f"The {network} node does not answer as it should") from error
    return _identify_transfers(network, decoded | converted | escrowed | without_event)


def _identify_transfers(network: str, decoded: Iterable[ProxyTransfer]) -> tuple[ProxyTransfer, ...]:
    """Different transfers in the order of the chain, with event keys. Raises InconsistentNode as `transfers_of`."""
    ordered = sorted(decoded, key=lambda transfer: (transfer.block_number, transfer.log_index))
    _check_contradictions(network, ordered)
    counts = Counter[tuple[str, str]]()
    keyed = list[ProxyTransfer]()
    for transfer in ordered:
        event = transfer.tx_hash, _digest(transfer)
        keyed.append(replace(transfer, event_key=f"{event[1]}-{counts[event]}"))
        counts[event] += 1
    return tuple(keyed)


def _digest(transfer: ProxyTransfer) -> str:
    """16 hex digits of a hash of what the event says, and of the conversion, the escrow's event or the emptied address,
    if it is one."""
    said: tuple[object, ...] = (
        transfer.token_address,
        transfer.payee,
        transfer.amount,
        transfer.fee_amount,
        transfer.fee_address,
        transfer.reference_topic,
    )
    if (conversion := transfer.conversion) is not None:
        said += conversion.currency, conversion.amount, conversion.fee_amount, conversion.max_rate_age
    if (event := transfer.escrow) is not None:
        said += event.kind.value, event.payer, event.fee_bps, event.fee_receiver
    if transfer.emptied_address is not None:
        said += (transfer.emptied_address,)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _check_contradictions(network: str, ordered: Sequence[ProxyTransfer]) -> None:
    """Raises InconsistentNode for two transfers that no chain can have together. Logs of two transactions may have the
    same index, as some clients number the logs of each transaction from 0 on."""
    positions, hashes, blocks = set[tuple[int, str, int]](), dict[int, str](), dict[str, int]()
    for transfer in ordered:
        number, position = transfer.block_number, (transfer.block_number, transfer.tx_hash, transfer.log_index)
        if position in positions:
            raise InconsistentNode(network, f"two logs have index {transfer.log_index} of block {number}")
        if hashes.setdefault(number, transfer.block_hash) != transfer.block_hash:
            raise InconsistentNode(network, f"two logs of block {number} have different block hashes")
        if blocks.setdefault(transfer.tx_hash, number) != number:
            raise InconsistentNode(network, f"transaction {transfer.tx_hash} is in two blocks")
        positions.add(position)
