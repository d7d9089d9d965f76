"""Transactions of the service's own account, as records of tests."""

from datetime import UTC, datetime
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.relayer.records import RelayedTransaction
from tests.fakes.world import PlainSigningKeys

TO = "0x" + "22" * 20
NOW = datetime(2026, 3, 15, 10, 0, tzinfo=UTC)


def transaction(nonce: int = 0, **changes: Any) -> RelayedTransaction:
    fields: dict[str, Any] = {
        "network": "sepolia",
        "sender": PlainSigningKeys.address,
        "nonce": nonce,
        "call_key": f"payout/{nonce}",
        "to": TO,
        "data": "0xac7a9e00" + "00" * nonce,
        "value": BaseUnits(nonce),
        "gas_limit": 100_000 + nonce,
        "max_fee": BaseUnits(3 * 10**9),
        "tip": BaseUnits(10**9),
        "created_at": NOW,
        **changes,
    }
    return RelayedTransaction(**fields)
