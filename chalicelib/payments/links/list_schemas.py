"""Models of the list of links."""

from typing import Annotated, Literal, Self

from pydantic import Field

from chalicelib.payments.links.records import Link
from chalicelib.payments.links.schemas import page_url
from chalicelib.platform.http.fields import Limit, ShortText
from chalicelib.platform.http.schemas import Dated, Output

ListedStatus = Literal["pending", "completed", "expired", "invalidated", "compliance_failed", "cancelled"]


class LookupQuery(Dated):
    requestId: str | None = Field(None, description="One of the `requestIds` of a link: finds that link")
    status: ListedStatus | None = Field(None, description="What became of the link")
    clientId: Annotated[str, Field(max_length=64)] | None = Field(None, description="That it was created with")
    reference: ShortText | None = Field(None, description="The merchant's own, exactly")
    limit: Limit = Field(20, description="Links on a page")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="`nextCursor` of the page before")


class ListedLink(Output):
    token: str = Field(description="Anybody who has it can open the link")
    securePaymentUrl: str = Field(description="The payment page")
    status: str = Field(description="As when the link is read")
    paymentType: str = Field(description="single, batch or multicall")
    flow: str = Field(description="get_paid, or pay for a payout")
    reference: str | None = Field(description="Your own reference of the link")
    clientId: str | None = Field(description="The client id that it was created with")
    payerIdentifier: str | None = Field(
        description="As the link was created with; null for an orchestrator unless it has made the link"
    )
    createdAt: str = Field(description="When it was created")
    expiresAt: str = Field(description="When it can no longer be paid")
    completedAt: str | None = Field(description="When it was paid; null before")

    @classmethod
    def of(cls, link: Link, pay_url: str, shows_payer: bool) -> Self:
        payer = link.payer_identifier if shows_payer else None
        return cls.from_record(link, securePaymentUrl=page_url(link, pay_url), payerIdentifier=payer)


class LinksPagination(Output):
    limit: int = Field(description="As asked for")
    hasMore: bool = Field(description="Whether there are more")
    nextCursor: str | None = Field(description="Null on the last page")


class LinksPage(Output):
    """Links, the newest first."""

    securePayments: list[ListedLink] = Field(description="The links")
    pagination: LinksPagination = Field(description="How to read on")
