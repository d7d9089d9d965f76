"""Models of what `/pay` says of a payment from another chain: deadlines, costs, the router's step, calls elsewhere."""

from typing import Literal

from pydantic import Field

from chalicelib.platform.http.schemas import Output


class BridgeDeadline(Output):
    deadline: int = Field(description="Unix seconds")
    source: Literal["decoded"] = Field(description="It was read from the bytes that are signed")


class DeadlineBreakdown(Output):
    bridge: BridgeDeadline = Field(description="Until when the bridge takes the tokens")


class RouteMetadata(Output):
    """Until when transactions from another chain can be used. The fields are absent from the payment's own chain."""

    quoteFetchedAt: str | None = Field(None, description="When the router quoted the route, in ISO 8601")
    quoteExpiresAt: int | str | None = Field(
        None, description="Get new transactions after that: Unix seconds, or of a multicall ISO 8601"
    )
    executionDeadline: int | None = Field(
        None, description="The last second, in Unix seconds, in which the source chain accepts the transactions"
    )
    executionDeadlineBreakdown: DeadlineBreakdown | None = Field(None, description="What sets that deadline")
    safePaymentDeadline: int | None = Field(
        None, description="With `isSafe=true`: the same; give it to `POST .../intent` with `safeTxHash`"
    )


class NativeFee(Output):
    """A fee in the native coin of the source chain, at the present price of gas."""

    required: bool = Field(description="Whether there is such a transaction")
    currency: str = Field(description="The coin's symbol")
    amountNative: str = Field(description="In the coin")
    hasEnoughBalance: bool = Field(description="Whether the wallet has that much")


class BridgeFee(Output):
    """What the route costs: what leaves the wallet less what is paid on the other chain."""

    required: bool
    currency: str = Field(description="The symbol of the token that is paid with")
    amount: str = Field(description="In that token")
    amountUsd: str = Field(description="The same, as a dollar token is taken for a dollar")
    hasEnoughBalance: bool = Field(description="Whether the wallet has amount and fee")


class FundingStatus(Output):
    hasEnoughPaymentToken: bool
    hasEnoughApprovalGas: bool
    hasEnoughOverall: bool = Field(description="Whether it has the tokens, and the gas of all transactions")


class CostTotals(Output):
    paymentAmount: str = Field(description="What is paid on the other chain, with the platform fee")
    paymentCurrency: str = Field(description="Its currency id")
    sourceAmount: str = Field(description="What leaves the wallet, in the token that is paid with")


class CostBreakdown(Output):
    approvalFee: NativeFee
    paymentGasFee: NativeFee
    totalGasFee: NativeFee
    bridgeFee: BridgeFee
    fundingStatus: FundingStatus
    totals: CostTotals


class StepToken(Output):
    chainId: int
    address: str
    symbol: str
    decimals: int


class StepAction(Output):
    fromChainId: int
    fromToken: StepToken
    fromAmount: str = Field(description="In the smallest unit of the token")
    fromAddress: str
    toChainId: int
    toToken: StepToken
    toAddress: str = Field(description="The contract that is called on the other chain, the fee proxy")


class RawStep(Output):
    """The route as a step: what was verified of the router's own. `id` is this service's, and names the payer."""

    id: str
    type: Literal["lifi"]
    tool: str = Field(description="The bridge")
    action: StepAction


class DestinationCall(Output):
    """The call that pays on another chain. `target` and `contractAddress` are the fee proxy there."""

    network: str = Field(description="The network of the child")
    chain: str = Field(description="The label of that network")
    chainId: int = Field(description="Its chain id")
    target: str = Field(description="The fee proxy there")
    contractAddress: str = Field(description="The same")
    calldata: str = Field(description="The call that pays")


class BundleMetadata(RouteMetadata):
    """What a multicall's routes take together; the fields are absent where none is paid by a route."""

    bridgeTxIndices: list[int] = Field(description="Which of `transactions` are routes, in the order of their children")
    bridgeSourceAmount: str | None = Field(None, description="What the routes take")
    sourceSideAmount: str | None = Field(None, description="What is paid without a route")
    bridgeFeeAmount: str | None = Field(None, description="What of it the routes cost")
    sourceToken: str | None = Field(None, description="The symbol of the token that is paid with")
    sourceTokenAddress: str | None = Field(None, description="Its contract")
    sourceNetwork: str | None = Field(None, description="Its network")
    bridge: str | None = Field(None, description="The bridge, or several with commas between them")
