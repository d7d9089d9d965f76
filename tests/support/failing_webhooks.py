"""Webhooks as they are stored after their receiver has not answered."""

from dataclasses import replace
from datetime import datetime

from chalicelib.webhooks.circuits.records import CircuitState
from chalicelib.webhooks.circuits.rules import OPEN_AFTER_DELIVERIES, new_circuit
from tests.support.running import running


def store_failing(webhook_id: str, account_id: str, since: datetime) -> None:
    """Stores that every attempt at a webhook has failed since then."""
    begun = new_circuit(webhook_id, account_id, None, since)
    failed = tuple(f"{webhook_id}{number}" for number in range(OPEN_AFTER_DELIVERIES))
    running().store.write(replace(begun, state=CircuitState.OPEN, failing_since=since, failed_deliveries=failed, due_at=since))
