"""A link that waits for a multisig transaction is free again when that one does not pay it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.rules import UNREAD_GRACE
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink, Proof
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.platform.storage.writes import Delete
from tests.fakes.announcements import (
    HASH,
    MINUTE,
    OTHER_HASH,
    PAGE,
    PROPOSED,
    SAFE,
    announcement,
    hash_of,
    in_seconds,
    is_free,
    let_pass,
    paying,
    proposed,
    record,
    stored,
    track,
    with_safe,
)
from tests.fakes.chain import FakeChain
from tests.fakes.world import World

FLOODING = "0x" + "66" * 20


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def test_what_a_safe_pays_completes_the_link_and_settles_the_announced_transaction(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    executed = world.chain.execute_safe(SAFE, HASH)
    world.scan()
    with pytest.raises(Conflict):
        record(world, payment)
    announced = track(world)
    assert (announced.status, announced.executed_block) == (AnnouncedStatus.SETTLED, executed.block_number)
    assert announced.transaction_hash == executed.transaction_hash


@pytest.mark.parametrize("success", [True, False], ids=["it was no payment", "its calls failed"])
def test_an_execution_that_did_not_pay_frees_the_link_once_its_block_was_scanned(world: World, success: bool) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.execute_safe(SAFE, HASH, success)
    assert track(world).status is AnnouncedStatus.PENDING
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED
    assert is_free(world, payment)
    with pytest.raises(BadRequest, match="executed or replaced already"):
        record(world, payment)
    assert record(world, payment, announcement(OTHER_HASH)).status is AnnouncedStatus.PENDING


@pytest.mark.parametrize("is_merged", [True, False], ids=["of a link that was merged into it", "of the link"])
def test_nothing_ends_while_the_recorder_has_work_and_what_has_not_ended_is_read_on(
    world: World, is_merged: bool
) -> None:
    payment = world.create_link()
    record(world, payment)
    record(world, payment, announcement(OTHER_HASH))
    link = world.load(payment).link
    world.services.store.write(replace(link, merged_tokens=("before",)))
    payable_id = "before" if is_merged else link.token
    work = UnrecordedTransfers(payable_id, "sepolia", 1, 9, 0, "", world.now, ())
    work = world.services.store.write(work)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    before = {each.safe_tx_hash: each for each in announced_of(world)}
    track(world)
    after = {each.safe_tx_hash: each for each in announced_of(world)}
    assert {each.status for each in after.values()} == {AnnouncedStatus.PENDING}
    assert after[HASH].scanned_to == before[HASH].scanned_to and after[HASH].check_at > world.now
    assert after[OTHER_HASH].scanned_to > before[OTHER_HASH].scanned_to and after[OTHER_HASH].check_at > world.now
    world.services.store.write(Delete(work))
    track(world)
    assert {each.safe_tx_hash: each.status for each in announced_of(world)} == {
        HASH: AnnouncedStatus.FAILED, OTHER_HASH: AnnouncedStatus.PENDING,
    }  # fmt: skip


def announced_of(world: World) -> tuple[AnnouncedTransaction, ...]:
    (announcements,) = stored(world)
    return announcements.all


def test_an_execution_that_a_fork_drops_was_none(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.chain.fork(1)
    world.scan()
    assert track(world).status is AnnouncedStatus.PENDING


def test_another_transaction_with_the_same_nonce_frees_the_link(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    assert track(world).nonce == PROPOSED.terms.nonce
    world.chain.execute_safe(SAFE, OTHER_HASH)
    assert track(world).status is AnnouncedStatus.PENDING, "it is not confirmed yet"
    world.scan()
    assert track(world).status is AnnouncedStatus.REPLACED
    assert is_free(world, payment)


def test_a_replacement_that_pays_the_link_settles_it(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, OTHER_HASH)
    world.scan()
    assert track(world).status is AnnouncedStatus.SETTLED


def test_transactions_of_the_safe_before_ours_are_no_replacement(world: World) -> None:
    later = proposed(nonce=3)
    world.safes.known["sepolia", hash_of(later)] = later
    payment = world.create_link()
    record(world, payment, announcement(hash_of(later)))
    for _ in range(3):
        world.chain.execute_safe(SAFE, OTHER_HASH)
    world.scan()
    assert track(world).status is AnnouncedStatus.PENDING


def test_a_passed_deadline_frees_the_link_when_the_chain_was_read_beyond_it(world: World) -> None:
    payment = world.create_link()
    record(world, payment, announcement(deadline=in_seconds(world, 90)))
    world.scan()
    assert track(world).status is AnnouncedStatus.PENDING
    world.advance(MINUTE)
    assert track(world).status is AnnouncedStatus.PENDING, "no block after the deadline was read"
    world.chain.mine(100)
    world.scan()
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)
    assert record(world, payment).status is AnnouncedStatus.PENDING, "nothing forbids to execute it later"


def test_a_payment_from_before_the_deadline_counts_however_late_it_is_read(world: World) -> None:
    payment = world.create_link()
    record(world, payment, announcement(deadline=in_seconds(world, 90)))
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, HASH)
    world.chain.mine(100)
    world.advance(3600)
    assert track(world).status is AnnouncedStatus.PENDING, "detection stands still"
    world.scan()
    assert track(world).status is AnnouncedStatus.SETTLED


def test_without_a_deadline_a_link_waits_as_long_as_the_setting_says(world: World) -> None:
    payment = world.create_link()
    announced = record(world, payment, announcement(deadline=in_seconds(world, 10**9)))
    assert announced.ends_at == world.now + timedelta(days=1)
    let_pass(world, 24 * MINUTE)
    assert track(world).status is AnnouncedStatus.LAPSED


def test_a_transaction_that_was_executed_before_it_was_announced_is_found(world: World) -> None:
    payment = world.create_link()
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    record(world, payment)
    assert track(world).status is AnnouncedStatus.FAILED


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_the_service_names_the_safe_when_the_payer_does_not(world: World, known: bool) -> None:
    if not known:
        world.safes.known.clear()
    payment = world.create_link()
    announced = record(world, payment, announcement(payer_address=None))
    assert announced.wallet == (SAFE if known else None)
    world.safes.known["sepolia", HASH] = PROPOSED
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED


def test_a_safe_that_nobody_names_is_waited_for_until_the_end(world: World) -> None:
    world.safes.known.clear()
    payment = world.create_link()
    announced = record(world, payment, announcement(payer_address=None, deadline=in_seconds(world, 90)))
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    after = track(world)
    assert (after.status, after.scanned_to) == (AnnouncedStatus.PENDING, announced.scanned_to)
    world.advance(3600)
    world.chain.mine(100)
    world.scan()
    assert track(world).status is AnnouncedStatus.LAPSED


def test_without_the_service_the_chain_alone_tells_what_was_executed(world: World) -> None:
    world.safes.is_down = True
    payment = world.create_link()
    record(world, payment)
    assert track(world).status is AnnouncedStatus.PENDING
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED


def test_the_transaction_of_another_safe_than_the_payers_is_refused_and_one_that_is_proposed_later_not_believed(
    world: World,
) -> None:
    anothers = proposed(safe="0x" + "11" * 20)
    payment, other = world.create_link(), world.create_link()
    record(world, payment, announcement(hash_of(anothers)))
    world.safes.known["sepolia", hash_of(anothers)] = anothers
    world.scan()
    announced = track(world)
    assert (announced.wallet, announced.nonce) == (SAFE, None)
    with pytest.raises(BadRequest, match="payerAddress is not the Safe of this transaction"):
        record(world, other, announcement(hash_of(anothers)))


@pytest.mark.parametrize("payer", [SAFE, None], ids=["of a Safe", "of nobody"])
def test_a_transaction_that_the_service_never_gets_to_know_holds_the_link_for_ten_minutes(
    world: World, payer: str | None
) -> None:
    payment = world.create_link()
    record(world, payment, announcement(OTHER_HASH, payer_address=payer))
    let_pass(world, 8)
    assert track(world).status is AnnouncedStatus.PENDING
    world.advance(5 * MINUTE)
    assert track(world).status is AnnouncedStatus.PENDING, "no block after the ten minutes was read"
    let_pass(world, 3)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


@pytest.mark.parametrize("service", ["is down", "is none", "knows it"])
def test_otherwise_a_transaction_is_waited_for_until_its_end(world: World, service: str) -> None:
    if service != "knows it":
        world.safes.known.clear()
    world.safes.is_down, world.safes.is_there = service == "is down", service != "is none"
    payment = world.create_link()
    record(world, payment)
    for _ in range(3):
        let_pass(world, 60)
        assert track(world).status is AnnouncedStatus.PENDING


@pytest.mark.parametrize("service", ["is down", "is none"])
def test_what_the_page_announces_holds_the_link_so_long_also_where_no_service_answers(
    world: World, service: str
) -> None:
    world.safes.is_down, world.safes.is_there = service == "is down", service != "is none"
    payment = world.create_link()
    record(world, payment, viewer=PAGE)
    let_pass(world, 8)
    assert track(world).status is AnnouncedStatus.PENDING
    let_pass(world, 3)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


def test_what_the_page_announces_is_waited_for_until_its_end_once_the_service_knows_it(world: World) -> None:
    payment = world.create_link()
    proposal = paying(payment)
    announced = record(world, payment, announcement(hash_of(proposal)), viewer=PAGE)
    assert (announced.is_public, announced.proof) == (True, Proof.COMPUTED)
    world.safes.known["sepolia", hash_of(proposal)] = proposal
    found = track(world)
    assert (found.proof, found.nonce) == (Proof.PROPOSED, proposal.terms.nonce)
    for _ in range(3):
        let_pass(world, 60)
        assert track(world).status is AnnouncedStatus.PENDING


def test_an_unknown_transaction_that_the_safe_executed_is_not_given_up_for_that(world: World) -> None:
    world.safes.known.clear()
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, HASH)
    let_pass(world, 12)
    assert track(world).status is AnnouncedStatus.SETTLED


def test_safe_and_nonce_are_taken_from_no_answer_whose_fields_do_not_have_the_hash(world: World) -> None:
    world.safes.known["sepolia", OTHER_HASH] = PROPOSED
    payment = world.create_link()
    assert record(world, payment, announcement(OTHER_HASH, payer_address=None)).wallet is None
    announced = track(world)
    assert (announced.status, announced.wallet, announced.nonce) == (AnnouncedStatus.PENDING, None, None)
    let_pass(world, 10)
    assert track(world).status is AnnouncedStatus.LAPSED


def test_a_node_that_does_not_answer_is_asked_once_a_sweep_and_changes_nothing(world: World) -> None:
    payments = [world.create_link() for _ in range(3)]
    before = [record(world, payment) for payment in payments]
    world.chain.is_down = True
    world.advance(MINUTE)
    asked = 0

    def counted() -> None:
        nonlocal asked
        asked += 1
        FakeChain._read(world.chain)

    world.chain._read = counted  # type: ignore[method-assign]
    assert tracking.track_due(world.services) == 0
    assert asked == 1
    after = [world.load(payment).announcements for payment in payments]
    assert all(a and a.first.status is AnnouncedStatus.PENDING and a.first.check_at > b.check_at for a, b in zip(after, before, strict=True))


def test_a_node_that_answers_for_few_blocks_is_read_in_ranges_over_several_looks(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.largest_range = 10
    for _ in range(6):  # detection finds out what the node answers for
        world.scan()
    world.chain.mine(100)
    world.chain.execute_safe(SAFE, HASH, success=False)
    for _ in range(6):
        world.scan()
    looks = list[AnnouncedStatus]()
    while not looks or looks[-1] is AnnouncedStatus.PENDING:
        looks.append(track(world).status)
    assert looks[-1] is AnnouncedStatus.FAILED
    assert 1 < len(looks) < 6


@pytest.fixture
def flooded(world: World) -> PayableLink:
    """A link for which a contract was announced whose events no node answers for."""
    world.chain.contracts.add(FLOODING)
    world.chain.flooding.add(FLOODING)
    payment = world.create_link()
    record(world, payment, announcement(OTHER_HASH, payer_address=FLOODING, deadline=in_seconds(world, 90)))
    return payment


def test_the_announced_transaction_of_a_contract_that_floods_its_events_lapses_an_hour_after_its_end(
    world: World, flooded: PayableLink
) -> None:
    world.chain.mine(100)
    world.scan()
    world.advance(UNREAD_GRACE.total_seconds() - MINUTE)
    announced = track(world)
    assert (announced.status, announced.scanned_to) == (AnnouncedStatus.PENDING, 0)
    world.advance(MINUTE)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, flooded)


def test_it_settles_once_its_link_is_paid(world: World, flooded: PayableLink) -> None:
    world.chain.pay(flooded.requests[0])
    world.scan()
    assert world.load(flooded).link.status is LinkStatus.COMPLETED
    assert track(world).status is AnnouncedStatus.SETTLED


def test_announced_transactions_settle_with_their_links_while_the_node_does_not_answer(world: World) -> None:
    payments = [world.create_link() for _ in range(2)]
    for payment in payments:
        record(world, payment)
        world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.is_down = True
    world.advance(MINUTE)
    assert tracking.track_due(world.services) == 2


def test_the_node_is_asked_for_half_of_what_it_refused_of_one_safe_and_for_more_again_later(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.mine(400)
    world.scan()
    world.chain.largest_range = 100
    looks = [track(world) for _ in range(5)]
    first, second, third, *answered = world.chain.spans
    assert (second, third, answered[0]) == (first // 2, first // 4, first // 8)
    assert first > 400 and third > 100
    growing = answered[:-1]
    assert growing == sorted(set(growing)) and sum(answered) == looks[-1].scanned_to
    assert len({look.scanned_to for look in looks[:3]}) == 1, "what was refused is read again"


def test_flooding_contracts_hold_up_no_other_announced_transaction_of_the_network(world: World) -> None:
    world.chain.contracts.add(FLOODING)
    world.chain.flooding.add(FLOODING)
    payments = [world.create_link() for _ in range(8)]
    for hostile, honest in zip(payments[::2], payments[1::2], strict=True):
        record(world, hostile, announcement(OTHER_HASH, payer_address=FLOODING))
        record(world, honest)
    world.chain.execute_safe(SAFE, HASH, success=False)
    world.scan()
    world.advance(MINUTE)
    assert tracking.track_due(world.services) == 4
    assert [is_free(world, payment) for payment in payments] == [False, True] * 4


def test_one_announced_transaction_that_cannot_be_followed_does_not_hold_up_the_others(world: World) -> None:
    broken, payment = world.create_link(), world.create_link()
    record(world, broken)
    record(world, payment, announcement(OTHER_HASH))
    key = {"pk": {"S": f"LINK#{broken.link.token}"}, "sk": {"S": "ANNOUNCED"}}
    world.client.update_item(
        TableName="payment-requests-local-payments",
        Key=key,
        UpdateExpression="SET created_at = :text",
        ExpressionAttributeValues={":text": {"S": "yesterday"}},
    )
    world.chain.execute_safe(SAFE, OTHER_HASH, success=False)
    world.scan()
    world.advance(MINUTE)
    with pytest.raises(SweepIncomplete):
        tracking.track_due(world.services)
    assert is_free(world, payment)
