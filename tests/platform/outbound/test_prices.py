"""The client of the price source against a real server: what it asks, what it keeps, and what it makes of hostile answers."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.catalogue.prices import price_currencies, price_ids
from chalicelib.chains.nodes.rpc import http_client
from chalicelib.platform.outbound import prices as price_source
from chalicelib.platform.outbound.prices import AROUND, Price, Prices, PricesUnavailable

UPDATED = 1_773_568_800
AT = datetime.fromtimestamp(UPDATED, UTC)
HONEST = b'{"usd-coin": {"usd": 0.9998, "eur": 0.925925925925925926, "last_updated_at": 1773568800}}'


class Source(ThreadingHTTPServer):
    """Answers with `body`; `seen` keeps path and headers of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.status, self.headers = HONEST, 200, dict[str, str]()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.before: Callable[[], None] = lambda: None
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v3"

    def handle_error(self, *_: object) -> None:
        """Says nothing: the client closes the connection of a response that is too long or too slow."""

    def reset(self) -> None:
        self.__dict__.update(body=HONEST, status=200, headers={}, seen=[], before=lambda: None)


class Handler(BaseHTTPRequestHandler):
    server: Source

    def do_GET(self) -> None:
        source = self.server
        source.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        source.before()
        self.send_response(source.status)
        for name, value in {"content-length": str(len(source.body)), **source.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(source.body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def server() -> Iterator[Source]:
    with Source() as source:
        yield source
        source.shutdown()


@pytest.fixture
def source(server: Source) -> Source:
    server.reset()
    return server


def now(source: Source, body: Any = None, id: str = "usd-coin", currency: str = "usd") -> Price | None:
    if body is not None:
        source.body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Prices(source.url).now(id, currency)


def test_a_price_is_read_to_its_last_digit_with_its_time(source: Source) -> None:
    assert now(source) == Price(Decimal("0.9998"), AT)
    assert now(source, currency="eur") == Price(Decimal("0.925925925925925926"), AT), "no float has so many digits"
    assert now(source, {"usd-coin": {"usd": 1, "last_updated_at": UPDATED}}) == Price(Decimal(1), AT)


def test_all_prices_are_asked_for_in_one_request_as_coingecko_documents_it(source: Source) -> None:
    now(source)
    ((path, headers),) = source.seen
    url = urlsplit(path)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.path == "/api/v3/simple/price"
    assert query.pop("ids").split(",") == list(price_ids())
    assert query.pop("vs_currencies").split(",") == list(price_currencies())
    assert query == {"include_last_updated_at": "true", "precision": "full"}
    assert len(path) < 4_000 and "x-cg-demo-api-key" not in headers


def test_the_key_is_sent_in_the_header_that_is_set(source: Source) -> None:
    calls = list[int]()

    def headers() -> dict[str, str]:
        calls.append(1)
        return {"x-cg-pro-api-key": "CG-secret"}

    prices = Prices(source.url, headers)
    assert calls == [], "no secret is read before the first request"
    prices.now("usd-coin", "usd")
    source.body = b'{"prices": []}'
    prices.around("usd-coin", "usd", AT)
    assert [seen["x-cg-pro-api-key"] for _, seen in source.seen] == ["CG-secret"] * 2 and calls == [1]


def test_prices_are_kept_for_some_seconds(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = Prices(source.url)
    for _ in range(3):
        prices.now("usd-coin", "usd")
    assert len(source.seen) == 1
    monkeypatch.setattr(price_source, "KEPT_SECONDS", 0)
    again = Prices(source.url)
    for _ in range(3):
        again.now("usd-coin", "usd")
    assert len(source.seen) == 4


def test_a_source_that_fails_is_left_alone_for_some_seconds(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    source.status = 429
    prices = Prices(source.url)
    for _ in range(3):
        with pytest.raises(PricesUnavailable):
            prices.now("usd-coin", "usd")
    assert len(source.seen) == 1
    monkeypatch.setattr(price_source, "SILENT_SECONDS", 0)
    source.status, again = 500, Prices(source.url)
    with pytest.raises(PricesUnavailable):
        again.now("usd-coin", "usd")
    source.status = 200
    assert again.now("usd-coin", "usd") is not None


def test_kept_prices_are_not_used_once_the_source_fails(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_source, "KEPT_SECONDS", 0)
    prices = Prices(source.url)
    assert prices.now("usd-coin", "usd") is not None
    source.body = b"{}"
    for _ in range(2):
        with pytest.raises(PricesUnavailable):
            prices.now("usd-coin", "usd")


def with_price(text: str) -> bytes:
    return f'{{"usd-coin": {{"usd": {text}, "last_updated_at": {UPDATED}}}, "dai": {{"usd": 2, "last_updated_at": 1}}}}'.encode()


@pytest.mark.parametrize(
    "text",
    [
        "0", "-1", "-0.5", "0.0", "1e-19", "1e400", "1e99999", "1e18446744073709551616", "-1e400", "1e18000",
        "null", '"1.0"', "true", "false", "[]", "{}", "[1]", "9" * 4000, "0." + "3" * 100, '"NaN"', '"Infinity"',
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_number_that_is_no_price_is_none_and_the_others_stay(source: Source, text: str) -> None:
    try:
        assert now(source, with_price(text)) is None
    except PricesUnavailable:
        assert text == "1e18446744073709551616", "no decimal has such an exponent: the whole answer is refused"
    else:
        assert now(source, id="dai") == Price(Decimal(2), datetime.fromtimestamp(1, UTC))


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10", "1_000", "9" * 5000], ids=lambda text: text[:20])
def test_a_number_that_is_not_json_refuses_the_whole_answer(source: Source, text: str) -> None:
    with pytest.raises(PricesUnavailable, match="as it should"):
        now(source, with_price(text))


@pytest.mark.parametrize("time", ["null", '"1773568800"', "-1", "1e9", "1.5", "99999999999999", "true", "[]"])
def test_a_price_without_its_time_is_none(source: Source, time: str) -> None:
    body = f'{{"usd-coin": {{"usd": 1, "last_updated_at": {time}}}, "dai": {{"usd": 2, "last_updated_at": 1}}}}'
    assert now(source, body.encode()) is None


def test_what_the_source_does_not_have_is_none(source: Source) -> None:
    assert now(source, id="dai") is None
    assert now(source, currency="chf") is None
    assert now(source, {"usd-coin": {"usd": 1}, "dai": {"usd": 1, "last_updated_at": UPDATED}}) is None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>sorry</html>", b"[]", b"null", b"1", b'"usd"', b"{", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"a":' * 50_000,
        b'{"usd-coin": [1]}', b'{"usd-coin": null}', b'{"status": {"error_code": 429, "error_message": "limit"}}',
    ],
    ids=lambda body: repr(body[:30]),
)  # fmt: skip
def test_an_answer_that_is_not_as_documented_is_no_price(source: Source, body: bytes) -> None:
    for read in (lambda: now(source, body), lambda: Prices(source.url).around("usd-coin", "usd", AT)):
        with pytest.raises(PricesUnavailable):
            read()


@pytest.mark.parametrize("body", [b"[" * 4_999, b"[" * 250_000, b'{"a":' * 80_000], ids=lambda body: f"{body[:5]!r}{len(body)}")
def test_no_parser_follows_brackets_until_the_stack_overflows(source: Source, body: bytes) -> None:
    """Python's limit of recursion is the process's, and packages raise it when they are imported."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        with pytest.raises(PricesUnavailable, match="as it should"):
            now(source, body)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 401, 403, 404, 429, 500, 503])
def test_another_status_is_no_price_and_no_redirect_is_followed(source: Source, status: int) -> None:
    source.status, source.headers = status, {"location": source.url + "/simple/price"}
    with pytest.raises(PricesUnavailable, match="does not answer"):
        now(source)
    assert len(source.seen) == 1


def test_an_answer_that_is_too_long_or_too_slow_is_no_price(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PricesUnavailable, match="does not answer"):
        now(source, HONEST + b" " * 600_000)
    for name in ("CONNECT_SECONDS", "READ_SECONDS", "TOTAL_SECONDS"):
        monkeypatch.setattr(http_client, name, 0.2)
    waiting = threading.Event()
    source.before = lambda: waiting.wait(2) and None
    with pytest.raises(PricesUnavailable, match="does not answer"):
        now(source, HONEST)
    waiting.set()


def test_nobody_there_is_no_price() -> None:
    with pytest.raises(PricesUnavailable, match="does not answer"):
        Prices("http://127.0.0.1:9").now("usd-coin", "usd")
    assert not Prices("").is_configured and Prices("http://127.0.0.1:9").is_configured


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_client(server: Source, body: bytes) -> None:
    server.reset()
    server.body = body
    with pytest.raises(PricesUnavailable):
        Prices(server.url).now("usd-coin", "usd")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["usd-coin", "usd", "last_updated_at", "prices"]), inner, max_size=3),
    max_leaves=12,
)


@given(json_values)
def test_no_json_breaks_the_client_or_gives_a_price_that_is_none(server: Source, value: Any) -> None:
    server.reset()
    server.body = json.dumps(value).encode()
    prices = Prices(server.url)
    for read in (lambda: [prices.now("usd-coin", "usd")], lambda: list(prices.around("usd-coin", "usd", AT))):
        try:
            found = read()
        except PricesUnavailable:
            continue
        assert all(each is None or each.value > 0 for each in found)


# --- past prices ---


def around(source: Source, *prices: Any) -> tuple[Price, ...]:
    source.body = json.dumps({"prices": prices}).encode()
    return Prices(source.url).around("usd-coin", "eur", AT)


def test_past_prices_are_those_near_the_instant_oldest_first(source: Source) -> None:
    hours = [[(UPDATED + hour * 3600) * 1000, 5 + hour] for hour in (3, 1, 0, -1, -2)]
    found = around(source, *hours)
    assert [((each.at - AT) / timedelta(hours=1), each.value) for each in found] == [(-1, 4), (0, 5), (1, 6)]
    ((path, _),) = source.seen
    url = urlsplit(path)
    assert url.path == "/api/v3/coins/usd-coin/market_chart/range"
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    hour, seconds = UPDATED // 3600 * 3600, int(AROUND.total_seconds())
    assert query == {"vs_currency": "eur", "precision": "full", "from": str(hour - seconds), "to": str(hour + 3600 + seconds)}


def test_past_prices_are_asked_for_once_an_hour_and_kept(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dust of many minutes costs one request of a quota that all accounts share."""
    monkeypatch.setattr(price_source, "KEPT_SECONDS", 0)
    source.body = json.dumps({"prices": [[(UPDATED + minute * 60) * 1000, 500 + minute] for minute in range(-200, 200)]}).encode()
    prices, hour = Prices(source.url), AT.replace(minute=0)
    for minute in range(60):
        found = prices.around("usd-coin", "usd", hour + timedelta(minutes=minute))
        assert {abs(each.at - hour - timedelta(minutes=minute)) <= AROUND for each in found} == {True}
        assert len(found) == 151
    assert len(source.seen) == 1
    prices.around("usd-coin", "usd", hour - timedelta(seconds=1))
    prices.around("usd-coin", "eur", hour)
    prices.around("dai", "usd", hour)
    assert len(source.seen) == 4


def test_an_hour_that_may_get_more_prices_is_read_again(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    prices = Prices(source.url)
    for body, at in ((b'{"prices": []}', AT), (json.dumps({"prices": [[int(now.timestamp()) * 1000, 5]]}).encode(), now)):
        source.reset()
        source.body = body
        for _ in range(3):
            prices.around("usd-coin", "usd", at)
        assert len(source.seen) == 1
    monkeypatch.setattr(price_source, "KEPT_SECONDS", 0)
    prices = Prices(source.url)
    for _ in range(3):
        prices.around("usd-coin", "usd", now)
    assert len(source.seen) == 4


def test_an_hour_without_an_answer_is_not_asked_for_again_for_some_seconds(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.status = 429
    prices = Prices(source.url)
    for _ in range(3):
        with pytest.raises(PricesUnavailable):
            prices.around("usd-coin", "usd", AT)
    assert len(source.seen) == 1
    with pytest.raises(PricesUnavailable):
        prices.around("dai", "usd", AT)
    assert len(source.seen) == 2, "nobody can silence the prices of other currencies"
    monkeypatch.setattr(price_source, "SILENT_SECONDS", 0)
    prices = Prices(source.url)
    for _ in range(3):
        with pytest.raises(PricesUnavailable):
            prices.around("usd-coin", "usd", AT)
    assert len(source.seen) == 5


def test_no_more_hours_are_kept_than_stated(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_source, "_MOST_HOURS", 3)
    source.body = json.dumps({"prices": [[UPDATED * 1000, 5]]}).encode()
    prices = Prices(source.url)
    for hour in (0, 1, 2, 3, 1, 2, 3):
        prices.around("usd-coin", "usd", AT - timedelta(hours=hour))
    assert len(source.seen) == 4
    prices.around("usd-coin", "usd", AT)
    assert len(source.seen) == 5, "the oldest was forgotten"


@pytest.mark.parametrize(
    "prices",
    [
        [[UPDATED * 1000, 0]], [[UPDATED * 1000, -1]], [[UPDATED * 1000, None]], [[UPDATED * 1000]], [[1, 2, 3]], ["ab"],
        [[None, 1]], [["1", 1]], [[2**70, 1]], [[-1, 1]], [None], [1], [[UPDATED * 1000, 1], [UPDATED * 1000, "x"]],
    ],
)  # fmt: skip
def test_one_wrong_entry_refuses_all_past_prices(source: Source, prices: list[Any]) -> None:
    with pytest.raises(PricesUnavailable, match="as it should"):
        around(source, *prices)


def test_without_prices_near_the_instant_there_are_none(source: Source) -> None:
    assert around(source) == ()
    assert around(source, [(UPDATED + 4600) * 1000, 1], [(UPDATED - 4600) * 1000, 1]) == ()
