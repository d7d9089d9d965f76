"""The page /docs in a browser: readable on phones and on wide screens, by everybody, with what its policy allows."""

import pytest
from playwright.sync_api import Page, expect

from tests.pages.conftest import NewVisitor
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings


@pytest.fixture
def page(stack: Stack, new_visitor: NewVisitor) -> Page:
    """`new_visitor` fails the test if the browser complains, for example of a style that the policy refuses."""
    page = new_visitor().page
    page.goto(f"{stack.api_url}/docs")
    return page


def test_it_asks_for_nothing_but_itself(stack: Stack, new_visitor: NewVisitor) -> None:
    page, asked = new_visitor().page, list[str]()
    page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    page.goto(f"{stack.api_url}/docs")
    page.get_by_role("link", name="PayAnswer", exact=True).first.click()
    assert {url for url in asked if "favicon" not in url} == {f"{stack.api_url}/docs"}


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_contents_stay_beside_an_operation_on_a_wide_screen(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("summary", has_text="Webhooks").click()
    page.get_by_role("link", name="Register a webhook").first.click()
    assert page.url.endswith("#create_webhook")
    contents, operation = page.locator("nav").bounding_box(), page.locator("#create_webhook").bounding_box()
    assert contents is not None and operation is not None
    assert contents["y"] >= 0 and operation["y"] < 100 and contents["x"] + contents["width"] <= operation["x"]


def test_a_phone_leads_back_to_the_contents_from_anywhere(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("document.getElementById('schema-RequestItem').scrollIntoView()")
    page.get_by_role("link", name="Contents").click()
    expect(page.locator("summary", has_text="Links")).to_be_in_viewport()


def found(page: Page, typed: str) -> list[str]:
    page.get_by_role("searchbox", name="Search").fill(typed)
    return page.locator("#found a").all_inner_texts()


def test_a_search_finds_what_all_words_stand_in_and_titles_first(page: Page) -> None:
    assert found(page, "register webhook")[0] == "Register a webhook"
    assert found(page, "create_secure_payment")[0] == "Create a secure payment link"
    assert "payment.refunded" in found(page, "payment.refunded") and "PayAnswer" in found(page, "payanswer")
    assert found(page, "idempotency key")
    assert "Headers of a webhook" in found(page, "x-service-signature") and "Headers of a webhook" in found(page, "webhook-signature")
    assert found(page, "compare_digest") == found(page, "checking a signature") == ["Checking a signature"]
    assert found(page, "no such words anywhere") == []
    expect(page.locator("#count")).to_have_text("Nothing found")
    assert len(found(page, "payment")) == 30
    expect(page.locator("#count")).to_contain_text("the first 30 are listed")
    assert found(page, "<img src=x>") == [] == found(page, "  ")
    expect(page.locator("#count")).to_have_text("")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_search_needs_only_the_keyboard(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.keyboard.press("/")
    page.keyboard.type("void calldata")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="The transaction that voids").first).to_be_focused()
    page.keyboard.press("Enter")
    assert page.url.endswith("#void_commerce_calldata")
    expect(page.locator("#void_commerce_calldata h3")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_a_search_lists_is_accessible(page: Page) -> None:
    assert found(page, "refund")
    page.evaluate("document.querySelector('main').remove()")  # axe takes half a minute for it
    assert [each for each in axe_findings(page) if "landmark-one-main" not in str(each)] == []


def test_without_scripts_nothing_is_offered_that_does_not_work(stack: Stack, new_visitor: NewVisitor) -> None:
    assert '<div id="finder" role="search" hidden>' in new_visitor().page.request.get(f"{stack.api_url}/docs").text()


def test_it_is_accessible(page: Page) -> None:
    """With two entries of each part, as the others have the same elements and would take axe half a minute."""
    page.evaluate("""document.querySelectorAll("main section").forEach((section) =>
        [...section.querySelectorAll("article")].slice(2).forEach((each) => each.remove()))""")
    assert axe_findings(page) == []
