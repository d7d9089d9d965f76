"""Every state of the payment page, as what a browser would meet: answers of the service, a wallet, a note of before."""

from dataclasses import dataclass, field
from typing import Any

TOKEN = "01M7W6TC8F5481TMW6M18FVN1N"  # noqa: S105 - of a link
WALLET = "0x627306090abab3a6e1400e9345bc60c78a8bef57"
HASH = "0x" + "5f3a" * 16
_PAYEE, _FEE_ADDRESS = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
_FUSDC, _PROXY = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
_AMOUNT, _FEE, _REFERENCE = 12_500_000, 125_000, "0xb1887f2b21dde10f"
_SEPOLIA = hex(11155111)

_CHAIN = {
    "chainId": 11155111,
    "name": "Sepolia",
    "label": "SEPOLIA",
    "confirmations": 2,
    "explorerUrl": "https://sepolia.etherscan.io/tx/",
    "publicRpcUrls": ["https://ethereum-sepolia-rpc.publicnode.com"],
    "nativeCurrency": {"name": "Sepolia Ether", "symbol": "ETH", "decimals": 18},
}
_LINK = {
    "paymentType": "single",
    "status": "pending",
    "network": "sepolia",
    "chain": _CHAIN,
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
_BATCH = {
    **{name: _LINK[name] for name in ("status", "network", "chain", "expiresAt", "feePercentage", "feeAddress")},
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
    own = {name: _LINK[name] for name in fields} | {"feePercentage": None, "feeAddress": None}
    token = {"tokenAddress": _FUSDC, "paymentReference": _REFERENCE, "securePaymentToken": f"{TOKEN[:-1]}{number}"}
    return {**own, **token, "executable": reason is None, "blockReason": reason}


_MULTICALL = {
    **{name: _LINK[name] for name in ("status", "chain", "expiresAt")},
    "paymentType": "multicall",
    "canExecute": False,
    "children": [_child(0, "secure_payment_expired"), _child(1, "compliance_failed"), _child(2, None)],
}


def _explained(contract: str, function: str, to: str, summary: str) -> dict[str, str]:
    return {"contract": contract, "function": function, "to": to, "summary": summary}


def _quote(amount: int = _AMOUNT, **metadata: Any) -> dict[str, Any]:
    from eth_abi import encode

    types = ["address", "address", "uint256", "bytes", "uint256", "address"]
    values = [_FUSDC, _PAYEE, amount, bytes.fromhex(_REFERENCE[2:]), _FEE, _FEE_ADDRESS]
    approval = "0x095ea7b3" + encode(["address", "uint256"], [_PROXY, amount + _FEE]).hex()
    payment = "0xc219a14d" + encode(types, values).hex()
    told = [
        _explained("fUSDC", "approve", _FUSDC, "Allow ERC20FeeProxy to take up to 12.625 fUSDC"),
        _explained(
            "ERC20FeeProxy",
            "transferFromWithReferenceAndFee",
            _PROXY,
            f"Pay 12.5 fUSDC to {_PAYEE} with 0.125 fUSDC fee to {_FEE_ADDRESS}, reference {_REFERENCE}",
        ),
    ]
    enough = {"hasEnoughBalance": True, "hasEnoughGas": True, "balance": "1842.2", "requiredAmount": "12.625"}
    return {
        "transactions": [{"to": _FUSDC, "data": approval, "value": 0}, {"to": _PROXY, "data": payment, "value": 0}],
        "metadata": {**enough, "estimatedNetworkFee": "0.00024396703874", "explanation": told, **metadata},
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
"""What a wallet answers, unless a scene says otherwise."""
HANGS = {"hang": True}


def _error(code: int) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no"}}


def _receipt(status: str, block: int) -> dict[str, Any]:
    return {"result": {"transactionHash": HASH, "blockNumber": hex(block), "status": status}}


def _noted(step: str = "pay", **changes: Any) -> dict[str, Any]:
    """What an earlier visit wrote down."""
    note = {"wallet": WALLET, "chainId": 11155111, "step": step, "place": 1, "isLast": True, "nonce": 1}
    noted = {**note, "startedAt": 0, "txHash": HASH, **changes}
    return {name: value for name, value in noted.items() if value is not None}


@dataclass(frozen=True)
class Scene:
    """`link` and `pay` are (status, body); None never answers. `press` is clicked in turn, each when it is there."""

    state: str
    link: tuple[int, Any] | None = (200, _LINK)
    then: tuple[int, Any] | None = None
    """What the service says of the link once the page has looked for a receipt."""
    pay: tuple[int, Any] | None = field(default_factory=lambda: (200, _quote()))
    wallets: tuple[str, ...] = ("Example Wallet",)
    says: dict[str, Any] = field(default_factory=dict)
    note: dict[str, Any] | None = None
    is_connected: bool = True
    press: tuple[str, ...] = ()
    waits: bool = False
    """Whether the clock is put forward after that, until the state is there."""

    def answer(self, method: str) -> dict[str, Any]:
        found: dict[str, Any] = {**_NODE, **self.says}.get(method, _error(4200))
        return found


def _told(code: int, **body: Any) -> tuple[int, dict[str, Any]]:
    return code, {"statusCode": code, "message": "told", "redirectUrl": _LINK["redirectUrl"], "chain": _CHAIN, **body}


_PAY = ("#pay",)
_PAID = _told(409, requestStatuses=[{"txHash": HASH}])
_PROPOSED = {"safeTxHash": HASH, "safePaymentDeadline": 4_070_908_800}
_REFUSES = {"eth_requestAccounts": _error(4001)}
_IN_A_BLOCK = {"eth_getTransactionReceipt": _receipt("0x1", 100)}
_DEEP = {"eth_getTransactionReceipt": _receipt("0x1", 90)}
_TAKEN = {"eth_getTransactionCount": {"result": "0x2"}}
_AWAY = {"wallet_switchEthereumChain": {"result": None}, "eth_chainId": {"result": "0x1"}}
SCENES: dict[str, Scene] = {
    "loading": Scene("loading", link=None),
    "away": Scene("trouble-away", link=(503, {})),
    "odd": Scene("trouble-odd", link=(200, [])),
    "missing": Scene("missing", link=_told(404)),
    "expired": Scene("expired", link=(200, {**_LINK, "status": "expired"})),
    "invalidated": Scene("invalidated", link=_told(403, status="invalidated")),
    "closed": Scene("closed", link=_told(403, status="stopped")),
    "already-paid": Scene("completed", link=_PAID),
    "safe-waiting": Scene("safe", link=_told(423, requestStatuses=[_PROPOSED])),
    "blocked": Scene("blocked", link=(200, _MULTICALL)),
    "part-settled": Scene("blocked", link=(200, {**_MULTICALL, "status": "partially_settled"})),
    "choose": Scene("choose", wallets=("Example Wallet", "Another & Sons <Wallet>", "Third"), is_connected=False),
    "choose-none": Scene("choose", wallets=(), is_connected=False),
    "choose-refused": Scene("choose", says=_REFUSES, is_connected=False, press=(".wallet", ".note")),
    "batch": Scene("choose", link=(200, _BATCH), is_connected=False),
    "partial": Scene("choose", link=(200, {**_LINK, "remainingAmount": "10"}), is_connected=False),
    "branded": Scene("review", link=(200, {**_LINK, "branding": _BRANDING})),
    "found": Scene("choose", note=_noted(), is_connected=False),
    "manual": Scene("choose", is_connected=False, press=("#manual summary",)),
    "connecting": Scene("connecting", says={"eth_requestAccounts": HANGS}, is_connected=False, press=(".wallet",)),
    "reading": Scene("reading", pay=None),
    "review": Scene("review"),
    "review-exact": Scene("review", press=("li:last-child .exact summary",)),
    "review-short": Scene("review", pay=(200, _quote(hasEnoughBalance=False, hasEnoughGas=False, balance="3.5"))),
    "foreign": Scene("foreign", pay=_told(403, creatorWalletAddress=_PAYEE)),
    "unpayable": Scene("unpayable", pay=(400, {"message": "The recipient is on a sanctions list"})),
    "unsafe": Scene("unsafe", pay=(200, _quote(amount=_AMOUNT + 1))),
    "switching": Scene("switching", says={**_AWAY, "wallet_switchEthereumChain": HANGS}, press=_PAY),
    "network": Scene("network", says=_AWAY, press=_PAY),
    "signing": Scene("signing", says={"eth_sendTransaction": HANGS}, press=_PAY),
    "slow": Scene("slow", says={"eth_sendTransaction": HANGS}, press=_PAY, waits=True),
    "declined": Scene("wallet-rejected", says={"eth_sendTransaction": _error(4001)}, press=_PAY),
    "busy": Scene("wallet-busy", says={"eth_sendTransaction": _error(-32002)}, press=_PAY),
    "lied": Scene("wallet-lied", says={"eth_chainId": {"result": "one"}}, press=_PAY),
    "waiting": Scene("waiting", press=_PAY),
    "confirming": Scene("confirming", says=_IN_A_BLOCK, note=_noted(), waits=True),
    "settling": Scene("settling", says=_DEEP, note=_noted(), waits=True),
    "away-chain": Scene("away-chain", says={"eth_chainId": {"result": "0x1"}}, note=_noted(), waits=True),
    "failed": Scene("failed", says={"eth_getTransactionReceipt": _receipt("0x0", 90)}, note=_noted(), waits=True),
    "doubt": Scene("doubt", says=_TAKEN, note=_noted(txHash=None)),
    "asked": Scene("asked", note=_noted(txHash=None)),
    "asked-early": Scene("asked", note=_noted(txHash=None, startedAt=4_070_908_800_000)),
    "unclear": Scene("unclear", says=_TAKEN, note=_noted(doubtAt=1), waits=True),
    "completed": Scene("completed", then=_PAID, says=_DEEP, note=_noted(), waits=True),
}
