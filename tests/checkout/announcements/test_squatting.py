"""Whoever has a link can announce anybody's hash for it; the payment that is waited for stays locked all the same."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import ServiceError
from chalicelib.chains.calldata.checkout import pay_one, with_approvals
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, bundle
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.payments.announcements import tracking
from chalicelib.payments.links.records import AnnouncedStatus, PayableLink, Proof
from chalicelib.payments.payable.rules import amounts_owed, direct
from tests.fakes.announcements import (
    HASH,
    MINUTE,
    OTHER_HASH,
    PAGE,
    PROPOSED,
    SAFE,
    announcement,
    hash_of,
    is_free,
    let_pass,
    paying,
    record,
    track,
    with_safe,
)
from tests.fakes.world import World, in_process_aws

HOSTILE = "0x" + "66" * 20
"""A contract of the attacker that answers as a Safe and emits any event."""


@pytest.fixture
def world(world: World) -> World:
    return with_hostile_contract(world)


def with_hostile_contract(world: World) -> World:
    world.chain.contracts.add(HOSTILE)
    return with_safe(world)


@pytest.mark.parametrize("success", [True, False])
def test_the_event_of_another_contract_does_not_end_the_transaction_of_the_safe(world: World, success: bool) -> None:
    world.safes.is_down = True
    payment = world.create_link()
    record(world, payment, announcement(payer_address=HOSTILE), viewer=PAGE)
    record(world, payment)
    world.chain.execute_safe(HOSTILE, HASH, success)
    world.scan()
    track(world)
    assert not is_free(world, payment)


def test_who_has_seen_a_hash_cannot_name_it_as_done_before_the_safe_announces_it(world: World) -> None:
    world.safes.is_down = True
    payment = world.create_link()
    record(world, payment, announcement(payer_address=HOSTILE), viewer=PAGE)
    world.chain.execute_safe(HOSTILE, HASH, success=False)
    world.scan()
    track(world)
    announced = record(world, payment)
    assert (announced.status, announced.payer_address) == (AnnouncedStatus.PENDING, SAFE)
    assert not is_free(world, payment)


def test_a_hash_is_proved_by_the_links_own_transactions_with_one_of_the_safes_next_nonces(world: World) -> None:
    world.safes.is_down = True
    for nonce, proof in ((0, None), (1, Proof.COMPUTED), (5, Proof.COMPUTED), (6, None)):
        payment, other = world.create_link(), world.create_link()
        if nonce == 0:
            world.chain.execute_safe(SAFE, OTHER_HASH)
        safe_tx_hash = hash_of(paying(payment, nonce))
        assert record(world, payment, announcement(safe_tx_hash)).proof is proof
        assert record(world, payment, announcement(safe_tx_hash, payer_address=HOSTILE)).proof is None
        assert record(world, other, announcement(safe_tx_hash)).proof is None, "it pays another link"
        announcements = world.load(payment).announcements
        assert announcements is not None and announcements.first.payer_address == SAFE, "it is shown first"


def test_the_allowance_of_the_safe_does_not_matter(world: World) -> None:
    world.safes.is_down = True
    payment = world.create_link()
    (owed,) = amounts_owed([payment])
    paid = pay_one(direct(owed).due)
    reset = with_approvals(paid, {}, frozenset({token.address for token in paid.debits}))
    (only,) = paid.transactions
    bundles = [bundle("sepolia", each.transactions) for each in (paid, with_approvals(paid, {}), reset)]
    for transaction in (*bundles, SafeTransaction(only.to, only.value, only.data, 0)):
        proposal = Proposal(SAFE, transaction, SafeTerms(3))
        assert record(world, payment, announcement(hash_of(proposal))).proof is Proof.COMPUTED


def test_a_proposal_that_does_not_pay_the_link_locks_it_no_longer_than_a_claim(world: World) -> None:
    """Anybody can read the proposals of every Safe."""
    payment = world.create_link()
    record(world, payment, viewer=PAGE)
    let_pass(world, 11)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("announce"),
            st.sampled_from([SAFE, HOSTILE, None]),
            st.sampled_from([HASH, OTHER_HASH]),
            st.sampled_from([None, 30, 3600]),
        ),
        st.tuples(st.just("emit"), st.sampled_from([HASH, OTHER_HASH]), st.booleans()),
        st.tuples(st.just("service"), st.sampled_from(["down", "knows", "does not know"])),
        st.tuples(st.just("wait"), st.sampled_from([0.1, 1])),
        st.tuples(st.just("track")),
    ),
    max_size=8,
)


@settings(max_examples=10, deadline=None)
@given(steps, steps)
def test_whatever_others_announce_and_emit_a_link_stays_locked_while_its_safes_transaction_is_pending(
    before: list, after: list
) -> None:
    with in_process_aws() as client:
        world = with_hostile_contract(World(client))
        payment = world.create_link()
        attack(world, payment, before)
        announced = record(world, payment)
        assert (announced.safe_tx_hash, announced.payer_address in (SAFE, None)) == (HASH, True)
        unexpired = world.now + timedelta(minutes=9)
        for step in after:
            attack(world, payment, [step])
            if world.now < unexpired:
                assert not is_free(world, payment), step
        world.safes.is_down = False
        world.safes.known["sepolia", HASH] = PROPOSED
        world.chain.execute_safe(SAFE, HASH, success=False)
        for _ in range(14):
            let_pass(world, 2)
            track(world)
        let_pass(world, 26 * 60)
        track(world)
        assert is_free(world, payment), "no longer than the bounds"


def attack(world: World, payable: PayableLink, taken: list) -> None:
    for kind, *facts in taken:
        if kind == "announce":
            payer, safe_tx_hash, seconds = facts
            deadline = world.now + timedelta(seconds=seconds) if seconds else None
            with suppress(ServiceError):
                record(world, payable, announcement(safe_tx_hash, payer_address=payer, deadline=deadline), viewer=PAGE)
        elif kind == "emit":
            world.chain.execute_safe(HOSTILE, *facts)
        elif kind == "service":
            world.safes.is_down = facts[0] == "down"
            world.safes.known.pop(("sepolia", HASH), None)
            if facts[0] == "knows":
                world.safes.known["sepolia", HASH] = PROPOSED
        elif kind == "wait":
            let_pass(world, facts[0])
        else:
            world.scan()
            world.advance(MINUTE)
            tracking.track_due(world.services)
