"""Webhooks over HTTP: registering, listing, switching, deleting, testing, and who may see which."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.webhooks import kinds
from chalicelib.webhooks.circuits.rules import LONG
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS
from tests.fakes.world import PREFIX
from tests.support.api import Configured
from tests.support.client import Api, Reply, Shop, stored
from tests.support.failing_webhooks import store_failing
from tests.support.opened import by_session
from tests.support.running import running

URL = "https://93.184.215.14/hook"
OTHER_URL = "https://93.184.215.14/other"
TAKEN = "Webhook already exists, or a platform-level webhook with this URL already exists"
NOT_PUBLIC = "url must lead to a public address; private, local and reserved ones are not accepted"
QUEUED = {
    "sent": 1,
    "failed": 0,
    "queued": 1,
    "message": "Queued; GET /v1/webhook/{webhook_id}/deliveries shows what the receivers answered",
}
PUBLISHED = [
    "payment.processing",
    "payment.failed",
    "payment.refunded",
    "payment.confirmed",
    "payment.partial",
    "request.recurring",
    "payment_detail.updated",
    "compliance.updated",
    "payment.confirmed.client_id",
    "payment.confirmed.checkout",
    "payment.partial.client_id",
    "payment.partial.checkout",
    "payment.unexpected",
    "webhook.failing",
]
"""The kinds that receivers may rely on, in the order in which they are listed; there may be more."""
KINDS = list(kinds.KINDS)


def register(shop: Shop, url: str = URL, **headers: str) -> Reply:
    credentials = {name.replace("_", "-"): value for name, value in headers.items()} or shop.by_client
    return shop.api.request("POST", "/v1/webhook", {"url": url}, credentials)


def registered(shop: Shop, url: str = URL) -> dict[str, Any]:
    reply = register(shop, url)
    assert reply.status == 201, reply.json
    return reply.json


def listed(shop: Shop, credentials: dict[str, str] | None = None) -> list[dict[str, Any]]:
    reply = shop.api.get("/v1/webhook", credentials or shop.by_client)
    assert reply.status == 200
    return reply.json


def queued() -> list[dict[str, Any]]:
    """The bodies of the messages about deliveries; they are taken off the queues."""
    queue = running().queue.client
    taken = []
    for name in ("webhooks", "webhook-retries"):
        url = queue.get_queue_url(QueueName=f"{PREFIX}-{name}")["QueueUrl"]
        while messages := queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                taken.append(json.loads(message["Body"]))
                queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return taken


# --- registering ---


def test_registering_shows_the_secret_once_and_never_again(new_shop: Shop) -> None:
    body = registered(new_shop)
    assert set(body) == {"id", "secret", "standardSecret"}
    assert re.fullmatch(r"[0-9a-f]{64}", body["secret"])
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", body["id"])
    (webhook,) = listed(new_shop)
    assert set(webhook) == {"id", "url", "isActive", "events", "clientId", "createdWith", "confirmed", "httpSignature", "createdAt", "failingSince"}
    assert (webhook["id"], webhook["url"], webhook["isActive"], webhook.pop("failingSince")) == (body["id"], URL, True, None)
    assert (webhook["events"], webhook["clientId"], webhook["createdWith"]) == (["*"], new_shop.client_id, "clientId")
    toggled = new_shop.send("PUT", f"/v1/webhook/{body['id']}")
    assert toggled.json == {**webhook, "isActive": False}


def test_the_secret_is_stored_encrypted_and_never_logged(new_shop: Shop) -> None:
    secret = registered(new_shop)["secret"]
    items = running().store.client.scan(TableName=f"{PREFIX}-webhooks")["Items"]
    assert secret not in str(items)
    new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"})
    assert new_shop.api.log.getvalue() and secret not in new_shop.api.log.getvalue()


def test_every_webhook_has_a_secret_of_its_own(new_shop: Shop) -> None:
    assert registered(new_shop, URL)["secret"] != registered(new_shop, OTHER_URL)["secret"]


def test_a_url_has_one_webhook(new_shop: Shop) -> None:
    registered(new_shop)
    before = stored()
    reply = register(new_shop)
    assert (reply.status, reply.message) == (400, TAKEN)
    assert stored() == before


def test_a_url_of_the_platform_level_is_taken_for_its_client_ids(new_shop: Shop) -> None:
    """But not where a client id is sent alone: a stranger who tries URLs is told nothing of the account's webhooks."""
    assert register(new_shop, x_api_key=new_shop.key).status == 201
    reply = register(new_shop, x_api_key=new_shop.key, x_client_id=new_shop.client_id)
    assert (reply.status, reply.message) == (400, TAKEN)
    assert listed(new_shop) == []
    assert register(new_shop).status == 201


