"""Scenes of the dashboard that begin with something typed or pressed: filled forms, and what interrupts them."""

from typing import Any

from playwright.sync_api import Page

from infra.local.scenes_account import PAYEE, Answers, ago
from infra.local.scenes_dashboard import POPULATED

BY_WALLET: Answers = {**POPULATED, "me": {**POPULATED["me"], "type": "wallet", "address": PAYEE}}
_WALLET = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
_ENDED = {"statusCode": 401, "error": "Unauthorized", "message": "The session has ended"}
_WAITS = {
    "statusCode": 202,
    "pendingChange": {"id": "01M8", "takesEffectAt": None, "expiresAt": ago(days=-7)},
}
_DOWN = {"statusCode": 503, "error": "Service Unavailable", "message": "x"}
_READS_OF_HOME = (
    "show_status",
    "read_account",
    "list_changes",
    "list_webhooks",
    "list_events",
    "list_requests",
    "find_payments",
)
_TABLE = f"recipient,amount,currency\n{PAYEE},1250.5,USDC-base\n{_WALLET},99,USDC-base\n"
_WRONG = f"recipient,amount,currency,memo\n0x12,1.234.567,USDC-base,x\n{PAYEE},0,USDT-mainnet,\n{_WALLET},7,USDX\n"


def _payouts() -> Answers:
    """Four payouts that a wallet can pay."""
    first: dict[str, Any] = POPULATED["list_requests"]["requests"][0]
    tokens = [first["securePaymentToken"][:-2] + f"{number:02}" for number in range(4)]
    rows = [{**first, "requestId": f"01{token}", "securePaymentToken": token} for token in tokens]
    return {**POPULATED, "list_requests": {"requests": rows, "pagination": {"nextCursor": None}}}


_SENDS, _SENDS_IN_DIALOG = ("main form button.action", ""), ("dialog form button.action", "")
_CHOOSES = ("main tbody input", "")
_OPENS = ("main .title button.action", "")
_PAYS = f"payouts?walletAddress={_WALLET}"
Steps = tuple[tuple[str, str], ...]
FILLED: dict[str, tuple[str, Answers, Steps, str]] = {
    "create-result": (
        "create",
        POPULATED,
        (("main fieldset input >> nth=0", PAYEE), ("main fieldset input >> nth=1", "120.5"), _SENDS),
        ".share .qr",
    ),
    "create-preview": (
        "create",
        POPULATED,
        (("main fieldset input >> nth=0", PAYEE), ("main fieldset input >> nth=1", "12.5")),
        "aside iframe",
    ),
    "payments-chosen": ("payments", POPULATED, (_CHOOSES,), "main .sums"),
    "import-rows": ("import", POPULATED, (("main textarea", _TABLE),), "main tbody tr"),
    "import-errors": ("import", POPULATED, (("main textarea", _WRONG), _SENDS), "main form [role=alert]"),
    "payouts-chosen": (_PAYS, _payouts(), (_CHOOSES,), "main .sums"),
    "payouts-ready": (_PAYS, _payouts(), (_CHOOSES, _SENDS), "dialog .share .qr"),
    "session-ended": ("account", {**POPULATED, "change_account": _ENDED}, (_SENDS,), "dialog input"),
    "waits": ("account", {**POPULATED, "change_account": _WAITS}, (_SENDS,), "dialog h2"),
    "change-payee": (
        "payees",
        BY_WALLET,
        (("main section:last-of-type select >> nth=1", "USDC-polygon"), ("main section:last-of-type > button", "")),
        "dialog dl",
    ),
    "key-once": (
        "keys",
        POPULATED,
        (_OPENS, ("dialog input >> nth=0", "Server"), _SENDS_IN_DIALOG),
        "dialog .copy.whole",
    ),
    "anew": ("", POPULATED, (("sessionStorage", "startedAnew"),), "main .note[role=status]"),
    "home-unread": ("", {**POPULATED, **dict.fromkeys(_READS_OF_HOME, _DOWN)}, (), "main [role=alert]"),
}
"""By name: the view, what the API answers, the steps, and what is waited for then. A step is a selector with what is
typed or chosen there, or with nothing where it is pressed. No selector is a text, so a scene is the same in each
language."""


def take_steps(page: Page, steps: Steps, expected: str) -> None:
    """Fills and presses what the steps name, and waits until `expected` is there with its pictures."""
    for selector, typed in steps:
        found = page.locator(selector).first
        if selector == "sessionStorage":  # a note that the page finds when it is loaded
            page.evaluate("name => sessionStorage.setItem(name, '1')", typed)
            page.reload()
        elif not typed:
            found.click()
        elif "select" in selector:
            found.select_option(typed)
        else:
            found.fill(typed)
    page.locator(expected).first.wait_for()
    page.locator(".loading").first.wait_for(state="detached")
    page.evaluate("Promise.allSettled([...document.images].map((image) => image.decode()))")
