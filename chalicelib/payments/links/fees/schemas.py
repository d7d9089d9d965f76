"""Models of fee plans: who pays what for a payment, as text in US dollars."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from chalicelib.base import money
from chalicelib.base.money import Fee
from chalicelib.payments.links.fees.rules import Bearer, FeePlan
from chalicelib.payments.links.records import Flow
from chalicelib.platform.http.client_choice import ClientChoice
from chalicelib.platform.http.fields import Address, Amount, form
from chalicelib.platform.http.schemas import Output, unsent


class FeePreview(ClientChoice):
    amount: Amount = Field(description="Human-readable decimal amount, greater than 0")
    currency: Annotated[str, StringConstraints(min_length=1), form("^[0-9A-Za-z]+(-[0-9a-z]+)*$", "dollar-token")] = (
        Field(description="An id, or a symbol such as USDC")
    )
    flow: Literal["get_paid", "pay"] = Field(description="Whether the caller is paid or pays")
    defaultFeeBearer: Bearer | None = Field(None, description="Repeated in the answer; the payer bears every fee")
    payees: Annotated[list[Address], Field(max_length=50)] = Field(
        default_factory=list,
        description="Addresses on the network of `currency`, which is an id then: see `warnings`. With an API key or a "
        "session; each is a unit of the rate limit",
    )

    @property
    def items_written(self) -> int:
        return len(self.payees)


class FeeDestination(Output):
    """Has exactly one of the two, by the network's family."""

    evmAddress: str | None = Field(None, description="On EVM networks")
    tronAddress: str | None = Field(None, description="On Tron")


class PlannedFee(Output):
    type: Literal["platform"]
    label: str
    feeBearer: Literal["payer"]
    feeBearerSource: Literal["forced_fee_policy"] = Field(description="Fees are always paid on top")
    percentageBps: int | float = Field(description="Hundredths of a percent; a percentage may have more decimals")
    capUsd: str | None
    fixedAmountUsd: str | None
    calculatedAmountUsd: str
    destinationResolver: Literal["fixed_address"]
    destinationRef: FeeDestination
    configSource: Literal["platform_fee"]


class FeePlanAnswer(Output):
    """The payer's total debit and what the payees receive, counting one dollar token as one dollar."""

    version: Literal[1]
    flow: Flow
    defaultFeeBearer: Bearer
    grossAmountUsd: str
    netRecipientAmountUsd: str
    payerTotalAmountUsd: str
    totalFeesUsd: str
    payeeBorneFeesUsd: str
    payerBorneFeesUsd: str
    fees: list[PlannedFee]


class PayeeWarning(Output):
    payee: str = Field(description="One of `payees`")
    message: str = Field(description="Why what is paid to it may be lost")


class FeePreviewAnswer(FeePlanAnswer):
    warnings: list[PayeeWarning] = Field(
        default_factory=unsent,
        description="If there are `payees`: those that are contracts whose code sends no tokens on. None of what the "
        "network's node does not say, and none on Tron",
    )


def fee_plan_or_null(plan: FeePlan | None) -> FeePlanAnswer | None:
    """A plan in a response; None without a plan."""
    return fee_plan_answer(plan) if plan is not None else None


def fee_plan_answer(plan: FeePlan) -> FeePlanAnswer:
    """A plan as a response."""
    gross, charged, total = (
        money.format_amount(units, plan.decimals) for units in (plan.gross, plan.charged, plan.payer_total)
    )
    return FeePlanAnswer(
        version=1,
        flow=plan.flow,
        defaultFeeBearer=plan.default_bearer,
        grossAmountUsd=gross,
        netRecipientAmountUsd=gross,
        payerTotalAmountUsd=total,
        totalFeesUsd=charged,
        payeeBorneFeesUsd="0",
        payerBorneFeesUsd=charged,
        fees=[_answer_planned(plan.fee, charged)] if plan.fee.is_charged else [],
    )


def _answer_planned(fee: Fee, charged: str) -> PlannedFee:
    assert fee.percentage is not None and fee.address is not None, "a charged fee has both"
    points = money.parse_percentage(fee.percentage) * 100
    family = "evmAddress" if fee.address.startswith("0x") else "tronAddress"
    return PlannedFee(
        type="platform",
        label="Platform fee",
        feeBearer="payer",
        feeBearerSource="forced_fee_policy",
        percentageBps=int(points) if points == int(points) else float(points),
        capUsd=None,
        fixedAmountUsd=None,
        calculatedAmountUsd=charged,
        destinationResolver="fixed_address",
        destinationRef=FeeDestination(**{family: fee.address}),
        configSource="platform_fee",
    )
