"""Responses of `/pay`: the transactions, how to use them, and whether the wallet has enough for them."""

from collections.abc import Sequence
from typing import Any

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.calldata.transaction import Transaction
from chalicelib.calldata.tron import APPROVAL_FEE_LIMIT
from chalicelib.catalogue.tokens import Token
from chalicelib.chain.simulation import Simulation
from chalicelib.chain.wallets import WalletReading
from chalicelib.checkout.flows import Quote
from chalicelib.checkout.schemas.link import held_of
from chalicelib.checkout.schemas.pay import (
    BatchMetadata,
    BatchPayAnswer,
    FeeAnswer,
    InsufficientToken,
    MulticallChildAnswer,
    MulticallMetadata,
    MulticallPayAnswer,
    PayAnswer,
    PayMetadata,
)
from chalicelib.checkout.schemas.transactions import (
    SafeTransactionAnswer,
    SimulatedStepAnswer,
    SimulationAnswer,
    TransactionAnswer,
    explanation_answer,
    transaction_answer,
)
from chalicelib.links.records import PaymentType, SecurePayment
from chalicelib.requests.records import Request
from chalicelib.requests.rules import remaining
from chalicelib.settings import ValueForm

_EVM_DECIMALS, _TRON_DECIMALS = 18, 6

# interface.md has these fields in every batch; typed clients refuse a response without a boolean hasEnoughBalance.
_UNKNOWN_WALLET = {"hasEnoughBalance": False, "hasEnoughGas": None, "canMakePayment": None}


def pay_answer(quote: Quote, value_form: ValueForm) -> PayAnswer | BatchPayAnswer | MulticallPayAnswer:
    """The response to `/pay`, transactions in the order they are signed; its model depends on the link's kind."""
    answers = _transactions(quote, quote.checkout.transactions, value_form)
    optional = _optional(quote, value_form)
    kind = quote.payment.link.payment_type
    if kind is PaymentType.SINGLE:
        return PayAnswer(
            paymentType="single", transactions=answers, feeBundle=None, metadata=_single_metadata(quote), **optional
        )
    first_payment = len(answers) - len(quote.checkout.payments)
    shared = {
        "ERC20ApprovalTransactions": answers[len(quote.checkout.funding) : first_payment],
        "batchPaymentTransaction": answers[first_payment],
        "transactions": answers,
        **optional,
    }
    if kind is PaymentType.BATCH:
        metadata = BatchMetadata(**{**_UNKNOWN_WALLET, **_batch_facts(quote)})
        return BatchPayAnswer(paymentType="batch", metadata=metadata, **shared)
    return MulticallPayAnswer(paymentType="multicall", **shared, **_multicall_facts(quote))


def _single_metadata(quote: Quote) -> PayMetadata:
    link, checkout = quote.payment.link, quote.checkout
    ((token, debit),) = checkout.debits.items()
    facts = _steps_facts(quote)
    facts["paymentTransactionIndex"] = len(checkout.transactions) - 1
    facts["sourceAmount"] = facts["requiredAmount"] = format_amount(debit, token.decimals)
    if checkout.approvals:
        facts["approvalTransactionIndex"] = len(checkout.transactions) - 2
    if link.fee_percentage is not None and link.fee_address is not None:
        facts["platformFee"] = FeeAnswer(percentage=link.fee_percentage, address=link.fee_address)
    if quote.holdings is not None:
        funds = quote.eoa.holdings if quote.eoa else quote.holdings
        facts["balance"] = format_amount(held_of(token, funds), token.decimals)
        if not token.is_native:
            facts["allowance"] = format_amount(quote.holdings.tokens[token.address].allowance, token.decimals)
    return PayMetadata(**facts)


def _batch_facts(quote: Quote) -> dict[str, Any]:
    checkout = quote.checkout
    first_approval, first_payment = len(checkout.funding), len(checkout.funding) + len(checkout.approvals)
    facts = {
        **_steps_facts(quote),
        "approvalTransactionIndices": list(range(first_approval, first_payment)),
        "batchPaymentTransactionIndex": first_payment,
    }
    if quote.holdings is not None:
        funds = quote.eoa.holdings if quote.eoa else quote.holdings
        short = [(token, debit) for token, debit in checkout.debits.items() if held_of(token, funds) < debit]
        facts["insufficientTokens"] = [_insufficient(token, debit, funds) for token, debit in short]
        facts["canMakePayment"] = facts["hasEnoughBalance"] and facts["hasEnoughGas"]
    return facts


