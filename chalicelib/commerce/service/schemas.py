"""Models of commerce payments. Amounts are whole numbers of base units, as text; times are Unix seconds."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chalicelib.commerce.service.creation import Draft
from chalicelib.commerce.service.rules import Asked
from chalicelib.platform.http.client_choice import ClientChoice
from chalicelib.platform.http.fields import WHOLE, CurrencyId, EvmAddress, EvmRecipient, ShortText
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

MOST_SECONDS = 10_000_000_000
"""In the year 2286: a date in milliseconds is a mistake."""
BaseAmount = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,36}$")]
Second = Annotated[int, Field(strict=True, gt=0, le=MOST_SECONDS), WHOLE]
Bps = Annotated[int, Field(strict=True, ge=0, le=10_000), WHOLE]
Signature = Annotated[str, StringConstraints(pattern=r"^(0x)?([0-9a-fA-F]{2}){64,4096}$")]
MethodName = Literal["preApproval", "erc3009", "permit2"]
_UNITS = "in base units of the token, a whole number: 100000000 is 100 USDC"
_FEE = "The fee of what is captured, in 1/10000 of it; the merchant gets the rest"


class CreateCommercePayment(ClientChoice):
    """A payment into the escrow. Settings of the client ID come before the fields that they are about."""

    merchantId: ShortText = Field(description="Your own name for the merchant")
    merchantAddress: EvmRecipient = Field(description="Who gets what is captured")
    buyerAddress: EvmRecipient | None = Field(None, description="The only wallet that may pay; null for any")
    amount: BaseAmount = Field(description=f"What is paid, {_UNITS}")
    paymentCurrency: CurrencyId = Field(description="An ERC-20 token on base or sepolia, such as USDC-base")
    maxAmount: BaseAmount | None = Field(
        None, description="The most that the payer allows to be taken, from `amount` on; null for the amount"
    )
    preApprovalExpiry: Second | None = Field(None, description="Until when the tokens can be put into the escrow")
    authorizationExpiry: Second | None = Field(None, description="Until when they can be captured")
    refundExpiry: Second | None = Field(None, description="Until when a capture can be refunded")
    minFeeBps: Bps | None = Field(None, description="The least fee of a capture, in 1/10000; null for 0")
    maxFeeBps: Bps | None = Field(None, description="The highest fee of a capture, in 1/10000; null for 10000")
    feeReceiver: EvmRecipient | None = Field(None, description="Who gets fees; null for whom the capture names")

    def draft(self) -> Draft:
        return self.plain(
            Draft,
            amount=int(self.amount),
            currency=self.paymentCurrency,
            max_amount=int(self.maxAmount or self.amount),
            min_fee_bps=self.minFeeBps or 0,
            max_fee_bps=10_000 if self.maxFeeBps is None else self.maxFeeBps,
        )


class _Fee(Input):
    feeBps: Bps | None = Field(None, description=_FEE)
    feeReceiver: EvmRecipient | None = Field(None, description="Needed with a fee, unless the payment has one")


class AuthorizeCommercePayment(Input):
    """How the payer's tokens are taken. Without a body: by what the payer has pre-approved."""

    payer: EvmAddress | None = Field(None, description="The wallet that pays, if any may")
    method: MethodName | None = Field(None, description="What the payer did: preApproval, or signed one of the others")
    signature: Signature | None = Field(None, description="Of the typed data, with erc3009 and permit2")
    amount: BaseAmount | None = Field(None, description=f"At most maxAmount, {_UNITS}; null for the amount")

    @model_validator(mode="after")
    def _is_signed(self) -> Self:
        is_signed = self.method in ("erc3009", "permit2")
        if is_signed and self.signature is None:
            raise rule("is needed with erc3009 and permit2", "signature")
        if not is_signed and self.signature is not None:
            raise rule("must be erc3009 or permit2 with a signature", "method")
        return self

    def as_asked(self) -> Asked:
        amount = int(self.amount) if self.amount else None
        return Asked(amount, self.payer, self.method or "preApproval", self.signature)


