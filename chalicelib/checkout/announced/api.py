"""Views that announce a transaction for a link, and withdraw it."""

from typing import Any

from chalicelib.checkout.announced import flows as intents
from chalicelib.checkout.announced.schemas import (
    IntentRecorded,
    IntentWithdrawn,
    MulticallIntentRecorded,
    RecordIntent,
)
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import Intent
from chalicelib.platform.http.view import Call


def record_intent(call: Call[RecordIntent, None]) -> IntentRecorded | MulticallIntentRecorded:
    payment, intent = intents.record(call.services, call.path["token"], Viewer.of(call.caller), call.body.draft())
    if call.body.transactionIndices is not None:
        return _of_multicall(call.body, payment.link.token, intent, call.body.transactionIndices)
    is_sent = intent.safe_tx_hash is None
    optional: dict[str, Any] = {"txHash": intent.transaction_hash} if is_sent else {"safeTxHash": intent.safe_tx_hash}
    if intent.deadline is not None:
        optional["safePaymentDeadline"] = int(intent.deadline.timestamp())
    if intent.payer_address is not None:
        optional["payerAddress"] = intent.payer_address
    return IntentRecorded(
        intentId=intent.intent_id,
        paymentReference=payment.requests[0].payment_reference,
        isListening=True,
        **optional,
    )


def _of_multicall(
    body: RecordIntent, token: str, intent: Intent, indices: list[dict[str, Any]]
) -> MulticallIntentRecorded:
    optional = {} if intent.safe_tx_hash is None else {"safeTxHash": intent.safe_tx_hash}
    return MulticallIntentRecorded(
        receiptId=intent.intent_id,
        multicallId=token,
        parentToken=token,
        txHash=intent.transaction_hash,
        sourceChain=body.chain,
        smartAccountAddress=body.smartAccountAddress,
        userOpHash=body.userOpHash,
        transactionIndices=indices,
        isListening=False,
        **optional,
    )


def withdraw_intent(call: Call[None, None]) -> IntentWithdrawn:
    caller = call.caller
    intent = intents.withdraw(call.services, call.path["token"], caller.account_id, caller.client_id)
    return IntentWithdrawn(intentId=intent.intent_id, status="lapsed")
