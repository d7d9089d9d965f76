"""Every view of the dashboard as `make screens` takes pictures of it: on any screen, with words that stay whole."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from infra.local.browser import PATIENT
from infra.local.scenes_dashboard import POPULATED
from infra.local.screens_dashboard import SCENES, answering, open_scene, open_view
from tests.pages.dashboard.test_files import LOCALES, MESSAGES
from tests.pages.visitor import axe_findings
from tests.support.patience import milliseconds
from tests.support.rehearsed import few, rehearsed

pytestmark = pytest.mark.xdist_group("scenes")

WIDTHS = (320, 390, 1280)
SPILLS = """(() => {
  const shown = document.querySelector("dialog") ?? document.querySelector("main");
  const { left, right } = shown.getBoundingClientRect();
  const isHidden = (each) => each.closest(".visually-hidden, thead, .scroll, .program, svg, [hidden]");
  const out = [...shown.querySelectorAll("*")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && !isHidden(each) && (box.left < left - 1 || box.right > right + 1);
  });
  const scrolled = [...shown.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth);
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return [...out, ...scrolled].map((each) => each.outerHTML.slice(0, 200)).concat(isWide ? ["the page"] : []);
})()"""
"""What is wider than the view, or has to be scrolled sideways."""
BROKEN = r"""(() => {
  const shown = document.querySelector("dialog") ?? document.body;
  const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
  const [found, range] = [[], document.createRange()];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const isRead = node.parentElement.checkVisibility() && !node.parentElement.closest(".visually-hidden, thead, pre, code[title], .copy, option");
    for (const { 0: token, index } of isRead ? node.data.matchAll(/\S+/g) : []) {
      if (/(?=\w*\d)\w{16,}/.test(token)) continue; // an address, a hash, an id
      for (const { 0: word, index: at } of token.matchAll(/[A-Za-zÄÖÜäöüß]{2,20}/g)) {
        range.setStart(node, index + at);
        range.setEnd(node, index + at + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(`${word} in ${token}`);
      }
    }
  }
  return found;
})()"""
"""Words that go on in the next line, in texts that are not addresses, hashes or ids."""
DIVIDED = r"""(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const [found, range] = [[], document.createRange()];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest(".visually-hidden, thead, option")) continue;
    for (const { 0: short, index } of node.data.matchAll(/\w{8}…\u2060?\w{6}/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + short.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(short);
    }
  }
  return found;
})()"""
"""Shortened addresses, hashes and ids that go on in the next line."""


@pytest.fixture(scope="module", params=[pytest.param("en", marks=rehearsed), "de"])
def language(request: pytest.FixtureRequest) -> str:
    """German in `make test`, as its words are longer."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def tab(browser: Browser, language: str) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", locale=language)
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", SCENES)
def test_a_view_fits_any_screen_and_breaks_no_word(tab: Page, language: str, name: str) -> None:
    tab.set_viewport_size({"width": WIDTHS[-1], "height": 800})
    named = {text: LOCALES[f"{language}.json"][key] for key, text in MESSAGES.items()}
    open_scene(tab, name, named=lambda text: named.get(text, ""))
    found = {}
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 800})
        assert "[object" not in tab.title()
        found[width] = [*tab.evaluate(SPILLS), *tab.evaluate(BROKEN), *tab.evaluate(DIVIDED)]
    tab.unroute_all(behavior="ignoreErrors")
    assert {width: each for width, each in found.items() if each} == {}


@rehearsed
@pytest.mark.parametrize("width", [320, 1280])
def test_no_view_in_german_keeps_anybody_out(browser: Browser, width: int) -> None:
    """By axe, in light and dark. In English a test with the whole service holds it (test_views)."""
    context = browser.new_context(reduced_motion="reduce", locale="de", viewport={"width": width, "height": 800})
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)
    german = {text: LOCALES["de.json"][key] for key, text in MESSAGES.items()}
    found = {}
    for name in SCENES:
        page = context.new_page()
        open_scene(page, name, named=lambda text: german.get(text, ""))
        found[name] = axe_findings(page)
        page.close()
    context.close()
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize("name", ["dashboard-one-more-step", "dashboard-dialog-presence", "dashboard-dialog-presence-for-passkey"])
def test_a_proof_that_is_asked_for_over_a_view_keeps_nobody_out(browser: Browser, name: str) -> None:
    """By axe, in light and dark."""
    context = browser.new_context(reduced_motion="reduce", locale="en", viewport={"width": 320, "height": 800})
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)
    page = context.new_page()
    open_scene(page, name)
    if SCENES[name][1]:
        page.get_by_role("dialog").get_by_role("heading", name="Is it you?").wait_for()
        page.get_by_role("dialog").get_by_label("Password").wait_for()
    found = axe_findings(page)
    context.close()
    assert found == []


@pytest.mark.parametrize("step", few([6], [6, 1]))
def test_another_language_is_shown_at_once_with_nothing_left_of_the_one_before(browser: Browser, step: int) -> None:
    """Each view says the same as when it is opened in that language."""
    contexts = [browser.new_context(reduced_motion="reduce", locale=each) for each in ("en", "de")]
    for context in contexts:
        context.set_default_timeout(milliseconds())
        context.add_init_script(PATIENT)
        context.route("**/*", answering(POPULATED))
    changed, german = (context.new_page() for context in contexts)
    left = {}
    paths = list(dict.fromkeys(path for path, button, answers in SCENES.values() if answers is POPULATED and not button))
    for path in paths[::step]:
        open_view(german, path, "")
        open_view(changed, path, "")
        changed.locator(".person summary").click()
        changed.get_by_label("Language", exact=True).first.select_option("de")
        changed.get_by_label("Sprache", exact=True).first.wait_for()
        changed.locator(".person summary").click()
        left[path] = set(changed.inner_text("body").splitlines()) - set(german.inner_text("body").splitlines())
        changed.evaluate("localStorage.clear()")
    for context in contexts:
        context.close()
    assert {path: each for path, each in left.items() if each} == {}
