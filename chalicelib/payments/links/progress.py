"""What is shown of payments from other chains: to payers by the link, to the merchant by the request."""

from collections.abc import Iterable
from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.crosschain.core.records import Crossing, Stage
from chalicelib.payments.links.records import Intent, IntentStatus


def crosschain_intents(intent: Intent | None, payment_references: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """The payments from other chains among a link's intents, as JSON; those of these requests alone, if they are given.

    Amounts are in units of their token, times in ISO 8601; what is not known is null.
    """
    references = None if payment_references is None else set(payment_references)
    found = ((each, each.crossing) for each in (intent.all if intent is not None else ()))
    return [
        _facts(each, crossing)
        for each, crossing in found
        if crossing is not None and (references is None or _reference(crossing) in references)
    ]


def failure_reason(intent: Intent) -> str | None:
    """Why an intent did not pay, in words, with what the payer has now and where; None without a reason."""
    crossing = intent.crossing
    if crossing is None or crossing.reason is None or crossing.held is None:
        return crossing.reason if crossing is not None else None
    token = _token(crossing.held.token)
    amount = format_amount(crossing.held.amount, token.decimals)
    return f"{crossing.reason}: {amount} {token.symbol} on {token.network} in {crossing.held.wallet}"


def _facts(intent: Intent, crossing: Crossing) -> dict[str, Any]:
    deposit = crossing.deposit
    return {
        "intentId": intent.intent_id,
        "status": _status(intent, crossing),
        "stage": crossing.stage.value,
        "since": iso(crossing.since),
        "sourceNetwork": intent.network,
        "sourceTxHash": intent.transaction_hash,
        "safeTxHash": intent.safe_tx_hash,
        "destinationNetwork": crossing.destination,
        "destinationTxHash": crossing.destination_hash,
        "refundTxHash": crossing.refund_hash,
        "bridgeTool": crossing.tool,
        "payerAddress": deposit.depositor if deposit is not None else intent.payer_address,
        "executionDeadline": iso(deposit.execution_deadline) if deposit is not None else None,
        "fillDeadline": iso(deposit.fill_deadline) if deposit is not None else None,
        "failureReason": failure_reason(intent),
        "held": _held(crossing),
        "isSurplus": crossing.is_surplus,
    }


def _status(intent: Intent, crossing: Crossing) -> str:
    """Of a pending one: refunding, unknown, or pending; else how it ended."""
    if intent.status is not IntentStatus.PENDING:
        return intent.status.value
    if crossing.stage is Stage.REFUNDING:
        return "refunding"
    return "unknown" if crossing.is_unknown else "pending"


def _held(crossing: Crossing) -> dict[str, str] | None:
    if crossing.held is None:
        return None
    token = _token(crossing.held.token)
    return {
        "amount": format_amount(crossing.held.amount, token.decimals),
        "currency": token.symbol,
        "network": token.network,
        "walletAddress": crossing.held.wallet,
    }


def _reference(crossing: Crossing) -> str | None:
    return crossing.deposit.payment_reference if crossing.deposit is not None else None


def _token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None, "only catalogued tokens are stored"
    return found
