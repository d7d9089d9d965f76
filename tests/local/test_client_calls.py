"""The packages of infra/clients, built and installed: what they call, repeat, raise and verify, the same in both languages."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_string
from functools import partial
from typing import Any

import pytest

from chalicelib.webhooks.signatures import standard_headers, standard_secret
from infra.clients.operations import methods_of
from infra.documents.api import read_document
from tests.local.made_clients import MadeClient, python_client, typescript_client
from tests.support.http_server import Request, Response, serving

CLIENTS = ("python_client", "typescript_client")
SECRET, OTHER = "5e" * 32, "7f" * 32
BODY = '{"event":"payment.confirmed","note":"é"}'
PAGES = {None: ("a", "b", "c2"), "c2": ("c", "d", "c3"), "c3": ("e", "f", None)}
assert python_client and typescript_client, "fixtures, which are found by their names here"


@dataclass
class Script:
    """A server whose answers are written down: by method and path, one after the other, the last one again and again."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, str], Any] | None:
        """The status, headers and body; None if the connection is closed without one."""
        what = f"{request['verb']} {request['path']}"
        self.times[what] += 1
        time_of_it = self.times[what]
        about = {"x-request-id": "req-1"}
        error = {"statusCode": 503, "message": "Busy", "error": "ServiceError"}
        match what:
            case "POST /v2/request":
                return (503, about, error) if time_of_it < 3 else (201, {}, {"requestId": "r1"})
            case "POST /v2/request/r%2F1%20%3F/cancel" | "GET /v2/request/limited":
                return 200, {}, {"requestId": "r/1 ?"}
            case "POST /v2/secure-payments/t/signing":
                return 503, about, error
            case "POST /v2/secure-payments/limited/signing":
                return (429, {"retry-after": "2"}, error) if time_of_it == 1 else (200, {}, {"ok": True})
            case "GET /v2/request/reset":
                return None if time_of_it < 3 else (200, {}, {"requestId": "reset"})
            case "GET /v2/request/refused":
                body = {"statusCode": 404, "code": "REQUEST_NOT_FOUND", "message": "Request not found", "error": "NotFound"}
                return 404, about, body
            case "GET /v2/payments":
                first, second, following = PAGES[request["query"].get("cursor")]
                entries = [{"id": each, "asked": request["query"]} for each in (first, second)]
                return 200, {}, {"payments": entries, "pagination": {"nextCursor": following, "hasMore": following is not None}}
            case "GET /v2/events":
                first, second, following = PAGES[request["query"].get("after")]
                page = {"events": [{"id": first}, {"id": second}], "nextCursor": following or "c4"}
                return 200, {}, {**page, "hasMore": following is not None}
            case "POST /auth/v1/webhook":
                return 202, about, {"pendingChange": {"id": "ch1"}, "result": {"id": "w"}}
            case "POST /auth/v1/webhook/w/deliveries/d/redeliver":
                return 202, {}, {"id": "d", "state": "pending"}
            case "GET /v2/status":
                return 502, about, "<html>bad gateway</html>"
        return None


@pytest.fixture
def script() -> Iterator[Script]:
    found = Script()

    def answer(sent: Request) -> Response | None:
        path, _, query = sent.path.partition("?")
        request = {
            "verb": sent.verb,
            "path": path,
            "query": dict(each.split("=") for each in query.split("&") if each),
            "headers": sent.headers,
            "body": json.loads(sent.body) if sent.body else None,
        }
        found.asked.append(request)
        answered = found.answer(request)
        if answered is None:
            return None
        status, headers, body = answered
        return Response(status, headers, (body if isinstance(body, str) else json.dumps(body)).encode())

    with serving(answer) as found.url:
        yield found


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> MadeClient:
    found: MadeClient = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def outcomes(client: MadeClient, script: Script) -> dict[str, Any]:
    """What each call of the program led to."""
    found: dict[str, Any] = json.loads(client.run("calls", script.url, "[]"))["calls"]
    return found


