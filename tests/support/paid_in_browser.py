"""A payment that a person makes on the hosted page, in the machine's own browser, on a local chain."""

from playwright.sync_api import Browser

from infra.local.chain import Chain
from tests.pages.purse import Purse
from tests.pages.visitor import Visitor


def pay_in_browser(browser: Browser, url: str, chain: Chain, state: str = "confirming") -> list[str]:
    """Opens a link at its own URL and pays it with the wallet of a new payer; returns the hashes of what was sent.

    `state` is where the page has to arrive then. Whatever the browser complains of, such as a violated policy, fails.
    """
    context = browser.new_context(reduced_motion="reduce", locale="en")
    try:
        purse = Purse(chain)
        visitor = Visitor(context).has(purse)
        visitor.page.goto(url)
        visitor.reach("choose").connect(purse).pay(state)
        assert visitor.complaints == []
        return purse.sent
    finally:
        context.close()
