"""Responses of `/pay` of links: the transactions, how to use them, and whether the wallet has enough for them."""

from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.schemas import pay
from chalicelib.checkout.schemas.facts import batch_facts, single_facts, transaction_answers, wallet_fields
from chalicelib.checkout.schemas.routes_taken import bundle_facts, destination_call, raw_step
from chalicelib.commerce.service.terms import commerce_terms
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.payments.links.multicalls.rules import ExecutionKind
from chalicelib.payments.links.records import Link, PayableLink, PaymentType
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.settings import ValueForm


def pay_answer(made: Prepared, value_form: ValueForm) -> pay.PayAnswer | pay.BatchPayAnswer | pay.MulticallPayAnswer:
    """The response to `/pay`, transactions in the order they are signed; its model depends on the link's kind."""
    kind = _link(made).payment_type
    if kind is PaymentType.SINGLE:
        return single_answer(made, value_form)
    answers = transaction_answers(made, value_form)
    optional, checkout = wallet_fields(made, value_form), made.checkout
    first_payment = len(answers) - len(checkout.payments)
    shared: dict[str, Any] = {
        "ERC20ApprovalTransactions": answers[len(checkout.funding) : first_payment],
        "transactions": answers,
        **optional,
    }
    if made.pays_here:
        shared["batchPaymentTransaction"] = answers[first_payment]
    if kind is PaymentType.BATCH:
        return pay.BatchPayAnswer(paymentType="batch", metadata=pay.BatchMetadata(**batch_facts(made)), **shared)
    return pay.MulticallPayAnswer(paymentType="multicall", **shared, **_multicall_facts(made))


def single_answer(made: Prepared, value_form: ValueForm) -> pay.PayAnswer:
    """The response to `/pay` of a link of one payment."""
    facts = single_facts(made)
    payable = made.cart.payable
    if payable is not None and payable.commerce is not None:
        facts["commerce"] = commerce_terms(payable.commerce)
    if made.routes:
        facts["rawStep"] = raw_step(made, _link(made).token)
    return pay.PayAnswer(
        paymentType="single",
        transactions=transaction_answers(made, value_form),
        feeBundle=None,
        metadata=pay.PayMetadata(**facts),
        **wallet_fields(made, value_form),
    )


def _link(made: Prepared) -> Link:
    assert made.cart.link is not None, "it pays a link"
    return made.cart.link


def _multicall_facts(made: Prepared) -> dict[str, Any]:
    link, parts = _link(made), made.cart.children
    ((token, debit),) = made.checkout.debits.items()
    routes = made.routes or (None,) * len(parts)
    children = [_child(position, part, token, routes[position]) for position, part in enumerate(parts)]
    total = format_amount(debit, token.decimals)
    facts = {
        **batch_facts(made),
        **bundle_facts(made),
        "paymentTransactionIndex": len(made.checkout.transactions) - len(made.checkout.payments),
        "feeTransactionIndices": [],
        "childCount": len(link.child_tokens),
        "executableLegCount": len(parts),
        "sourceAmount": total,
        "requiredAmount": total,
    }
    if not token.is_native:
        facts["aggregateAllowance"] = total
    return {
        "executionKind": _kind(made, token).value,
        "token": link.token,
        "network": token.network,
        "chainId": token.chain_id,
        "childTokens": list(link.child_tokens),
        "requestIds": [child.requestId for child in children],
        "children": children,
        "payees": [child.payee for child in children],
        "amounts": [child.amount for child in children],
        "references": [child.paymentReference for child in children],
        "destinationCalls": [destination_call(route) for route in routes if route is not None],
        "feeBundle": None,
        "metadata": pay.MulticallMetadata(**facts),
    }


def _kind(prepared: Prepared, token: Token) -> ExecutionKind:
    if prepared.routes:
        return ExecutionKind.EVM_CROSS_CHAIN
    return ExecutionKind.TRON_BATCH if token.network == "tron" else ExecutionKind.EVM_SAME_CHAIN


def _child(position: int, part: PayableLink, source: Token, route: Route | None) -> pay.MulticallChildAnswer:
    """A child that is paid in `source`, by a route if there is one."""
    request: Request = part.requests[0]
    token = currency_of(request)
    called = {} if route is None else {"destinationCall": destination_call(route)}
    return pay.MulticallChildAnswer.from_record(
        request,
        position=position,
        securePaymentToken=part.link.token,
        amount=format_amount(remaining(request), token.decimals),
        paymentCurrency=token.id,
        paymentCurrencyAddress=token.address,
        sourceTokenAddress=source.address,
        tokenAddress=token.address,
        **called,
    )
