"""A link for which a transaction was sent is not offered again, until that one is confirmed, failed or dropped."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, Locked
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.checkout.announcements.flows import withdraw
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import MAX_CLAIMS, Announcement
from chalicelib.payments.announcements.rules import MAX_ANNOUNCERS, MAX_SENT, MOST_WAITING
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.reading import Viewer, load_visible
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink, Proof
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.links.sent_transactions import Outcome, warnings
from tests.fakes.announcements import (
    HASH,
    MINUTE,
    PAGE,
    SAFE,
    is_free,
    let_pass,
    paid_event,
    record,
    stored,
    track,
    with_safe,
)
from tests.fakes.chain import SENDER
from tests.fakes.lying_node import Liar, served, served_beside
from tests.fakes.payouts import store_payouts
from tests.fakes.world import World, in_process_aws
from tests.support.errors import body_of

NOWHERE = "0x" + "ee" * 32
OWN, OTHERS = "0a" * 32, "0b" * 32
"""Hashes of two secrets."""


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def sent(tx_hash: str) -> Announcement:
    return Announcement(tx_hash, None, None, "SEPOLIA", "USDC", None)


def pay(world: World, payable: PayableLink) -> tuple[str, AnnouncedTransaction]:
    tx_hash = world.chain.send(payable.requests[0])
    return tx_hash, record(world, payable, sent(tx_hash))


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_saying_that_its_transaction_failed(world: World, is_first: bool) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    world.chain.include(tx_hash)
    let_pass(world, 1)
    honest: Any = world.chain

    def failed(tx_hash: str) -> SentTransaction:
        return replace(honest.sent_transaction(tx_hash), success=False, paid=())

    liar = Liar(honest, sent_transaction=failed)
    services = served_beside(world.services, "sepolia", liar, is_first)
    assert track(world, services).status is AnnouncedStatus.PENDING
    assert not is_free(world, payment)
    only = served(world.services, "sepolia", liar)
    assert track(world, only).status is AnnouncedStatus.FAILED, "of the only node it is the word that counts"


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_blocks_that_confirm_a_failure_before_they_are_there(
    world: World, is_first: bool
) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    honest: Any = world.chain
    honest.include(tx_hash, success=False)
    liar = Liar(honest, head=lambda: honest.head() + 1)
    services = served_beside(world.services, "sepolia", liar, is_first)
    world.tick(services)
    assert track(world, services).status is AnnouncedStatus.PENDING
    honest.mine()
    world.tick(services)
    assert track(world, services).status is AnnouncedStatus.FAILED


@pytest.mark.parametrize("has_it", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_inventing_what_its_transaction_says(
    world: World, is_first: bool, has_it: bool
) -> None:
    payment = world.create_link()
    tx_hash = "0x" + "ab" * 32
    record(world, payment, sent(tx_hash))
    honest: Any = world.chain
    if has_it:
        honest.transactions[tx_hash] = honest.transactions.pop(honest.send(payment.requests[0]))
    foreign = SentTransaction(SENDER, SAFE, "0x095ea7b3", 7)
    liar = Liar(honest, sent_transaction=lambda tx_hash: foreign)
    services = served_beside(world.services, "sepolia", liar, is_first)
    assert track(world, services).status is AnnouncedStatus.PENDING
    assert not is_free(world, payment)


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_a_nonce_of_its_own(world: World, is_first: bool) -> None:
    payment = world.create_link()
    honest: Any = world.chain
    tx_hash = honest.send(payment.requests[0], nonce=5)
    true = honest.transactions.pop(tx_hash)
    honest.counts[SENDER] = 3
    liar = Liar(honest, sent_transaction=lambda tx_hash: replace(true, nonce=0))
    both = served_beside(world.services, "sepolia", liar, is_first)
    trusting, world.services = world.services, both
    record(world, payment, sent(tx_hash))
    world.services = trusting
    assert track(world).status is AnnouncedStatus.PENDING, "it comes with another nonce"


@pytest.mark.parametrize("is_safe", [False, True])
@pytest.mark.parametrize("is_left_out", [True, False])
def test_a_link_whose_transaction_has_paid_is_not_free_before_its_block_was_read_again(
    world: World, is_safe: bool, is_left_out: bool
) -> None:
    """The node has left out the logs, or has invented them."""
    chain, payment = world.chain, world.create_link()
    (request,) = payment.requests
    chain.clock = world.clock
    if is_safe:
        record(world, payment)
        tx_hash = chain.execute_safe(SAFE, HASH).transaction_hash
        chain.transactions[tx_hash] = SentTransaction(SENDER, SAFE, "0x", 0, len(chain.blocks) - 1, True)
    else:
        tx_hash, _ = pay(world, payment)
        chain.include(tx_hash)
    chain.transactions[tx_hash] = replace(chain.transactions[tx_hash], paid=(paid_event(request),))
    if is_left_out:
        chain.pay_too(request)
        chain.hides_logs = True
    world.scan()
    for _ in range(5):
        assert track(world).status is AnnouncedStatus.PENDING
        assert not is_free(world, payment)
        world.scan()
    chain.hides_logs = False
    for _ in range(9):
        world.advance(MINUTE)
        world.scan()
    paid = world.load(payment).link.status is LinkStatus.COMPLETED
    assert paid is is_left_out
    world.advance(5 * MINUTE)
    assert track(world).status is (AnnouncedStatus.SETTLED if paid else AnnouncedStatus.FAILED)


@pytest.mark.parametrize("wrong", [{"payee": "0x" + "00" * 20}, {"token_address": None}, {"topic": "0x" + "cd" * 32}], ids=str)
def test_a_link_does_not_wait_for_a_payment_that_cannot_count(world: World, wrong: dict[str, Any]) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    world.chain.include(tx_hash)
    event = replace(paid_event(payment.requests[0]), **wrong)
    world.chain.transactions[tx_hash] = replace(world.chain.transactions[tx_hash], paid=(event,))
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED
    assert is_free(world, payment)


def test_a_link_waits_for_a_transaction_that_was_sent_until_its_payment_is_detected(world: World) -> None:
    payment = world.create_link()
    tx_hash, announced = pay(world, payment)
    assert (announced.wallet, announced.nonce, announced.proof) == (SENDER, 0, Proof.SENT)
    with pytest.raises(Locked) as refusal:
        check_payable(world.load(payment), world.now)
    (status,) = body_of(refusal.value)["requestStatuses"]
    assert status == {
        "requestId": payment.requests[0].request_id, "hasBeenPaid": False, "txHash": tx_hash, "chainId": 11155111,
    }
    let_pass(world, 60)
    assert track(world).status is AnnouncedStatus.PENDING, "as long as the node has it"
    world.chain.include(tx_hash)
    world.chain.pay_too(payment.requests[0])
    assert track(world).status is AnnouncedStatus.PENDING, "its block is not confirmed"
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    world.advance(5 * MINUTE)
    assert track(world).status is AnnouncedStatus.SETTLED
    with pytest.raises(Conflict):
        record(world, payment, sent(tx_hash))


def test_an_announcement_is_no_payment(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    world.chain.include(tx_hash)
    world.scan()
    announced = track(world)
    assert (announced.status, announced.executed_block is None) == (AnnouncedStatus.FAILED, False), (
        "no event of our contracts"
    )
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert is_free(world, payment)


def test_the_same_hash_is_the_same_announced_transaction_and_another_one_is_waited_for_too(world: World) -> None:
    payment = world.create_link()
    tx_hash, announced = pay(world, payment)
    assert record(world, payment, sent(tx_hash)).announced_id == announced.announced_id
    other = world.chain.send(payment.requests[0], nonce=1)
    assert record(world, payment, sent(other)).announced_id != announced.announced_id
    world.chain.include(tx_hash, success=False)
    world.scan()
    track(world)
    assert [each.status.value for each in stored(world)[0].all] == ["pending", "failed"]
    assert not is_free(world, payment)


def test_a_transaction_that_fails_frees_the_link_once_its_block_is_confirmed(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    world.chain.include(tx_hash, success=False)
    assert track(world).status is AnnouncedStatus.PENDING, "a fork may still undo it"
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED
    assert is_free(world, payment)
    with pytest.raises(BadRequest, match="This transaction failed"):
        record(world, payment, sent(tx_hash))


def test_a_transaction_that_the_node_does_not_know_yet_holds_the_link_for_two_minutes(world: World) -> None:
    payment = world.create_link()
    assert record(world, payment, sent(NOWHERE)).proof is None
    assert not is_free(world, payment)
    world.advance(5 * MINUTE)
    assert track(world).status is AnnouncedStatus.PENDING, "no block after the two minutes was read"
    let_pass(world, 0)
    let_pass(world, 5)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


def test_one_that_the_node_gets_to_know_is_waited_for_as_long_as_it_does(world: World) -> None:
    payment = world.create_link()
    tx_hash = world.chain.send(payment.requests[0])
    late = world.chain.transactions.pop(tx_hash)
    record(world, payment, sent(tx_hash))
    world.chain.transactions[tx_hash] = late
    for _ in range(3):
        let_pass(world, 30)
        assert track(world).status is AnnouncedStatus.PENDING
    assert stored(world)[0].first.proof is Proof.SENT
    let_pass(world, 24 * 60)
    assert track(world).status is AnnouncedStatus.LAPSED, "but no longer than any intent"


def test_one_that_the_node_forgets_is_dropped_two_minutes_later(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    known = world.chain.transactions.pop(tx_hash)
    let_pass(world, 30)
    assert track(world).status is AnnouncedStatus.PENDING, "another node may have it"
    world.chain.transactions[tx_hash] = known
    let_pass(world, 30)
    assert track(world).status is AnnouncedStatus.PENDING
    del world.chain.transactions[tx_hash]
    let_pass(world, 30)
    assert track(world).status is AnnouncedStatus.PENDING, "the time begins again"
    let_pass(world, 6)
    assert track(world).status is AnnouncedStatus.LAPSED
    assert is_free(world, payment)


def test_another_transaction_with_its_nonce_frees_the_link(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    del world.chain.transactions[tx_hash]
    world.chain.counts[SENDER] = 1
    assert track(world).status is AnnouncedStatus.REPLACED
    assert is_free(world, payment)
    with pytest.raises(BadRequest, match="This transaction failed or was replaced"):
        record(world, payment, sent(tx_hash))


def test_a_replacement_that_pays_settles_the_announced_transaction(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    del world.chain.transactions[tx_hash]
    world.chain.counts[SENDER] = 1
    world.chain.pay(payment.requests[0])
    world.scan()
    assert track(world).status is AnnouncedStatus.SETTLED


def test_nothing_ends_while_the_node_does_not_answer(world: World) -> None:
    payment = world.create_link()
    record(world, payment, sent(NOWHERE))
    let_pass(world, 5)
    world.chain.is_down = True
    for _ in range(3):
        assert track(world).status is AnnouncedStatus.PENDING
    with pytest.raises(ChainUnavailable):
        record(world, world.create_link(), sent(NOWHERE))


def test_a_transaction_that_the_node_does_not_return_delays_no_other_one(world: World) -> None:
    payments = [world.create_link() for _ in range(3)]
    odd, *others = [pay(world, payment)[0] for payment in payments]
    read = world.chain.sent_transaction

    def refuses_one(tx_hash: str) -> SentTransaction | None:
        if tx_hash == odd:
            raise ChainUnavailable("The sepolia node responds with too much")
        return read(tx_hash)

    world.chain.sent_transaction = refuses_one  # type: ignore[method-assign]
    for tx_hash in others:
        world.chain.include(tx_hash, success=False)
    world.scan()
    world.advance(MINUTE)
    assert tracking.track_due(world.services) == 2
    assert [is_free(world, payment) for payment in payments] == [False, True, True]


def test_what_does_not_pay_this_link_is_refused_or_ends_once_the_node_knows_it(world: World) -> None:
    payment, other = world.create_link(), world.create_link()
    foreign = world.chain.send(other.requests[0])
    with pytest.raises(BadRequest, match="does not pay this link"):
        record(world, payment, sent(foreign))
    approval = world.chain.send(payment.requests[0], data="0x095ea7b3", to=SAFE)
    elsewhere = world.chain.send(payment.requests[0], to=SAFE)
    for tx_hash in (approval, elsewhere):
        with pytest.raises(BadRequest, match="does not pay this link"):
            record(world, payment, sent(tx_hash))
    unknown = world.chain.transactions.pop(foreign)
    record(world, payment, sent(foreign))
    world.chain.transactions[foreign] = unknown
    assert track(world).status is AnnouncedStatus.FAILED
    assert is_free(world, payment)


def test_a_smart_wallets_payment_is_known_by_its_inner_call_or_by_its_event(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests
    proxy = address_of(ERC20_FEE_PROXY, "sepolia")[2:]
    inner = world.chain.send(request, to=SAFE, data="0x6a761202" + proxy + "00" * 5 + request.payment_reference[2:])
    assert record(world, payment, sent(inner)).proof is Proof.SENT
    head = len(world.chain.blocks)
    packed = world.chain.send(request, to=SAFE, data="0x", paid=(paid_event(request),), block=head, success=True)
    assert record(world, payment, sent(packed)).proof is Proof.SENT


def test_what_is_over_already_is_refused(world: World) -> None:
    payment = world.create_link()
    failed, confirmed = (world.chain.send(payment.requests[0], nonce=nonce) for nonce in (1, 2))
    world.chain.include(failed, success=False)
    with pytest.raises(BadRequest, match="This transaction failed"):
        record(world, payment, sent(failed))
    world.chain.include(confirmed)
    world.scan()
    with pytest.raises(BadRequest, match="This transaction is confirmed"):
        record(world, payment, sent(confirmed))
    assert stored(world) == []


def test_strangers_lock_a_link_with_few_hashes_that_nobody_knows_and_later_with_known_ones_alone(world: World) -> None:
    payment = world.create_link()
    for number in range(MAX_CLAIMS):
        record(world, payment, sent(f"0x{number:064x}"), viewer=PAGE)
        assert not is_free(world, payment)
        let_pass(world, 6)
        track(world)
        assert is_free(world, payment)
    tx_hash = world.chain.send(payment.requests[0])
    late = world.chain.transactions.pop(tx_hash)
    for _ in range(2):
        record(world, payment, sent(tx_hash), viewer=PAGE)
        assert is_free(world, payment), "it is accepted and does not lock the link"
    for number in range(20):
        record(world, payment, sent(f"0x{900 + number:064x}"), viewer=PAGE)
    assert len(stored(world)[0].all) <= MAX_CLAIMS + 3
    record(world, payment, sent(tx_hash), viewer=PAGE)
    world.chain.transactions[tx_hash] = late
    track(world)
    assert not is_free(world, payment)


def test_the_owner_withdraws_it_and_its_payment_counts_all_the_same(world: World) -> None:
    payment = world.create_link()
    tx_hash, _ = pay(world, payment)
    withdraw(world.services, payment.link.token, Viewer(world.account_id, None))
    assert is_free(world, payment)
    world.chain.include(tx_hash)
    world.chain.pay_too(payment.requests[0])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_multicall_waits_as_a_whole(world: World) -> None:
    children = store_payouts(world.services, world.account_id, 2, creator_wallet=SAFE)
    parent = multicalls.create(world.services, world.owner, [each.link.token for each in children], None).payable
    tx_hash = world.chain.send(children[1].requests[0])
    assert record(world, parent, sent(tx_hash)).proof is Proof.SENT
    assert world.load(parent).is_locked
    world.chain.include(tx_hash, success=False)
    world.scan()
    track(world)
    assert not world.load(parent).is_locked


steps = st.lists(
    st.sampled_from(["strangers hash", "wait", "node down", "node up", "forget", "know", "include", "scan", "track"]),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(steps)
def test_while_the_node_has_the_transaction_and_it_is_not_confirmed_the_link_is_not_offered(taken: list[str]) -> None:
    with in_process_aws() as client:
        world = with_safe(World(client))
        payment = world.create_link()
        tx_hash, announced = pay(world, payment)
        known, strangers = world.chain.transactions[tx_hash], 0
        for step in taken:
            if step == "strangers hash" and not world.chain.is_down:
                record(world, payment, sent(f"0x{(strangers := strangers + 1):064x}"), viewer=PAGE)
            elif step == "wait":
                world.advance(6 * MINUTE)
            elif step in ("node down", "node up"):
                world.chain.is_down = step == "node down"
            elif step == "forget":
                known = world.chain.transactions.pop(tx_hash, known)
            elif step == "know":
                world.chain.transactions.setdefault(tx_hash, known)
            elif step == "include" and known.block is None and tx_hash in world.chain.transactions:
                world.chain.include(tx_hash, success=False)
                known = world.chain.transactions[tx_hash]
            elif step == "scan" and not world.chain.is_down:
                let_pass(world, 1)
            else:
                world.advance(MINUTE)
                tracking.track_due(world.services)
            found = next(each for each in stored(world)[0].all if each.announced_id == announced.announced_id)
            if found.status is not AnnouncedStatus.PENDING:
                was_missing = found.missing_since is not None
                assert was_missing or known.block is not None, "it ended for a reason that was seen"
                return
            assert not is_free(world, payment)


# --- who is not locked out, and for how long ---


def by_page(world: World, payable: PayableLink, tx_hash: str, announcer: str | None = None) -> AnnouncedTransaction:
    return record(world, payable, replace(sent(tx_hash), announcer=announcer), viewer=PAGE)


def is_free_for(world: World, payable: PayableLink, announcer: str | None) -> bool:
    viewer = replace(PAGE, announcer=announcer)
    found = load_visible(world.services, payable.link.token, viewer)
    return not found.is_locked


def test_who_announced_it_with_a_secret_goes_on_and_nobody_else_does(world: World) -> None:
    payment = world.create_link()
    first, second = (world.chain.send(payment.requests[0], nonce=nonce) for nonce in (1, 2))
    by_page(world, payment, first, OWN)
    assert is_free_for(world, payment, OWN)
    for other in (None, OTHERS, OWN[:-1], ""):
        assert not is_free_for(world, payment, other)
    by_page(world, payment, second, OTHERS)
    assert not is_free_for(world, payment, OWN), "another one pays it, too"
    assert not is_free_for(world, payment, OTHERS)
    before = stored(world)
    by_page(world, payment, first, OWN)
    assert stored(world) == before, "announced again it changes nothing"


@pytest.mark.parametrize("sent_first", [True, False])
def test_somebody_elses_announcement_of_the_same_hash_takes_nothing_from_its_sender(
    world: World, sent_first: bool
) -> None:
    payment = world.create_link()
    tx_hash = world.chain.send(payment.requests[0])
    others = [f"{number:064x}" for number in range(20)]
    for secret in [OWN, *others] if sent_first else [*others, OWN]:
        by_page(world, payment, tx_hash, secret)
    assert is_free_for(world, payment, OWN)
    (announcements,) = stored(world)
    assert len(announcements.first.announcers) == MAX_ANNOUNCERS


def test_a_child_of_a_multicall_is_not_locked_for_who_has_sent_that(world: World) -> None:
    children = store_payouts(world.services, world.account_id, 2, creator_wallet=SAFE)
    parent = multicalls.create(world.services, world.owner, [each.link.token for each in children], None).payable
    by_page(world, parent, world.chain.send(children[1].requests[0]), OWN)
    for each in (parent, *children):
        assert (is_free_for(world, each, OWN), is_free_for(world, each, None)) == (True, False)


def test_one_that_waits_for_a_block_for_long_is_a_warning_and_locks_no_more(world: World) -> None:
    """It costs its sender nothing. Once the owner has announced it, it locks as long as it may be made."""
    payment = world.create_link()
    tx_hash = world.chain.send(payment.requests[0])
    by_page(world, payment, tx_hash)
    let_pass(world, MOST_WAITING / timedelta(minutes=1) - 2)
    track(world)
    assert not is_free(world, payment) and warnings(world.load(payment)) == ()
    let_pass(world, 2)
    assert track(world).status is AnnouncedStatus.PENDING
    for _ in range(2):
        assert is_free(world, payment)
        (warned,) = warnings(world.load(payment))
        assert (warned.tx_hash, warned.outcome) == (tx_hash, Outcome.WAITING)
        by_page(world, payment, tx_hash)
        let_pass(world, 1)
        track(world)
    record(world, payment, sent(tx_hash))
    assert not is_free(world, payment)
    world.chain.include(tx_hash, success=False)
    world.scan()
    assert track(world).status is AnnouncedStatus.FAILED
    assert is_free(world, payment) and warnings(world.load(payment)) == ()


@pytest.mark.parametrize("is_known", [True, False], ids=["when it is announced", "later"])
def test_strangers_lock_a_link_with_few_transactions_that_the_node_has(world: World, is_known: bool) -> None:
    payment, locked = world.create_link(), 0
    for number in range(MAX_SENT + 3):
        tx_hash = world.chain.send(payment.requests[0], nonce=number)
        late = world.chain.transactions.pop(tx_hash)
        if is_known:
            world.chain.transactions[tx_hash] = late
        by_page(world, payment, tx_hash)
        world.chain.transactions[tx_hash] = late
        let_pass(world, 1)
        track(world)
        locked += not is_free(world, payment)
        assert is_free(world, payment) or number < MAX_SENT
        assert (warnings(world.load(payment)) != ()) is (number >= MAX_SENT)
        world.chain.include(tx_hash, success=False)
        world.scan()
        track(world)
        assert is_free(world, payment)
    assert locked == MAX_SENT
    record(world, payment, sent(world.chain.send(payment.requests[0], nonce=99)))
    assert not is_free(world, payment), "the owner's announcements are not those of strangers"


def test_a_warning_is_not_pushed_out_by_hashes_that_nobody_knows(world: World) -> None:
    payment = world.create_link()
    tx_hash = world.chain.send(payment.requests[0])
    by_page(world, payment, tx_hash)
    let_pass(world, 11)
    track(world)
    for number in range(MAX_CLAIMS + 12):
        by_page(world, payment, f"0x{number:064x}")
    assert [each.tx_hash for each in warnings(world.load(payment))] == [tx_hash]


def test_one_that_was_not_known_is_looked_up_again_when_it_is_announced_again(world: World) -> None:
    """The page announces it once more when it has seen it in a block."""
    payment = world.create_link()
    for number in range(MAX_CLAIMS):
        by_page(world, payment, f"0x{number:064x}")
        let_pass(world, 6)
        track(world)
    tx_hash = world.chain.send(payment.requests[0])
    late = world.chain.transactions.pop(tx_hash)
    by_page(world, payment, tx_hash, OWN)
    assert is_free(world, payment)
    world.chain.transactions[tx_hash] = late
    assert by_page(world, payment, tx_hash, OWN).proof is Proof.SENT
    assert not is_free(world, payment) and is_free_for(world, payment, OWN)
