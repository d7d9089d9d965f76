"""When a change takes effect without approval: after the whole delay since the owners were told, or a week."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.changes import applying, store
from chalicelib.base.email_addresses import email_address
from chalicelib.base.records import Key
from chalicelib.mail import changes as mail_changes
from chalicelib.mail import store as mail_store
from chalicelib.platform.access.people import store as person_store
from infra.iam import ACCESS
from tests.fakes.world import PREFIX, World
from tests.support.teams import HOUR, Team


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def test_it_takes_effect_after_the_delay_and_not_before(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    assert (team.wait(23.9), team.fee()) == (0, None)
    assert (team.wait(0.2), team.fee(), team.state(asked.change_id)) == (1, "5", "applied")
    assert team.wait(0) == 0


def test_a_setting_of_the_account_takes_effect_without_a_read_that_the_schedule_may_not_make(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert team.call("change_account", team.by("ann"), {"approvalDelayHours": 1}).status == 202
    client, read = team.world.client, set[str]()
    get_item = client.get_item

    def note(**parameters: Any) -> Any:
        read.add(parameters["TableName"])
        return get_item(**parameters)

    monkeypatch.setattr(client, "get_item", note)
    assert (team.wait(24.1), team.account().approval_delay_hours) == (1, 1)
    permitted = {f"{PREFIX}-{table}" for table, actions in ACCESS["apply_changes"].tables.items() if "GetItem" in actions}
    assert read <= permitted and f"{PREFIX}-identity" in read


def mailing(world: World, *confirmed: str) -> Team:
    """A team where e-mail is sent, to those who have confirmed their addresses."""
    team = Team(World(world.client, mail_sender="pay@shop.example"))
    for name in confirmed:
        identity = person_store.identity(team.world.services.store, f"{name}@shop.example")
        assert identity is not None
        team.world.services.store.write(replace(identity, verified_at=team.world.now))
    return team


@pytest.mark.parametrize(
    ("confirmed", "hours"),
    [(("ann", "bob"), 24), (("ann", "carol"), 24), (("ann",), 168), ((), 168)],
    ids=["another owner", "finance", "the asker alone", "nobody"],
)
def test_the_whole_delay_runs_from_the_mail_to_somebody_else_or_for_a_week_when_nobody_else_could_be_told(
    world: World, confirmed: tuple[str, ...], hours: int
) -> None:
    team = mailing(world, *confirmed)
    asked = team.ask(team.by("ann"))
    team.world.advance(12 * HOUR)
    assert (team.wait(hours - 0.1), team.state(asked.change_id)) == (0, "pending")
    assert (team.wait(0.2), team.fee()) == (1, "5")
    named = f"update_client_id_by_session\u2069 · \u2068{asked.change_id}"
    notified = {each.to for each in team.world.ses.sent if named in each.text}
    assert notified == {f"{name}@shop.example" for name in confirmed}


def test_mails_that_were_not_sent_or_came_back_notify_nobody(world: World) -> None:
    team = mailing(world, "ann", "bob")
    asked = team.ask(team.by("ann"))
    mail_changes.tell(team.world.services)
    team.world.advance(25 * HOUR)
    assert applying.run_due(team.world.services) == 0, "they wait in the queue"
    for name in ("ann", "bob"):
        mailbox = mail_store.mailbox(team.world.services.store, email_address(f"{name}@shop.example"))
        team.world.services.store.write(replace(mailbox, stopped_at=team.world.now, stopped_by="bounce"))
    assert (team.wait(0), team.wait(25), team.state(asked.change_id)) == (0, 0, "pending")
    assert team.decide("approve", team.by("bob"), asked.change_id).body["state"] == "applied", "people need no mail"


def test_a_mail_to_the_asker_notifies_nobody_else(world: World) -> None:
    """Whoever has the mailbox of the asker may be the thief."""
    team = mailing(world, "ann", "bob")
    bob = mail_store.mailbox(team.world.services.store, email_address("bob@shop.example"))
    team.world.services.store.write(replace(bob, stopped_at=team.world.now, stopped_by="bounce"))
    asked = team.ask(team.by("ann"))
    assert (team.wait(25), team.wait(25), team.state(asked.change_id)) == (0, 0, "pending")
    assert {each.to for each in team.world.ses.sent} == {"ann@shop.example"}


def test_what_waits_for_its_notice_is_not_due_meanwhile_and_takes_effect_on_time_afterwards(world: World) -> None:
    """Else an account whose mails come back would fill the batch of the sweep for all."""
    team = mailing(world, "ann", "bob")
    asked = team.ask(team.by("ann"))
    mail_changes.tell(team.world.services)

    def due() -> list[Key]:
        return list(store.due(team.world.services.store, team.world.now, 100, 0))

    team.world.advance(25 * HOUR)
    assert (len(due()), applying.run_due(team.world.services), due()) == (1, 0, [])
    team.world.advance(HOUR)
    assert len(due()) == 1, "it is looked at again"
    team.world.drain()
    assert (applying.run_due(team.world.services), due()) == (0, [])
    assert (team.wait(23.9), due(), team.state(asked.change_id)) == (0, [], "pending")
    assert (team.wait(0.2), team.fee()) == (1, "5")


def test_who_is_alone_in_an_account_is_told_themselves(world: World) -> None:
    team = mailing(world, "ann")
    for headers in (team.by("bob"), team.by("carol"), team.by("dan"), team.by_wallet()):
        assert team.call("leave_account", headers).status == 200
    team.ask(team.by("ann"))
    assert (team.wait(23.9), team.wait(0.2), team.fee()) == (0, 1, "5")


def test_without_a_delay_it_needs_approval_and_expires(world: World) -> None:
    team = Team(world, approval_delay_hours=0)
    asked = team.ask(team.by("ann"))
    assert asked.body["pendingChange"]["takesEffectAt"] is None
    assert team.wait(167) == 0
    assert (team.wait(2), team.fee(), team.state(asked.change_id)) == (1, None, "expired")


def test_where_nobody_else_may_approve_it_takes_effect_after_a_week(world: World) -> None:
    team = Team(world, approval_delay_hours=0)
    for name in ("bob", "dan"):
        team.call("leave_account", team.by(name))
    team.call("leave_account", team.by_wallet())
    asked = team.ask(team.by("ann"))
    assert (team.wait(167), team.fee()) == (0, None)
    assert (team.wait(2), team.fee(), asked.status) == (1, "5", 202)


def test_a_webhook_of_a_client_id_alone_waits_before_it_is_confirmed(world: World) -> None:
    team = mailing(world)
    url = "https://stranger.example/"
    hook = team.call("create_webhook", {"x-client-id": team.client_id}, {"url": url}).body
    by_key = {**team.by_key(), "x-client-id": team.client_id}
    asked = team.call("toggle_webhook", by_key, {"confirmed": True}, webhook_id=hook["id"])
    assert (asked.status, team.call("list_webhooks", by_key).body[0]["confirmed"]) == (202, False)
    assert team.wait(169) == 1
    assert [(each["url"], each["confirmed"]) for each in team.call("list_webhooks", by_key).body] == [(url, True)]
    back = team.call("toggle_webhook", by_key, {"confirmed": False}, webhook_id=hook["id"])
    assert (back.status, back.body["confirmed"]) == (200, False), "which redirects nothing"


def test_webhooks_and_invitations_take_effect_after_the_delay_with_their_mail(world: World) -> None:
    team = mailing(world)
    by_client = {**team.by_key(), "x-client-id": team.client_id}
    first = team.call("create_webhook", by_client, {"url": "https://first.example/"})
    assert team.wait(169) == 1
    hook_id = first.body["result"]["id"]
    off = team.call("toggle_webhook", by_client, {"isActive": False}, webhook_id=hook_id)
    assert off.status == 200, "which redirects nothing"
    asked = [
        team.call("create_webhook", by_client, {"url": "https://second.example/"}),
        team.call("toggle_webhook", by_client, {"isActive": True}, webhook_id=hook_id),
        team.call("invite", team.by("ann"), {"role": "owner", "email": "eve@shop.example"}),
    ]
    team.world.ses.sent.clear()
    assert team.wait(169) == 3
    assert [team.state(each.change_id) for each in asked] == ["applied"] * 3
    hooks = team.call("list_webhooks", by_client).body
    assert {(each["url"], each["isActive"]) for each in hooks} == {
        ("https://first.example/", True),
        ("https://second.example/", True),
    }
    team.world.drain()
    assert "eve@shop.example" in {each.to for each in team.world.ses.sent}


def test_the_ids_that_were_shown_are_those_of_what_is_made_later(team: Team) -> None:
    platform = {"orchestratorName": "Plat", "orchestratorContactEmail": "a@shop.example"}
    key = team.call("create_api_key", team.by("ann"), {"label": "later"}).body["result"]
    made = team.call("create_orchestrator", team.by("ann"), platform).body["result"]
    assert team.wait(25) == 2
    assert team.call("read_api_key", team.by("ann"), key_id=key["id"]).body["label"] == "later"
    assert team.call("list_client_ids", {"x-api-key": key["key"]}).status == 200
    links = team.call("revoke_orchestrator", team.by("ann"), orchestrator_id=made["orchestrator"]["id"])
    assert (links.status, links.body["id"]) == (200, made["orchestrator"]["id"])
