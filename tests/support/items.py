"""Items of POST /v2/secure-payments in all their forms, and a check of refusals."""

from typing import Any

from chalicelib.chains.catalogue.interop import Destination, destination_id
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Reply, item

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
ETH_SEPOLIA_HASH = "0xbb3546497a53cd710beb11b84c5240327f145bcb"
DESTINATION = destination_id(Destination(PAYEE, 11155111, FUSDC))
ZERO = "0x" + "0" * 40
MISCASED = PAYEE.replace("EbEF", "EBEF")
TRON_PAYEE = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
PAYOUTS, BATCH = "/v2/secure-payments/payouts", "/v2/secure-payments/batch-payouts"


def by_destination(id: str = DESTINATION, amount: str = "12.50") -> dict[str, Any]:
    return {"destinationId": id, "amount": amount}


def native(**changes: Any) -> dict[str, Any]:
    currency = "ETH-sepolia-sepolia"
    return item(amount="0.5", invoiceCurrency=currency, paymentCurrency=currency, **changes)


def tron(**changes: Any) -> dict[str, Any]:
    return item(**{"payee": TRON_PAYEE, "invoiceCurrency": "USDT-tron", "paymentCurrency": "USDT-tron", **changes})


def payout(**changes: Any) -> dict[str, Any]:
    """Returns the body of a payout: 10 fUSDC on sepolia; `changes` replace fields, None removes a field."""
    fields = {
        "recipient": PAYEE,
        "creatorWalletAddress": WALLET,
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
        "amount": "10",
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def refused(reply: Reply, *hints: str) -> str:
    """Returns the message of a 400, which has to be one sentence that contains the hints."""
    assert reply.status == 400, reply.json
    message = reply.message
    assert isinstance(message, str)
    for hint in hints:
        assert hint in message, message
    return message
