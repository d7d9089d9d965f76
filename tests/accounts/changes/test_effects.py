"""What an approver is shown of a change: what it does to each record, and nothing else when it takes effect."""

from dataclasses import fields
from typing import Any

import pytest

from chalicelib.accounts.payees import flows as payees
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.base.records import Record
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from infra.documents.data import record_classes
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA, sign
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World
from tests.support.teams import Answer, Team


@pytest.fixture
def team(world: World) -> Team:
    return Team(world)


def effects_of(asked: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked.body["pendingChange"]["effects"]
    return found


def test_an_approver_sees_the_wallet_token_and_chain_of_a_destination_that_only_its_nonce_names(team: Team) -> None:
    asked, thief = signed_destination(team), evm_wallet("thief").address
    destination, client = effects_of(asked)
    assert (destination["resource"], destination["before"]) == ("payee_destination", None)
    assert destination["after"] == {
        "walletAddress": thief, "chainId": SEPOLIA, "tokenAddress": FUSDC_SEPOLIA, "isActive": True,
        "clientId": team.client_id,
    }  # fmt: skip
    assert client["before"] == {"clientId": team.client_id, "payeeDestinationId": None}
    assert client["after"]["payeeDestinationId"].startswith(thief)
    for name in ("ann", "bob"):
        answer = team.decide("approve", team.by(name), asked.change_id)
        assert (answer.status, answer.body["effects"]) == (200, effects_of(asked))
    assert answer.body["state"] == "applied"


def signed_destination(team: Team) -> Answer:
    """A wallet of nobody's signs for the client id of the account, whose key sends it."""
    services, thief = team.world.services, evm_wallet("thief")
    client = services.store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(team.client_id)))
    assert client is not None
    nonce = payees.issue_nonce(services, client, parse_route(thief.address, FUSDC_SEPOLIA, SEPOLIA, {}), Action.ADD)
    body = {"nonce": nonce.nonce, "signature": sign(thief, signing_data(nonce, services.settings.brand))}
    return team.call("create_payee_destination", {**team.by_key(), "x-client-id": team.client_id}, body)


def test_an_approver_sees_the_route_before_and_after_and_the_client_id_of_a_webhook(team: Team) -> None:
    route = {"tokenAddress": FUSDT_SEPOLIA, "chainId": SEPOLIA}
    (moved,) = effects_of(team.call("change_own_payee_destination", team.by_wallet(), route))
    assert (moved["before"]["tokenAddress"], moved["after"]["tokenAddress"]) == (FUSDC_SEPOLIA, FUSDT_SEPOLIA)
    assert moved["before"]["walletAddress"] == moved["after"]["walletAddress"] == team.wallet.address
    by_key = {**team.by_key(), "x-client-id": team.client_id}
    (hook,) = effects_of(team.call("create_webhook", by_key, {"url": "https://evil.example/"}))
    assert (hook["after"]["url"], hook["after"]["clientId"]) == ("https://evil.example/", team.client_id)
    (removal,) = effects_of(team.call("remove_member", team.by("ann"), person_id=team.people["bob"]))
    assert removal == {"resource": "member", "before": {"personId": team.people["bob"], "role": "owner"}, "after": None}
    (key,) = effects_of(team.call("create_api_key", team.by("ann"), {"label": "x"}))
    assert key["after"]["scopes"] is None and "keyId" not in key["after"], "no limit, and an id that it gets later"


def test_a_change_that_would_do_something_else_than_was_shown_fails(team: Team) -> None:
    first = team.ask(team.by("ann"))
    second = team.ask(team.by("ann"), feePercentage="2", feeAddress=team.wallet.address)
    other = team.ask(team.by("ann"), operatorWalletAddress=team.wallet.address)
    assert team.decide("approve", team.by("bob"), second.change_id).status == 200
    refused = team.decide("approve", team.by("bob"), first.change_id)
    assert (refused.status, team.state(first.change_id), team.fee()) == (409, "failed", "2")
    assert refused.body["message"].endswith("what it would do now is not what it was asked for and shown")
    assert team.decide("approve", team.by("bob"), other.change_id).body["state"] == "applied", "of other fields"


def test_an_approver_sees_all_that_a_key_a_client_id_or_a_webhook_may_do_that_is_switched_on_again(team: Team) -> None:
    key, client = {"key_id": team.key_record.key_id}, {"id": team.client_record_id}
    hook = team.call("create_webhook", {"x-client-id": team.client_id}, {"url": "https://hook.example/"}).body
    for body in ({"isActive": False}, {"scopes": ["requests:write"]}):  # off, nothing of a key waits
        assert team.call("update_api_key", team.by("ann"), body, **key).status == 200
    assert team.call("update_client_id_by_session", team.by("ann"), {"status": "inactive"}, **client).status == 200
    (of_key,) = effects_of(team.call("update_api_key", team.by("ann"), {"isActive": True}, **key))
    assert (of_key["before"]["status"], of_key["after"]["status"]) == ("inactive", "active")
    assert of_key["after"] == {
        "keyId": team.key_record.key_id, "label": "server", "status": "active", "scopes": ["requests:write"],
        "allowedIps": None, "expiresAt": None,
    }  # fmt: skip
    (of_client,) = effects_of(team.call("update_client_id_by_session", team.by("ann"), {"status": "active"}, **client))
    assert {"feePercentage", "feeAddress", "operatorWalletAddress", "allowedDomains"} <= of_client["after"].keys()
    confirmed = team.call("toggle_webhook", team.by("ann"), {"confirmed": True}, webhook_id=hook["id"])
    (of_hook,) = effects_of(confirmed)
    assert of_hook["after"] == {
        "url": "https://hook.example/", "clientId": team.client_id, "events": ["*"], "isActive": True,
        "isConfirmed": True, "secretNumber": 1, "httpSignature": False, "roleArn": None,
    }  # fmt: skip


def test_an_approver_sees_no_delay_as_it_is_asked_for_and_not_as_one_of_no_hours(team: Team) -> None:
    (rule,) = effects_of(team.call("change_account", team.by("ann"), {"approvalDelayHours": None}))
    assert (rule["before"], rule["after"]) == ({"approvalDelayHours": 24}, {"approvalDelayHours": None})


def test_what_is_changed_while_switching_it_on_waits_is_not_switched_on(team: Team) -> None:
    key = {"key_id": team.key_record.key_id}
    team.call("update_api_key", team.by("ann"), {"isActive": False, "scopes": ["requests:write"]}, **key)
    asked = team.call("update_api_key", team.by("ann"), {"isActive": True}, **key)
    assert team.call("update_api_key", team.by("ann"), {"scopes": None}, **key).status == 200
    assert team.decide("approve", team.by("bob"), asked.change_id).status == 409
    assert team.state(asked.change_id) == "failed"


def test_every_kind_that_redirects_says_what_an_approver_is_shown_of_it() -> None:
    kinds = [each for each in record_classes() if each.redirects is not Record.redirects]
    assert len(kinds) >= 7
    for kind in kinds:
        assert kind.RESOURCE and kind.SHOWN and {*kind.SHOWN, *kind.NAMED_BY} <= {each.name for each in fields(kind)}
        assert {*kind.SWITCHED_BY} <= {*kind.SHOWN}
        assert kind.SWITCHED_BY or not {"status", "is_confirmed"} & {*kind.SHOWN}