def test_a_deleted_url_is_free_again(new_shop: Shop) -> None:
    first = registered(new_shop)
    assert new_shop.send("DELETE", f"/v1/webhook/{first['id']}").status == 200
    assert registered(new_shop)["id"] != first["id"]


def test_accounts_do_not_take_each_others_urls(new_shop: Shop) -> None:
    registered(new_shop)
    registered(Shop(new_shop.api))


def test_the_number_of_webhooks_has_a_limit(new_shop: Shop) -> None:
    for number in range(MAX_ENDPOINTS):
        registered(new_shop, f"{URL}/{number}")
    reply = register(new_shop, f"{URL}/last")
    assert reply.status == 400
    assert f"No more than {MAX_ENDPOINTS} webhooks" in reply.message


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "127.0.0.1",
        "127.1.2.3",
        "localhost",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[::ffff:10.0.0.1]",
        "[::ffff:169.254.169.254]",
        "224.0.0.1",
        "255.255.255.255",
    ],
)
def test_an_address_that_is_not_public_is_refused(shop: Shop, host: str) -> None:
    before = stored()
    reply = register(shop, f"https://{host}/hook")
    assert (reply.status, reply.message) == (400, NOT_PUBLIC)
    assert stored() == before


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("", "at least 1 character"),
        ("http://93.184.215.14/hook", "https://"),
        ("ftp://93.184.215.14/hook", "https://"),
        ("93.184.215.14/hook", "https://"),
        ("https://", "valid host name"),
        ("https:///hook", "valid host name"),
        ("https://user:password@93.184.215.14/", "user name"),
        ("https://93.184.215.14/#x", "fragment"),
        ("https://93.184.215.14:22/", "port"),
        ("https://93.184.215.14:99999/", "port"),
        ("https://93.184.215.14:x/", "port"),
        ("https://shöp.example/", "xn--"),
        ("https://93.184.215.14/a b", "spaces"),
        ("https://93.184.215.14/\r\nx-evil: 1", "spaces"),
        ("https://93.184.215.14/\x00", "U+0000"),
        ("https://93.184.215.14/\x01", "plain ASCII"),
        ("https://93.184.215.14/" + "x" * 2048, "at most 2048"),
    ],
    ids=lambda text: repr(text[:40]),
)
def test_a_url_that_cannot_be_called_is_refused_with_what_to_change(shop: Shop, url: str, hint: str) -> None:
    reply = register(shop, url)
    assert reply.status == 400
    assert "url" in reply.message and hint in reply.message


@pytest.mark.parametrize("body", [{}, {"url": None}, {"url": 5}, {"url": [URL]}, {"URL": URL}], ids=str)
def test_a_body_without_a_url_names_it(shop: Shop, body: dict[str, Any]) -> None:
    reply = shop.send("POST", "/v1/webhook", body)
    assert reply.status == 400
    assert reply.message.startswith("url ")


