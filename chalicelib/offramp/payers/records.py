"""Stored records: payers, their bank accounts, and the entry that finds a payer by the merchant's id."""

from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import KEYS, PAYMENTS, KeyPattern, Record


class KycStatus(StrEnum):
    """Of the identity check."""

    NOT_STARTED = "not_started"
    INITIATED = "initiated"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETRY_REQUIRED = "retry_required"
    FAILED = "failed"


class AgreementStatus(StrEnum):
    """Of the agreement between the person and the provider."""

    NOT_STARTED = "not_started"
    PENDING = "pending"
    SIGNED = "signed"
    COMPLETED = "completed"
    REJECTED = "rejected"
    FAILED = "failed"


class AccountStatus(StrEnum):
    """Of the check of a bank account."""

    PENDING = "pending"
    APPROVED = "approved"
    FAILED = "failed"


@frozen
class Payer(Record):
    """A person, or a business by its representative, who is paid out in fiat. `user_id` is a UUID of this service.

    `sealed` has the merchant's id and all details as JSON, sealed with the person's data key
    (platform/privacy/rules.py); None once they are erased. `update` has newer details, sealed likewise, which the
    provider is asked to take; None once it has answered. `revision` is the number of the newest details, by which the
    provider knows them again. `sequence` is the provider's number of the state that was taken last, 0 before the first.
    `is_submitted` says that the provider has the present details. `open_orders` counts payouts that are under way,
    during which nothing is erased. `is_forgotten` says that the provider has confirmed an erasure.
    """

    KEY = KeyPattern(PAYMENTS, "PAYER#{user_id}", "PAYER")
    DUE_GROUP = "PAYER"

    user_id: str
    account_id: str
    client_id: str | None
    created_at: datetime
    kyc_status: KycStatus
    agreement_status: AgreementStatus
    sealed: str | None
    sequence: int = 0
    is_submitted: bool = False
    bank_accounts: int = 0
    open_orders: int = 0
    check_at: datetime | None = None
    checks: int = 0
    erased_at: datetime | None = None
    is_forgotten: bool = False
    update: str | None = None
    revision: int = 1

    @property
    def is_compliant(self) -> bool:
        """Whether the person may be paid out: identity and agreement are both done."""
        is_known = self.kyc_status is KycStatus.APPROVED
        return is_known and self.agreement_status is AgreementStatus.COMPLETED and self.erased_at is None

    @property
    def is_refused(self) -> bool:
        """Whether the provider has refused the person for good: nobody may pay them."""
        return self.kyc_status in (KycStatus.REJECTED, KycStatus.FAILED) and self.erased_at is None

    @property
    def next_due(self) -> datetime | None:
        """When it is read at the provider next, as long as something is open there."""
        return self.check_at


@frozen
class BankAccount(Record):
    """A bank account of a payer. `details_id` is a UUID of this service, the `paymentDetailsId` of the interface.

    `sealed` has all details as JSON, sealed as those of the payer; None once they are erased. `fingerprint` is a keyed
    hash of them, by which the same details that are sent again are known. `sequence` and `is_submitted`: see Payer.
    """

    KEY = KeyPattern(PAYMENTS, "PAYER#{user_id}", "BANK_ACCOUNT#{details_id}")
    DUE_GROUP = "PAYER"

    user_id: str
    details_id: str
    account_id: str
    created_at: datetime
    status: AccountStatus
    sealed: str | None
    fingerprint: str | None
    sequence: int = 0
    is_submitted: bool = False
    check_at: datetime | None = None
    checks: int = 0

    @property
    def next_due(self) -> datetime | None:
        """When it is read at the provider next, while its check is open."""
        return self.check_at


@frozen
class PayerName(Record):
    """Index entry from a hash of the merchant's id of a person to the payer. Deleted when the person is erased.

    The id may be an e-mail address, whose hash can be guessed. So the entry is in the table without a backup.
    """

    KEY = KeyPattern(KEYS, "CLIENT_USER#{name_hash}", "PAYER")

    name_hash: str
    account_id: str
    user_id: str
