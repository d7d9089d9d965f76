"""The page /docs in the machine's own browser: it asks for nothing else, complains of nothing, and fits a phone."""

import pytest
from playwright.sync_api import Browser

from infra.local.browser import axe_script
from tests.support.client import Api

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("width", [1200, 390])
def test_the_api_is_read_in_a_browser_without_a_third_party(browser: Browser, api: Api, width: int) -> None:
    base = f"http://127.0.0.1:{api.port}"
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    asked, said = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{base}/docs")
    page.get_by_role("navigation", name="Parts").get_by_role("link", name="Checkout").click()
    page.get_by_role("link", name="The transactions that pay a link").first.click()
    heading = page.get_by_role("heading", name="The transactions that pay a link")
    assert page.url.endswith("#pay_secure_payment")
    assert heading.is_visible() and heading.bounding_box()["y"] < 900  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("link", name="PayAnswer", exact=True).first.click()
    assert page.get_by_role("heading", name="PayAnswer", exact=True).is_visible()
    assert {url.partition("#")[0] for url in asked if "favicon" not in url} == {f"{base}/docs"}
    assert said == []
    context.close()


def test_nothing_bars_readers_of_the_api(browser: Browser, api: Api) -> None:
    context = browser.new_context(bypass_csp=True)  # the checker is a script, which the page's policy forbids
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{api.port}/docs")
    page.evaluate("for (const each of document.querySelectorAll('article ~ article')) each.remove()")  # more of the same
    page.evaluate(axe_script())
    rules = ["color-contrast", "document-title", "heading-order", "html-has-lang", "list", "definition-list", "dlitem"]
    rules += ["duplicate-id", "link-name", "region", "landmark-one-main", "page-has-heading-one"]
    found = page.evaluate("rules => axe.run({runOnly: rules})", rules)
    assert [each["id"] for each in found["violations"]] == []
    context.close()
