"""What is shown of payments from other chains: to payers by the link, to the merchant by the request."""

from collections.abc import Iterable
from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.crosschain.core.records import BridgeTransfer, Stage
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkAnnouncements


def answer_bridge_transfers(
    announcements: LinkAnnouncements | None, payment_references: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """The payments from other chains among a link's announced transactions, as JSON; those of these requests alone, if
    they are given.

    Amounts are in units of their token, times in ISO 8601; what is not known is null.
    """
    references = None if payment_references is None else set(payment_references)
    found = ((each, each.bridge_transfer) for each in (announcements.all if announcements is not None else ()))
    return [
        _facts(each, bridge_transfer)
        for each, bridge_transfer in found
        if bridge_transfer is not None and (references is None or _reference(bridge_transfer) in references)
    ]


def failure_reason(announced: AnnouncedTransaction) -> str | None:
    """Why an announced transaction did not pay, in words, with what the payer has now and where; None without a
    reason."""
    bridge_transfer = announced.bridge_transfer
    if bridge_transfer is None or bridge_transfer.reason is None or bridge_transfer.returned is None:
        return bridge_transfer.reason if bridge_transfer is not None else None
    token = require_token(bridge_transfer.returned.token)
    amount = format_amount(bridge_transfer.returned.amount, token.decimals)
    return f"{bridge_transfer.reason}: {amount} {token.symbol} on {token.network} in {bridge_transfer.returned.wallet}"


def _facts(announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer) -> dict[str, Any]:
    deposit = bridge_transfer.deposit
    return {
        "intentId": announced.announced_id,
        "status": _status(announced, bridge_transfer),
        "stage": bridge_transfer.stage.value,
        "since": iso(bridge_transfer.since),
        "sourceNetwork": announced.network,
        "sourceTxHash": announced.transaction_hash,
        "safeTxHash": announced.safe_tx_hash,
        "destinationNetwork": bridge_transfer.destination,
        "destinationTxHash": bridge_transfer.destination_hash,
        "refundTxHash": bridge_transfer.refund_hash,
        "bridgeTool": bridge_transfer.tool,
        "payerAddress": deposit.depositor if deposit is not None else announced.payer_address,
        "executionDeadline": iso(deposit.execution_deadline) if deposit is not None else None,
        "fillDeadline": iso(deposit.fill_deadline) if deposit is not None else None,
        "failureReason": failure_reason(announced),
        "held": _answer_returned(bridge_transfer),
        "isSurplus": bridge_transfer.is_surplus,
    }


def _status(announced: AnnouncedTransaction, bridge_transfer: BridgeTransfer) -> str:
    """Of a pending one: refunding, unknown, or pending; else how it ended."""
    if announced.status is not AnnouncedStatus.PENDING:
        return announced.status.value
    if bridge_transfer.stage is Stage.REFUNDING:
        return "refunding"
    return "unknown" if bridge_transfer.is_unknown else "pending"


def _answer_returned(bridge_transfer: BridgeTransfer) -> dict[str, str] | None:
    if bridge_transfer.returned is None:
        return None
    token = require_token(bridge_transfer.returned.token)
    return {
        "amount": format_amount(bridge_transfer.returned.amount, token.decimals),
        "currency": token.symbol,
        "network": token.network,
        "walletAddress": bridge_transfer.returned.wallet,
    }


def _reference(bridge_transfer: BridgeTransfer) -> str | None:
    return bridge_transfer.deposit.payment_reference if bridge_transfer.deposit is not None else None
