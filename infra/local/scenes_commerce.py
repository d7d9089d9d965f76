"""Scenes of commerce payments, whose amount is held in an escrow, beside those of scenes.py."""

from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.escrow.calls import pre_approve, reclaim
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import escrow_contracts
from infra.local.scenes import CHAIN, HANGS, LINK, PAY, WALLET, Scene, note_of

_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
_OPERATOR = "0x821aEa9a577a9b44299B9c15c88cf3087F3b5544"
_PAID_BY, _TAKEN_BY, _REFUNDED_BY, _SALT = 4_070_908_800, 4_071_513_600, 4_076_697_600, 7 * 10**70
_PAST = 1_767_225_600
_OVER = {"preApprovalExpiry": str(_PAST - 60), "authorizationExpiry": str(_PAST)}
_CONTRACTS = escrow_contracts("base", {})
assert _CONTRACTS is not None
_COMMERCE = {
    "maxAmount": "100",
    "operator": _OPERATOR,
    "escrow": _CONTRACTS.escrow,
    "preApprovalExpiry": str(_PAID_BY),
    "authorizationExpiry": str(_TAKEN_BY),
    "refundExpiry": str(_REFUNDED_BY),
    "minFeeBps": 0,
    "maxFeeBps": 250,
    "feeReceiver": None,
    "salt": str(_SALT),
    "status": "PENDING",
    "payer": None,
    "preApprovedBy": [],
    "failure": None,
    "heldAmount": "0",
    "capturedAmount": "0",
    "returnedAmount": "0",
}
_ETHER = {"name": "Ether", "symbol": "ETH", "decimals": 18}
_HELD = {
    **LINK,
    "network": "base",
    "chain": {**CHAIN, "chainId": 8453, "name": "Base", "label": "BASE", "confirmations": 10, "nativeCurrency": _ETHER},
    "amount": "100",
    "remainingAmount": "100",
    "feePercentage": None,
    "feeAddress": None,
    "feePlan": None,
    "paymentCurrency": "USDC-base",
    "destination": {"tokenAddress": _USDC},
    "commerce": _COMMERCE,
}
_BASE: dict[str, Any] = {"eth_chainId": {"result": hex(8453)}}


def _link(**commerce: Any) -> tuple[int, dict[str, Any]]:
    return 200, {**_HELD, "commerce": {**_COMMERCE, **commerce}}


def _reclaimable() -> tuple[int, dict[str, Any]]:
    """Returns status and body of a link of which 40 are held that the wallet can take back."""
    known = {"status": "EXPIRED", **_OVER, "payer": WALLET, "heldAmount": "40", "capturedAmount": "60"}
    return _link(**known)


def _pay(**info: Any) -> tuple[int, dict[str, Any]]:
    """Returns status and body of /pay, with other terms in the transactions if given."""
    assert _CONTRACTS is not None
    return 200, _to_sign(pre_approve(_info(**info), _CONTRACTS))


def _reclaim(**info: Any) -> tuple[int, dict[str, Any]]:
    """The same of /reclaim."""
    assert _CONTRACTS is not None
    over = {"pre_approval_expiry": _PAST - 60, "authorization_expiry": _PAST}
    return 200, _to_sign((reclaim(_info(**{**over, **info}), _CONTRACTS),))


def _info(**info: Any) -> PaymentInfo:
    terms: dict[str, Any] = {
        "operator": _OPERATOR,
        "payer": WALLET,
        "receiver": LINK["payee"],
        "token": _USDC,
        "max_amount": 100_000_000,
        "pre_approval_expiry": _PAID_BY,
        "authorization_expiry": _TAKEN_BY,
        "refund_expiry": _REFUNDED_BY,
        "min_fee_bps": 0,
        "max_fee_bps": 250,
        "fee_receiver": ZERO_ADDRESS,
        "salt": _SALT,
    }
    return PaymentInfo(**{**terms, **info})


def _to_sign(transactions: tuple[Transaction, ...]) -> dict[str, Any]:
    """Returns the body of an answer with transactions."""
    explanation = [
        {"contract": each.contract, "function": each.function, "to": each.to, "summary": each.summary}
        for each in explain("base", transactions)
    ]
    enough = {"hasEnoughBalance": True, "hasEnoughGas": True, "balance": "1842.2", "requiredAmount": "100"}
    return {
        "transactions": [{"to": each.to, "data": each.data, "value": 0} for each in transactions],
        "metadata": {**enough, "estimatedNetworkFee": "0.0000031", "explanation": explanation},
    }


def _scene(state: str, **facts: Any) -> Scene:
    return Scene(state, **{"link": _link(), "pay": _pay(), "says": _BASE, **facts})


_EXACT = ("li:last-child .exact summary",)
_ASKS = {**_BASE, "eth_sendTransaction": HANGS}
_LESS = _link(maxAmount="120")
COMMERCE_SCENES: dict[str, Scene] = {
    "held-choose": _scene("choose", is_connected=False),
    "held-review": _scene("review"),
    "held-review-exact": _scene("review", press=_EXACT),
    "held-review-most": _scene("review", link=_LESS, pay=_pay(max_amount=120_000_000)),
    "held-signing": _scene("signing", says=_ASKS, press=PAY),
    "held-unsafe": _scene("unsafe", pay=_pay(operator=WALLET)),
    "held-foreign": _scene("foreign", pay=(403, {"statusCode": 403, "creatorWalletAddress": _OPERATOR})),
    "authorizing": _scene("authorizing", link=_link(preApprovedBy=[WALLET]), note=note_of(chainId=8453)),
    **{
        state: _scene(
            state,
            link=_link(preApprovedBy=[WALLET], failure={"wallet": WALLET, "reason": reason}),
            note=note_of(chainId=8453),
        )
        for state, reason in {"unfunded": "balance", "unallowed": "allowance", "untaken": "other"}.items()
    },
    "held": _scene("held", link=_link(status="AUTHORIZED", payer=WALLET, heldAmount="100")),
    "partly": _scene("partly", link=_link(status="AUTHORIZED", heldAmount="40", capturedAmount="60")),
    "taken": _scene("taken", link=_link(status="PAID", capturedAmount="60", returnedAmount="40")),
    "voided": _scene("voided", link=_link(status="VOIDED", returnedAmount="100")),
    "reclaim-choose": _scene("choose", link=_reclaimable(), is_connected=False),
    "reclaim-review": _scene("review", link=_reclaimable(), pay=_reclaim()),
    "reclaim-review-exact": _scene("review", link=_reclaimable(), pay=_reclaim(), press=_EXACT),
    "reclaim-signing": _scene("signing", link=_reclaimable(), pay=_reclaim(), says=_ASKS, press=PAY),
    "reclaim-unsafe": _scene("unsafe", link=_reclaimable(), pay=_reclaim(salt=1)),
    "reclaim-foreign": _scene(
        "foreign", link=_reclaimable(), pay=(403, {"statusCode": 403, "creatorWalletAddress": _OPERATOR})
    ),
    "reclaimed": _scene("reclaimed", link=_link(status="RECLAIMED", returnedAmount="100")),
    "refunded": _scene("refunded", link=_link(status="PARTIALLY_REFUNDED", capturedAmount="100", returnedAmount="10")),
}
