"""GET /v2/payments over HTTP: every field, filter and refusal, who sees what, and CSV."""

import csv
import io
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.base.cursors import Position, cursor_of
from chalicelib.base.money import BaseUnits
from chalicelib.base.timestamps import iso
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.records import CustomerInfo
from chalicelib.payments.search.payments import flows
from chalicelib.payments.search.payments.export import COLUMNS, inert, table
from chalicelib.payments.search.payments.records import Filters
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, WALLET
from tests.payments.search.payments import histories
from tests.support.client import Reply, Shop
from tests.support.errors import first_problem
from tests.support.rehearsed import rehearsed
from tests.support.running import running
from tests.support.stored_transfers import TX_HASH, record_payment, store_payment_of


def find(shop: Shop, **query: Any) -> Reply:
    return shop.api.get(f"/v2/payments?{urlencode(query)}", shop.by_key)


def paid(shop: Shop, **changes: Any) -> Payment:
    """A payment of a new request of the shop."""
    request = store_request(running(), shop.account_id)
    return store_payment_of(replace(request, **changes), 12_500_000)


def refusal(reply: Reply) -> tuple[int, list[tuple[str, str]]]:
    return reply.status, [(each["field"], each["message"]) for each in reply.json["errors"]]


def test_what_was_paid_out_is_told_apart_from_what_was_received(new_shop: Shop) -> None:
    payment = replace(paid(new_shop), is_payout=True, version=1)
    running().store.write(payment)
    (found,) = find(new_shop, requestId=payment.request_id).json["payments"]
    assert (found["isPayout"], found["direction"]) == (True, "in")
    assert dict(zip(COLUMNS, table([payment], False).strip().split(","), strict=True))["isPayout"] == "true"


def test_a_direct_payment_shows_every_field(new_shop: Shop) -> None:
    made = paid(new_shop, reference="INV-1")
    reply = find(new_shop, requestId=made.request_id)
    assert reply.status == 200
    assert reply.json["pagination"] == {"total": 1, "limit": 20, "offset": 0, "hasMore": False, "nextCursor": None}
    (found,) = reply.json["payments"]
    assert found == {
        "id": made.payment_id,
        "direction": "in",
        "isPayout": False,
        "amount": "12.5",
        "sourceNetwork": "sepolia",
        "destinationNetwork": "sepolia",
        "sourceTxHash": TX_HASH,
        "destinationTxHash": None,
        "timestamp": iso(made.at),
        "type": "direct",
        "conversionRateSource": None,
        "conversionRateDestination": None,
        "convertedAmountSource": None,
        "convertedAmountDestination": None,
        "currency": "fUSDC",
        "paymentCurrency": "fUSDC",
        "fees": [
            {
                "type": "platform",
                "stage": "sending",
                "provider": "service-network",
                "amount": "0.125",
                "currency": "fUSDC",
                "receiverAddress": "0x" + "11" * 20,
                "network": "sepolia",
            }
        ],
        "recurringPaymentId": None,
        "request": {
            "requestId": made.request_id,
            "paymentReference": made.payment_reference,
            "hasBeenPaid": False,
            "customerInfo": None,
            "reference": "INV-1",
        },
        "payer": WALLET,
        "payee": PAYEE,
    }


def test_a_converted_payment_shows_its_rate_both_ways(new_shop: Shop) -> None:
    request = store_request(running(), new_shop.account_id)
    rate = Rate("USD", "fUSDC-sepolia", BaseUnits(4), BaseUnits(5), RateSource.CHAINLINK, running().clock())
    facts = {"event_key": "e-9", "type": PaymentKind.CONVERSION, "invoice_currency": "USD", "rate": rate}
    made = store_payment_of(request, 8_000_000)
    record_payment(replace(made, value=BaseUnits(10 * 10**8), version=0, is_counted=False, **facts))
    assert find(new_shop, invoiceCurrency="FUSDC").json["pagination"]["total"] == 1
    assert find(new_shop, invoiceCurrency="USD").json["pagination"]["total"] == 1
    (found,) = find(new_shop, invoiceCurrency="USD", requestId=request.request_id).json["payments"]
    assert (found["currency"], found["paymentCurrency"], found["amount"]) == ("USD", "fUSDC", "8")
    assert (found["conversionRateSource"], found["conversionRateDestination"]) == ("0.8", "1.25")
    assert (found["convertedAmountSource"], found["convertedAmountDestination"]) == ("8", "10")
    assert (found["type"], found["rateProvider"]) == ("conversion", "chainlink")


