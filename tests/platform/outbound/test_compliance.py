"""The client of the compliance provider against real servers: what it sends, and what it makes of hostile answers."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.nodes.rpc import http_client
from chalicelib.platform.outbound.compliance import (
    Compliance,
    NewOrder,
    ProviderAccount,
    ProviderOrder,
    ProviderRefused,
    ProviderUnavailable,
    ProviderUser,
    account_of,
    order_of,
    user_of,
)
from infra.local.provider import ProviderServer
from tests.fakes.compliance import BANK, PERSON

USER, ACCOUNT = "a25a4274-8f50-4579-b476-8f35b297d4ad", "fa898aec-519c-46be-9b4c-e76ef4ff99d9"
KEY = f"{USER}/1"
NEW = NewOrder("order-1", USER, ACCOUNT, "base", "USDC", "0x" + "ab" * 20, "12.50", "0x" + "12" * 8)


@pytest.fixture
def sandbox() -> Iterator[ProviderServer]:
    with ProviderServer(None, step_seconds=3600) as server:
        yield server


class Server(ThreadingHTTPServer):
    """Answers with `status` and `body`; `seen` keeps method, path, headers and body of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.headers = 200, b"{}", dict[str, str]()
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.before: Callable[[], None] = lambda: None
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        return


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, body))
        self.server.before()
        self.send_response(self.server.status)
        for name, value in {"content-length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_PUT = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
        running.shutdown()


def client(server: Server, key: str | None = None) -> Compliance:
    return Compliance(f"http://127.0.0.1:{server.server_port}/v1", lambda: key)


def test_a_person_an_account_and_an_order_are_created_once_and_read(sandbox: ProviderServer) -> None:
    compliance = Compliance(sandbox.url)
    assert compliance.user(USER) is None
    made = compliance.put_user(USER, PERSON, KEY)
    assert made == compliance.put_user(USER, PERSON, KEY) == compliance.user(USER)
    assert (made.sequence, made.kyc_status, made.agreement_status) == (1, "not_started", "not_started")
    assert made.agreement_url == "https://agreements.provider.example/?email=john.doe%40example.com"
    assert compliance.complete_agreement(USER).agreement_status == "completed"
    assert compliance.account(USER, ACCOUNT) is None
    account = compliance.put_account(USER, ACCOUNT, BANK)
    assert account == compliance.account(USER, ACCOUNT) == ProviderAccount(ACCOUNT, USER, 1, "pending")
    assert compliance.account("another", ACCOUNT) is None
    assert compliance.order("order-1") is None
    order = compliance.put_order(NEW)
    assert order == compliance.put_order(NEW) == compliance.order("order-1")
    assert (order.user_id, order.account_id, order.status) == (USER, ACCOUNT, "created")
    assert sandbox.provider.details["order-1"] == {
        "userId": USER,
        "bankAccountId": ACCOUNT,
        "network": "base",
        "token": "USDC",
        "tokenAddress": NEW.token_address,
        "amount": "12.50",
        "reference": NEW.reference,
    }
    compliance.forget_user(USER)
    compliance.forget_user(USER)
    assert compliance.user(USER) is compliance.account(USER, ACCOUNT) is None


def test_details_are_taken_once_for_each_number_and_never_after_newer_ones(sandbox: ProviderServer) -> None:
    compliance, kept = Compliance(sandbox.url), sandbox.provider.details
    compliance.put_user(USER, PERSON, KEY)
    compliance.put_user(USER, {**PERSON, "city": "again"}, KEY)
    assert kept[USER]["city"] == PERSON["city"]
    compliance.put_user(USER, {**PERSON, "city": "newest"}, f"{USER}/3")
    compliance.put_user(USER, {**PERSON, "city": "late"}, f"{USER}/2")
    assert kept[USER]["city"] == "newest"
    with pytest.raises(ProviderRefused):
        compliance.put_user(USER, {**PERSON, "city": "refused"}, f"{USER}/4")
    compliance.put_user(USER, {**PERSON, "city": "good"}, f"{USER}/5")
    assert kept[USER]["city"] == "good"


def test_the_key_is_sent_with_the_other_headers(server: Server) -> None:
    server.body = json.dumps({"id": USER, "sequence": 1, "kycStatus": "pending", "agreementStatus": "pending"}).encode()
    client(server, "secret").put_user(USER, PERSON, KEY)
    ((method, path, headers, body),) = server.seen
    assert (method, path, json.loads(body)) == ("PUT", f"/v1/users/{USER}", PERSON)
    assert (headers["idempotency-key"], headers["authorization"]) == (KEY, "Bearer secret")
    assert headers["content-type"] == "application/json"


def test_refused_details_name_their_fields(sandbox: ProviderServer) -> None:
    with pytest.raises(ProviderRefused) as refused:
        Compliance(sandbox.url).put_user(USER, {**PERSON, "phone": "refused", "city": ""}, KEY)
    assert refused.value.fields == ("phone",)


def test_fields_that_were_not_sent_are_not_named(server: Server) -> None:
    server.status, server.body = 422, b'{"fields": ["phone", "<script>", "admin"]}'
    with pytest.raises(ProviderRefused) as refused:
        client(server).put_user(USER, PERSON, KEY)
    assert refused.value.fields == ("phone",)


def test_the_key_is_read_once_and_sent_with_every_request(server: Server) -> None:
    server.body = json.dumps({"id": USER, "sequence": 1, "kycStatus": "a", "agreementStatus": "b"}).encode()
    asked = list[int]()

    def key() -> str:
        asked.append(1)
        return "secret"

    compliance = Compliance(f"http://127.0.0.1:{server.server_port}/v1", key)
    assert asked == []
    compliance.user(USER)
    compliance.put_user(USER, PERSON, KEY)
    compliance.forget_user(USER)
    assert [(method, path) for method, path, _, _ in server.seen] == [
        ("GET", f"/v1/users/{USER}"), ("PUT", f"/v1/users/{USER}"), ("DELETE", f"/v1/users/{USER}"),
    ]  # fmt: skip
    assert {headers["authorization"] for _, _, headers, _ in server.seen} == {"Bearer secret"}
    assert json.loads(server.seen[1][3]) == PERSON
    assert asked == [1]


@pytest.mark.parametrize("status", [204, 301, 302, 307, 401, 403, 409, 418, 429, 500, 502, 503])
def test_another_status_is_no_answer_and_nothing_is_sent_again(server: Server, status: int) -> None:
    server.status, server.headers = status, {"location": "/elsewhere", "retry-after": "0"}
    for call in (lambda c: c.user(USER), lambda c: c.put_user(USER, PERSON, KEY), lambda c: c.order("order-1")):
        with pytest.raises(ProviderUnavailable):
            call(client(server))
    assert len(server.seen) == 3


BODIES = [b"", b"[]", b"null", b"\xff", b"[" * 60_000, b" " * 65_537, b'{"id": "' + b"x" * 300 + b'"}']


@pytest.mark.parametrize("body", BODIES, ids=len)
def test_another_body_is_no_answer(server: Server, body: bytes) -> None:
    server.body = body
    with pytest.raises(ProviderUnavailable):
        client(server).user(USER)


def test_a_server_that_is_silent_or_gone_is_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("READ_SECONDS", "TOTAL_SECONDS"):
        monkeypatch.setattr(http_client, name, 0.2)
    server.before = lambda: time.sleep(1)
    with pytest.raises(ProviderUnavailable) as error:
        client(server).user(USER)
    assert error.value.logged == "The compliance provider did not answer: ResponseTimeout"
    with pytest.raises(ProviderUnavailable):
        Compliance("http://127.0.0.1:9").user(USER)


TREE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = [
    "id", "userId", "bankAccountId", "sequence", "kycStatus", "agreementStatus", "status", "kycUrl", "providerId",
    "depositAddress", "amount", "fee", "reason",
]  # fmt: skip


@given(found=TREE | st.dictionaries(st.sampled_from(NAMES), TREE | st.sampled_from([1, "pending", "https://a.example"])))
def test_whatever_is_answered_is_a_resource_in_its_form_or_no_answer(found: Any) -> None:
    for read in (user_of, account_of, order_of):
        try:
            made = read(found)
        except ProviderUnavailable:
            continue
        assert made.sequence >= 1
        for text in vars(made).values():
            assert text is None or isinstance(text, int) or (len(text) <= 2_100 and text.isprintable())


def test_a_reason_is_bounded_and_plain(server: Server) -> None:
    said = account_of({"id": "a", "userId": "u", "sequence": 1, "status": "failed", "reason": "no\x00\u202e\n" * 200})
    assert said.reason is not None and len(said.reason) == 200 and said.reason.isprintable()


def test_the_resources_are_read_field_by_field() -> None:
    assert user_of(
        {"id": "u", "sequence": 2, "kycStatus": "pending", "agreementStatus": "signed", "kycUrl": None, "more": 1}
    ) == ProviderUser("u", 2, "pending", "signed")
    assert order_of(
        {
            "id": "o", "userId": "u", "bankAccountId": "b", "sequence": 3, "status": "failed", "providerId": "p",
            "depositAddress": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "amount": "9", "fee": "1.25", "reason": "closed",
        }
    ) == ProviderOrder("o", "u", "b", 3, "failed", "p", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "9", "1.25", "closed")  # fmt: skip