class ChargeCommercePayment(AuthorizeCommercePayment, _Fee):
    """How the payer's tokens are taken, and the fee."""

    def as_asked(self) -> Asked:
        return replace(super().as_asked(), fee_bps=self.feeBps, fee_receiver=self.feeReceiver)


class CaptureCommercePayment(_Fee):
    captureAmount: BaseAmount = Field(description=f"How much of what is held, {_UNITS}")

    def as_asked(self) -> Asked:
        return Asked(int(self.captureAmount), fee_bps=self.feeBps, fee_receiver=self.feeReceiver)


class VoidCommercePayment(Input):
    reason: ShortText | None = Field(None, description="Why, for your own records")

    def as_asked(self) -> Asked:
        return Asked(reason=self.reason)


class RefundCommercePayment(Input):
    refundAmount: BaseAmount = Field(description=f"How much of what was captured, {_UNITS}")

    def as_asked(self) -> Asked:
        return Asked(int(self.refundAmount))


Body = (AuthorizeCommercePayment | CaptureCommercePayment | VoidCommercePayment | RefundCommercePayment | None)
"""What an operation is asked for by; None: as an empty one."""


class EscrowTransaction(Output):
    to: str = Field(description="The contract")
    data: str = Field(description="The calldata")
    value: Literal["0"] = Field(description="Always 0")


class CommerceCalldata(Output):
    """A transaction to be sent by `from` of it: the operator, or the payer of a reclaim."""

    requestId: str
    calldata: str | None = Field(description="The last of `transactions`; null while the payer is not known")
    to: str | None = Field(description="The contract that it calls")
    value: Literal["0"] = Field(description="Always 0")
    operator: str = Field(description="Who may authorize, capture, void and refund")
    sender: str | None = Field(description="Who has to send it; null while the payer is not known")
    transactions: list[EscrowTransaction] = Field(description="All that is sent, in this order")


class TypedDataToSign(Output):
    typedData: dict[str, Any] = Field(description="By EIP-712: domain, types, primaryType and message")


class Permit2ToSign(TypedDataToSign):
    approval: EscrowTransaction = Field(description="To be sent before, unless Permit2 may take the token already")


class PayerSignatures(Output):
    """What the payer can sign in place of sending transactions; null where the token does not allow it."""

    erc3009: TypedDataToSign | None
    permit2: Permit2ToSign | None


class PaymentInfoAnswer(Output):
    """The terms, as the escrow's contract takes them."""

    operator: str = Field(description="Who may authorize, capture, void and refund")
    payer: str | None = Field(description="Who pays; null for any wallet")
    receiver: str = Field(description="The merchant's wallet")
    token: str = Field(description="The token's contract")
    maxAmount: str = Field(description="In base units")
    preApprovalExpiry: str = Field(description="Unix seconds")
    authorizationExpiry: str = Field(description="Unix seconds")
    refundExpiry: str = Field(description="Unix seconds")
    minFeeBps: int = Field(description="In 1/10000")
    maxFeeBps: int = Field(description="In 1/10000")
    feeReceiver: str = Field(description="The zero address if the operator names one with each capture")
    salt: str = Field(description="A number of 256 bits, as text")


class CommerceCreated(CommerceCalldata):
    """A new commerce payment, with what its payer sends or signs."""

    signatures: PayerSignatures
    paymentInfo: PaymentInfoAnswer
    commercePaymentHash: str | None = Field(description="The escrow's name of it; null while the payer is not known")
    securePaymentUrl: str = Field(description="The payment page for it")
    token: str = Field(description="Of the link, for /v2/secure-payments/{token}")
    preApprovalExpiry: str = Field(description="Until when it can be authorized, in Unix seconds")
    authorizationExpiry: str = Field(description="Until when it can be captured, in Unix seconds")
    refundExpiry: str = Field(description="Until when it can be refunded, in Unix seconds")


class _Executed(Output):
    requestId: str
    transactionHash: str | None = Field(
        description="The service's transaction; null until it is sent. A higher fee makes it another one"
    )


