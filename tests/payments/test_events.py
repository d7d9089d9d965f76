"""The one builder of events: every failure states its amounts in the invoice currency, and only kinds know fields.

Failures of payments from other chains are in tests/payments/announcements/bridges/test_ends.py and
tests/crosschain/service/payment_intents/test_kinds.py, where the amount is read first.
"""

import ast
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import chalicelib
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.offramp.core.records import Order
from chalicelib.offramp.core.rules import OrderReport, Pace, after_report
from chalicelib.payments.events import Counted, event, failed_event, number_events
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.records import Payable
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording import matching
from chalicelib.payments.recording.causes.offramps import follow_order
from chalicelib.payments.recording.causes.postings import ended_event
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.records import LoggedTransfer
from chalicelib.platform.access.callers import Owner
from chalicelib.recurring.periods import SHORT_BALANCE, paused_event
from chalicelib.webhooks.kinds import CORE, KINDS, body_of
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext
from tests.fakes.commerce import new_payment
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.world import START, TERMS, draft
from tests.recurring import schedules
from tests.support.sources import nodes_of, reads_code

CONTEXT = EventContext(START, lambda n: b"\7" * n, "https://explorer.example", "service-network")
HASH = "0x" + "aa" * 32
CENTS = 10**6
"""In the units of amounts in fiat, which have 8 decimals."""
MADE = create_link(draft(amount="10"), Owner("acct", None, None), TERMS, START, lambda n: b"\7" * n)
RATE = Rate("EUR", "fUSDC-sepolia", BaseUnits(5), BaseUnits(4), "coingecko", START)
"""One euro costs 1.25 of the token."""


def invoice(**changes: Any) -> Request:
    """100 euros that are paid in fUSDC, of which 20 are paid."""
    known = {"invoice_currency": "EUR", "amount": BaseUnits(10_000 * CENTS), "paid": BaseUnits(2_000 * CENTS)}
    return replace(MADE.requests[0], **{**known, "status": RequestStatus.PARTIALLY_PAID, **changes})


def payment(**changes: Any) -> Payment:
    """50 euros of it, by 62.5 of the token."""
    known = {"amount": BaseUnits(62_500_000), "value": BaseUnits(5_000 * CENTS), "rate": RATE}
    request = invoice()
    place = {"request_id": request.request_id, "network": "sepolia", "block_hash": "0x", "log_index": 0}
    of_request = {"account_id": "acct", "payee": request.payee, "payment_reference": request.payment_reference}
    currencies = {"currency": request.currency, "invoice_currency": request.invoice_currency}
    return Payment(
        **{**place, **of_request, **currencies, "block_number": 1, "tx_hash": HASH, "event_key": "0"},
        **{"fee_amount": BaseUnits(0), "fee_address": ""},
        **{"status": PaymentStatus.CONFIRMED, "detected_at": START, **known, **changes},
    )


def payable(request: Request) -> Payable:
    return Payable((request,), MADE.link)


# --- every failure of an invoice in another currency ---


def by_a_fork() -> Event:
    request = invoice(paid=BaseUnits(7_000 * CENTS), confirmed_count=2, received=BaseUnits(87_500_000))
    decision = matching.reverse(payable(request), request, payment(), [], CONTEXT)
    assert decision is not None
    return decision.events[0]


def by_a_fork_of_a_small_payment() -> Event:
    """It was added up as dust, and the request was paid with it."""
    request = invoice(paid=BaseUnits(10_000 * CENTS), status=RequestStatus.PAID, dust_count=1, received=BaseUnits(10**9))
    removed = LoggedTransfer(
        **{"network": "sepolia", "block_number": 1, "block_hash": "0x", "tx_hash": HASH, "log_index": 0, "event_key": "0"},
        **{"reference_topic": "0x", "token_address": "0x", "payee": "0x", "amount": BaseUnits(62_500_000), "payable_id": "token"},
        **{"fee_amount": BaseUnits(0), "fee_address": "", "paid_at": START, "detected_at": START, "value": BaseUnits(5_000 * CENTS)},
    )
    return matching.subtract(payable(request), request, removed, CONTEXT).events[0]


