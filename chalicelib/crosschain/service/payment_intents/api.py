"""Views that accept the signature of a payment intent, and withdraw one."""

from chalicelib.crosschain.service.payment_intents import flows, locks, schemas
from chalicelib.platform.http.view import Call


def send_payment_intent(call: Call[schemas.SignPaymentIntent, None]) -> schemas.PaymentIntentSent:
    body = call.body
    approval = body.signedApprovalPermit.as_sent_signature() if body.signedApprovalPermit is not None else None
    signed = body.signedPaymentIntent.as_sent_signature()
    intent = flows.accept(call.services, call.caller.owner, call.path["intent_id"], signed, approval)
    return schemas.PaymentIntentSent(message="Payment intent sent successfully", paymentIntentId=intent.intent_id)


def withdraw_payment_intent(call: Call[None, None]) -> schemas.PaymentIntentWithdrawn:
    intent = locks.withdraw(call.services, call.caller.owner, call.path["intent_id"])
    return schemas.PaymentIntentWithdrawn(paymentIntentId=intent.intent_id, status="failed")
