"""Responses about multicalls, and the bodies of refusals; base units become human-readable amounts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.branding.schemas import LinkBranding
from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.payments.links.fees.rules import plan_of
from chalicelib.payments.links.fees.schemas import fee_plan_or_null
from chalicelib.payments.links.multicalls import schemas
from chalicelib.payments.links.multicalls.children import (
    Child,
    MulticallRefused,
    Reason,
    SetRefused,
    message_key,
    recovery_action,
)
from chalicelib.payments.links.multicalls.rules import CurrencySum, MulticallDetails, totals_by_currency
from chalicelib.payments.links.rules import shown_status, status_at
from chalicelib.payments.links.schemas import answers_of_sent, chain_answer
from chalicelib.payments.links.sent_transactions import SentOutcome
from chalicelib.payments.requests.names.schemas import shown_name
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.http.errors import details_of

_WHOLE_MULTICALL = "*"
"""The token of a failure that concerns the whole multicall."""


def multicall_created(details: MulticallDetails, url: str) -> schemas.MulticallCreated:
    """The response to the creation of a multicall, whose children have just been checked."""
    link = details.payable.link
    items = [
        schemas.MulticallItem.from_record(
            request, securePaymentToken=request.payable_id, position=position, eligibility="eligible"
        )
        for position, request in enumerate(details.requests)
    ]
    return schemas.MulticallCreated.from_record(
        link, type="multicall", securePaymentUrl=url, status="pending", items=items
    )


def multicall_answer(
    details: MulticallDetails,
    branding: PageBranding | None,
    confirmations: Mapping[str, int],
    sent: Sequence[SentOutcome] = (),
) -> schemas.MulticallAnswer:
    """The details of a multicall: each child, why it is blocked, the totals, and transactions that were `sent`."""
    link, children = details.payable.link, details.children
    networks = [request.network for request in details.requests]
    return schemas.MulticallAnswer.from_record(
        link,
        paymentType="multicall",
        status=shown_status(details.status).value,
        redirectUrl=None,
        redirectLabel=None,
        orchestratorId=None,
        branding=LinkBranding.of(branding),
        chain=chain_answer(networks[0], confirmations) if networks else None,
        analytics=schemas.MulticallAnalytics(
            creationTimestamp=iso(link.created_at), numberOfPaymentsExcludingFees=len(children)
        ),
        requestIds=[request.request_id for request in details.requests],
        canExecute=details.can_execute,
        children=[_child(child, details) for child in children],
        totals=_totals(details),
        **({"sentTransactions": answers_of_sent(sent)} if sent else {}),
    )


def _child(child: Child, details: MulticallDetails) -> schemas.ChildAnswer:
    """A child. What is not known, of one without a request or one that does not exist, is null."""
    request, reason = child.request, child.reason
    facts: dict[str, Any] = {
        **dict.fromkeys(schemas.ChildAnswer.model_fields),
        "securePaymentToken": child.token,
        "requestId": request.request_id if request else "",
        "position": child.position,
        "executable": reason is None,
        "context": schemas.ChildContext(**child_context(child, details.now)),
        **(_request_facts(request) if request else {}),
    }
    if reason is not None:
        facts |= {"blockReason": reason, "messageKey": message_key(reason), "recoveryAction": recovery_action(reason)}
    if child.payable is not None:
        link = child.payable.link
        facts |= {"feePlan": fee_plan_or_null(plan_of(child.payable)), "reference": link.reference}
        facts |= {"feePercentage": link.fee_percentage, "feeAddress": link.fee_address}
    return schemas.ChildAnswer(**facts)


def _request_facts(request: Request) -> dict[str, Any]:
    token = currency_of(request)
    return {
        "amount": format_amount(request.amount, token.decimals),
        "remainingAmount": format_amount(remaining(request), token.decimals),
        "payee": request.payee,
        **shown_name(request),
        "network": request.network,
        "paymentCurrency": token.id,
        "isNativeCurrency": token.is_native,
        "tokenAddress": token.address,
        "decimals": token.decimals,
        "paymentReference": request.payment_reference,
    }


def _totals(details: MulticallDetails) -> schemas.MulticallTotals:
    totals = totals_by_currency(details.children)
    return schemas.MulticallTotals(
        childCount=len(details.children),
        blockedChildCount=sum(child.reason is not None for child in details.children),
        byDestinationCurrency=[
            schemas.CurrencyTotal(network=each.network, currency=each.currency, totalAmount=_text(each.amount, each))
            for each in totals
        ],
        amountSummary=_summary(totals[0]) if len(totals) == 1 else None,
    )


def _summary(total: CurrencySum) -> schemas.AmountSummary:
    amount, fees = _text(total.amount, total), _text(total.fees, total)
    return schemas.AmountSummary(
        grossAmount=amount,
        netRecipientAmount=amount,
        totalFees=fees,
        payeeBorneFees="0",
        payerBorneFees=fees,
        payerTotal=_text(total.amount + total.fees, total),
    )


def _text(units: int, total: CurrencySum) -> str:
    return format_amount(units, require_token(total.currency).decimals)


@details_of.register
def _(error: MulticallRefused) -> dict[str, Any]:
    """The blocked children (specification, multicall validation envelope)."""
    failures = [
        _failure(child.token, child.reason, child_context(child, error.now), child.detail)
        for child in error.blocked
        if child.reason is not None
    ]
    return _envelope(failures)


@details_of.register
def _(error: SetRefused) -> dict[str, Any]:
    """The validation envelope of what concerns all children together, with the exceeded limit if there is one."""
    if error.cap is None:
        return _envelope([_failure(_WHOLE_MULTICALL, error.reason, {}, error.detail)])
    maximum, actual = error.cap.maximum, error.cap.actual
    exceeded = {"maximum": maximum, "actual": actual, "reduceBy": actual - maximum}
    envelope = _envelope([_failure(_WHOLE_MULTICALL, error.reason, exceeded)])
    return {**envelope, "cap": {"type": "child_count", **exceeded}}


def _envelope(failures: list[dict[str, Any]]) -> dict[str, Any]:
    return {"code": "multicall_validation_failed", "failures": failures}


def _failure(token: str, reason: Reason, context: dict[str, Any], detail: str | None = None) -> dict[str, Any]:
    """`message` says more: why a route failed, or what to change about the set."""
    return {
        "securePaymentToken": token,
        "reason": reason.value,
        "messageKey": message_key(reason),
        "context": context,
        "recoveryAction": recovery_action(reason),
        **({"message": detail} if detail is not None else {}),
    }


def child_context(child: Child, now: datetime) -> dict[str, Any]:
    """The facts behind a child's state (supplement 7.1). For a link of another account, only what the caller sent."""
    request, is_hidden = child.request, child.reason is Reason.NOT_OWNED
    facts: dict[str, Any] = {
        "requestId": request.request_id if request and not is_hidden else "",
        "securePaymentToken": child.token,
        "position": child.position,
        "hasBeenPaid": child.is_paid and not is_hidden,
    }
    if child.payable is None or is_hidden:
        return facts
    link = child.payable.link
    facts |= {"securePaymentStatus": shown_status(status_at(link, now)).value, "expiresAt": iso(link.expires_at)}
    if request is not None:
        facts |= {"requestStatus": request.status.value, "network": request.network, "currency": request.currency}
    return facts
