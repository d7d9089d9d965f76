"""Responses of `/pay` of links: the transactions, how to use them, and whether the wallet has enough for them."""

from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.catalogue.tokens import Token
from chalicelib.checkout.flows import PreparedLink
from chalicelib.checkout.schemas.facts import batch_facts, single_facts, transaction_answers, wallet_fields
from chalicelib.checkout.schemas.pay import (
    BatchMetadata,
    BatchPayAnswer,
    MulticallChildAnswer,
    MulticallMetadata,
    MulticallPayAnswer,
    PayAnswer,
    PayMetadata,
)
from chalicelib.links.records import PaymentType, SecurePayment
from chalicelib.requests.records import Request
from chalicelib.requests.rules import remaining
from chalicelib.settings import ValueForm

# interface.md has these fields in every batch; typed clients refuse a response without a boolean hasEnoughBalance.
_UNKNOWN_WALLET = {"hasEnoughBalance": False, "hasEnoughGas": None, "canMakePayment": None}


def pay_answer(made: PreparedLink, value_form: ValueForm) -> PayAnswer | BatchPayAnswer | MulticallPayAnswer:
    """The response to `/pay`, transactions in the order they are signed; its model depends on the link's kind."""
    answers = transaction_answers(made.prepared, value_form)
    optional, checkout = wallet_fields(made.prepared, value_form), made.prepared.checkout
    kind = made.payment.link.payment_type
    if kind is PaymentType.SINGLE:
        metadata = PayMetadata(**single_facts(made.prepared))
        return PayAnswer(paymentType="single", transactions=answers, feeBundle=None, metadata=metadata, **optional)
    first_payment = len(answers) - len(checkout.payments)
    shared = {
        "ERC20ApprovalTransactions": answers[len(checkout.funding) : first_payment],
        "batchPaymentTransaction": answers[first_payment],
        "transactions": answers,
        **optional,
    }
    if kind is PaymentType.BATCH:
        batch = BatchMetadata(**{**_UNKNOWN_WALLET, **batch_facts(made.prepared)})
        return BatchPayAnswer(paymentType="batch", metadata=batch, **shared)
    return MulticallPayAnswer(paymentType="multicall", **shared, **_multicall_facts(made))


def _multicall_facts(made: PreparedLink) -> dict[str, Any]:
    link, parts = made.payment.link, made.parts
    ((token, debit),) = made.prepared.checkout.debits.items()
    children = [_child(position, part, token) for position, part in enumerate(parts)]
    total = format_amount(debit, token.decimals)
    batch = batch_facts(made.prepared)
    facts = {
        **batch,
        "paymentTransactionIndex": batch["batchPaymentTransactionIndex"],
        "feeTransactionIndices": [],
        "bridgeTxIndices": [],
        "childCount": len(link.child_tokens),
        "executableLegCount": len(parts),
        "sourceAmount": total,
        "requiredAmount": total,
    }
    if not token.is_native:
        facts["aggregateAllowance"] = total
    return {
        "executionKind": "tron_batch" if token.network == "tron" else "evm_same_chain",
        "token": link.token,
        "network": token.network,
        "chainId": token.chain_id,
        "childTokens": list(link.child_tokens),
        "requestIds": [child.requestId for child in children],
        "children": children,
        "payees": [child.payee for child in children],
        "amounts": [child.amount for child in children],
        "references": [child.paymentReference for child in children],
        "destinationCalls": [],
        "feeBundle": None,
        "metadata": MulticallMetadata(**facts),
    }


def _child(position: int, part: SecurePayment, token: Token) -> MulticallChildAnswer:
    request: Request = part.requests[0]
    return MulticallChildAnswer(
        position=position,
        securePaymentToken=part.link.token,
        requestId=request.request_id,
        payee=request.payee,
        amount=format_amount(remaining(request), token.decimals),
        paymentCurrency=token.id,
        paymentReference=request.payment_reference,
        paymentCurrencyAddress=token.address,
        sourceTokenAddress=token.address,
        tokenAddress=token.address,
        network=request.network,
    )