def by_the_offramp_provider() -> Event:
    request = invoice(tx_hash=HASH)
    order = Order(request.request_id, "acct", "user", "details", "ord_1", "0.5", START, START, paid_at=START)
    pace = Pace(timedelta(minutes=10), timedelta(hours=1), timedelta(days=1))
    advance = after_report(order, OrderReport(1, "failed", "account_closed"), START, pace)
    return follow_order(Payable((request,), order=order), advance, request, None, CONTEXT).events[-1]


def by_a_recurring_payout() -> Event:
    schedule = schedules.active(failure_reason=SHORT_BALANCE)
    return paused_event(schedule, invoice(recurring_payment_id=schedule.recurring_id), CONTEXT)


FAILURES: dict[Callable[[], Event], dict[str, Any]] = {
    by_a_fork: {"amount": "50", "failureReason": "chain_reorganization", "txHash": HASH, "convertedAmountSource": "62.5"},
    by_a_fork_of_a_small_payment: {"amount": "50", "totalAmountPaid": "50", "failureReason": "chain_reorganization"},
    by_the_offramp_provider: {"amount": "100", "failureReason": "account_closed", "isCryptoToFiat": True, "txHash": HASH},
    by_a_recurring_payout: {"amount": "100", "subStatus": "insufficient_funds", "txHash": None},
}


@pytest.mark.parametrize("fails", FAILURES, ids=lambda fails: fails.__name__)
def test_every_failure_of_an_invoice_in_euros_states_its_amounts_in_euros(fails: Callable[[], Event]) -> None:
    body = json.loads(fails().body)
    assert_is_described(body)
    stated = {"currency": "EUR", "paymentCurrency": "fUSDC", "expectedAmount": "100", "totalAmountPaid": "20"}
    expected = {"event": "payment.failed", "subStatus": "failed", **stated, **FAILURES[fails]}
    assert {name: body[name] for name in expected} == expected


def test_a_payment_that_was_converted_is_told_with_its_rate() -> None:
    body = json.loads(failed_event(invoice(), "why", CONTEXT, Counted(BaseUnits(CENTS), BaseUnits(12_500), RATE), HASH).body)
    assert (body["amount"], body["convertedAmountDestination"], body["convertedAmountSource"]) == ("0.01", "0.01", "0.0125")
    assert (body["conversionRate"], body["conversionRateSource"], body["rateProvider"]) == ("0.8", "1.25", "coingecko")
    assert body["conversionRateDestination"] == body["conversionRate"]
    assert "conversionRate" not in json.loads(failed_event(invoice(), "why", CONTEXT, Counted(BaseUnits(CENTS)), HASH).body)


@pytest.mark.parametrize("reason", ["voided", "reclaimed", "expired"])
def test_the_end_of_a_commerce_payment_states_its_token_which_is_its_invoice_currency(reason: str) -> None:
    """What the escrow holds is asked for in its token: fiat is refused (tests/commerce/service/test_api.py)."""
    made = new_payment(START)
    request = replace(MADE.requests[0], amount=made.amount)
    body = json.loads(ended_event(made, request, reason, CONTEXT, HASH).body)
    assert_is_described(body)
    amount = format_amount(made.amount, 6)
    stated = (body["amount"], body["expectedAmount"], body["totalAmountPaid"], body["currency"], body["failureReason"])
    assert stated == (amount, amount, "0", "fUSDC", reason) and body["txHash"] == HASH


# --- the builder ---


