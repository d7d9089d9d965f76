"""Pages that are not ours neither open nor end a session: Origins, bodies that are not JSON, and a real browser."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from chalicelib.accounts.email.records import Purpose
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.pipeline import handle
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.view import Call, Reply
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import in_process_tables
from tests.support.api import Clock, Configured
from tests.support.client import Api, Shop, stored
from tests.support.client import Reply as Received
from tests.support.examples import stored_token
from tests.support.operations import models, one_of_each_kind
from tests.support.rehearsed import few
from tests.support.running import running
from tests.support.running_browser import running_browser
from tests.support.tenants import Tenant

DASHBOARD = "https://dashboard.example"
FOREIGN = ["https://blog.auth.test", "http://auth.test:8443", "https://auth.test", "null", ""]
SIGNING_IN = [known for known in OPERATIONS if known.rate is Rate.SIGN_IN]
ATTACKER = {"email": "attacker@evil.example", "password": "correct horse"}


def named(known: Operation) -> str:
    return known.name


def registered(api: Api, **headers: str) -> dict[str, str]:
    api.request("POST", "/v1/auth/register", ATTACKER, headers)
    return ATTACKER


def signed(api: Api) -> dict[str, str]:
    """The body with which a wallet signs in."""
    wallet = evm_wallet("attacker")
    asked = api.request("POST", "/v1/auth/wallet/challenge", {"address": wallet.address}).json
    fields = {name: asked[name] for name in ("challengeId", "nonce", "message")}
    return {**fields, "signature": wallet.sign(asked["message"])}


def sessions() -> int:
    """How many sessions are stored."""
    partitions = in_process_tables()["payment-requests-local-sessions"].items
    return sum(pk.startswith("SESSION#") for pk in list(partitions))


# --- Origins ---


def test_what_opens_a_session_or_leads_to_one_is_declared() -> None:
    names = {known.name for known in OPERATIONS if known.signs_in}
    assert names == {
        "ask_challenge", "verify_wallet", "register", "log_in", "ask_to_sign_in_by_passkey", "sign_in_by_passkey",
        "look_up_invitation", "register_invited", "confirm_address", "forgot_password", "reset_password",
    }


@pytest.mark.usefixtures("api")
def test_a_view_that_sets_a_cookie_without_being_declared_is_a_failure_and_sets_none() -> None:
    def view(call: Call[None, None]) -> Reply[dict[str, str]]:
        return Reply({}, {"Set-Cookie": "session_token=x"})

    undeclared = Operation("POST", "/v1/things", "make_thing", (Mode.PUBLIC,))
    request = HttpRequest("-", "POST", "/v1/things", "/v1/things", {}, {}, {}, frozenset(), b"", "198.51.100.77")
    response = handle(undeclared, view, running(), request)
    assert (response.status_code, "Set-Cookie" in response.headers) == (500, False)
    response = handle(replace(undeclared, rate=Rate.SIGN_IN), view, running(), request)
    assert (response.status_code, response.headers["Set-Cookie"]) == (200, "session_token=x")


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("known", SIGNING_IN, ids=named)
def test_a_page_that_is_not_ours_cannot_sign_anybody_in(api: Api, known: Operation, origin: str) -> None:
    bodies = {
        "ask_challenge": lambda: {"address": evm_wallet().address},
        "verify_wallet": lambda: signed(api),
        "register": lambda: {**ATTACKER, "email": "new@evil.example"},
        "log_in": lambda: registered(api),
        "ask_to_sign_in_by_passkey": lambda: None,
        "sign_in_by_passkey": lambda: {"credential": Tenant().passkey_sign_in()},
        "look_up_invitation": lambda: {"secret": Tenant().secret_for_new()},
        "register_invited": lambda: {"secret": Tenant().secret_for_new(), "password": "correct horse"},
        "confirm_address": lambda: {"token": stored_token(Purpose.CONFIRM)},
        "forgot_password": lambda: {"email": registered(api)["email"]},
        "reset_password": lambda: {"token": stored_token(Purpose.RESET), "password": "correct horse"},
    }
    body = bodies[known.name]()
    before = stored()
    reply = api.request(known.method, known.path, body, {"origin": origin})
    assert (reply.status, "set-cookie" in reply.headers) == (403, False)
    assert reply.message.startswith("Origin may not use session cookies")
    assert stored() == before
    assert api.request(known.method, known.path, body).status == known.status


def test_our_own_pages_and_those_that_are_configured_sign_in(api: Api, configured: Configured) -> None:
    with configured(SESSION_ORIGINS=f'["{DASHBOARD}"]'):
        for origin in ("http://auth.test", "http://api.test", "http://pay.test", DASHBOARD):
            reply = api.request("POST", "/v1/auth/login", registered(api), {"origin": origin})
            assert (reply.status, "set-cookie" in reply.headers) == (200, True)


def test_a_page_that_is_not_ours_uses_up_no_attempt_to_sign_in(clock: Clock, api: Api) -> None:
    """Otherwise it could keep its visitors from signing in, or make their address be refused."""
    body = {"email": "visitor@shop.example", "password": "wrong horse"}
    for _ in range(60):
        api.request("POST", "/v1/auth/login", body, {"origin": "https://blog.auth.test"})
    own = api.request("POST", "/v1/auth/login", body)
    assert (own.status, own.headers["ratelimit-remaining"]) == (401, "9")


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_that_is_not_ours_ends_no_session(api: Api, origin: str) -> None:
    cookie = Tenant().by_wallet()
    reply = api.request("POST", "/v1/auth/logout", None, {**cookie, "origin": origin})
    assert (reply.status, "set-cookie" in reply.headers) == (403, False)
    assert api.get("/v1/auth/me", cookie).status == 200


# --- bodies ---


def raw(api: Api, known: Operation, body: bytes, content_type: str | None, headers: dict[str, str]) -> Received:
    path = known.path.replace("{", "").replace("}", "")
    sent = {**headers, **({"content-type": content_type} if content_type is not None else {})}
    return api.request(known.method, path, body, sent)


def credential(known: Operation, tenant: Tenant) -> dict[str, str]:
    ways = {
        Mode.API_KEY: Tenant.by_key,
        Mode.SESSION: Tenant.by_wallet,
        Mode.ORCHESTRATOR_KEY: Tenant.by_orchestrator_key,
        Mode.CLIENT_ID: Tenant.by_client,
        Mode.PUBLIC: lambda tenant: {},
    }
    return next(make(tenant) for mode, make in ways.items() if mode in known.modes)


@pytest.mark.parametrize("known", few(one_of_each_kind(), OPERATIONS), ids=named)
def test_no_operation_takes_a_body_that_is_not_declared_as_json(api: Api, known: Operation) -> None:
    """Also those without a body, or with one that may be left out: a form of any page can send them."""
    headers = credential(known, Tenant())
    before = stored()
    for content_type in (None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        reply = raw(api, known, b"{}", content_type, headers)
        status = 401 if models(known).is_body_signed else 415  # the signature of the bytes comes first
        assert (reply.status, reply.headers.get("set-cookie")) == (status, None), content_type
        assert status == 401 or reply.message == "Send the body as JSON, with the header content-type: application/json"
    assert stored() == before


def test_no_body_needs_no_content_type_and_may_have_any(api: Api) -> None:
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/json"}):
        assert api.request("POST", "/v1/auth/logout", None, {**Tenant().by_wallet(), **headers}).status == 200


def test_a_415_is_not_kept_for_an_idempotency_key(shop: Shop) -> None:
    headers = {**shop.by_client, "idempotency-key": "typed-later"}
    body = json.dumps({"url": "https://93.184.215.14/typed"}).encode()
    assert shop.api.request("POST", "/v1/webhook", body, headers).status == 415
    assert shop.api.request("POST", "/v1/webhook", body, {**headers, "content-type": "application/json"}).status == 201


# --- a browser ---

ATTEMPTS = {
    "fetch, untyped": "fetch(URL, {method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob([BODY])})",
    "fetch, text": "fetch(URL, {method: 'POST', mode: 'no-cors', credentials: 'include', body: BODY})",
    "beacon": "navigator.sendBeacon(URL, BODY)",
    "untyped beacon": "navigator.sendBeacon(URL, new Blob([BODY]))",
    "form": """(() => {
        const form = document.createElement("form");
        Object.assign(form, {action: URL, method: "post", enctype: "text/plain", target: "hidden"});
        const field = document.createElement("input");
        [field.name, field.value] = [BODY.slice(0, -1) + ', "ignored": "', '"}'];
        const frame = document.createElement("iframe");
        frame.name = "hidden";
        form.append(field);
        document.body.append(frame, form);
        form.submit();
    })()""",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@contextmanager
def blog() -> Iterator[str]:
    """A page on a host beside the service's: the same site, so that the browser sends SameSite=Lax cookies."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>A blog</title>")

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://blog.shop.localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Site:
    """The service on its own host, a page beside it, and a browser that has never been there."""

    api: Api
    url: str
    context: BrowserContext
    blog: Page

    def cookies(self) -> list[str]:
        return [cookie["name"] for cookie in self.context.cookies()]


