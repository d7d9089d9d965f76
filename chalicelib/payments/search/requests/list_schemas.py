"""Models of the list of requests."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from chalicelib.payments.links.rules import shown_status
from chalicelib.payments.requests import list_names
from chalicelib.payments.requests.names.schemas import PayeeNameAnswer, name_fields
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.search.requests.listing import Listed, Wanted
from chalicelib.platform.http.fields import Address, Limit, Offset, ShortText
from chalicelib.platform.http.schemas import Dated, Output, address_text, unsent


def _wallet(text: str) -> str:
    return list_names.wallet(address_text(text))


ListedWallet = Annotated[Address, AfterValidator(_wallet)]
"""An address as lists name it."""


class RequestsQuery(Dated):
    walletAddress: ListedWallet | None = Field(None, description="The payee; the expected payer of `outgoing` requests")
    securePaymentFlow: Literal["incoming", "outgoing"] = Field(
        "incoming", description="What the wallet of `walletAddress` is: payee or payer"
    )
    reference: ShortText | None = Field(None, description="The merchant's own, exactly")
    status: Literal["created", "partially_paid", "paid", "cancelled", "processing", "failed"] | None = Field(
        None, description="What is paid of it"
    )
    clientId: Annotated[str, Field(max_length=64)] | None = Field(None, description="That it was created with")
    securePaymentToken: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        None, description="The token of a link: only its requests, in its order; of a multicall those of its payouts"
    )
    limit: Limit = Field(50, description="Requests on a page")
    offset: Offset = Field(0, description="Requests to pass over; not with `cursor`")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="`nextCursor` of the page before; empty to start"
    )

    def filters(self, account_id: str, client_id: str | None, finds_links: bool) -> Wanted:
        is_payer = self.securePaymentFlow == "outgoing"
        return Wanted(
            account_id=account_id,
            payee=None if is_payer else self.walletAddress,
            payer=self.walletAddress if is_payer else None,
            reference=self.reference,
            status=self.status,
            client_id=client_id,
            first=self.first,
            last=self.last,
            link_token=self.securePaymentToken,
            finds_links=finds_links,
        )


class ListedRequest(Output):
    requestId: str
    paymentReference: str
    amount: str = Field(description="What was asked for, in the invoice currency")
    paidAmount: str = Field("0", description="What its payments count, in the invoice currency")
    invoiceCurrency: str
    paymentCurrency: str
    hasBeenPaid: bool
    status: str
    securePaymentStatus: str | None = Field(description="The status of its link; null without a link")
    securePaymentToken: str | None = Field(
        description="The token of its link: anybody who has it can open the link; null without a link"
    )
    reference: str | None
    createdAt: str
    txHash: str | None
    payee: str | None = Field(description="Null until the bank account is chosen that it is paid out to")
    payeeName: PayeeNameAnswer = Field(
        default_factory=unsent, description="Absent unless the payee was given by a name of ENS"
    )
    payer: str | None = Field(description="Who is expected to pay")
    clientId: str | None


class RequestsPagination(Output):
    total: int = Field(
        description="Exact; by walletAddress or reference, or with a client ID alone, beyond a few thousand there are "
        "at least so many"
    )
    limit: int
    offset: int
    hasMore: bool
    nextCursor: str | None = Field(description="Null on the last page")


class RequestsPage(Output):
    """Requests, the newest first."""

    requests: list[ListedRequest]
    pagination: RequestsPagination

    @classmethod
    def of(cls, found: Listed, limit: int) -> Self:
        page = found.page
        read = page.offset + len(page.records) + (page.cursor is not None)
        paging = RequestsPagination(
            total=read if page.total is None else page.total,  # a cursor that nobody was given may have none
            limit=limit,
            offset=page.offset,
            hasMore=page.cursor is not None,
            nextCursor=page.cursor,
        )
        shown = (each for each in page.records if each.link_token is None or found.link_of(each))
        return cls(requests=[_answer_listed(each, found) for each in shown], pagination=paging)


def _answer_listed(request: Request, found: Listed) -> ListedRequest:
    link = found.link_of(request)
    return ListedRequest.from_record(
        request,
        amount=amount_text(request.amount, request),
        paidAmount=amount_text(request.paid, request),
        invoiceCurrency=request.invoice_currency or request.currency,
        paymentCurrency=request.currency,
        hasBeenPaid=request.is_settled,
        status=request.shown_status,
        securePaymentStatus=shown_status(link.status) if link is not None else None,
        securePaymentToken=request.link_token,
        reference=request.reference or (link.reference if link is not None else None),
        payee=request.payee or None,
        **name_fields(request),
    )
