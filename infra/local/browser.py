"""The installed browser, headless, controlled by Playwright."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright

from infra.local.bytecode import MODULES
from infra.local.process import patience
from infra.local.setup import MISSING_BROWSER, find_browser

_WITHOUT = (
    "LocalNetworkAccessChecks",  # pages whose responses a test fulfils count as public addresses
    "WebUIOmniboxPopup",  # each window would start a process for the popup of the address bar,
    "WebUIOmniboxAimPopup",  # which costs more than most pages under test
    "SpareRendererForSitePerProcess",
    # The features that Playwright disables: this list replaces Playwright's.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_WITHOUT)}",
)
_WALLET = Path(__file__).with_name("browser_wallet.js")
PATIENT = """{
  const [setTimer, timeout] = [window.setTimeout, AbortSignal.timeout.bind(AbortSignal)];
  window.setTimeout = (task, ms, ...values) => setTimer(task, [5_000, 15_000].includes(ms) ? 8 * ms : ms, ...values);
  AbortSignal.timeout = (ms) => timeout(8 * ms);
}"""
"""Makes the page's timeouts for the service and for reads of wallets eight times as long, for busy machines."""


def launch(playwright: Playwright) -> Browser:
    """Starts the browser. Raises RuntimeError if none is installed."""
    path = find_browser()
    if path is None:
        raise RuntimeError(MISSING_BROWSER)
    return playwright.chromium.launch(executable_path=path, args=list(_FLAGS), timeout=1_000 * patience(2))


def wallet_script(**facts: Any) -> str:
    """Returns the script that adds a wallet to a page before the page's scripts run; facts: browser_wallet.js."""
    tronweb = (MODULES / "tronweb/dist/TronWeb.js").read_text() if facts["how"] == "tron" else ""
    return f"{tronweb}\n;({_WALLET.read_text().rstrip().removesuffix(';')})({json.dumps(facts)});"


def axe_script() -> str:
    """Returns the script that defines `axe`, which checks accessibility."""
    return (MODULES / "axe-core/axe.min.js").read_text()
