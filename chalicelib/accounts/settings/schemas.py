"""Models of an account's settings."""

from typing import Annotated, Self, cast

from pydantic import Field, StrictBool, StringConstraints

from chalicelib.accounts.settings.flows import AccountSettings
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.http.fields import WHOLE, form
from chalicelib.platform.http.schemas import Input, Output, unsent

Name = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True), form(r"\S")]

OnReceipts = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True), form(r"\S")]

Hours = Annotated[int, Field(strict=True, ge=1, le=168), WHOLE]


class ChangeAccount(Input):
    """Fields that are left out do not change."""

    name: Name = Field(default_factory=unsent, description="What its members and people who are invited see")

    requireSecondFactor: StrictBool = Field(
        default_factory=unsent, description="Whether a password alone opens no session that may do anything"
    )

    approvals: StrictBool = Field(
        default_factory=unsent,
        description="Whether what redirects money waits for a second person; on once two people may approve",
    )
    approvalDelayHours: Hours | None = Field(
        default_factory=unsent,
        description="After how many hours it takes effect unless somebody refuses it; null: never without approval",
    )

    plainTransfers: StrictBool = Field(
        default_factory=unsent,
        description="Whether every payment that can have one gets an address for plain transfers, as from exchanges",
    )

    businessName: OnReceipts | None = Field(
        default_factory=unsent, description="As whom receipts name the merchant; null: not at all, as the next two"
    )
    businessAddress: OnReceipts | None = Field(default_factory=unsent, description="Where that is, in lines")
    taxId: OnReceipts | None = Field(default_factory=unsent, description="By which tax offices know it")

    def settings(self) -> AccountSettings:
        sent = self.sent_fields()
        if "approvals" in sent:
            sent["has_approvals"] = sent.pop("approvals")
        if "approval_delay_hours" in sent:
            sent["approval_delay_hours"] = sent["approval_delay_hours"] or 0
        if "require_second_factor" in sent:
            sent["requires_second_factor"] = sent.pop("require_second_factor")
        return cast(AccountSettings, sent)


class AccountAnswer(Output):
    id: str
    name: str
    requireSecondFactor: bool
    approvals: bool
    approvalDelayHours: int | None
    plainTransfers: bool
    businessName: str | None
    businessAddress: str | None
    taxId: str | None
    createdAt: str
    networksLowOnGas: list[str] | None = Field(
        description="Where the service's own account has too little for gas, so that captures, refunds and recurring"
        " payouts that it sends may wait; null for roles that do not change the account; and after a change",
    )

    @classmethod
    def of(cls, account: Account, networks_low_on_gas: list[str] | None = None) -> Self:
        return cls.from_record(
            account,
            id=account.account_id,
            requireSecondFactor=account.requires_second_factor,
            approvals=bool(account.has_approvals),
            approvalDelayHours=account.approval_delay_hours or None,
            networksLowOnGas=networks_low_on_gas,
        )