def test_each_filter_finds_the_payment_and_another_value_does_not(new_shop: Shop) -> None:
    made = paid(new_shop, reference="INV & 1/ü", client_id=new_shop.client_id)
    values = {
        "txHash": (TX_HASH, "0x" + "12" * 32),
        "walletAddress": (WALLET.lower(), "0x" + "12" * 20),
        "payer": (WALLET, PAYEE),
        "payee": (PAYEE, WALLET),
        "paymentReference": (made.payment_reference.upper().replace("X", "x"), "0x" + "12" * 8),
        "requestId": (made.request_id, "01" + "12" * 32),
        "reference": ("INV & 1/ü", "INV"),
        "type": ("direct", "conversion"),
        "invoiceCurrency": ("fUSDC-sepolia", "USD"),
        "paymentCurrency": ("USDC-sepolia", "USDC"),
        "network": ("sepolia", "base"),
        "clientId": (new_shop.client_id, "cli_another"),
    }
    for name, (hit, miss) in values.items():
        assert [each["id"] for each in find(new_shop, **{name: hit}).json["payments"]] == [made.payment_id], name
        missed = find(new_shop, **{name: miss})
        assert (missed.status, missed.json["payments"], missed.json["pagination"]["total"]) == (200, [], 0), name
    assert find(new_shop, paymentCurrency="FUSDC").json["pagination"]["total"] == 1
    day = iso(made.at)
    assert find(new_shop, type="direct", fromDate=day, toDate=day).json["pagination"]["total"] == 1
    before = iso(made.at - timedelta(milliseconds=1))
    assert find(new_shop, type="direct", toDate=before).json["pagination"]["total"] == 0


def test_a_transaction_is_found_however_its_hash_is_written(new_shop: Shop) -> None:
    made = paid(new_shop)
    on_tron = record_payment(replace(made, network="tron", currency="USDT-tron", tx_hash="cd" * 32, version=0, is_counted=False))
    digits = TX_HASH.removeprefix("0x")
    for wanted, names in {
        made: (TX_HASH, digits, digits.upper(), f"0x{digits.upper()}", f"0X{digits}"),
        on_tron: ("cd" * 32, "CD" * 32),
    }.items():
        for name in names:
            assert [each["id"] for each in find(new_shop, txHash=name).json["payments"]] == [wanted.payment_id], name
    for name in (digits[1:], f"{digits}0", f"0x{digits}0", f"0y{digits}", f"0x0x{digits}", f" {digits}", "x" * 64, ""):
        assert refusal(find(new_shop, txHash=name))[0] == 400, name


def test_bad_filters_are_refused_in_the_shape_that_clients_know(new_shop: Shop) -> None:
    dates = {"fromDate": "2024-02-01T00:00:00.000Z", "toDate": "2024-01-31T23:59:59.999Z"}
    reply = find(new_shop, type="direct", **dates)
    assert refusal(reply) == (400, [("toDate", "toDate must be after or equal to fromDate")])
    assert (reply.json["message"], reply.json["statusCode"]) == ("Validation failed", 400)
    wrong = {
        "txHash": "0x12", "walletAddress": "0x12", "payer": "vitalik.eth", "paymentReference": "ref", "requestId": "01",
        "reference": "x" * 256, "type": "cash", "invoiceCurrency": "EURO", "paymentCurrency": "", "network": "moon",
        "fromDate": "2024-01-01", "toDate": "2024-02-30T00:00:00Z", "limit": "101", "offset": "-1", "cursor": "x",
    }  # fmt: skip
    for name, value in wrong.items():
        status, problems = refusal(find(new_shop, **{"type": "direct", name: value}))
        assert (status, [field for field, _ in problems]) == (400, [name]), name
    for query in ({}, {"fromDate": dates["fromDate"]}, {"limit": "5"}):
        reply = find(new_shop, **query)
        assert (reply.status, "At least one filter" in first_problem(reply)) == (400, True)
    assert find(new_shop, type="direct", cursor="", offset="1").status == 400


