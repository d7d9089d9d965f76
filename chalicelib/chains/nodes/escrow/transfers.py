"""Decodes the events of the commerce escrow and of its collector for pre-approvals.

    PaymentPreApproved   hash |                                                              of the collector
    PaymentAuthorized    hash | info, amount, collector
    PaymentCharged       hash | info, amount, collector, fee in basis points, fee receiver
    PaymentCaptured      hash | amount, fee in basis points, fee receiver
    PaymentVoided        hash | amount
    PaymentReclaimed     hash | amount
    PaymentRefunded      hash | amount, collector

The hash is indexed; the data is one word each, and 12 for `info`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, hex_address
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.calldata.escrow.payment_info import INFO_BYTES, decode_info
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.chains.nodes.history.logs import ProxyTransfer
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

PRE_APPROVED_TOPIC = "0x648e07873d502d2121c8e8dfb7efab466b43a83ef86ada8626ae88cf568becde"
AUTHORIZED_TOPIC = "0x1c81fb2e3bab27f6bb09bee9a0dddf61600b7cbaf2c12683e4864e0cbdb9d284"
CHARGED_TOPIC = "0x943ae4341dd799d7aeedc501f616cd26b134639e0bc2ec059581ba3ebbf1e7d0"
CAPTURED_TOPIC = "0xe749f7bbd01b49bb05abf26ca492cb4dfdea6bedeada8a40fdccd478c73a74e2"
VOIDED_TOPIC = "0xcadce8c3acb008e3e1c64ca7f60d22a3c87069183182b7dbb9e4d8cfb3a15842"
RECLAIMED_TOPIC = "0x78e1d723d17e13b7f40eeab9bf6dd9148a630bafde4203ab7bb5fca983516d17"
REFUNDED_TOPIC = "0x1bf415371b303ca6b8bbb4ce479b177cba5ad15dbe0c9a7750a588aa6bcd25b2"

_FORMS = {
    PRE_APPROVED_TOPIC: (EscrowEventKind.PRE_APPROVED, 0),
    AUTHORIZED_TOPIC: (EscrowEventKind.AUTHORIZED, INFO_BYTES + 2 * WORD),
    CHARGED_TOPIC: (EscrowEventKind.CHARGED, INFO_BYTES + 4 * WORD),
    CAPTURED_TOPIC: (EscrowEventKind.CAPTURED, 3 * WORD),
    VOIDED_TOPIC: (EscrowEventKind.VOIDED, WORD),
    RECLAIMED_TOPIC: (EscrowEventKind.RECLAIMED, WORD),
    REFUNDED_TOPIC: (EscrowEventKind.REFUNDED, 2 * WORD),
}
"""The kind and the bytes of data of each event, by its topic."""
ESCROW_TOPICS = tuple(_FORMS)
_WITH_INFO = (EscrowEventKind.AUTHORIZED, EscrowEventKind.CHARGED)
_WITH_FEE = (EscrowEventKind.CHARGED, EscrowEventKind.CAPTURED)


def escrow_emitters(contracts: EscrowContracts) -> tuple[str, str]:
    """The contracts whose events are decoded here."""
    return contracts.escrow, contracts.pre_approval


def escrow_events(contracts: EscrowContracts) -> set[tuple[str, str]]:
    """The events that are decoded here: contract in lower-case hex, and first topic."""
    emitters = dict.fromkeys(ESCROW_TOPICS, contracts.escrow) | {PRE_APPROVED_TOPIC: contracts.pre_approval}
    return {(hex_address(emitter), topic) for topic, emitter in emitters.items()}


def escrow_transfers(contracts: EscrowContracts, logs: Iterable[Mapping[str, Any]]) -> set[ProxyTransfer]:
    """The events of the escrow among the JSON-RPC logs of one reading, without event keys.

    Logs of other contracts and other events are skipped, and a log that the node repeats counts once. Raises as
    `decode_escrow`.
    """
    decoded = ((log, decode_escrow(contracts, log)) for log in logs)
    return {
        ProxyTransfer(
            network=contracts.network,
            token_address=None,
            payee=ZERO_ADDRESS,
            amount=event.amount,
            fee_amount=BaseUnits(0),
            fee_address=ZERO_ADDRESS,
            reference_topic=event.payment_hash,
            tx_hash=hash_of(log["transactionHash"]),
            log_index=quantity(log["logIndex"]),
            block_number=quantity(log["blockNumber"]),
            block_hash=hash_of(log["blockHash"]),
            escrow=event,
        )
        for log, event in decoded
        if event is not None
    }


def decode_escrow(contracts: EscrowContracts, log: Mapping[str, Any]) -> LoggedEscrow | None:
    """Decodes a JSON-RPC log object; None if it is not such an event, or another contract emitted it.

    Raises ValueError, TypeError, LookupError or AttributeError if the log does not have the documented form.
    """
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 2 or log.get("removed"):
        return None
    form = _FORMS.get(topics[0].lower())
    if form is None or len(data) != form[1]:
        return None
    kind = form[0]
    emitter = contracts.pre_approval if kind is EscrowEventKind.PRE_APPROVED else contracts.escrow
    if log["address"].lower() != hex_address(emitter):
        return None
    payer = hex_address(decode_info(data).payer) if kind in _WITH_INFO else None
    words = _words(data[INFO_BYTES:] if kind in _WITH_INFO else data)
    bps, receiver = words[-2:] if kind in _WITH_FEE else (0, None)
    return LoggedEscrow(
        kind=kind,
        payment_hash=hash_of(topics[1]),
        amount=BaseUnits(words[0] if words else 0),
        payer=payer,
        fee_bps=bps,
        fee_receiver=None if receiver is None else f"0x{receiver:040x}",
    )


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[start : start + WORD], "big") for start in range(0, len(data), WORD)]
