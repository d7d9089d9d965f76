"""A person at the payment page: opens links, reads and presses; whatever the browser complains of is kept."""

import json
import re
import time
from collections.abc import Callable
from typing import Any, Self

from playwright.sync_api import APIResponse, BrowserContext, Error, Frame, Locator, Page, expect

from infra.local.browser import PATIENT, axe_script, wallet_script
from tests.pages.purse import FRAMING_PAGE, Purse
from tests.pages.stack import Stack
from tests.support.patience import milliseconds, patience

# The page's pauses between two looks, which are not whole numbers, are made a twentieth, and so is how long it waits before
# the first, and for a wallet that switches (300 ms); how long it waits for somebody (5 s, 15 s and more) is not.
_HASTE = """(() => {
  const real = window.setTimeout;
  const short = (ms) => (!Number.isInteger(ms) || [300, 10_000].includes(ms) ? ms / 20 : ms);
  window.setTimeout = (task, ms, ...given) => real(task, short(ms), ...given);
  addEventListener("securitypolicyviolation", (e) =>
    console.error("violated " + e.effectiveDirective + " by " + (e.blockedURI || e.sample)));
})();"""
_UNWATCHED = """{
  const real = window.setTimeout;
  window.setTimeout = (task, ms, ...given) => (ms === 10_000 ? 0 : real(task, ms, ...given));
}"""
_STATUS = re.compile(r"Failed to load resource: (the server responded with a status of \d|net::ERR_FAILED)")
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def without_policy(reply: APIResponse) -> dict[str, str]:
    """The headers of a page that a test has altered, but for the policy that has the hash of its import map."""
    return {name: value for name, value in reply.headers.items() if name != "content-security-policy"}


def axe_findings(page: Page) -> list[str]:
    """What axe finds, in light and, of contrast, in dark."""
    page.evaluate(f"window.axe || (() => {{{axe_script()}}})()")
    found = []
    for theme, kind, values in (("light", "tag", _TAGS), ("dark", "rule", ["color-contrast"])):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        run = {"runOnly": {"type": kind, "values": values}, "resultTypes": ["violations"], "iframes": False}
        violations = page.evaluate("run => axe.run(document, run).then(({ violations }) => violations)", run)
        found += [f"{theme}: {each['id']}: {node['html']}" for each in violations for node in each["nodes"]]
    return found

_WATCH_PRESS = """() => {
  window.wasPressed = false;
  const watch = (event) => { window.wasPressed = event.target.closest("#pay") !== null; };
  window.addEventListener("click", watch, { capture: true, once: true });
}"""


