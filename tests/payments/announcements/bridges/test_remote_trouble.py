"""Whatever a remote step does, a payment from another chain that arrives is the only one; and unsafe code is caught."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.crosschain.core.records import Stage
from chalicelib.payments.announcements import checks
from chalicelib.payments.announcements.bridges import ends, observing, rules, sources
from chalicelib.payments.announcements.bridges.observations import (
    Arrival,
    ArrivalObservation,
    Observation,
    RefundObservation,
    Source,
    SourceObservation,
)
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction
from chalicelib.platform.services import Services
from tests.payments.announcements.bridges.trouble import STEPS, Story, Trouble


@pytest.mark.parametrize("trouble", Trouble, ids=lambda trouble: trouble.value)
@pytest.mark.parametrize("step", STEPS)
def test_a_payment_that_arrives_is_not_made_twice_whatever_a_remote_step_does(step: str, trouble: Trouble) -> None:
    story = Story(STEPS[step], trouble).run()
    assert (story.payments, story.paid_again) == (1, 0)
    assert story.is_settled


def believes_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rules, "GONE_AFTER", timedelta(0))


def believes_that_what_is_missing_never_comes(patch: pytest.MonkeyPatch) -> None:
    believes_at_once(patch)
    patch.setattr(rules, "_is_refused", lambda *_: True)


def believes_the_chains_clock_alone(patch: pytest.MonkeyPatch) -> None:
    believes_at_once(patch)
    patch.setattr(rules, "_is_refused", lambda announced, time, now: time.value > rules.execution_deadline(announced))


def waits_as_on_the_links_own_chain(patch: pytest.MonkeyPatch) -> None:
    believes_at_once(patch)
    patch.setattr(rules, "REFUSED_AFTER", timedelta(0))
    patch.setattr(rules, "execution_deadline", lambda announced: announced.created_at + timedelta(minutes=2))


def compares_no_block_of_a_receipt(patch: pytest.MonkeyPatch) -> None:
    observation = sources.source_observation
    patch.setattr(sources, "source_observation", lambda *given: observation(*given[:3], replace(given[3], block_hash=None), given[4]))  # type: ignore[call-arg]


def takes_silence_for_an_end(patch: pytest.MonkeyPatch) -> None:
    def answer(services: Services, name: str, unavailable: set[str], read: Callable[[], Any]) -> Any:
        try:
            return read()
        except ChainUnavailable:
            return None

    def observed(services: Services, payment: Any, announced: AnnouncedTransaction, unavailable: set[str]) -> Any:
        found = look(services, payment, announced, unavailable)
        return found if found[1] != Observation() else (announced, Observation(SourceObservation(Source.FOREIGN, Agreed(services.clock()))))

    look = observing.observe_bridge_transfer
    patch.setattr(observing, "_answer", answer)
    patch.setattr(observing, "observe_bridge_transfer", observed)


def takes_an_expired_deposit_for_refunded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(observing, "read_refund", lambda *_: RefundObservation(0, "0x" + "66" * 32))


def offers_the_link_while_the_bridge_refunds(patch: pytest.MonkeyPatch) -> None:
    def is_locking(announced: AnnouncedTransaction) -> bool:
        is_refunding = announced.bridge_transfer is not None and announced.bridge_transfer.stage is Stage.REFUNDING
        return announced.status is AnnouncedStatus.PENDING and announced.locks and not is_refunding

    patch.setattr(AnnouncedTransaction, "is_locking", property(is_locking))


def locks_for_proven_transactions_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AnnouncedTransaction, "is_locking", property(lambda each: each.status is AnnouncedStatus.PENDING and each.proof is not None))


def believes_the_router(patch: pytest.MonkeyPatch) -> None:
    def observed(services: Services, payment: Any, announced: AnnouncedTransaction, unavailable: set[str]) -> Any:
        claim = services.router.status(announced.transaction_hash or "", 8453, 42161, None)
        if claim.substatus == "REFUNDED":
            refund = RefundObservation(0, claim.receiving_hash)
            return announced, Observation(arrival=ArrivalObservation(Arrival.EXPIRED, 0), refund=refund)
        return look(services, payment, announced, unavailable)

    look = observing.observe_bridge_transfer
    patch.setattr(observing, "observe_bridge_transfer", observed)


def believes_its_own_clock(patch: pytest.MonkeyPatch) -> None:
    decide = rules.decide

    def decided(announced: AnnouncedTransaction, observation: Observation, now: datetime) -> AnnouncedTransaction:
        deposit = announced.bridge_transfer.deposit if announced.bridge_transfer is not None else None
        is_late = deposit is not None and now > deposit.fill_deadline
        return rules.end_announced(announced, AnnouncedStatus.REFUNDED, now) if is_late else decide(announced, observation, now)

    patch.setattr(rules, "decide", decided)


def gives_up_after_some_time(patch: pytest.MonkeyPatch) -> None:
    decide = rules.decide

    def decided(announced: AnnouncedTransaction, observation: Observation, now: datetime) -> AnnouncedTransaction:
        is_old = now - announced.created_at > timedelta(minutes=45)
        return rules.end_announced(announced, AnnouncedStatus.LAPSED, now) if is_old else decide(announced, observation, now)

    patch.setattr(rules, "decide", decided)


def waits_for_no_recorder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checks.scan_store, "has_work", lambda *_: False)
    patch.setattr(ends, "conclude_ends", lambda *given: ends.Conclusion(tuple(given[4]), 0))


@pytest.mark.parametrize(
    ("unsafe", "step", "trouble"),
    [
        (believes_at_once, "nonce", Trouble.SAYS_SAFE),
        (believes_that_what_is_missing_never_comes, "transaction", Trouble.CLEAN),
        (believes_the_chains_clock_alone, "time of the source chain", Trouble.SAYS_SAFE),
        (waits_as_on_the_links_own_chain, "transaction", Trouble.SAYS_SAFE),
        (compares_no_block_of_a_receipt, "receipt", Trouble.SAYS_SAFE),
        (takes_silence_for_an_end, "newest block", Trouble.UNREACHABLE),
        (takes_an_expired_deposit_for_refunded, "state of the deposit", Trouble.SAYS_SAFE),
        (offers_the_link_while_the_bridge_refunds, "state of the deposit", Trouble.SAYS_SAFE),
        (locks_for_proven_transactions_alone, "transaction", Trouble.SAYS_SAFE),
        (believes_the_router, "router", Trouble.SAYS_SAFE),
        (believes_its_own_clock, "state of the deposit", Trouble.UNREACHABLE),
        (gives_up_after_some_time, "refund", Trouble.SLOW),
        (waits_for_no_recorder, "recording", Trouble.UNREACHABLE),
    ],
    ids=lambda value: value.__name__ if callable(value) and not isinstance(value, Trouble) else str(value),
)
def test_unsafe_code_pays_twice_in_one_of_these_cases(
    unsafe: Callable[[pytest.MonkeyPatch], None], step: str, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsafe(monkeypatch)
    assert Story(STEPS[step], trouble).run().payments == 2