def test_pages_go_on_by_offset_and_by_cursor(new_shop: Shop) -> None:
    request = store_request(running(), new_shop.account_id)
    made = store_payment_of(request, 1)
    for number in range(1, 7):
        at = made.at + timedelta(seconds=number)
        record_payment(replace(made, event_key=f"e-{number}", paid_at=at, is_counted=False))
    whole = find(new_shop, type="direct").json
    ids = [each["id"] for each in whole["payments"]]
    assert (len(ids), whole["pagination"]["total"], whole["pagination"]["hasMore"]) == (7, 7, False)
    page = find(new_shop, type="direct", limit="3", offset="2").json
    assert [each["id"] for each in page["payments"]] == ids[2:5]
    following = find(new_shop, type="direct", limit="3", cursor=page["pagination"]["nextCursor"]).json
    assert [each["id"] for each in following["payments"]] == ids[5:]
    assert following["pagination"] == {"total": 7, "limit": 3, "offset": 5, "hasMore": False, "nextCursor": None}
    first = find(new_shop, type="direct", limit="3", cursor="").json
    assert [each["id"] for each in first["payments"]] == ids[:3]
    assert "total" not in first["pagination"]


@pytest.mark.parametrize(
    "position",
    [
        Position("0", ("nothing", "by_nothing"), 0, None), Position("0", ("payer", "by_payer"), 0, None),
        Position("0", (), 0, None), Position("\x00", ("type", "by_type"), 0, None),
        Position("\ue000", ("type", "by_type"), 0, None), Position("", ("type", "by_type"), 0, None),
        Position(5, ("type", "by_type"), 0, None), Position("0", ("type", "by_type"), "a", None),  # type: ignore[arg-type]
        Position("0", ("type", "by_type"), 0, [[[]]]), Position([], 5, 0, None),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_a_cursor_that_was_made_up_is_refused(new_shop: Shop, position: Position) -> None:
    paid(new_shop)
    scope = Filters(new_shop.account_id, type="direct").scope
    assert find(new_shop, type="direct", cursor=cursor_of(position, scope)).status == 400


def test_a_cursor_that_was_made_up_to_begin_below_the_list_finds_nothing(new_shop: Shop) -> None:
    made = paid(new_shop)
    scope = Filters(new_shop.account_id, type="direct", first=made.at).scope
    below = cursor_of(Position("!", ("type", "by_type"), 0, None), scope)
    reply = find(new_shop, type="direct", fromDate=iso(made.at), cursor=below)
    assert (reply.status, reply.json["payments"]) == (200, [])


def test_another_account_finds_nothing_of_it_whatever_it_asks_for(shop: Shop, new_shop: Shop) -> None:
    made = paid(shop, reference="PRIVATE", client_id=shop.client_id)
    cursor = find(shop, type="direct", limit="1").json["pagination"]["nextCursor"] or "x"
    asked: list[dict[str, str]] = [
        {"txHash": made.tx_hash}, {"requestId": made.request_id}, {"paymentReference": made.payment_reference},
        {"reference": "PRIVATE"}, {"clientId": shop.client_id}, {"walletAddress": PAYEE}, {"network": "sepolia"},
    ]  # fmt: skip
    for query in asked:
        reply = find(new_shop, **query)
        assert (reply.status, reply.json["payments"], reply.json["pagination"]["total"]) == (200, [], 0), query
    assert find(new_shop, type="direct", cursor=cursor).status == 400


def test_a_client_id_finds_payments_of_its_own_requests_alone_and_no_customers(new_shop: Shop) -> None:
    info = CustomerInfo(first_name="Ann", email="ann@example.com")
    own = store_request(running(), new_shop.account_id, client_id=new_shop.client_id, customer_info=info)
    made = store_payment_of(own, 5)
    paid(new_shop), paid(new_shop, client_id="cli_other")
    by_client = new_shop.get("/v2/payments?type=direct")
    (found,) = by_client.json["payments"]
    assert (found["id"], found["request"]["customerInfo"]) == (made.payment_id, None)
    assert by_client.json["pagination"]["total"] == 1
    assert new_shop.get("/v2/payments?clientId=cli_other").status == 400
    by_key = find(new_shop, clientId=new_shop.client_id).json["payments"]
    assert by_key[0]["request"]["customerInfo"] == {"firstName": "Ann", "email": "ann@example.com"}


# --- CSV ---


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_payments_are_exported_as_csv_part_by_part(new_shop: Shop) -> None:
    hostile = "=HYPERLINK(\"http://evil\"),\n\"x\""
    first = paid(new_shop, reference=hostile)
    second = paid(new_shop, reference="INV, 2")
    url, rows, head = "/v2/payments?limit=1", list[dict[str, str]](), ""
    while url:
        reply = new_shop.api.get(url, {**new_shop.by_key, "accept": "text/csv"})
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/csv; charset=utf-8"
        head = head or reply.body.decode().splitlines()[0]
        rows += lines(reply.body.decode() if not rows else head + "\r\n" + reply.body.decode())
        following = re.fullmatch(r'<http://api\.test(.*)>; rel="next"', reply.headers.get("link", ""))
        url = following[1] if following else ""
    assert head == ",".join(COLUMNS)
    by_id = {row["id"]: row for row in rows}
    assert set(by_id) == {first.payment_id, second.payment_id}
    assert by_id[first.payment_id]["reference"] == "'" + hostile
    row = by_id[second.payment_id]
    assert (row["reference"], row["amount"], row["paymentCurrency"], row["invoiceAmount"]) == ("INV, 2", "12.5", "fUSDC", "12.5")
    assert (row["feeAmount"], row["payer"], row["txHash"]) == ("0.125", WALLET, TX_HASH)
    assert (row["amountInUsd"], row["usdRate"]) == ("", ""), "no rate was kept with it"


def test_a_row_has_what_was_said_to_be_paid_only_where_less_arrived() -> None:
    full = replace(histories.payment(Random(1), 1), currency="USDC-base", amount=BaseUnits(12_500_000))
    short = replace(full, amount=BaseUnits(12_375_000), stated_amount=BaseUnits(12_500_000))
    rows = lines(table([full, short], with_head=True))
    assert [(row["amount"], row["statedAmount"]) for row in rows] == [("12.5", ""), ("12.375", "12.5")]


@pytest.mark.parametrize(
    ("facts", "dollars", "of_one"),
    [
        ({"dollar_rate": ("USD", "1.0004")}, "12.49500199", "0.999600159936025590"),
        ({"invoice_currency": "USD", "rate": ("USD", "1.25"), "value": 10**9}, "10", "0.8"),
        ({"invoice_currency": "EUR", "rate": ("EUR", "1.1"), "value": 1, "dollar_rate": ("USD", "1")}, "12.5", "1"),
        ({"invoice_currency": "EUR", "rate": ("EUR", "1.1"), "value": 1}, "", ""),
    ],
    ids=["in its own token", "of an invoice in dollars", "of an invoice in euros", "without a rate of dollars"],
)
def test_each_row_has_the_dollars_of_its_time(facts: dict[str, Any], dollars: str, of_one: str) -> None:
    rates = {
        name: Rate(value[0], "USDC-base", *_parts(value[1]), RateSource.CHAINLINK, histories.FIRST)
        for name, value in facts.items()
        if isinstance(value, tuple)
    }
    made = replace(
        histories.payment(Random(1), 1), currency="USDC-base", invoice_currency="USDC-base", amount=BaseUnits(12_500_000)
    )
    (row,) = lines(table([replace(made, **{**facts, **rates})], with_head=True))
    assert (row["amount"], row["amountInUsd"], row["usdRate"].rstrip("0")) == ("12.5", dollars, of_one.rstrip("0"))


def _parts(rate: str) -> tuple[BaseUnits, BaseUnits]:
    numerator, denominator = Fraction(rate).as_integer_ratio()
    return BaseUnits(numerator), BaseUnits(denominator)


def test_a_fee_is_in_dollars_too_where_their_rate_was_kept(new_shop: Shop) -> None:
    rate = Rate("USD", "fUSDC-sepolia", BaseUnits(5), BaseUnits(4), RateSource.CHAINLINK, histories.FIRST)
    request = store_request(running(), new_shop.account_id)
    made = store_payment_of(request, 12_500_000)
    running().store.write(replace(made, dollar_rate=rate, version=1))
    (found,) = find(new_shop, requestId=made.request_id).json["payments"]
    (fee,) = found["fees"]
    assert (fee["amount"], fee["amountInUSD"], fee["rateProvider"]) == ("0.125", "0.1", "chainlink")
    assert (found["conversionRateSource"], "rateProvider" in found) == (None, False), "those of a conversion"


@pytest.mark.parametrize(
    ("accept", "is_table"),
    [("text/csv", True), ("Text/CSV; charset=utf-8", True), ("text/csv;q=0", False), ("text/csv;q=0.1, */*;q=0.5", False)],
)
def test_a_table_is_the_answer_only_if_it_is_what_the_client_prefers(new_shop: Shop, accept: str, is_table: bool) -> None:
    reply = new_shop.api.get("/v2/payments?type=direct", {**new_shop.by_key, "accept": accept})
    assert (reply.status, reply.headers["content-type"].startswith("text/csv")) == (200, is_table)


def test_a_table_for_excel_begins_with_the_byte_order_mark_that_its_next_parts_have_not(new_shop: Shop) -> None:
    paid(new_shop, reference="Zürich")
    paid(new_shop, reference="Genève")
    headers = {**new_shop.by_key, "accept": "text/csv"}
    first = new_shop.api.get("/v2/payments?limit=1&excel=true", headers)
    following = re.fullmatch(r'<http://api\.test(.*)>; rel="next"', first.headers["link"])
    assert following is not None and "excel=true" in following[1]
    second = new_shop.api.get(following[1], headers)
    assert first.body.startswith(b"\xef\xbb\xbftimestamp,") and b"\xef\xbb\xbf" not in second.body
    (row,) = lines(first.body.decode("utf-8-sig"))
    assert row["reference"] in ("Zürich", "Genève")
    for query in ("", "&excel=false"):
        assert new_shop.api.get(f"/v2/payments?limit=1{query}", headers).body.startswith(b"timestamp,")
    assert new_shop.api.get("/v2/payments?type=direct&excel=true", new_shop.by_key).json["payments"]
    refused = new_shop.api.get("/v2/payments?excel=yes", headers)
    assert refused.status == 400 and "excel" in str(refused.json)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "=cmd|' /C calc'!A0", "\x00=1", "\ufeff=1", "\u200b+1", "\u3000@a", "\uff1d1"])
