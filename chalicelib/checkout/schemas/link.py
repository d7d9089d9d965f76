"""Links as answers: base units become human-readable amounts here."""

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.api.schemas.branding import LinkBranding
from chalicelib.api.schemas.checkout import (
    BatchPaymentAnswer,
    ChainAnswer,
    CoinAnswer,
    DestinationAnswer,
    PaymentOption,
    SecurePaymentAnswer,
    TransactionAnswer,
)
from chalicelib.api.schemas.fee_plans import fee_plan_answer
from chalicelib.calldata.transaction import Transaction
from chalicelib.core.destinations import Destination, destination_id, interop_address
from chalicelib.core.events import iso
from chalicelib.core.fees import plan_of
from chalicelib.core.links import PaymentType, Request, SecurePayment, remaining
from chalicelib.core.money import BaseUnits, format_amount
from chalicelib.core.networks import network
from chalicelib.core.tokens import Token
from chalicelib.flows.checkout import Description
from chalicelib.flows.links import currency_of
from chalicelib.net.evm import WalletReading

ValueForm = Literal["plain", "bignumber"]


def secure_payment_answer(
    description: Description, confirmations: Mapping[str, int]
) -> SecurePaymentAnswer | BatchPaymentAnswer:
    """The metadata of a link; with a wallet's balances, `paymentOptions` for its own network.

    `confirmations` are those that the deployment sets otherwise than the network's.
    """
    payment = description.payment
    facts = {**_link_facts(payment), **_payment_options(description)}
    facts["chain"] = chain_answer(payment.requests[0].network, confirmations)
    facts["branding"] = LinkBranding.of(description.branding)
    if payment.link.payment_type is PaymentType.SINGLE:
        return SecurePaymentAnswer(paymentType="single", **_request_facts(payment.requests[0]), **facts)
    each = [_request_facts(request) for request in payment.requests]
    return BatchPaymentAnswer(
        paymentType="batch",
        payees=[one["payee"] for one in each],
        amounts=[one["amount"] for one in each],
        paymentCurrencies=[one["paymentCurrency"] for one in each],
        isNativeCurrency=[one["isNativeCurrency"] for one in each],
        decimals=[one["decimals"] for one in each],
        paymentReferences=[one["paymentReference"] for one in each],
        destinations=[one["destination"] for one in each],
        paidAmounts=[one["paidAmount"] for one in each],
        remainingAmounts=[one["remainingAmount"] for one in each],
        **facts,
    )


def chain_answer(name: str, confirmations: Mapping[str, int]) -> ChainAnswer:
    """The network of that name, as it is catalogued and this deployment has it."""
    chain = network(name)
    assert chain is not None, "a stored request always has a catalogued network"
    return ChainAnswer(
        chainId=chain.chain_id,
        name=chain.title,
        label=chain.label,
        confirmations=confirmations.get(chain.name, chain.confirmations),
        explorerUrl=chain.explorer_url,
        publicRpcUrls=list(chain.public_rpc_urls),
        nativeCurrency=CoinAnswer(name=chain.coin.name, symbol=chain.coin.symbol, decimals=chain.coin.decimals),
    )


def destination_answer(request: Request) -> DestinationAnswer:
    """Where a request is paid to."""
    token = currency_of(request)
    return DestinationAnswer(
        destinationId=destination_id(Destination(request.payee, token.chain_id, token.address)),
        payeeAddress=interop_address(request.payee, token.chain_id),
        tokenAddress=token.address,
        walletAddress=request.payee,
        network=request.network,
    )


def transaction_answer(transaction: Transaction, value_form: ValueForm) -> TransactionAnswer:
    """A transaction to sign; its value in the form that the deployment chose."""
    if value_form == "bignumber":
        digits = f"{transaction.value:x}"
        padded = digits.rjust(len(digits) + len(digits) % 2, "0")
        value: int | str | dict[str, str] = {"type": "BigNumber", "hex": f"0x{padded}"}
    else:
        value = hex(transaction.value) if transaction.value else 0
    return TransactionAnswer(data=transaction.data, to=transaction.to, value=value)


def held_of(token: Token, holdings: WalletReading) -> BaseUnits:
    """What a wallet holds of a token."""
    return holdings.native_balance if token.is_native else holdings.tokens[token.address].balance


def _link_facts(payment: SecurePayment) -> dict[str, Any]:
    link = payment.link
    return {
        "status": link.status.value,
        "network": payment.requests[0].network,
        "reference": link.reference,
        "requestIds": [request.request_id for request in payment.requests],
        "redirectUrl": link.redirect_url,
        "redirectLabel": link.redirect_label,
        "createdAt": iso(link.created_at),
        "expiresAt": iso(link.expires_at),
        "feePercentage": link.fee_percentage,
        "feeAddress": link.fee_address,
        "feePlan": fee_plan_answer(plan_of(payment)),
    }


def _request_facts(request: Request) -> dict[str, Any]:
    token = currency_of(request)
    return {
        "payee": request.payee,
        "amount": format_amount(request.amount, token.decimals),
        "paymentCurrency": token.id,
        "isNativeCurrency": token.is_native,
        "decimals": token.decimals,
        "paymentReference": request.payment_reference,
        "destination": destination_answer(request),
        "paidAmount": format_amount(request.paid, token.decimals),
        "remainingAmount": format_amount(remaining(request), token.decimals),
    }


def _payment_options(description: Description) -> dict[str, Any]:
    """By chain label and token symbol; absent without a wallet."""
    holdings, checkout = description.holdings, description.checkout
    if holdings is None or checkout is None:
        return {}
    chain = network(description.payment.requests[0].network)
    assert chain is not None, "a stored request always has a catalogued network"
    options = {}
    for token, debit in checkout.debits.items():
        balance = held_of(token, holdings)
        options[token.symbol] = PaymentOption(
            balance=format_amount(balance, token.decimals),
            hasEnoughBalance=balance >= debit,
            neededAmount=format_amount(debit, token.decimals),
        )
    return {"paymentOptions": {chain.label: options}}
