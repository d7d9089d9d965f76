"""Texts of somebody else in every view: none runs, turns what is around it, or makes the page wider than its window."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from infra.local.browser import PATIENT
from infra.local.scenes_dashboard import POPULATED
from infra.local.screens_dashboard import SCENES, answering, open_scene, open_view
from tests.pages.visitor import Visitor
from tests.support.rehearsed import few

pytestmark = pytest.mark.xdist_group("scenes")

HOSTILE = (
    """javascript:window.ran=1//"onmouseover="window.ran=1"><img src=x onerror="window.ran=1"><script>window.ran=1</script>"""
    """'};window.ran=1;//{{ran}}${ran}\u202e\u2066\u200f\u0000\u2028""" + "w" * 300
)
KEPT = {
    "id", "personId", "requestId", "clientId", "status", "securePaymentStatus", "failureCode", "kind", "event", "role", "state", "type", "paymentType", "flow", "network", "symbol",
    "resource", "operation", "recoveryAction", "classification", "labels", "scopes", "frequency", "proofs", "code",
}  # fmt: skip
"""The fields by which a view chooses what it shows, and the ids that the service makes. Whatever else is text in an
answer is hostile, but for numbers and times."""
PLAIN = re.compile(r"(\d+(\.\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z)?$")
SILENT = {f"dashboard-{name}" for name in ("sign-in", "register", "forgot", "confirm", "password")}
"""Where the page shows nothing that the API has answered."""
QUICK = {"dashboard-home", "dashboard-request", "dashboard-mispayments", "dashboard-changes", "dashboard-branding", "dashboard-dialog-refund"}
REPORTS = """addEventListener("securitypolicyviolation", (e) => console.error(`violated ${e.effectiveDirective}`));"""
FOUND = r"""(() => {
  const all = [...document.querySelectorAll("*")];
  for (const each of all) if (each.matches("details")) each.open = true;
  const TURNS = /[\u0000\u200e\u200f\u2028\u202a-\u202e\u2066-\u2069]/;
  const HARMLESS = /^(https?:|mailto:|blob:|data:(,|image\/|text\/csv)|[\/#])/i;
  const runs = ({ name, value }) => name.startsWith("on") || (["href", "src", "action", "formaction", "srcdoc", "xlink:href"].includes(name) && !HARMLESS.test(value));
  const found = [window, ...Array.from(window)].some(({ ran }) => ran) ? ["a script has run"] : [];
  for (const each of all) {
    const texts = [...each.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(({ data }) => data);
    const read = [...texts, ...["title", "aria-label", "alt"].map((name) => each.getAttribute(name) ?? "")];
    const isForeign = each.closest("#app") && each.matches("script, style, iframe:not([src^='/dashboard-preview?']), object, embed, base, meta, img[src=x]");
    if (isForeign || [...each.attributes].some(runs) || read.some((text) => TURNS.test(text))) found.push(each.outerHTML.slice(0, 200));
  }
  return document.documentElement.scrollWidth > innerWidth ? [...found, "the page is too wide"] : found;
})()"""
"""What a page has that a text must not bring about."""


def hostile(answer: Any) -> Any:
    """The same answer with the hostile text in all its texts; those of a table, which is CSV, by their columns."""
    if isinstance(answer, dict):
        return {name: each if name in KEPT else hostile(each) for name, each in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [hostile(each) for each in answer]
    if not isinstance(answer, str) or PLAIN.match(answer):
        return answer
    if answer.startswith("timestamp,"):
        table, written = csv.DictReader(io.StringIO(answer)), io.StringIO()
        writer = csv.DictWriter(written, table.fieldnames or ())
        writer.writeheader()
        writer.writerows(hostile(row) for row in table)
        return written.getvalue()
    return HOSTILE


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[Visitor]:
    context = browser.new_context(reduced_motion="reduce", locale="en", viewport={"width": 390, "height": 800})
    yield Visitor(context, script=PATIENT + REPORTS)
    context.close()


@pytest.mark.parametrize("name", few(QUICK, SCENES))
def test_a_hostile_text_in_whatever_the_api_answers_stays_a_text(visitor: Visitor, name: str) -> None:
    page = visitor.page
    visitor.complaints.clear()
    open_scene(page, name, hostile)
    assert page.evaluate(FOUND) == []
    expect(page.get_by_role("heading").first).to_be_visible()
    assert ("onerror" in page.inner_text("body")) == (name not in SILENT), "it is shown"
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")
    assert visitor.complaints == []


@pytest.mark.parametrize("path", ["requests?reference={}", "links?reference={}", "payments?payer={}", "request/{}", "confirm#{}", "invitation#{}", "{}", "create?kind={}"])
def test_a_hostile_text_in_the_address_of_a_view_stays_a_text(visitor: Visitor, path: str) -> None:
    page = visitor.page
    visitor.complaints.clear()
    page.route("**/*", answering(POPULATED))
    open_view(page, path.format(quote(HOSTILE)), "")
    assert page.evaluate(FOUND) == []
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")
    assert visitor.complaints == []
