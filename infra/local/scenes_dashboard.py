"""What the API answers in pictures of the dashboard where the examples of the operations are too little."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.payments.search.payments.export import COLUMNS
from infra.local.scenes_account import ACCOUNT, NEW_ACCOUNT, PAYEE, Answers, ago

_NOW = datetime.now(UTC)
_PAYER = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
_NAMES = ("INV-2041", "INV-2040 Überweisung für Café", "desk, oak, 2 pieces", "طلب رقم ٧", "INV-2038")


def _hash(number: int) -> str:
    return f"0x{number + 160:02x}" * 1 + f"{number + 160:02x}" * 31


def _payments(count: int) -> str:
    """The table of GET /v2/payments: for two months, more on some days than on others."""
    lines = io.StringIO()
    table = csv.DictWriter(lines, COLUMNS, restval="")
    table.writeheader()
    for number in range(count):
        paid = {
            "amount": f"{(number * 37) % 211 + 12}.5",
            "paymentCurrency": "USDC",
            "paymentCurrencyId": "USDC-base",
            "network": "base",
        }
        about = {"reference": _NAMES[number % 5], "requestId": f"01{number:062x}", "direction": "in", "type": "direct"}
        whose = {
            "payer": _PAYER,
            "payee": PAYEE,
            "txHash": _hash(number % 90),
            "id": f"P{number}",
            "timestamp": ago(hours=7 * number + number % 5),
        }
        table.writerow({**paid, **about, **whose})
    return lines.getvalue()


def _request(number: int, status: str) -> dict[str, Any]:
    money = {"amount": f"{120 + 7 * number}.5", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}
    return {
        "requestId": f"01{number:062x}",
        "status": status,
        "reference": _NAMES[number % 5],
        "createdAt": ago(hours=5 * number),
        "payee": PAYEE,
        "securePaymentToken": f"01M81GWADTG430DT5ZY44SN9{number:02}",
        "securePaymentStatus": "pending",
        "paidAmount": "60" if status == "partially_paid" else "0",
        **money,
    }


_STATUSES = ("created", "paid", "partially_paid", "paid", "failed", "cancelled", "processing", "paid")
_REQUESTS = [
    *(_request(number, status) for number, status in enumerate(_STATUSES)),
    {**_request(8, "partially_paid"), "securePaymentStatus": "expired"},
]


def _link(number: int, status: str) -> dict[str, Any]:
    url = f"https://pay.example/?token=01M81GWADTG430DT5ZY44SN9{number:02}"
    return {
        **{"token": url[-26:], "securePaymentUrl": url, "status": status, "reference": _NAMES[number % 5]},
        **{"paymentType": "batch" if number == 2 else "single", "flow": "pay" if number == 3 else "get_paid"},
        **{"createdAt": ago(hours=5 * number), "expiresAt": ago(days=-7)},
    }


def _recurring(number: int, status: str, paid: int, **changes: Any) -> dict[str, Any]:
    money = {"amount": "2500", "currency": "USDC-base", "payee": PAYEE, "payer": _PAYER, "frequency": "MONTHLY"}
    counts = {"processedPayments": paid, "totalPayments": 12, "nextPaymentDate": ago(days=-number)}
    about = {"id": f"R{number}", "status": status, "reference": _NAMES[number % 5], "failureCode": None}
    return {**about, **money, **counts, "createdAt": ago(days=number), "startDate": ago(days=30 * paid), **changes}


_RECURRING = [
    *(_recurring(1, "active", 3), _recurring(3, "pending", 0), _recurring(4, "cancelled", 2, nextPaymentDate=None)),
    _recurring(2, "paused", 5, failureCode="insufficient_allowance", nextPaymentDate=None),
]


def _transfer(number: int, classification: str, action: str, **changes: Any) -> dict[str, Any]:
    return {
        "requestId": "01ab",
        "classification": classification,
        "late": False,
        "counted": action != "refund",
        "network": "base",
        "txHash": _hash(number),
        "logIndex": number,
        "payee": PAYEE,
        "currency": "USDC-base",
        "amount": "60",
        "baseUnits": "60000000",
        "paidAt": ago(hours=20 - number),
        "detectedAt": ago(hours=20 - number),
        "status": "confirmed",
        "recoveryAction": action,
        "refund": None,
        **changes,
    }


def _event(number: int, kind: str, **body: Any) -> dict[str, Any]:
    return {
        "id": f"01M8EVENT{number:017}",
        "kind": kind,
        "clientId": None,
        "createdAt": ago(hours=19 - number),
        "announced": True,
        "body": {"event": kind, **body},
    }


def _mispaid(number: int, kind: str, *labels: str, **changes: str) -> dict[str, Any]:
    about = {"requestId": "01ab", "labels": labels, "reference": _NAMES[number % 5], "status": "confirmed"}
    moved = {"amount": "60", "currency": "USDC", "receivedAmount": "60", "paymentCurrency": "USDC", "network": "base"}
    return _event(number, kind, **{**about, **moved, "txHash": _hash(number), **changes})


_CAPTURABLE = {
    "requestId": "01ab",
    "status": "AUTHORIZED",
    "payer": _PAYER,
    "operator": PAYEE,
    "isServiceOperator": True,
    "paymentCurrency": "USDC-base",
    "network": "base",
    "heldAmount": "60000000",
    "capturedAmount": "60500000",
    "feeAmount": "250000",
    "voidedAmount": "0",
    "reclaimedAmount": "0",
    "refundedAmount": "500000",
    "authorizationExpiry": str(int((_NOW + timedelta(days=3)).timestamp())),
    "refundExpiry": str(int((_NOW + timedelta(days=60)).timestamp())),
    "canCapture": True,
    "canVoid": True,
    "canRefund": True,
    "failureReason": None,
    "updatedAt": ago(hours=1),
    "events": [
        {"type": kind, "timestamp": ago(hours=hours), "transactionHash": _hash(hours), "amount": amount}
        for kind, hours, amount in (
            ("AUTHORIZED", 22, "120500000"),
            ("CAPTURED", 21, "60500000"),
            ("REFUNDED", 20, "500000"),
        )
    ],
}
_OFFER = {"payer": _PAYER, "amount": "60", "currency": "USDC-base", "status": "offered", "transactions": []}
_SHOWN: dict[str, Any] = {
    "requestId": "01ab",
    "paymentReference": "0xc0d08c224ff2572f",
    "createdAt": ago(days=2),
    "status": "partially_paid",
    "reference": "INV-2041",
    "note": "Called on Monday",
    "payee": PAYEE,
    "payerAddress": _PAYER,
    "requestAmount": "120.5",
    "invoiceCurrency": "USDC-base",
    "paymentCurrency": "USDC-base",
    "paidAmount": "60",
    "receivedAmount": "60",
    "refundedAmount": "0",
    "excessAmount": None,
    "payments": [],
}
_TOKENS: list[dict[str, Any]] = [
    *({"id": code, "symbol": code, "type": "ISO4217", "decimals": 2, "network": ""} for code in ("USD", "EUR")),
    *(
        {
            "id": f"{symbol}-{network}",
            "name": symbol,
            "symbol": symbol,
            "decimals": 6,
            "address": PAYEE,
            "network": network,
            "type": "ERC20",
            "chainId": chain,
        }
        for symbol, network, chain in (("USDC", "base", 8453), ("USDT", "mainnet", 1), ("USDC", "polygon", 137))
    ),
]
POPULATED: Answers = {
    **ACCOUNT,
    "find_payments": _payments(180),
    "list_recurring": {"recurringPayouts": _RECURRING, "nextCursor": None},
    "change_recurring": {"transactions": [{"to": PAYEE, "data": "0x095ea7b3", "value": "0x0"}]},
    "list_requests": {"requests": _REQUESTS, "pagination": {"nextCursor": "more"}},
    "look_up_secure_payment": {
        "securePayments": [_link(n, s) for n, s in enumerate(("pending", "completed", "expired", "cancelled"))],
        "pagination": {"nextCursor": None},
    },
    "read_request": _SHOWN,
    "list_transfers_of_request": {
        "transfers": [_transfer(1, "partial", "pay_remaining"), _transfer(2, "duplicate", "refund", refund=_OFFER)]
    },
    "list_events": {
        "events": [
            _event(1, "payment.partial"),
            _mispaid(2, "payment.unexpected", "duplicate"),
            _mispaid(4, "payment.unexpected", "wrong_payee", "late"),
            _mispaid(5, "payment.confirmed", "over", "late", excessAmount="2"),
            _mispaid(6, "payment.unexpected", "duplicate", requestId="01ac"),
            _event(7, "payment.refunded", requestId="01ac", refundAmount="60"),
            _mispaid(8, "payment.failed", failureReason="chain_reorganization"),
        ],
        "nextCursor": None,
    },
    "list_currencies": _TOKENS,
}
"""A shop in the middle of its work. None is a 404."""
_ESCROWED = {"get_commerce_status": _CAPTURABLE, "read_request": {**_SHOWN, "isCommercePayment": True}}
CAPTURABLE: Answers = {**POPULATED, **_ESCROWED, "list_transfers_of_request": {"transfers": []}}
"""The same, whose request is a commerce payment."""
RECURS: Answers = {
    **POPULATED,
    "look_up_secure_payment": None,
    "read_request": {
        **{**_SHOWN, "status": "created", "paidAmount": "0", "receivedAmount": "0", "payerAddress": None},
        **{"recurrence": {"startDate": "2026-01-31", "frequency": "MONTHLY"}, "isRecurrenceStopped": False},
    },
    "list_transfers_of_request": {"transfers": []},
}
"""The same, whose request recurs."""
EMPTY: Answers = {
    **NEW_ACCOUNT,
    "find_payments": _payments(0),
    "list_recurring": {"recurringPayouts": [], "nextCursor": None},
    "list_requests": {"requests": [], "pagination": {"nextCursor": None}},
    "look_up_secure_payment": {"securePayments": [], "pagination": {"nextCursor": None}},
    "list_events": {"events": [], "nextCursor": None},
    "list_currencies": _TOKENS,
}
"""The first hour of a shop."""
