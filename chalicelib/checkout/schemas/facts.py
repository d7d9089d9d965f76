"""What every response with transactions says of them: steps, what the wallet has, and how amounts are converted."""

from typing import Any

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.accounts.simulation import Simulation
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.resources.schemas import resources_answer
from chalicelib.checkout.schemas.pay import BatchCallAnswer, CallsAnswer, ConversionAnswer, FeeAnswer, InsufficientToken
from chalicelib.checkout.schemas.routes_taken import route_facts, with_sender
from chalicelib.payments import transactions
from chalicelib.payments.payable.rules import Converted, Position
from chalicelib.payments.rates.rules import rate_text
from chalicelib.payments.requests.rules import amount_text
from chalicelib.platform.settings import ValueForm

_EVM_DECIMALS, _TRON_DECIMALS = 18, 6


def single_facts(prepared: Prepared) -> dict[str, Any]:
    """The metadata of one payment."""
    (position,), checkout = prepared.cart.positions, prepared.checkout
    ((token, debit),) = checkout.debits.items()
    facts = {**steps_facts(prepared), **route_facts(prepared)}
    facts["paymentTransactionIndex"] = len(checkout.transactions) - 1
    facts["sourceAmount"] = facts["requiredAmount"] = format_amount(debit, token.decimals)
    if checkout.approvals:
        facts["approvalTransactionIndex"] = len(checkout.transactions) - 2
    fee = position.owed.fee
    if fee.percentage is not None and fee.address is not None:
        facts["platformFee"] = FeeAnswer(percentage=fee.percentage, address=fee.address)
    if position.converted is not None:
        facts["conversion"] = conversion_answer(position, position.converted)
    if prepared.holdings is not None:
        funds = prepared.eoa.holdings if prepared.eoa else prepared.holdings
        facts["balance"] = format_amount(funds.balance_of(token), token.decimals)
        if not token.is_native:
            facts["allowance"] = format_amount(prepared.holdings.tokens[token.address].allowance, token.decimals)
    return facts


def batch_facts(prepared: Prepared) -> dict[str, Any]:
    """The metadata of a batch."""
    checkout = prepared.checkout
    first_approval, first_payment = len(checkout.funding), len(checkout.funding) + len(checkout.approvals)
    facts = {
        **steps_facts(prepared),
        **conversion_answers(prepared),
        "approvalTransactionIndices": list(range(first_approval, first_payment)),
    }
    if prepared.pays_here:
        facts["batchPaymentTransactionIndex"] = first_payment
    if prepared.holdings is not None:
        funds = prepared.eoa.holdings if prepared.eoa else prepared.holdings
        short = [(token, debit) for token, debit in checkout.debits.items() if funds.balance_of(token) < debit]
        facts["insufficientTokens"] = [_insufficient(token, debit, funds) for token, debit in short]
        facts["canMakePayment"] = facts["hasEnoughBalance"] and facts["hasEnoughGas"]
    return facts


def conversion_answers(prepared: Prepared) -> dict[str, Any]:
    """The field that lists how the payments of a batch are converted; absent if none is."""
    positions = prepared.cart.positions
    listed = [conversion_answer(each, each.converted) for each in positions if each.converted is not None]
    return {"conversions": listed} if listed else {}


def conversion_answer(position: Position, converted: Converted) -> ConversionAnswer:
    """How one payment is converted, with the numbers that decide what it costs."""
    owed, limits = position.owed, dict[str, Any]()
    if position.due.conversion is not None:
        most = position.due.conversion.max_to_spend
        limits = {
            "maxToSpend": format_amount(most, owed.token.decimals),
            "maxRateAge": position.due.conversion.max_rate_age,
        }
    if converted.ends_at is not None:
        limits["quoteExpiresAt"] = int(converted.ends_at.timestamp())
    return ConversionAnswer(
        requestId=owed.request.request_id,
        way=converted.way.value,
        rate=rate_text(converted.rate),
        rateNumerator=str(converted.rate.numerator),
        rateDenominator=str(converted.rate.denominator),
        rateSource=converted.rate.source.value,
        rateAt=iso(converted.rate.at),
        invoiceCurrency=owed.invoice.id,
        invoiceAmount=amount_text(owed.amount, owed.request),
        paymentCurrency=owed.token.id,
        paymentAmount=format_amount(converted.payment_amount, owed.token.decimals),
        **limits,
    )


def steps_facts(prepared: Prepared) -> dict[str, Any]:
    """The metadata of any number of payments."""
    checkout = prepared.checkout
    facts: dict[str, Any] = {
        "stepsRequired": len(checkout.transactions),
        "needsApproval": bool(checkout.approvals),
        "approvalTransactionsCount": len(checkout.approvals),
        "routeType": "crosschain" if prepared.routes else "samechain",
        "explanation": [transactions.explanation_answer(each) for each in prepared.explanations],
    }
    if prepared.resources is not None:
        facts["resources"] = resources_answer(
            prepared.resources, prepared.delegation, may_delegate=prepared.may_delegate
        )
    if prepared.on_tron:
        facts["approvalFeeLimit"] = str(APPROVAL_FEE_LIMIT)
        facts["paymentFeeLimit"] = str(prepared.checkout.fee_limit)
    if len(checkout.transactions) > 1 and not prepared.on_tron:
        facts["calls"] = _calls(prepared)
    if prepared.simulation is not None:
        facts["simulation"] = _simulation(prepared.simulation)
    if prepared.holdings is not None:
        facts |= _wallet_facts(prepared, prepared.holdings)
    if prepared.eoa is not None:
        facts["eoaApprovalRequired"] = bool(prepared.eoa.approvals)
        facts["eoaExplanation"] = [transactions.explanation_answer(each) for each in prepared.eoa.explanations]
    if prepared.safe_explanation is not None:
        facts["safeExplanation"] = transactions.explanation_answer(prepared.safe_explanation)
    return facts


