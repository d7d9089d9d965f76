"""Scenes of commerce payments, whose amount is held in an escrow, beside those of scenes.py."""

from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.escrow.calls import pre_approve, reclaim
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.catalogue.escrows import escrow_contracts
from infra.local.scenes import EXACT, HANGS, LINK, PAY, WALLET, Scene, link_on, note_of, to_sign

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
_WITHOUT_FEE = dict.fromkeys(("feePercentage", "feeAddress", "feePlan"))
_LINK = link_on("base", "USDC-base", amount="100", remainingAmount="100", **_WITHOUT_FEE, commerce=_COMMERCE)
_SHOWN = {"requiredAmount": "100", "estimatedNetworkFee": "0.0000031"}
_BASE: dict[str, Any] = {"eth_chainId": {"result": hex(8453)}}


def _link(**commerce: Any) -> tuple[int, dict[str, Any]]:
    return 200, {**_LINK, "commerce": {**_COMMERCE, **commerce}}


def _reclaimable() -> tuple[int, dict[str, Any]]:
    """Returns status and body of a link of which 40 are held that the wallet can take back."""
    known = {"status": "EXPIRED", **_OVER, "payer": WALLET, "heldAmount": "40", "capturedAmount": "60"}
    return _link(**known)


def _pay(**info: Any) -> tuple[int, dict[str, Any]]:
    """Returns status and body of /pay, with other terms in the transactions if given."""
    assert _CONTRACTS is not None
    return 200, to_sign("base", pre_approve(_info(**info), _CONTRACTS), **_SHOWN)


def _reclaim(**info: Any) -> tuple[int, dict[str, Any]]:
    """The same of /reclaim."""
    assert _CONTRACTS is not None
    over = {"pre_approval_expiry": _PAST - 60, "authorization_expiry": _PAST}
    return 200, to_sign("base", (reclaim(_info(**{**over, **info}), _CONTRACTS),), **_SHOWN)


def _info(**info: Any) -> PaymentInfo:
    terms: dict[str, Any] = {
        "operator": _OPERATOR,
        "payer": WALLET,
        "receiver": LINK["payee"],
        "token": _LINK["destination"]["tokenAddress"],
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


def _scene(state: str, **facts: Any) -> Scene:
    return Scene(state, **{"link": _link(), "pay": _pay(), "says": _BASE, **facts})


_ASKS = {**_BASE, "eth_sendTransaction": HANGS}
_FOREIGN = 403, {"statusCode": 403, "creatorWalletAddress": _OPERATOR}
_LESS = _link(maxAmount="120")
COMMERCE_SCENES: dict[str, Scene] = {
    "commerce-choose": _scene("choose", is_connected=False),
    "commerce-review": _scene("review"),
    "commerce-review-exact": _scene("review", press=EXACT),
    "commerce-review-most": _scene("review", link=_LESS, pay=_pay(max_amount=120_000_000)),
    "commerce-signing": _scene("signing", says=_ASKS, press=PAY),
    "commerce-unsafe": _scene("unsafe", pay=_pay(operator=WALLET)),
    "commerce-foreign": _scene("foreign", pay=_FOREIGN),
    "authorizing": _scene("authorizing", link=_link(preApprovedBy=[WALLET]), note=note_of(chainId=8453)),
    **{
        state: _scene(
            state,
            link=_link(preApprovedBy=[WALLET], failure={"wallet": WALLET, "reason": reason}),
            note=note_of(chainId=8453),
        )
        for state, reason in {"unfunded": "balance", "unallowed": "allowance", "untaken": "other"}.items()
    },
    "authorized": _scene("authorized", link=_link(status="AUTHORIZED", payer=WALLET, heldAmount="100")),
    "partly": _scene("partly", link=_link(status="AUTHORIZED", heldAmount="40", capturedAmount="60")),
    "taken": _scene("taken", link=_link(status="PAID", capturedAmount="60", returnedAmount="40")),
    "voided": _scene("voided", link=_link(status="VOIDED", returnedAmount="100")),
    "reclaim-choose": _scene("choose", link=_reclaimable(), is_connected=False),
    "reclaim-review": _scene("review", link=_reclaimable(), pay=_reclaim()),
    "reclaim-review-exact": _scene("review", link=_reclaimable(), pay=_reclaim(), press=EXACT),
    "reclaim-signing": _scene("signing", link=_reclaimable(), pay=_reclaim(), says=_ASKS, press=PAY),
    "reclaim-unsafe": _scene("unsafe", link=_reclaimable(), pay=_reclaim(salt=1)),
    "reclaim-foreign": _scene("foreign", link=_reclaimable(), pay=_FOREIGN),
    "reclaimed": _scene("reclaimed", link=_link(status="RECLAIMED", returnedAmount="100")),
    "refunded": _scene("refunded", link=_link(status="PARTIALLY_REFUNDED", capturedAmount="100", returnedAmount="10")),
}
