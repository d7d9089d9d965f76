"""Links and quotes as answers: base units become human-readable amounts here."""

from typing import Any, Literal

from chalicelib.api.schemas.secure_payments import (
    DestinationAnswer,
    FeeAnswer,
    PayAnswer,
    PaymentOption,
    PayMetadata,
    SecurePaymentAnswer,
    TransactionAnswer,
)
from chalicelib.calldata.transaction import Transaction
from chalicelib.core.destinations import Destination, destination_id, interop_address
from chalicelib.core.events import iso
from chalicelib.core.links import Link, Request, SecurePayment, amount_with_fee, remaining
from chalicelib.core.money import format_amount
from chalicelib.core.networks import network
from chalicelib.core.tokens import Token
from chalicelib.flows.links import Quote, currency_of
from chalicelib.net.evm import WalletReading

ValueForm = Literal["plain", "bignumber"]


def secure_payment_answer(payment: SecurePayment, wallet: WalletReading | None) -> SecurePaymentAnswer:
    """The metadata of a link; with a wallet's balances, `paymentOptions` for its own network."""
    link, request = payment.link, payment.requests[0]
    token = currency_of(request)
    options = {"paymentOptions": _payment_options(link, request, token, wallet)} if wallet else {}
    return SecurePaymentAnswer(
        paymentType="single",
        payee=request.payee,
        network=request.network,
        amount=format_amount(request.amount, token.decimals),
        paymentCurrency=token.id,
        isNativeCurrency=token.is_native,
        status=link.status.value,
        destination=_destination(request, token),
        reference=link.reference,
        requestIds=[request.request_id],
        redirectUrl=link.redirect_url,
        redirectLabel=link.redirect_label,
        paidAmount=format_amount(request.paid, token.decimals),
        remainingAmount=format_amount(remaining(request), token.decimals),
        createdAt=iso(link.created_at),
        expiresAt=iso(link.expires_at),
        branding=None,
        feePlan=None,
        **options,
    )


def pay_answer(quote: Quote, value_form: ValueForm) -> PayAnswer:
    """Transactions in the order they are signed, and how to use them."""
    transactions = [_transaction(transaction, value_form) for transaction in quote.checkout.transactions]
    return PayAnswer(
        paymentType="single", transactions=transactions, feeBundle=None, metadata=_metadata(quote)
    )


def _metadata(quote: Quote) -> PayMetadata:
    link, request = quote.payment.link, quote.payment.requests[0]
    token, checkout = currency_of(request), quote.checkout
    debit = format_amount(checkout.debit, token.decimals)
    facts: dict[str, Any] = {
        "stepsRequired": len(checkout.transactions),
        "needsApproval": checkout.approvals > 0,
        "approvalTransactionsCount": checkout.approvals,
        "paymentTransactionIndex": checkout.approvals,
        "routeType": "samechain",
        "sourceAmount": debit,
        "requiredAmount": debit,
    }
    if checkout.approvals:
        facts["approvalTransactionIndex"] = checkout.approvals - 1
    if link.fee_percentage is not None and link.fee_address is not None:
        facts["platformFee"] = FeeAnswer(percentage=link.fee_percentage, address=link.fee_address)
    if quote.wallet is not None:
        facts |= _wallet_facts(quote, quote.wallet, token)
    return PayMetadata(**facts)


def _wallet_facts(quote: Quote, wallet: WalletReading, token: Token) -> dict[str, Any]:
    """What the wallet has against what the transactions take; gas is an estimate at the current price."""
    debit, network_fee = quote.checkout.debit, quote.checkout.gas * wallet.gas_price
    balance = wallet.native_balance if token.is_native else wallet.token_balance
    native_debit = debit if token.is_native else 0
    facts: dict[str, Any] = {
        "hasEnoughBalance": balance >= debit,
        "hasEnoughGas": wallet.native_balance >= native_debit + network_fee,
        "balance": format_amount(balance, token.decimals),
        "nativeBalance": format_amount(wallet.native_balance, 18),
        "estimatedNetworkFee": format_amount(network_fee, 18),
    }
    if not token.is_native:
        facts["hasEnoughAllowance"] = wallet.allowance >= debit
        facts["allowance"] = format_amount(wallet.allowance, token.decimals)
    return facts


def _payment_options(
    link: Link, request: Request, token: Token, wallet: WalletReading
) -> dict[str, dict[str, PaymentOption]]:
    needed = amount_with_fee(remaining(request), link)
    balance = wallet.native_balance if token.is_native else wallet.token_balance
    chain = network(request.network)
    assert chain is not None, "a stored request always has a catalogued network"
    option = PaymentOption(
        balance=format_amount(balance, token.decimals),
        hasEnoughBalance=balance >= needed,
        neededAmount=format_amount(needed, token.decimals),
    )
    return {chain.label: {token.symbol: option}}


def _destination(request: Request, token: Token) -> DestinationAnswer:
    return DestinationAnswer(
        destinationId=destination_id(Destination(request.payee, token.chain_id, token.address)),
        payeeAddress=interop_address(request.payee, token.chain_id),
        tokenAddress=token.address,
        walletAddress=request.payee,
        network=request.network,
    )


def _transaction(transaction: Transaction, value_form: ValueForm) -> TransactionAnswer:
    if value_form == "bignumber":
        digits = f"{transaction.value:x}"
        padded = digits.rjust(len(digits) + len(digits) % 2, "0")
        value: int | str | dict[str, str] = {"type": "BigNumber", "hex": f"0x{padded}"}
    else:
        value = hex(transaction.value) if transaction.value else 0
    return TransactionAnswer(data=transaction.data, to=transaction.to, value=value)
