"""The dashboard as it is served: one policy, files under names with their hashes, and what the scripts hold themselves to."""

import gzip
import hashlib
import json
import re
import subprocess
from base64 import b64encode
from html import unescape
from pathlib import Path
from typing import get_args

import pytest

from chalicelib.base.languages import LANGUAGES
from chalicelib.base.records import Record
from chalicelib.pages import dashboard_html
from chalicelib.pages.assets import script_hashes
from chalicelib.pages.dashboard_html import JOINED, assets, preview_script, served_files
from chalicelib.pages.files import scripts_of
from chalicelib.payments.links.fees.rules import DOLLAR_SYMBOLS
from chalicelib.payments.search.payments.schemas import PaymentsQuery, PaymentType
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.settings import Settings
from chalicelib.webhooks.endpoints.rules import CHOICES
from chalicelib.webhooks.kinds import KINDS
from infra.local.screens_dashboard import SCENES
from tests.support.api import Configured
from tests.support.browser import get
from tests.support.client import Api, Reply

FOLDER = Path(dashboard_html.__file__).parent / "dashboard"
OWN = {name: text for name, text in scripts_of(FOLDER).items() if name != "vendor.js"}
MESSAGES = json.loads((FOLDER / "locales" / "en.json").read_text())
LOCALES = {path.name: json.loads(path.read_text()) for path in FOLDER.glob("locales/*.json")}
AT_AUTH = {"Host": "auth.test"}
MOST_BYTES, MOST_VIEW = 50_000, 6_000
"""Compressed: what is loaded before the first view, and a view. The whole of a first visit may be 120 kB."""


def page(api: Api, path: str = "/dashboard") -> Reply:
    return get(api, path, AT_AUTH)


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def import_map(html: str) -> dict[str, dict[str, str]]:
    (text,) = re.findall('<script type="importmap">([^<]*)</script>', html)
    read: dict[str, dict[str, str]] = json.loads(text)
    return read


def integrity(text: bytes) -> str:
    return f"sha384-{b64encode(hashlib.sha384(text).digest()).decode()}"


def test_the_library_is_the_one_whose_hash_and_licences_are_noted() -> None:
    noted, text = json.loads((FOLDER / "vendor.json").read_text()), (FOLDER / "vendor.js").read_bytes()
    assert hashlib.sha256(text).hexdigest() == noted["sha256"]
    banner = text.decode().splitlines()[0]
    for name, package in noted["packages"].items():
        assert f"{name} {package['version']}" in banner and package["license"] in banner
        assert re.fullmatch(r"sha512-[\w+/]{86}==", package["integrity"])
    assert assets()["vendor.js"].text.encode() == text, "it is served as it is"


def test_every_view_has_the_same_page_at_the_host_of_people_alone(api: Api) -> None:
    first = page(api)
    assert (first.status, first.headers["cache-control"]) == (200, "no-store")
    for path in ("/dashboard/requests", "/dashboard/request/01ab", "/dashboard/no-such-view?x=<b>", "/dashboard/confirm"):
        assert page(api, path).body == first.body
    for host in ("api.test", "pay.test", "elsewhere.test"):
        reply = get(api, "/dashboard", {"Host": host})
        assert (reply.status, reply.json["message"]) == (404, "Cannot GET /dashboard")


