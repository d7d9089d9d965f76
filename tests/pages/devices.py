"""Devices of payers whose browsers are used for one sequence after the other: tabs, wallets with prompts, and a clock that
moves when it is told to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from playwright.sync_api import Browser, Error, Page

from chalicelib.payments.links.announcers import announcer_of
from infra.local.browser import wallet_script
from infra.local.chain import RpcError
from tests.pages.batch_purse import CALLS, BatchPurse, refuses
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.test_troubles import SENT
from tests.pages.visitor import Visitor

NAME = "Wallet"
LEASE_MS = 360_000
"""More than a claim lasts that nobody prolongs."""
APPROVE, SIGN = "0x095ea7b3", "eth_signTypedData_v4"
QUIET = ("loading", "reading", "connecting", "checking", None)
"""States in which the page still looks."""
FORBIDS = ("withdrawn", "claimed", "sent", "completed", "expired", "unsafe", "settling", "confirming", "waiting", "gasless-made")
"""States in which the page tells its reader not to pay, or that it is paid."""
SCRIPT = """{
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  window.hide = (value) => void ((isHidden = value), document.dispatchEvent(new Event("visibilitychange")));
  const [ask, waiting] = [window.askWallet, new Map()];
  window.askWallet = async (...given) => {
    const said = await ask(...given);
    return said.hang ? new Promise((resolve) => waiting.set(said.prompt, resolve)) : said;
  };
  window.answer = (prompt, said) => waiting.get(prompt)?.(said);
}"""
"""Pages are hidden and shown as they are told, and prompts are answered by their numbers."""
REFUSALS = (
    *(4001, 4100, 4200, "4001", "ACTION_REJECTED", None, -32601, -32602, -32000, -32003, -32603),
    *(5000, 5700, 5710, 5720, 5730, 5740, 5750, 5760),
)
_prompts = count(1)


def run(page: Page, script: str, value: Any = None) -> Any:
    """What a script in the page returns; None if the page is just being loaded again."""
    try:
        return page.evaluate(script, value)
    except Error as error:
        if "context was destroyed" in str(error):
            return None
        raise


class Shelf:
    """Browsers that are kept: each has one wallet, whose mind a sequence gives it."""

    def __init__(self, browser: Browser, stack: Stack) -> None:
        self._browser, self._stack = browser, stack
        self._kept = list[Visitor]()

    def take(self, number: int, purse: Purse) -> Visitor:
        """The browser of that number with nothing in it but the wallet, connected before."""
        while len(self._kept) <= number:
            context = self._browser.new_context(reduced_motion="reduce", locale="en")
            context.clock.install()
            made = Visitor(context, self._stack, SCRIPT)
            context.add_init_script(wallet_script(name=NAME, rdns="test.wallet", how="announced", key=None))
            made.page.goto(f"{self._stack.pay_url}/pages/none.js")
            self._kept.append(made)
        visitor = self._kept[number]
        purse.name, purse.is_connected = NAME, True
        visitor.wears(purse)
        visitor.page.evaluate("localStorage.clear(); localStorage.wallet = 'evm:test.wallet'")
        return visitor

    def clear(self) -> None:
        """Closes what is open in them but an empty page."""
        for each in self._kept:
            each.context.unroute("**/v2/**")
            each.complaints.clear()
            for tab in each.context.pages[1:]:
                tab.close()
            each.page.goto(f"{self._stack.pay_url}/pages/none.js")

    def close(self) -> None:
        for each in self._kept:
            each.context.close()


@dataclass
class Device:
    """A browser with a wallet, whose prompts wait for its person: `open` has what is asked to pay, by number; approvals are
    confirmed at once."""

    draw: Random
    purse: Purse
    visitor: Visitor
    token: str
    tabs: list[Visitor] = field(default_factory=list)
    open: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    is_asleep: bool = False
    is_hidden: bool = False
    has_slept: bool = False
    """Past the lease of a claim: its person reads the page before he confirms anything."""

    def __post_init__(self) -> None:
        self.tabs = [self.visitor]
        self.purse.says[CALLS] = self.purse.says[SENT] = self._asks
        self._sign: Any = self.purse.says.get(SIGN)
        if self._sign:
            self.purse.says[SIGN] = lambda address, text: self._asks({"calls": [], "signs": (address, text)})

    def _asks(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "calls" not in asked and asked["data"].startswith(APPROVE):
            return {"result": self.purse.send(asked)}
        self.open.append((next(_prompts), asked))
        return {"hang": True, "prompt": self.open[-1][0]}

    @property
    def states(self) -> list[str | None]:
        return [run(each.page, "document.getElementById('main')?.dataset.state") for each in self.tabs]

    def url(self) -> str:
        return f"{self.visitor.stack.pay_url}/?token={self.token}"

    def pass_time(self, milliseconds: int) -> None:
        """Its clock moves, and what is due in its pages is done; not while it is asleep."""
        if not self.is_asleep:
            self.visitor.context.clock.run_for(milliseconds)

    def wake(self) -> None:
        if self.is_asleep:
            self.is_asleep, self.has_slept = False, True
            self.visitor.context.clock.fast_forward(LEASE_MS)
            self.hide(False)
            rest(self)

    def speaks(self, seconds: int = 20) -> bool:
        """Whether every tab says within so many seconds where the payment stands."""
        for moment in range(4 * seconds):
            if not any(state in QUIET for state in self.states):
                return True
            if moment < seconds:
                self.pass_time(1_000)
            self.visitor.page.wait_for_timeout(40)
        return False

    def until(self, holds: Callable[[], bool]) -> bool:
        """Whether something comes to hold within a minute of its time."""
        for _ in range(120):
            if holds():
                return True
            self.pass_time(500)
            self.visitor.page.wait_for_timeout(25)
        return False

    def holds(self, claimant: str) -> bool:
        """Whether its browser has made the claim."""
        kept = run(self.visitor.page, "token => JSON.parse(localStorage[`sent:${token}`] ?? null)?.secret", self.token)
        return announcer_of(kept) == claimant

    # ---- what its person does

    def _tab(self) -> Page:
        return self.draw.choice(self.tabs).page

    def press(self, times: int) -> None:
        """As a person does, an upgrade of the account chosen before."""
        before, page = len(self.open), self._tab()
        run(page, "document.querySelector('#batch:not(:checked)')?.click();" + "document.querySelector('#pay, #sign')?.click();" * times)
        if self.draw.random() < 0.2:
            return  # somebody else does so at the same time
        for _ in range(20):
            page.wait_for_timeout(20)
            if len(self.open) > before or not any(state in ("review", "switching", "reading", "signing", "gasless") for state in self.states):
                return

    def confirm(self) -> None:
        """Confirms what the wallet shows, whatever has become of the page; once the claim may be over, as the page says."""
        if self.has_slept and any(state in FORBIDS for state in self.states):
            self.decline()
        results: list[Any]
        for number, asked in self.open:
            if "signs" in asked:
                results = [self._sign(*asked["signs"])["result"]] * 2
            elif isinstance(self.purse, BatchPurse) and "calls" in asked:
                made = self.purse.make(asked)
                results = [made, made["id"]]
            else:
                try:
                    results = [self.purse.send(asked)] * 2
                except RpcError as error:  # it would be reverted, as the other device has made it already
                    self._answer(number, {"error": {"code": -32000, "message": str(error)}})
                    continue
            said = [*({"result": each} for each in results), refuses(4001), refuses(-32603), {"error": "User rejected"}, None, {"result": None}]
            self._answer(number, self.draw.choice(said))
        self.open.clear()

    def decline(self) -> None:
        for number, _ in self.open:
            self._answer(number, {"error": {"code": self.draw.choice(REFUSALS), "message": "User rejected the request"}})
        self.open.clear()

    def _answer(self, number: int, said: dict[str, Any] | None) -> None:
        """In whichever tab still waits; one that was loaded again has forgotten that it asked. None: it never answers."""
        if said is not None:
            for tab in self.tabs:
                run(tab.page, "([number, said]) => window.answer?.(number, said)", [number, said])

    def reload(self) -> None:
        self._tab().reload(wait_until="commit")

    def open_tab(self) -> None:
        if len(self.tabs) < 3:
            self.tabs.append(self.visitor.another_tab())
            self.tabs[-1].page.goto(self.url(), wait_until="commit")

    def close_tab(self) -> None:
        if len(self.tabs) > 1:
            self.tabs.pop(self.draw.randrange(1, len(self.tabs))).page.close()

    def hide(self, is_hidden: bool) -> None:
        self.is_hidden = is_hidden
        for tab in self.tabs:
            run(tab.page, "value => window.hide?.(value)", is_hidden)

    def lose_the_service(self, is_lost: bool) -> None:
        self.visitor.context.unroute("**/v2/**")
        if is_lost:
            self.visitor.context.route("**/v2/**", lambda route: route.abort())


def rest(*devices: Device, times: int = 2, milliseconds: int = 1_000) -> None:
    """Some time passes on them, and a moment of ours for what their pages ask meanwhile."""
    for _ in range(times):
        for each in devices:
            each.pass_time(milliseconds)
        devices[0].visitor.page.wait_for_timeout(20)


@contextmanager
def shelf(browser: Browser, stack: Stack) -> Iterator[Shelf]:
    kept = Shelf(browser, stack)
    yield kept
    kept.close()
