"""What is decided, removed or revoked at the moment at which a change is applied."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from chalicelib.accounts.changes import applying
from chalicelib.accounts.changes.records import PendingChange
from chalicelib.base.records import Record
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import ApiKey, ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.storage.store import Delete, Write
from chalicelib.webhooks.records import Event
from tests.fakes.world import World
from tests.support.teams import Team


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def test_of_two_decisions_at_once_one_counts(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    change = applying.store.change(team.world.services.store, team.account_id, asked.change_id)
    assert change is not None
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 200
    with pytest.raises(Exception, match="decided already"):
        applying.apply(team.world.services, Actor(team.account_id, "service", "", ""), change)
    applied = [each for each, _ in team.world.services.store.scan([Event]) if isinstance(each, Event)]
    assert [each.kind for each in applied].count("account.change_applied") == 1


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


def while_applied(team: Team, read: Callable[[], Record | None]) -> None:
    """Has a record deleted just before the next transaction that applies a change."""
    services = team.world.services

    def deleting(make: Callable[..., None], writes: Sequence[Write]) -> None:
        record = read()
        if record and any(isinstance(each, PendingChange) and each.state == "applied" for each in writes):
            services.store.write(Delete(record))
        make(*writes)

    team.world.services = replace(services, store=services.store.with_join(deleting))