def test_loopback_is_accepted_where_the_setting_allows_it_and_nothing_else_private_is(
    new_shop: Shop, configured: Configured
) -> None:
    with configured(WEBHOOK_ALLOW_LOOPBACK="true"):
        for url in ("http://127.0.0.1:9999/hook", "http://localhost:9999/hook"):
            assert registered(new_shop, url)["id"]
        for url in ("https://10.0.0.1/hook", "https://169.254.169.254/latest/meta-data"):
            assert register(new_shop, url).message == NOT_PUBLIC
    assert register(new_shop, "http://127.0.0.1:9998/hook").status == 400


# --- listing, switching, deleting ---


def test_a_listed_webhook_says_since_when_it_fails_unless_it_is_off(new_shop: Shop) -> None:
    bodies = [{"url": f"{URL}/{each}"} for each in range(3)]
    ids = [new_shop.api.request("POST", "/v1/webhook", body, new_shop.by_key).json["id"] for body in bodies]
    since = running().clock() - LONG
    for webhook_id, began in zip(ids, (since, since + timedelta(minutes=1)), strict=False):
        store_failing(webhook_id, new_shop.account_id, began)
    assert [each["failingSince"] for each in listed(new_shop, new_shop.by_key)] == [iso(since), None, None]
    new_shop.api.request("PUT", f"/v1/webhook/{ids[0]}", {"isActive": False}, new_shop.by_key)
    assert [each["failingSince"] for each in listed(new_shop, new_shop.by_key)] == [None] * 3


def test_webhooks_are_listed_in_the_order_of_their_creation(new_shop: Shop) -> None:
    assert listed(new_shop) == []
    ids = [registered(new_shop, f"{URL}/{number}")["id"] for number in range(3)]
    assert [webhook["id"] for webhook in listed(new_shop)] == ids


def test_toggling_switches_off_and_on(new_shop: Shop) -> None:
    id = registered(new_shop)["id"]
    assert new_shop.send("PUT", f"/v1/webhook/{id}").json["isActive"] is False
    assert listed(new_shop)[0]["isActive"] is False
    assert new_shop.send("PUT", f"/v1/webhook/{id}").json["isActive"] is True


def test_a_put_that_names_nothing_toggles_and_one_that_names_a_state_sets_it(new_shop: Shop) -> None:
    path = f"/v1/webhook/{registered(new_shop)['id']}"
    states = [({"isActive": True}, True), ({}, False), ({"isActive": False}, False), ({}, True), (None, False)]
    for body, expected in states:
        assert new_shop.send("PUT", path, body).json["isActive"] is expected, body
    headers = {**new_shop.by_client, "content-type": "application/json"}
    for refused in (b"{not json", b"[]", b'{"isActive": "yes"}', b'{"isActive": null}', b'{"isActive": 1}'):
        assert new_shop.api.request("PUT", path, refused, headers).status == 400
    assert listed(new_shop)[0]["isActive"] is False
    assert new_shop.send("PUT", path, {"events": ["payment.*"]}).json["isActive"] is False
    actions = [entry["action"] for entry in new_shop.api.get("/v1/audit", new_shop.by_key).json["entries"]]
    assert actions[:5] == [
        *("webhook.events_chosen", "webhook.switched_off", "webhook.switched_on", "webhook.switched_off"),
        "webhook.created",
    ]


@pytest.mark.parametrize(
    ("body", "named"),
    [({"active": False}, "active"), ({"isactive": True, "Events": ["*"]}, "Events"), ({"x" * 300: None}, "x" * 100)],
    ids=["active", "others", "long"],
)
def test_a_put_with_unknown_fields_alone_is_400_naming_one_and_switches_nothing(
    new_shop: Shop, body: dict[str, Any], named: str
) -> None:
    path, before = f"/v1/webhook/{registered(new_shop)['id']}", stored()
    reply = new_shop.send("PUT", path, body)
    assert (reply.status, reply.json["errors"][0]["field"]) == (400, named)
    assert reply.message.startswith(f"{named} is not known here: send isActive, events, confirmed or httpSignature, or no field")
    assert stored() == before
    assert new_shop.send("PUT", path, {**body, "isActive": True}).json["isActive"] is True


# --- choosing events ---


