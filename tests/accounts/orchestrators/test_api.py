"""Orchestrators over HTTP: a platform's key, the client ids linked to it, and the pair that creates links."""

from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import flows
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import OrchestratorKey
from tests.accounts.payees.test_api import add, new_wallet, remove
from tests.support.client import ORIGIN, Api, Reply, Shop, item
from tests.support.running import running
from tests.support.signed_in import by_email

PATH = "/v2/orchestrators"
LINKS = f"{PATH}/client-ids"


@dataclass
class Platform:
    api: Api
    key: str

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        return self.api.request(method, path, body, {"x-orchestrator-key": self.key})

    def link(self, client_id: str) -> Reply:
        return self.send("POST", LINKS, {"clientId": client_id})

    def create(self, shop: Shop, *items: dict[str, Any], **headers: str) -> Reply:
        pair = {"x-orchestrator-key": self.key, **shop.by_client, **headers}
        return self.api.request("POST", "/v2/secure-payments", {"requests": list(items)}, pair)


@pytest.fixture
def platform(new_shop: Shop) -> Platform:
    """A platform of the shop's own account."""
    actor = Actor(new_shop.account_id, "operator", "", "")
    return Platform(new_shop.api, flows.register(running(), actor, "Plat", "help@plat.example")[2])


def test_a_platform_registers_under_a_session_and_sees_its_key_once(api: Api) -> None:
    dashboard = by_email(api)
    body = {"orchestratorName": "Plat", "orchestratorContactEmail": "help@plat.example", "ignored": 1}
    reply = dashboard.send("POST", PATH, body)
    assert reply.status == 201 and set(reply.json) == {"orchestrator", "key", "rawKey"}
    orchestrator, key, text = (reply.json[name] for name in ("orchestrator", "key", "rawKey"))
    assert set(orchestrator) == {"id", "name", "supportEmail", "status", "createdAt", "updatedAt"}
    assert (orchestrator["name"], orchestrator["status"]) == ("Plat", "active")
    assert set(key) == {"id", "orchestratorId", "keyPrefix", "status", "createdAt"}
    assert (key["orchestratorId"], key["status"]) == (orchestrator["id"], "active")
    assert text.startswith(key["keyPrefix"]) and text not in api.log.getvalue()
    empty = Platform(api, text).send("GET", LINKS)
    assert (empty.status, empty.json) == (200, {"links": [], "total": 0, "page": 1, "limit": 50})
    own = dashboard.send("POST", "/v1/client-ids", {"label": "web", "allowedDomains": []}).json["clientId"]
    assert Platform(api, text).link(own).status == 201


def test_an_account_lists_its_own_platforms_newest_first_until_their_keys_are_revoked(api: Api) -> None:
    dashboard, stranger = by_email(api), by_email(api)
    assert dashboard.get(PATH).json == {"orchestrators": []}
    body = {"orchestratorContactEmail": "help@plat.example"}
    old, new = (dashboard.send("POST", PATH, {"orchestratorName": name, **body}).json for name in ("Old", "New"))
    stranger.send("POST", PATH, {"orchestratorName": "Other", **body})
    listed = [{name: each[name] for name in ("orchestrator", "key")} for each in (new, old)]
    reply = dashboard.get(PATH)
    assert reply.json == {"orchestrators": listed} and old["rawKey"] not in str(reply.json)
    assert dashboard.send("DELETE", f"{PATH}/{new['orchestrator']['id']}").status == 200
    assert dashboard.get(PATH).json == {"orchestrators": listed[1:]}


@pytest.mark.parametrize(
    "body",
    [
        {"orchestratorName": "Plat"},
        {"orchestratorName": "", "orchestratorContactEmail": "help@plat.example"},
        {"orchestratorName": "   ", "orchestratorContactEmail": "help@plat.example"},
        {"orchestratorName": "x" * 101, "orchestratorContactEmail": "help@plat.example"},
        {"orchestratorName": "Plat", "orchestratorContactEmail": "help"},
        {"orchestratorName": 1, "orchestratorContactEmail": "help@plat.example"},
    ],
)
def test_a_platform_needs_a_name_and_a_contact(api: Api, body: dict[str, Any]) -> None:
    assert by_email(api).send("POST", PATH, body).status == 400


