"""How links of commerce payments show where the money is and who may take it, to payers. Amounts are human-readable."""

from typing import Any, Literal

from pydantic import Field

from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.commerce.core.rules import CommerceStatus, state_of
from chalicelib.commerce.service.schemas import CommerceState, State
from chalicelib.platform.http.schemas import Output


class CommerceTerms(Output):
    """The money goes into an escrow: until `authorizationExpiry` the operator may take up to `maxAmount` of it for the
    payee, or give it back; from then on the payer can take back what is held."""

    maxAmount: str = Field(description="The most that can be taken from the payer")
    operator: str = Field(description="Who may capture, void and refund")
    escrow: str = Field(description="The contract that holds the money")
    preApprovalExpiry: str = Field(description="Until when it can be paid, in Unix seconds")
    authorizationExpiry: str = Field(description="Until when it can be captured, in Unix seconds")
    refundExpiry: str = Field(description="Until when what was captured can be refunded, in Unix seconds")
    minFeeBps: int = Field(description="The least part of a capture that is a fee, in 1/10000; the payee pays it")
    maxFeeBps: int = Field(description="The largest part of a capture that is a fee")
    feeReceiver: str | None = Field(description="Who gets the fee; null for whom the operator names")
    salt: str = Field(description="A number of 256 bits, as text. It tells payments of the same terms apart")


FailureCode = Literal["balance", "allowance", "other"]


class CommerceFailure(Output):
    """Why the money of a wallet could not be put into the escrow when that was tried last. It is tried again."""

    wallet: str = Field(description="The wallet whose money it is")
    reason: FailureCode = Field(
        description="balance: it has too little of the token; allowance: it does not allow the escrow to take so much; "
        "other: anything else, also a trouble of the service"
    )


class CommerceFacts(CommerceTerms):
    """The terms, and where the money is."""

    status: CommerceState = Field(description="As GET /v2/commerce-payments/{request_id}/status")
    state: State
    payer: str | None = Field(description="Who has paid or alone may pay; null for any wallet")
    isPreApproved: bool = Field(description="Whether a wallet has allowed the escrow to take the money")
    preApprovedBy: list[str] = Field(description="The last wallets that allowed it, 100 at most")
    failure: CommerceFailure | None = Field(description="Null once the money is in escrow, or if nothing has failed")
    heldAmount: str = Field(description="What the escrow holds")
    capturedAmount: str = Field(description="What was captured")
    returnedAmount: str = Field(description="What went back to the payer: voided, reclaimed or refunded")


def commerce_terms(payment: CommercePayment) -> CommerceTerms:
    return CommerceTerms.from_record(payment, **_terms(payment))


def commerce_facts(payment: CommercePayment, status: CommerceStatus) -> CommerceFacts:
    return CommerceFacts.from_record(
        payment,
        status=status.value,
        **state_fields(payment),
        isPreApproved=bool(payment.pre_approved_by),
        preApprovedBy=list(payment.pre_approved_by),
        failure=_failure(payment),
        heldAmount=_amount(payment, payment.capturable),
        capturedAmount=_amount(payment, payment.captured),
        returnedAmount=_amount(payment, payment.voided + payment.reclaimed + payment.refunded),
        **_terms(payment),
    )


def state_fields(payment: CommercePayment) -> dict[str, Any]:
    """`state` in the words of the specification; absent before the escrow took any money."""
    state = state_of(payment)
    return {} if state is None else {"state": state.value}


def _failure(payment: CommercePayment) -> CommerceFailure | None:
    """Why the last authorization went back. The chain's own text, which anybody can choose, is only searched."""
    if payment.failure is None or payment.failed_payer is None or payment.is_collected:
        return None
    text = payment.failure.lower()
    reason: FailureCode = "balance" if "balance" in text else "allowance" if "allowance" in text else "other"
    return CommerceFailure(wallet=payment.failed_payer, reason=reason)


def _terms(payment: CommercePayment) -> dict[str, Any]:
    return {
        "maxAmount": _amount(payment, payment.max_amount),
        **expiries(payment),
        "salt": str(int(payment.salt, 16)),
    }


def expiries(payment: CommercePayment) -> dict[str, Any]:
    """When each stage ends, in Unix seconds as text."""
    return {
        "preApprovalExpiry": str(int(payment.pre_approval_expiry.timestamp())),
        "authorizationExpiry": str(int(payment.authorization_expiry.timestamp())),
        "refundExpiry": str(int(payment.refund_expiry.timestamp())),
    }


def _amount(payment: CommercePayment, units: int) -> str:
    return format_amount(units, require_token(payment.currency).decimals)