def test_events_are_chosen_at_the_registration_and_by_put(new_shop: Shop) -> None:
    body = {"url": URL, "events": ["payment.confirmed", "payment.refunded", "payment.confirmed"]}
    id = new_shop.send("POST", "/v1/webhook", body).json["id"]
    assert listed(new_shop)[0]["events"] == ["payment.confirmed", "payment.refunded"]
    path = f"/v1/webhook/{id}"
    for chosen, kept in (
        (["payment.*"], ["payment.*"]),
        (["payment.confirmed.*", "compliance.updated"], ["payment.confirmed.*", "compliance.updated"]),
        (KINDS, KINDS),
        (["*"], ["*"]),
        (["payment_detail.*"], ["payment_detail.*"]),
        (None, ["*"]),
    ):
        reply = new_shop.send("PUT", path, {"events": chosen})
        assert (reply.status, reply.json["events"], reply.json["isActive"]) == (200, kept, True)
        assert listed(new_shop)[0]["events"] == kept


@pytest.mark.parametrize("text", ["payment", "payment.", "payment*", "pay*", "payment.confirmed*", "x.*", ".*", "", "**", "日本"])
def test_what_names_no_event_is_refused_with_the_kinds_that_there_are(new_shop: Shop, text: str) -> None:
    id, before = registered(new_shop)["id"], stored()
    chosen = {"events": ["payment.confirmed", text]}
    for reply in (
        new_shop.send("POST", "/v1/webhook", {"url": OTHER_URL, **chosen}),
        new_shop.send("PUT", f"/v1/webhook/{id}", chosen),
    ):
        assert reply.status == 400
        assert reply.message.startswith(f"events: {text!r} is neither a kind of event nor a prefix; give *, payment.*, ")
        assert all(f", {kind}" in reply.message for kind in KINDS)
    assert stored() == before and listed(new_shop)[0]["events"] == ["*"]


@pytest.mark.parametrize("events", [[], "payment.*", [5], [None], ["*"] * 51, ["x" * 200_000]], ids=lambda each: str(each)[:20])
def test_events_are_one_to_fifty_texts(new_shop: Shop, events: Any) -> None:
    reply = new_shop.send("POST", "/v1/webhook", {"url": URL, "events": events})
    assert reply.status == 400 and reply.message.startswith("events")
    assert listed(new_shop) == []


def test_a_test_goes_to_a_webhook_that_did_not_choose_its_kind(new_shop: Shop) -> None:
    """The caller asks for that kind; the specification sends tests to all active webhooks."""
    new_shop.send("POST", "/v1/webhook", {"url": URL, "events": ["payment.refunded"]})
    assert new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"}).json["queued"] == 1


def test_deleting_is_for_good(new_shop: Shop) -> None:
    id = registered(new_shop)["id"]
    reply = new_shop.send("DELETE", f"/v1/webhook/{id}")
    assert (reply.status, reply.json) == (200, {"id": id, "deleted": True})
    assert listed(new_shop) == []
    for method in ("PUT", "DELETE"):
        assert new_shop.send(method, f"/v1/webhook/{id}").status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("id", ["01M7VQFVRZV5BJJSN4QTFB4MP3", "x" * 5000, "%F0%9F%92%B8", "%FF", "a%2Fb", "%"])
def test_an_unknown_webhook_is_404(shop: Shop, method: str, id: str) -> None:
    reply = shop.send(method, f"/v1/webhook/{id}")
    assert (reply.status, reply.message) == (404, "Webhook not found")


# --- isolation ---


