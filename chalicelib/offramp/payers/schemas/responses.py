"""Models of what is answered about payers and their bank accounts."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.offramp.payers.details import Details
from chalicelib.offramp.payers.records import BankAccount, KycStatus, Payer
from chalicelib.platform.http.schemas import Output
from chalicelib.platform.outbound.compliance import ProviderUser


class ComplianceStatus(Output):
    agreementStatus: str = Field(description="not_started, pending, signed, completed, rejected or failed")
    kycStatus: str = Field(
        description="not_started, initiated, pending, rejected, retry_required, failed; completed once it is approved"
    )


class PayerCreated(Output):
    """The links are absent if the provider gives none any more."""

    agreementUrl: str = Field("", description="Where the person accepts the agreement")
    kycUrl: str = Field("", description="Where the person is identified")
    status: ComplianceStatus
    userId: str

    @classmethod
    def of(cls, payer: Payer, user: ProviderUser) -> Self:
        kyc = payer.kyc_status
        links = {"agreementUrl": user.agreement_url, "kycUrl": user.kyc_url}
        return cls(
            **{name: url for name, url in links.items() if url},
            status=ComplianceStatus(
                agreementStatus=payer.agreement_status.value,
                kycStatus="completed" if kyc is KycStatus.APPROVED else kyc.value,
            ),
            userId=payer.user_id,
        )


class BankAccountAnswer(Output):
    """Of the numbers those that were given."""

    id: str
    userId: str
    bankName: str
    accountName: str
    beneficiaryType: str
    accountNumber: str = Field("", description="Absent if it was not given")
    routingNumber: str = Field("", description="Absent if it was not given")
    currency: str
    status: Literal["pending", "approved", "failed"]
    rails: str

    @classmethod
    def of(cls, account: BankAccount, details: Details) -> Self:
        names = ("bankName", "accountName", "beneficiaryType", "accountNumber", "routingNumber", "currency", "rails")
        return cls.model_validate(
            {
                "id": account.details_id,
                "userId": account.user_id,
                "status": account.status.value,
                **{name: details[name] for name in names if name in details},
            }
        )


class PaymentDetailsList(Output):
    paymentDetails: list[BankAccountAnswer]


class ExportedAccount(Output):
    id: str = Field(description="The paymentDetailsId")
    createdAt: str = Field(description="ISO 8601 in UTC")
    status: str = Field(description="pending, approved or failed")
    details: dict[str, str] = Field(description="As they were sent")


class PayerAnswer(Output):
    kycStatus: str = Field(description="not_started, initiated, pending, approved, rejected, retry_required or failed")
    agreementStatus: str
    isCompliant: bool = Field(description="Whether the person may be paid out: approved and completed")
    userId: str
    createdAt: str = Field("", description="Only in an export, as the next two")
    personalData: dict[str, str] = Field(default_factory=dict, description="As it was sent, by the names of the body")
    paymentDetails: list[ExportedAccount] = Field(default_factory=list, description="The bank accounts")

    @classmethod
    def of_export(cls, payer: Payer, details: Details, accounts: Sequence[tuple[BankAccount, Details]]) -> Self:
        exported = [
            ExportedAccount.from_record(account, id=account.details_id, details=dict(each))
            for account, each in accounts
        ]
        return cls.from_record(
            payer, createdAt=iso(payer.created_at), personalData=dict(details), paymentDetails=exported
        )


class PayerUpdated(Output):
    success: bool


class PaymentDetailAnswer(Output):
    id: str
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: str
    status: str = Field(description="pending, approved or failed")


class PaymentDetailsAdded(Output):
    payment_detail: PaymentDetailAnswer

    @classmethod
    def of(cls, account: BankAccount, client_user_id: str, details: Details) -> Self:
        return cls(
            payment_detail=PaymentDetailAnswer(
                id=account.details_id,
                clientUserId=client_user_id,
                status=account.status.value,
                **{name: details[name] for name in ("bankName", "accountName", "currency", "beneficiaryType")},
            )
        )


class KeptAccount(Output):
    id: str
    createdAt: str
    status: str


class KeptPayer(Output):
    createdAt: str
    kycStatus: str
    agreementStatus: str
    paymentDetails: list[KeptAccount]


class PayerErased(Output):
    """What stays has no personal data: payouts that were made refer to it."""

    success: bool
    message: str
    userId: str
    erasedAt: str
    isErasedAtProvider: bool = Field(description="false until the provider has answered; it is asked until it does")
    kept: KeptPayer

    @classmethod
    def of(cls, payer: Payer, accounts: Sequence[BankAccount]) -> Self:
        assert payer.erased_at is not None, "it has just been erased"
        return cls(
            success=True,
            message="All personal data was erased; ids, dates and statuses are kept, as payouts refer to them",
            userId=payer.user_id,
            erasedAt=iso(payer.erased_at),
            isErasedAtProvider=payer.is_forgotten,
            kept=KeptPayer.from_record(
                payer, paymentDetails=[KeptAccount.from_record(each, id=each.details_id) for each in accounts]
            ),
        )
