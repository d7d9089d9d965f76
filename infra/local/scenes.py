"""Scenes that bring the payment page into each of its states: responses of the service, a wallet, an earlier note."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Due, pay_one, with_approvals
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.payment_uris import uri_of
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from chalicelib.pages.flows import PageDue, PageFacts
from chalicelib.payments.links.schemas import chain_answer

TOKEN = "01M7W6TC8F5481TMW6M18FVN1N"  # noqa: S105 - of a link
WALLET = "0x627306090abab3a6e1400e9345bc60c78a8bef57"
HASH = "0x" + "5f3a" * 16
_PAYEE, _FEE_ADDRESS = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
_TRON_PAYEE, _TRON_FEE_ADDRESS = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7", "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE"
_FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
_AMOUNT, _FEE, _REFERENCE = 12_500_000, 125_000, "0xb1887f2b21dde10f"
_SEPOLIA, TRON = hex(11155111), {"eth_chainId": {"result": hex(728126428)}}

CHAIN: dict[str, Any] = chain_answer("sepolia", {}).model_dump()
LINK: dict[str, Any] = {
    "paymentType": "single",
    "status": "pending",
    "network": "sepolia",
    "chain": CHAIN,
    "reference": "INV-2026-0042",
    "redirectUrl": "https://shop.example/thanks",
    "redirectLabel": "Back to the shop",
    "expiresAt": "2099-01-01T00:00:00.000Z",
    "branding": None,
    "feePercentage": "1",
    "feeAddress": _FEE_ADDRESS,
    "feePlan": {"payerTotalAmountUsd": "12.625"},
    "payee": _PAYEE,
    "amount": "12.5",
    "remainingAmount": "12.5",
    "paymentCurrency": "fUSDC-sepolia",
    "isNativeCurrency": False,
    "decimals": 6,
    "paymentReference": _REFERENCE,
    "destination": {"tokenAddress": _FUSDC},
}
_OWN_ADDRESS = {
    "address": "0x891d95E71320044eEEC7B4f2A9bdcBB559ccbd60", "network": "sepolia", "chainId": CHAIN["chainId"],
    "currency": "fUSDC", "tokenAddress": _FUSDC, "amount": "12.625", "arrivedAmount": "0", "feeAmount": "0.125",
    "watchedUntil": "2099-01-01T00:00:00.000Z",
}  # fmt: skip


def link_on(network: str, currency: str, **changes: Any) -> dict[str, Any]:
    """Returns LINK in a token of another network, with other fields."""
    destination = {"tokenAddress": _token(network, currency).address}
    chain = chain_answer(network, {}).model_dump()
    own = {"network": network, "chain": chain, "paymentCurrency": currency, "destination": destination}
    return {**LINK, **own, **changes}


def _token(network: str, currency: str) -> Token:
    return next(each for each in find_tokens(network) if each.id == currency)


_BATCH = {
    **{name: LINK[name] for name in ("status", "network", "chain", "expiresAt", "feePercentage", "feeAddress")},
    "paymentType": "batch",
    "payees": [_PAYEE, WALLET, _FEE_ADDRESS],
    "amounts": ["12.5", "0.025", "1250.75"],
    "remainingAmounts": ["12.5", "0.025", "1250.75"],
    "paymentCurrencies": ["fUSDC-sepolia", "ETH-sepolia-sepolia", "fUSDC-sepolia"],
    "isNativeCurrency": [False, True, False],
    "decimals": [6, 18, 6],
    "paymentReferences": [_REFERENCE] * 3,
    "destinations": [{"tokenAddress": _FUSDC}] * 3,
}
_BRANDING = {
    "logoPath": None,
    "pageBackgroundColor": "#f0dfc8",
    "cardBackgroundColor": "#fff7ec",
    "primaryActionColor": "#b3123f",
    "primaryTextColor": "#2a1a10",
    "secondaryTextColor": "#5d4a3c",
    "termsPath": "https://shop.example/terms",
    "privacyPath": "https://shop.example/privacy",
    "displayRequestBranding": True,
}


def _child(number: int, reason: str | None) -> dict[str, Any]:
    fields = ("payee", "amount", "remainingAmount", "paymentCurrency", "isNativeCurrency", "decimals", "network")
    own = {name: LINK[name] for name in fields} | {"feePercentage": None, "feeAddress": None}
    token = {"tokenAddress": _FUSDC, "paymentReference": _REFERENCE, "securePaymentToken": f"{TOKEN[:-1]}{number}"}
    return {**own, **token, "executable": reason is None, "blockReason": reason}


_MULTICALL = {
    **{name: LINK[name] for name in ("status", "chain", "expiresAt")},
    "paymentType": "multicall",
    "canExecute": False,
    "children": [_child(0, "secure_payment_expired"), _child(1, "compliance_failed"), _child(2, None)],
}
_MIXED = {
    **_MULTICALL,
    "canExecute": True,
    "children": [
        {**_child(number, None), "network": name, "paymentCurrency": f"USDC-{name}"}
        for number, name in enumerate(("base", "arbitrum-one"))
    ],
}
_DOLLARS: dict[str, Any] = {
    "amount": "25.5",
    "remainingAmount": "25.5",
    "invoiceCurrency": "USD",
    "invoiceDecimals": 8,
    "requestIds": ["01M7W6TC8F5481TMW6M18FVN1R"],
    "feePercentage": None,
    "feeAddress": None,
}
_IN_DOLLARS: dict[str, Any] = {**LINK, **_DOLLARS}
_CONVERSION = {
    **{"rateNumerator": "9996", "rateDenominator": "10000", "rateSource": "chainlink"},
    "requestId": _DOLLARS["requestIds"][0],
    "way": "quoted",
    "rateAt": "2026-03-15T12:00:00.000Z",
    "quoteExpiresAt": 4_070_908_800,
    "invoiceCurrency": "USD",
}
_PAID_IN_FUSDC = 25_489_800
_ON_MAINNET = link_on("mainnet", "USDC-mainnet", **_DOLLARS)
_CONVERTED_AGE, _CONVERTED_MOST = 90_000, 25_744_698
_ON_CHAIN = {
    **_CONVERSION,
    "way": "on_chain",
    "quoteExpiresAt": None,
    "maxToSpend": "25.744698",
    "maxRateAge": _CONVERTED_AGE,
}
ON_TRON = link_on("tron", "USDT-tron", feeAddress=_TRON_FEE_ADDRESS, payee=_TRON_PAYEE)


def due_of(link: dict[str, Any], amount: int = _AMOUNT) -> Due:
    reference, token = bytes.fromhex(link["paymentReference"][2:]), _token(link["network"], link["paymentCurrency"])
    return Due(token, link["payee"], BaseUnits(amount), BaseUnits(_FEE), link["feeAddress"], reference)


def code_text(step: str) -> str:
    """Returns the text of the QR code of a step, for the link that most scenes use."""
    if step == "page":
        return f"https://pay.example/?token={TOKEN}"
    if step == "address":
        return str(_OWN_ADDRESS["address"])
    transaction = with_approvals(pay_one(due_of(LINK)), {}).transactions[int(step)]
    [explanation] = explain("sepolia", [transaction])
    return uri_of("sepolia", transaction, explanation, 0) or ""


def _body_of_pay(link: dict[str, Any], conversion: dict[str, Any]) -> dict[str, Any]:
    """Returns the body of /pay for an invoice of 25.50 dollars."""
    due = replace(due_of(link, _PAID_IN_FUSDC), fee=BaseUnits(0))
    if conversion["way"] == "on_chain":
        path = conversion_path(_token("fiat", "USD"), due.token) or ()
        limits = Conversion(path, _CONVERTED_MOST, _CONVERTED_AGE)
        due = replace(due, amount=BaseUnits(25_50 * 10**6), conversion=limits)
    return body_of(link["network"], due, conversion=conversion)


def quote_of(amount: int = _AMOUNT, link: dict[str, Any] = LINK, **metadata: Any) -> dict[str, Any]:
    """Returns the body of /pay for a link, with another amount if given."""
    return body_of(link["network"], due_of(link, amount), **metadata)


def body_of(network: str, due: Due, **metadata: Any) -> dict[str, Any]:
    return to_sign(network, with_approvals(pay_one(due), {}).transactions, **metadata)


def to_sign(network: str, transactions: Sequence[Transaction], **metadata: Any) -> dict[str, Any]:
    """Returns a body with transactions and their explanation."""
    explanation = [
        {"contract": each.contract, "function": each.function, "to": each.to, "summary": each.summary}
        for each in explain(network, transactions)
    ]
    enough = {"hasEnoughBalance": True, "hasEnoughGas": True, "balance": "1842.2", "requiredAmount": "12.625"}
    return {
        "transactions": [{"to": each.to, "data": each.data, "value": each.value} for each in transactions],
        "metadata": {**enough, "estimatedNetworkFee": "0.000243", "explanation": explanation, **metadata},
    }


_NODE = {
    "eth_chainId": {"result": _SEPOLIA},
    "eth_accounts": {"result": [WALLET]},
    "eth_requestAccounts": {"result": [WALLET]},
    "eth_getTransactionCount": {"result": "0x1"},
    "eth_getTransactionReceipt": {"result": None},
    "eth_blockNumber": {"result": "0x64"},
    "eth_sendTransaction": {"result": HASH},
}
"""Results of a wallet's calls by method, unless a scene has others."""
HANGS = {"hang": True}


