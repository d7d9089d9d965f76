"""Pictures of every view of the dashboard for `make screens`: in the middle of a shop's work, and in its first hour.

Only the browser runs: the page is served here, and the API answers with the examples of docs/openapi.json, of which a
scene replaces some.
"""

import json
import re
from collections.abc import Callable
from copy import copy
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page, Route

import chalicelib
from chalicelib.pages.api import draw_qr_code
from chalicelib.pages.assets import served_assets
from chalicelib.pages.dashboard_html import page, page_headers, preview_headers, preview_script, served_files
from chalicelib.pages.html import Absence
from chalicelib.pages.html import page as payment_page
from chalicelib.platform.http.operation import Operation
from chalicelib.platform.settings import Settings
from infra.documents.api import read_document
from infra.documents.operations import answers_in
from infra.local.browser import PATIENT
from infra.local.process import patience
from infra.local.scenes_account import Answers
from infra.local.scenes_dashboard import CAPTURABLE, EMPTY, POPULATED, RECURS
from infra.local.scenes_forms import BY_WALLET, FILLED, take_steps

ORIGIN = "https://auth.example"
_SETTINGS = Settings(
    stage="local",
    resource_prefix="",
    api_url="https://api.example",
    auth_url=ORIGIN,
    pay_url="https://pay.example",
    explorer_url="https://explorer.example",
)
LOOKS: dict[str, tuple[int, Literal["light", "dark"]]] = {
    "light": (1280, "light"),
    "dark": (1280, "dark"),
    "phone": (390, "light"),
    "small": (320, "light"),
    "dark-phone": (390, "dark"),
}
"""Width in pixels and colour scheme."""


def _name(path: str) -> str:
    """The name of the picture of a view."""
    view, _, kind = path.partition("?kind=")
    return "-".join(("dashboard", re.split("[/#?]", view)[0] or "home", *([kind] if kind else [])))


_VIEWS = (
    "",
    "requests",
    "request/01ab",
    "links",
    "create",
    "create?kind=batch",
    "create?kind=payout",
    "create?kind=held",
    "create?kind=recurring",
    "payouts?walletAddress=0x627306090abaB3A6e1400e9345bC60c78a8BEf57",
    "recurring",
    "import",
    "payments",
    "mispayments",
    "keys",
    "clients",
    "platforms",
    "branding/01ab",
    "snippets",
    "webhooks",
    "webhook/01ab",
    "payees",
    "team",
    "changes",
    "account",
    "security",
    "audit",
    "status",
    "no-such-view",
)
_SAY_SOMETHING_EMPTY = (
    "",
    "requests",
    "links",
    "recurring",
    "payments",
    "mispayments",
    "keys",
    "clients",
    "platforms",
    "webhooks",
    "payees",
    "team",
    "changes",
    "security",
    "audit",
)
_OPEN = ("sign-in", "register", "forgot", "confirm#x", "password#x", "invitation#x")
_SIGNED_OUT: Answers = {"me": None}
_REFUSED = {"statusCode": 403, "error": "Forbidden", "message": "This needs a proof of your presence"}
_PROOF = {**_REFUSED, "code": "presence_required", "proofs": ["password", "passkey", "wallet"]}
_UNPROVED: Answers = {**POPULATED, "change_account": _PROOF}
_ONE_MORE_STEP: Answers = {
    "me": {**POPULATED["me"], "secondFactorMissing": True, "proofs": ["password"]},
    "ask_to_register_passkey": {**_PROOF, "proofs": ["password"]},
}
_DIALOGS = {
    "capture": ("request/01ab", "Capture", CAPTURABLE),
    "refund": ("request/01ab", "Refund", POPULATED),
    "stop-recurrence": ("request/01ab", "Stop recurrence", RECURS),
    "accept": ("request/01ab", "Accept as paid", POPULATED),
    "ask-for-the-rest": ("mispayments", "Ask for the rest", POPULATED),
    "refund-of-mispayment": ("mispayments", "Refund", POPULATED),
    "journal-of-wallet": ("payments", "Download for Xero, QuickBooks, OFX", POPULATED),
    "new-key": ("keys", "New API key", POPULATED),
    "change-key": ("keys", "Change", POPULATED),
    "new-client": ("clients", "New client ID", POPULATED),
    "settings-of-client": ("clients", "Settings", POPULATED),
    "new-platform": ("platforms", "New platform", POPULATED),
    "revoke-platform": ("platforms", "Revoke", POPULATED),
    "new-webhook": ("webhooks", "New webhook", POPULATED),
    "events-of-webhook": ("webhook/01ab", "Change the events", POPULATED),
    "replace-secret": ("webhook/01ab", "Replace the secret", POPULATED),
    "new-recurring": ("recurring", "New recurring payout", POPULATED),
    "sign-recurring": ("recurring", "Sign", POPULATED),
    "stop-recurring": ("recurring", "Stop", POPULATED),
    "invite": ("team", "Invite", POPULATED),
    "approve": ("changes", "Approve", POPULATED),
    "deactivate-payee": ("payees", "Deactivate", BY_WALLET),
    "presence": ("account", "Save", _UNPROVED),
    "presence-for-passkey": ("", "Add a passkey", _ONE_MORE_STEP),
}
SCENES: dict[str, tuple[str, str, Answers]] = {
    **{_name(path): (path, "", POPULATED) for path in _VIEWS},
    "dashboard-payees-of-wallet": ("payees", "", BY_WALLET),
    "dashboard-commerce": ("request/01ab", "", CAPTURABLE),
    "dashboard-request-that-recurs": ("request/01ab", "", RECURS),
    "dashboard-one-more-step": ("", "", _ONE_MORE_STEP),
    **{f"{_name(path)}-empty": (path, "", EMPTY) for path in _SAY_SOMETHING_EMPTY},
    **{_name(path): (path, "", _SIGNED_OUT) for path in _OPEN},
    **{f"dashboard-dialog-{name}": scene for name, scene in _DIALOGS.items()},
    **{f"dashboard-{name}": (path, "", answers) for name, (path, answers, *_) in FILLED.items()},
}
"""By name: the view, the button that is pressed in it if any, and what the API answers."""


