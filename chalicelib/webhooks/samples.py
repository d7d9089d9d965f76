"""Sample events for test deliveries, one for every kind of event, with the fields and forms of real ones."""

from typing import Any

from chalicelib.base import ids
from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.timestamps import iso
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import KINDS, EventContext, compact_json

_NAMING_CLIENT_ID = ("payment.confirmed", "payment.partial")
_REQUEST_ID, _ORIGINAL_ID = "01" + "7e57" * 16, "01" + "0a57" * 16
_REFERENCE, _ORIGINAL_REFERENCE = "0x7e57abcdef123456", "0x0a57abcdef123456"
_TX_HASH = "0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef"
_WALLET = "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"
_USER, _USER_ID = "user_test123456789", "7e577e57-7e57-4e57-8e57-7e577e577e57"


def sample_event(kind: str, account_id: str, client_id: str | None, context: EventContext) -> Event:
    """An event of that kind with invented data. Raises ValidationFailed, which lists the kinds, for an unknown kind."""
    if kind not in KINDS:
        expected = " | ".join(f"'{k}'" for k in KINDS)
        problem = Problem(
            ("eventType",),
            f"Invalid enum value. Expected {expected}, received '{kind[:100]}'",
            "invalid_enum_value",
            (("options", list(KINDS)),),
            verbatim=True,
        )
        raise ValidationFailed((problem,))
    return Event(
        event_id=ids.ulid(context.now, context.entropy),
        kind=kind,
        account_id=account_id,
        client_id=client_id,
        body=compact_json(_payload(kind, client_id, context)),
        created_at=context.now,
        announced=True,
    )


def _payload(kind: str, client_id: str | None, context: EventContext) -> dict[str, Any]:
    core_kind = kind.removesuffix(".client_id").removesuffix(".checkout")
    payload = {"event": kind, **_BODIES[core_kind], "timestamp": iso(context.now)}
    if "requestId" in payload:
        payload["requestID"] = payload["requestId"]
        payload["paymentProcessor"] = context.processor(is_fiat=core_kind == "payment.processing")
        payload["explorer"] = f"{context.explorer_url}/request/{payload['requestId']}"
    if core_kind.startswith(("payment.", "request.")):
        payload["createdWith"] = "apiKey"
    if kind.endswith(".client_id") or (client_id is not None and core_kind in _NAMING_CLIENT_ID):
        payload |= {"clientId": client_id or "cli_test", "origin": "https://shop.example"}
    return payload


_CHANGED: dict[str, Any] = {
    "requestId": _REQUEST_ID,
    "paymentReference": _REFERENCE,
    "amount": "100",
    "totalAmountPaid": "100",
    "expectedAmount": "100",
    "txHash": _TX_HASH,
    "network": "mainnet",
    "currency": "USDC",
    "paymentCurrency": "USDC",
    "isCryptoToFiat": False,
    "subStatus": "",
}
_PAID: dict[str, Any] = {
    **_CHANGED,
    "fees": [{"type": "platform", "amount": "1", "currency": "USDC"}],
    "payee": _WALLET,
    "reference": "INV-1",
    "payerIdentifier": None,
    "payerAddress": _WALLET,
    "labels": [],
}

_BODIES: dict[str, dict[str, Any]] = {
    "payment.confirmed": _PAID,
    "payment.partial": {**_PAID, "amount": "50", "totalAmountPaid": "50", "labels": ["under"]},
    "payment.unexpected": {
        "requestId": _REQUEST_ID,
        "paymentReference": _REFERENCE,
        "labels": ["duplicate"],
        "status": "confirmed",
        "amount": "100",
        "totalAmountPaid": "200",
        "expectedAmount": "100",
        "txHash": _TX_HASH,
        "network": "mainnet",
        "currency": "USDC",
        "paymentCurrency": "USDC",
        "receivedAmount": "100",
        "payee": _WALLET,
        "reference": "INV-1",
        "payerAddress": _WALLET,
        "untoldCount": 0,
    },
    "payment.failed": {
        **_CHANGED,
        "totalAmountPaid": "0",
        "subStatus": "failed",
        "failureReason": "chain_reorganization",
    },
    "payment.refunded": {
        "requestId": _REQUEST_ID,
        "paymentReference": _REFERENCE,
        "refundedTo": _WALLET,
        "refundAmount": "100",
        "currency": "USDC",
        "txHash": _TX_HASH,
        "network": "mainnet",
    },
    "payment.processing": {
        "requestId": _REQUEST_ID,
        "paymentReference": _REFERENCE,
        "offrampId": f"offramp_{_REQUEST_ID}",
        "subStatus": "ongoing_checks",
        "isCryptoToFiat": True,
        "rawPayload": {"status": "ongoing_checks", "providerId": "provider_test123"},
    },
    "request.recurring": {
        "requestId": _REQUEST_ID,
        "paymentReference": _REFERENCE,
        "originalRequestId": _ORIGINAL_ID,
        "originalRequestPaymentReference": _ORIGINAL_REFERENCE,
    },
    "compliance.updated": {
        "clientUserId": _USER,
        "kycStatus": "approved",
        "agreementStatus": "completed",
        "isCompliant": True,
        "rawPayload": {"userId": _USER_ID, "kycStatus": "approved", "agreementStatus": "completed"},
    },
    "payment_detail.updated": {
        "paymentDetailsId": "7e577e57-7e57-4e57-9e57-7e577e577e57",
        "clientUserId": _USER,
        "status": "approved",
        "rawPayload": {"userId": _USER_ID, "status": "approved"},
    },
}
