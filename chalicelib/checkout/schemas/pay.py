"""Models of the `/pay` query and its responses. Amounts are human-readable."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.checkout.schemas.link import WalletQuery
from chalicelib.checkout.schemas.transactions import (
    ExplanationAnswer,
    SafeTransactionAnswer,
    SimulationAnswer,
    TransactionAnswer,
)
from chalicelib.http.fields import EvmAddress
from chalicelib.http.schemas import Output, rule

Flag = Literal["true", "false"]


class PayQuery(WalletQuery):
    chain: Literal["BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB"] | None = Field(
        None, description="With `token`: what the payer wants to pay with; only the link's own is offered"
    )
    token: Literal["USDC", "USDT"] | None = Field(None, description="With `chain`")
    isSafe: Flag | None = Field(None, description="`wallet` is a Safe: the answer has one transaction for it, too")
    eoaWallet: EvmAddress | None = Field(None, description="Who funds the payment of a smart account `wallet`")
    simulate: Flag | None = Field(None, description="Also run the transactions on the chain as it is now")

    @field_validator("eoaWallet")
    @classmethod
    def _eoa(cls, value: str | None) -> str | None:
        try:
            return evm_address(value) if value is not None else None
        except BadRequest:
            raise rule("eoaWallet: Invalid Ethereum address") from None

    @model_validator(mode="after")
    def _combinations(self) -> Self:
        if (self.chain is None) != (self.token is None):
            raise rule("chain and token must be given together")
        if self.isSafe == "true" and self.eoaWallet is not None:
            raise rule("isSafe and eoaWallet cannot be given together")
        if self.isSafe == "true" and self.wallet is None:
            raise rule("isSafe needs wallet: the address of the multisig")
        if self.eoaWallet is not None and self.wallet is None:
            raise rule("eoaWallet needs wallet: the address of the smart account")
        if self.simulate == "true" and self.wallet is None:
            raise rule("simulate needs wallet: the address that would send the transactions")
        return self


class FeeAnswer(Output):
    percentage: str
    address: str


class InsufficientToken(Output):
    tokenAddress: str
    tokenSymbol: str
    paymentCurrencyId: str
    required: str
    available: str


class CallMetadata(Output):
    """Facts about the transactions of any response. Fields that depend on the wallet are absent without a wallet."""

    hasEnoughBalance: bool | None = None
    hasEnoughGas: bool | None = None
    hasEnoughAllowance: bool | None = None
    nativeBalance: str | None = None
    estimatedNetworkFee: str | None = None
    approvalFeeLimit: str | None = None
    paymentFeeLimit: str | None = None
    eoaApprovalRequired: bool | None = None
    explanation: list[ExplanationAnswer]
    eoaExplanation: list[ExplanationAnswer] | None = None
    safeExplanation: ExplanationAnswer | None = None
    simulation: SimulationAnswer | None = None


class StepsMetadata(CallMetadata):
    """Which of `transactions` are approvals, and which are payments."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionsCount: int
    routeType: Literal["samechain"]


class PayMetadata(StepsMetadata):
    approvalTransactionIndex: int | None = None
    paymentTransactionIndex: int
    sourceAmount: str
    requiredAmount: str
    platformFee: FeeAnswer | None = None
    balance: str | None = None
    allowance: str | None = None


class PayAnswer(Output):
    paymentType: Literal["single"]
    transactions: list[TransactionAnswer]
    eoaApprovalTransactions: list[TransactionAnswer] | None = None
    safeTransaction: SafeTransactionAnswer | None = None
    feeBundle: None
    metadata: PayMetadata


class BatchMetadata(StepsMetadata):
    approvalTransactionIndices: list[int]
    batchPaymentTransactionIndex: int
    canMakePayment: bool | None = None
    insufficientTokens: list[InsufficientToken] | None = None


class BatchPayAnswer(Output):
    """`transactions` are the approvals and then the payment, in the order they are sent."""

    paymentType: Literal["batch"]
    ERC20ApprovalTransactions: list[TransactionAnswer]
    batchPaymentTransaction: TransactionAnswer
    transactions: list[TransactionAnswer]
    eoaApprovalTransactions: list[TransactionAnswer] | None = None
    safeTransaction: SafeTransactionAnswer | None = None
    metadata: BatchMetadata


class MulticallChildAnswer(Output):
    """`amount` is the remaining amount, which is paid now."""

    position: int
    securePaymentToken: str
    requestId: str
    payee: str
    amount: str
    paymentCurrency: str
    paymentReference: str
    paymentCurrencyAddress: str
    sourceTokenAddress: str
    tokenAddress: str
    network: str


class MulticallMetadata(BatchMetadata):
    feeTransactionIndices: list[int]
    bridgeTxIndices: list[int]
    childCount: int
    executableLegCount: int
    aggregateAllowance: str | None = None
    sourceAmount: str
    requiredAmount: str


class MulticallPayAnswer(Output):
    """`references` are the payment references in the order of the children.

    `batchPaymentTransaction` is the first payment; there are more in `transactions` where fees go to several addresses.
    """

    paymentType: Literal["multicall"]
    executionKind: str
    token: str
    network: str
    chainId: int
    childTokens: list[str]
    requestIds: list[str]
    children: list[MulticallChildAnswer]
    payees: list[str]
    amounts: list[str]
    references: list[str]
    ERC20ApprovalTransactions: list[TransactionAnswer]
    batchPaymentTransaction: TransactionAnswer
    transactions: list[TransactionAnswer]
    eoaApprovalTransactions: list[TransactionAnswer] | None = None
    safeTransaction: SafeTransactionAnswer | None = None
    destinationCalls: list[Any]
    feeBundle: None
    metadata: MulticallMetadata