def error_of(code: int) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no"}}


def _receipt(status: str, block: int) -> dict[str, Any]:
    return {"result": {"transactionHash": HASH, "blockNumber": hex(block), "status": status}}


def note_of(step: str = "pay", **changes: Any) -> dict[str, Any]:
    """Returns the note of an earlier visit, made just now unless `startedAt` is given."""
    note = {"wallet": WALLET, "chainId": 11155111, "step": step, "place": 1, "isLast": True, "nonce": 1}
    fields = {**note, "references": [_REFERENCE], "txHash": HASH, **changes}
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Scene:
    """What the page gets; `link` and `pay` are (status, body), None never responds. `press` are selectors to click."""

    state: str
    link: tuple[int, Any] | None = (200, LINK)
    then: tuple[int, Any] | None = None
    """The response for the link after the wallet was asked to send a transaction or for a receipt."""
    pay: tuple[int, Any] | None = field(default_factory=lambda: (200, quote_of()))
    offer: tuple[int, Any] | None = (404, {})
    """The response of /pay for a payment without gas, and that for the payment itself, POST or GET."""
    gasless: tuple[int, Any] | None = (404, {})
    wallets: tuple[str, ...] = ("Example Wallet",)
    how: str = "announced"
    """How the wallets are found by the page: see browser_wallet.js."""
    says: dict[str, Any] = field(default_factory=dict)
    note: dict[str, Any] | None = None
    noted_under: str = TOKEN
    token: str = TOKEN
    """That of the link in the page's URL."""
    is_connected: bool = True
    press: tuple[str, ...] = ()
    waits: bool = False
    """Whether the page's clock is advanced after the clicks until the state is reached."""
    before: str = ""
    """A script that runs before the page's scripts."""
    lacks: str = ""
    """A file of the page that cannot be loaded."""
    facts: PageFacts | None = None
    """The facts in the server's HTML, for a browser without scripts."""
    has_relay: bool = False
    """Whether the operator has a WalletConnect project, whose relay acknowledges everything; no wallet answers."""

    def answer(self, method: str) -> dict[str, Any]:
        result: dict[str, Any] = {**_NODE, **self.says}.get(method, error_of(4200))
        return result


