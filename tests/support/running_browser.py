"""The installed browser, for tests that need one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from infra.local.browser import launch
from infra.local.setup import MISSING_BROWSER, find_browser
from tests.support.patience import milliseconds


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Yields the browser. If none is installed, tests are skipped with a message; in CI they fail."""
    if find_browser() is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING_BROWSER)
    expect.set_options(timeout=milliseconds())
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()
