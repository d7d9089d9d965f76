"""Models of recurring payouts: what is paid when, the permit to sign, and how far they are."""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt

from chalicelib.base.timestamps import iso
from chalicelib.payments.requests.calendar import MAX_PERIODS
from chalicelib.payments.requests.records import Frequency
from chalicelib.platform.http.fields import WHOLE, Address, Limit, form
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.recurring.creation import FEWEST_PAYMENTS, Plan
from chalicelib.recurring.flows import CANCEL, UNPAUSE
from chalicelib.recurring.periods import FailureCode, period_due
from chalicelib.recurring.records import RecurringPayment, RecurringStatus

Value = int | str | dict[str, str]


class PayoutRecurrence(Input):
    """When a recurring payout is paid, and by whom. Its payer signs once for all payments."""

    startDate: Annotated[str, form(format="start-date")] = Field(
        description="When the first payment is made: a date or an instant in ISO 8601, not before today by UTC"
    )
    frequency: Frequency = Field(description="How often a payment is made")
    totalPayments: Annotated[StrictInt, WHOLE, form(minimum=FEWEST_PAYMENTS, maximum=MAX_PERIODS)] = Field(
        description="How many payments are made"
    )
    payer: Address = Field(description="The wallet that pays and signs, an EVM wallet with a key of its own")

    @property
    def plan(self) -> Plan:
        return Plan(self.startDate, self.frequency, self.totalPayments, self.payer)


class ActivateRecurring(Input):
    permitSignature: str = Field(description="The payer's signature of `recurringPaymentPermit`, as 0x hex")


class ChangeRecurring(Input):
    action: Annotated[str, form(enum=[CANCEL, UNPAUSE])] = Field(
        description="cancel ends it for good; unpause resumes one that was paused, and makes up for missed payments"
    )


class ApprovalAnswer(Output):
    """A transaction for the payer to send: it sets what the contract may take of the token."""

    to: str = Field(description="The token")
    data: str = Field(description="The call `approve`, as 0x hex")
    value: Value = Field(description="Nothing of the native coin: 0x0, or another form of 0 by setting")


class PermitDomain(Output):
    name: str = Field(description="ERC20RecurringPaymentProxy")
    version: str = Field(description="1")
    chainId: int = Field(description="Of the network of the payments")
    verifyingContract: str = Field(description="The contract that makes the payments")


class PermitMember(Output):
    name: str = Field(description="As in `values`")
    type: str = Field(description="In Solidity, such as uint128")


class PermitTypes(Output):
    SchedulePermit: list[PermitMember] = Field(description="The members in the order in which they are signed")


class PermitValues(Output):
    """Amounts are in base units of the token, times in seconds of Unix time."""

    subscriber: str = Field(description="The payer")
    token: str = Field(description="The address of the token")
    recipient: str = Field(description="The payee")
    feeAddress: str = Field(description="The zero address without a fee")
    amount: str = Field(description="What the payee gets with each payment")
    feeAmount: str = Field(description="The fee on top of each payment")
    relayerFee: str = Field(description="What the service takes for sending each payment")
    periodSeconds: int = Field(description="The least time between two payments, on average")
    firstPayment: int = Field(description="When the first payment can be made")
    totalPayments: int = Field(description="How many payments can be made, from 2 to 255")
    nonce: str = Field(description="A random number that makes the permit unique")
    deadline: str = Field(description="Until when payments can be made")
    strictOrder: bool = Field(description="Whether the contract insists on the order of payments, as this service does")


class PermitAnswer(Output):
    """What the payer signs by EIP-712, as ethers takes it: `signTypedData(domain, types, values)`."""

    domain: PermitDomain = Field(description="The contract and its network")
    types: PermitTypes = Field(description="Without EIP712Domain, which ethers adds")
    values: PermitValues


class AllowanceAnswer(Output):
    """Allowances of the payer for the contract, in base units of the token."""

    stepsRequired: int = Field(description="The transactions, and the signature")
    totalNeededAllowance: str = Field(description="What all recurring payouts of the payer in this token still take")
    currentAllowance: str = Field(description="What the payer allows now")
    additionalAllowanceNeeded: str = Field(description="By how much that is too little")
    existingPaymentsAmount: str = Field(description="What of that is for others, which are active or paused")


