"""Responses about recurring payouts: how they are shaped from records."""

from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.calldata.recurring import typed_data
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.http.schemas import iso_or_none
from chalicelib.recurring.flows import Cancelled, Created
from chalicelib.recurring.periods import failure_code, period_due
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus
from chalicelib.recurring.schemas import (
    AllowanceAnswer,
    ApprovalAnswer,
    PeriodPayment,
    PeriodRequest,
    PermitAnswer,
    RecurringAnswer,
    RecurringCancelled,
    RecurringCreated,
    RecurringListed,
    RecurringResumed,
    Remaining,
)


def answer_created(created: Created, value_form: str) -> RecurringCreated:
    """A new recurring payout. `value_form` is the setting TRANSACTION_VALUE_FORM."""
    schedule, allowance = created.schedule, created.allowance
    typed = typed_data(schedule.permit, schedule.network)
    transactions = _approvals(allowance.approvals, value_form)
    return RecurringCreated(
        id=schedule.recurring_id,
        transactions=transactions,
        recurringPaymentPermit=PermitAnswer.model_validate(typed),
        metadata=AllowanceAnswer(
            stepsRequired=len(transactions) + 1,
            totalNeededAllowance=str(allowance.needed),
            currentAllowance=str(allowance.current),
            additionalAllowanceNeeded=str(max(allowance.needed - allowance.current, 0)),
            existingPaymentsAmount=str(allowance.existing),
        ),
    )


def recurring_answer(schedule: RecurringPayment, periods: tuple[Period, ...]) -> RecurringAnswer:
    """How far a recurring payout is."""
    goes_on = schedule.status in (RecurringStatus.PENDING, RecurringStatus.ACTIVE)
    return RecurringAnswer(
        id=schedule.recurring_id,
        status=schedule.status,
        processedPayments=schedule.processed,
        totalPayments=schedule.total,
        lastPaymentDate=iso_or_none(schedule.last_payment_at),
        nextPaymentDate=iso(period_due(schedule)) if goes_on else None,
        requests=[PeriodRequest(requestId=p.request_id, paymentReference=p.payment_reference) for p in periods],
        payments=_payments(schedule, periods),
        failureCount=schedule.failures,
        failureReason=schedule.failure_reason,
        failureCode=failure_code(schedule.failure_reason),
    )


def listed_answer(schedule: RecurringPayment) -> RecurringListed:
    """A recurring payout in the list."""
    goes_on = schedule.status in (RecurringStatus.PENDING, RecurringStatus.ACTIVE)
    template, currency = schedule.template, currency_of(schedule.template)
    return RecurringListed.from_record(
        schedule,
        id=schedule.recurring_id,
        payee=template.payee,
        payer=schedule.permit.subscriber,
        amount=format_amount(schedule.permit.amount, currency.decimals),
        currency=currency.id,
        reference=template.reference,
        startDate=iso(schedule.start),
        processedPayments=schedule.processed,
        totalPayments=schedule.total,
        nextPaymentDate=iso(period_due(schedule)) if goes_on else None,
        failureCode=failure_code(schedule.failure_reason),
    )


def answer_changed(changed: Cancelled | RecurringPayment, value_form: str) -> RecurringCancelled | RecurringResumed:
    """What a change of a recurring payout led to. `value_form` as in `answer_created`."""
    if isinstance(changed, RecurringPayment):
        return RecurringResumed.of(changed)
    schedule = changed.schedule
    return RecurringCancelled(
        id=schedule.recurring_id,
        status="cancelled",
        transactions=_approvals(changed.approvals, value_form),
        metadata=Remaining(
            remainingPayments=schedule.total - schedule.processed,
            remainingAmount=str(schedule.remaining),
            remainingPaymentsAmount=str(schedule.remaining),
            processedPayments=schedule.processed,
            totalPayments=schedule.total,
        ),
    )


def _payments(schedule: RecurringPayment, periods: tuple[Period, ...]) -> list[PeriodPayment]:
    decimals = currency_of(schedule.template).decimals
    return [
        PeriodPayment(
            id=each.payment_id,
            amount=format_amount(each.amount, decimals),
            timestamp=iso(each.paid_at),
            txHash=each.tx_hash,
        )
        for each in periods
        if each.payment_id is not None
        and each.amount is not None
        and each.paid_at is not None
        and each.tx_hash is not None
    ]


def _approvals(approvals: tuple[Transaction, ...], value_form: str) -> list[ApprovalAnswer]:
    zeros: dict[str, Any] = {"published": "0x0", "bignumber": {"type": "BigNumber", "hex": "0x00"}}
    return [ApprovalAnswer(to=each.to, data=each.data, value=zeros.get(value_form, 0)) for each in approvals]
