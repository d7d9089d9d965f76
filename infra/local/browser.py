"""The machine's own browser, driven by Playwright: found where it is installed, started without a screen."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright

from infra.local.bytecode import MODULES
from infra.local.setup import MISSING_BROWSER, find_browser

_WITHOUT = (
    "LocalNetworkAccessChecks",  # a page that a test answers itself counts as one of the internet
    "WebUIOmniboxPopup",  # every window would start a process for what drops down from the address bar, which
    "WebUIOmniboxAimPopup",  # is a page of its own: more work than most of the pages that are looked at here
    "SpareRendererForSitePerProcess",
    # What Playwright does without, whose list ours takes the place of.
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
_START_MS = 120_000
_WALLET = Path(__file__).with_name("browser_wallet.js")
PATIENT = """{
  const [later, over] = [window.setTimeout, AbortSignal.timeout.bind(AbortSignal)];
  window.setTimeout = (task, ms, ...given) => later(task, [5_000, 15_000].includes(ms) ? 8 * ms : ms, ...given);
  AbortSignal.timeout = (ms) => over(8 * ms);
}"""
"""Makes the page wait longer for the service and for what wallets answer by themselves: the machine may be busy."""


def launch(playwright: Playwright) -> Browser:
    """Raises RuntimeError where no browser is installed."""
    path = find_browser()
    if path is None:
        raise RuntimeError(MISSING_BROWSER)
    return playwright.chromium.launch(executable_path=path, args=list(_FLAGS), timeout=_START_MS)


def wallet_script(**facts: Any) -> str:
    """What puts a wallet into a page, before its scripts: see browser_wallet.js for the facts."""
    tronweb = (MODULES / "tronweb/dist/TronWeb.js").read_text() if facts["how"] == "tron" else ""
    return f"{tronweb}\n;({_WALLET.read_text().rstrip().removesuffix(';')})({json.dumps(facts)});"


def axe_script() -> str:
    """Defines `axe`, which finds what keeps people out of a page."""
    return (MODULES / "axe-core/axe.min.js").read_text()
