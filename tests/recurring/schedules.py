"""A recurring payout, its requests and payments as records of tests: three daily payments of 10 fUSDC from START on."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.requests.creation import new_request
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Frequency, Request
from chalicelib.payments.requests.targets import Target
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.recurring.creation import Fees, Plan, create_recurring
from chalicelib.recurring.periods import with_request
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus
from chalicelib.relayer.records import CallStatus, RelayedCall
from chalicelib.webhooks.rules import EventContext
from tests.fakes.recurring import AMOUNT, SUBSCRIBER
from tests.fakes.world import PAYEE, START

NOW = START + timedelta(hours=7)
OWNER = Owner("acct", "cli_a", None, mode=Mode.CLIENT_ID)
TX_HASH = "0x" + "ab" * 32
_COUNTER = itertools.count(1)


def entropy(length: int) -> bytes:
    return next(_COUNTER).to_bytes(length, "big")


CONTEXT = EventContext(NOW, entropy, "https://explorer.example", "processor")


def template(currency: str = "fUSDC-sepolia", amount: int = AMOUNT, **changes: Any) -> Request:
    token = token_with_id(currency)
    assert token is not None
    return replace(new_request(None, 0, Target(PAYEE, token, BaseUnits(amount)), OWNER, START, entropy), **changes)


def created(
    sample: Request | None = None, fees: Fees | None = None, random: Entropy = entropy, **changes: Any
) -> RecurringPayment:
    """A new one; `changes` are fields of the plan."""
    plan = {
        "start_date": START.isoformat(),
        "frequency": Frequency.DAILY,
        "total_payments": 3,
        "payer": SUBSCRIBER.address,
    }
    every = Plan(**{**plan, **changes})
    return create_recurring(sample or template(), every, fees or Fees(Fee(), {}), ("recurrence",), START, random)


def active(**changes: Any) -> RecurringPayment:
    return replace(
        created(), **{"status": RecurringStatus.ACTIVE, "signature": "0x" + "12" * 65, "check_at": NOW, **changes}
    )


def begun(**changes: Any) -> tuple[RecurringPayment, Period, Request]:
    """One whose period in work has a request."""
    step, request = with_request(active(**changes), CONTEXT)
    (period,) = (each for each in step.records if isinstance(each, Period))
    return step.schedule, period, request


def payment(request: Request, **changes: Any) -> Payment:
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "network": request.network,
        "block_hash": "0x01",
        "log_index": 0,
        "block_number": 1,
        "tx_hash": TX_HASH,
        "event_key": "",
        "amount": request.amount,
        "value": request.amount,
        "account_id": request.account_id,
        "payee": request.payee,
        "currency": request.currency,
        "invoice_currency": request.currency,
        "payment_reference": request.payment_reference,
        "fee_amount": BaseUnits(0),
        "fee_address": "",
        "status": PaymentStatus.CONFIRMED,
        "detected_at": NOW,
        "paid_at": NOW - timedelta(minutes=5),
        **changes,
    }
    return Payment(**fields)


def call(status: CallStatus, reason: str | None = None) -> RelayedCall:
    return RelayedCall("key", "sepolia", "0x12", 0, NOW, status, reason=reason)
