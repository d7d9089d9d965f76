"""Models of what a payer is shown of a link and given to sign. Amounts are human-readable."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from chalicelib.api.schemas.branding import LinkBranding
from chalicelib.api.schemas.common import Input, Output, rule
from chalicelib.api.schemas.fee_plans import FeePlanAnswer
from chalicelib.core.addresses import evm_address, tron_address
from chalicelib.core.errors import BadRequest

Flag = Literal["true", "false"]


class WalletQuery(Input):
    wallet: str | None = Field(None, description="The payer's wallet")

    @field_validator("wallet")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        on_tron = value.startswith("T")
        try:
            return tron_address(value) if on_tron else evm_address(value)
        except BadRequest:
            raise rule(f"wallet: Invalid {'Tron' if on_tron else 'Ethereum'} address") from None


class PayQuery(WalletQuery):
    chain: Literal["BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB"] | None = None
    token: Literal["USDC", "USDT"] | None = None
    isSafe: Flag | None = Field(None, description="`wallet` is a Safe: the answer has one transaction for it, too")
    eoaWallet: str | None = Field(None, description="Who funds the payment of a smart account `wallet`")
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


class DestinationAnswer(Output):
    destinationId: str
    payeeAddress: str
    tokenAddress: str
    walletAddress: str
    network: str


class PaymentOption(Output):
    """One token in the payer's wallet."""

    balance: str
    hasEnoughBalance: bool
    neededAmount: str


class CoinAnswer(Output):
    name: str
    symbol: str
    decimals: int


class ChainAnswer(Output):
    """The network as wallets have to be told of it; `explorerUrl` shows the transaction whose hash is appended."""

    chainId: int
    name: str
    label: str
    confirmations: int
    explorerUrl: str
    publicRpcUrls: list[str]
    nativeCurrency: CoinAnswer


class LinkAnswer(Output):
    """What every link shows; never calldata. The fee is a percentage of each amount, paid on top to one address."""

    status: str
    network: str
    chain: ChainAnswer
    reference: str | None
    requestIds: list[str]
    redirectUrl: str | None
    redirectLabel: str | None
    createdAt: str
    expiresAt: str
    branding: LinkBranding | None
    feePercentage: str | None
    feeAddress: str | None
    feePlan: FeePlanAnswer | None
    paymentOptions: dict[str, dict[str, PaymentOption]] | None = None


class SecurePaymentAnswer(LinkAnswer):
    """A link of one payment, as a payer sees it."""

    paymentType: Literal["single"]
    payee: str
    amount: str
    paymentCurrency: str
    isNativeCurrency: bool
    decimals: int
    paymentReference: str
    destination: DestinationAnswer
    paidAmount: str
    remainingAmount: str


class BatchPaymentAnswer(LinkAnswer):
    """A link of several payments; the lists are in the order of the requests."""

    paymentType: Literal["batch"]
    payees: list[str]
    amounts: list[str]
    paymentCurrencies: list[str]
    isNativeCurrency: list[bool]
    decimals: list[int]
    paymentReferences: list[str]
    destinations: list[DestinationAnswer]
    paidAmounts: list[str]
    remainingAmounts: list[str]


class TransactionAnswer(Output):
    """What to sign. `value` is 0 or a hex string in base units of the native coin; by setting, an ethers BigNumber.

    `feeLimit`, on tron, is the most TRX the transaction may burn, in sun.
    """

    data: str
    to: str
    value: int | str | dict[str, str]
    feeLimit: int | None = None


class SafeTransactionAnswer(Output):
    """All transactions as the one that a Safe executes: `operation` 1 runs MultiSendCallOnly as the Safe."""

    to: str
    value: str
    data: str
    operation: int


class FeeAnswer(Output):
    percentage: str
    address: str


class ArgumentAnswer(Output):
    name: str
    type: str
    value: str
    human: str | None


class ExpectedEventAnswer(Output):
    """What the contract emits when the call succeeds; amounts in base units, `token` null for the native coin."""

    name: str
    contract: str
    address: str | None
    token: str | None
    payee: str
    amount: str
    feeAmount: str
    feeAddress: str
    paymentReference: str


class ExplanationAnswer(Output):
    """One call, decoded from the bytes that are to be signed. `function` null: the bytes are unknown.

    `value` is in base units of the native coin; `calls` are those that it makes in turn.
    """

    to: str | None
    contract: str
    function: str | None
    arguments: list[ArgumentAnswer]
    value: str
    valueHuman: str | None
    expectedEvent: ExpectedEventAnswer | None
    calls: list["ExplanationAnswer"]
    summary: str


class SimulatedStepAnswer(Output):
    """`success` null: it cannot be said before the transactions ahead of it are made."""

    index: int
    success: bool | None
    revertReason: str | None
    gas: int | None


class SimulationAnswer(Output):
    method: str
    success: bool | None
    steps: list[SimulatedStepAnswer]


class InsufficientToken(Output):
    tokenAddress: str
    tokenSymbol: str
    paymentCurrencyId: str
    required: str
    available: str


class CallMetadata(Output):
    """What every answer says of its transactions. What depends on the wallet is absent when none was given."""

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
    """How to use `transactions`: which of them approve, which pay."""

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
    """`amount` is what is paid now: of a child that was paid in part, the rest."""

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