class Visitor:
    """One browser profile. `complaints` are uncaught errors, violated policies and errors in the console.

    `open` needs the stack; without one the caller opens a URL. `script` runs in each page before those of the page.
    """

    stack: Stack

    def __init__(self, context: BrowserContext, stack: Stack | None = None, script: str = PATIENT + _HASTE) -> None:
        self.context = context
        if stack is not None:
            self.stack = stack
        self.complaints: list[str] = []
        self._purses = dict[str, Purse]()
        context.expose_binding("askWallet", self._asked)
        context.add_init_script(script)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("console", self._logged)
        context.set_default_timeout(milliseconds())
        self.page = context.new_page()
        self.frame: Page | Frame = self.page

    def has(self, *purses: Purse) -> Self:
        """Gives the browser a wallet, or several."""
        for purse in purses:
            self._purses[purse.name] = purse
            if purse.how == "framing":
                continue
            rdns = f"test.wallet{len(self._purses)}"
            self.context.add_init_script(wallet_script(name=purse.name, rdns=rdns, how=purse.how, key=purse.key))
        return self

    def wears(self, purse: Purse) -> None:
        """Gives the wallet of that name, which the browser has, another mind."""
        self._purses = {purse.name: purse}

    def unwatched(self) -> Self:
        """The page does not look now and then what became of the link: it finds that out when something is pressed."""
        self.context.add_init_script(_UNWATCHED)
        return self

    def open(self, token: str, state: str = "choose", **query: str) -> Self:
        more = "".join(f"&{name}={value}" for name, value in query.items())
        self.page.goto(f"{self.stack.pay_url}/?token={token}{more}")
        return self.reach(state)

    def open_in_safe(self, token: str, state: str) -> Self:
        """In a frame of Safe's app."""
        address, html = f"{self.stack.api_url}/safe-app", FRAMING_PAGE.replace("PAGE", f"{self.stack.pay_url}/?token={token}")
        self.page.route(address, lambda route: route.fulfill(body=html, content_type="text/html"))
        self.page.goto(address)
        self.frame = self.page.frames[1]
        return self.reach(state)

    def reload(self, state: str) -> Self:
        self.page.reload()
        return self.reach(state)

    def another_tab(self) -> Self:
        """The same profile, a page of its own."""
        page = self.context.new_page()
        twin = object.__new__(Visitor)
        twin.__dict__ = {**self.__dict__, "page": page, "frame": page}
        return twin

    def reach(self, *states: str) -> Self:
        """Waits for one of the states; several where one follows from the other by itself."""
        try:
            self.frame.locator(", ".join(f'#main[data-state="{each}"]' for each in states)).wait_for(timeout=milliseconds())
        except Error as error:
            raise AssertionError(f"not {states}, but {self.frame.inner_text('body')} {[each.url for each in self.page.frames]} {self.complaints}") from error
        return self

    def connect(self, purse: Purse, state: str = "review") -> Self:
        self.button(purse.name).click()
        return self.reach(state)

    def press(self, name: str | re.Pattern[str]) -> Self:
        self.button(name).click()
        return self

    def pay(self, state: str) -> Self:
        """Presses the button, and again if the page drew it anew between the mouse's down and up."""
        self.frame.locator("#main").evaluate(_WATCH_PRESS)
        self.frame.locator("#pay").click()
        if not self.frame.locator("#main").evaluate("() => window.wasPressed"):
            self.frame.locator("#pay").click()
        return self.reach(state)

    def pay_unanswered(self, purse: Purse) -> Self:
        """Until the wallet, which keeps silent, was asked: the page says a little earlier that it will be."""
        asked = purse.asked.count("eth_sendTransaction")
        return self.pay("signing").until(lambda: purse.asked.count("eth_sendTransaction") > asked)

    def until(self, holds: Callable[[], bool]) -> Self:
        """Waits for what does not show in the page."""
        deadline = time.monotonic() + patience()
        while not holds() and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        assert holds()
        return self

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.frame.get_by_role("button", name=name)

    def can_pay(self) -> bool:
        return self.frame.locator("#pay").count() > 0

    def emit(self, purse: Purse, event: str, value: Any) -> None:
        """The wallet tells the page of something."""
        self.page.evaluate("([name, event, value]) => wallets[name](event, value)", [purse.name, event, value])

    def shows(self, *texts: str) -> None:
        for text in texts:
            expect(self.frame.locator("main")).to_contain_text(text)

    def note(self, token: str) -> dict[str, Any] | None:
        """What the page has written down of what it asked for."""
        kept = self.page.evaluate("token => localStorage.getItem(`pay:${token}`)", token)
        return json.loads(kept) if kept else None

    @property
    def state(self) -> str | None:
        return self.frame.locator("#main").get_attribute("data-state")

    @property
    def text(self) -> str:
        """With plain spaces, also between an amount and its token."""
        return self.frame.locator("main").inner_text().replace("\u00a0", " ")

    def _asked(self, source: Any, name: str, method: str, params: list[Any]) -> dict[str, Any]:
        return self._purses[name].answer(method, params)

    def _logged(self, message: Any) -> None:
        if message.type == "error" and not _STATUS.match(message.text):
            self.complaints.append(message.text)
