"""Models of the secure payments resource."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from chalicelib.api.schemas.common import Input, Output, rule
from chalicelib.core.addresses import evm_address
from chalicelib.core.errors import BadRequest
from chalicelib.core.link_creation import Draft, Item

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=255)]
_UNSAFE_IN_URL = re.compile(r"[<>\"'`\s\x00-\x1f\x7f]")
_UNSAFE_IN_LABEL = re.compile(r"[<>&\"'`]")
_SAFE_URL = re.compile(r"https?://[^/?#]", re.IGNORECASE)



class RequestItem(Input):
    """Either `destinationId`, or `payee` with `invoiceCurrency` and `paymentCurrency`."""

    amount: str = Field(description="Human-readable decimal amount, greater than 0")
    destinationId: str | None = Field(None, description="ERC-7828 id: {interopAddress}:{tokenAddress}")
    payee: str | None = None
    invoiceCurrency: str | None = None
    paymentCurrency: str | None = None


class Redirect(Input):
    """Where the hosted page's button leads after success."""

    redirectUrl: str | None = None
    redirectLabel: ShortText | None = None

    @field_validator("redirectUrl")
    @classmethod
    def _safe_url(cls, value: str | None) -> str | None:
        if value is not None and (not _SAFE_URL.match(value) or _UNSAFE_IN_URL.search(value)):
            raise rule("redirectUrl must be a safe http(s) URL with no script/HTML payload")
        return value

    @field_validator("redirectLabel")
    @classmethod
    def _safe_label(cls, value: str | None) -> str | None:
        if value is not None and _UNSAFE_IN_LABEL.search(value):
            raise rule("redirectLabel must not contain <, >, &, \", ' or a backtick")
        return value

    @model_validator(mode="after")
    def _label_needs_url(self) -> Self:
        if self.redirectLabel is not None and self.redirectUrl is None:
            raise rule("redirectLabel cannot be provided without redirectUrl")
        return self


class CreateSecurePayment(Redirect):
    requests: Annotated[list[RequestItem], Field(min_length=1, max_length=200)]
    feePercentage: str | None = Field(None, description="Decimal from 0 to 100; the fee is paid on top")
    feeAddress: str | None = Field(None, description="Required when feePercentage is set")
    reference: ShortText | None = None
    payerIdentifier: ShortText | None = None

    def draft(self) -> Draft:
        """The body as plain values."""
        return Draft(
            items=tuple(
                Item(i.amount, i.destinationId, i.payee, i.invoiceCurrency, i.paymentCurrency)
                for i in self.requests
            ),
            fee_percentage=self.feePercentage,
            fee_address=self.feeAddress,
            reference=self.reference,
            payer_identifier=self.payerIdentifier,
            redirect_url=self.redirectUrl,
            redirect_label=self.redirectLabel,
        )


class WalletQuery(Input):
    wallet: str | None = Field(None, description="The payer's wallet")

    @field_validator("wallet")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        try:
            return evm_address(value) if value is not None else None
        except BadRequest:
            raise rule("wallet: Invalid Ethereum address") from None


class PayQuery(WalletQuery):
    chain: Literal["BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB"] | None = None
    token: Literal["USDC", "USDT"] | None = None
    isSafe: Literal["true", "false"] | None = None
    eoaWallet: str | None = None

    @model_validator(mode="after")
    def _combinations(self) -> Self:
        if (self.chain is None) != (self.token is None):
            raise rule("chain and token must be given together")
        if self.isSafe == "true" and self.eoaWallet is not None:
            raise rule("isSafe and eoaWallet cannot be given together")
        if self.isSafe == "true" and self.wallet is None:
            raise rule("isSafe needs wallet: the address of the multisig")
        return self


class SecurePaymentCreated(Output):
    requestIds: list[str]
    securePaymentUrl: str
    token: str
    feePlan: None = Field(None, description="Fee plans apply to no payment yet")


class DestinationAnswer(Output):
    destinationId: str
    payeeAddress: str
    tokenAddress: str
    walletAddress: str
    network: str


class PaymentOption(Output):
    """Human-readable amounts of one token in the payer's wallet."""

    balance: str
    hasEnoughBalance: bool
    neededAmount: str


class SecurePaymentAnswer(Output):
    """A link as a payer sees it; never calldata. Amounts are human-readable."""

    paymentType: Literal["single"]
    payee: str
    network: str
    amount: str
    paymentCurrency: str
    isNativeCurrency: bool
    status: str
    destination: DestinationAnswer
    reference: str | None
    requestIds: list[str]
    redirectUrl: str | None
    redirectLabel: str | None
    paidAmount: str
    remainingAmount: str
    createdAt: str
    expiresAt: str
    branding: None
    feePlan: None
    paymentOptions: dict[str, dict[str, PaymentOption]] | None = None


class TransactionAnswer(Output):
    """What to sign. `value` is 0 or a hex string in base units of the native coin; by setting, an ethers BigNumber."""

    data: str
    to: str
    value: int | str | dict[str, str]


class FeeAnswer(Output):
    percentage: str
    address: str


class PayMetadata(Output):
    """How to use the transactions. What depends on the wallet is absent when none was given."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None = None
    approvalTransactionsCount: int
    paymentTransactionIndex: int
    routeType: Literal["samechain"]
    sourceAmount: str
    requiredAmount: str
    platformFee: FeeAnswer | None = None
    hasEnoughBalance: bool | None = None
    hasEnoughGas: bool | None = None
    hasEnoughAllowance: bool | None = None
    balance: str | None = None
    allowance: str | None = None
    nativeBalance: str | None = None
    estimatedNetworkFee: str | None = None


class PayAnswer(Output):
    paymentType: Literal["single"]
    transactions: list[TransactionAnswer]
    feeBundle: None
    metadata: PayMetadata