class RecurringCreated(Output):
    """A recurring payout that waits for the signature of its payer."""

    id: str = Field(description="Names the payout in `/v2/payouts/recurring/{recurring_id}`")
    transactions: list[ApprovalAnswer] = Field(description="For the payer to send first; empty if enough is allowed")
    recurringPaymentPermit: PermitAnswer
    metadata: AllowanceAnswer


class RecurringActivated(Output):
    message: str
    id: str
    status: Literal["active"]


class PeriodRequest(Output):
    requestId: str
    paymentReference: str


class PeriodPayment(Output):
    id: str = Field(description="As in GET /v2/payments")
    amount: str = Field(description="In units of the token")
    timestamp: str = Field(description="When it was paid, ISO 8601 in UTC")
    txHash: str = Field(description="The transaction of the payment")


class RecurringAnswer(Output):
    """How far a recurring payout is."""

    id: str
    status: RecurringStatus
    processedPayments: int = Field(description="How many periods are paid")
    totalPayments: int
    lastPaymentDate: str | None = Field(description="When the last payment was made; null before the first")
    nextPaymentDate: str | None = Field(description="When the next one is due; null if none will be made")
    requests: list[PeriodRequest] = Field(description="Of each period so far, the first one is the original")
    payments: list[PeriodPayment] = Field(description="Of each period that is paid")
    failureCount: int = Field(description="How often the next payment has failed in a row")
    failureReason: str | None = Field(description="Why it failed last; null if it did not")
    failureCode: FailureCode | None = Field(description="The same as a code")


class RecurringQuery(Input):
    limit: Limit = Field(20, description="Recurring payouts on a page")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="`nextCursor` of the page before")


class RecurringListed(Output):
    id: str
    status: RecurringStatus
    payee: str | None = Field(description="Who is paid")
    payer: str = Field(description="Whose wallet each payment is taken from")
    amount: str = Field(description="What the payee gets with each payment, in units of the token")
    currency: str = Field(description="The token")
    reference: str | None = Field(description="Your own name for it")
    frequency: Frequency
    startDate: str = Field(description="When the first payment is due")
    processedPayments: int = Field(description="How many periods are paid")
    totalPayments: int
    nextPaymentDate: str | None = Field(description="When the next one is due; null if none will be made")
    failureReason: str | None = Field(description="Why the next payment failed last; null if it did not")
    failureCode: FailureCode | None = Field(description="The same as a code")
    createdAt: str


class RecurringPage(Output):
    """Newest first. `nextCursor` is null on the last page. A page may have fewer than its limit."""

    recurringPayouts: list[RecurringListed]
    nextCursor: str | None


class Remaining(Output):
    remainingPayments: int
    remainingAmount: str = Field(description="With fees, in base units of the token")
    remainingPaymentsAmount: str = Field(description="The same as remainingAmount")
    processedPayments: int
    totalPayments: int


class RecurringCancelled(Output):
    id: str
    status: Literal["cancelled"]
    transactions: list[ApprovalAnswer] = Field(description="Lower the allowance to what the payer's others still take")
    metadata: Remaining


class Progress(Output):
    processedPayments: int = Field(description="How many periods are paid")
    totalPayments: int = Field(description="How many periods there are")
    nextPaymentDate: str = Field(description="When the next payment was or is due")


class RecurringResumed(Output):
    id: str = Field(description="Of the recurring payout")
    status: Literal["active"] = Field(description="It was paused")
    metadata: Progress = Field(description="How far it is")

    @classmethod
    def of(cls, schedule: RecurringPayment) -> Self:
        progress = Progress(
            processedPayments=schedule.processed,
            totalPayments=schedule.total,
            nextPaymentDate=iso(period_due(schedule)),
        )
        return cls(id=schedule.recurring_id, status="active", metadata=progress)
