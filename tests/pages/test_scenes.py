"""Every state of the page, as `make screens` takes pictures of it: open to everybody, in one language, on any phone."""

import pytest
from playwright.sync_api import Browser

from chalicelib.pages import locale
from infra.local.scenes import SCENES
from infra.local.screens import look, staged
from tests.pages.visitor import axe_findings

pytestmark = pytest.mark.xdist_group("browser")
ENGLISH = {text for key, text in locale("en").items() if "{" not in text and text != locale("de").get(key)}


@pytest.mark.parametrize("name", SCENES)
def test_a_state_is_open_to_everybody_in_the_language_that_was_chosen(browser: Browser, name: str) -> None:
    with staged(browser, SCENES[name]) as page:
        assert axe_findings(page) == []
        look(page, "small-phone")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        look(page, "phone")
        texts = page.locator("header, main, footer").all_inner_texts()
        shown = {line.strip() for line in "\n".join(texts).splitlines()}
        assert shown & ENGLISH == set()
        assert "12.625" not in page.locator("main").inner_text()
