"""Domains of client ids on real tables: set, proved by DNS or by a file, checked every day, and lost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.domains import flows, jobs, store
from chalicelib.accounts.domains.records import EVERY, GIVEN_UP, KEPT, PageDomain
from chalicelib.accounts.domains.rules import file_url, is_verified, txt_name
from chalicelib.base.errors import NotFound, TooManyRequests
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.storage.store import WriteConflict
from tests.bench.calls import counted
from tests.fakes.world import World


def new_client(world: World) -> ClientId:
    return client_ids.create_client_id(world.services, world.actor, {"label": "web", "allowed_domains": ()})


def set_domain(world: World, name: str = "shop.example", client: ClientId | None = None) -> PageDomain:
    return flows.put(world.services, world.actor, (client or new_client(world)).record_id, name)


def publish(world: World, domain: PageDomain) -> None:
    world.txt_records.texts[txt_name(domain)] = ("v=spf1 -all", domain.proof)


def stored(world: World, domain: PageDomain) -> PageDomain:
    found = store.find_domain(world.services.store, domain.client_id_hash)
    assert found is not None
    return found


def day(world: World) -> int:
    world.now += EVERY
    return jobs.check_due(world.services)


def audited(world: World) -> list[AuditEntry]:
    found = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=world.account_id))
    return [each for each in found if each.action.startswith("domain.")]


def actions(world: World) -> list[str]:
    return [each.action for each in audited(world)]


def test_a_domain_that_is_set_before_its_proof_is_published_says_what_is_missing(world: World) -> None:
    domain = set_domain(world)
    assert (domain.verified_at, domain.checked_at) == (None, world.now)
    assert domain.problem == (
        "there is no TXT record at _payment-requests.shop.example; "
        "https://shop.example/.well-known/payment-requests.txt answered 404"
    )
    assert stored(world, domain) == domain


def test_a_txt_record_proves_it_and_no_file_is_asked_for_then(world: World) -> None:
    domain = set_domain(world)
    world.receiver.got.clear()
    publish(world, domain)
    checked = flows.check(world.services, world.account_id, domain.record_id)
    assert (checked.verified_at, checked.problem) == (world.now, None)
    assert world.receiver.got == []


def test_a_file_proves_it_too(world: World) -> None:
    domain = set_domain(world)
    world.receiver.files[file_url(domain)] = PostResult(200, None, f"# of the shop\n{domain.proof}\r\n")
    assert is_verified(flows.check(world.services, world.account_id, domain.record_id), world.now)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (PostResult(200, None, "<html>"), "answered 200 without it"),
        (PostResult(301, None), "answered 301"),
        (PostResult(None, "address refused: it is not public"), "txt: address refused: it is not public"),
    ],
)
def test_other_answers_prove_nothing_and_are_named(world: World, answer: PostResult, problem: str) -> None:
    domain = set_domain(world)
    world.receiver.files[file_url(domain)] = answer
    world.txt_records.texts[txt_name(domain)] = ("payment-requests=other",)
    checked = flows.check(world.services, world.account_id, domain.record_id)
    assert checked.verified_at is None and str(checked.problem).endswith(problem)
    assert str(checked.problem).startswith(f"the TXT records of {txt_name(domain)} do not have it; ")


def test_the_proof_of_one_client_id_proves_no_other(world: World) -> None:
    publish(world, set_domain(world))
    assert set_domain(world).verified_at is None


def test_it_stays_verified_for_two_days_of_trouble_and_is_lost_on_the_third(world: World) -> None:
    domain = set_domain(world)
    publish(world, domain)
    flows.check(world.services, world.account_id, domain.record_id)
    world.txt_records.is_silent = True
    for _ in range(2):
        assert day(world) == 1
        assert is_verified(stored(world, domain), world.now) and "DNS did not answer" in str(stored(world, domain).problem)
    for _ in range(3):
        assert day(world) == 1
        assert not is_verified(stored(world, domain), world.now)
    world.txt_records.is_silent = False
    day(world)
    assert is_verified(stored(world, domain), world.now)


def test_the_owners_are_told_once_that_a_mark_has_ended_and_again_after_the_next(world: World) -> None:
    domain = set_domain(world)
    publish(world, domain)
    for _ in range(2):
        world.txt_records.is_silent = False
        day(world)
        world.txt_records.is_silent = True
        world.services.store.write(*(replace(each, is_notified=True) for each in audited(world) if not each.is_notified))
        for _ in range(2):
            day(world)
        assert [each for each in audited(world) if not each.is_notified] == []
        for _ in range(3):
            day(world)
        [ended] = [each for each in audited(world) if not each.is_notified]
        assert (ended.action, ended.target, ended.actor) == ("domain.expired", domain.record_id, "service")
        assert ended.next_due == ended.at, "it waits for the mail about changes"


def test_a_mark_whose_end_is_found_when_it_is_asked_for_is_told_in_the_same_write(world: World) -> None:
    domain = set_domain(world)
    publish(world, domain)
    flows.check(world.services, world.account_id, domain.record_id)
    world.now += KEPT
    world.txt_records.is_silent = True
    for _ in range(2):
        flows.check(world.services, world.account_id, domain.record_id)
    assert actions(world).count("domain.expired") == 1
    assert jobs.check_due(world.services) == 0


def test_a_domain_that_was_never_verified_has_no_mark_to_lose(world: World) -> None:
    set_domain(world)
    for _ in range(5):
        day(world)
    assert actions(world) == ["domain.updated"]


def test_it_is_checked_once_a_day_and_given_up_after_a_month(world: World) -> None:
    domain = set_domain(world)
    assert jobs.check_due(world.services) == 0
    assert [day(world), jobs.check_due(world.services)] == [1, 0]
    world.now += GIVEN_UP
    assert [jobs.check_due(world.services), day(world)] == [1, 0]
    publish(world, domain)
    assert is_verified(flows.check(world.services, world.account_id, domain.record_id), world.now)
    assert day(world) == 1


def test_many_are_checked_in_one_run_until_its_time_is_over(world: World) -> None:
    for number in range(25):
        set_domain(world, f"shop{number}.example")
    world.now += EVERY
    asked = len(world.txt_records.asked)
    assert jobs.check_due(world.services) == 25
    assert len(world.txt_records.asked) == asked + 25
    world.now += EVERY
    begun = world.now
    world.txt_records.before = lambda: setattr(world, "now", begun + jobs.BUDGET)  # the first group takes all of it
    assert jobs.check_due(world.services) == 10
    world.txt_records.before = None
    assert jobs.check_due(world.services) == 15


def test_a_domain_that_is_changed_while_it_is_checked_keeps_the_change(world: World) -> None:
    domain = set_domain(world)
    publish(world, domain)
    world.txt_records.before = lambda: (
        setattr(world.txt_records, "before", None),
        flows.remove(world.services, world.actor, domain.record_id),
    )
    with pytest.raises(WriteConflict):
        flows.check(world.services, world.account_id, domain.record_id)
    assert store.find_domain(world.services.store, domain.client_id_hash) is None


def test_checks_that_an_account_asks_for_are_limited_before_anything_is_sent(world: World) -> None:
    client = new_client(world)
    for _ in range(15):
        domain = set_domain(world, client=client)
        flows.check(world.services, world.account_id, domain.record_id)
    asked = len(world.txt_records.asked)
    for _ in range(2):
        with pytest.raises(TooManyRequests):
            flows.check(world.services, world.account_id, domain.record_id)
        with pytest.raises(TooManyRequests):
            set_domain(world, "other.example", client)
    assert (asked, len(world.txt_records.asked)) == (30, 30)
    assert stored(world, domain).domain == "shop.example"
    world.now += timedelta(hours=1)
    flows.check(world.services, world.account_id, domain.record_id)


def test_another_accounts_client_id_is_not_found(world: World) -> None:
    domain = set_domain(world)
    for act in (flows.read, flows.check):
        with pytest.raises(NotFound):
            act(world.services, "another", domain.record_id)
    flows.remove(world.services, world.actor, domain.record_id)
    assert sorted(actions(world)) == ["domain.removed", "domain.updated"]
    with pytest.raises(NotFound, match="has no domain"):
        flows.read(world.services, world.account_id, domain.record_id)
    assert not flows.remove(world.services, world.actor, domain.record_id)


def test_what_a_page_shows_takes_one_read_and_two_with_a_domain(world: World) -> None:
    client = new_client(world)
    with counted(world.services.store.client) as calls:
        assert flows.of_page(world.services, client.client_id, True) == (None, None)
    assert calls.total == 1
    domain = set_domain(world, client=client)
    publish(world, domain)
    flows.check(world.services, world.account_id, domain.record_id)
    with counted(world.services.store.client) as calls:
        branding, merchant = flows.of_page(world.services, client.client_id, True)
    assert (branding, merchant and merchant.domain, calls.total) == (None, "shop.example", 2)
    world.now += KEPT
    assert flows.of_page(world.services, client.client_id, True)[1].domain is None  # type: ignore[union-attr]
    with counted(world.services.store.client) as calls:
        assert flows.of_page(world.services, None, True) == (None, None)
    assert calls.total == 0
