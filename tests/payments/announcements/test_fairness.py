"""One account's multisig transactions delay no other's, and none ends while the recorder has work left for its link."""

import json
from dataclasses import replace

import pytest

from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.rules import take_turns
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkAnnouncements, PayableLink
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.rate_limits.rules import SAFE_REQUESTS_OF_ACCOUNT
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.announcements import (
    HASH,
    OTHER_HASH,
    PROPOSED,
    SAFE,
    announcement,
    hash_of,
    let_pass,
    proposed,
    record,
    stored,
    track,
    with_safe,
)
from tests.fakes.payouts import on_its_way, payout
from tests.fakes.world import World, draft
from tests.support.rehearsed import rehearsed


@pytest.fixture
def world(world: World) -> World:
    return with_safe(world)


def announced_of(world: World, payable: PayableLink) -> AnnouncedTransaction:
    announcements = world.services.store.get(
        LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=payable.link.token)
    )
    assert announcements is not None
    return announcements.first


def announce_many(world: World, count: int, account: str) -> None:
    """Announced transactions that are due now, of links of one account."""
    for _ in range(count):
        link = replace(payout(world.services, account).link, version=0)
        pending = on_its_way(PayableLink((), link)).announcements
        assert pending is not None
        request = replace(payout(world.services, account).requests[0], payable_id=link.token, version=0)
        first = replace(pending.first, wallet=SAFE, account_id=account, check_at=world.now)
        world.services.store.write(link, request, replace(pending, first=first))


def scan_unrecorded(world: World) -> None:
    world.chain.mine(2)
    scan_chain(world.services, json.dumps({"network": world.chain.network}))


@rehearsed
def test_a_strangers_700_announced_transactions_do_not_keep_another_accounts_one_from_being_checked(
    world: World,
) -> None:
    announce_many(world, 700, "stranger")
    world.advance(1)
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, HASH)
    world.scan()
    world.advance(10)
    tracking.track_due(world.services)
    assert announced_of(world, payment).status is AnnouncedStatus.SETTLED
    checked = [each for each in stored(world) if each.first.account_id == "stranger" and each.first.scanned_to > 0]
    assert len(checked) == 100
    assert all(each.first.check_at > world.now for each in stored(world) if each.first.status is AnnouncedStatus.PENDING)


def test_accounts_that_ask_a_safes_service_as_much_as_they_can_leave_another_its_question(world: World) -> None:
    asked, read = list[str](), world.safes.transaction
    for account in ("greedy", "another"):
        for _ in range(SAFE_REQUESTS_OF_ACCOUNT + 20):
            link = links.create(world.services, Owner(account, None, None), draft())
            record(world, link, announcement(OTHER_HASH, payer_address=None), viewer=Viewer(account, None))
    payment = world.create_link()
    world.safes.known.clear()
    record(world, payment)
    let_pass(world, 1)
    world.safes.known["sepolia", HASH] = PROPOSED
    world.safes.transaction = lambda name, tx_hash: asked.append(tx_hash) or read(name, tx_hash)  # type: ignore[method-assign,func-returns-value]
    tracking.track_due(world.services)
    assert asked.count(OTHER_HASH) == 2 * SAFE_REQUESTS_OF_ACCOUNT and asked.count(HASH) == 1
    assert announced_of(world, payment).wallet == SAFE


def test_the_accounts_take_turns_and_what_is_beyond_their_share_is_postponed(world: World) -> None:
    pending = on_its_way(payout(world.services, "acct")).announcements
    assert pending is not None
    due = [
        replace(pending, first=replace(pending.first, account_id=account, announced_id=f"{account}{number}", check_at=world.now))
        for account, count in (("a", 4), ("b", 1), ("c", 2))
        for number in range(count)
    ]
    checked, postponed = take_turns(due, 3)
    assert [each.first.announced_id for each in checked] == ["a0", "b0", "c0", "a1", "c1", "a2"]
    assert [each.first.announced_id for each in postponed] == ["a3"]


def test_an_account_has_so_many_transactions_checked_in_a_run_and_not_so_many_links_of_twelve(world: World) -> None:
    pending = on_its_way(payout(world.services, "acct")).announcements
    assert pending is not None
    others = tuple(replace(pending.first, announced_id=f"other{number}") for number in range(11))
    checked, postponed = take_turns([replace(pending, others=others)] * 20, 100)
    assert (len(checked), len(postponed)) == (8, 12)


def test_a_run_stops_in_time(world: World) -> None:
    announce_many(world, 12, "stranger")
    world.advance(10)
    head = world.chain.head

    def slow() -> int:
        world.advance(15)
        return head()

    world.chain.head = slow  # type: ignore[method-assign]
    tracking.track_due(world.services)
    assert sum(each.version > 1 for each in stored(world)) == 3


def test_an_announced_transaction_that_cannot_be_read_holds_no_other_up(world: World) -> None:
    announce_many(world, 3, "stranger")
    broken, *_ = stored(world)
    world.client.update_item(
        TableName="payment-requests-local-payments",
        Key={"pk": {"S": broken.key.pk}, "sk": {"S": broken.key.sk}},
        UpdateExpression="SET #status = :odd",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":odd": {"S": "odd"}},
    )
    world.advance(10)
    with pytest.raises(SweepIncomplete):
        tracking.track_due(world.services)
    items = world.client.scan(TableName="payment-requests-local-payments")["Items"]
    versions = sorted(int(item["version"]["N"]) for item in items if item["sk"]["S"] == "ANNOUNCED")
    assert versions == [1, 2, 2]


def test_an_executed_transaction_has_not_failed_while_its_payment_is_not_recorded(world: World) -> None:
    payment = world.create_link()
    record(world, payment)
    world.chain.pay(payment.requests[0])
    world.chain.execute_safe(SAFE, HASH)
    scan_unrecorded(world)
    for _ in range(3):
        assert track(world).status is AnnouncedStatus.PENDING
    world.record()
    world.advance(600)
    assert track(world).status is AnnouncedStatus.SETTLED


def test_a_multicalls_transaction_has_not_failed_while_a_childs_payment_is_not_recorded(world: World) -> None:
    children = [_payout(world) for _ in range(2)]
    tokens = [child.link.token for child in children]
    whole = multicalls.create(world.services, world.owner, tokens, None)
    in_public = replace(proposed(), safe=SAFE)
    world.safes.known["sepolia", hash_of(in_public)] = in_public
    record(world, whole.payable, announcement(hash_of(in_public)))
    for child in children:
        world.chain.pay(child.requests[0])
    world.chain.execute_safe(SAFE, hash_of(in_public))
    scan_unrecorded(world)
    assert scan_store.has_work(world.services.store, tokens[:1])
    assert track(world).status is AnnouncedStatus.PENDING
    world.record()
    world.advance(600)
    assert track(world).status is AnnouncedStatus.SETTLED


def _payout(world: World) -> PayableLink:
    made = payout(world.services, world.account_id, creator_wallet=SAFE)
    fresh = PayableLink(tuple(replace(each, version=0) for each in made.requests), replace(made.link, version=0))
    links.save(world.services, fresh)
    return fresh