def hook(secrets: list[str], secret: str, age: timedelta = timedelta(0), **changed: Any) -> dict[str, Any]:
    """A delivery signed by these secrets so long ago, and the one that its receiver has."""
    at = datetime.now(UTC) - age
    headers = {**standard_headers("01M8", secrets, BODY.encode(), at), **changed.get("headers", {})}
    kept = {name: value for name, value in headers.items() if name != changed.get("without")}
    return {"body": changed.get("body", BODY), "headers": kept, "secret": secret}


HOOKS = {
    "by the secret": (partial(hook, [SECRET], SECRET), True),
    "by the secret in its other form": (partial(hook, [SECRET], standard_secret(SECRET)), True),
    "the first of two": (partial(hook, [SECRET, OTHER], SECRET), True),
    "the second of two": (partial(hook, [OTHER, SECRET], SECRET), True),
    "by another secret": (partial(hook, [OTHER], SECRET), False),
    "another body": (partial(hook, [SECRET], SECRET, body=BODY + " "), False),
    "another id": (partial(hook, [SECRET], SECRET, headers={"webhook-id": "01M9"}), False),
    "too old": (partial(hook, [SECRET], SECRET, age=timedelta(minutes=6)), False),
    "of later": (partial(hook, [SECRET], SECRET, age=-timedelta(minutes=30)), False),
    "no time": (partial(hook, [SECRET], SECRET, headers={"webhook-timestamp": "now"}), False),
    "another version": (partial(hook, [SECRET], SECRET, headers={"webhook-signature": "v2,AAAA"}), False),
    "no base64": (partial(hook, [SECRET], SECRET, headers={"webhook-signature": "v1,é v1, v1"}), False),
    "without a signature": (partial(hook, [SECRET], SECRET, without="webhook-signature"), False),
}


def test_what_changes_something_is_repeated_under_one_key_until_it_is_done(
    script: Script, outcomes: dict[str, Any]
) -> None:
    assert outcomes["created"] == ["returned", {"requestId": "r1"}, [], 2]
    created = [each for each in script.asked if each["path"] == "/v2/request"]
    assert len(created) == 3 and len({each["headers"]["idempotency-key"] for each in created}) == 1
    assert created[0]["body"] == {"amount": "1", "invoiceCurrency": "USD", "paymentCurrency": "USDC-base"}
    assert {"x-api-key": "key", "x-client-id": "cli_1"}.items() <= created[0]["headers"].items()
    (cancelled,) = (each for each in script.asked if each["path"].endswith("/cancel"))
    assert outcomes["with own key"][0] == "returned" and cancelled["headers"]["idempotency-key"] == "mine"


def test_what_has_no_key_is_sent_once_unless_it_was_refused_as_one_of_too_many(
    script: Script, outcomes: dict[str, Any]
) -> None:
    assert outcomes["once only"][:2] == ["ServerError", 503] and outcomes["once only"][-1] == 0
    assert outcomes["reset once only"] == ["ConnectionFailed", 0]
    assert outcomes["limited"] == ["returned", {"ok": True}, [2], 1], "after as long as the service asks for"
    signings = [each for each in script.asked if each["path"].endswith("/signing")]
    assert len(signings) == 4 and not any("idempotency-key" in each["headers"] for each in signings)


def test_a_read_is_repeated_after_a_broken_connection_and_an_error_that_stays_is_raised(outcomes: dict[str, Any]) -> None:
    assert outcomes["reset"] == ["returned", {"requestId": "reset"}, [], 2]
    assert outcomes["no json"] == ["ServerError", 502, None, "the response has no message", "req-1", None, 3]


def test_an_error_has_status_code_message_and_the_id_of_the_request(outcomes: dict[str, Any]) -> None:
    name, status, code, message, request_id, body, _ = outcomes["refused"]
    assert (name, status, code) == ("NotFound", 404, "REQUEST_NOT_FOUND")
    assert (message, request_id, body["error"]) == ("Request not found", "req-1", "NotFound")


def test_a_list_is_all_of_its_pages_and_a_page_is_one(outcomes: dict[str, Any]) -> None:
    listed = outcomes["listed"][1]
    assert [each["id"] for each in listed] == list("abcdef")
    assert [each["asked"] for each in listed[::2]] == [
        {"network": "base", "limit": "2", **({"cursor": each} if each else {})} for each in PAGES
    ]
    assert [each["id"] for each in outcomes["followed"][1]] == list("abcdef")
    assert [each["id"] for each in outcomes["one page"][1]["payments"]] == ["c", "d"]