def test_a_cell_that_a_spreadsheet_would_run_is_inert(cell: str) -> None:
    made = replace(histories.payment(Random(1), 1), reference=cell)
    (row,) = lines(table([made], with_head=True))
    assert row["reference"] == "'" + cell
    assert inert("INV-1") == "INV-1"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d"])
@pytest.mark.parametrize("between", [";", "; ", ";\u200b", ';"', ";\"\"", "\t", "\n", "\r\n", '";', "a;b;;"])
@pytest.mark.parametrize("begin", ["", "INV"])
def test_no_part_of_a_cell_is_run_where_other_signs_than_a_comma_separate_cells(
    begin: str, between: str, sign: str
) -> None:
    """As in Excel where a comma is the decimal sign: a semicolon separates cells there, and ends what is quoted."""
    reference = f"{begin}{between}{sign}cmd|' /C calc'!A0"
    made = replace(histories.payment(Random(1), 1), reference=reference)
    written = table([made], with_head=False)
    for other in (csv.reader(io.StringIO(written), delimiter=";"), csv.reader(written.splitlines(), delimiter="\t")):
        for cell in (each for row in other for each in row):
            assert not cell.lstrip(" \u200b\"").startswith(sign), (written, cell)
    (row,) = lines(table([made], with_head=True))
    assert row["reference"].replace("'", "") == reference.replace("'", "")
    assert inert("a; b - c; d") == "a; b - c; d"


