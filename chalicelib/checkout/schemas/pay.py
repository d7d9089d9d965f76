"""Models of the `/pay` query and its responses. Amounts are human-readable."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chalicelib.base.money import Fee
from chalicelib.chains.catalogue.labels import SourceLabel
from chalicelib.checkout.resources.schemas import ResourcesAnswer
from chalicelib.checkout.schemas.crosschain import (
    BundleMetadata,
    CostBreakdown,
    DestinationCall,
    RawStep,
    RouteMetadata,
)
from chalicelib.checkout.schemas.link import EvmWallet, WalletQuery
from chalicelib.commerce.service.terms import CommerceTerms
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.transactions import (
    ExplanationAnswer,
    SafeTransactionAnswer,
    SimulationAnswer,
    TransactionAnswer,
)
from chalicelib.platform.http.fields import WHOLE, EvmAddress, Flag, Percentage, Recipient, form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

StepText = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class SourceFields(Input):
    """The chain and the token that a payer pays with, where they are not those of the payment."""

    chain: SourceLabel | None = Field(
        None, description="With `token`: the chain that is paid from; what is due has to be USDC or USDT on one of them"
    )
    token: Literal["USDC", "USDT"] | None = Field(None, description="With `chain`: the token that is paid with")

    @model_validator(mode="after")
    def _names_a_source(self) -> Self:
        if (self.chain is None) != (self.token is None):
            raise rule("chain and token must be given together")
        return self

    @property
    def source(self) -> SourceToken | None:
        return SourceToken(self.chain, self.token) if self.chain is not None and self.token is not None else None


class SourceQuery(SourceFields, WalletQuery):
    """A wallet is needed to pay from another chain."""


class ReclaimQuery(Input):
    wallet: EvmWallet = Field(description="The wallet that has paid")
    isSafe: Flag | None = Field(None, description="`wallet` is a Safe: the answer has one transaction for it, too")


class PayQuery(SourceQuery):
    isSafe: Flag | None = Field(None, description="`wallet` is a Safe: the answer has one transaction for it, too")
    eoaWallet: EvmWallet | None = Field(None, description="Who funds the payment of a smart account `wallet`")
    simulate: Flag | None = Field(None, description="Also run the transactions on the chain as it is now")
    gasless: Flag | None = Field(
        None, description="A payment to sign instead of transactions: the service makes it, for a fee in the token"
    )

    @model_validator(mode="after")
    def _combinations(self) -> Self:
        others = (self.isSafe == "true", self.simulate == "true", self.eoaWallet is not None, self.chain is not None)
        if self.gasless == "true" and any(others):
            raise rule("is not possible with isSafe, eoaWallet, simulate, nor chain and token", "gasless")
        if self.isSafe == "true" and self.eoaWallet is not None:
            raise rule("isSafe and eoaWallet cannot be given together")
        if self.isSafe == "true" and self.wallet is None:
            raise rule("is needed with isSafe: the address of the multisig", "wallet")
        if self.eoaWallet is not None and self.wallet is None:
            raise rule("is needed with eoaWallet: the address of the smart account", "wallet")
        if self.simulate == "true" and self.wallet is None:
            raise rule("is needed with simulate: the address that would send the transactions", "wallet")
        return self


class StepActionBody(Input):
    toChainId: Annotated[int, Field(strict=True, gt=0, le=2**53), WHOLE] = Field(description="Where the link is paid")
    toAddress: EvmAddress = Field(description="The contract that is called there")


class StepBody(Input):
    """Of `metadata.rawStep`; its other fields are not needed."""

    id: StepText = Field(description="Names the link, the source and the wallets")
    type: StepText = Field(description="As it was given")
    tool: StepText = Field(description="As it was given")
    action: StepActionBody = Field(description="Where the route leads")


class RefreshStep(Input):
    step: StepBody = Field(description="`metadata.rawStep` of the link's `/pay`")


class FeeFields(Input):
    """The platform fee that a payment is to have."""

    feePercentage: Percentage | None = Field(
        None, description="With `feeAddress`: the fee on top of the amount, unless the client ID has one"
    )
    feeAddress: Recipient | None = Field(None, description="With `feePercentage`")

    @model_validator(mode="after")
    def _names_a_fee(self) -> Self:
        if (self.feePercentage is None) != (self.feeAddress is None):
            raise rule("feePercentage and feeAddress must be given together")
        return self

    @property
    def fee(self) -> Fee:
        return Fee(self.feePercentage, self.feeAddress)


class FeeAnswer(Output):
    percentage: str = Field(description="Of the amount, on top of it")
    address: str = Field(description="Who receives it")


class InsufficientToken(Output):
    tokenAddress: str = Field(description="The token of which the wallet has too little")
    tokenSymbol: str = Field(description="Its symbol")
    paymentCurrencyId: str = Field(description="Its currency id")
    required: str = Field(description="What is needed")
    available: str = Field(description="What the wallet has")


class ConversionAnswer(Output):
    """How an amount in an invoice currency is paid in a token. Amounts are without the fee, except `maxToSpend`."""

    requestId: str = Field(description="What is paid")
    way: Annotated[str, form(enum=["on_chain", "quoted"])] = Field(
        description="on_chain: a contract converts when the payment is made; quoted: by the rate that is held"
    )
    rate: str = Field(description="How much of the payment currency one unit of the invoice currency is, rounded")
    rateNumerator: str = Field(description="With `rateDenominator` the exact rate: a whole number above 0")
    rateDenominator: str = Field(description="The same")
    rateSource: str = Field(description="Who gives the rate")
    rateAt: str = Field(description="When it was given, in ISO 8601")
    quoteExpiresAt: int | None = Field(None, description="quoted: until when it is held, in Unix seconds")
    invoiceCurrency: str = Field(description="The currency of the invoice")
    invoiceAmount: str = Field(description="What is paid, in that currency")
    paymentCurrency: str = Field(description="The token that is paid")
    paymentAmount: str = Field(description="What that is at the rate, in the token")
    maxToSpend: str | None = Field(
        None, description="on_chain: the most that amount and fee may cost; the rest stays with the payer"
    )
    maxRateAge: int | None = Field(None, description="on_chain: how old the rate may be then, in seconds")


class BatchCallAnswer(Output):
    to: str = Field(description="The contract that is called")
    data: str = Field(description="The bytes of the call")
    value: str = Field(description="In base units of the native coin, as hex text")


class CallsAnswer(Output):
    """The parameter of `wallet_sendCalls` (EIP-5792) that makes `transactions` at once, or none of them."""

    version: Literal["2.0.0"] = Field(description="Of EIP-5792")
    chainId: str = Field(description="Of the network, as hex text")
    sender: str | None = Field(None, serialization_alias="from", description="`wallet`")
    atomicRequired: Literal[True] = Field(description="Always true: an approval alone pays nothing")
    calls: list[BatchCallAnswer] = Field(description="The transactions, in their order")


class CallMetadata(Output):
    """Facts about the transactions of any response. Fields that depend on the wallet are absent without a wallet."""

    hasEnoughBalance: bool | None = Field(None, description="Whether the wallet has enough of every token")
    hasEnoughGas: bool | None = Field(
        None, description="Whether it has enough of the native coin for the network's fee"
    )
    hasEnoughAllowance: bool | None = Field(None, description="Whether no approval is needed")
    nativeBalance: str | None = Field(None, description="What it has of the native coin")
    estimatedNetworkFee: str | None = Field(None, description="In the native coin")
    approvalFeeLimit: str | None = Field(None, description="On Tron: the most that the approval may cost")
    paymentFeeLimit: str | None = Field(None, description="On Tron: the most that the payment may cost")
    resources: ResourcesAnswer | None = Field(None, description="On Tron, with `wallet`: energy, bandwidth, TRX in sun")
    eoaApprovalRequired: bool | None = Field(None, description="Whether `eoaWallet` has to approve first")
    explanation: list[ExplanationAnswer] = Field(description="What each of `transactions` does, decoded from its bytes")
    eoaExplanation: list[ExplanationAnswer] | None = Field(None, description="The same of `eoaApprovalTransactions`")
    safeExplanation: ExplanationAnswer | None = None
    simulation: SimulationAnswer | None = Field(None, description="With `simulate=true`")
    calls: CallsAnswer | None = Field(
        None,
        description=(
            "`transactions` for wallets that make several calls at once, if there are two or more; for a link claim "
            "them first by `POST /v2/secure-payments/{token}/signing`"
        ),
    )


class StepsMetadata(CallMetadata):
    """Which of `transactions` are approvals, and which are payments."""

    stepsRequired: int = Field(description="How many transactions there are")
    needsApproval: bool = Field(description="Whether one of them is an approval")
    approvalTransactionsCount: int = Field(description="How many are approvals")
    routeType: Literal["samechain", "crosschain"] = Field(
        description="samechain: the payment stays on one network; crosschain: it is made from another one"
    )


class PayMetadata(StepsMetadata, RouteMetadata):
    approvalTransactionIndex: int | None = Field(
        default_factory=unsent, description="Which is the last approval; absent or null if none is needed"
    )
    paymentTransactionIndex: int
    sourceAmount: str = Field(description="What is debited in all, in the token that is paid with")
    requiredAmount: str = Field(description="The same")
    costBreakdown: CostBreakdown | None = Field(None, description="From another chain: what it costs, part by part")
    rawStep: RawStep | None = Field(
        None, description="Of a link, from another chain: what `refresh-step-transaction` takes as `step`"
    )
    platformFee: FeeAnswer | None = Field(None, description="The link's fee")
    balance: str | None = None
    allowance: str | None = None
    commerce: CommerceTerms | None = Field(
        None, description="Of a commerce payment: the money is held, until when, and who may take how much"
    )
    conversion: ConversionAnswer | None = Field(None, description="Absent if the amount is in the token that is paid")


class PayAnswer(Output):
    paymentType: Literal["single"]
    transactions: list[TransactionAnswer]
    eoaApprovalTransactions: list[TransactionAnswer] | None = Field(None, description="What `eoaWallet` signs first")
    safeTransaction: SafeTransactionAnswer | None = None
    feeBundle: dict[str, Any] | None = Field(description="Null at present")
    metadata: PayMetadata


class BatchMetadata(StepsMetadata):
    approvalTransactionIndices: list[int] = Field(description="Which of `transactions` are approvals")
    batchPaymentTransactionIndex: int | None = Field(
        None, description="Which is the first payment; absent if routes alone pay"
    )
    canMakePayment: bool | None = Field(None, description="Whether nothing is missing")
    insufficientTokens: list[InsufficientToken] | None = Field(None, description="What the wallet has too little of")
    conversions: list[ConversionAnswer] | None = Field(None, description="Of the payments that are converted")


class BatchPayAnswer(Output):
    """`transactions` are the approvals and then the payment, in the order they are sent."""

    paymentType: Literal["batch"] = Field(description="batch")
    ERC20ApprovalTransactions: list[TransactionAnswer] = Field(description="The approvals")
    batchPaymentTransaction: TransactionAnswer = Field(description="The payment")
    transactions: list[TransactionAnswer] = Field(description="Approvals and payments, in the order they are sent")
    eoaApprovalTransactions: list[TransactionAnswer] | None = Field(None, description="What `eoaWallet` signs first")
    safeTransaction: SafeTransactionAnswer | None = Field(
        None, description="With `isSafe=true`: all of them as one transaction of the Safe"
    )
    metadata: BatchMetadata = Field(description="What they need and do")


class MulticallChildAnswer(Output):
    """`amount` is the remaining amount, which is paid now."""

    position: int = Field(description="Its place among the children, from 0")
    securePaymentToken: str = Field(description="The payout's link")
    requestId: str = Field(description="Its request")
    payee: str = Field(description="Who is paid")
    amount: str = Field(description="What is left of it, which is paid now")
    paymentCurrency: str = Field(description="Its currency id")
    paymentReference: str = Field(description="Its reference in the calldata")
    paymentCurrencyAddress: str = Field(description="The token's contract")
    sourceTokenAddress: str = Field(description="The contract of the token that it is paid with")
    tokenAddress: str = Field(description="The token's contract")
    network: str = Field(description="Its network")
    destinationCall: DestinationCall | None = Field(None, description="If a route pays it: the call on its network")


class MulticallMetadata(BatchMetadata, BundleMetadata):
    paymentTransactionIndex: int = Field(description="Which is the first payment")
    feeTransactionIndices: list[int] = Field(description="Which of `transactions` only pay fees")
    childCount: int = Field(description="How many payouts there are")
    executableLegCount: int = Field(description="How many are paid now")
    aggregateAllowance: str | None = Field(None, description="The wallet's allowance for the batch contract")
    sourceAmount: str = Field(description="What is debited in all")
    requiredAmount: str = Field(description="The same")


class MulticallPayAnswer(Output):
    """`references` are the payment references in the order of the children.

    `batchPaymentTransaction` is the first payment; there are more in `transactions` where fees go to several addresses.
    It is absent if routes alone pay: `metadata.bridgeTxIndices` says which transactions those are.
    """

    paymentType: Literal["multicall"] = Field(description="multicall")
    executionKind: str = Field(description="How it is paid: evm_same_chain, evm_cross_chain or tron_batch")
    token: str = Field(description="The multicall's link")
    network: str = Field(description="Of the transactions")
    chainId: int = Field(description="Of that network")
    childTokens: list[str] = Field(description="The links of the payouts")
    requestIds: list[str] = Field(description="Their requests")
    children: list[MulticallChildAnswer] = Field(description="What is paid, one by one")
    payees: list[str] = Field(description="Who are paid")
    amounts: list[str] = Field(description="What each is paid")
    references: list[str] = Field(description="The payment references")
    ERC20ApprovalTransactions: list[TransactionAnswer] = Field(description="The approvals")
    batchPaymentTransaction: TransactionAnswer | None = Field(None, description="The first payment")
    transactions: list[TransactionAnswer] = Field(description="Approvals and payments, in the order they are sent")
    eoaApprovalTransactions: list[TransactionAnswer] | None = Field(None, description="What `eoaWallet` signs first")
    safeTransaction: SafeTransactionAnswer | None = Field(
        None, description="With `isSafe=true`: all of them as one transaction of the Safe"
    )
    destinationCalls: list[DestinationCall] = Field(description="Those of the children that routes pay, in their order")
    feeBundle: dict[str, Any] | None = Field(description="Null at present")
    metadata: MulticallMetadata = Field(description="What they need and do")