def test_a_client_id_and_its_account_see_their_own_webhooks_alone(new_shop: Shop) -> None:
    platform = register(new_shop, OTHER_URL, x_api_key=new_shop.key).json["id"]
    own = registered(new_shop)["id"]
    assert [webhook["id"] for webhook in listed(new_shop)] == [own]
    assert [webhook["id"] for webhook in listed(new_shop, new_shop.by_key)] == [platform]
    both = {**new_shop.by_key, "x-client-id": new_shop.client_id}
    assert [webhook["id"] for webhook in listed(new_shop, both)] == [own]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_nobody_touches_the_webhook_of_another(new_shop: Shop, shop: Shop, method: str) -> None:
    id = registered(new_shop)["id"]
    path = f"/v1/webhook/{id}"
    assert shop.send(method, path).status == 404
    assert new_shop.api.request(method, path, None, new_shop.by_key).status == 404
    assert listed(new_shop)[0]["isActive"] is True


def test_a_test_reaches_the_callers_own_webhooks_alone(new_shop: Shop) -> None:
    registered(Shop(new_shop.api))
    reply = new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"})
    assert (reply.status, reply.message) == (404, "No active webhooks found")


# --- under a session ---


def as_session(shop: Shop, session: dict[str, str], method: str, rest: str = "", body: Any = None) -> Reply:
    return shop.api.request(method, f"/v1/webhook{rest}", body, session)


def test_a_session_means_the_account_as_a_whole_or_the_client_id_it_names(new_shop: Shop) -> None:
    session, named = by_session(new_shop.account_id), f"?clientId={new_shop.client_id}"
    platform = as_session(new_shop, session, "POST", body={"url": OTHER_URL}).json["id"]
    own = as_session(new_shop, session, "POST", body={"url": URL, "clientId": new_shop.client_id}).json["id"]
    both = {**new_shop.by_key, "x-client-id": new_shop.client_id}
    assert [(webhook["id"], webhook["createdWith"]) for webhook in listed(new_shop, both)] == [(own, "session")]
    assert [webhook["id"] for webhook in listed(new_shop, new_shop.by_key)] == [platform]
    assert [webhook["id"] for webhook in as_session(new_shop, session, "GET", named).json] == [own]
    assert as_session(new_shop, session, "PUT", f"/{own}{named}").json["isActive"] is False
    assert as_session(new_shop, session, "DELETE", f"/{platform}{named}").status == 404
    assert as_session(new_shop, session, "DELETE", f"/{own}{named}").json == {"id": own, "deleted": True}
    assert as_session(new_shop, session, "DELETE", f"/{platform}").status == 200


def test_a_session_finds_the_webhooks_of_its_client_ids_without_naming_them(new_shop: Shop) -> None:
    session = by_session(new_shop.account_id)
    other = new_shop.api.request("POST", "/v1/client-ids", {"label": "second"}, session).json["clientId"]
    bodies = [
        {"url": URL, "clientId": new_shop.client_id},
        {"url": OTHER_URL},
        {"url": URL, "clientId": other},
        {"url": f"{URL}/later", "clientId": new_shop.client_id},
    ]
    ids = [as_session(new_shop, session, "POST", body=body).json["id"] for body in bodies]
    found = as_session(new_shop, session, "GET").json
    assert [webhook["id"] for webhook in found] == ids
    assert [webhook["clientId"] for webhook in found] == [body.get("clientId") for body in bodies]
    for id, webhook in zip(ids, found, strict=True):
        changed = as_session(new_shop, session, "PUT", f"/{id}", {"isActive": False, "events": ["payment.*"]}).json
        webhook.pop("failingSince")
        assert changed == {**webhook, "isActive": False, "events": ["payment.*"]}
        assert as_session(new_shop, session, "GET", f"/{id}/deliveries").json == {"deliveries": [], "nextCursor": None}
        assert as_session(new_shop, session, "DELETE", f"/{id}").json == {"id": id, "deleted": True}
        assert as_session(new_shop, session, "DELETE", f"/{id}").status == 404
    assert as_session(new_shop, session, "GET").json == []
    assert registered(new_shop)["id"] not in ids, "its URL is free again"


