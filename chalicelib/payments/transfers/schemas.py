"""Models of the transfers of a link or a request."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from chalicelib.payments.requests.payments.schemas import StatedAmount
from chalicelib.payments.transactions import ExplanationAnswer, TransactionAnswer
from chalicelib.payments.transfers.rules import Classification, RecoveryAction, TransfersOfChildren
from chalicelib.platform.http.errors import details_of
from chalicelib.platform.http.fields import Amount, Recipient
from chalicelib.platform.http.schemas import Input, Output, address_text


class RefundAnswer(Output):
    """What the payee signs to return an amount that was not owed, and what of it was sent."""

    payer: str = Field(description="Who receives it")
    amount: str = Field(description="What was not owed")
    currency: str = Field(description="Its currency id")
    status: Literal["offered", "sent"] = Field(description="sent once all of it has arrived")
    sentAmount: str = Field(description="What the payer has received with the refund's reference; the rest is offered")
    txHash: str | None = Field(description="The last transaction that sent it; null before the first")
    transactions: list[TransactionAnswer] = Field(description="What the payee signs")
    explanation: list[ExplanationAnswer] = Field(description="What they do, decoded from their bytes")


class RefundRequest(Input):
    """What to refund of a request. Without fields all that is left, to who has paid."""

    amount: Amount | None = Field(None, description="In units of the request's token; null for all that is left")
    to: Annotated[Recipient, AfterValidator(address_text)] | None = Field(
        None,
        description="Who receives it: needed if several have paid, or the chain does not show a wallet that has paid; "
        "null for who has paid",
    )


class OrderRefundAnswer(Output):
    """What the payee signs to refund a request. Amounts are in `currency`, the request's token."""

    requestId: str
    paymentReference: str = Field(description="That of the request; the refund has a reference of its own")
    payer: str = Field(description="Who receives it")
    amount: str = Field(description="What the transactions return")
    currency: str = Field(description="Its currency id")
    refundedAmount: str = Field(description="What was returned of the request before")
    remainingAmount: str = Field(description="What can be refunded after this")
    transactions: list[TransactionAnswer] = Field(description="What the payee signs")
    explanation: list[ExplanationAnswer] = Field(description="What they do, decoded from their bytes")


class TransferAnswer(Output):
    """One transfer with a request's reference.

    `amount` and `feeAmount` are in `currency`, the token that was sent, and `baseUnits` in its smallest unit;
    `expectedAmount`, `countedAmount` and `excessAmount` are in `invoiceCurrency`.
    """

    requestId: str
    paymentReference: str
    classification: Classification
    late: bool = Field(description="Whether its block is of a time after the link's expiry; never without a link")
    counted: bool = Field(description="Whether it is part of the request's paid amount")
    network: str
    txHash: str
    logIndex: int
    blockNumber: int
    blockHash: str
    payee: str = Field(description="Who received it")
    currency: str | None = Field(description="null for a token that is not in the catalogue")
    tokenAddress: str | None = Field(description="null for the native coin")
    amount: str | None = Field(description="null for a token that is not in the catalogue")
    statedAmount: StatedAmount
    baseUnits: str
    invoiceCurrency: str = Field(description="The currency id of the request's amount")
    expectedAmount: str = Field(description="The amount of the request, in invoiceCurrency")
    countedAmount: str | None = Field(description="What it counts for, in invoiceCurrency; null if it does not")
    excessAmount: str | None = Field(
        description="What of that was not owed, in invoiceCurrency; null for what does not count at all"
    )
    feeAmount: str | None = Field(description="The fee beside it, to whomever the payer named; null where not known")
    paidAt: str | None = Field(description="The time of its block")
    detectedAt: str
    status: Literal["confirmed", "reversed"]
    payerAddress: str | None = Field(description="Who paid, maybe a contract, as one node says; null where not known")
    recoveryAction: RecoveryAction
    refund: RefundAnswer | None
    refundUnavailable: str | None = Field(description="Why there is no refund where one is due")


Truncated = Annotated[
    bool,
    Field(
        description="Whether there are more than 1,000, some that are too small to be listed, or as many that do not "
        "count as are stored, so that there may have been more"
    ),
]


class TransfersAnswer(Output):
    """The transfers of a link, request by request, each by time."""

    token: str
    transfers: list[TransferAnswer]
    truncated: Truncated


class RequestTransfersAnswer(Output):
    """The transfers of a request by time."""

    requestId: str
    paymentReference: str
    transfers: list[TransferAnswer]
    truncated: Truncated


@details_of.register
def _(error: TransfersOfChildren) -> dict[str, Any]:
    return {"children": list(error.child_tokens)}