def test_its_policy_allows_its_own_scripts_alone_and_no_text_as_html(api: Api) -> None:
    reply = page(api)
    policy = dict(each.partition(" ")[::2] for each in reply.headers["content-security-policy"].split("; "))
    html = reply.body.decode()
    (text,) = re.findall('<script type="importmap">([^<]*)</script>', html)
    scripts = {each.integrity for name, each in assets().items() if name.endswith(".js") and name != "preview.js"}
    assert {each.strip("'") for each in policy["script-src"].split()} == {"self", integrity(text.encode()), *scripts}
    del policy["script-src"]
    assert policy == {
        "default-src": "'none'", "style-src": "'self'", "img-src": "'self' data:", "connect-src": "'self'",
        "frame-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }
    assert reply.headers["referrer-policy"] == "no-referrer" and reply.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<[^>]* (on\w+|style)=", html)


def test_the_preview_is_the_payment_page_in_a_frame_of_the_dashboard_alone(api: Api) -> None:
    """Its first script answers in place of the API, which it cannot call; elsewhere than in that frame there is no preview."""
    reply, script = get(api, "/dashboard-preview", AT_AUTH), assets()["preview.js"]
    policy = dict(each.partition(" ")[::2] for each in reply.headers["content-security-policy"].split("; "))
    assert (policy["frame-ancestors"], policy["connect-src"], policy["trusted-types"]) == ("'self'", "'self'", "'none'")
    hashes = {each.strip("'") for each in policy["script-src"].split()}
    assert hashes == {"self", script.integrity, *script_hashes()}
    html = reply.body.decode()
    assert f'<script src="/dashboard/files/{script.path}" integrity="{script.integrity}"></script>' in html
    assert html.replace(preview_script(Settings.read()), "").count("<script") == 2, "the import map and the page's own"
    assert not re.search(r"preview", "".join(scripts_of(FOLDER.parent / "payment").values()))
    for host in ("api.test", "pay.test", "elsewhere.test"):
        assert get(api, "/dashboard-preview", {"Host": host}).status == 404


def test_scripts_are_found_by_the_import_map_and_held_to_their_hashes(api: Api) -> None:
    found = import_map(page(api).body.decode())
    names = {*scripts_of(FOLDER), *LOCALES}
    assert found["imports"].keys() == {f"/dashboard/files/{name}" for name in names}
    for path in set(found["imports"].values()):
        reply = get(api, path)
        assert reply.status == 200 and reply.headers["cache-control"] == "public, max-age=31536000, immutable"
        if path.endswith(".js"):
            assert found["integrity"][path] == integrity(reply.body)


def test_a_file_has_its_type_and_no_other_name(api: Api) -> None:
    types = {"js": "text/javascript", "css": "text/css", "json": "application/json"}
    for path, asset in served_files().items():
        reply = get(api, f"/dashboard/files/{path}")
        assert (reply.body.decode(), reply.headers["content-type"]) == (asset.text, f"{types[path.rpartition('.')[2]]}; charset=utf-8")
    for name in ("dashboard.js", "index.html", "vendor.json", "..%2fassets.py", "tsconfig.json"):
        assert get(api, f"/dashboard/files/{name}").status == 404


def test_without_hosts_everything_is_below_the_stage(api: Api, configured: Configured) -> None:
    with configured(AUTH_URL="https://a1.execute-api.test/prod"):
        html = get(api, "/dashboard", {"Host": "a1.execute-api.test"}).body.decode()
    paths = [*re.findall(r'(?:src|href)="(/[^"]+)"', html), *import_map(html)["imports"].values()]
    assert len(paths) > 10 and all(path.startswith("/prod/dashboard/files/") for path in paths)
    assert '<meta name="root" content="/prod">' in html


def test_the_page_knows_what_each_role_may_do_as_the_api_does(api: Api) -> None:
    (roles,) = re.findall('<meta name="roles" content="([^"]*)">', page(api).body.decode())
    assert json.loads(unescape(roles)) == {role.value: list(scopes) for role, scopes in SCOPES_OF.items()}


def test_a_webhook_can_choose_every_kind_of_event_there(api: Api) -> None:
    (events,) = re.findall('<meta name="events" content="([^"]*)">', page(api).body.decode())
    offered = json.loads(unescape(events))
    assert offered == list(CHOICES) and {"*", *KINDS} <= set(offered)
    assert "EVENTS" in OWN["webhooks.js"] and "payment.partial" not in OWN["webhooks.js"], "none is written there"


def test_what_waits_for_approval_has_words() -> None:
    waiting = {f"operation.{each.name}" for each in OPERATIONS if each.redirects}
    assert len(waiting) > 10 and waiting <= MESSAGES.keys()
    shown = [each for each in Record.__subclasses__() if each.RESOURCE]
    assert {f"resource.{each.RESOURCE}" for each in shown} <= MESSAGES.keys()
    assert {f"field.{camel_case(name)}" for each in shown for name in each.SHOWN} <= MESSAGES.keys()


def test_payments_are_found_by_all_that_the_api_finds_them_by() -> None:
    lists = [re.findall(r'"(\w+)"', each) for each in re.findall(r"^const (?:FILTERS|TYPES) = (.*);$", OWN["payments.js"], re.M)]
    filters, types = lists
    assert set(filters) == PaymentsQuery.model_fields.keys() - {"limit", "offset", "cursor", "excel"}
    assert {f"filter.{each}" for each in filters} | {f"type.{each}" for each in types} <= MESSAGES.keys()
    assert types == list(get_args(PaymentType))


def test_the_tokens_that_count_as_a_dollar_are_those_of_the_api() -> None:
    (listed,) = re.findall(r"^const DOLLARS = (.*);$", OWN["create.js"], re.M)
    assert set(json.loads(listed)) == DOLLAR_SYMBOLS


def test_it_stays_small(api: Api) -> None:
    sizes = {name: len(gzip.compress(each.text.encode())) for name, each in assets().items()}
    always = {"vendor.js", "dashboard.js", "dashboard.css"}
    for messages in LOCALES:
        assert len(gzip.compress(page(api).body)) + sum(sizes[name] for name in (*always, messages)) <= MOST_BYTES
    assert all(size <= MOST_VIEW for name, size in sizes.items() if name not in always | set(LOCALES))


def test_every_message_that_is_asked_for_exists_and_every_one_is_asked_for() -> None:
    text = "\n".join(OWN.values())
    asked = set(re.findall(r'\bt\("([^"]+)"', text)) | set(re.findall(r'[?:] "([a-z][\w.-]*)"', text))
    groups = {"advice", "label", "status", "type", "role", "recovery", "delivery", "nav", "filter", "create", "client", "session",
              "presence", "recurring", "email", "attention", "identity", "operation", "change", "changes", "preview", "reason", "failure", "held", "escrow",
              "branding", "snippets", "field", "resource", "recurrence", "cause"}  # fmt: skip
    plain = set(re.findall(r'\["([a-z.]+)", ', text))  # the facts of a request
    assert set(re.findall(r'\bt\("([^"]+)"', text)) <= MESSAGES.keys()
    unasked = {key for key in MESSAGES.keys() - asked - plain if key.partition(".")[0] not in groups}
    assert unasked == set()


@pytest.mark.parametrize("name", LOCALES)
def test_every_language_has_the_same_messages_with_the_same_values_and_none_is_empty(name: str) -> None:
    def values(text: str) -> list[str]:
        return sorted(set(re.findall(r"\{\w+\}", text)))

    messages = LOCALES[name]
    assert list(messages) == list(MESSAGES), "in the same order"
    assert all(isinstance(each, str) and each.strip() for each in messages.values())
    assert [key for key, text in messages.items() if values(text) != values(MESSAGES[key])] == []
    if name != "en.json":
        assert len([key for key, text in messages.items() if text == MESSAGES[key]]) < len(messages) / 10


def test_mails_are_offered_in_every_language_that_they_have() -> None:
    (offered,) = re.findall(r"^const MAIL_LANGUAGES = (.*);$", OWN["security.js"], re.M)
    assert tuple(json.loads(offered)) == LANGUAGES


def test_the_languages_that_are_offered_are_those_that_have_messages() -> None:
    (offered,) = re.findall(r"^export const LANGUAGES = \{ (.*) \};$", OWN["text.js"], re.M)
    assert {f"{each}.json" for each in re.findall(r"(\w+): ", offered)} == LOCALES.keys()
    (separated,) = re.findall(r"^const SEPARATORS = \{ (.*) \};$", OWN["text.js"], re.M)
    assert {f"{each}.json" for each in re.findall(r"(\w+): \[", separated)} == LOCALES.keys()


def test_make_screens_takes_pictures_of_every_view_and_form() -> None:
    shell, forms = OWN["shell.js"], OWN["create.js"]
    views = set(re.findall(r'^  "?([\w-]+)"?: \{ file: ', shell, re.MULTILINE))
    paths = [path for path, *_ in SCENES.values()]
    assert {re.split("[/#?]", path)[0] or "home" for path in paths} == {*views, "no-such-view"}
    (written,) = re.findall(r'\["([^]]*)"\]\.includes\(draft\.kind\) && t\(', forms)
    assert {f"create?kind={kind}" for kind in written.split('", "')} <= set(paths), "kinds with fields of their own"


@pytest.mark.parametrize("name", OWN)
def test_a_script_writes_no_html_runs_no_text_and_says_what_it_holds(name: str) -> None:
    lines = (FOLDER / name).read_text().splitlines()
    assert lines[0].startswith("// ")
    assert not [line for line in lines if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|javascript:", line)]
    assert not [line for line in lines if re.match(r"\s*(/\*\*?$|\*)", line)], "comments are lines"
    assert len(lines) <= 400


def test_scripts_that_are_served_as_one_file_have_no_name_twice() -> None:
    for parts in JOINED.values():
        written = [each for part in parts for each in re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+|\[.*?\])", OWN[part], re.M)]
        names = [name for each in written for name in re.findall(r"\w+", each)]
        assert len(names) == len(set(names)), sorted(each for each in set(names) if names.count(each) > 1)


def test_every_view_that_a_url_can_name_is_in_the_file_that_it_names() -> None:
    views = re.findall(r'^  "?([\w-]+)"?: \{ file: "([\w.]+)"', OWN["shell.js"], re.M)
    assert len(views) > 20
    for view, file in views:
        exported = OWN[file].partition("export const views")[2]
        assert re.search(rf'"?{view}"?: \w+', exported), view


def test_the_types_of_the_scripts_are_checked_with_the_style() -> None:
    planned = subprocess.run(["make", "--dry-run", "lint"], cwd=FOLDER.parents[2], capture_output=True, text=True, check=True)
    assert "tsc --project chalicelib/pages/dashboard" in planned.stdout
