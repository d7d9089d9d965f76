"""Intents: a payer announces a multisig transaction, and the link waits for it until its owner withdraws it."""

from typing import Any

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.checkout.intents import flows as intents
from chalicelib.checkout.intents.schemas import IntentRecorded, IntentWithdrawn, RecordIntent
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.flows import Reader

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/{token}/intent",
    summary="Announce a multisig transaction that pays a link; nobody else may pay it meanwhile",
    modes=(Mode.API_KEY, Mode.CLIENT_ID),
    scope="secure_payments:write",
    body=RecordIntent,
    answer=IntentRecorded,
    looks_up_token=True,
    by_page=True,
    errors=(400, 401, 403, 404, 409, 423, 503),
)
def record_intent(call: Call) -> IntentRecorded:
    payment, intent = intents.record(call.services, call.path["token"], Reader.of(call.caller), call.body.draft())
    sent: dict[str, Any] = {}
    if intent.deadline is not None:
        sent["safePaymentDeadline"] = int(intent.deadline.timestamp())
    if intent.payer_address is not None:
        sent["payerAddress"] = intent.payer_address
    return IntentRecorded(
        intentId=intent.intent_id,
        paymentReference=payment.requests[0].payment_reference,
        safeTxHash=intent.safe_tx_hash,
        isListening=True,
        **sent,
    )


@operation(
    blueprint,
    "DELETE",
    "/v2/secure-payments/{token}/intent",
    summary="Withdraw the multisig transaction that a link waits for; anybody may pay the link again",
    modes=(Mode.API_KEY, Mode.SESSION),
    scope="secure_payments:write",
    answer=IntentWithdrawn,
    looks_up_token=True,
    errors=(401, 403, 404, 409),
)
def withdraw_intent(call: Call) -> IntentWithdrawn:
    caller = call.caller
    intent = intents.withdraw(call.services, call.path["token"], caller.account_id, caller.client_id)
    return IntentWithdrawn(intentId=intent.intent_id, status="lapsed")
