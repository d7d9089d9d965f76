"""Models of the domain of a client id, and of the merchant that responses about its links name."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints

from chalicelib.accounts.domains.records import PageDomain
from chalicelib.accounts.domains.rules import Merchant, file_url, is_verified, txt_name
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, iso_or_none

MAX_SENT = 255
Domain = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SENT), form(format="hostname")]


class PutDomain(Input):
    """The domain alone, without https:// and path. An international one is stored and shown in its xn-- form."""

    domain: Domain = Field(description="Such as shop.example")


class TxtRecord(Output):
    name: str
    type: Literal["TXT"]
    value: str


class ProofFile(Output):
    url: str
    content: str = Field(description="A line of it, within the first kilobyte")


class DomainAnswer(Output):
    """The domain of a client id, what proves it, and what the last check found.

    Publish `value` in a TXT record, or `content` in the file; one of them is enough. Leave it there: it is looked for
    every day, and the domain stays verified for three days after it was last found.
    """

    clientIdId: str
    domain: str
    status: Literal["verified", "unverified"]
    verifiedAt: str | None = Field(description="When the proof was last found")
    verifiedUntil: str | None = Field(description="Until when the page shows the domain if it is not found again")
    checkedAt: str | None = Field(description="When it was last looked for")
    problem: str | None = Field(description="Why it was not found then; null if it was")
    record: TxtRecord
    file: ProofFile

    @classmethod
    def of(cls, domain: PageDomain, now: datetime) -> Self:
        return cls.from_record(
            domain,
            clientIdId=domain.record_id,
            status="verified" if is_verified(domain, now) else "unverified",
            verifiedUntil=iso_or_none(domain.verified_until),
            record=TxtRecord(name=txt_name(domain), type="TXT", value=domain.proof),
            file=ProofFile(url=file_url(domain), content=domain.proof),
        )


class DomainRemoved(Output):
    removed: bool


class MerchantAnswer(Output):
    """Who asks for the payment."""

    domain: str | None = Field(
        description="Verified: its owner has proved it by DNS or a file, within three days. Of a link whose payees the "
        "owner of the client id knows; else null"
    )
    label: str | None = Field(description="The label of the client id. Not verified: show it so, or not at all")

    @classmethod
    def of(cls, merchant: Merchant | None) -> Self | None:
        return None if merchant is None else cls(domain=merchant.domain, label=merchant.label)
