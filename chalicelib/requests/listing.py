"""The lists of an account that payments and requests are in, by what they are found by."""

from hashlib import sha256
from typing import TYPE_CHECKING

from chalicelib.base.lists import lists

if TYPE_CHECKING:
    from chalicelib.requests.payments.records import Payment
    from chalicelib.requests.records import Request

PAYMENT, REQUEST = "PAYMENT", "REQUEST"
"""The kinds of these lists."""


def wallet(address: str) -> str:
    """An address as lists name it: EVM addresses in lower case."""
    return address.lower() if address.startswith("0x") else address


def transaction(tx_hash: str) -> str:
    """A transaction's hash as lists name it: in lower case and without 0x, which those of Tron do not have."""
    return tx_hash.lower().removeprefix("0x")


def symbol(currency: str) -> str:
    """The symbol of a currency as lists name it."""
    from chalicelib.catalogue.tokens import token_with_id  # most workers write no payment

    token = token_with_id(currency)
    return token.symbol.upper() if token is not None else currency.upper()


def of_payment(payment: "Payment") -> dict[str, str]:
    return lists(
        payment.account_id,
        PAYMENT,
        {
            "by_client": payment.client_id,
            "by_payer": wallet(payment.payer) if payment.payer else None,
            "by_payee": wallet(payment.payee),
            "by_reference": payment.reference,
            "by_tx": transaction(payment.tx_hash),
            "by_source_tx": transaction(payment.origin.tx_hash) if payment.origin and payment.origin.tx_hash else None,
            "by_request": payment.request_id,
            "by_network": payment.network,
            "by_type": payment.type,
            "by_currency": payment.currency,
            "by_symbol": symbol(payment.currency),
            "by_invoice": payment.invoiced_in,
            "by_invoice_symbol": symbol(payment.invoiced_in),
        },
    )


def of_request(request: "Request") -> dict[str, str]:
    return lists(
        request.account_id,
        REQUEST,
        {
            "by_client": request.client_id,
            "by_status": request.shown_status,
            "by_payer": wallet(request.payer) if request.payer else None,
            "by_payee": wallet(request.payee) if request.payee else None,
            "by_reference": request.reference,
        },
    )


def payment_id(payment: "Payment") -> str:
    """26 characters of Crockford base32, which stay the same if a fork moves the payment to another block."""
    from ulid import ULID

    name = "#".join((payment.request_id, payment.network, payment.tx_hash, payment.event_key))
    return str(ULID(sha256(name.encode()).digest()[:16]))
