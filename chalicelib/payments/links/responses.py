"""The bodies of the errors about links."""

from typing import Any

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.branding.rules import link_branding
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.links import errors
from chalicelib.payments.links.bridge_transfers import answer_bridge_transfers
from chalicelib.payments.links.records import AnnouncedTransaction, LinkStatus, PayableLink
from chalicelib.payments.links.sent_transactions import answer_sent, shown_hash
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.http.errors import details_of


@details_of.register
def _(error: errors.LinkCompleted) -> dict[str, Any]:
    paid = [
        {"requestId": each.request_id, "hasBeenPaid": True, "txHash": each.tx_hash} for each in error.payable.requests
    ]
    facts = {**_page_facts(error.payable, error.branding), "requestStatuses": paid, **_bridge_transfers(error.payable)}
    sent = {"sentTransactions": [answer_sent(each) for each in error.sent]} if error.sent else {}
    return {"status": LinkStatus.COMPLETED.value, **facts, **sent}


@details_of.register
def _(error: errors.LinkLocked) -> dict[str, Any]:
    statuses = [_answer_lock(request, error.payable) for request in error.payable.requests]
    facts = _page_facts(error.payable, error.branding)
    bridge_transfers = _bridge_transfers(error.payable)
    return {"status": LinkStatus.PENDING.value, **facts, "requestStatuses": statuses, **bridge_transfers}


@details_of.register
def _(error: errors.LinkBeingSigned) -> dict[str, Any]:
    facts = _page_facts(error.payable, error.branding)
    ends_at = int(error.ends_at.timestamp())
    return {"code": "being_signed", "status": LinkStatus.PENDING.value, "signingEndsAt": ends_at, **facts}


@details_of.register
def _(error: errors.LinkAwaitingChain) -> dict[str, Any]:
    facts = _page_facts(error.payable, error.branding)
    return {"code": LinkStatus.AWAITING_CHAIN.value, "status": LinkStatus.PENDING.value, **facts}


@details_of.register
def _(error: errors.LinkClosed) -> dict[str, Any]:
    facts = _page_facts(error.payable, error.branding) if error.payable is not None else {}
    return {"status": error.link_status.value, **facts}


@details_of.register
def _(error: errors.WrongWallet) -> dict[str, Any]:
    return {"creatorWalletAddress": error.creator_wallet}


@details_of.register
def _(error: errors.TronBatchRefused) -> dict[str, Any]:
    return {"advice": error.advice}


def _bridge_transfers(payable: PayableLink) -> dict[str, Any]:
    """The payments from other chains of a link that has any."""
    found = answer_bridge_transfers(payable.announcements)
    return {"crosschainIntents": found} if found else {}


def _page_facts(payable: PayableLink, branding: PageBranding | None) -> dict[str, Any]:
    """What the payment page shows of a link that cannot be paid: its branding and its redirect."""
    link = payable.link
    return {"branding": link_branding(branding), "redirectUrl": link.redirect_url, "redirectLabel": link.redirect_label}


def _answer_lock(request: Request, payable: PayableLink) -> dict[str, Any]:
    facts = {"requestId": request.request_id, "hasBeenPaid": request.status is RequestStatus.PAID}
    if request.is_executed and request.execution is not None:
        chain_id = require_network(request.network).chain_id
        return {**facts, "gaslessPaymentId": request.execution.intent_id, "chainId": chain_id}
    assert payable.announcements is not None, "it waits for one of them"
    return {**facts, **_answer_announced(payable.announcements.first)}


def _answer_announced(announced: AnnouncedTransaction) -> dict[str, Any]:
    facts = {
        **(
            {"safeTxHash": announced.safe_tx_hash}
            if announced.safe_tx_hash
            else {"txHash": shown_hash(announced.network, announced.transaction_hash)}
        ),
        "chainId": require_network(announced.network).chain_id,
    }
    deadline = {"safePaymentDeadline": int(announced.deadline.timestamp())} if announced.deadline else {}
    return {**facts, **deadline}
