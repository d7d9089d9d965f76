"""Scenes of payments without gas: the choice, the price and what is signed, and how such a payment ends."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.gasless.records import GaslessPayment
from chalicelib.gasless.rules import terms_hash
from infra.local.scenes import CHAIN, HANGS, LINK, WALLET, Scene, ended_body, quote_of

GASLESS_ID = "01M7W6TC8F5481TMW6M18FVN1P"
SIGNATURE = "0x" + "5a" * 64 + "1b"
ACCOUNT = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"
ACCOUNTS = {LINK["network"]: ACCOUNT}
"""The service's account, as the page names it."""
_STRANGER, _NAME = "0x" + "5e" * 20, "USDC"
GASLESS_LINK: dict[str, Any] = {**LINK, "gasless": True}
_WITHOUT_COIN = (200, quote_of(hasEnoughGas=False))
_REASON = "Nothing was taken: ERC20: transfer amount exceeds balance"


def offer_of(
    network_fee: int = 120_000, account: str = ACCOUNT, payee: str = LINK["payee"], **changes: Any
) -> dict[str, Any]:
    """The body of /pay for a payment without gas of the link of most scenes, with other fields. It is signed to that
    account, and pays that payee."""
    total = 12_625_000 + network_fee
    token, until = LINK["destination"]["tokenAddress"], int(time.time()) + 900
    signed = Authorization(token, _NAME, "2", CHAIN["chainId"], WALLET, account, total, until, "")
    made = GaslessPayment(
        GASLESS_ID, "", None, "", LINK["network"], LINK["paymentCurrency"], payee, LINK["paymentReference"],
        BaseUnits(12_500_000), BaseUnits(12_500_000), BaseUnits(125_000), LINK["feeAddress"], BaseUnits(network_fee),
        BaseUnits(0), signed, datetime.now(UTC),
    )  # fmt: skip
    amounts = {"amount": "12.5", "platformFee": "0.125", "networkFee": str(network_fee / 10**6)}
    signed = replace(signed, nonce=terms_hash(made))
    typed = {"typedData": json.dumps(erc3009.typed_data(signed)), "total": str(total / 10**6)}
    return {"gaslessPaymentId": GASLESS_ID, **typed, **amounts, "currency": LINK["paymentCurrency"], **changes}


def state_of(status: str, reason: str | None = None) -> tuple[int, dict[str, Any]]:
    return 200, {"gaslessPaymentId": GASLESS_ID, "status": status, "reason": reason}


MADE = ended_body(423, status="pending", requestStatuses=[{"gaslessPaymentId": GASLESS_ID}])
_SIGNS = {"eth_signTypedData_v4": {"result": SIGNATURE}}
_SIGNED_HERE = f'localStorage.setItem("gasless:" + new URLSearchParams(location.search).get("token"), "{GASLESS_ID}");'


def _scene(state: str, link: tuple[int, Any] = (200, GASLESS_LINK), **changes: Any) -> Scene:
    return Scene(state, link, **{"offer": (200, offer_of()), **changes})


GASLESS_SCENES: dict[str, Scene] = {
    "gasless-choice": _scene("review"),
    "gasless": _scene("gasless", pay=_WITHOUT_COIN),
    "gasless-short": _scene("gasless", pay=(200, quote_of(hasEnoughGas=False, balance="12.7"))),
    "gasless-refused": _scene("unpayable", offer=(400, {"message": "pay it with transactions"}), press=("#gasless",)),
    "gasless-foreign": _scene("unsafe", offer=(200, offer_of(account=_STRANGER)), press=("#gasless",)),
    "gasless-asks": _scene("signing", pay=_WITHOUT_COIN, says={"eth_signTypedData_v4": HANGS}, press=("#sign",)),
    "gasless-sends": _scene("gasless-sends", pay=_WITHOUT_COIN, says=_SIGNS, gasless=None, press=("#sign",)),
    "gasless-made": _scene("gasless-made", MADE, gasless=state_of("signed", "gas costs more now")),
    "gasless-failed": _scene("gasless-failed", before=_SIGNED_HERE, gasless=state_of("failed", _REASON)),
}