@reads_code
def test_payment_failed_is_built_in_one_place() -> None:
    """Whoever fails a payment has to say what it counts for in the units of the invoice."""
    texts = {
        (path.name, node.value)
        for path in Path(chalicelib.__path__[0]).rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert {name for name, text in texts if text == "payment.failed"} == {
        "events.py", "kinds.py", "mailing.py", "rules.py"
    }, "the builder, the table, which events a mail tells of, and what follows an order (offramp/core/rules.py)"


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_has_the_facts_of_its_kind_in_their_order_and_no_others(kind: str) -> None:
    (core,) = (each for each in CORE if kind == each.name or kind.startswith(f"{each.name}."))
    names = [each.name for each in core.fields]
    facts = dict.fromkeys((*reversed(names), "somethingElse"), "x")
    assert list(json.loads(body_of(kind, facts))) == names


def test_a_fact_that_its_kind_does_not_have_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"payment\.refunded has no \{'labels'\}: add it to webhooks/kinds\.py"):
        event(invoice(), "payment.refunded", CONTEXT, labels=[])


def test_what_a_request_says_is_in_every_event_about_it_that_has_the_field() -> None:
    request = invoice(client_id="cli_shop", origin="https://shop.example", recurring_payment_id="01R")
    for kind in (each for each in CORE if each.fields[1].name == "requestId"):
        made = event(request, kind.name, CONTEXT)
        body, names = json.loads(made.body), {each.name for each in kind.fields}
        said = {
            "event": kind.name,
            "requestId": request.request_id,
            "requestID": request.request_id,
            "paymentReference": request.payment_reference,
            "explorer": f"https://explorer.example/request/{request.request_id}",
            "timestamp": "2026-03-15T10:00:00.000Z",
            "paymentProcessor": "service-network",
            "totalAmountPaid": "20",
            "expectedAmount": "100",
            "network": "sepolia",
            "currency": "EUR",
            "paymentCurrency": "fUSDC",
            "isCryptoToFiat": False,
            "payee": request.payee,
            "recurringPayment": {"id": "01R"},
            "clientId": "cli_shop",
            "origin": "https://shop.example",
        }
        assert body == {name: value for name, value in said.items() if name in names}
        assert (made.kind, made.account_id, made.client_id, made.published) == (kind.name, "acct", "cli_shop", False)
        assert [each.kind for each in made.variants] == [f"{kind.name}.{each}" for each in kind.variants]


def test_the_events_of_each_request_are_numbered_in_their_order_and_it_counts_them() -> None:
    one, other = replace(invoice(), event_count=3), replace(invoice(), request_id="01" + "22" * 32)
    kinds = ("payment.processing", "payment.confirmed", "request.recurring")
    decided = [event(each, kind, CONTEXT) for each, kind in zip((one, other, one), kinds, strict=True)]
    requests, events = number_events([one, other], decided)
    assert requests == (replace(one, event_count=5), replace(other, event_count=1))
    assert [each.sequence for each in events] == [4, 1, 5]
    for before, after in zip(decided, events, strict=True):
        assert json.loads(after.body) == {**json.loads(before.body), "sequence": after.sequence}
        assert list(json.loads(after.body))[-1] == "sequence", "the last field of every kind"
        assert replace(after, sequence=None, body=before.body) == before
    with pytest.raises(AssertionError, match="it has one"):
        number_events([one, other], events)


def test_an_event_is_not_written_without_the_request_that_counts_it() -> None:
    with pytest.raises(KeyError):
        number_events([], [event(invoice(), "payment.processing", CONTEXT)])


@reads_code
def test_whoever_publishes_events_about_requests_numbers_them() -> None:
    """What records payments has them numbered by `decide`; what reads the outbox, and changes of accounts, have none."""
    rooms = Path(chalicelib.__path__[0])
    publish, number = (
        {
            str(path.relative_to(rooms))
            for path in rooms.rglob("*.py")
            for node in nodes_of(path)
            if isinstance(node, ast.Attribute | ast.Name) and getattr(node, "attr", getattr(node, "id", "")) == name
        }
        for name in ("queue_publishing", "number_events")
    )
    others = {each for each in publish - number if not each.startswith(("webhooks/", "accounts/changes/"))}
    assert others == {"payments/recording/flows.py", "offramp/payers/reports.py"}
