"""Models of multicall payouts."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from chalicelib.accounts.branding.schemas import LinkBranding
from chalicelib.payments.links.fees.schemas import FeePlanAnswer
from chalicelib.payments.links.multicalls.rules import ExecutionKind
from chalicelib.payments.links.schemas import ChainAnswer, SentTransactionAnswer
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, unsent
from chalicelib.platform.settings import FEWEST_CHILDREN, MOST_CHILDREN

ChildToken = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class CreateMulticall(Input):
    """Unlike in other bodies, unknown keys are refused (supplement, part 18)."""

    model_config = ConfigDict(extra="forbid")

    childTokens: Annotated[list[ChildToken], Field(min_length=FEWEST_CHILDREN), form(maxItems=MOST_CHILDREN)] = Field(
        description=f"Payouts in the order they are paid, at most {MOST_CHILDREN}; a deployment may set less"
    )
    requestedExecutionKind: ExecutionKind | None = Field(
        None,
        description=(
            "Refused unless it is the kind that the payouts give; evm_cross_chain fits all that can be paid from "
            "another chain"
        ),
    )

    @property
    def items_written(self) -> int:
        """More than MOST_CHILDREN are refused with what is wrong with them, and not for their number of units."""
        return min(len(self.childTokens), MOST_CHILDREN)


class MulticallItem(Output):
    securePaymentToken: str
    requestId: str
    position: int
    eligibility: Literal["eligible"]


class MulticallCreated(Output):
    type: Literal["multicall"]
    token: str
    securePaymentUrl: str
    status: Literal["pending"]
    expiresAt: str
    createdAt: str
    items: list[MulticallItem]


class ChildContext(Output):
    requestId: str
    securePaymentToken: str
    position: int
    hasBeenPaid: bool
    securePaymentStatus: str | None = None
    requestStatus: str | None = None
    expiresAt: str | None = None
    network: str | None = None
    currency: str | None = None


class ChildAnswer(Output):
    """One child. Amounts are human-readable."""

    securePaymentToken: str
    requestId: str
    position: int
    executable: bool
    blockReason: str | None
    messageKey: str | None
    context: ChildContext
    recoveryAction: str | None
    feePlan: FeePlanAnswer | None
    amount: str | None
    payee: str | None
    payeeName: str | None = Field(description="A name by which the payee named itself")
    reference: str | None
    remainingAmount: str | None
    network: str | None
    paymentCurrency: str | None
    isNativeCurrency: bool | None
    tokenAddress: str | None
    decimals: int | None
    paymentReference: str | None
    feePercentage: str | None
    feeAddress: str | None


class CurrencyTotal(Output):
    network: str
    currency: str
    totalAmount: str


class AmountSummary(Output):
    """The sums of all children, in whole units of their one currency. The payer pays the fees on top of the amounts."""

    grossAmount: str
    netRecipientAmount: str
    totalFees: str
    payeeBorneFees: str
    payerBorneFees: str
    payerTotal: str


class MulticallTotals(Output):
    childCount: int
    blockedChildCount: int
    byDestinationCurrency: list[CurrencyTotal]
    amountSummary: AmountSummary | None = Field(description="null when the children are of several currencies")


class MulticallAnalytics(Output):
    creationTimestamp: str
    numberOfPaymentsExcludingFees: int


class MulticallAnswer(Output):
    """A multicall with its children and totals; never calldata."""

    paymentType: Literal["multicall"]
    status: str
    redirectUrl: str | None
    redirectLabel: str | None
    orchestratorId: str | None
    branding: LinkBranding | None
    chain: ChainAnswer | None = Field(description="Of the first child that there is")
    analytics: MulticallAnalytics
    requestIds: list[str]
    token: str
    canExecute: bool
    expiresAt: str
    createdAt: str
    children: list[ChildAnswer]
    totals: MulticallTotals
    sentTransactions: list[SentTransactionAnswer] = Field(
        default_factory=unsent, description="As in the answer of a link of one payment; absent without any"
    )
