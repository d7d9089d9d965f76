"""Models of e-mail addresses and of the links that are sent to them."""

from typing import Literal, Self, cast

from pydantic import Field

from chalicelib.accounts.email.flows import Address
from chalicelib.accounts.sign_in.schemas import Email, Password
from chalicelib.base.timestamps import iso
from chalicelib.mail.records import Mailbox
from chalicelib.platform.http.schemas import Input, Output, iso_or_none

Language = Literal["ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh"]
EMAIL_SENT = "False if this deployment sends no e-mail. True says nothing about whether the address is known"


class Addressed(Input):
    email: Email = Field(description="Upper and lower case are the same")


class Token(Input):
    token: str = Field(description="What follows `#` in the link", max_length=200)


class NewPassword(Token):
    password: Password


class ChosenLanguage(Input):
    language: Language = Field(description="Of the e-mails to your addresses")


class LinkSent(Output):
    emailSent: bool = Field(description=EMAIL_SENT)


class Confirmed(Output):
    email: str


class StoppedAddress(Output):
    since: str = Field(description="When that was reported")
    reason: Literal["bounce", "complaint"] = Field(
        description="`bounce`: a message came back for good. `complaint`: one was reported as spam"
    )

    @classmethod
    def of(cls, mailbox: Mailbox) -> Self:
        assert mailbox.stopped_at is not None
        return cls(since=iso(mailbox.stopped_at), reason="complaint" if mailbox.stopped_by == "complaint" else "bounce")


class AddressAnswer(Output):
    email: str = Field(description="In lower case")
    confirmedAt: str | None = Field(description="When a link to it was followed; null if none was")
    language: Language = Field(description="Of the e-mails to it")
    stopped: StoppedAddress | None = Field(description="Why nothing is sent to it any more; null if it gets e-mail")

    @classmethod
    def of(cls, address: Address) -> Self:
        mailbox = address.mailbox
        return cls(
            email=address.identity.name,
            confirmedAt=iso_or_none(address.identity.verified_at),
            language=cast(Language, mailbox.locale),
            stopped=StoppedAddress.of(mailbox) if mailbox.stopped_at else None,
        )


class AddressList(Output):
    addresses: list[AddressAnswer]
    sendsEmail: bool = Field(description="False if this deployment sends no e-mail")
