"""A form says what became of what it saves, keeps the focus while it is busy, and sends once."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from infra.local.browser import PATIENT
from infra.local.scenes_dashboard import POPULATED
from infra.local.screens_dashboard import answering, open_view
from tests.pages.dashboard.test_files import OWN
from tests.pages.visitor import axe_findings
from tests.support.patience import milliseconds

pytestmark = pytest.mark.xdist_group("scenes")
WAITS: Any = {"result": {}, "pendingChange": {"id": "x", "expiresAt": "2101-01-01T12:00:00.000Z"}}

ADDRESSES: Any = {"addresses": [{"email": "ann@shop.example", "language": "en", "stopped": None}], "sendsEmail": True}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", locale="en")
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)
    yield context.new_page()
    context.close()


def opened(page: Page, view: str) -> None:
    page.route("**/*", answering({**POPULATED, "list_addresses": ADDRESSES}))
    open_view(page, view, "")


FORMS = (
    ("account", "Name and rules", "/v1/account"), ("account", "E-mail to owners, admins and finance", "/v1/notifications"), ("account", "On receipts", "/v1/account"),
    ("security", "E-mails to you", "/v1/auth/email"),
)  # fmt: skip


def answer_changes(page: Page, path: str, status: int, body: Any) -> None:
    page.route(f"**{path}", lambda route: route.fallback() if route.request.method == "GET" else route.fulfill(status=status, json=body))


@pytest.mark.parametrize(("view", "title", "path"), FORMS)
def test_a_form_says_that_it_saved_or_for_what_it_waits(page: Page, view: str, title: str, path: str) -> None:
    opened(page, view)
    card = page.locator("main section", has=page.get_by_role("heading", name=title, exact=True))
    said, button = card.get_by_role("status"), card.get_by_role("button", name="Save")
    expect(said).to_have_text("")
    answer_changes(page, path, 200, {})
    button.click()
    expect(said).to_have_text("Saved.")
    answer_changes(page, path, 202, WAITS)
    button.click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(said).to_contain_text("It waits for another person, until Jan 1, 2101")
    expect(button).to_be_focused()
    assert axe_findings(page) == []
    answer_changes(page, path, 400, {"statusCode": 400, "message": "No", "error": "Bad Request"})
    button.click()
    expect(card.get_by_role("alert")).to_contain_text("No")
    expect(said).to_have_text("")


def test_the_role_of_a_member_is_said_to_be_saved_beside_it(page: Page) -> None:
    opened(page, "team")
    answer_changes(page, "/v1/members/*", 200, {})
    form = page.locator(".role-of form").first
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("status")).to_have_text("Saved.")


def unanswered(page: Page, path: str) -> list[Route]:
    """The calls of that path that change something, which are not answered yet."""
    routes: list[Route] = []
    page.route(f"**{path}", lambda route: route.fallback() if route.request.method == "GET" else routes.append(route))
    return routes


def press_twice(page: Page, button: Locator, calls: list[Route]) -> None:
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("main [aria-disabled=true]")).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("main [aria-disabled=true]").click(force=True)
    page.evaluate("new Promise((done) => setTimeout(done))")
    assert len(calls) == 1


def test_a_busy_form_keeps_the_focus_and_a_second_press_sends_nothing(page: Page) -> None:
    """Also where a dialog was opened meanwhile: the focus comes back to the button."""
    opened(page, "account")
    calls = unanswered(page, "/v1/account")
    button = page.locator("main section").first.locator("form > button")
    press_twice(page, button, calls)
    assert axe_findings(page) == []
    calls[0].fulfill(status=202, json=WAITS)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-disabled", "false")
    assert len(calls) == 1


def test_a_download_keeps_the_focus_and_is_made_once(page: Page) -> None:
    opened(page, "payments")
    calls: list[Route] = []
    page.route("**/v2/payments?*", lambda route: calls.append(route))
    button = page.get_by_role("button", name="Download CSV")
    press_twice(page, button, calls)
    with page.expect_download():
        calls[0].fulfill(body="timestamp\n", content_type="text/csv")
    expect(button).to_be_focused()


@pytest.mark.parametrize("name", OWN)
def test_no_button_is_disabled_by_which_it_would_lose_the_focus(name: str) -> None:
    assert "disabled=" not in OWN[name].replace("aria-disabled=", "")
