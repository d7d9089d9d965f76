"""What the API answers in pictures of the dashboard about an account: its people, changes, webhooks and platforms."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.base.timestamps import iso

Answers = Mapping[str, Any]
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
_NOW = datetime.now(UTC)


def ago(**before: float) -> str:
    return iso(_NOW - timedelta(**before))


def _delivery(number: int, state: str, status: int) -> dict[str, Any]:
    response = "upstream is down" if status == 502 else ""
    attempt = {"at": ago(hours=18), "status": status, "error": None, "response": response, "durationMs": 182}
    return {
        "id": f"01M8DELIVERY{number:014}",
        "webhookId": "01ab",
        "event": "payment.partial",
        "state": state,
        "isTest": False,
        "createdAt": ago(hours=18),
        "attempts": [attempt],
        "body": {"event": "payment.partial", "requestId": "01ab", "amount": "60", "currency": "USDC-base"},
    }


def _change(number: int, operation: str, state: str, effects: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    until = {"takesEffectAt": iso(_NOW + timedelta(hours=20 - number)), "expiresAt": iso(_NOW + timedelta(days=7))}
    times = {"askedAt": ago(hours=3 * number + 1), **until}
    asked: dict[str, Any] = {
        "askedBy": "person:p2",
        "approvedBy": [],
        "decidedAt": None,
        "decidedBy": None,
        "reason": None,
        "path": {},
        "request": {},
    }
    return {
        "id": f"01M8CHANGE{number:016}",
        "operation": operation,
        "state": state,
        "effects": effects,
        **times,
        **asked,
        **changes,
    }


_DESTINATION = {
    "walletAddress": PAYEE,
    "tokenAddress": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "chainId": 8453,
    "active": True,
}
_CHANGES = [
    _change(
        0,
        "change_own_payee_destination",
        "pending",
        [{"resource": "payee_destination", "before": _DESTINATION, "after": {**_DESTINATION, "chainId": 137}}],
    ),
    _change(
        1,
        "change_role",
        "pending",
        [{"resource": "member", "before": {"role": "viewer"}, "after": {"role": "admin"}}],
        askedBy="person:p1",
    ),
    _change(
        2,
        "create_api_key",
        "applied",
        [],
        request={"label": "Checkout", "scopes": ["secure_payments:write", "requests:read"]},
        approvedBy=["person:p1"],
        decidedAt=ago(hours=2),
        decidedBy="person:p1",
    ),
    _change(
        3,
        "create_webhook",
        "refused",
        [
            {
                "resource": "webhook",
                "before": None,
                "after": {"url": "https://hooks.example/orders?of=a-rather-long-address-without-any-space-in-it"},
            }
        ],
        decidedAt=ago(hours=4),
        decidedBy="person:p1",
        reason="We do not know this host",
    ),
]
_PEOPLE = [
    {
        "id": f"p{number}",
        "name": name,
        "type": "email",
        "role": role,
        "joinedAt": ago(days=90 - number),
        "current": number == 1,
    }
    for number, (name, role) in enumerate(
        [
            ("ann@shop.example", "owner"),
            ("bob.of.the.long.surname@accounting.shop.example", "finance"),
            ("eve@shop.example", "viewer"),
        ],
        start=1,
    )
]
_ME: dict[str, Any] = {
    "id": "a1",
    "personId": "p1",
    "role": "owner",
    "type": "email",
    "email": "ann@shop.example",
    "secondFactorMissing": False,
    "accounts": [
        {"id": "a1", "name": "The Shop", "role": "owner"},
        {"id": "a2", "name": "The Other Shop", "role": "viewer"},
    ],
    "identities": [
        {"id": "i1", "type": "email", "name": "ann@shop.example"},
        {"id": "i2", "type": "wallet", "name": PAYEE},
    ],
}
_READ = {"lastRead": ago(seconds=5)}
_NETWORKS = [
    {"network": name, "lagSeconds": lag, "readUntil": ago(seconds=lag), **_READ, "isSeeingPayments": lag < 600}
    for name, lag in (("base", 9), ("mainnet", 31), ("matic", 4200), ("tron", 12))
]
_WEBHOOKS = [
    {
        "id": "01ab",
        "url": "https://shop.example/hooks/payments",
        "isActive": True,
        "events": ["payment.*", "webhook.failing"],
        "createdAt": ago(days=30),
        "failingSince": ago(hours=3),
    },
    {"id": "01cd", "url": "https://ledger.example/in", "isActive": False, "events": ["*"], "createdAt": ago(days=12)},
]

_PLATFORMS = [
    {
        "orchestrator": {
            "id": f"01M8PLATFORM{number:014}",
            "name": name,
            "supportEmail": f"support@{host}",
            "status": "active",
            "createdAt": ago(days=age),
            "updatedAt": ago(days=age),
        },
        "key": {
            "id": f"01M8KEY{number:019}",
            "orchestratorId": f"01M8PLATFORM{number:014}",
            "keyPrefix": f"orc_live_a{number}Zk",
            "status": "active",
            "createdAt": ago(days=age),
        },
    }
    for number, (name, host, age) in enumerate(
        [("Market of the Old Town", "market.example", 3), ("Till & Söhne", "till-and-soehne.example", 70)], start=1
    )
]

ACCOUNT: Answers = {
    "me": _ME,
    "list_deliveries_of_event": {"deliveries": [_delivery(1, "failed", 502), _delivery(2, "delivered", 200)]},
    "list_deliveries": {
        "deliveries": [_delivery(1, "failed", 502), _delivery(2, "delivered", 200), _delivery(3, "waiting", 502)],
        "nextCursor": None,
    },
    "list_webhooks": _WEBHOOKS,
    "list_orchestrators": {"orchestrators": _PLATFORMS},
    "list_changes": {"changes": _CHANGES, "nextCursor": None},
    "list_members": _PEOPLE,
    "read_account": {
        **{"id": "a1", "name": "The Shop", "requireSecondFactor": True, "approvals": True},
        "approvalDelayHours": 24,
        "networksLowOnGas": ["base"],
        "createdAt": ago(days=90),
    },
    "read_notifications": {"payments": False, "attention": True, "sendsEmail": True},
    "show_status": {
        "networks": [
            *_NETWORKS,
            {"network": "sepolia", "lagSeconds": None, "readUntil": None, "lastRead": None, "isSeeingPayments": False},
        ]
    },
}
"""In the middle of its work."""
NEW_ACCOUNT: Answers = {
    "me": {**_ME, "accounts": _ME["accounts"][:1]},
    "list_changes": {"changes": [], "nextCursor": None},
    "list_members": _PEOPLE[:1],
    "read_audit": {"entries": [], "nextCursor": None},
    "show_status": {"networks": _NETWORKS[:1]},
    "list_webhooks": [],
    "list_api_keys": [],
    "list_orchestrators": {"orchestrators": []},
    "list_client_ids_by_session": [],
    "list_invitations": [],
    "list_passkeys": [],
    "read_own_payee_destination": None,
}
"""In its first hour. None is a 404."""
