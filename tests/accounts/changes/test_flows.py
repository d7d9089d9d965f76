"""Changes of where money goes: asked for, approved, refused, withdrawn, and failed; what waits, and when approvals begin."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.changes import applying
from chalicelib.accounts.changes import store as changes_store
from chalicelib.accounts.changes.records import ChangeState, PendingChange
from chalicelib.accounts.changes.rules import MAX_OPEN
from chalicelib.accounts.members import flows as members
from chalicelib.accounts.members import invitations
from chalicelib.accounts.payees import flows as payees
from chalicelib.accounts.payees.records import Action, SigningNonce
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.base import ids
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.webhooks.records import Event
from infra import admin
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA, sign
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World
from tests.support.members import member_of, opened
from tests.support.teams import HOUR, Team, called

PLATFORM = {"orchestratorName": "Plat", "orchestratorContactEmail": "help@plat.example"}


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def audited(team: Team) -> tuple[AuditEntry, ...]:
    return team.world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=team.account_id))


def actions(team: Team) -> list[str]:
    return [each.action for each in audited(team)]


def events(team: Team) -> list[str]:
    kinds = [record.kind for record, _ in team.world.services.store.scan([Event]) if isinstance(record, Event)]
    return sorted(kind.removeprefix("account.change_") for kind in kinds)


def in_order(team: Team) -> list[tuple[int | None, str]]:
    """The events of a single change by their sequences."""
    found = [record for record, _ in team.world.services.store.scan([Event]) if isinstance(record, Event)]
    return sorted((each.sequence, each.kind.removeprefix("account.change_")) for each in found)


# --- asking and deciding ---


def test_a_change_waits_until_another_person_approves_it(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    assert (asked.status, team.fee()) == (202, None)
    shown = asked.body["pendingChange"]
    assert (shown["operation"], shown["state"]) == ("update_client_id_by_session", "pending")
    assert shown["request"] == {"feePercentage": "5", "feeAddress": team.wallet.address}
    assert shown["askedBy"] == f"person:{team.people['ann']}" and "result" not in asked.body
    approved = team.decide("approve", team.by("bob"), asked.change_id)
    assert (approved.status, approved.body["state"], team.fee()) == (200, "applied", "5")
    assert approved.body["decidedBy"] == f"person:{team.people['bob']}"
    assert {"change.requested", "change.approved", "change.applied", "client_id.updated"} <= set(actions(team))
    assert in_order(team) == [(1, "requested"), (2, "approved"), (3, "applied")]
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 409


def test_nobody_approves_their_own_change_nor_without_the_right_and_no_key_approves(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    own = team.decide("approve", team.by("ann"), asked.change_id)
    assert (own.status, own.body["message"]) == (
        403, "You asked for this change yourself: somebody else has to approve it"
    )
    carol = team.decide("approve", team.by("carol"), asked.change_id)
    assert carol.status == 403 and "client_ids:write" in carol.body["message"]
    assert team.decide("approve", team.by("dan"), asked.change_id).status == 403
    for verb in ("approve", "refuse", "withdraw"):
        assert team.decide(verb, team.by_key(), asked.change_id).status == 403
    assert (team.state(asked.change_id), team.fee()) == ("pending", None)


def test_what_an_api_key_asks_for_takes_two_people_as_a_key_is_nobody(team: Team) -> None:
    asked = team.ask(team.by_key())
    first = team.decide("approve", team.by("ann"), asked.change_id)
    assert (first.status, first.body["state"], team.fee()) == (200, "pending", None)
    again = team.decide("approve", team.by("ann"), asked.change_id)
    assert (again.status, again.body["message"]) == (409, "You have approved this change: it needs another person")
    assert team.decide("approve", team.by("bob"), asked.change_id).body["state"] == "applied"
    assert team.fee() == "5"
    assert in_order(team) == [(1, "requested"), (2, "approved"), (3, "approved"), (4, "applied")]


def test_an_approval_of_somebody_who_has_left_counts_no_longer(team: Team) -> None:
    asked = team.ask(team.by_key())
    team.decide("approve", team.by("ann"), asked.change_id)
    team.call("leave_account", team.by("ann"))
    assert team.decide("approve", team.by("bob"), asked.change_id).body["state"] == "pending"
    assert team.fee() is None


@pytest.mark.parametrize(("verb", "by", "state"), [("refuse", "bob", "refused"), ("withdraw", "ann", "withdrawn")])
def test_a_change_that_is_refused_or_withdrawn_never_takes_effect(team: Team, verb: str, by: str, state: str) -> None:
    asked = team.ask(team.by("ann"))
    assert team.decide(verb, team.by(by), asked.change_id).body["state"] == state
    for other in ("approve", "refuse", "withdraw"):
        assert team.decide(other, team.by("bob" if other == "approve" else "ann"), asked.change_id).status == 409
    assert (team.wait(25), team.fee()) == (0, None)
    assert events(team) == sorted(["requested", state])


def test_nobody_refuses_their_own_removal_or_another_role_of_their_own(team: Team) -> None:
    ann, bob = team.by("ann"), team.by("bob")
    role = team.call("change_role", ann, {"role": "viewer"}, person_id=team.people["bob"])
    assert team.decide("refuse", bob, role.change_id).status == 403
    assert team.decide("refuse", team.by("carol"), role.change_id).status == 200
    removal = team.call("remove_member", ann, person_id=team.people["bob"])
    refused = team.decide("refuse", bob, removal.change_id)
    assert refused.status == 403 and refused.body["message"].startswith("This change is of your own membership")
    assert team.wait(25) == 1
    assert person_store.find_membership(team.world.services.store, team.account_id, team.people["bob"]) is None


def test_nobody_withdraws_what_somebody_else_asked_for(team: Team) -> None:
    assert team.decide("withdraw", team.by("bob"), team.ask(team.by("ann")).change_id).status == 403


# --- what does not apply any more, and races ---


def test_a_change_whose_asker_was_removed_fails_and_says_so(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    team.call("leave_account", team.by("ann"))
    refused = team.decide("approve", team.by("bob"), asked.change_id)
    assert refused.status == 409 and refused.body["message"].startswith("This change no longer applies")
    assert (team.state(asked.change_id), team.fee()) == ("failed", None)


def test_a_change_of_what_is_gone_or_of_a_key_that_is_revoked_fails(team: Team) -> None:
    of_role = team.call("change_role", team.by("ann"), {"role": "admin"}, person_id=team.people["dan"])
    team.call("leave_account", team.by("dan"))
    assert team.decide("approve", team.by("bob"), of_role.change_id).status == 409
    by_key = team.ask(team.by_key())
    assert team.call("revoke_api_key", team.by("bob"), key_id=team.key_record.key_id).status == 200
    team.wait(25)
    assert (team.state(of_role.change_id), team.state(by_key.change_id)) == ("failed", "failed")


def test_a_change_that_would_take_the_last_owner_fails(team: Team) -> None:
    """Two owners are lowered at once: the first is applied, the other one would lock everybody out."""
    team.call("leave_account", team.by_wallet())
    first = team.call("change_role", team.by("bob"), {"role": "viewer"}, person_id=team.people["ann"])
    second = team.call("change_role", team.by("ann"), {"role": "viewer"}, person_id=team.people["bob"])
    assert team.wait(25) == 1
    assert sorted([team.call("read_change", team.by("carol"), change_id=each.change_id).body["state"] for each in (first, second)]) == [
        "applied", "failed"
    ]
    roles = [each.role for each in person_store.members(team.world.services.store, team.account_id)]
    assert roles.count(Role.OWNER) == 1


def test_decided_changes_hide_no_open_one_from_the_limit(team: Team) -> None:
    store, ann = team.world.services.store, team.by("ann")
    decided = changes_store.change(store, team.account_id, team.ask(ann).change_id)
    assert decided is not None and team.decide("withdraw", ann, decided.change_id).status == 200
    decided = replace(decided, state=ChangeState.WITHDRAWN, decided_at=team.world.now, version=0)
    decoys = [replace(decided, change_id=ids.ulid_from(team.world.now, number.to_bytes(10))) for number in range(1000)]
    store.put_many(decoys)  # as many as one query might read, older than what is open
    for status in (*[202] * MAX_OPEN, 400):
        team.world.advance(2)
        assert team.ask(ann).status == status


def test_a_person_has_so_many_open_changes_and_no_more(team: Team) -> None:
    for _ in range(MAX_OPEN):
        assert team.ask(team.by("ann")).status == 202
    assert team.ask(team.by("ann")).status == 400
    assert team.ask(team.by("bob")).status == 202, "the others' room is their own"


def test_a_change_of_another_account_is_as_unknown_as_none(world: World, team: Team) -> None:
    other = Team(World(world.client, seed=7))
    asked = other.ask(other.by("ann"))
    for verb in ("read", "approve", "refuse", "withdraw"):
        assert team.decide(verb, team.by("bob"), asked.change_id).status == 404
    assert team.call("list_changes", team.by("bob")).body == {"changes": [], "nextCursor": None}


def test_they_are_listed_newest_first_by_pages(team: Team) -> None:
    asked = []
    for _ in range(3):
        team.world.advance(1)
        asked.append(team.ask(team.by("ann")).change_id)
    page = called(team.world, "list_changes", team.by("carol"), query={"limit": ["2"]}).body
    assert [each["id"] for each in page["changes"]] == asked[:0:-1]
    rest = called(team.world, "list_changes", team.by("carol"), query={"cursor": [page["nextCursor"]]}).body
    assert [each["id"] for each in rest["changes"]] == asked[:1] and rest["nextCursor"] is None


# --- what waits, and what does not ---


def test_each_change_of_where_money_goes_waits(team: Team) -> None:
    ann, wallet, other = team.by("ann"), team.by_wallet(), evm_wallet("other").address
    client, key, dan = {"id": team.client_record_id}, {"key_id": team.key_record.key_id}, {"person_id": team.people["dan"]}
    route = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}
    usdc = {"tokenAddress": FUSDT_SEPOLIA, "chainId": SEPOLIA}
    update = "update_client_id_by_session"
    asked = [
        (team.call(update, ann, {"feePercentage": "1", "feeAddress": other}, **client), "fee"),
        (team.call(update, ann, {"operatorWalletAddress": other}, **client), "operator"),
        (team.call(update, ann, {"allowedPayees": [other]}, **client), "payees"),
        (team.call(update, ann, {"allowedCurrencies": ["USDC-base"]}, **client), "currencies"),
        (team.call("create_client_id_by_session", ann, {"label": "x", "feePercentage": "1", "feeAddress": other}), "new"),
        (team.call("create_client_id", team.by_key(), {"label": "x", "allowedDomains": ["https://a.example"], "operatorWalletAddress": other}), "by key"),
        (team.call("create_api_key", ann, {"label": "x"}), "key"),
        (team.call("create_orchestrator", ann, PLATFORM), "platform"),
        (team.call("create_webhook", ann, {"url": "https://evil.example/"}), "webhook"),
        (team.call("create_webhook", team.by_key(), {"url": "https://evil.example/"}), "webhook by key"),
        (team.call("change_role", ann, {"role": "owner"}, **dan), "role"),
        (team.call("remove_member", ann, person_id=team.people["bob"]), "removal"),
        (team.call("invite", ann, {"role": "admin", "email": "evil@shop.example"}), "invitation"),
        (team.call("change_account", ann, {"approvals": False}), "setting"),
        (team.call("change_account", ann, {"approvalDelayHours": 1}), "delay"),
        (team.call("change_own_payee_destination", wallet, usdc), "destination"),
    ]  # fmt: skip
    assert {what: answer.status for answer, what in asked} == dict.fromkeys((what for _, what in asked), 202)
    for answer, what in asked:
        effects = answer.body["pendingChange"]["effects"]
        assert effects and all(each["before"] != each["after"] for each in effects), what
    assert (team.call("keep_own_payee_destination", wallet, route).status, key) == (201, key), "which is so already"
    assert team.account().has_approvals and team.account().approval_delay_hours == 24


def test_revoking_and_what_redirects_nothing_do_not_wait(team: Team) -> None:
    ann, client = team.by("ann"), {"id": team.client_record_id}
    update = "update_client_id_by_session"
    assert team.call(update, ann, {"label": "shop"}, **client).status == 200
    assert team.call(update, ann, {"status": "inactive"}, **client).status == 200
    assert team.call(update, ann, {"status": "active"}, **client).status == 202, "switching on is no revocation"
    assert team.call("update_api_key", ann, {"scopes": ["requests:read"]}, key_id=team.key_record.key_id).status == 200
    assert team.call("update_api_key", ann, {"scopes": None}, key_id=team.key_record.key_id).status == 202
    assert team.call("create_api_key", ann, {"label": "x", "scopes": ["requests:read"]}).status == 201
    assert team.call("invite", ann, {"role": "viewer", "email": "eve@shop.example"}).status == 201
    assert team.call("remove_member", ann, person_id=team.people["dan"]).status == 200, "who could not approve"
    assert team.call("end_sessions_of_member", ann, person_id=team.people["bob"]).status == 200
    assert team.call("change_account", ann, {"name": "Shop", "requireSecondFactor": False}).status == 200
    assert team.call("revoke_client_id_by_session", ann, **client).status == 200
    assert team.call("revoke_api_key", ann, key_id=team.key_record.key_id).status == 200
    active = team.call("read_own_payee_destination", team.by_wallet()).body["destinationId"]
    assert team.call("deactivate_own_payee_destination", team.by_wallet(), {"destinationId": active}).status == 200
    assert team.call("leave_account", ann).status == 200


def test_that_a_client_id_may_execute_or_is_used_from_further_domains_waits_and_less_does_not(team: Team) -> None:
    dan, client, update = team.by("dan"), {"id": team.client_record_id}, "update_client_id_by_session"
    one, two = "https://a.example", "https://b.example"

    def updated(**settings: Any) -> int:
        return team.call(update, dan, settings, **client).status

    assert updated(mayExecute=True) == 202
    assert updated(allowedDomains=[one, two]) == 200, "it was used from everywhere"
    assert updated(allowedDomains=[one, two], mayExecute=False) == 200
    assert (updated(allowedDomains=[one]), updated(allowedDomains=[one, two])) == (200, 202)
    assert updated(allowedDomains=["https://c.example"]) == 202
    new = {"label": "x", "allowedDomains": [one], "mayExecute": True}
    assert team.call("create_client_id_by_session", dan, new).status == 202
    assert team.call("create_client_id_by_session", dan, {**new, "mayExecute": False}).status == 201


def test_another_secret_of_a_webhook_waits_whether_it_is_on_or_off_and_of_one_that_is_public_it_does_not(team: Team) -> None:
    hook = {"webhook_id": team.call("create_webhook", {"x-client-id": team.client_id}, {"url": "https://a.example/"}).body["id"]}
    rotated = team.call("rotate_webhook_secret", team.by("ann"), {"overlapHours": 0}, **hook)
    assert rotated.status == 200, "whoever has the client id registered it and has the secret"
    confirming = team.call("toggle_webhook", team.by("ann"), {"confirmed": True}, **hook)
    assert team.decide("approve", team.by("bob"), confirming.change_id).status == 200
    on = team.call("rotate_webhook_secret", team.by("ann"), {"overlapHours": 0}, **hook)
    assert team.call("toggle_webhook", team.by("ann"), {"isActive": False}, **hook).status == 200
    off = team.call("rotate_webhook_secret", team.by("ann"), {"overlapHours": 0}, **hook)
    assert (on.status, off.status) == (202, 202)
    assert off.body["pendingChange"]["effects"][0]["after"]["secretNumber"] == 3


def test_secrets_are_shown_once_and_work_when_the_change_has_taken_effect(team: Team) -> None:
    asked = team.call("create_api_key", team.by("ann"), {"label": "x"})
    key = {"x-api-key": asked.body["result"]["key"]}
    assert team.call("list_client_ids", key).status == 401
    stored = applying.store.change(team.world.services.store, team.account_id, asked.change_id)
    assert stored is not None and stored.sealed is not None and key["x-api-key"] not in repr(stored)
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 200
    assert team.call("list_client_ids", key).status == 200
    ended = applying.store.change(team.world.services.store, team.account_id, asked.change_id)
    assert ended is not None and ended.sealed is None
    invited = team.call("invite", team.by("ann"), {"role": "admin", "email": "eve@shop.example"})
    secret = {"secret": invited.body["result"]["secret"]}
    assert team.call("look_up_invitation", {}, secret).status == 404
    assert team.decide("approve", team.by("bob"), invited.change_id).status == 200
    assert team.call("look_up_invitation", {}, secret).body["role"] == "admin"


def test_the_key_of_an_orchestrator_works_once_approved_and_is_revoked_without_waiting(team: Team) -> None:
    dan = team.by("dan")
    asked = team.call("create_orchestrator", dan, PLATFORM)
    key = {"x-orchestrator-key": asked.body["result"]["rawKey"]}
    (effect,) = asked.body["pendingChange"]["effects"]
    assert effect == {
        "resource": "orchestrator", "before": None, "after": {"name": "Plat", "contactEmail": "help@plat.example"}
    }
    assert team.call("list_client_links", key).status == 401
    assert team.decide("approve", team.by("bob"), asked.change_id).body["state"] == "applied"
    assert team.call("link_client_id", key, {"clientId": team.client_id}).status == 201
    (line,) = [each for each in audited(team) if each.action == "orchestrator.created"]
    for status in (200, 404):
        assert team.call("revoke_orchestrator", dan, orchestrator_id=line.target).status == status
        assert team.call("list_client_links", key).status == 401
    assert "orchestrator_key.revoked" in actions(team)
    freed = team.call("update_client_id_by_session", dan, {"orchestratorId": None}, id=team.client_record_id)
    assert freed.status == 200, "which nobody has to approve"


def test_a_request_that_is_repeated_with_its_idempotency_key_asks_once(team: Team) -> None:
    headers, body = {**team.by("ann"), "idempotency-key": "order-1"}, {"label": "x"}
    first = team.call("create_api_key", headers, body)
    assert (first.status, team.call("create_api_key", headers, body)) == (202, first)
    assert len(team.call("list_changes", team.by("bob")).body["changes"]) == 1


def test_a_destination_that_a_wallet_signs_for_a_client_id_waits_longer_than_its_nonce(team: Team) -> None:
    services = team.world.services
    client = services.store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(team.client_id)))
    assert client is not None
    route = parse_route(team.wallet.address, FUSDC_SEPOLIA, SEPOLIA, {})
    nonce = payees.issue_nonce(services, client, route, Action.ADD)
    signature = sign(team.wallet, signing_data(nonce, services.settings.brand))
    headers = {**team.by_key(), "x-client-id": team.client_id}
    asked = team.call("create_payee_destination", headers, {"nonce": nonce.nonce, "signature": signature})
    assert asked.status == 202, asked.body
    team.world.advance(HOUR)
    late = team.call("create_payee_destination", headers, {"nonce": nonce.nonce, "signature": signature})
    assert late.status == 400, "for anything else it has expired"
    for name in ("ann", "bob"):
        assert team.decide("approve", team.by(name), asked.change_id).status == 200
    read = team.call("read_client_id", team.by_key(), id=team.client_record_id).body
    assert read["payeeDestinationId"] is not None
    assert services.store.get(SigningNonce, nonce.key) is None


def test_switching_approvals_off_waits_itself_and_then_nothing_does(team: Team) -> None:
    asked = team.call("change_account", team.by("ann"), {"approvals": False})
    assert team.ask(team.by("ann")).status == 202
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 200
    assert (team.ask(team.by("ann"), feePercentage="2", feeAddress=team.wallet.address).status, team.fee()) == (200, "2")


def test_bad_input_is_refused_when_it_is_asked_for_and_nothing_waits(team: Team) -> None:
    assert team.ask(team.by("ann"), feePercentage="5").status == 400
    assert team.call("change_role", team.by("carol"), {"role": "owner"}, person_id=team.people["dan"]).status == 403
    assert team.call("create_api_key", team.by("ann"), {"label": ""}).status == 400
    assert team.call("list_changes", team.by("bob")).body["changes"] == []


def test_a_wallet_redirects_nothing_of_an_account_with_approvals_through_another_one(team: Team) -> None:
    services = team.world.services
    own = admin.create_account(services, "own")
    member_of(services, own, team.wallet.address, Role.OWNER)
    headers = {"authorization": f"Bearer {opened(services, own, team.wallet.address)[1]}"}
    body = {"tokenAddress": FUSDT_SEPOLIA, "chainId": SEPOLIA}
    refused = team.call("change_own_payee_destination", headers, body)
    assert (refused.status, refused.body["message"]) == (
        403, "This belongs to another account, which has approvals: switch to it first"
    )


def test_in_a_session_whatever_may_redirect_needs_a_proof_of_presence() -> None:
    known = [each for each in OPERATIONS if each.redirects and Mode.SESSION in each.modes]
    assert len(known) >= 10 and [each.name for each in known if not each.needs_presence] == []


# --- when approvals begin ---


def test_they_are_on_from_the_moment_at_which_a_second_person_may_approve_and_stay_on(world: World) -> None:
    team = Team(world, has_approvals=None)
    for name in ("bob", "carol"):
        team.call("leave_account", team.by(name))
    team.call("leave_account", team.by_wallet())
    ann, services = team.people["ann"], world.services
    assert team.call("change_account", team.by("ann"), {"approvals": False, "approvalDelayHours": 1}).status == 200
    assert team.ask(team.by("ann"), label="alone", feePercentage="1", feeAddress=team.wallet.address).status == 200
    actor = Actor(team.account_id, f"person:{ann}", "203.0.113.7", "-")
    eve = member_of(services, "elsewhere", "eve@shop.example").person_id
    _, secret = invitations.invite(services, actor, ann, "eve@shop.example", Role.ADMIN)
    invitations.accept(services, actor, eve, secret)
    assert (team.account().has_approvals, team.account().approval_delay_hours) == (True, 24)
    assert team.ask(team.by("ann")).status == 202
    members.leave(services, actor, eve)
    assert team.ask(team.by("ann")).status == 202, "one who leaves switches nothing off"


def test_a_member_who_gets_such_a_role_switches_them_on_too(world: World) -> None:
    team = Team(world, has_approvals=None)
    for name in ("bob", "carol"):
        team.call("leave_account", team.by(name))
    team.call("leave_account", team.by_wallet())
    assert team.call("change_role", team.by("ann"), {"role": "finance"}, person_id=team.people["dan"]).status == 200
    assert team.account().has_approvals is True


def test_an_event_says_what_was_asked_for_by_whom_and_when_it_takes_effect(team: Team) -> None:
    asked = team.ask(team.by("ann"))
    (event,) = [each for each, _ in team.world.services.store.scan([Event]) if isinstance(each, Event)]
    body: dict[str, Any] = json.loads(event.body)
    assert (event.kind, event.client_id, body["changeId"]) == ("account.change_requested", None, asked.change_id)
    assert body["takesEffectAt"] == asked.body["pendingChange"]["takesEffectAt"]
    stored = team.world.services.store.scan([PendingChange])
    assert [each.change_id for each, _ in stored if isinstance(each, PendingChange)] == [asked.change_id]


# --- where the service sends e-mail ---


@pytest.fixture
def mailing(world: World) -> Team:
    """Where the service sends e-mail. Ann and Bob have confirmed their addresses, and Eve, an admin, has not."""
    team = Team(World(world.client, mail_sender="pay@shop.example"))
    team.people["eve"] = member_of(team.world.services, team.account_id, "eve@shop.example", Role.ADMIN).person_id
    for name in ("ann", "bob"):
        team.confirm(name)
    return team


def test_somebody_whose_address_nobody_confirmed_counts_as_nobody(mailing: Team) -> None:
    """Else whoever has one session could invite an address of their own invention, and be a second person by it."""
    of_ann = mailing.ask(mailing.by("ann"))
    refused = mailing.decide("approve", mailing.by("eve"), of_ann.change_id)
    assert (refused.status, refused.body["message"].partition(":")[0]) == (403, "Your e-mail address is not confirmed")
    of_eve = mailing.ask(mailing.by("eve"))
    assert mailing.decide("approve", mailing.by("ann"), of_eve.change_id).body["state"] == "pending"
    assert mailing.fee() is None
    assert mailing.decide("approve", mailing.by("bob"), of_eve.change_id).body["state"] == "applied"
    mailing.confirm("eve")
    assert mailing.decide("approve", mailing.by("eve"), of_ann.change_id).body["state"] == "applied"


def test_where_only_one_person_is_verified_no_account_is_locked_without_a_delay(mailing: Team) -> None:
    mailing.set_account(approval_delay_hours=0)
    for name in ("bob", "wallet"):
        mailing.call("leave_account", mailing.by_wallet() if name == "wallet" else mailing.by(name))
    assert mailing.ask(mailing.by("ann")).status == 202
    assert (mailing.wait(167), mailing.fee()) == (0, None)
    assert (mailing.wait(2), mailing.fee()) == (1, "5")


def test_the_link_to_an_invited_address_is_in_its_mail_alone(mailing: Team) -> None:
    """Whoever asks could otherwise register as the person whom the other one approves."""
    invited = mailing.call("invite", mailing.by("ann"), {"role": "admin", "email": "cfo@shop.example"})
    shown = invited.body["result"]
    assert (invited.status, shown["secret"], shown["link"], shown["emailSent"]) == (202, None, None, True)
    mailing.world.drain()
    assert not mailing.world.ses.to("cfo@shop.example"), "it is sent when it is approved"
    assert mailing.decide("approve", mailing.by("bob"), invited.change_id).status == 200
    mailing.world.drain()
    [message] = mailing.world.ses.to("cfo@shop.example")
    sent = {"secret": message.text.partition("/invitation#")[2].split()[0]}
    assert mailing.call("look_up_invitation", {}, sent).body["role"] == "admin"
    at_once = mailing.call("invite", mailing.by("ann"), {"role": "viewer", "email": "guest@shop.example"})
    assert (at_once.status, at_once.body["secret"], at_once.body["link"]) == (201, None, None)
    wallet = mailing.call("invite", mailing.by("ann"), {"role": "viewer", "address": evm_wallet("guest").address})
    assert wallet.body["link"].endswith(f"/invitation#{wallet.body['secret']}"), "which has to sign in"
