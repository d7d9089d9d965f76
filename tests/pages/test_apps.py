"""Links that open the page inside wallet apps: exactly this page, of the apps that pay on its network, on phones alone."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from infra.documents.page import WALLET_APPS
from infra.local.scenes import TOKEN, Scene, link_on
from infra.local.screens import ORIGIN, SCENES, Stage
from tests.oracles.node import served
from tests.pages.visitor import axe_findings

DRIVER = str(Path(__file__).parent / "apps_driver.js")
PAGE = f"https://pay.example/?token={TOKEN}"
HOSTILE = [
    "a&url=https://evil.example/&cb_url=https://evil.example/",
    "a#b?c=d",
    "%26x=1%2526y",
    'a"},{"url":"https://evil.example/"}',
    "a'\\..//@evil.example\n<b>",
    "\u202eé₮🎈 +",
]
"""Tokens that would end the address in a link, add to it, or lead elsewhere, were they not encoded."""


def inside(link: str, name: str) -> str:
    """A query parameter of a link, which must be there once."""
    [value] = parse_qs(urlsplit(link).query, strict_parsing=True)[name]
    return value


def opened_by_tronlink(link: str) -> str:
    asked = json.loads(inside(link, "param"))
    assert asked == {"url": asked["url"], "action": "open", "protocol": "TronLink", "version": "1.0"}
    return str(asked["url"])


OPENED: dict[str, Callable[[str], str]] = {
    "MetaMask": lambda link: "https://" + link.removeprefix("https://link.metamask.io/dapp/"),
    "Coinbase Wallet": lambda link: inside(link, "cb_url"),
    "Trust Wallet": lambda link: inside(link, "url"),
    "Rabby": lambda link: inside(link, "dapp"),
    "Rainbow": lambda link: inside(link, "url"),
    "OKX Wallet": lambda link: inside(inside(link, "deeplink"), "dappUrl"),
    "TronLink": opened_by_tronlink,
}
"""What an app opens for a link, by the documents that `wallet_apps.json` names."""
HOSTS = {
    "MetaMask": "https://link.metamask.io/dapp/",
    "Coinbase Wallet": "https://go.cb-w.com/dapp?",
    "Trust Wallet": "https://link.trustwallet.com/open_url?coin_id=60&",
    "Rabby": "https://go.rabby.io/mobile/?_cmd=open-dapp&",
    "Rainbow": "https://rnbwapp.com/dapp?",
    "OKX Wallet": "https://web3.okx.com/download?",
    "TronLink": "tronlinkoutside://pull.activity?",
}


def links(network: str, page: str = PAGE, token: str = TOKEN) -> dict[str, str]:
    [found] = served(DRIVER, [[network, page, token]])
    return {each["name"]: each["href"] for each in found}


def test_the_list_says_when_it_was_checked_and_by_which_document() -> None:
    data = json.loads(WALLET_APPS.read_text())
    assert date(2026, 1, 1) < date.fromisoformat(data["checked"])
    assert {each["name"] for each in data["apps"]} == OPENED.keys() == HOSTS.keys()
    known = {each.name for each in ALL_NETWORKS}
    assert all(each["source"].startswith("https://") and set(each["networks"]) <= known for each in data["apps"])


@pytest.mark.parametrize("network", [each.name for each in ALL_NETWORKS])
def test_each_network_has_an_app_and_tronlink_is_for_tron_alone(network: str) -> None:
    found = links(network)
    assert found and ("TronLink" in found) == (network == "tron")
    assert len(found) == {"tron": 1, "sepolia": 1}.get(network, 6)
    assert not links("elsewhere")


@pytest.mark.parametrize("network", ["mainnet", "tron"])
@pytest.mark.parametrize("token", [TOKEN, *HOSTILE])
def test_an_app_opens_exactly_this_page_and_nothing_else(network: str, token: str) -> None:
    """Whatever else the address has is left out: another token, a language, a fragment."""
    for page in ("https://pay.example:8443/a&b=c/", "https://pay.example:8443/", PAGE, f"{PAGE}&lang=de&token=other#/x?y=z&token=1"):
        for name, link in links(network, page, token).items():
            assert link.startswith(HOSTS[name]) and "#" not in link and not set(' "<>\\\n') & set(link)
            address = urlsplit(OPENED[name](link))
            wanted = urlsplit(page)
            assert (address.scheme, address.netloc, address.path) == ("https", wanted.netloc, wanted.path)
            assert parse_qsl(address.query, strict_parsing=True) == [("token", token)] and address.fragment == ""


def test_a_real_token_is_the_same_for_an_app_that_decodes_once_more() -> None:
    assert all(unquote(OPENED[name](link)) == PAGE for name, link in links("base").items())


@pytest.mark.parametrize("network", ["mainnet", "sepolia"])
def test_an_app_that_leaves_out_the_slash_after_a_path_is_offered_at_the_root_alone(network: str) -> None:
    """Of such an address the page would not find its scripts."""
    assert "MetaMask" in links(network)
    assert "MetaMask" not in links(network, f"https://pay.example/prod/?token={TOKEN}")


def test_a_page_without_https_has_none() -> None:
    assert links("mainnet", f"http://localhost:8000/?token={TOKEN}") == {}


# --- in a browser ---


IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"
MACINTOSH = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/605.1.15"


def phone(browser: Browser) -> Stage:
    return Stage(browser, user_agent=IPHONE, has_touch=True, viewport={"width": 390, "height": 844})


def shown_links(page: Page) -> dict[str, str]:
    found = page.locator("a.wallet").all()
    return {each.inner_text().removeprefix("Open in "): str(each.get_attribute("href")) for each in found}


NONE = Scene("choose", wallets=(), is_connected=False, waits=True)
ON_TRON = link_on("tron", "USDT-tron", feeAddress="TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE", payee="TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7")
TRON = Scene("choose", link=(200, ON_TRON), is_connected=False, waits=True)
TOUCH = 'Object.defineProperty(navigator, "maxTouchPoints", { get: () => 5 });'


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize(("scene", "names"), [(NONE, ["MetaMask"]), (TRON, ["TronLink"])], ids=["sepolia", "tron"])
def test_a_phone_without_a_fitting_wallet_is_led_into_the_apps_that_pay_there(
    browser: Browser, scene: Scene, names: list[str]
) -> None:
    with phone(browser).show_scene(scene) as page:
        asked: list[str] = []
        page.on("request", lambda each: asked.append(each.url))
        page.locator("a.wallet").first.wait_for()
        found = shown_links(page)
        assert [*found] == names
        assert all(OPENED[name](link) == f"{ORIGIN}/?token={TOKEN}" for name, link in found.items())
        assert "Open this page in your wallet app" in page.locator("main").inner_text()
        assert "Another app, or nothing opens?" in page.locator("main").inner_text(), "some links do nothing without the app"
        assert page.locator("#app-address").input_value() == f"{ORIGIN}/?token={TOKEN}"
        page.locator("#manual summary").click()
        page.locator("#manual-body .field, #manual-body .note").first.wait_for()
        assert page.locator(".qr").count() == 0, "a phone cannot scan its own screen"
        assert page.locator("#manual-address").count() == (names == ["MetaMask"])
        assert axe_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert {urlsplit(each).netloc for each in asked} <= {"pay.example", "api.example"}, "nothing foreign is loaded"


@pytest.mark.xdist_group("scenes")
def test_an_ipad_is_a_phone_and_a_mac_is_none(browser: Browser) -> None:
    stage = Stage(browser, user_agent=MACINTOSH)
    with stage.show_scene(replace(NONE, before=TOUCH)) as page:
        page.locator("a.wallet").first.wait_for()
    with stage.show_scene(NONE) as page:
        page.locator("#manual summary").click()
        page.locator(".qr").first.wait_for()
        assert page.locator("a.wallet").count() == 0
        assert "Install one" in page.locator("main").inner_text()


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize("scene", [SCENES["choose"], SCENES["found"]], ids=["a wallet", "a payment begun here"])
def test_who_has_a_wallet_or_has_begun_here_is_not_led_elsewhere(browser: Browser, scene: Scene) -> None:
    with phone(browser).show_scene(scene) as page:
        page.wait_for_timeout(300)
        assert page.locator("a.wallet").count() == 0
