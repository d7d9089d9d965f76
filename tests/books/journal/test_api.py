"""GET /v2/journal: pages and parts of files, who reads it, and what is refused."""

from urllib.parse import urlencode, urlsplit

import pytest
from beancount import loader

from chalicelib.payments.requests.payments.records import Payment
from tests.fakes.requests import store_request
from tests.support.client import Reply, Shop
from tests.support.running import running
from tests.support.stored_transfers import store_payment_of
from tests.support.tenants import Tenant


def read(shop: Shop, accept: str = "application/json", **query: object) -> Reply:
    return shop.api.get(f"/v2/journal?{urlencode(query)}", {**shop.by_key, "accept": accept})


def paid(shop: Shop, amount: int) -> Payment:
    return store_payment_of(store_request(running(), shop.account_id), amount)


def test_an_entry_names_its_payment_and_its_postings(new_shop: Shop) -> None:
    payment = paid(new_shop, 12_500_000)
    reply = read(new_shop)
    assert (reply.status, reply.json["nextCursor"]) == (200, None)
    (entry,) = reply.json["entries"]
    (found,) = new_shop.api.get(f"/v2/payments?requestId={payment.request_id}", new_shop.by_key).json["payments"]
    assert (entry["id"], entry["timestamp"], entry["payer"]) == (found["id"], found["timestamp"], found["payer"])
    assert (entry["kind"], entry["currency"], entry["txHash"]) == ("payment", "fUSDC-sepolia", payment.tx_hash)
    wallet = f"Assets:Wallets:Sepolia:{payment.payee}"
    assert entry["postings"] == [
        {"account": wallet, "amount": "12.5", "currency": "fUSDC-sepolia", "value": "12.5"},
        {"account": "Income:Payments", "amount": "-12.5", "currency": "fUSDC-sepolia", "value": "-12.5"},
    ]


def test_pages_and_parts_have_every_entry_once(new_shop: Shop) -> None:
    made = {paid(new_shop, number).payment_id for number in range(1, 8)}
    found, cursor = list[str](), ""
    while cursor is not None:
        page = read(new_shop, limit=3, **({"cursor": cursor} if cursor else {})).json
        found += [each["id"] for each in page["entries"]]
        cursor = page["nextCursor"]
    assert len(found) == 7 and set(found) == made
    for media_type, name in (("text/csv", "journal.csv"), ("text/x-beancount", "journal.beancount")):
        text, path = "", "/v2/journal?limit=3"
        while path:
            part = new_shop.api.get(path, {**new_shop.by_key, "accept": media_type})
            assert part.headers["content-type"] == f"{media_type}; charset=utf-8"
            assert name in part.headers["content-disposition"]
            text += part.body.decode()
            url = urlsplit(part.headers.get("link", "").partition(">")[0].lstrip("<"))
            path = f"{url.path}?{url.query}" if url.path else ""
        assert sum(text.count(each) for each in made) == (14 if media_type == "text/csv" else 7)
        if media_type == "text/x-beancount":
            _, errors, _ = loader.load_string(text)
            assert errors == []


def test_a_table_for_excel_begins_with_the_byte_order_mark_that_its_next_parts_have_not(new_shop: Shop) -> None:
    for number in (1, 2):
        paid(new_shop, number)
    headers = {**new_shop.by_key, "accept": "text/csv"}
    first = new_shop.api.get("/v2/journal?limit=1&excel=true", headers)
    link = urlsplit(first.headers["link"].partition(">")[0].lstrip("<"))
    second = new_shop.api.get(f"{link.path}?{link.query}", headers)
    assert first.body.startswith(b"\xef\xbb\xbfentryId,") and "excel=true" in link.query
    assert second.body and b"\xef\xbb\xbf" not in second.body
    assert new_shop.api.get("/v2/journal", headers).body.startswith(b"entryId,")
    for accept in ("text/x-beancount", "application/json"):
        reply = new_shop.api.get("/v2/journal?excel=true", {**new_shop.by_key, "accept": accept})
        assert reply.status == 200 and b"\xef\xbb\xbf" not in reply.body


def test_a_period_has_the_entries_of_its_days(new_shop: Shop) -> None:
    payment = paid(new_shop, 5)
    day = payment.at.date().isoformat()
    assert len(read(new_shop, fromDate=f"{day}T00:00:00Z", toDate=f"{day}T23:59:59.999Z").json["entries"]) == 1
    assert read(new_shop, fromDate="2040-01-01T00:00:00Z").json == {"entries": [], "nextCursor": None}


def test_others_see_nothing_of_it_and_a_public_client_id_is_refused(new_shop: Shop) -> None:
    paid(new_shop, 5)
    other = Tenant()
    assert new_shop.api.get("/v2/journal", other.by_key()).json["entries"] == []
    cursor = read(new_shop, limit=1).json["nextCursor"]
    assert cursor is None
    reply = new_shop.api.get("/v2/journal", new_shop.by_client)
    assert reply.status == 403, reply.json


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"fromDate": "2026-03-02T00:00:00Z", "toDate": "2026-03-01T00:00:00Z"}, "toDate"),
        ({"fromDate": "yesterday"}, "fromDate"),
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"cursor": "x"}, "cursor"),
    ],
)
def test_what_is_wrong_is_named(new_shop: Shop, query: dict[str, str], field: str) -> None:
    reply = read(new_shop, **query)
    assert reply.status == 400 and field in reply.body.decode(), reply.json


def test_a_cursor_of_another_account_is_refused(new_shop: Shop) -> None:
    for number in (1, 2):
        paid(new_shop, number)
    cursor = read(new_shop, limit=1).json["nextCursor"]
    reply = new_shop.api.get(f"/v2/journal?{urlencode({'cursor': cursor})}", Tenant().by_key())
    assert reply.status == 400, reply.json