def _multicall_facts(quote: Quote) -> dict[str, Any]:
    link, parts = quote.payment.link, quote.parts
    ((token, debit),) = quote.checkout.debits.items()
    children = [_child(position, part, token) for position, part in enumerate(parts)]
    total = format_amount(debit, token.decimals)
    batch = _batch_facts(quote)
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


def _steps_facts(quote: Quote) -> dict[str, Any]:
    checkout = quote.checkout
    facts: dict[str, Any] = {
        "stepsRequired": len(checkout.transactions),
        "needsApproval": bool(checkout.approvals),
        "approvalTransactionsCount": len(checkout.approvals),
        "routeType": "samechain",
        "explanation": [explanation_answer(each) for each in quote.explanations],
    }
    if _on_tron(quote):
        facts["approvalFeeLimit"] = str(APPROVAL_FEE_LIMIT)
        facts["paymentFeeLimit"] = str(quote.checkout.fee_limit)
    if quote.simulation is not None:
        facts["simulation"] = _simulation(quote.simulation)
    if quote.holdings is not None:
        facts |= _wallet_facts(quote, quote.holdings)
    if quote.eoa is not None:
        facts["eoaApprovalRequired"] = bool(quote.eoa.approvals)
        facts["eoaExplanation"] = [explanation_answer(each) for each in quote.eoa_explanations]
    if quote.safe_explanation is not None:
        facts["safeExplanation"] = explanation_answer(quote.safe_explanation)
    return facts


def _wallet_facts(quote: Quote, wallet: WalletReading) -> dict[str, Any]:
    """Whether the wallet has enough for the transactions; gas is an estimate at the current price.

    The gas of a Safe's transaction is paid by the owner who executes it, so it is not counted for a Safe.
    """
    checkout, funds = quote.checkout, quote.eoa.holdings if quote.eoa else wallet
    network_fee = checkout.gas * wallet.gas_price
    own_fee = 0 if quote.options.is_safe else network_fee
    native_debit = sum(debit for token, debit in checkout.debits.items() if token.is_native)
    coin = _TRON_DECIMALS if _on_tron(quote) else _EVM_DECIMALS
    facts: dict[str, Any] = {
        "hasEnoughBalance": all(held_of(token, funds) >= debit for token, debit in checkout.debits.items()),
        "hasEnoughGas": wallet.native_balance >= native_debit + own_fee,
        "nativeBalance": format_amount(wallet.native_balance, coin),
        "estimatedNetworkFee": format_amount(network_fee, coin),
    }
    tokens = [(token, debit) for token, debit in checkout.debits.items() if not token.is_native]
    if tokens:
        facts["hasEnoughAllowance"] = all(wallet.tokens[token.address].allowance >= debit for token, debit in tokens)
    return facts


def _optional(quote: Quote, value_form: ValueForm) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if quote.eoa is not None:
        fields["eoaApprovalTransactions"] = [transaction_answer(each, value_form) for each in quote.eoa.approvals]
    if quote.safe_transaction is not None:
        safe = quote.safe_transaction
        fields["safeTransaction"] = SafeTransactionAnswer(
            to=safe.to, value=str(safe.value), data=safe.data, operation=safe.operation
        )
    return fields


def _transactions(
    quote: Quote, transactions: Sequence[Transaction], value_form: ValueForm
) -> list[TransactionAnswer]:
    answers = [transaction_answer(each, value_form) for each in transactions]
    if not _on_tron(quote):
        return answers
    approvals = len(answers) - len(quote.checkout.payments)
    limits = [APPROVAL_FEE_LIMIT] * approvals + [quote.checkout.fee_limit] * len(quote.checkout.payments)
    return [answer.model_copy(update={"feeLimit": limit}) for answer, limit in zip(answers, limits, strict=True)]


def _simulation(simulation: Simulation) -> SimulationAnswer:
    steps = [
        SimulatedStepAnswer(index=index, success=step.success, revertReason=step.reason, gas=step.gas)
        for index, step in enumerate(simulation.steps)
    ]
    outcomes = {step.success for step in simulation.steps}
    success = next((outcome for outcome in (False, None) if outcome in outcomes), True)
    return SimulationAnswer(method=simulation.method, success=success, steps=steps)


def _insufficient(token: Token, debit: BaseUnits, holdings: WalletReading) -> InsufficientToken:
    return InsufficientToken(
        tokenAddress=token.address,
        tokenSymbol=token.symbol,
        paymentCurrencyId=token.id,
        required=format_amount(debit, token.decimals),
        available=format_amount(held_of(token, holdings), token.decimals),
    )


def _on_tron(quote: Quote) -> bool:
    return quote.parts[0].requests[0].network == "tron"
