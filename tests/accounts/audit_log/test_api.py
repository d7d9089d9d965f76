"""The audit log over HTTP: what a line says, how one pages through it, and who may read it."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from tests.support.client import Reply, Shop, stored
from tests.support.opened import by_session

AUDIT = "/v1/audit"


def read(shop: Shop, query: str = "", headers: dict[str, str] | None = None) -> Reply:
    return shop.api.get(f"{AUDIT}{query}", headers or shop.by_key)


def make_client_ids(shop: Shop, count: int) -> list[str]:
    ids = []
    for number in range(count):
        body = {"label": str(number), "allowedDomains": ["https://shop.example"]}
        ids.append(shop.api.request("POST", "/v2/client-ids", body, shop.by_key).json["id"])
    return ids


def lines(shop: Shop) -> list[dict[str, Any]]:
    return read(shop, "?limit=100").json["entries"]


def test_a_line_says_who_did_what_to_what_from_where_in_which_request(new_shop: Shop) -> None:
    body = {"url": "https://93.184.215.14/hook"}
    session = by_session(new_shop.account_id)
    made = new_shop.api.request("POST", "/v1/webhook", body, session)
    line = lines(new_shop)[0]
    assert set(line) == {"id", "at", "actor", "action", "target", "ipAddress", "requestId", "sessionId"}
    assert (line["action"], line["target"]) == ("webhook.created", made.json["id"])
    assert (line["ipAddress"], line["requestId"]) == ("127.0.0.1", made.headers["x-request-id"])
    assert line["actor"].startswith("person:") and len(line["sessionId"]) == 26 and session["cookie"].split("=")[1] not in line["actor"]


def test_every_change_of_a_webhook_has_its_line(new_shop: Shop) -> None:
    id = new_shop.send("POST", "/v1/webhook", {"url": "https://93.184.215.14/hook"}).json["id"]
    new_shop.send("PUT", f"/v1/webhook/{id}")
    new_shop.send("PUT", f"/v1/webhook/{id}")
    new_shop.send("POST", "/v1/webhook", {"url": "https://93.184.215.14/hook"})
    new_shop.send("DELETE", f"/v1/webhook/{id}")
    new_shop.send("DELETE", f"/v1/webhook/{id}")
    found = [line for line in lines(new_shop) if line["target"] == id]
    assert [line["action"] for line in found] == [
        "webhook.deleted",
        "webhook.switched_on",
        "webhook.switched_off",
        "webhook.created",
    ]
    assert {line["actor"] for line in found} == {f"client_id:{new_shop.client_id}"}


def test_what_the_operator_did_is_in_it(new_shop: Shop) -> None:
    done = [(line["actor"], line["action"]) for line in lines(new_shop)]
    assert done == [("operator", "client_id.created"), ("operator", "api_key.created")]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_hold_every_line_once_newest_first(new_shop: Shop, limit: int) -> None:
    made = make_client_ids(new_shop, 4)
    found, query = [], f"?limit={limit}"
    while True:
        page = read(new_shop, query).json
        assert len(page["entries"]) <= limit
        found += page["entries"]
        if page["nextCursor"] is None:
            break
        assert len(page["entries"]) == limit
        query = f"?limit={limit}&cursor={page['nextCursor']}"
    assert len(found) == 6
    assert [line["id"] for line in found] == sorted((line["id"] for line in found), reverse=True)
    assert {line["target"] for line in found[:4]} == set(made)


def test_a_cursor_is_not_moved_by_new_lines(new_shop: Shop) -> None:
    make_client_ids(new_shop, 2)
    first = read(new_shop, "?limit=2").json
    make_client_ids(new_shop, 1)
    second = read(new_shop, f"?limit=2&cursor={first['nextCursor']}").json
    assert [line["actor"] for line in second["entries"]] == ["operator", "operator"]
    assert second["nextCursor"] is None


def test_a_page_holds_50_lines_unless_told(new_shop: Shop) -> None:
    make_client_ids(new_shop, 49)
    page = read(new_shop).json
    assert len(page["entries"]) == 50 and page["nextCursor"]


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "", "1.5", "9" * 5000, "1&limit=2"])
def test_a_limit_outside_1_to_100_is_400(shop: Shop, limit: str) -> None:
    assert read(shop, f"?limit={limit}").status == 400


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "%00",
        "%FF",
        "01M7VQFVRZV5BJJSN4QTFB4MP3",
        urlsafe_b64encode(b"01M7VQFVRZV5BJJSN4QTFB4MP").decode(),
        urlsafe_b64encode(b"\xff" * 26).decode(),
        urlsafe_b64encode("日本語".encode()).decode(),
        "A" * 7000,
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_cursor_that_was_never_given_is_400(shop: Shop, cursor: str) -> None:
    reply = read(shop, f"?cursor={cursor}")
    assert reply.status == 400 and "cursor" in reply.message


def test_a_cursor_of_another_account_shows_only_the_readers_own_lines(new_shop: Shop) -> None:
    stranger = Shop(new_shop.api)
    make_client_ids(stranger, 3)
    cursor = read(stranger, "?limit=1").json["nextCursor"]
    own = {line["id"] for line in lines(new_shop)}
    assert {line["id"] for line in read(new_shop, f"?cursor={cursor}").json["entries"]} <= own


def test_an_account_reads_its_own_lines_alone(new_shop: Shop) -> None:
    stranger = Shop(new_shop.api)
    made = make_client_ids(new_shop, 1)
    assert not {line["target"] for line in lines(stranger)} & set(made)
    assert lines(new_shop)[0]["target"] == made[0]


def test_sessions_and_api_keys_read_it_and_nobody_else(new_shop: Shop) -> None:
    assert read(new_shop, headers=by_session(new_shop.account_id)).json == read(new_shop).json
    assert read(new_shop, headers=new_shop.by_client).status == 403
    assert new_shop.api.get(AUDIT).status == 401


def test_reading_leaves_no_line(new_shop: Shop) -> None:
    lines(new_shop)
    before = stored()
    lines(new_shop)
    new_shop.api.get("/v2/client-ids", new_shop.by_key)
    assert stored() == before