def ended_body(status: int, /, **body: Any) -> tuple[int, dict[str, Any]]:
    """Returns status and body of a link that cannot be paid and has no redirectLabel of its own."""
    redirect = {"redirectUrl": LINK["redirectUrl"], "redirectLabel": "Go Back and Close"}
    return status, {"statusCode": status, "message": "told", **redirect, "chain": CHAIN, **body}


_OF_TEST = f"test_{TOKEN[::-1]}_{TOKEN}"
_CRASHED = ended_body(500)
PAY, EXACT = ("#pay",), ("li:last-child .exact summary",)
_QUOTED: dict[str, Any] = {"link": (200, _IN_DOLLARS), "pay": (200, _body_of_pay(_IN_DOLLARS, _CONVERSION))}
_PAID = ended_body(409, requestStatuses=[{"txHash": HASH}])
_EXPIRED = (200, {**LINK, "status": "expired"})
_CHANGED = (200, {**LINK, "payee": WALLET})
_PROPOSED = {"safeTxHash": HASH, "safePaymentDeadline": 4_070_908_800}
_NO_RATE = "The sources of the exchange rate of USD in fUSDC-sepolia do not agree"
_REFUSES = {"eth_requestAccounts": error_of(4001)}
_IN_A_BLOCK = {"eth_getTransactionReceipt": _receipt("0x1", 100)}
_DEEP = {"eth_getTransactionReceipt": _receipt("0x1", 90)}
_HEARD_OF = {"eth_getTransactionByHash": {"result": {"hash": HASH}}}
_TAKEN = {"eth_getTransactionCount": {"result": "0x2"}}
_FAILED = {
    "eth_getTransactionReceipt": _receipt("0x0", 90),
    "eth_getTransactionByHash": {"result": {"hash": HASH, "from": WALLET, "nonce": "0x1"}},
}
_UNHEARD_OF = {"eth_getTransactionByHash": {"result": None}}
_POOR = {"error": {"code": -32000, "message": "insufficient funds for gas * price + value"}}
_PHONE = 'Object.defineProperty(navigator, "userAgent", { get: () => "Mozilla/5.0 (Linux; Android 16; Phone)" });'
_AWAY = {"wallet_switchEthereumChain": {"result": None}, "eth_chainId": {"result": "0x1"}}
_UNKNOWN = {**_AWAY, "wallet_switchEthereumChain": error_of(4902), "wallet_addEthereumChain": error_of(4001)}
_NO_STORAGE = "Storage.prototype.setItem = () => { throw new Error(); };"
_IN_ANOTHER_TAB = f'navigator.locks?.request("pay:{TOKEN}", () => new Promise(() => {{}})).catch(() => {{}});'
_OF_SAFE = {"getSafeInfo": {"result": {"safeAddress": WALLET, "chainId": 11155111}}}
_FACTS = PageFacts(
    token=TOKEN,
    state="pending",
    network="sepolia",
    reference=LINK["reference"],
    expires_at=datetime(2099, 1, 1, tzinfo=UTC),
    dues=(PageDue(_PAYEE, None, due_of(LINK).token, due_of(LINK).token, BaseUnits(_AMOUNT), BaseUnits(_FEE)),),
    steps=("approve", "pay"),
)
SCENES: dict[str, Scene] = {
    "unscripted": Scene("loading", facts=_FACTS),
    "stalled": Scene("loading", lacks="page.js"),
    "loading": Scene("loading", link=None),
    "away": Scene("trouble-away", link=(503, {})),
    "stopped": Scene("trouble-stopped", link=(503, {"code": "payments_stopped"})),
    "odd": Scene("trouble-odd", link=(200, [])),
    "storage": Scene("trouble-storage", before=_NO_STORAGE, press=PAY),
    "missing": Scene("missing", link=ended_body(404)),
    "awaiting": Scene("awaiting", link=ended_body(403, code="awaiting_chain", status="pending"), waits=True),
    "expired": Scene("expired", link=_EXPIRED),
    "expired-late": Scene("expired", link=_EXPIRED, note=note_of()),
    "invalidated": Scene("invalidated", link=ended_body(403, status="invalidated")),
    "cancelled": Scene("cancelled", link=ended_body(403, status="cancelled")),
    "closed": Scene("closed", link=ended_body(403, status="stopped")),
    "already-paid": Scene("completed", link=_PAID),
    "safe-waiting": Scene("safe", link=ended_body(423, requestStatuses=[_PROPOSED])),
    "sent-elsewhere": Scene("sent", link=ended_body(423, requestStatuses=[{"txHash": HASH}])),
    "blocked": Scene("blocked", link=(200, _MULTICALL)),
    "apart": Scene("blocked", link=(200, _MIXED)),
    "part-settled": Scene("blocked", link=(200, {**_MULTICALL, "status": "partially_settled"})),
    "choose": Scene("choose", wallets=("Example Wallet", "Another & Sons <Wallet>", "Third"), is_connected=False),
    "choose-none": Scene("choose", wallets=(), is_connected=False),
    "choose-phone": Scene("choose", wallets=(), is_connected=False, before=_PHONE),
    "pairing": Scene("pairing", wallets=(), is_connected=False, has_relay=True, press=(".wallet",)),
    "pairing-phone": Scene(
        "pairing", wallets=(), is_connected=False, has_relay=True, before=_PHONE, press=(".wallet",)
    ),
    "choose-refused": Scene("choose", says=_REFUSES, is_connected=False, press=(".wallet", ".note")),
    "batch": Scene("choose", link=(200, _BATCH), is_connected=False),
    "partial": Scene("choose", link=(200, {**LINK, "remainingAmount": "10"}), is_connected=False),
    "merchant": Scene(
        "review", link=(200, {**LINK, "merchant": {"domain": "pay.shop.example", "label": "Ann's Shop"}})
    ),
    "merchant-unverified": Scene(
        "review", link=(200, {**LINK, "merchant": {"domain": None, "label": "w" * 39 + "\u2026"}})
    ),
    "named": Scene("review", link=(200, {**LINK, "payeeName": "pay.shop.eth"})),
    "branded": Scene("review", link=(200, {**LINK, "branding": _BRANDING})),
    "found": Scene("choose", note=note_of(), is_connected=False),
    "twin": Scene("twin", note=note_of(), noted_under=TOKEN[::-1]),
    "manual": Scene("choose", is_connected=False, press=("#manual summary",)),
    "exchange": Scene(
        "choose",
        (200, {**LINK, "plainTransfer": _OWN_ADDRESS}),
        is_connected=False,
        press=("#manual summary", "#exchange-address"),
    ),
    "test": Scene("test", token=_OF_TEST, is_connected=False),
    "paying-test": Scene("paying-test", token=_OF_TEST, is_connected=False, pay=None, press=("#pay-test",)),
    "test-failed": Scene("test", token=_OF_TEST, is_connected=False, pay=_CRASHED, press=("#pay-test", ".note.bad")),
    "connecting": Scene("connecting", says={"eth_requestAccounts": HANGS}, is_connected=False, press=(".wallet",)),
    "reading": Scene("reading", pay=None),
    "review": Scene("review"),
    "review-exact": Scene("review", press=EXACT),
    "review-safe": Scene("review", says=_OF_SAFE, wallets=("Safe",), how="framed"),
    "review-short": Scene("review", pay=(200, quote_of(hasEnoughBalance=False, hasEnoughGas=False, balance="3.5"))),
    "review-tron": Scene("review", (200, ON_TRON), pay=(200, quote_of(link=ON_TRON)), says=TRON, how="tron"),
    "review-quoted": Scene("review", **_QUOTED),
    "review-converted": Scene(
        "review", (200, _ON_MAINNET), pay=(200, _body_of_pay(_ON_MAINNET, _ON_CHAIN)), press=EXACT
    ),
    "manual-quoted": Scene("choose", **_QUOTED, is_connected=False, press=("#manual summary",)),
    "signing-quoted": Scene("signing", **_QUOTED, says={"eth_sendTransaction": HANGS}, press=PAY),
    "norate": Scene("norate", (200, _IN_DOLLARS), pay=(503, {"message": _NO_RATE})),
    "foreign": Scene("foreign", pay=ended_body(403, creatorWalletAddress=_PAYEE)),
    "unpayable": Scene("unpayable", pay=(400, {"message": "The recipient is on a sanctions list"})),
    "unsafe": Scene("unsafe", pay=(200, quote_of(amount=_AMOUNT + 1))),
    "unsafe-changed": Scene("unsafe", then=_CHANGED, note=note_of(), waits=True),
    "elsewhere": Scene("elsewhere", before=_IN_ANOTHER_TAB, press=PAY),
    "switching": Scene("switching", says={**_AWAY, "wallet_switchEthereumChain": HANGS}, press=PAY),
    "network": Scene("network", says=_AWAY, press=PAY, waits=True),
    "network-refused": Scene("network", says=_UNKNOWN, press=PAY),
    "signing": Scene("signing", says={"eth_sendTransaction": HANGS}, press=PAY),
    "withdrawn": Scene("withdrawn", then=_PAID, says={"eth_sendTransaction": HANGS}, press=PAY, waits=True),
    "slow": Scene("slow", says={"eth_sendTransaction": HANGS}, press=PAY, waits=True),
    "declined": Scene("wallet-rejected", says={"eth_sendTransaction": error_of(4001)}, press=PAY),
    "busy": Scene("wallet-busy", says={"eth_sendTransaction": error_of(-32002)}, press=PAY),
    "silent": Scene("wallet-timeout", says={"eth_getTransactionCount": HANGS}, press=PAY, waits=True),
    "unable": Scene("wallet-unsupported", says={"eth_sendTransaction": error_of(4200)}, press=PAY),
    "broken": Scene("wallet-failed", says={"eth_getTransactionCount": error_of(-32000)}, press=PAY),
    "poor": Scene("wallet-poor", says={"eth_sendTransaction": _POOR}, press=PAY, waits=True),
    "lied": Scene("wallet-lied", says={"eth_chainId": {"result": "one"}}, press=PAY),
    "waiting": Scene("waiting", press=PAY),
    "waiting-first": Scene("waiting", note=note_of(step="approve", isLast=False)),
    "unfound": Scene("unfound", says=_UNHEARD_OF, note=note_of(), waits=True),
    "pending": Scene("pending", says=_HEARD_OF, note=note_of(startedAt=1), waits=True),
    "confirming": Scene("confirming", says=_IN_A_BLOCK, note=note_of(), waits=True),
    "settling": Scene("settling", says=_DEEP, note=note_of(), waits=True),
    "away-chain": Scene("away-chain", says={"eth_chainId": {"result": "0x1"}}, note=note_of(), waits=True),
    "unanswered": Scene("silent", says={"eth_chainId": error_of(4100)}, note=note_of(), waits=True),
    "failed": Scene("failed", says=_FAILED, note=note_of(), waits=True),
    "doubt": Scene("doubt", says=_TAKEN, note=note_of(txHash=None), waits=True),
    "asked": Scene("asked", note=note_of(txHash=None, startedAt=0, code="failed", detail="insufficient funds for gas")),
    "asked-early": Scene("asked", note=note_of(txHash=None, startedAt=4_070_908_800_000)),
    "uncounted": Scene("uncounted", says=_DEEP, note=note_of(deepAt=1), waits=True),
    "unclear": Scene("unclear", says=_TAKEN, note=note_of(doubtAt=1), waits=True),
    "completed": Scene("completed", then=_PAID, says=_DEEP, note=note_of(), waits=True),
}