def test_a_change_that_waits_for_approval_is_no_success(outcomes: dict[str, Any]) -> None:
    assert outcomes["waits"][:2] == ["WaitsForApproval", 202]
    assert outcomes["waits"][5]["pendingChange"] == {"id": "ch1"}
    assert outcomes["accepted"] == ["returned", {"id": "d", "state": "pending"}, [], 0]


def test_a_webhook_is_verified_as_the_libraries_of_standard_webhooks_do(client: MadeClient, script: Script) -> None:
    found = json.loads(client.run("calls", script.url, json.dumps([sign() for sign, _ in HOOKS.values()])))["hooks"]
    expected = [["returned", json.loads(BODY), [], 0] if genuine else ["InvalidSignature", 0] for _, genuine in HOOKS.values()]
    assert dict(zip(HOOKS, found, strict=True)) == dict(zip(HOOKS, expected, strict=True))


def test_strict_checkers_of_types_accept_programs_and_refuse_a_field_that_does_not_exist(client: MadeClient) -> None:
    ending = {"python": "py", "typescript": "ts"}[client.language]
    for program in ("example", "calls") if client.language == "python" else ():  # tsc has compiled both without errors
        assert client.check(program) == ""
    text = (client.folder / f"example.{ending}").read_text()
    assert 'amount": "12.5"' in text or 'amount: "12.5"' in text
    wrong = client.folder / f"wrong.{ending}"
    wrong.write_text(text.replace('amount": "12.5"', 'amuont": "12.5"').replace('amount: "12.5"', 'amuont: "12.5"'))
    try:
        said = client.check("wrong")
    finally:
        wrong.unlink()
    assert "amuont" in said or "amount" in said


def test_the_packages_have_the_version_of_the_document_and_need_httpx_or_nothing(
    python_client: MadeClient, typescript_client: MadeClient
) -> None:
    version = read_document()["info"]["x-revision"]
    wheel = next(each for each in python_client.packed if each.suffix == ".whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = message_from_string(archive.read(next(each for each in names if each.endswith("METADATA"))).decode())
    assert (metadata["Version"], metadata.get_all("Requires-Dist")) == (version, ["httpx<1,>=0.27"])
    assert {"payment_requests/py.typed", "payment_requests/client.py"} <= set(names)
    assert [each.name for each in python_client.packed if each.suffix == ".gz"] == [f"payment_requests-{version}.tar.gz"]
    package = json.loads((typescript_client.folder / "node_modules/payment-requests/package.json").read_text())
    assert package["version"] == version and not package.keys() & {"dependencies", "peerDependencies"}


def test_methods_have_short_names_and_every_operation_that_a_credential_may_call_is_one() -> None:
    document = read_document()
    groups = methods_of(document)
    names = {group: {each.page_name for each in methods} | {each.list_name for each in methods if each.page} for group, methods in groups.items()}
    assert {"create", "get", "list", "list_page", "cancel", "pay", "get_status"} <= names["requests"]
    assert {"create", "get", "list", "look_up", "cancel"} <= names["links"]
    assert {"list", "list_page"} == names["payments"]
    assert {"create", "toggle", "delete", "rotate_secret", "list_deliveries", "list_deliveries_page"} <= names["webhooks"]
    assert {"activate", "change", "get", "get_permit", "list", "list_page"} == names["recurring"]
    assert "list_next" in names["events"]
    called = {(each.verb, each.path) for methods in groups.values() for each in methods}
    left = {
        (verb.upper(), path)
        for path, operations in document["paths"].items()
        for verb, operation in operations.items()
        if any({*way} & {"apiKey", "clientId", "orchestratorKey"} for way in operation["security"])
    } - called
    assert left == {("POST", "/v2/pay")}, "the former path of another one"


def test_two_operations_that_would_have_one_name_are_refused() -> None:
    document = read_document()
    document["paths"]["/v2/request/other"] = {"get": document["paths"]["/v2/request/{request_id}"]["get"]}
    with pytest.raises(ValueError, match="requests has several methods get"):
        methods_of(document)