@rehearsed
def test_100_000_rows_take_constant_memory() -> None:
    class Endless(MemoryStore):
        """Lists with as many payments as are asked for, which are made when they are read."""

        left = 100_000

        def newest(self, cls: type[Any], span: Any, limit: int, queries: int = 1) -> Any:
            size, self.left = min(limit, self.left), max(self.left - limit, 0)
            made = tuple(replace(ONE, event_key=f"e-{self.left}-{number}", reference="x" * 50) for number in range(size))
            return SimpleNamespace(records=made, end=made[-1].listed_at if self.left else None)

    def parts(services: Any) -> Iterator[str]:
        cursor: str | None = ""
        while cursor is not None:
            page = flows.page_after(services, Filters("acct"), cursor, 2_000, with_requests=False)
            yield table(page.payments, with_head=cursor == "")
            cursor = page.cursor

    rows, peaks, made = 0, list[int](), parts(SimpleNamespace(store=Endless()))
    for number in range(50):
        if is_traced := number in (1, 2, 25, 47, 48):  # tracing takes several times as long
            tracemalloc.start()
        rows += next(made).count("\r\n")
        if is_traced:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert (rows, next(made, None)) == (100_001, None)
    assert max(peaks) < 1.2 * min(peaks) < 40_000_000


ONE = histories.payment(Random(3), 3)


