"""Every view and dialog by keyboard alone, on screens as of the scenes of `make screens`."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.browser import PATIENT
from infra.local.scenes_dashboard import POPULATED
from infra.local.screens_dashboard import SCENES, answering, open_scene, open_view
from tests.support.patience import milliseconds
from tests.support.rehearsed import few

pytestmark = pytest.mark.xdist_group("scenes")

QUICK = {"dashboard-home", "dashboard-create", "dashboard-webhook", "dashboard-dialog-new-key", "dashboard-dialog-refund"}
CONTROLS = """(() => {
  const within = document.querySelector("dialog") ?? document;
  const all = [...within.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  const reached = all.filter((each) => !each.disabled && each.checkVisibility({ visibilityProperty: true }));
  reached.forEach((each, at) => (each.dataset.at = at));
  return reached.map((each) => `${each.tagName} ${each.type ?? ""} ${(each.ariaLabel ?? each.innerText ?? "").slice(0, 30)}`);
})()"""
"""Numbers what can be reached, in the order of the document, in the dialog if there is one."""
FOCUSED = """(() => {
  const each = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(each);
  const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const { top, bottom, left, right } = each.getBoundingClientRect();
  const isInView = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  return [each.dataset.at ?? null, isSeen, isInView];
})()"""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", locale="en")
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)
    yield context.new_page()
    context.close()


def walk(page: Page, key: str, count: int) -> list[tuple[str, bool, bool]]:
    """Presses a key until so many controls had the focus one after the other: which, whether that is seen, and whether
    it is in the window. A field for a time has several places, and after the last control the browser has some."""
    found: list[tuple[str, bool, bool]] = []
    for _ in range(8 * count + 8):
        page.keyboard.press(key)
        at, is_seen, is_in_view = page.evaluate(FOCUSED)
        if at is not None and at != (found[-1][0] if found else None):
            found.append((at, is_seen, is_in_view))
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("name", few(QUICK, SCENES))
def test_tab_reaches_every_control_in_order_and_back_and_each_shows_the_focus(tab: Page, name: str) -> None:
    open_scene(tab, name)
    controls = tab.evaluate(CONTROLS)
    numbers = [str(each) for each in range(len(controls))]
    for key, expected in (("Tab", numbers), ("Shift+Tab", numbers[::-1])):
        found = walk(tab, key, len(controls))
        order = [at for at, *_ in found]
        begin = expected.index(order[0])
        assert order == [*expected[begin:], *expected[:begin]], (order, controls)
        assert [controls[int(at)] for at, is_seen, is_in_view in found if not (is_seen and is_in_view)] == []
    tab.unroute_all(behavior="ignoreErrors")


DIALOGS = {name: scene for name, scene in SCENES.items() if scene[1] and "presence" not in name}


@pytest.mark.parametrize("name", few(QUICK, DIALOGS))
def test_escape_closes_a_dialog_and_the_focus_is_where_it_was_opened(tab: Page, name: str) -> None:
    path, button, answers = SCENES[name]
    tab.route("**/*", answering(answers))
    open_view(tab, path, "")
    opener = tab.get_by_role("button", name=button, exact=True).first
    opener.focus()
    tab.keyboard.press("Enter")
    tab.locator("dialog h2").first.wait_for()
    assert tab.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("dialog")).to_have_count(0)
    expect(opener).to_be_focused()
    tab.unroute_all(behavior="ignoreErrors")


@pytest.mark.parametrize(("path", "label", "request_path"), [("sign-in", "Password", "/v1/auth/login"), ("account", "Name of the account", "/v1/account"), ("payments", "Reference", "/v2/payments")])
def test_enter_in_a_field_sends_its_form(tab: Page, path: str, label: str, request_path: str) -> None:
    tab.route("**/*", answering({**POPULATED, "me": None} if path == "sign-in" else POPULATED))
    open_view(tab, path, "")
    if path == "payments":
        tab.locator("details.filter summary").click()
    field = tab.get_by_label(label, exact=True)
    field.fill("INV-1")
    with tab.expect_request(lambda each: request_path in each.url):
        tab.keyboard.press("Enter")
    tab.unroute_all(behavior="ignoreErrors")
