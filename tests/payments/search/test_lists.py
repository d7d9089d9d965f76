"""Lists of links, requests and events over HTTP."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.base import ids
from chalicelib.webhooks.records import Event
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, WALLET
from tests.support.client import Reply, Shop, item
from tests.support.items import BATCH, PAYOUTS, payout
from tests.support.running import running
from tests.support.stored_links import complete

_INSTANT = "must be an instant in UTC such as 2030-01-31T12:00:00Z"


def get(shop: Shop, path: str, **query: Any) -> Reply:
    return shop.api.get(f"{path}?{urlencode(query)}", shop.by_key)


def tokens(reply: Reply) -> list[str]:
    assert reply.status == 200, reply.json
    return [each["token"] for each in reply.json["securePayments"]]


def test_links_are_listed_by_status_reference_client_id_and_dates_from_the_newest_on(new_shop: Shop) -> None:
    made = [new_shop.link(reference=f"INV-{number % 2}") for number in range(5)]
    complete(made[1])
    listed = get(new_shop, "/v2/secure-payments")
    assert tokens(listed) == made[::-1]
    assert listed.json["pagination"] == {"limit": 20, "hasMore": False, "nextCursor": None}
    assert tokens(get(new_shop, "/v2/secure-payments", status="completed")) == [made[1]]
    assert tokens(get(new_shop, "/v2/secure-payments", status="pending", reference="INV-1")) == [made[3]]
    assert tokens(get(new_shop, "/v2/secure-payments", clientId="cli_other")) == []
    assert tokens(get(new_shop, "/v2/secure-payments", limit=2)) == made[:2:-1]
    created = {each["token"]: each["createdAt"] for each in listed.json["securePayments"]}
    assert tokens(get(new_shop, "/v2/secure-payments", toDate=created[made[0]]))[-1] == made[0]
    seen, cursor = list[str](), ""
    while cursor is not None:
        page = get(new_shop, "/v2/secure-payments", limit=2, **({"cursor": cursor} if cursor else {}))
        seen, cursor = seen + tokens(page), page.json["pagination"]["nextCursor"]
    assert seen == made[::-1]


def test_a_listed_link_says_what_it_is_and_what_became_of_it(new_shop: Shop) -> None:
    token = new_shop.link(reference="INV-1")
    (found,) = get(new_shop, "/v2/secure-payments").json["securePayments"]
    del found["createdAt"], found["expiresAt"]
    assert found == {
        "token": token, "securePaymentUrl": f"http://pay.test/?token={token}", "status": "pending",
        "paymentType": "single", "flow": "get_paid", "reference": "INV-1", "clientId": new_shop.client_id,
        "payerIdentifier": None, "completedAt": None,
    }  # fmt: skip


def test_a_client_id_alone_finds_no_links_as_their_tokens_are_for_their_payers(new_shop: Shop) -> None:
    request_id = new_shop.create().json["requestIds"][0]
    wanted = ["/v2/secure-payments", *(f"/v2/secure-payments?requestId={each}" for each in (request_id, "x", ""))]
    replies = [new_shop.api.get(path, new_shop.by_client) for path in wanted]
    assert {(reply.status, reply.message) for reply in replies} == {
        (403, "A client ID is public, and the response has the tokens of links: send an API key, or sign in for a session")
    }
    assert new_shop.get("/v2/request").json["requests"] == [], "links and their requests are for their payers"
    assert len(get(new_shop, "/v2/request").json["requests"]) == 1
    both = {**new_shop.by_key, **new_shop.by_client}
    assert new_shop.api.get(wanted[1], both).json["securePaymentUrl"]


def test_a_client_id_alone_learns_nothing_of_the_requests_of_links_by_totals_pages_or_cursors(new_shop: Shop) -> None:
    """With the id of a request, which a cursor has, anybody who has the client id reads it and gets what pays it."""
    by_link = [new_shop.create(reference=f"INV-{number}").json for number in range(12)]
    client = new_shop.client_id
    alone = [store_request(running(), new_shop.account_id, client_id=client, reference=each) for each in ("INV-3", "INV-20")]
    by_link += [new_shop.create(item(), item(), reference="INV-3").json]
    hidden = {request_id for each in by_link for request_id in each["requestIds"]}

    def read(**query: Any) -> dict[str, Any]:
        return dict(new_shop.get(f"/v2/request?{urlencode(query)}").json)

    def cursors(limit: int) -> Iterator[str]:
        page = read(limit=limit)
        while (cursor := page["pagination"]["nextCursor"]) is not None:
            yield cursor
            page = read(limit=limit, cursor=cursor)

    for limit in (1, 2, 50):
        for cursor in cursors(limit):
            text = urlsafe_b64decode(f"{cursor}==")[9:].decode()
            assert not any(each in text for each in hidden), "the place of a request has its id"
    first, second = read(limit=1), read(limit=1, offset=1)
    shown = [each["requestId"] for page in (first, second) for each in page["requests"]]
    assert shown == [each.request_id for each in sorted(alone, key=lambda each: each.listed_at, reverse=True)]
    assert [page["pagination"]["total"] for page in (first, second, read(offset=2))] == [2, 2, 2]
    assert second["pagination"]["hasMore"] is False
    assert (read(reference="INV-3")["pagination"]["total"], read(reference="INV-4")["pagination"]["total"]) == (1, 0)
    assert read(walletAddress=PAYEE, status="created")["pagination"]["total"] == 2
    assert read(securePaymentToken=by_link[-1]["token"])["pagination"]["total"] == 0
    assert get(new_shop, "/v2/request").json["pagination"]["total"] == 16


def test_lists_have_what_is_the_callers_own_alone(shop: Shop, new_shop: Shop) -> None:
    shop.link()
    request = store_request(running(), shop.account_id)
    for path, name in (("/v2/secure-payments", "securePayments"), ("/v2/request", "requests"), ("/v1/webhook/events", "events")):
        assert get(new_shop, path).json[name] == []
    assert request.request_id not in str(shop.get("/v2/request").json), "a client id has its own requests alone"
    assert request.request_id in str(get(shop, "/v2/request").json)
    cursor = get(shop, "/v2/secure-payments", limit=1).json["pagination"]["nextCursor"] or "x"
    assert get(new_shop, "/v2/secure-payments", limit=1, cursor=cursor).status == 400


def test_requests_of_links_and_by_themselves_are_listed_with_the_status_of_their_links(new_shop: Shop) -> None:
    token = new_shop.link(item(), item(amount="3"), reference="INV-9")
    alone = store_request(running(), new_shop.account_id, reference="INV-10", payer=WALLET)
    reply = get(new_shop, "/v2/request", limit=2)
    assert reply.json["pagination"] | {"nextCursor": ""} == {
        "total": 3, "limit": 2, "offset": 0, "hasMore": True, "nextCursor": "",
    }  # fmt: skip
    first, second = reply.json["requests"]
    assert (first["requestId"], first["securePaymentStatus"], first["reference"]) == (alone.request_id, None, "INV-10")
    assert (first["amount"], first["hasBeenPaid"], first["status"]) == ("12.5", False, "created")
    assert (second["securePaymentStatus"], second["reference"]) == ("pending", "INV-9")
    rest = get(new_shop, "/v2/request", limit=2, offset=2)
    again = get(new_shop, "/v2/request", limit=2, cursor=reply.json["pagination"]["nextCursor"])
    assert rest.json["requests"] == again.json["requests"] and len(rest.json["requests"]) == 1
    by_payer = get(new_shop, "/v2/request", walletAddress=WALLET.lower(), securePaymentFlow="outgoing")
    assert [each["requestId"] for each in by_payer.json["requests"]] == [alone.request_id]
    assert get(new_shop, "/v2/request", walletAddress=PAYEE).json["pagination"]["total"] == 3
    complete(token)
    assert {each["status"] for each in get(new_shop, "/v2/request", status="paid").json["requests"]} == {"paid"}


def of_link(shop: Shop, token: str, **query: Any) -> list[str]:
    reply = get(shop, "/v2/request", securePaymentToken=token, **query)
    assert reply.status == 200, reply.json
    return [each["requestId"] for each in reply.json["requests"]]


def test_the_requests_of_one_link_are_listed_in_its_order_page_by_page(new_shop: Shop) -> None:
    new_shop.link()
    made = new_shop.create(*(item(amount=f"{number}") for number in range(1, 6)), reference="INV-9").json
    token, seen, cursor = made["token"], list[str](), ""
    while cursor is not None:
        page = get(new_shop, "/v2/request", securePaymentToken=token, limit=2, cursor=cursor).json
        assert page["pagination"]["total"] == 5
        assert all(each["securePaymentToken"] == token for each in page["requests"])
        seen, cursor = seen + [each["requestId"] for each in page["requests"]], page["pagination"]["nextCursor"]
    assert seen == made["requestIds"] == of_link(new_shop, token)
    assert of_link(new_shop, token, offset=3, limit=1) == seen[3:4] and of_link(new_shop, token, offset=5) == []
    assert of_link(new_shop, token, status="created", walletAddress=PAYEE) == seen
    assert of_link(new_shop, token, status="paid") == of_link(new_shop, token, toDate="2020-01-01T00:00:00Z") == []
    cursor = get(new_shop, "/v2/request", securePaymentToken=token, limit=2).json["pagination"]["nextCursor"]
    others: tuple[dict[str, str], ...] = ({}, {"securePaymentToken": new_shop.link()}, {"securePaymentToken": token, "status": "created"})
    for other in others:
        assert get(new_shop, "/v2/request", cursor=cursor, **other).status == 400


def test_a_link_of_another_account_or_client_id_has_no_requests_for_the_caller(shop: Shop, new_shop: Shop) -> None:
    token = shop.link()
    assert len(of_link(shop, token)) == 1 and of_link(new_shop, token) == []
    assert of_link(shop, token, clientId="cli_other") == of_link(shop, "no-such-link") == []
    by_client = f"/v2/request?{urlencode({'securePaymentToken': token})}"
    assert shop.api.get(by_client, shop.by_client).json["requests"] == [], "links are for their payers"


def test_a_multicall_lists_the_requests_of_its_payouts_and_a_merged_payout_its_own(new_shop: Shop) -> None:
    made = [new_shop.send("POST", PAYOUTS, payout(amount=f"{number}")).json for number in range(1, 5)]
    tokens, ids_of = [each["token"] for each in made], [each["requestIds"][0] for each in made]
    multicall = new_shop.send("POST", f"{PAYOUTS.rpartition('/')[0]}/multicall-payouts", {"childTokens": tokens[:2]}).json
    batch = new_shop.send("POST", BATCH, {"tokens": tokens[2:]}).json
    assert of_link(new_shop, multicall["token"]) == ids_of[:2]
    assert of_link(new_shop, batch["token"]) == ids_of[2:]
    assert of_link(new_shop, tokens[3]) == ids_of[3:]
    complete(batch["token"])
    assert of_link(new_shop, tokens[2], status="paid") == ids_of[2:3], "as it is in the batch"


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/v2/request", {"limit": 101}, "limit"),
        ("/v2/request", {"offset": -1}, "offset"),
        ("/v2/request", {"walletAddress": "0x1"}, "walletAddress"),
        ("/v2/request", {"status": "gone"}, "status"),
        ("/v2/request", {"fromDate": "2026-02-01T00:00:00Z", "toDate": "2026-01-01T00:00:00Z"}, "toDate"),
        ("/v2/request", {"cursor": "nonsense"}, "cursor"),
        ("/v2/request", {"securePaymentToken": "x" * 65}, "securePaymentToken"),
        ("/v2/request", {"securePaymentToken": "x", "cursor": "nonsense"}, "cursor"),
        ("/v2/secure-payments", {"limit": 0}, "limit"),
        ("/v2/secure-payments", {"status": "awaiting_chain"}, "status"),
        ("/v2/secure-payments", {"fromDate": "yesterday"}, "fromDate"),
        ("/v1/webhook/events", {"kind": ""}, "kind"),
        ("/v1/webhook/events", {"cursor": "AAAA"}, "cursor"),
    ],
)
def test_a_bad_filter_is_refused_and_named(shop: Shop, path: str, query: dict[str, Any], field: str) -> None:
    reply = get(shop, path, **query)
    assert (reply.status, reply.json["errors"][0]["field"]) == (400, field)


@pytest.mark.parametrize(
    ("instant", "problem"),
    [("yesterday", _INSTANT), ("2026-03-01", _INSTANT), ("2026-03-01T00:00:00+01:00", _INSTANT),
     ("2026-02-30T00:00:00Z", "is not a day or time of the calendar")],
)  # fmt: skip
def test_a_time_in_another_form_is_refused_with_one_that_is_taken(shop: Shop, instant: str, problem: str) -> None:
    (error,) = get(shop, "/v2/secure-payments", fromDate=instant).json["errors"]
    assert error == {"field": "fromDate", "message": problem}
    assert get(shop, "/v2/secure-payments", fromDate="2030-01-31T12:00:00Z").status == 200


@pytest.mark.parametrize(
    ("first", "last"),
    [("0001-01-01T00:00:00Z", "1960-01-01T00:00:00Z"), ("5000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"),
     ("9999-12-31T23:00:00Z", "9999-12-31T23:30:00Z")],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", ["/v2/secure-payments", "/v2/request", "/v1/webhook/events", "/v2/payments?type=direct&", "/v2/payments?type=direct&cursor=&"]
)
def test_dates_may_be_as_far_away_as_a_date_can_be(new_shop: Shop, path: str, first: str, last: str) -> None:
    new_shop.link()
    for query in ({"fromDate": first, "toDate": last}, {"fromDate": first}, {"toDate": last}):
        separator = "" if path.endswith("&") else "?"
        reply = new_shop.api.get(f"{path}{separator}{urlencode(query)}", new_shop.by_key)
        assert reply.status == 200, (query, reply.json)


def test_events_are_listed_by_kind_and_date(new_shop: Shop) -> None:
    services = running()
    for kind in ("payment.partial", "payment.confirmed", "payment.partial"):
        event_id = ids.ulid(services.clock(), services.entropy)
        body = f'{{"event":"{kind}"}}'
        services.store.write(Event(event_id, kind, new_shop.account_id, None, body, services.clock(), False))
    found = get(new_shop, "/v1/webhook/events").json["events"]
    assert len(found) == 3 and found[0]["createdAt"] >= found[2]["createdAt"]
    partial = get(new_shop, "/v1/webhook/events", kind="payment.partial", limit=1).json
    assert [each["body"] for each in partial["events"]] == [{"event": "payment.partial"}]
    following = get(new_shop, "/v1/webhook/events", kind="payment.partial", cursor=partial["nextCursor"]).json
    assert (len(following["events"]), following["nextCursor"]) == (1, None)
    assert new_shop.get("/v1/webhook/events").status == 403


def test_mispayments_are_listed_by_kind_request_and_date_too_and_nothing_else_with_them(new_shop: Shop) -> None:
    def write(kind: str, request_id: str | None = None, **body: Any) -> str:
        services = running()
        event_id = ids.ulid(services.clock(), services.entropy)
        text = json.dumps({"event": kind, **body})
        services.store.write(Event(event_id, kind, new_shop.account_id, None, text, services.clock(), False, request_id=request_id))
        return event_id

    over, late = write("payment.confirmed", labels=["over"]), write("payment.confirmed", "01A", labels=["late"])
    wrong = write("payment.unexpected", "01A", labels=["wrong_token"], status="confirmed")
    write("payment.unexpected", "01A", labels=["duplicate"], status="reversed")
    for _ in range(3):
        write("payment.confirmed", "01A", labels=[])
    write("payment.partial", "01A", labels=["under", "late"])

    def found(**query: Any) -> set[str]:
        return {each["id"] for each in get(new_shop, "/v1/webhook/events", mispaid="true", **query).json["events"]}

    assert found() == {over, late, wrong}
    assert found(kind="payment.confirmed") == {over, late}
    assert found(requestId="01A") == {late, wrong}
    assert found(requestId="01A", kind="payment.unexpected") == {wrong}
    assert found(toDate="2026-01-01T00:00:00Z") == set()
    first = get(new_shop, "/v1/webhook/events", mispaid="true", limit=2).json
    following = get(new_shop, "/v1/webhook/events", mispaid="true", cursor=first["nextCursor"]).json
    assert [len(each["events"]) for each in (first, following)] == [2, 1] and following["nextCursor"] is None
    for refused in ({"mispaid": "false"}, {"cursor": first["nextCursor"]}):
        assert get(new_shop, "/v1/webhook/events", **refused).status == 400