def test_only_a_session_registers_and_only_the_key_links(api: Api, shop: Shop, platform: Platform) -> None:
    body = {"orchestratorName": "Plat", "orchestratorContactEmail": "help@plat.example"}
    for headers in ({}, shop.by_key, shop.by_client, {"x-orchestrator-key": platform.key}):
        assert api.request("POST", PATH, body, headers).status == (403 if headers else 401)
    session = {"authorization": f"Bearer {by_email(api).token}"}
    for headers in ({}, shop.by_key, shop.by_client, session, {"x-orchestrator-key": "orc_live_unknown"}):
        for method, path in (("GET", LINKS), ("POST", LINKS), ("DELETE", f"{LINKS}/{shop.client_id}")):
            sent = {"clientId": shop.client_id} if method == "POST" else None
            status = 403 if headers and "x-orchestrator-key" not in headers else 401
            assert api.request(method, path, sent, headers).status == status


def test_a_client_id_is_linked_listed_and_unlinked_once(new_shop: Shop, platform: Platform) -> None:
    client_id = new_shop.client_id
    linked = platform.link(client_id)
    assert linked.status == 201 and linked.json["alreadyLinked"] is False
    assert (linked.json["link"]["clientId"], linked.json["link"]["status"]) == (client_id, "active")
    again = platform.link(client_id)
    assert (again.status, again.json) == (201, {**linked.json, "alreadyLinked": True})
    listed = platform.send("GET", f"{LINKS}?page=1&limit=1").json
    assert listed == {"links": [linked.json["link"]], "total": 1, "page": 1, "limit": 1}
    ended = platform.send("DELETE", f"{LINKS}/{client_id}")
    assert (ended.status, ended.json["wasAlreadyRevoked"], ended.json["link"]["status"]) == (200, False, "revoked")
    assert ended.json["link"]["revokedAt"]
    assert platform.send("DELETE", f"{LINKS}/{client_id}").json == {**ended.json, "wasAlreadyRevoked": True}
    refused = platform.link(client_id)
    assert (refused.status, "linked once only" in refused.message) == (409, True)


def test_client_ids_of_others_and_of_nobody_are_equally_unknown(platform: Platform) -> None:
    stranger = Shop(platform.api)
    replies = [platform.link(client_id) for client_id in (stranger.client_id, "cli_unknown")]
    assert [reply.status for reply in replies] == [404, 404]
    assert replies[0].message == replies[1].message
    assert platform.send("DELETE", f"{LINKS}/{stranger.client_id}").status == 404
    assert stranger.create().status == 201


def test_an_owner_admits_a_platform_of_others_and_ends_its_link(api: Api, platform: Platform) -> None:
    owner, registrant = by_email(api), by_email(api)
    body = {"orchestratorName": "Plat", "orchestratorContactEmail": "help@plat.example"}
    made = registrant.send("POST", PATH, body).json
    other, orchestrator_id = Platform(api, made["rawKey"]), made["orchestrator"]["id"]
    client = owner.send("POST", "/v1/client-ids", {"label": "web", "allowedDomains": []}).json
    one = f"/v1/client-ids/{client['id']}"
    assert other.link(client["clientId"]).status == 404
    assert owner.send("PUT", one, {"orchestratorId": "nobody"}).status == 400
    admitted = owner.send("PUT", one, {"orchestratorId": orchestrator_id})
    assert (admitted.status, admitted.json["orchestratorId"]) == (200, orchestrator_id)
    assert platform.link(client["clientId"]).status == 404, "another platform is not admitted"
    assert other.link(client["clientId"]).status == 201
    withdrawn = owner.send("PUT", one, {"orchestratorId": None})
    assert (withdrawn.status, withdrawn.json["orchestratorId"]) == (200, None)
    (linkage,) = other.send("GET", LINKS).json["links"]
    assert linkage["status"] == "revoked"
    assert other.link(client["clientId"]).status == 404
    (line,) = (
        each
        for each in next(iter(registrant.get("/v1/audit").json.values()))
        if each["action"] == "orchestrator.unlinked"
    )
    assert line["actor"] == "another account" and "127.0.0.1" not in line.values()