def test_a_session_finds_no_webhook_of_another_account(new_shop: Shop) -> None:
    stranger = Shop(new_shop.api)
    session, id = by_session(new_shop.account_id), registered(stranger)["id"]
    assert as_session(new_shop, session, "GET").json == []
    for method, rest in (("PUT", ""), ("DELETE", ""), ("GET", "/deliveries")):
        reply = as_session(new_shop, session, method, f"/{id}{rest}")
        assert (reply.status, reply.message) == (404, "Webhook not found")


def test_a_session_tests_the_webhooks_it_means(new_shop: Shop) -> None:
    session, kind = by_session(new_shop.account_id), {"eventType": "payment.confirmed"}
    as_session(new_shop, session, "POST", body={"url": URL, "clientId": new_shop.client_id})
    assert as_session(new_shop, session, "POST", "/test", kind).status == 404
    named = {**kind, "clientId": new_shop.client_id}
    assert as_session(new_shop, session, "POST", "/test", named).json == QUEUED


@pytest.mark.parametrize("status", ["inactive", "revoked"])
def test_the_webhooks_of_a_client_id_that_is_shut_are_still_managed_under_a_session(
    new_shop: Shop, status: str
) -> None:
    session, id = by_session(new_shop.account_id), registered(new_shop)["id"]
    (client,) = [each["id"] for each in new_shop.api.get("/v1/client-ids", session).json]
    new_shop.api.request("PUT", f"/v1/client-ids/{client}", {"status": status}, session)
    assert as_session(new_shop, session, "DELETE", f"/{id}?clientId={new_shop.client_id}").status == 200


def test_a_client_id_that_is_not_the_sessions_own_is_404_and_writes_nothing(new_shop: Shop) -> None:
    stranger = Shop(new_shop.api)
    session, id = by_session(new_shop.account_id), registered(stranger)["id"]
    (client,) = [each["id"] for each in new_shop.api.get("/v1/client-ids", session).json]
    before = stored()
    for named in (stranger.client_id, "cli_unknown", "", client):
        replies = [
            as_session(new_shop, session, "POST", body={"url": URL, "clientId": named}),
            as_session(new_shop, session, "POST", "/test", {"eventType": "payment.confirmed", "clientId": named}),
            as_session(new_shop, session, "GET", f"?clientId={named}"),
            as_session(new_shop, session, "PUT", f"/{id}?clientId={named}"),
            as_session(new_shop, session, "DELETE", f"/{id}?clientId={named}"),
        ]
        assert {(reply.status, reply.message) for reply in replies} == {(404, "Client ID not found")}
    assert stored() == before
    assert listed(stranger)[0]["isActive"] is True


def test_credentials_say_whose_webhooks_are_meant_whatever_the_request_names(new_shop: Shop) -> None:
    stranger = Shop(new_shop.api)
    body = {"url": URL, "clientId": stranger.client_id}
    for headers in (new_shop.by_client, new_shop.by_key):
        own = new_shop.api.request("POST", "/v1/webhook", {**body, "url": f"{URL}/{len(headers)}"}, headers).json["id"]
        path = f"/v1/webhook?clientId={stranger.client_id}"
        assert [webhook["id"] for webhook in new_shop.api.get(path, headers).json] == [own]
    assert listed(stranger) == []


@pytest.mark.parametrize("clientId", [5, ["x"], {}], ids=str)
def test_a_client_id_of_another_type_is_400(new_shop: Shop, clientId: Any) -> None:
    session = by_session(new_shop.account_id)
    assert as_session(new_shop, session, "POST", body={"url": URL, "clientId": clientId}).status == 400


def test_the_orchestrator_pair_manages_no_webhooks(new_shop: Shop) -> None:
    """The key is not looked at: what counts is the client id beside it, from its own origin."""
    headers = {"x-orchestrator-key": "orc_live_unknown"}
    assert new_shop.api.get("/v1/webhook", headers).status == 401
    assert new_shop.api.get("/v1/webhook", {**headers, "x-client-id": new_shop.client_id}).status == 401