class CommerceAuthorizing(_Executed):
    status: Literal["AUTHORIZING"]
    amount: str = Field(description="In base units")


class CommerceCharging(_Executed):
    status: Literal["CAPTURING"]
    amount: str = Field(description="In base units")


class CommerceCapturing(_Executed):
    status: Literal["CAPTURING"]
    captureAmount: str = Field(description="In base units")


class CommerceVoiding(_Executed):
    status: Literal["VOIDING"]
    voidedAmount: str = Field(description="In base units")


class CommerceRefunding(_Executed):
    status: Literal["REFUNDING"]
    refundAmount: str = Field(description="In base units")


EventType = Literal["AUTHORIZED", "CAPTURED", "VOIDED", "REFUNDED", "EXPIRED", "RECLAIMED", "FAILED"]


class CommerceEvent(Output):
    """An event of the escrow, or that time has passed."""

    type: EventType = Field(description="What happened")
    timestamp: str = Field(description="ISO 8601 in UTC")
    transactionHash: str | None = Field(description="Null for what no transaction did")
    blockNumber: int | None = Field(description="Its block")
    amount: str | None = Field(description="In base units")


CommerceState = Literal[
    "PENDING", "AUTHORIZING", "AUTHORIZED", "CAPTURING", "PAID", "VOIDING", "VOIDED", "REFUNDING", "REFUNDED",
    "PARTIALLY_REFUNDED", "EXPIRED", "RECLAIMED", "FAILED",
]  # fmt: skip


State = Annotated[
    Literal["Authorized", "Captured", "Voided", "Refunded"],
    Field(
        default_factory=unsent,
        description="Where the money is: Voided is also what the payer has reclaimed, Refunded all that was captured; "
        "absent before the escrow took any",
    ),
]


class CommerceStatus(Output):
    """Where the money of a commerce payment is: authorized = captured + voided + reclaimed + capturable."""

    requestId: str
    status: CommerceState = Field(description="PAID: captured, and nothing is held any more")
    state: State
    payer: str | None = Field(description="Who paid or may pay; null for any wallet")
    merchant: str = Field(description="The merchant's wallet")
    merchantId: str = Field(description="As it was created")
    operator: str = Field(description="Who may authorize, capture, void and refund")
    isServiceOperator: bool = Field(
        description="Whether that is the service's own account, which executes operations; else they are sent by the "
        "operator as `/calldata` has them"
    )
    token: str = Field(description="The token's contract")
    paymentCurrency: str = Field(description="The token's id")
    network: str = Field(description="Where the escrow is")
    amount: str = Field(description="What is to be paid; once it is, what was authorized")
    maxAmount: str = Field(description="The most that may be authorized")
    authorizedAmount: str = Field(description="What was put into the escrow")
    heldAmount: str = Field(description="What the escrow holds")
    capturedAmount: str = Field(description="What was captured, with its fees")
    voidedAmount: str = Field(description="What the operator gave back uncaptured")
    reclaimedAmount: str = Field(description="What the payer took back")
    refundedAmount: str = Field(description="What was given back of the captured amount")
    feeAmount: str = Field(description="The fees of captures")
    commercePaymentHash: str | None = Field(description="The escrow's name of it; null while the payer is not known")
    preApprovalExpiry: str = Field(description="Until when it can be authorized, in Unix seconds")
    authorizationExpiry: str = Field(description="Until when it can be captured, in Unix seconds")
    refundExpiry: str = Field(description="Until when it can be refunded, in Unix seconds")
    canCapture: bool = Field(description="Whether something can be captured now")
    canVoid: bool = Field(description="Whether something can be voided now")
    canRefund: bool = Field(description="Whether something can be refunded now")
    failureReason: str | None = Field(description="Why the last operation went back")
    createdAt: str = Field(description="ISO 8601 in UTC")
    updatedAt: str = Field(description="ISO 8601 in UTC")
    events: list[CommerceEvent] = Field(description="The last 100, the oldest first")
