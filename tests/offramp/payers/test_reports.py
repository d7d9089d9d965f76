"""What the provider says is taken in its own order, told once, and never lost with a process that dies."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import NotFound
from chalicelib.offramp.payers import reports, rules
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, KycStatus, Payer
from chalicelib.offramp.payers.rules import Report
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.storage.items import record_of
from chalicelib.webhooks.jobs import sweep_outbox
from chalicelib.webhooks.records import Event
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Interruption, Tripwire
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import START, World, in_process_aws
from tests.offramp.payers.people import NAME, account, add_account, notified, payer, register, said, said_of, states

WALKS, STEPS = 2_000, 30
KYC, AGREEMENT = list(KycStatus), list(AgreementStatus)
NEW = rules.new_payer("acct", None, "user", "sealed", START)


def histories(seed: int) -> Iterator[tuple[list[Report], list[Report]]]:
    """Each time what a provider goes through, and what arrives of it: repeated, late, mixed up, and some of it never."""
    chance = random.Random(seed)
    for _ in range(WALKS):
        history = [Report(1, KycStatus.NOT_STARTED, AgreementStatus.NOT_STARTED)]
        arrived: list[Report] = []
        for _ in range(STEPS):
            if chance.random() < 0.5:
                history.append(Report(history[-1].sequence + 1, chance.choice(KYC), chance.choice(AGREEMENT)))
            arrived.append(history[-1] if chance.random() < 0.6 else chance.choice(history))
        yield history, arrived


def walked(arrived: list[Report]) -> tuple[Payer, list[tuple[int, tuple[KycStatus, AgreementStatus]]]]:
    """The payer after these reports, and the states that were told, each with its number."""
    at, events = NEW, []
    for report in arrived:
        after = rules.after_report(at, report, START)
        if (after.kyc_status, after.agreement_status) != (at.kyc_status, at.agreement_status):
            events.append((after.sequence, (after.kyc_status, after.agreement_status)))
        at = after
    return at, events


def test_random_walks_tell_no_state_twice_and_none_is_missing() -> None:
    for history, arrived in histories(13):
        at, events = walked(arrived)
        newest = max(arrived, key=lambda report: report.sequence)
        assert (at.sequence, at.kyc_status, at.agreement_status) == (newest.sequence, newest.kyc, newest.agreement)
        numbers = [number for number, _ in events]
        assert numbers == sorted(set(numbers)), "a state is told once, and in the provider's order"
        walk = [state for _, state in events]
        assert all(one != other for one, other in pairwise(walk))
        by_number = {report.sequence: (report.kyc, report.agreement) for report in history}
        assert all(by_number[number] == state for number, state in events)
        # none is missing: of the reports that were newer than all before them, each that changed something is told
        expected, highest, last = [], 0, (NEW.kyc_status, NEW.agreement_status)
        for report in arrived:
            if report.sequence > highest:
                highest, state = report.sequence, (report.kyc, report.agreement)
                if state != last:
                    expected.append((report.sequence, state))
                last = state
        assert events == expected


def test_events_that_arrive_in_order_tell_every_change_however_often_they_are_repeated() -> None:
    for history, _ in histories(14):
        _, events = walked([report for report in history for _ in range(3)])
        changes = [
            (after.sequence, (after.kyc, after.agreement))
            for before, after in pairwise(history)
            if (before.kyc, before.agreement) != (after.kyc, after.agreement)
        ]
        assert events == changes


@settings(max_examples=25)
@given(data=st.data())
def test_the_webhook_is_told_what_the_walk_of_the_provider_says(data: st.DataObject) -> None:
    with in_process_aws() as client:
        world = World(client)
        world.services = replace(world.services, store=MemoryStore())
        world.register_webhook()
        made = register(world)
        numbers = count(2)
        history = [said(made, 1)]
        arrived = [history[0]]
        for _ in range(data.draw(st.integers(1, 12))):
            if data.draw(st.booleans()):
                kyc, agreement = data.draw(st.sampled_from(KYC)), data.draw(st.sampled_from(AGREEMENT))
                history.append(said(made, next(numbers), kyc.value, agreement.value))
            arrived.append(data.draw(st.sampled_from(history)))
        for report in arrived:
            reports.take_user(world.services, report)
        _, events = walked([reports.report_of(each) for each in arrived])
        assert states(world) == [(kyc.value, agreement.value) for _, (kyc, agreement) in events]
        sequences = [each["sequence"] for each in notified(world)]
        assert sequences == sorted(set(sequences))


# --- one report ---


def test_the_event_has_the_published_fields(world: World) -> None:
    world.register_webhook()
    reports.take_user(world.services, said(register(world), 2, "completed", "completed"))
    ((event),) = notified(world)
    timestamp = event.pop("timestamp")
    assert timestamp.startswith("2026-03-15T10:00:0")
    assert event == {
        "event": "compliance.updated",
        "clientUserId": NAME,
        "kycStatus": "approved",
        "agreementStatus": "completed",
        "isCompliant": True,
        "rawPayload": {"userId": payer(world).user_id, "kycStatus": "completed", "agreementStatus": "completed"},
        "sequence": payer(world).version,
    }


def test_a_bank_account_is_told_with_the_reason_of_its_failure(world: World) -> None:
    world.register_webhook()
    register(world)
    made = add_account(world)
    reports.take_account(world.services, said_of(made, 2, "failed", "No such account"))
    reports.take_account(world.services, said_of(made, 2, "failed", "No such account"))
    reports.take_account(world.services, said_of(made, 1, "pending"))
    (event,) = notified(world)
    assert event["event"] == "payment_detail.updated"
    assert (event["paymentDetailsId"], event["clientUserId"]) == (made.details_id, NAME)
    assert (event["status"], event["rejectionMessage"]) == ("failed", "No such account")
    assert event["rawPayload"] == {"userId": made.user_id, "status": "failed"}
    assert account(world, made).status is AccountStatus.FAILED


@pytest.mark.parametrize(
    ("kyc", "agreement", "is_compliant"),
    [
        ("approved", "completed", True),
        ("completed", "completed", True),
        ("approved", "signed", False),
        ("approved", "pending", False),
        ("pending", "completed", False),
        ("retry_required", "completed", False),
        ("rejected", "completed", False),
    ],
)
def test_who_is_compliant(world: World, kyc: str, agreement: str, is_compliant: bool) -> None:
    reports.take_user(world.services, said(register(world), 2, kyc, agreement))
    assert payer(world).is_compliant is is_compliant


def test_an_approval_that_is_taken_back_is_told(world: World) -> None:
    world.register_webhook()
    made = register(world)
    for number, kyc in enumerate(("approved", "rejected"), start=2):
        reports.take_user(world.services, said(made, number, kyc, "completed"))
    assert states(world) == [("approved", "completed"), ("rejected", "completed")]
    assert not payer(world).is_compliant


def test_a_state_that_is_not_documented_changes_nothing(world: World) -> None:
    made = register(world)
    with pytest.raises(ProviderUnavailable):
        reports.take_user(world.services, said(made, 2, "on_holiday", "completed"))
    assert payer(world).sequence == 1


def test_nobody_is_made_of_a_report(world: World) -> None:
    made = register(world)
    for unknown in (said(replace(made, user_id="another"), 2), said_of(replace(add_account(world), user_id="x"), 2, "failed")):
        with pytest.raises(NotFound, match="did not send"):
            (reports.take_user if hasattr(unknown, "kyc_status") else reports.take_account)(world.services, unknown)


def test_an_event_is_stored_sealed_until_it_is_sent(world: World) -> None:
    world.register_webhook()
    reports.take_user(world.services, said(register(world), 2, "pending"))
    found = world.client.scan(TableName="payment-requests-local-webhooks")["Items"]
    (event,) = [item for item in found if item["sk"]["S"] == "EVENT"]
    stored = record_of(Event, event).body
    assert NAME not in str(found) + stored and "kycStatus" not in stored
    assert states(world) == [("pending", "not_started")]


# --- processes that die, and two at once ---


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_dies_at_any_call_loses_no_event_and_repeats_none(before: bool) -> None:
    for fatal in range(1, 40):
        with in_process_aws() as client:
            world = World(client)
            world.register_webhook()
            made = register(world)
            wire = Tripwire(fatal, before)
            dying = world.start(FragileClient(client, wire), FragileQueue(world.queue, wire))
            try:
                reports.take_user(dying, said(made, 2, "approved", "completed"))
                is_through = True
            except Crash:
                is_through = False
            reports.take_user(world.services, said(made, 2, "approved", "completed"))  # the provider sends it again
            world.advance(60)
            sweep_outbox(world.services)
            assert states(world) == [("approved", "completed")], fatal
            if is_through:
                return
    raise AssertionError("more calls than expected")


def test_two_reports_at_once_are_told_once_each_in_order() -> None:
    for position in range(1, 8):
        with in_process_aws() as client:
            world = World(client)
            world.register_webhook()
            made = register(world)
            newer = said(made, 3, "approved")
            other = Interruption(position, lambda w=world, r=newer: reports.take_user(w.services, r))  # type: ignore[misc]
            interrupted = world.start(FragileClient(client, other))
            reports.take_user(interrupted, said(made, 2, "pending"))
            if other.calls < position:
                reports.take_user(world.services, newer)
            found = states(world)
            assert found in ([("approved", "not_started")], [("pending", "not_started"), ("approved", "not_started")])
            assert payer(world).kyc_status is KycStatus.APPROVED
