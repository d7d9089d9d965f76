"""What is decided, removed or revoked at the moment at which a change is applied."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import pytest

from chalicelib.accounts.changes import applying
from chalicelib.accounts.changes.records import PendingChange
from chalicelib.base.errors import Conflict
from chalicelib.base.records import Record
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import ApiKey, ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete, Write
from chalicelib.webhooks.records import Event
from infra.local.cloud import Cloud
from tests.accounts.test_races import Flow, interleavings
from tests.fakes.world import World
from tests.support.teams import Answer, Team

Kind = TypeVar("Kind", bound=Record)


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def test_of_two_decisions_at_once_one_counts(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    change = applying.store.change(team.world.services.store, team.account_id, asked.change_id)
    assert change is not None
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 200
    with pytest.raises(Conflict, match="decided already"):
        applying.apply(team.world.services, Actor(team.account_id, "service", "", ""), change)
    assert [each.kind for each in stored(team, Event)].count("account.change_applied") == 1


@pytest.mark.parametrize("asked_by", ["ann", "key"])
@pytest.mark.parametrize("second", ["approve", "refuse"])
def test_two_who_decide_at_the_same_moment_decide_it_once_wherever_they_meet(asked_by: str, second: str) -> None:
    """Of a change that takes two approvals each counts, or hears that it does not."""
    teams, asked = list[Team](), list[Answer]()
    outcomes = dict[str, str]()

    def prepare(world: World) -> tuple[Flow, Flow]:
        team = Team(world)
        teams[:], asked[:] = [team], [team.ask(team.by_key() if asked_by == "key" else team.by("ann"))]
        outcomes.clear()
        verbs = {"bob": "approve", "wallet": second}
        tokens = {"bob": team.by("bob"), "wallet": team.by_wallet()}

        def decision(name: str) -> Flow:
            def decide(services: Services) -> None:
                world.services, before = services, world.services
                try:
                    answer = team.decide(verbs[name], tokens[name], asked[0].change_id)
                finally:
                    world.services = before
                outcomes[name] = f"{verbs[name]} {answer.status}"

            return decide

        return decision("bob"), decision("wallet")

    seen = set[str]()
    for _, result in interleavings(prepare):
        assert result is None and all(each.endswith((" 200", " 409")) for each in outcomes.values()), outcomes
        done = sorted(each.removesuffix(" 200") for each in outcomes.values() if each.endswith(" 200"))
        (change,) = stored(teams[0], PendingChange)
        by_key = asked_by == "key"
        wanted = "refused" if "refuse" in done else "applied" if len(done) == 1 + by_key else "pending"
        assert done and (by_key or len(done) == 1) and change.state == wanted, (outcomes, change.state)
        assert teams[0].fee() == ("5" if wanted == "applied" else None)
        assert wanted == "refused" or len(change.approved_by) == len(done)
        announced = [each.kind for each in stored(teams[0], Event)]
        assert announced.count("account.change_applied") == (wanted == "applied")
        assert announced.count("account.change_refused") == (wanted == "refused")
        seen.add(f"{wanted} {len(done)}")
    assert len(seen) >= 2 or (asked_by, second) == ("ann", "approve"), seen


def test_of_ten_approvals_at_once_each_person_counts_once(cloud: Cloud) -> None:
    team = Team(World(cloud.client("dynamodb"), seed=290))
    sessions = [team.by("bob"), team.by_wallet()] * 5

    def approve_at_once(asked: Answer) -> int:
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda headers: team.decide("approve", headers, asked.change_id), sessions))
        assert {each.status for each in answers} <= {200, 409}
        return sum(each.status == 200 for each in answers)

    assert approve_at_once(team.ask(team.by("ann"))) == 1 and team.fee() == "5"
    by_key = team.ask(team.by_key(), feePercentage="6", feeAddress=team.wallet.address)
    people = approve_at_once(by_key)
    assert 1 <= people <= 2 and team.fee() == ("6" if people == 2 else "5")
    assert team.state(by_key.change_id) == ("applied" if people == 2 else "pending")


@pytest.mark.parametrize("asked_by", ["ann", "key"])
@pytest.mark.parametrize("leaves", ["ann", "bob"])
def test_who_asked_or_approved_and_is_removed_at_the_same_moment_counts_no_longer(
    team: Team, asked_by: str, leaves: str
) -> None:
    asked = team.ask(team.by_key() if asked_by == "key" else team.by("ann"))
    if asked_by == "key":
        team.decide("approve", team.by("ann"), asked.change_id)
    while_applied(team, lambda: person_store.find_membership(team.world.services.store, team.account_id, team.people[leaves]))
    refused = team.decide("approve", team.by("bob"), asked.change_id)
    assert (refused.status, team.fee()) == (409, None)


@pytest.mark.parametrize("asked_by", ["ann", "key"])
def test_a_key_or_asker_that_is_gone_at_the_moment_when_the_delay_ends_changes_nothing(
    team: Team, asked_by: str
) -> None:
    asked, store = team.ask(team.by_key() if asked_by == "key" else team.by("ann")), team.world.services.store
    while_applied(
        team,
        lambda: store.get(ApiKey, team.key_record.key)
        if asked_by == "key"
        else person_store.find_membership(store, team.account_id, team.people["ann"]),
    )
    assert (team.wait(25), team.state(asked.change_id)) == (0, "pending")
    team.wait(0)
    client = store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(team.client_id)))
    assert client is not None and (client.fee_percentage, team.state(asked.change_id)) == (None, "failed")


def stored(team: Team, kind: type[Kind]) -> list[Kind]:
    return [each for each, _ in team.world.services.store.scan([kind]) if isinstance(each, kind)]


def while_applied(team: Team, read: Callable[[], Record | None]) -> None:
    """Has a record deleted just before the next transaction that applies a change."""
    services = team.world.services

    def deleting(make: Callable[..., None], writes: Sequence[Write]) -> None:
        record = read()
        if record and any(isinstance(each, PendingChange) and each.state == "applied" for each in writes):
            services.store.write(Delete(record))
        make(*writes)

    team.world.services = replace(services, store=services.store.with_join(deleting))