def test_a_client_id_alone_has_few_queries_made_however_many_payments_others_of_the_account_have(new_shop: Shop) -> None:
    """The payee has 10 MB of payments of another client id, which a search leaves out one by one."""
    own, asked, events = replace(paid(new_shop), client_id=new_shop.client_id), list[int](), running().store.client.meta.events
    others = (
        replace(own, client_id="cli_other", log_index=number, event_key=f"o-{number}", payment_reference="0x" + "ab" * 90_000)
        for number in range(1, 60)
    )
    histories.record(running().store, [own, *others])

    def count(**_: Any) -> None:
        asked.append(1)

    events.register("before-call.dynamodb.Query", count)
    try:
        query = urlencode({"payee": own.payee, "walletAddress": own.payee, "limit": 1})
        reply = new_shop.api.get(f"/v2/payments?{query}", new_shop.by_client)
        assert (reply.status, len(asked)) == (400, 3), "one of what it paid, was paid, and both"
        assert "read the list by cursor" in reply.message
        found, cursor = list[str](), ""
        while cursor is not None:
            asked.clear()
            reply = new_shop.api.get(f"/v2/payments?{query}&cursor={cursor}", new_shop.by_client)
            assert len(asked) == 2
            found += [each["id"] for each in reply.json["payments"]]
            cursor = reply.json["pagination"]["nextCursor"]
        assert found == [own.payment_id]
        asked.clear()
        both = {**new_shop.by_key, **new_shop.by_client}
        assert new_shop.api.get(f"/v2/payments?{query}&cursor=", both).status == 200
        assert len(asked) > 2, "with a key beside it more is read at a time"
    finally:
        events.unregister("before-call.dynamodb.Query", count)
