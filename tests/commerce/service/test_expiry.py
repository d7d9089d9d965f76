"""What time ends: told once, at the second at which the contract says so, and only after the chain was read past it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.nodes.history.logs import BlockFacts
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.commerce.core.records import OperationKind
from chalicelib.commerce.core.rules import CommerceStatus
from chalicelib.commerce.service import due_payments, flows, rules
from chalicelib.commerce.service.transactions import info_of
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.relayer.rules import SENT_BEFORE
from tests.fakes.escrows import AMOUNT, CONTRACTS, OPERATOR, PAYER, Commerce
from tests.fakes.world import PAYEE

SECOND = timedelta(seconds=1)


def status(commerce: Commerce, created: Any) -> CommerceStatus:
    return flows.find(commerce.services, commerce.owner(), created.payment.request_id).status


def test_an_authorization_is_refused_from_30_seconds_before_the_pre_approvals_expiry_on_and_from_its_exact_second() -> None:
    """The block of its call may be too late in the time between, which would delay the payer by a day."""
    too_near = "less than 30 seconds are left"
    for early, refusal in (
        (31 * SECOND, None), (30 * SECOND, too_near), (SECOND, too_near), (timedelta(0), "The time to authorize")
    ):
        commerce = Commerce()
        created = commerce.create()
        commerce.pre_approve(created)
        commerce.world.now = created.payment.pre_approval_expiry - early
        if refusal is not None:
            with pytest.raises(Conflict, match=refusal):
                commerce.authorize(created)
            assert not commerce.chain.mempool.sent
        else:
            assert commerce.authorize(created).transaction_hash is not None


@pytest.mark.parametrize("early", range(1, 6))
def test_a_step_of_the_schedule_may_begin_just_before_it_is_too_late_and_go_on_at_that_exact_second(early: int) -> None:
    """As many readings of the clock are before it: the third one decides whether the call is sent."""
    commerce = Commerce()
    created = commerce.create()
    commerce.pre_approve(created)
    commerce.world.scan()
    too_late = created.payment.pre_approval_expiry - SENT_BEFORE
    readings = iter([too_late - timedelta(microseconds=1)] * early)
    commerce.world.now = too_late
    services = replace(commerce.services, clock=lambda: next(readings, too_late))
    due_payments.look(services, created.payment.payable_id, set())
    is_sent = early >= 3
    assert (commerce.load(created).pending is not None) is is_sent is bool(commerce.chain.mempool.sent)
    commerce.chain.mempool.include()
    commerce.settle(4)
    after = (CommerceStatus.AUTHORIZED,) if is_sent else (CommerceStatus.FAILED, CommerceStatus.EXPIRED)
    assert status(commerce, created) in after


@pytest.mark.parametrize("early", [301, 300, 1, 0])
def test_a_refund_begins_no_later_than_it_takes_to_be_made(early: int) -> None:
    """It takes the tokens by one call and gives them to the payer by another one, some minutes later."""
    commerce = Commerce()
    created = commerce.captured()
    commerce.allow(PAYEE, OPERATOR, AMOUNT)
    sent = len(commerce.chain.mempool.sent)
    commerce.world.now = created.payment.refund_expiry - timedelta(seconds=early)
    if early > 300:
        commerce.refund(created, 1)
        commerce.settle(4)
        assert commerce.load(created).refunded == 1
        return
    with pytest.raises(Conflict, match="less than 300 seconds are left" if early else "time to refund"):
        commerce.refund(created, 1)
    assert len(commerce.chain.mempool.sent) == sent


def test_a_capture_is_refused_from_the_exact_second_of_its_expiry() -> None:
    for early, is_refused in ((SECOND, False), (timedelta(0), True)):
        commerce = Commerce()
        created = commerce.captured()
        commerce.allow(PAYEE, OPERATOR, AMOUNT)
        sent = len(commerce.chain.mempool.sent)
        commerce.world.now = created.payment.authorization_expiry - early
        if is_refused:
            with pytest.raises(Conflict, match="has expired"):
                commerce.capture(created, 1)
            assert len(commerce.chain.mempool.sent) == sent
        else:
            commerce.capture(created, 1)


def test_what_was_never_authorized_expires_once_the_chain_was_read_past_it_and_the_merchant_is_notified_once() -> None:
    commerce = Commerce()
    created = commerce.create()
    commerce.world.now = created.payment.pre_approval_expiry + SECOND
    assert status(commerce, created) is CommerceStatus.PENDING, "nobody knows what the newest blocks have"
    commerce.settle(4)
    assert status(commerce, created) is CommerceStatus.EXPIRED
    (notified,) = commerce.events("payment.failed")
    assert '"failureReason":"expired"' in notified.body
    assert commerce.load(created).check_at is None


@pytest.mark.parametrize("liar", [0, 1])
def test_a_payment_does_not_expire_by_the_time_that_one_of_two_nodes_says(liar: int) -> None:
    commerce = Commerce()
    created = commerce.authorized()
    late = LateChain(commerce.chain, created.payment.authorization_expiry + SECOND)
    each: list[Any] = [("honest", commerce.chain), ("liar", late)]
    commerce.world._chains._chains["sepolia"] = Nodes(each if liar else each[::-1], commerce.world.clock)
    assert status(commerce, created) is CommerceStatus.AUTHORIZED
    for _ in range(3):
        commerce.world.advance(60)
        commerce.chain.mine(2)
        scan_chain(commerce.services, json.dumps({"network": "sepolia", "compareNodes": True}))
        due_payments.look(commerce.services, created.payment.payable_id, set())
        assert status(commerce, created) is CommerceStatus.AUTHORIZED
    assert commerce.events("payment.failed") == []


class LateChain:
    """A node of the same chain that says another time of each block."""

    def __init__(self, chain: Any, time: datetime) -> None:
        self.chain, self.time = chain, time

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chain, name)

    def block_facts(self, numbers: Sequence[int]) -> dict[int, BlockFacts]:
        return {number: replace(each, time=self.time) for number, each in self.chain.block_facts(numbers).items()}

    def read_range(self, *args: Any) -> Any:
        reading = self.chain.read_range(*args)
        return replace(reading, last=replace(reading.last, time=self.time))


def test_a_payment_that_is_held_is_looked_at_daily_and_has_not_failed() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    commerce.settle(2)
    assert due_payments.run_due(commerce.services) == 0
    commerce.world.advance(86_400)
    assert due_payments.run_due(commerce.services) == 1
    commerce.settle(2)
    assert not commerce.events("payment.failed") and not commerce.load(created).is_end_notified


def test_what_is_held_at_the_expiry_is_expired_until_the_payer_takes_it_back() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    commerce.world.now = created.payment.authorization_expiry
    commerce.settle(4)
    assert status(commerce, created) is CommerceStatus.EXPIRED
    made = flows.reclaim(commerce.services, commerce.owner(), created.payment.request_id)
    commerce.send(PAYER, *made.transactions)
    commerce.settle(2)
    assert status(commerce, created) is CommerceStatus.RECLAIMED
    assert len(commerce.events("payment.failed")) == 1


def test_a_payment_whose_books_differ_from_the_escrows_raises_an_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    commerce = Commerce()
    created = commerce.authorized()
    said = list[tuple[str, Any]]()
    commerce.services.log.error = lambda message, extra=None: said.append((message, extra))  # type: ignore[method-assign]
    (authorized,) = commerce.payments.values()
    authorized.capturable -= 1
    commerce.world.advance(2 * 86_400)
    commerce.settle(2)
    assert ("escrow differs", created.payment.payable_id) in [(message, extra["payable"]) for message, extra in said]


def test_a_transaction_without_an_event_goes_back_and_raises_an_alarm() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    said = list[str]()
    commerce.services.log.error = lambda message, extra=None: said.append(message)  # type: ignore[method-assign]
    commerce.capture(created, 10)
    commerce.chain.mempool.executes = lambda raw: None  # it succeeds, and has no effect
    commerce.settle(8)
    payment = commerce.load(created)
    assert not said and payment.pending is not None, "its block is read again"
    commerce.settle(6)
    payment = commerce.load(created)
    assert "commerce payment has no event" in said and payment.pending is None and payment.captured == 0


def test_an_authorization_without_an_event_raises_an_alarm_and_takes_the_tokens_of_no_other_wallet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commerce, said = Commerce(), list[str]()
    created = commerce.create()
    commerce.pre_approve(created)
    monkeypatch.setattr(commerce.services.log, "error", lambda message, extra=None: said.append(message))
    commerce.authorize(created)
    commerce.chain.mempool.executes = lambda raw: None
    commerce.settle(14)
    payment = commerce.load(created)
    assert "commerce payment has no event" in said and payment.pending is not None and payment.operations == 1


def test_a_fork_takes_a_capture_back_and_the_same_transaction_captures_again() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    commerce.capture(created, 10)
    commerce.settle(1)
    assert commerce.load(created).captured == 10
    commerce.chain.mempool.holds = True
    commerce.chain.fork(5)
    commerce.world.scan()
    payment = commerce.load(created)
    assert payment.captured == 0 and payment.pending is not None and status(commerce, created).value == "CAPTURING"
    with pytest.raises(Conflict, match="pending"):
        commerce.capture(created, 11)


def test_an_operation_that_cannot_be_submitted_for_an_hour_goes_back() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    commerce.chain.mempool.base_fee = 10**15
    assert commerce.capture(created, 10).transaction_hash is None
    commerce.settle(70)
    payment = commerce.load(created)
    assert payment.pending is None and payment.failure == rules.TOO_LATE


def test_the_hash_of_the_terms_is_the_same_whoever_computes_it() -> None:
    commerce = Commerce()
    created = commerce.create()
    made = escrow_calls.pre_approve(info_of(created.payment, PAYER), CONTRACTS)
    assert created.options is not None and created.options.transactions == made
    assert OperationKind.AUTHORIZE.value == "authorize"


def test_what_is_over_by_the_clock_alone_is_looked_at_again_in_a_minute_and_daily_once_the_chain_was_read() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    commerce.world.now = created.payment.authorization_expiry
    due_payments.look(commerce.services, created.payment.payable_id, set())
    assert commerce.load(created).check_at == commerce.world.now + timedelta(minutes=1)
    assert status(commerce, created) is CommerceStatus.AUTHORIZED
    commerce.world.advance(60)
    commerce.world.scan()
    due_payments.look(commerce.services, created.payment.payable_id, set())
    assert status(commerce, created) is CommerceStatus.EXPIRED
    assert commerce.load(created).check_at == commerce.world.now + timedelta(days=1)
