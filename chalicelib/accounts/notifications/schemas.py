"""Models of the choice of e-mails about events."""

from typing import Self

from pydantic import Field

from chalicelib.mail.records import Choices
from chalicelib.platform.http.schemas import Input, Output

_PAYMENTS = "One e-mail for each payment that is confirmed"
_ATTENTION = (
    "One for each payment that failed, was reversed, or was not expected as it came, late or too much; and for each "
    "webhook at which every attempt has failed for an hour"
)


class ChooseNotifications(Input):
    payments: bool = Field(description=_PAYMENTS, strict=True)
    attention: bool = Field(description=_ATTENTION, strict=True)


class NotificationsAnswer(Output):
    """They go to owners, admins and members for finance with a confirmed address. Owners are told of every change of
    credentials, destinations and members in any case."""

    payments: bool = Field(description=_PAYMENTS)
    attention: bool = Field(description=_ATTENTION)
    sendsEmail: bool = Field(description="False if this deployment sends no e-mail")

    @classmethod
    def of(cls, choices: Choices, sends_email: bool) -> Self:
        return cls(payments=choices.payments, attention=choices.attention, sendsEmail=sends_email)
