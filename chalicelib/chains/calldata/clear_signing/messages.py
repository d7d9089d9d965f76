"""What is shown of each type of typed data that is given to sign, and the contracts that verify it.

A payee destination has no verifying contract, and is shown by no descriptor. The destination of a payment intent is
what its maker says: the contract holds the spender to the amounts and the expiry alone.
"""

from collections.abc import Mapping

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata import recurring as recurring_calldata
from chalicelib.chains.calldata.clear_signing.fields import (
    Display,
    address,
    allowance,
    amount,
    chain,
    hidden_fields,
    moment,
    raw,
    seconds,
    token,
)
from chalicelib.chains.calldata.escrow import signatures as escrow_signatures
from chalicelib.chains.calldata.tokens import erc2612, erc3009, permit2
from chalicelib.chains.catalogue.contracts import PERMIT2, RECURRING_PROXY

Members = tuple[tuple[str, str], ...]
_CONTRACT = "@.to"


@frozen
class Message:
    """A type of typed data: the contract that verifies it, or None for tokens, its domain as far as that is the same
    for all, its struct and those that it names, and what is shown."""

    contract: str | None
    domain: Mapping[str, str]
    types: Mapping[str, Members]
    display: Display


MESSAGES: Mapping[str, Message] = {
    "permit": Message(
        None,
        {},
        erc2612.TYPES,
        Display(
            "Approve",
            "Let {spender} take {value}",
            (
                address("spender", "Spender"),
                allowance("value", "Amount", _CONTRACT),
                address("owner", "From"),
                moment("deadline", "Expiry"),
                *hidden_fields("nonce"),
            ),
        ),
    ),
    "receive-with-authorization": Message(
        None,
        {},
        erc3009.TYPES,
        Display(
            "Allow a payment",
            "Let {to} take {value}",
            (
                amount("value", "At most", _CONTRACT),
                address("to", "Taken by"),
                address("from", "From"),
                moment("validBefore", "Expiry"),
                raw("nonce", "Payment"),
                *hidden_fields("validAfter"),
            ),
        ),
    ),
    "Permit2-escrow": Message(
        PERMIT2,
        {"name": PERMIT2},
        escrow_signatures.PERMIT2_TYPES,
        Display(
            "Hold a payment",
            "Let {spender} hold {permitted.amount}",
            (
                amount("permitted.amount", "Highest amount", "permitted.token"),
                token("permitted.token"),
                address("spender", "Spender"),
                moment("deadline", "Expiry"),
                raw("nonce", "Payment"),
            ),
        ),
    ),
    "Permit2-payment-intent": Message(
        PERMIT2,
        {"name": PERMIT2},
        permit2.TYPES,
        Display(
            "Pay on another chain",
            "Let {spender} take {permitted.[0].amount}",
            (
                amount("permitted.[0].amount", "Amount", "permitted.[0].token"),
                amount("permitted.[2].amount", "Fee", "permitted.[2].token"),
                address("spender", "Spender"),
                moment("deadline", "Expiry"),
                chain("witness.destination.network_id", "Said to pay on"),
                address("witness.destination.account", "Said to pay"),
                raw("witness.destination.payment_token", "Said to pay in"),
                address("witness.source.account", "From"),
                *hidden_fields("permitted.[0].token", "permitted.[1]", "permitted.[2].token", "nonce"),
                *hidden_fields(
                    "witness.amount", "witness.payment_type", "witness.processing_date", "witness.expires_at"
                ),
                *hidden_fields("witness.source.network_id", "witness.source.payment_token"),
                *hidden_fields(
                    *(f"witness.operator_data.{each}" for each in ("operatorId", "operator", "treasury_account"))
                ),
                *hidden_fields("witness.operator_data.fee"),
            ),
        ),
    ),
    RECURRING_PROXY: Message(
        RECURRING_PROXY,
        {"name": RECURRING_PROXY, "version": recurring_calldata.DOMAIN_VERSION},
        recurring_calldata.TYPES,
        Display(
            "Pay repeatedly",
            "Pay {amount} to {recipient} {totalPayments} times",
            (
                amount("amount", "Each payment", "token"),
                raw("totalPayments", "Payments"),
                address("recipient", "To"),
                amount("feeAmount", "Fee of each", "token"),
                address("feeAddress", "Fee to"),
                amount("relayerFee", "To the sender", "token"),
                moment("firstPayment", "First payment"),
                seconds("periodSeconds", "Period"),
                moment("deadline", "Expiry"),
                address("subscriber", "From"),
                token("token"),
                *hidden_fields("nonce", "strictOrder"),
            ),
        ),
    ),
}
"""By the name of the file."""