def test_a_client_id_may_be_made_for_a_platform(new_shop: Shop, platform: Platform) -> None:
    orchestrator_id = by_key_of(platform).orchestrator_id
    owner = Shop(new_shop.api)
    body = {"label": "web", "allowedDomains": [ORIGIN], "orchestratorId": orchestrator_id}
    made = owner.api.request("POST", "/v2/client-ids", body, owner.by_key)
    assert (made.status, made.json["orchestratorId"]) == (201, orchestrator_id)
    assert platform.link(made.json["clientId"]).status == 201


def by_key_of(platform: Platform) -> OrchestratorKey:
    found = credentials.find(running(), platform.key)
    assert isinstance(found, OrchestratorKey)
    return found


@pytest.mark.parametrize("query", ["page=0", "page=x", "limit=0", "limit=101", "page=1&page=2", f"page={'9' * 5000}"])
def test_pages_have_bounds(platform: Platform, query: str) -> None:
    assert platform.send("GET", f"{LINKS}?{query}").status == 400


@pytest.mark.parametrize("body", [{}, {"clientId": ""}, {"clientId": "x" * 65}, {"clientId": 1}])
def test_a_link_needs_a_client_id(platform: Platform, body: dict[str, Any]) -> None:
    assert platform.send("POST", LINKS, body).status == 400


def test_the_pair_creates_for_a_linked_and_bound_client_id(new_shop: Shop, platform: Platform) -> None:
    bare = {"amount": "5"}
    unlinked = platform.create(new_shop, item())
    assert (unlinked.status, unlinked.message) == (403, "The client ID is not linked to this orchestrator")
    platform.link(new_shop.client_id)
    alone = new_shop.create()
    assert alone.status == 403 and "x-orchestrator-key" in alone.message
    beside = {**new_shop.by_key, "x-client-id": new_shop.client_id}
    assert platform.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, beside).status == 403
    unbound = platform.create(new_shop, item())
    assert unbound.status == 400 and "No active payee destination" in unbound.message
    wallet = new_wallet()
    made = add(new_shop, wallet)
    created = platform.create(new_shop, bare)
    assert created.status == 201
    assert new_shop.get(f"/v2/secure-payments/{created.json['token']}").json["payee"] == wallet.address
    assert platform.create(new_shop, item()).status == 403, "the destination has to be the bound one"
    assert platform.create(new_shop, bare, origin="https://evil.example").status == 403
    assert platform.create(new_shop, bare, **{"x-client-id": ""}).status == 401
    remove(new_shop, wallet, made["destinationId"])
    assert platform.create(new_shop, bare).status == 400
    platform.send("DELETE", f"{LINKS}/{new_shop.client_id}")
    assert platform.create(new_shop, bare).status == 403
    assert new_shop.create().status == 201


def test_the_key_without_a_client_id_creates_nothing(platform: Platform) -> None:
    reply = platform.send("POST", "/v2/secure-payments", {"requests": [item()]})
    assert (reply.status, reply.message) == (401, "x-client-id is required with x-orchestrator-key")


def test_the_orchestrators_key_goes_before_all_else_that_is_sent(new_shop: Shop, platform: Platform) -> None:
    """A wrong key is not made good by a right API key beside it."""
    headers = {"x-orchestrator-key": "orc_live_unknown", **new_shop.by_key, **new_shop.by_client}
    assert platform.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, headers).status == 401
    assert headers["origin"] == ORIGIN
