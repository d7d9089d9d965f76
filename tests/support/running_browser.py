"""The machine's own browser for the tests that need one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from infra.local.browser import launch
from infra.local.setup import MISSING_BROWSER, find_browser

SECONDS = 60
"""How long a state may take to come, however slow the machine."""


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Where none is installed the tests do not run, and the last lines say so; in CI they fail."""
    if find_browser() is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING_BROWSER)
    expect.set_options(timeout=SECONDS * 1_000)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()
