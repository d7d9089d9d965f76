"""Two people share an account over HTTP: invited, signed in, allowed what the role says, and gone at once."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.accounts.members.rules import UNKNOWN_INVITATION
from tests.fakes.wallets import evm_wallet
from tests.support.client import Api, Reply
from tests.support.signed_in import Dashboard, by_email, by_wallet

_numbers = itertools.count()


def invited(owner: Dashboard, **body: Any) -> Reply:
    return owner.send("POST", "/v1/invitations", body)


def joined(api: Api, owner: Dashboard, role: str) -> Dashboard:
    """Somebody new, who registers by an invitation and signs in."""
    email = f"bob{next(_numbers)}@shop.example"
    made = invited(owner, role=role, email=email.upper())
    assert made.status == 201 and made.json["link"].endswith(f"/invitation#{made.json['secret']}")
    sent = {"secret": made.json["secret"], "password": "correct horse"}
    assert api.request("POST", "/v1/auth/invitations/register", sent).status == 201
    signed_in = api.request("POST", "/v1/auth/login", {"email": email, "password": "correct horse"})
    return Dashboard(api, signed_in.headers["set-cookie"].split(";")[0].partition("=")[2])


def test_who_follows_an_invitation_that_waits_for_approval_reads_that_it_may(api: Api) -> None:
    """From the second person on who may approve, invitations wait; their link is shown at once."""
    owner = by_email(api)
    joined(api, owner, "support")
    joined(api, owner, "admin")
    asked = invited(owner, role="finance", email="eve@shop.example")
    assert asked.status == 202 and asked.json["pendingChange"]["operation"] == "invite"
    sent = {"secret": asked.json["result"]["secret"], "password": "correct horse"}
    refused = api.request("POST", "/v1/auth/invitations/register", sent)
    assert (refused.status, refused.message) == (404, UNKNOWN_INVITATION)
    assert "or waits for approval" in refused.message


def test_two_people_share_an_account_until_one_is_removed(api: Api) -> None:
    owner = by_email(api)
    bob = joined(api, owner, "support")
    own, his = owner.get("/v1/auth/me").json, bob.get("/v1/auth/me").json
    assert (his["id"], his["role"]) == (own["id"], "support")
    assert [(each["role"], each["current"]) for each in bob.get("/v1/members").json] == [("owner", False), ("support", True)]
    refused = bob.send("POST", "/v1/api-keys", {"label": "mine"})
    message = "Your role in this account is support, which lacks the scope api_keys:write"
    assert (refused.status, refused.message) == (403, message)
    assert owner.send("PUT", f"/v1/members/{his['personId']}", {"role": "developer"}).json["role"] == "developer"
    assert bob.send("POST", "/v1/api-keys", {"label": "mine"}).status == 201
    lines = owner.get("/v1/audit").json["entries"]
    assert (lines[0]["action"], lines[0]["actor"]) == ("api_key.created", f"person:{his['personId']}")
    assert len(lines[0]["sessionId"]) == 26
    assert owner.send("DELETE", f"/v1/members/{his['personId']}").status == 200
    assert bob.get("/v1/auth/me").status == 401
    assert owner.send("DELETE", f"/v1/members/{own['personId']}").status == 409


def test_a_wallet_with_an_account_of_its_own_accepts_and_switches(api: Api) -> None:
    owner, wallet = by_email(api), evm_wallet("accepts")
    bob = by_wallet(api, wallet)
    made = invited(owner, role="finance", address=wallet.address.lower())
    assert (made.json["name"], made.json["type"]) == (wallet.address, "wallet")
    seen = api.request("POST", "/v1/auth/invitations/look-up", {"secret": made.json["secret"]}).json
    assert (seen["role"], seen["name"]) == ("finance", wallet.address)
    there = bob.send("POST", "/v1/auth/invitations/accept", {"secret": made.json["secret"]}).json["accountId"]
    assert there == owner.get("/v1/auth/me").json["id"] != bob.get("/v1/auth/me").json["id"]
    switched = bob.send("POST", "/v1/auth/switch", {"accountId": there})
    other = Dashboard(api, switched.headers["set-cookie"].split(";")[0].partition("=")[2])
    assert bob.get("/v1/auth/me").status == 401
    me = other.get("/v1/auth/me").json
    assert (me["id"], me["role"], len(me["accounts"])) == (there, "finance", 2)
    assert other.send("POST", "/v1/members/leave").status == 200 and other.get("/v1/auth/me").status == 401


def test_an_account_id_that_is_longer_than_a_key_may_be_is_one_of_another(api: Api) -> None:
    owner = by_email(api)
    refused = owner.send("POST", "/v1/auth/switch", {"accountId": "x"})
    for length in (1_500, 3_000):
        reply = owner.send("POST", "/v1/auth/switch", {"accountId": "x" * length})
        assert (reply.status, reply.message) == (refused.status, refused.message) == (404, "You are not a member of this account")


def test_the_secret_of_an_invitation_is_shown_once(api: Api) -> None:
    owner = by_email(api)
    secret = invited(owner, role="viewer", email="x@shop.example").json["secret"]
    listed = owner.get("/v1/invitations")
    assert secret.encode() not in listed.body and "secret" not in listed.json[0]
    assert owner.send("DELETE", f"/v1/invitations/{listed.json[0]['id']}").json["withdrawn"] is True
    assert api.request("POST", "/v1/auth/invitations/look-up", {"secret": secret}).status == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"role": "viewer"},
        {"role": "king", "email": "a@shop.example"},
        {"role": "viewer", "email": "a@shop.example", "address": evm_wallet().address},
        {"role": "viewer", "email": "nobody"},
        {"role": "viewer", "email": "a@shop.example\r\nBcc: b@shop.example"},
        {"role": "viewer", "email": f"{'a' * 320}@shop.example"},
        {"role": "viewer", "address": "0x12"},
        {"role": "viewer", "email": "a@shop.example", "chainId": 1},
        {"role": ["viewer"], "email": {"a": 1}},
    ],
)
def test_what_is_no_invitation_is_400_and_nothing_is_written(api: Api, body: dict[str, Any]) -> None:
    owner = by_email(api)
    assert invited(owner, **body).status == 400
    assert owner.get("/v1/invitations").json == []


@pytest.mark.parametrize(
    "use",
    [
        lambda bob, secret: bob.send("POST", "/v1/auth/invitations/accept", {"secret": secret}),
        lambda bob, secret: bob.api.request("POST", "/v1/auth/invitations/look-up", {"secret": secret}),
    ],
)
@pytest.mark.parametrize("secret", ["", "x", "." * 150, "01KJM9CZ00ACCT000000000000." * 2 + "a" * 43, "\0", 7, None])
def test_what_is_no_secret_is_a_client_error(api: Api, use: Callable[[Dashboard, Any], Reply], secret: Any) -> None:
    assert use(by_email(api), secret).status in (400, 404)