def take(browser: Browser, folder: Path, wanted: list[str]) -> int:
    """Takes the pictures of these scenes into the folder; returns their number."""
    context = browser.new_context(reduced_motion="reduce", locale="en")
    context.set_default_timeout(1_000 * patience())
    context.add_init_script(PATIENT)
    for name in wanted:
        shown = context.new_page()
        open_scene(shown, name)
        for each, (width, scheme) in LOOKS.items():
            shown.set_viewport_size({"width": width, "height": 800})
            shown.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            shown.screenshot(path=folder / f"{name}-{each}.png", full_page=shown.locator("dialog").count() == 0)
        shown.close()
    context.close()
    return len(wanted) * len(LOOKS)


def open_scene(
    shown: Page, name: str, altered: Callable[[Any], Any] = copy, named: Callable[[str], str] = str
) -> None:
    """Opens a scene with what the API answers in it, each `altered`; `named` gives the name of a button."""
    path, button, answers = SCENES[name]
    shown.route("**/*", answering(answers, altered))
    open_view(shown, path, named(button))
    if name.removeprefix("dashboard-") in FILLED:
        take_steps(shown, *FILLED[name.removeprefix("dashboard-")][2:])


def open_view(shown: Page, path: str, button: str) -> None:
    """Opens a view, waits until it has what it loads, and presses the button."""
    shown.goto(f"{ORIGIN}/dashboard/{path}")
    shown.locator("h1").first.wait_for()
    shown.locator(".loading, .hint[role=status]").first.wait_for(state="detached")
    shown.evaluate("Promise.allSettled([...document.images].map((image) => image.decode()))")
    if button:
        shown.get_by_role("button", name=button, exact=True).first.click()
        shown.locator("dialog h2").first.wait_for()


def answering(answers: Answers, altered: Callable[[Any], Any] = copy) -> Callable[[Route], None]:
    """Returns what fulfils the requests of the page: itself, its files, and the API by `answers`, else by examples.

    `altered` makes what is sent of each answer of the API.
    """

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        asset = served_files().get(path.removeprefix("/dashboard/files/"))
        if asset is not None:
            route.fulfill(body=asset.text, content_type=asset.content_type)
        elif path == "/dashboard-preview":
            framed = payment_page(_SETTINGS, Absence.UNKNOWN, "en", extra=preview_script(_SETTINGS))
            route.fulfill(body=framed, headers=preview_headers(_SETTINGS))
        elif (of_page := served_assets().get(path.removeprefix("/pages/"))) is not None:
            route.fulfill(body=of_page.text, content_type=of_page.content_type)
        elif path.startswith("/dashboard"):
            headers = {**page_headers(_SETTINGS), "content-type": "text/html; charset=utf-8"}
            route.fulfill(body=page(_SETTINGS), headers=headers)
        elif path == "/pages/qr.svg":
            route.fulfill(
                body=draw_qr_code("https://pay.example/?token=01M81GWADTG430DT5ZY44SN900"), content_type="image/svg+xml"
            )
        else:
            _answer_call(route, answers, altered)

    return answer


def _answer_call(route: Route, answers: Answers, altered: Callable[[Any], Any]) -> None:
    url = urlsplit(route.request.url)
    name = next(
        (
            each
            for method, pattern, each in _patterns()
            if method == route.request.method and pattern.fullmatch(url.path)
        ),
        "",
    )
    known: Any = answers[name] if name in answers else _examples().get(name)
    for field, records, filtered in (("kind", "events", "list_events"), ("status", "requests", "list_requests")):
        if name == filtered and records in known and (wanted := parse_qs(url.query).get(field)):
            known = {**known, records: [each for each in known[records] if each[field] in wanted]}
    if name == "list_events" and "mispaid" in url.query and "events" in known:
        known = {**known, "events": [each for each in known["events"] if each["body"].get("labels")]}
    if name == "look_up_secure_payment" and known is not None and "requestId" in url.query:  # one link
        known = {**_examples()[name], "status": "pending"}
    known = altered(known)
    if known is None:
        route.fulfill(
            status=401 if name == "me" else 404, json={"statusCode": 404, "message": "Not found", "error": "Not Found"}
        )
    elif isinstance(known, dict) and "statusCode" in known:
        route.fulfill(status=known["statusCode"], json=known)
    elif isinstance(known, str):
        route.fulfill(body=known, content_type="text/csv; charset=utf-8")
    else:
        route.fulfill(body=json.dumps(known), content_type="application/json")


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], str]]:
    """Method, path and name of each operation; paths without places first."""
    found = [each for product in _tables() for routes in product.ROUTES.values() for each in routes]
    ordered = sorted((each for each in found if isinstance(each, Operation)), key=lambda each: each.path.count("{"))
    return [(each.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", each.path)), each.name) for each in ordered]


@cache
def _tables() -> list[ModuleType]:
    names = (each.name for each in walk_packages(chalicelib.__path__, "chalicelib."))
    return [import_module(name) for name in names if name.endswith(".routes")]


@cache
def _examples() -> dict[str, Any]:
    return answers_in(read_document())
