"""`make screens`: pictures of every state of the payment page (light, dark, phones, right to left) and the dashboard.

They are written to `.local/screens/<state>-<look>.png`, those of the dashboard (`screens_dashboard`) as
`dashboard-<view>-<look>.png`. Only the browser runs: requests of the page are fulfilled here.
"""

import json
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Route, WebSocketRoute, sync_playwright

from chalicelib.base.languages import language_of
from chalicelib.pages.api import draw_qr_code
from chalicelib.pages.assets import assets, messages_of, served_assets
from chalicelib.pages.html import Absence
from chalicelib.pages.html import page as page_html
from chalicelib.platform.settings import Settings
from infra.local import screens_dashboard
from infra.local.browser import PATIENT, launch, wallet_script
from infra.local.process import LOCAL, patience
from infra.local.scenes import SCENES as SCENES_OF_ONE_CHAIN
from infra.local.scenes import TOKEN, Scene, code_text
from infra.local.scenes_calls import CALLS_SCENES
from infra.local.scenes_commerce import COMMERCE_SCENES
from infra.local.scenes_crosschain import CROSSCHAIN_SCENES
from infra.local.scenes_energy import ENERGY_SCENES
from infra.local.scenes_gasless import ACCOUNTS, GASLESS_SCENES
from infra.local.scenes_sent import SENT_SCENES
from infra.local.walletconnect import PROJECT

SCENES = {
    **SCENES_OF_ONE_CHAIN, **CROSSCHAIN_SCENES, **COMMERCE_SCENES, **SENT_SCENES, **CALLS_SCENES, **ENERGY_SCENES,
    **GASLESS_SCENES,
}  # fmt: skip
ORIGIN = "https://pay.example"
_API, _ELSEWHERE = "https://api.example", "https://other.example"
_SETTINGS = Settings(
    stage="local", resource_prefix="", api_url=_API, auth_url=_ELSEWHERE, pay_url=ORIGIN, explorer_url=_ELSEWHERE
)
_TRON_KEY = "11" * 32
_ADDRESS = f"{ORIGIN}/?token={TOKEN}"
_FOLDER = LOCAL / "screens"
_TURN, _BETWEEN = 3_000, 10  # milliseconds of the page's clock and of real time
_LATER = {"eth_getTransactionReceipt", "eth_sendTransaction", "wallet_getCallsStatus"}
"""Calls of the wallet after which the service's response is `Scene.then`."""
_COUNTED = """{
  const pending = new Set();
  const counted = (work) => async (...given) => {
    const task = work(...given);
    pending.add(task);
    return task.finally(() => pending.delete(task));
  };
  const real = window.fetch.bind(window);
  window.fetch = counted(async (...given) => {
    const answer = await real(...given);
    await answer.clone().text();
    return answer;
  });
  window.askWallet = counted(window.askWallet);
  window.answered = async () => { while (pending.size > 0) await Promise.allSettled(pending); };
}"""
"""Defines `answered`, which waits until all requests of the page to the service and to its wallet have ended."""
_UNWRAPPED = """() => {
  for (const each of document.querySelectorAll("noscript:has(.unscripted)")) each.replaceWith(...each.childNodes);
}"""
"""Takes the page without scripts out of its element, which browsers and axe hide once scripts are allowed."""
LOOKS: dict[str, tuple[int, Literal["light", "dark"], str]] = {
    "light": (1000, "light", "en"),
    "dark": (1000, "dark", "en"),
    "phone": (390, "light", "de"),
    "small-phone": (320, "dark", "en"),
    "right-to-left": (390, "light", "ar"),
}
"""Width in pixels, colour scheme, language."""


