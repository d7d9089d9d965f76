"""Scenes of payments from another chain, beside those of scenes.py."""

import time
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import Deposit, HandlerMessage, encode_deposit, encode_message
from chalicelib.chains.calldata.checkout import pay_one, with_approvals
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, ACROSS_SPOKE_POOL, address_of
from infra.local.scenes import HANGS, HASH, PAY, TOKEN, WALLET, Scene, body_of, due_of, ended_body, link_on, note_of

_USDC_ON_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
_FROM_BASE = f'localStorage.setItem("from:{TOKEN}", "base USDC");'
_OPTIONS = {
    "ARBITRUM": {"USDC": {"balance": "0.4", "hasEnoughBalance": False, "neededAmount": "12.625"}},
    "BASE": {"USDC": {"balance": "1842.2", "hasEnoughBalance": True, "neededAmount": "12.625"}},
    "BNB": {"USDT": {"balance": "9.75", "hasEnoughBalance": False, "neededAmount": "12.625"}},
}
_ON_ARBITRUM = link_on("arbitrum-one", "USDC-arbitrum-one", paymentOptions=_OPTIONS, unavailableChains=["POLYGON"])
_OFFERED = 200, _ON_ARBITRUM
_WAY = {
    "status": "pending",
    "stage": "bridge",
    "sourceNetwork": "base",
    "sourceTxHash": HASH,
    "destinationNetwork": "arbitrum-one",
    "destinationTxHash": None,
    "refundTxHash": None,
    "fillDeadline": "2099-01-01T00:00:00.000Z",
    "held": None,
    "isSurplus": False,
}
_BACK = {"amount": "12.66", "currency": "USDC", "network": "base", "walletAddress": WALLET}


def _body_of_route() -> dict[str, Any]:
    """Returns the body of /pay for the link on arbitrum-one, paid in USDC on base."""
    due, taken = due_of(_ON_ARBITRUM), BaseUnits(12_655_100)
    pool = address_of(ACROSS_SPOKE_POOL, "base")
    message = with_approvals(pay_one(due), {}).transactions
    calls = tuple((each.to, each.data, 0) for each in message)
    quoted_at = int(time.time())
    deposit = Deposit(
        depositor=WALLET,
        recipient=address_of(ACROSS_HANDLER, "arbitrum-one"),
        input_token=_USDC_ON_BASE,
        output_token=_ON_ARBITRUM["destination"]["tokenAddress"],
        input_amount=taken,
        output_amount=due.debit,
        destination_chain_id=42161,
        exclusive_relayer="0x" + "0" * 40,
        quote_timestamp=quoted_at,
        fill_deadline=quoted_at + 7_200,
        exclusivity=0,
        message=encode_message(HandlerMessage(calls, WALLET)),
    )
    body = body_of("arbitrum-one", due, balance="1842.2", requiredAmount="12.6551", sourceAmount="12.6551")
    approval = approve(_USDC_ON_BASE, pool, taken)
    body["transactions"] = [
        {"to": approval.to, "data": approval.data, "value": "0x0"},
        {"to": pool, "data": encode_deposit(deposit), "value": "0x0"},
    ]
    ends = {"quoteExpiresAt": quoted_at + 600, "executionDeadline": quoted_at + 3_600}
    body["metadata"] |= {"routeType": "crosschain", "explanation": [], **ends}
    return body


def _under_way(**changes: Any) -> tuple[int, Any]:
    """Returns status and body of a link that waits for a payment from another chain."""
    facts = {"crosschainIntents": [{**_WAY, **changes}], "status": "pending"}
    return ended_body(423, requestStatuses=[{"txHash": HASH}], **facts)


def _came_to(status: str, **changes: Any) -> "Scene":
    """Returns the scene of a payment from another chain that ended in this way while its link is open."""
    way = {**_WAY, "status": status, **changes}
    return Scene(f"route-{status}", link=(200, {**_ON_ARBITRUM, "crosschainIntents": [way]}), note=_body_from_base())


def _scene_of_arrival(statuses: list[dict[str, str]], **changes: Any) -> Scene:
    """Returns the scene of a payment from another chain that has arrived at a link which is paid."""
    way = {**_WAY, "status": "settled", "stage": "destination", **changes}
    return Scene(
        "completed", link=ended_body(409, requestStatuses=statuses, crosschainIntents=[way]), note=_body_from_base()
    )


def _body_from_base() -> dict[str, Any]:
    return note_of(chainId=8453, source={"network": "base", "symbol": "USDC"}, fillBy=4_070_908_800)


CROSSCHAIN_SCENES: dict[str, Scene] = {
    "route-offered": Scene("review", link=_OFFERED, pay=(200, body_of("arbitrum-one", due_of(_ON_ARBITRUM)))),
    "route-chosen": Scene("review", link=_OFFERED, pay=(200, _body_of_route()), before=_FROM_BASE),
    "route-signing": Scene(
        "signing",
        link=_OFFERED,
        pay=(200, _body_of_route()),
        says={"eth_sendTransaction": HANGS, "eth_chainId": {"result": "0x2105"}},
        before=_FROM_BASE,
        press=PAY,
    ),
    "route-sent": Scene("route-source", link=_under_way(stage="source"), note=_body_from_base()),
    "route-bridge": Scene("route-bridge", link=_under_way()),
    "route-refunding": Scene("route-refunding", link=_under_way(status="refunding", stage="refunding")),
    "route-unknown": Scene("route-unknown", link=_under_way(status="unknown")),
    "route-partial": _came_to(
        "partial", stage="destination", held={**_BACK, "network": "arbitrum-one"}, destinationTxHash=HASH
    ),
    "route-refunded": _came_to("refunded", stage="returned", held=_BACK, refundTxHash=HASH),
    "route-failed": _came_to("failed", stage="source"),
    "route-replaced": _came_to("replaced", stage="source"),
    "route-lapsed": _came_to("lapsed", stage="source"),
    "route-surplus": _scene_of_arrival([], isSurplus=True),
    "route-coming": _scene_of_arrival([{"txHash": HASH}], status="pending", stage="bridge"),
    "route-paid": _scene_of_arrival([{"txHash": HASH}], destinationTxHash=HASH),
}