@pytest.fixture
def site(api: Api, browser: Browser, configured: Configured) -> Iterator[Site]:
    url = f"http://auth.shop.localhost:{api.port}"
    context = browser.new_context()
    with configured(AUTH_URL=url, API_URL=url), blog() as elsewhere:
        page = context.new_page()
        page.goto(elsewhere)
        yield Site(api, url, context, page)
        context.close()


def answered(site: Site, script: str, method: str = "POST") -> int:
    """Runs a script of the blog's page; returns the status that the service answers its request with."""
    with site.blog.expect_event("response", lambda response: response.request.method == method) as response:
        site.blog.evaluate(script)
    return int(response.value.status)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_page_beside_the_service_signs_no_visitor_into_its_own_account(site: Site, attempt: str) -> None:
    registered(site.api)
    before = sessions()
    script = ATTEMPTS[attempt].replace("URL", f"'{site.url}/v1/auth/login'")
    assert answered(site, script.replace("BODY", f"'{json.dumps(ATTACKER)}'")) == 403
    assert (site.cookies(), sessions()) == ([], before)


def test_a_page_beside_the_service_cannot_sign_its_visitor_out_and_the_own_page_can(site: Site) -> None:
    registered(site.api)
    own = site.context.new_page()
    own.goto(f"{site.url}/v2/health")
    body = json.dumps(ATTACKER)
    log_in = f"""fetch("/v1/auth/login", {{method: "POST", headers: {{"content-type": "application/json"}}, body: '{body}'}})"""
    assert own.evaluate(f"{log_in}.then(response => response.status)") == 200
    assert site.cookies() == ["session_token"]
    for attempt in ("fetch, untyped", "beacon", "form"):
        script = ATTEMPTS[attempt].replace("URL", f"'{site.url}/v1/auth/logout'").replace("BODY", "'{}'")
        assert answered(site, script) == 403
    assert own.evaluate("fetch('/v1/auth/me').then(response => response.status)") == 200
    assert own.evaluate("fetch('/v1/auth/logout', {method: 'POST'}).then(response => response.status)") == 200
    assert site.cookies() == []


def test_the_page_that_was_refused_reads_why(site: Site, new_shop: Shop) -> None:
    """So that its developer sees in the console which origin is missing where."""
    refused = "fetch(URL, OPTIONS).then(async response => [response.status, (await response.json()).message])"
    json_body = "method: 'POST', headers: {'content-type': 'application/json'HEADERS}, body: '{}'"
    for path, headers, message in (
        ("/v1/auth/login", "", "Origin may not use session cookies: SESSION_ORIGINS lists those that may"),
        (
            "/v2/secure-payments",
            f", 'x-client-id': '{new_shop.client_id}'",
            "Origin is not among the allowed domains of this client ID",
        ),
    ):
        options = "{" + json_body.replace("HEADERS", headers) + "}"
        script = refused.replace("URL", f"'{site.url}{path}'").replace("OPTIONS", options)
        assert site.blog.evaluate(script) == [403, message]
