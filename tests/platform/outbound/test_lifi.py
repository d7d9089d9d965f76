"""The client of the router against a real server: what it asks, and what it makes of answers that are none."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.nodes.rpc import http_client
from chalicelib.platform.outbound.lifi import (
    Lifi,
    QuoteCall,
    RouterRefused,
    RouterStatus,
    RouterStep,
    RouterUnavailable,
    step_of,
)
from tests.fakes.router import answer_to
from tests.support.patience import patience

QUESTION = QuoteCall(
    from_chain=8453,
    from_token="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    from_address="0x627306090abaB3A6e1400e9345bC60c78a8BEf57",
    to_chain=42161,
    to_token="0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    to_amount=1_010_000,
    target="0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9",
    calldata="0xc219a14d",
    gas_limit=200_000,
    fallback="0x627306090abaB3A6e1400e9345bC60c78a8BEf57",
)
ANSWER = answer_to(QUESTION, 1_773_568_800)
TX_HASH = "0x" + "ab" * 32


class Server(ThreadingHTTPServer):
    """Answers with `body`; `seen` keeps method, path, headers and body of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reset()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def client(self) -> Lifi:
        return Lifi(f"http://127.0.0.1:{self.server_port}", "shop")

    def reset(self) -> None:
        self.body, self.status, self.headers = json.dumps(ANSWER).encode(), 200, dict[str, str]()
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.before: Callable[[], None] = lambda: None

    def handle_error(self, *_: object) -> None:
        """Says nothing: the client closes the connection of a response that is too long or too slow."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self._respond(self.rfile.read(int(self.headers["content-length"])))

    def do_GET(self) -> None:
        self._respond(b"")

    def _respond(self, body: bytes) -> None:
        router = self.server
        router.seen.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        router.before()
        self.send_response(router.status)
        for name, value in {"content-length": str(len(router.body)), **router.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(router.body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server
        server.shutdown()


@pytest.fixture
def router(server: Server) -> Server:
    server.reset()
    return server


def says(router: Server, status: int, body: Any, **headers: str) -> None:
    router.status = status
    router.body = body if isinstance(body, bytes) else json.dumps(body).encode()
    router.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def test_a_quote_is_asked_for_as_the_api_documents_it(router: Server) -> None:
    router.client.quote_call(QUESTION)
    ((method, path, headers, body),) = router.seen
    assert (method, path) == ("POST", "/v1/quote/contractCalls")
    assert "x-lifi-api-key" not in headers
    assert json.loads(body) == {
        "fromChain": 8453,
        "fromToken": QUESTION.from_token,
        "fromAddress": QUESTION.from_address,
        "toChain": 42161,
        "toToken": QUESTION.to_token,
        "toAmount": "1010000",
        "toFallbackAddress": QUESTION.fallback,
        "contractCalls": [
            {
                "fromAmount": "1010000",
                "fromTokenAddress": QUESTION.to_token,
                "toContractAddress": QUESTION.target,
                "toContractCallData": "0xc219a14d",
                "toContractGasLimit": "200000",
                "toFallbackAddress": QUESTION.fallback,
            }
        ],
        "integrator": "shop",
        "allowBridges": ["across"],
        "allowExchanges": ["none"],
    }


def test_the_fields_of_a_step_are_those_of_the_answer(router: Server) -> None:
    step = router.client.quote_call(QUESTION)
    transaction = ANSWER["transactionRequest"]
    assert (step.to, step.data, step.sender) == (transaction["to"], transaction["data"], transaction["from"])
    assert (step.value, step.chain_id, step.gas_limit) == (0, 8453, 200_000)
    assert step.source_amount == 1_010_000 + 808 + 20_000
    assert (step.tool, step.id, step.seconds, step.raw) == ("across", ANSWER["id"], 4, ANSWER)
    (cost,) = step.gas_costs
    assert (cost.token, cost.chain_id) == ("0x" + "00" * 20, 8453)
    assert (cost.amount, cost.dollars) == (5 * 10**12, 1_000_000)


def test_the_key_is_read_once_and_sent_with_each_request(router: Server) -> None:
    read = list[int]()

    def key() -> str:
        read.append(1)
        return "secret"

    client = Lifi(router.client._base_url, "shop", key)
    assert read == [], "no secret is read before the first request"
    client.quote_call(QUESTION)
    client.quote_call(QUESTION)
    assert [headers["x-lifi-api-key"] for _, _, headers, _ in router.seen] == ["secret"] * 2 and read == [1]
    assert client.has_key and not router.client.has_key


def test_without_a_url_there_is_no_router() -> None:
    assert Lifi("https://li.quest", "shop").is_configured
    assert not Lifi("", "shop").is_configured


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html><body>Bad gateway</body></html>"),
        (200, b""),
        (200, b"[]"),
        (200, b"null"),
        (200, b'"text"'),
        (200, b"[" * 5_000),
        (200, b'{"id": ' * 1_000),
        (200, b"\xff\xfe"),
        (200, b'{"id": NaN}'),
        (204, b""),
        (302, b""),
        (404, b"<html>not found</html>"),
        (404, {"message": "no code"}),
        (401, {"message": "Unauthorized", "code": 1010}),
        (400, {"message": "Rate limit exceeded", "code": 1005}),
        (424, {"message": "A third party failed", "code": 1008}),
        (500, {"message": "Server error", "code": 1006}),
        (502, b"<html>"),
        (503, b""),
    ],
)
def test_what_is_no_answer_is_none(router: Server, status: int, body: Any) -> None:
    says(router, status, body)
    with pytest.raises(RouterUnavailable) as unavailable:
        router.client.quote_call(QUESTION)
    assert unavailable.value.retry_after is None
    assert len(router.seen) == 1, "it is not asked again"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30),
        ({"ratelimit_reset": "5400"}, 5400),
        ({"retry_after": "30", "ratelimit_reset": "5400"}, 30),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT", "ratelimit_reset": "12"}, 12),
        ({"retry_after": "999999999"}, 7200),
        ({"retry_after": "-1"}, None),
        ({}, None),
    ],
)
def test_too_many_requests_say_when_to_come_back(router: Server, headers: dict[str, str], seconds: int | None) -> None:
    says(router, 429, {"message": "Rate limit exceeded", "code": 1005}, **headers)
    with pytest.raises(RouterUnavailable) as unavailable:
        router.client.quote_call(QUESTION)
    assert unavailable.value.retry_after == seconds


@pytest.mark.parametrize(("status", "code"), [(404, 1002), (400, 1011), (422, 1004), (409, 1007)])
def test_a_refusal_has_the_code_and_the_reason_without_control_characters(router: Server, status: int, code: int) -> None:
    says(router, status, {"message": "No available quotes\n\x1b[31m" + "x" * 500, "code": code})
    with pytest.raises(RouterRefused) as refused:
        router.client.quote_call(QUESTION)
    assert (refused.value.code, len(str(refused.value)), refused.value.problems) == (code, 200, set())
    assert str(refused.value).startswith("No available quotes[31mxx")


@pytest.mark.parametrize(
    "errors",
    [
        [{"errorType": "NO_QUOTE", "code": "AMOUNT_TOO_LOW", "tool": "across"}],
        {"filteredOut": [], "failed": [{"subpaths": {"10:USDC-across": [{"code": "AMOUNT_TOO_LOW"}]}}]},
    ],
)
def test_a_refusal_has_the_codes_of_single_bridges_in_either_form(router: Server, errors: Any) -> None:
    says(router, 404, {"message": "No available quotes", "code": 1002, "errors": errors})
    with pytest.raises(RouterRefused) as refused:
        router.client.quote_call(QUESTION)
    assert refused.value.problems == {"AMOUNT_TOO_LOW"}


def test_the_codes_of_trouble_are_no_refusals(router: Server) -> None:
    """The others of the documentation say something about what was asked for."""
    refusals = {1000, 1001, 1002, 1003, 1004, 1007, 1011, 1013}
    for code in range(1000, 1014):
        says(router, 404, {"message": "why", "code": code})
        with pytest.raises(RouterRefused if code in refusals else RouterUnavailable) as trouble:
            router.client.quote_call(QUESTION)
        assert code in refusals or str(trouble.value) == f"status 404, code {code}"


def test_an_answer_that_comes_slowly_never_or_without_end_is_none(router: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.2)
    released = threading.Event()
    router.before = lambda: released.wait(patience()) and None
    with pytest.raises(RouterUnavailable, match="ResponseTimeout"):
        router.client.quote_call(QUESTION)
    released.set()
    says(router, 200, b'"' + b"x" * 300_000 + b'"')
    with pytest.raises(RouterUnavailable, match="ResponseTooLarge"):
        router.client.quote_call(QUESTION)
    with pytest.raises(RouterUnavailable, match="HttpError"):
        Lifi("http://127.0.0.1:1", "shop").quote_call(QUESTION)


def test_an_answer_of_as_many_bytes_as_are_read_is_one_and_a_longer_one_is_none(router: Server) -> None:
    text = json.dumps(ANSWER)
    says(router, 200, text.ljust(256 * 1024).encode())
    assert router.client.quote_call(QUESTION).tool == "across"
    says(router, 200, text.ljust(256 * 1024 + 1).encode())
    with pytest.raises(RouterUnavailable, match="ResponseTooLarge"):
        router.client.quote_call(QUESTION)


def test_where_a_transfer_is_is_asked_by_its_hash_and_chains(router: Server) -> None:
    says(
        router,
        200,
        {
            "status": "DONE",
            "substatus": "PARTIAL",
            "tool": "across",
            "sending": {"txHash": TX_HASH, "chainId": 8453},
            "receiving": {"txHash": "0x" + "cd" * 32, "chainId": 42161},
        },
    )
    found = router.client.status(TX_HASH, 8453, 42161, "across")
    assert found == RouterStatus("DONE", "PARTIAL", TX_HASH, "0x" + "cd" * 32, 42161, "across")
    url = urlsplit(router.seen[0][1])
    assert (url.path, parse_qs(url.query)) == (
        "/v1/status",
        {"txHash": [TX_HASH], "fromChain": ["8453"], "toChain": ["42161"], "bridge": ["across"]},
    )


def test_a_transfer_that_the_router_does_not_know_has_no_hashes(router: Server) -> None:
    for body in ({"status": "NOT_FOUND"}, {"status": "NOT_FOUND", "sending": None, "receiving": {"chainId": 0}, "tool": None}):
        says(router, 200, body)
        assert router.client.status(TX_HASH, 8453, 42161) == RouterStatus("NOT_FOUND", None, None, None, None, None)


@pytest.mark.parametrize(
    "change", [{"status": 1}, {"status": "done"}, {"receiving": []}, {"receiving": {"txHash": "0x12"}}, {"receiving": {"chainId": "x"}}]
)
def test_a_status_in_another_form_is_none(router: Server, change: dict[str, Any]) -> None:
    says(router, 200, {"status": "DONE", **change})
    with pytest.raises(RouterUnavailable):
        router.client.status(TX_HASH, 8453, 42161)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    yield path


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    return other if not path else {**value, path[0]: replaced(value[path[0]], path[1:], other)}


READ = [path for path in leaves(ANSWER) if path and path[0] in ("estimate", "transactionRequest", "id", "tool")]
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(max_value=-1),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)


@given(st.sampled_from(READ), WRONG)
def test_a_field_of_another_kind_makes_no_step_or_one_of_the_declared_types(path: tuple[Any, ...], other: Any) -> None:
    """Whatever stands where: never another exception, never a value of another type inside."""
    try:
        step = step_of(replaced(ANSWER, path, other))
    except RouterUnavailable:
        return
    assert isinstance(step, RouterStep)
    for name in ("id", "tool", "to", "data", "sender", "approval_address"):
        assert isinstance(getattr(step, name), str)
    for name in ("value", "chain_id", "gas_limit", "source_amount", "seconds"):
        assert type(getattr(step, name)) is int and getattr(step, name) >= 0


@pytest.mark.parametrize(
    ("path", "other", "read"),
    [
        (("transactionRequest", "value"), 0, 0),
        (("transactionRequest", "value"), "0", 0),
        (("transactionRequest", "chainId"), "8453", 8453),
        (("transactionRequest", "gasLimit"), "200000", 200_000),
        (("estimate", "fromAmount"), 1030808, 1030808),
    ],
)
def test_numbers_are_read_as_json_numbers_decimal_texts_or_hex(path: tuple[str, str], other: Any, read: int) -> None:
    step = step_of(replaced(ANSWER, path, other))
    names = {"value": "value", "chainId": "chain_id", "gasLimit": "gas_limit", "fromAmount": "source_amount"}
    assert getattr(step, names[path[1]]) == read


@pytest.mark.parametrize("other", ["0x", "-1", "1e3", "1.5", " 1", "0x" + "f" * 65, str(2**256), 2**256, 1.0, True, None, "１"])
def test_other_numbers_make_no_step(other: Any) -> None:
    for path in (("transactionRequest", "value"), ("transactionRequest", "gasLimit"), ("estimate", "fromAmount")):
        with pytest.raises(RouterUnavailable):
            step_of(replaced(ANSWER, path, other))


def reads(path: tuple[str, str], other: Any) -> bool:
    try:
        step_of(replaced(ANSWER, path, other))
    except RouterUnavailable:
        return False
    return True


def test_fields_at_their_limits_are_read_and_beyond_them_not() -> None:
    (gas,) = ANSWER["estimate"]["gasCosts"]
    seconds = ("estimate", "executionDuration")
    assert [reads(seconds, each) for each in (-1, 0, 604_800, 604_801)] == [False, True, True, False]
    assert [reads(("estimate", "gasCosts"), [gas] * count) for count in (20, 21)] == [True, False]
    assert [reads(("estimate", "fromAmount"), each) for each in (2**256 - 1, 2**256)] == [True, False]


@pytest.mark.parametrize("dollars", [None, 5, 0.5, "x", "-1", "1e3", "", ["1"]])
def test_a_cost_whose_dollars_are_not_told_has_none(dollars: Any) -> None:
    (gas,) = ANSWER["estimate"]["gasCosts"]
    step = step_of(replaced(ANSWER, ("estimate", "gasCosts"), [{**gas, "amountUSD": dollars}]))
    assert [cost.dollars for cost in step.gas_costs] == [None]


def test_an_answer_of_many_brackets_is_not_parsed(router: Server) -> None:
    own = json.dumps(ANSWER).count("{") + json.dumps(ANSWER).count("[")
    for wanted, few in ((2_000, True), (2_001, False)):
        says(router, 200, {**ANSWER, "more": [[]] * (wanted - own - 1)})
        if few:
            assert router.client.quote_call(QUESTION).tool == "across"
        else:
            with pytest.raises(RouterUnavailable):
                router.client.quote_call(QUESTION)


def test_a_refusal_needs_a_code_that_is_a_number_and_no_message(router: Server) -> None:
    says(router, 404, {"code": 1002})
    with pytest.raises(RouterRefused, match="no reason given"):
        router.client.quote_call(QUESTION)
    says(router, 404, {"code": "1002", "message": "No available quotes"})
    with pytest.raises(RouterUnavailable):
        router.client.quote_call(QUESTION)


def test_the_bridge_of_a_transfer_is_named_only_if_it_is_known(router: Server) -> None:
    says(router, 200, {"status": "NOT_FOUND"})
    router.client.status(TX_HASH, 8453, 42161)
    assert "bridge" not in router.seen[0][1]
