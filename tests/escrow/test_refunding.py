"""Refunds that the service executes: how soon, and what becomes of the tokens if its key or a fork comes between."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.escrow import refunding
from chalicelib.relayer import store as relayer
from chalicelib.relayer.records import CallStatus
from tests.fakes.escrows import OPERATOR, Commerce, check_conserved
from tests.fakes.world import PAYEE, PlainSigningKeys


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("5d" * 32)


@pytest.fixture
def commerce() -> Commerce:
    return Commerce()


@pytest.fixture
def taken(commerce: Commerce) -> Any:
    """A payment for whose refund the tokens are in the service's account, while the refund itself cannot be made."""
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.refuses["refund"] = "refused for now"
    commerce.refund(created, 10)
    commerce.settle(2)
    pending = commerce.load(created).pending
    assert pending is not None and pending.step == refunding.SPEND and commerce.balance(OPERATOR) == 10
    commerce.refuses.clear()
    return created


def said(commerce: Commerce, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines = list[str]()
    monkeypatch.setattr(commerce.services.log, "error", lambda message, **_: lines.append(message))
    return lines


def test_the_approval_is_sent_with_the_take_and_the_refund_by_the_first_run_after_that_is_confirmed(
    commerce: Commerce,
) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.chain.mempool.sent.clear()
    commerce.refund(created, 10)
    take, approve = commerce.chain.mempool.sent
    assert approve.nonce == take.nonce + 1
    commerce.settle(1)
    commerce.settle(1)
    assert commerce.load(created).refunded == 10 and commerce.made["refund"] == 1
    check_conserved(commerce)


def test_nothing_is_spent_while_the_take_is_not_as_deep_as_confirmations_demand(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.chain.mempool.holds = True
    commerce.refund(created, 10)
    commerce.balances[OPERATOR.lower()] += 10  # of others
    commerce.settle(20)
    assert commerce.made["refund"] == commerce.made["transfer"] == 0


def test_tokens_that_stay_because_the_key_was_replaced_are_told_and_go_on_with_the_former_key(
    commerce: Commerce, taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, former = said(commerce, monkeypatch), commerce.world.services
    commerce.world.services = replace(former, signing_keys=OtherKeys())  # type: ignore[arg-type]
    commerce.settle(40)
    assert "commerce refund overdue" not in lines
    commerce.settle(60)
    assert "commerce refund overdue" in lines and commerce.balance(OPERATOR) == 10
    assert commerce.load(taken).pending is not None, "nothing else begins while they are there"
    commerce.world.services = former
    commerce.settle(30)
    assert commerce.load(taken).pending is None and commerce.made["transfer"] == 1
    check_conserved(commerce)


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_after_a_fork_that_gave_the_tokens_back_those_of_others_are_not_spent(
    commerce: Commerce, taken: Any, status: CallStatus
) -> None:
    pending = commerce.load(taken).pending
    assert pending is not None
    (key,) = [each for each in pending.call_keys if "/take/" in each]

    def say(status: CallStatus) -> None:
        call = relayer.call(commerce.services.store, key)
        assert call is not None
        commerce.services.store.write(replace(call, status=status))

    say(CallStatus.UNKNOWN)
    commerce.world.advance(timedelta(minutes=40).total_seconds())  # by now they would go back, too
    commerce.settle(10)
    assert commerce.made["refund"] == commerce.made["transfer"] == 0
    say(status)
    commerce.settle(15)
    assert commerce.load(taken).pending is None
    assert commerce.made["transfer"] == (status is CallStatus.SUCCEEDED)
