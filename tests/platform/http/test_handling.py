"""The steps around a view, with views of these tests: caller, limits, scope, cookies, failures, logs and headers."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.platform.access.credentials.records import ApiKey, LastUse
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation, PageRoute, ProblemForm
from chalicelib.platform.http.pipeline import handle, handle_page, preflight, refuse_method
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import Call, Reply, Visit
from chalicelib.platform.storage.store import WriteConflict
from tests.support.api import Clock, Configured
from tests.support.client import ORIGIN, Api, Shop
from tests.support.running import running
from tests.support.tenants import Tenant

DASHBOARD = "https://dashboard.example"
PLAIN = Operation("POST", "/v1/things", "make_thing", (Mode.PUBLIC,))
KEYED = replace(PLAIN, modes=(Mode.API_KEY, Mode.CLIENT_ID))
SIGNED_IN = replace(PLAIN, modes=(Mode.SESSION,))
Answer = tuple[int, Any]
Anything = Call[None, None]
_addresses = itertools.count(1)


class Thing(Input):
    name: str = "none"


JSON = {"content-type": "application/json"}


def sent(headers: dict[str, str] | None = None, **changes: Any) -> HttpRequest:
    """A request from an address of its own."""
    address = f"198.51.100.{next(_addresses) % 256}"
    made = HttpRequest("request-1", "POST", "/v1/things", "/v1/things", {}, {}, headers or {}, frozenset(), b"", address)
    return replace(made, **changes)


def fine(call: Anything) -> dict[str, str]:
    return {"made": "yes"}


def missing(call: Anything) -> dict[str, str]:
    raise NotFound("No such thing")


def raced(call: Anything) -> dict[str, str]:
    raise WriteConflict


def broken(call: Anything) -> dict[str, str]:
    raise ZeroDivisionError


def answer(operation: Operation, request: HttpRequest, view: Callable[[Any], Any] = fine) -> Answer:
    response = handle(operation, view, running(), request)
    return response.status_code, json.loads(response.body)


def refusal(operation: Operation, request: HttpRequest, view: Callable[[Any], Any] = fine) -> Answer:
    status, body = answer(operation, request, view)
    return status, body["message"]


def test_an_operation_is_limited_by_tier_and_nothing_else_unless_it_says_so() -> None:
    made = Operation("GET", "/v1/things", "list_things", (Mode.PUBLIC,))
    assert (made.status, made.scope, made.rate, made.with_session) == (200, None, Rate.TIER, False)
    assert (made.shows_secret, made.looks_up_token, made.by_page) == (False,) * 3
    assert made.problem_form is ProblemForm.FIRST


# --- what a view gets and gives ---


@pytest.mark.usefixtures("api")
def test_a_view_gets_the_caller_the_actor_and_the_path(new_shop: Shop) -> None:
    calls: list[Anything] = []

    def view(call: Anything) -> dict[str, str]:
        calls.append(call)
        return {}

    request = sent(new_shop.by_key, parameters={"id": "a b"})
    assert answer(KEYED, request, view) == (200, {})
    (call,) = calls
    assert (call.caller.account_id, call.path, call.body, call.query) == (new_shop.account_id, {"id": "a b"}, None, None)
    actor = call.actor
    assert (actor.account_id, actor.name) == (new_shop.account_id, call.caller.actor)
    assert (actor.ip_address, actor.request_id) == (request.ip_address, "request-1")


@pytest.mark.usefixtures("api")
def test_a_body_may_be_left_out_only_where_the_view_says_so() -> None:
    def optional(call: Call[Thing | None, None]) -> dict[str, Any]:
        return {"name": call.body.name if call.body else None}

    def required(call: Call[Thing, None]) -> dict[str, Any]:
        return {"name": call.body.name}

    body = sent(JSON, raw_body=b'{"name": "pen"}')
    assert answer(PLAIN, body, optional) == answer(PLAIN, body, required) == (200, {"name": "pen"})
    assert answer(PLAIN, sent(), optional) == (200, {"name": None})
    assert answer(PLAIN, sent(), required)[0] == 400


@pytest.mark.usefixtures("api")
def test_a_view_without_a_query_ignores_one_and_another_reads_it() -> None:
    def reading(call: Call[None, Thing]) -> dict[str, str]:
        return {"name": call.query.name}

    assert answer(PLAIN, sent(query={"name": ["pen"]}), reading) == (200, {"name": "pen"})
    assert answer(PLAIN, sent(query={"name": ["pen", "ink"]}), reading)[0] == 400
    assert answer(PLAIN, sent(query={"name": ["pen", "ink"]}), fine)[0] == 200


@pytest.mark.usefixtures("api")
def test_problems_are_shown_in_the_form_that_the_operation_names() -> None:
    def required(call: Call[Thing, None]) -> dict[str, Any]:
        return {}

    def reading(call: Call[None, Thing]) -> dict[str, Any]:
        return {}

    listing, summing = (replace(PLAIN, problem_form=form) for form in (ProblemForm.LIST, ProblemForm.SUMMARY))
    for view, request in ((required, sent(JSON, raw_body=b'{"name": 1}')), (reading, sent(query={"name": ["a", "b"]}))):
        assert isinstance(refusal(PLAIN, request, view)[1], str)
        assert isinstance(refusal(listing, request, view)[1], list)
        assert refusal(summing, request, view)[1] == "Validation failed"
        assert answer(summing, request, view)[1]["errors"] == answer(PLAIN, request, view)[1]["errors"] != []


@pytest.mark.usefixtures("api")
def test_a_view_may_add_headers_or_answer_itself() -> None:
    def with_headers(call: Anything) -> Reply[dict[str, str]]:
        return Reply({"made": "yes"}, {"X-Thing": "1"})

    def itself(call: Anything) -> HttpResponse:
        return HttpResponse(202, "{}", {"X-Thing": "2"})

    created = replace(PLAIN, status=201)
    first, second = (handle(created, view, running(), sent()) for view in (with_headers, itself))
    assert (first.status_code, first.body, first.headers["X-Thing"]) == (201, '{"made":"yes"}', "1")
    assert (second.status_code, second.body, second.headers["X-Thing"]) == (202, "{}", "2")
    assert handle(created, fine, running(), sent()).status_code == 201
    assert first.headers["RateLimit-Limit"] and first.headers["x-request-id"] == "request-1"


# --- failures and logs ---


def test_a_race_of_two_writes_is_409_and_says_that_a_repetition_helps(api: Api) -> None:
    response = handle(PLAIN, raced, running(), sent())
    expected = {"statusCode": 409, "message": "The record was changed at the same moment: try again", "error": "Conflict"}
    assert json.loads(response.body) == {**expected, "code": "changed_meanwhile"} and response.status_code == 409
    (line,) = api.log_lines()
    assert (line["message"], line["status"]) == ("responded", 409)


def test_a_failure_is_500_and_is_logged_once_with_its_trace(api: Api) -> None:
    assert refusal(PLAIN, sent(), broken) == (500, "Internal server error")
    (line,) = api.log_lines()
    assert (line["message"], line["operation"], line["request_id"]) == ("request failed", "make_thing", "request-1")
    assert "ZeroDivisionError" in line["exception"]


def test_a_failing_page_is_500_and_its_log_line_names_page_and_request(api: Api) -> None:
    def view(visit: Visit) -> HttpResponse:
        raise ZeroDivisionError

    response = handle_page(PageRoute("/broken", "show_broken"), view, running(), sent(request_id="request-2"))
    assert (response.status_code, response.headers["x-request-id"]) == (500, "request-2")
    (line,) = api.log_lines()
    assert (line["operation"], line["request_id"]) == ("show_broken", "request-2")


@pytest.mark.usefixtures("api")
def test_a_page_gets_the_services_and_the_request_and_its_answer_is_sent_as_it_is() -> None:
    def view(visit: Visit) -> HttpResponse:
        return HttpResponse(200, f"{visit.header('accept')} {visit.query('token')}", {"Content-Type": "text/html"})

    request = sent({"accept": "text/html", "origin": ORIGIN}, method="GET", query={"token": ["x"]})
    response = handle_page(PageRoute("/", "show_page"), view, running(), request)
    assert (response.status_code, response.body) == (200, "text/html x")
    assert dict(response.headers) == {"Content-Type": "text/html", "x-request-id": "request-1"}


def test_the_log_says_why_a_request_was_refused_in_500_characters_at_most(api: Api) -> None:
    def talkative(call: Anything) -> dict[str, str]:
        raise NotFound("x" * 501)

    for view in (fine, missing, talkative):
        answer(PLAIN, sent(), view)
    lines = api.log_lines()
    assert [line["status"] for line in lines] == [200, 404, 404]
    assert [line.get("reason") for line in lines] == [None, "No such thing", "x" * 500]


# --- origins and cookies ---


def test_an_answer_admits_cookies_of_a_dashboard_for_session_operations_alone(configured: Configured) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]'):
        request, services = sent({"origin": DASHBOARD}), running()
        for with_session in (True, False):
            response = preflight(services, request, ("POST", "OPTIONS"), with_session)
            headers = response.headers
            assert (response.status_code, response.body, headers["x-request-id"]) == (204, "", "request-1")
            assert headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"
            assert ("Access-Control-Allow-Credentials" in headers) == with_session
        for operation, may in ((PLAIN, False), (SIGNED_IN, True), (replace(PLAIN, rate=Rate.SIGN_IN), True)):
            headers = handle(operation, fine, services, request).headers
            assert headers["Access-Control-Allow-Origin"] == DASHBOARD
            assert ("Access-Control-Allow-Credentials" in headers) == may


def test_a_refused_method_names_the_others_to_every_origin_and_admits_no_cookies(configured: Configured) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]'):
        response = refuse_method(running(), sent({"origin": DASHBOARD}, method="PUT"), ("GET", "POST"))
    message = json.loads(response.body)["message"]
    assert (response.status_code, message) == (405, "Cannot PUT /v1/things: the method is not allowed here")
    assert (response.headers["Allow"], response.headers["Access-Control-Allow-Origin"]) == ("GET, POST", DASHBOARD)
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.usefixtures("api")
def test_a_cookie_of_a_foreign_page_changes_nothing_and_the_page_may_read_why() -> None:
    cookie = {**Tenant().by_wallet(), "origin": ORIGIN}
    response = handle(SIGNED_IN, fine, running(), sent(cookie))
    assert (response.status_code, response.headers["Access-Control-Allow-Origin"]) == (403, ORIGIN)
    assert "Access-Control-Allow-Credentials" not in response.headers
    assert answer(SIGNED_IN, sent({**cookie, "authorization": "Basic YTpi"}))[0] == 403
    assert answer(SIGNED_IN, sent(cookie, method="GET"))[0] == 200
    assert answer(SIGNED_IN, sent({**cookie, "origin": "http://auth.test"}))[0] == 200


@pytest.mark.usefixtures("api")
def test_a_session_sent_as_a_bearer_token_may_come_from_any_page() -> None:
    response = handle(SIGNED_IN, fine, running(), sent({**Tenant().by_email(), "origin": ORIGIN}))
    assert (response.status_code, response.headers["Access-Control-Allow-Origin"]) == (200, ORIGIN)


def test_a_key_beside_a_cookie_is_no_use_of_the_cookie(new_shop: Shop) -> None:
    either = replace(PLAIN, modes=(Mode.API_KEY, Mode.SESSION))
    headers = {**Tenant().by_wallet(), **new_shop.by_key, "origin": ORIGIN}
    assert answer(either, sent(headers))[0] == 200


@pytest.mark.usefixtures("api")
def test_other_refusals_of_a_caller_may_be_read_by_its_page() -> None:
    response = handle(KEYED, fine, running(), sent({"x-api-key": "key_unknown", "origin": ORIGIN}))
    assert (response.status_code, response.headers["Access-Control-Allow-Origin"]) == (401, ORIGIN)


# --- callers, scopes and limits ---


@pytest.mark.usefixtures("api")
def test_a_header_that_is_sent_twice_is_refused_before_the_view_runs() -> None:
    request = sent(repeated=frozenset({"idempotency-key"}))
    assert refusal(PLAIN, request, broken) == (400, "The header idempotency-key is sent more than once")


def test_a_key_needs_the_scope_of_the_operation(new_shop: Shop) -> None:
    store = running().store
    record = store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(new_shop.key)))
    assert record is not None
    store.write(replace(record, scopes=("audit:read",)))
    writing, reading = (replace(KEYED, scope=scope) for scope in ("webhooks:write", "audit:read"))
    assert refusal(writing, sent(new_shop.by_key)) == (403, "This API key lacks the scope webhooks:write")
    assert answer(reading, sent(new_shop.by_key))[0] == 200


@pytest.mark.usefixtures("api")
def test_the_pages_client_id_calls_only_what_the_page_may_call() -> None:
    settings = running().settings
    by_page = {"x-client-id": settings.page_client_id, "origin": settings.page_origin}
    message = "This client ID is the payment page's own: it shows and pays links, and does nothing else"
    assert refusal(KEYED, sent(by_page)) == (403, message)
    assert answer(replace(KEYED, by_page=True), sent(by_page))[0] == 200


def test_other_client_ids_call_what_the_page_calls_and_what_it_does_not(new_shop: Shop) -> None:
    for operation in (KEYED, replace(KEYED, by_page=True)):
        assert answer(operation, sent(new_shop.by_client))[0] == 200


@pytest.mark.usefixtures("api")
def test_a_get_of_the_page_from_its_own_host_needs_no_origin() -> None:
    """Browsers send no Origin with it."""
    headers = {"x-client-id": running().settings.page_client_id, "host": "pay.test"}
    shown = replace(KEYED, by_page=True)
    assert answer(shown, sent(headers, method="GET"))[0] == 200
    assert refusal(shown, sent({**headers, "host": "api.test"}, method="GET")) == (401, "Origin header is required")


def test_use_of_a_key_is_recorded_and_of_a_refused_one_not(clock: Clock, new_shop: Shop) -> None:
    services = running()
    record = services.store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(new_shop.key)))
    assert record is not None
    key = LastUse.KEY.of(record_id=record.key_id)
    services.store.write(replace(record, scopes=("audit:read",)))
    assert answer(replace(KEYED, scope="webhooks:write"), sent(new_shop.by_key))[0] == 403
    assert services.store.get(LastUse, key) is None
    assert answer(KEYED, sent(new_shop.by_key))[0] == 200
    used = services.store.get(LastUse, key)
    assert used is not None and used.at == clock.now


def test_who_finds_nothing_thirty_times_a_minute_where_tokens_are_looked_up_is_shut_out(clock: Clock, api: Api) -> None:
    def statuses(operation: Operation, address: str) -> list[int]:
        found = []
        for _ in range(31):
            found.append(answer(operation, sent(ip_address=address), missing)[0])
            clock.advance(1)
        return found

    clock.advance(3600 - clock.now.timestamp() % 3600)
    assert statuses(PLAIN, "203.0.113.21") == [404] * 31
    clock.advance(29)
    assert statuses(replace(PLAIN, looks_up_token=True), "203.0.113.22") == [404] * 30 + [429]
    assert answer(PLAIN, sent(ip_address="203.0.113.22"))[0] == 429


def test_wrong_credentials_are_counted_by_address_and_apart_from_those_who_send_none(clock: Clock, api: Api) -> None:
    wrong = sent({"x-api-key": "key_unknown"})
    responses = [handle(KEYED, fine, running(), wrong) for _ in range(6)]
    assert [response.status_code for response in responses] == [401] * 5 + [429]
    assert [response.headers["RateLimit-Remaining"] for response in responses] == ["4", "3", "2", "1", "0", "0"]
    assert answer(PLAIN, sent(ip_address=wrong.ip_address))[0] == 200


@pytest.mark.usefixtures("api")
def test_an_operation_without_a_limit_counts_nothing_and_reads_no_table(configured: Configured) -> None:
    unlimited = replace(PLAIN, rate=None)
    with configured(RESOURCE_PREFIX="not-there"):
        response = handle(unlimited, fine, running(), sent())
        assert answer(PLAIN, sent())[0] == 500
    assert (response.status_code, "RateLimit-Limit" in response.headers) == (200, False)


def test_a_ban_is_read_where_calls_are_counted(clock: Clock, api: Api) -> None:
    request = sent()
    for _ in range(5 + 301):
        handle(PLAIN, fine, running(), request)
    clock.advance(timedelta(minutes=1).total_seconds())
    assert answer(PLAIN, request)[0] == 429


def test_a_session_that_is_sent_to_an_operation_that_signs_in_is_passed_on(clock: Clock, api: Api) -> None:
    def view(call: Anything) -> dict[str, Any]:
        return {"session": call.caller.sent_session}

    signing_in, cookie = replace(PLAIN, rate=Rate.SIGN_IN), sent({"cookie": "session_token=x"})
    assert answer(signing_in, cookie, view) == (200, {"session": credential_hash("x")})
    assert answer(signing_in, sent(), view) == (200, {"session": None})
    assert answer(PLAIN, cookie, view) == (200, {"session": None})


# --- repetitions ---


def test_a_query_in_another_order_is_the_same_request(clock: Clock, api: Api) -> None:
    request = sent({"idempotency-key": f"order-{clock.now}"}, query={"a": ["1"], "b": ["2"]})
    other_order = replace(request, query={"b": ["2"], "a": ["1"]})
    first, again = (handle(PLAIN, fine, running(), each) for each in (request, other_order))
    assert (first.status_code, again.status_code) == (200, 200)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert answer(PLAIN, replace(request, query={"a": ["2"], "b": ["2"]}))[0] == 422


def test_refusals_of_a_view_without_an_effect_are_decided_anew_and_failures_run_again(clock: Clock, api: Api) -> None:
    request = sent({"idempotency-key": f"refused-{clock.now}"})
    assert answer(PLAIN, request, missing)[0] == 404
    assert answer(PLAIN, request, fine)[0] == 200
    assert answer(PLAIN, request, missing)[0] == 200
    request = sent({"idempotency-key": f"failed-{clock.now}"})
    assert answer(PLAIN, request, broken)[0] == 500
    assert answer(PLAIN, request, fine)[0] == 200