def _calls(prepared: Prepared) -> CallsAnswer:
    """The transactions as one batch of calls, on the network that they are signed for."""
    options, found = prepared.options, prepared.checkout.transactions
    return CallsAnswer(
        version="2.0.0",
        chainId=hex(next(iter(prepared.checkout.debits)).chain_id),
        atomicRequired=True,
        calls=[BatchCallAnswer(to=each.to, data=each.data, value=hex(each.value)) for each in found],
        **({} if options.wallet is None else {"sender": options.wallet}),
    )


def _wallet_facts(prepared: Prepared, wallet: WalletReading) -> dict[str, Any]:
    """Whether the wallet has enough for the transactions; gas is an estimate at the current price, on Tron by what the
    node measures.

    The gas of a Safe's transaction is paid by the owner who executes it, so it is not counted for a Safe.
    """
    checkout, funds = prepared.checkout, prepared.eoa.holdings if prepared.eoa else wallet
    network_fee = checkout.gas * wallet.gas_price
    own_fee = 0 if prepared.options.is_safe else network_fee
    native_debit = sum(debit for token, debit in checkout.debits.items() if token.is_native)
    coin = _TRON_DECIMALS if prepared.on_tron else _EVM_DECIMALS
    has_gas = wallet.native_balance >= native_debit + own_fee
    if prepared.resources is not None:
        has_gas = prepared.resources.problem is None
        network_fee = prepared.resources.burned if prepared.resources.is_complete else network_fee
    facts: dict[str, Any] = {
        "hasEnoughBalance": all(funds.balance_of(token) >= debit for token, debit in checkout.debits.items()),
        "hasEnoughGas": has_gas,
        "nativeBalance": format_amount(wallet.native_balance, coin),
        "estimatedNetworkFee": format_amount(network_fee, coin),
    }
    tokens = [(token, debit) for token, debit in checkout.debits.items() if not token.is_native]
    goes_to_several = bool(prepared.routes) and len(prepared.cart.positions) > 1  # contracts, those of a multicall
    if tokens and not goes_to_several:
        facts["hasEnoughAllowance"] = all(wallet.tokens[token.address].allowance >= debit for token, debit in tokens)
    return facts


def wallet_fields(prepared: Prepared, value_form: ValueForm) -> dict[str, Any]:
    """The fields for smart accounts and Safes; absent for other wallets."""
    fields: dict[str, Any] = {}
    if prepared.eoa is not None:
        fields["eoaApprovalTransactions"] = [
            transactions.transaction_answer(each, value_form) for each in prepared.eoa.approvals
        ]
    if prepared.safe_transaction is not None:
        safe = prepared.safe_transaction
        fields["safeTransaction"] = transactions.SafeTransactionAnswer(
            to=safe.to, value=str(safe.value), data=safe.data, operation=safe.operation
        )
    return fields


def choose_value_form(prepared: Prepared, on_evm: ValueForm) -> ValueForm:
    """The form of values that clients read: on Tron TronWeb's number, from another chain the router's hex text, else
    that of the operation."""
    if prepared.routes:
        return "hex"
    return "plain" if prepared.on_tron else on_evm


def transaction_answers(prepared: Prepared, value_form: ValueForm) -> list[transactions.TransactionAnswer]:
    """The transactions in the order they are signed; on Tron with their fee limits."""
    answers = [transactions.transaction_answer(each, value_form) for each in prepared.checkout.transactions]
    if prepared.routes:
        return with_sender(prepared, answers)
    if not prepared.on_tron:
        return answers
    approvals = len(answers) - len(prepared.checkout.payments)
    limits = [APPROVAL_FEE_LIMIT] * approvals + [prepared.checkout.fee_limit] * len(prepared.checkout.payments)
    return [answer.model_copy(update={"feeLimit": limit}) for answer, limit in zip(answers, limits, strict=True)]


def _simulation(simulation: Simulation) -> transactions.SimulationAnswer:
    steps = [
        transactions.SimulatedStepAnswer(index=index, success=step.success, revertReason=step.reason, gas=step.gas)
        for index, step in enumerate(simulation.steps)
    ]
    outcomes = {step.success for step in simulation.steps}
    success = next((outcome for outcome in (False, None) if outcome in outcomes), True)
    return transactions.SimulationAnswer(method=simulation.method, success=success, steps=steps)


def _insufficient(token: Token, debit: BaseUnits, holdings: WalletReading) -> InsufficientToken:
    return InsufficientToken(
        tokenAddress=token.address,
        tokenSymbol=token.symbol,
        paymentCurrencyId=token.id,
        required=format_amount(debit, token.decimals),
        available=format_amount(holdings.balance_of(token), token.decimals),
    )