class Stage:
    """Brings pages of a browser into the states of scenes.

    Scenes follow each other in one tab: its process has compiled the page's scripts. Those with a clock of their own or
    without scripts have a context of their own, as both stay for all that a context opens. `profile` has more
    options of a context, such as `user_agent`.
    """

    def __init__(self, browser: Browser, **profile: Any) -> None:
        self._browser, self._profile = browser, profile
        self._tab: tuple[Page, CDPSession] | None = None
        self._scene, self._asked = Scene("loading"), list[str]()

    @contextmanager
    def show_scene(self, scene: Scene) -> Iterator[Page]:
        """Yields a page that has reached the scene's state."""
        self._scene, self._asked = scene, []
        unanswered: list[Route] = []

        def answer(route: Route) -> None:
            if not _answer(route, scene, self._asked):
                unanswered.append(route)

        with self._open_page(scene) as page:
            page.route("**/*", answer)
            if scene.facts:
                _open_unscripted(page, "en")
            else:
                page.goto(f"{ORIGIN}/?token={scene.token}")
            _bring(page, scene)
            yield page
            for route in unanswered:
                route.abort()
            page.unroute_all(behavior="ignoreErrors")  # requests from now on are ignored

    @contextmanager
    def _open_page(self, scene: Scene) -> Iterator[Page]:
        """Yields an empty page with the scene's wallets."""
        if scene.waits or scene.facts or scene.has_relay:
            context = self._context(locale=None if scene.facts else "en")
            context.add_init_script(_scripts(scene))
            page = context.new_page()
            page.route_web_socket(re.compile("^wss:"), _relay)
            if scene.waits:
                page.clock.install()
                page.add_init_script(_COUNTED)
            yield page
            context.close()
            return
        if self._tab is None:
            tab = self._context(locale="en").new_page()
            self._tab = tab, tab.context.new_cdp_session(tab)
            self._tab[1].send("Page.enable")
        page, protocol = self._tab
        page.set_viewport_size({"width": 1280, "height": 720})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        added = protocol.send("Page.addScriptToEvaluateOnNewDocument", {"source": _scripts(scene)})
        yield page
        protocol.send("Page.removeScriptToEvaluateOnNewDocument", added)
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")  # nothing of this scene goes on

    def _context(self, locale: str | None) -> BrowserContext:
        context = self._browser.new_context(reduced_motion="reduce", locale=locale, **self._profile)
        context.set_default_timeout(1_000 * patience())
        context.expose_binding("askWallet", self._ask_wallet)
        return context

    def _ask_wallet(self, source: object, name: str, method: str, params: object) -> dict[str, Any]:
        self._asked.append(method)
        return self._scene.answer(method)


