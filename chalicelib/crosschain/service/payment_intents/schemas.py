"""Models of payment intents: what a payer signs, and the signatures."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from chalicelib.chains.calldata.tokens import erc2612, permit2
from chalicelib.crosschain.service.payment_intents.flows import Offer, SentSignature
from chalicelib.crosschain.service.payment_intents.rules import RequestExecuted
from chalicelib.platform.http.errors import details_of
from chalicelib.platform.http.schemas import Input, Output

Signature = Annotated[str, StringConstraints(pattern=r"^(0x)?([0-9a-fA-F]{2}){64,4096}$")]
Number = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,78}$")]


class ApprovalCalldata(Output):
    to: str = Field(description="The token")
    data: str = Field(description="The approval")
    value: str = Field(description="Always 0x0")


class PaymentIntentMetadata(Output):
    supportsEIP2612: bool = Field(description="Whether the approval can be signed: approvalPermitPayload")


class PaymentIntentAnswer(Output):
    """A payment from another chain to be signed. The service takes the tokens by the signature, and brings them."""

    paymentIntentId: str = Field(description="For POST /v2/request/payment-intents/{paymentIntentId}")
    paymentIntent: str = Field(description="Typed data to sign, as JSON: `{domain, types, values}`")
    approvalPermitPayload: str | None = Field(
        description="Typed data of an approval to sign, too, as JSON; null if none is needed or the token has none"
    )
    approvalCalldata: ApprovalCalldata | None = Field(
        description="An approval to send first; null if none is needed or it can be signed"
    )
    metadata: PaymentIntentMetadata = Field(description="What the token can do")


class SignedPayload(Input):
    signature: Signature = Field(description="Of the typed data, by the wallet: 65 bytes, 64 in the compact form")
    nonce: Number = Field(description="The nonce in `values`, as text")
    deadline: Number = Field(description="The deadline in `values`, as text")

    def as_sent_signature(self) -> SentSignature:
        return SentSignature(self.signature, self.nonce, self.deadline)


class SignPaymentIntent(Input):
    signedPaymentIntent: SignedPayload = Field(description="The signature of `paymentIntent`")
    signedApprovalPermit: SignedPayload | None = Field(None, description="If approvalPermitPayload was signed")


class PaymentIntentSent(Output):
    message: Literal["Payment intent sent successfully"]
    paymentIntentId: str


class PaymentIntentWithdrawn(Output):
    paymentIntentId: str
    status: Literal["failed"] = Field(description="As `execution` of the request has it: nothing was taken")


@details_of.register
def _(error: RequestExecuted) -> dict[str, Any]:
    return {"execution": {"paymentIntentId": error.execution.intent_id, "status": error.execution.status.value}}


def payment_intent_answer(offered: Offer) -> PaymentIntentAnswer:
    intent, approval = offered.intent, offered.approval
    permit = intent.token_permit
    return PaymentIntentAnswer(
        paymentIntentId=intent.intent_id,
        paymentIntent=json.dumps(permit2.typed_data(intent.permit)),
        approvalPermitPayload=json.dumps(erc2612.typed_data(permit)) if permit is not None else None,
        approvalCalldata=ApprovalCalldata(to=approval.to, data=approval.data, value="0x0") if approval else None,
        metadata=PaymentIntentMetadata(supportsEIP2612=permit is not None),
    )