# --- testing ---


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_can_be_tested(new_shop: Shop, kind: str) -> None:
    registered(new_shop)
    queued()
    reply = new_shop.send("POST", "/v1/webhook/test", {"eventType": kind})
    assert (reply.status, reply.json) == (201, QUEUED)
    (message,) = queued()
    assert message["attempt"] == 0


def test_a_test_goes_to_every_active_webhook(new_shop: Shop) -> None:
    first = registered(new_shop)["id"]
    registered(new_shop, OTHER_URL)
    ask = ("POST", "/v1/webhook/test", {"eventType": "payment.partial"})
    assert new_shop.send(*ask).json == {**QUEUED, "sent": 2, "queued": 2}
    new_shop.send("PUT", f"/v1/webhook/{first}")
    assert new_shop.send(*ask).json == QUEUED


def test_a_test_goes_to_one_webhook_alone_if_that_is_named(new_shop: Shop) -> None:
    first, second = registered(new_shop)["id"], registered(new_shop, OTHER_URL)["id"]
    ask = ("POST", "/v1/webhook/test", {"eventType": "payment.partial", "webhookId": second})
    assert new_shop.send(*ask).json == QUEUED
    sent = {each: len(new_shop.get(f"/v1/webhook/{each}/deliveries").json["deliveries"]) for each in (first, second)}
    assert sent == {first: 0, second: 1}
    new_shop.send("PUT", f"/v1/webhook/{second}")
    assert (new_shop.send(*ask).status, new_shop.send(*ask).message) == (404, "No active webhooks found")


def test_a_test_of_a_webhook_of_somebody_else_is_404(shop: Shop, new_shop: Shop) -> None:
    ask = {"eventType": "payment.partial", "webhookId": registered(shop, f"{URL}/tested")["id"]}
    for body in (ask, {**ask, "webhookId": ""}, {**ask, "webhookId": "x" * 300}):
        reply = new_shop.send("POST", "/v1/webhook/test", body)
        assert (reply.status, reply.message) == (404, "Webhook not found")


def test_without_an_active_webhook_a_test_is_404_and_writes_nothing(new_shop: Shop) -> None:
    id = registered(new_shop)["id"]
    new_shop.send("PUT", f"/v1/webhook/{id}")
    before = stored()
    reply = new_shop.send("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"})
    assert (reply.status, reply.json) == (
        404,
        {"statusCode": 404, "message": "No active webhooks found", "error": "Not Found"},
    )
    assert stored() == before


def test_every_kind_that_was_published_is_still_there() -> None:
    assert [kind for kind in KINDS if kind in PUBLISHED] == PUBLISHED


@pytest.mark.parametrize("kind", ["invalid.event", "", "PAYMENT.CONFIRMED", "payment.confirmed ", "日本"])
def test_an_unknown_kind_is_refused_in_the_documented_body(shop: Shop, kind: str) -> None:
    reply = shop.send("POST", "/v1/webhook/test", {"eventType": kind})
    expected = " | ".join(f"'{known}'" for known in KINDS)
    assert (reply.status, reply.json) == (
        400,
        {
            "statusCode": 400,
            "message": [
                {
                    "code": "invalid_enum_value",
                    "options": KINDS,
                    "path": ["eventType"],
                    "message": f"Invalid enum value. Expected {expected}, received '{kind}'",
                }
            ],
            "error": "Bad Request",
        },
    )


@pytest.mark.parametrize("body", [{}, {"eventType": None}, {"eventType": 5}, {"eventType": ["payment.confirmed"]}], ids=str)
def test_a_missing_kind_is_refused_in_the_same_form(shop: Shop, body: dict[str, Any]) -> None:
    reply = shop.send("POST", "/v1/webhook/test", body)
    assert reply.status == 400
    (problem,) = reply.message
    assert problem["path"] == ["eventType"]


def test_a_link_with_a_webhook_queues_nothing_until_it_is_paid(api: Api, new_shop: Shop) -> None:
    registered(new_shop)
    queued()
    token = new_shop.link()
    new_shop.get(f"/v2/secure-payments/{token}")
    assert queued() == []