def _relay(socket: WebSocketRoute) -> None:
    """Acknowledges every request of the page to the relay of WalletConnect."""

    def acknowledge(text: str | bytes) -> None:
        body = json.loads(text)
        if "method" in body:
            socket.send(json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": secrets.token_hex(32)}))

    socket.on_message(acknowledge)


def _scripts(scene: Scene) -> str:
    """Returns what runs before the page's own scripts: the scene's wallets, and what the browser has stored."""
    key = _TRON_KEY if scene.how == "tron" else None
    wallets = [
        wallet_script(name=name, rdns=f"example.wallet{number}", how=scene.how, key=key)
        for number, name in enumerate(scene.wallets)
    ]
    family = "tron" if scene.how == "tron" else "evm"
    stored = {"wallet": f"{family}:example.wallet0"} if scene.is_connected else {}
    if scene.note:
        note = {"startedAt": int(time.time() * 1000), **scene.note}
        stored[f"pay:{scene.noted_under}"] = json.dumps(note)
    before = f"Object.assign(localStorage, {json.dumps(stored)}); {scene.before}"
    return "\n".join([PATIENT, *wallets, f'if (origin === "{ORIGIN}") {{ {before} }}'])


def _bring(page: Page, scene: Scene) -> None:
    """Presses what the scene names and waits for its state."""
    for selector in scene.press:
        page.locator(selector).first.click()
    arrived = page.locator(f'#main[data-state="{scene.state}"]')
    if scene.waits and scene.state != "loading":  # its clock stands while its scripts load
        page.locator('#main:not([data-state="loading"])').wait_for()
    deadline = time.monotonic() + patience()
    while scene.waits and not arrived.count() and time.monotonic() < deadline:
        page.evaluate("answered()")  # takes real time, which the page's clock must not run ahead of
        page.clock.run_for(_TURN)
        page.wait_for_timeout(_BETWEEN)
    arrived.wait_for()
    if scene.lacks:  # the message appears after a CSS animation
        page.evaluate("document.getAnimations().forEach((each) => each.finish())")


def look(page: Page, name: str) -> None:
    """Shows the page in one of the looks and waits for its images."""
    width, scheme, language = LOOKS[name]
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    if page.locator(".unscripted").count():
        _open_unscripted(page, language)
    elif page.locator(f'#tools:not([hidden]) option:not(:checked)[lang="{language}"]').count():
        page.locator("#language").select_option(language)
        page.locator(f'html[lang="{language}"]').wait_for()
    if page.locator("#manual[open]:not([hidden])").count():
        page.get_by_text(messages_of(language)["manual.text"]).wait_for()
    page.evaluate("Promise.allSettled([...document.images].filter(({ src }) => src).map((image) => image.decode()))")


def _open_unscripted(page: Page, language: str) -> None:
    """Opens the page without scripts, then allows those of the test and keeps what is shown without scripts."""
    page.set_extra_http_headers({"accept-language": language})
    browser = page.context.new_cdp_session(page)
    browser.send("Emulation.setScriptExecutionDisabled", {"value": True})
    page.goto(_ADDRESS)
    browser.send("Emulation.setScriptExecutionDisabled", {"value": False})
    page.locator(f'.unscripted[lang="{language}"]').wait_for()
    page.evaluate(_UNWRAPPED)
    browser.detach()


def main() -> int:
    known = [*SCENES, *screens_dashboard.SCENES]
    asked = sys.argv[1:] or known
    if unknown := [name for name in asked if name not in known]:
        print(f"There is no scene {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    wanted = [name for name in asked if name not in screens_dashboard.SCENES]
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except RuntimeError as missing:
            print(missing, file=sys.stderr)
            return 2
        stage = Stage(browser)
        for name in wanted:
            with stage.show_scene(SCENES[name]) as page:
                for each in LOOKS:
                    look(page, each)
                    page.screenshot(path=_FOLDER / f"{name}-{each}.png", full_page=True)
        of_dashboard = screens_dashboard.take(browser, _FOLDER, [name for name in asked if name not in wanted])
    print(f"{len(wanted) * len(LOOKS) + of_dashboard} pictures are in {_FOLDER}", flush=True)
    return 0


def _answer(route: Route, scene: Scene, asked: list[str]) -> bool:
    """Fulfils a request: pages and files as the service serves them, links by the scene; returns False for no response.

    `asked` are the methods that the wallet was called with until now.
    """
    url = urlsplit(route.request.url)
    cors = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
    if url.netloc == urlsplit(_API).netloc:
        link = scene.then if scene.then and _LATER.intersection(asked) else scene.link
        response: tuple[int, Any] | None = scene.pay if url.path.endswith(("/pay", "/reclaim")) else link
        if url.path.endswith("/pay") and "gasless=true" in url.query:
            response = scene.offer
        if "/gasless/" in url.path:
            response = scene.gasless
        if url.path.startswith("/v2/test/pay/"):
            response = scene.pay
        if url.path.endswith("/signing"):  # the browser has the claim
            response = 200, {"callsId": f"0x{'c1' * 32}", "signingEndsAt": int(time.time()) + 300}
        if response is not None:
            route.fulfill(status=response[0], json=response[1], headers=cors)
        return response is not None
    asset = served_assets().get(url.path.removeprefix("/pages/"))
    if url.path == "/":
        accepted = route.request.headers.get("accept-language", "")
        settings = replace(_SETTINGS, walletconnect_project_id=PROJECT if scene.has_relay else "")
        is_remote = "connect=walletconnect" in url.query
        text = page_html(settings, scene.facts or Absence.UNKNOWN, language_of(accepted), is_remote, gasless=ACCOUNTS)
        route.fulfill(body=text, content_type="text/html; charset=utf-8")
    elif asset is not None and asset != assets().get(scene.lacks):
        route.fulfill(body=asset.text, content_type=asset.content_type)
    elif url.path == "/pages/qr.svg":
        route.fulfill(body=draw_qr_code(code_text(parse_qs(url.query)["step"][0])), content_type="image/svg+xml")
    else:
        route.fulfill(status=404)
    return True


if __name__ == "__main__":
    sys.exit(main())
