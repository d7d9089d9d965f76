"""Views that create a secure payment link, change its expiry, look one up by a request id, and preview its fee."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field

from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.records import PageBranding
from chalicelib.base.errors import Forbidden
from chalicelib.payments.links import flows, reading, schemas
from chalicelib.payments.links.fees.flows import find_warnings
from chalicelib.payments.links.fees.rules import plan_of, preview
from chalicelib.payments.links.fees.schemas import (
    FeePreview,
    FeePreviewAnswer,
    PayeeWarning,
    fee_plan_answer,
    fee_plan_or_null,
)
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls.children import Reason, block_reason
from chalicelib.payments.links.records import Flow, Link, PayableLink, PaymentType
from chalicelib.payments.links.rules import shown_status, status_at
from chalicelib.payments.links.schemas import page_url
from chalicelib.platform.access.ownership import Use, finds_links, may
from chalicelib.platform.http.client_choice import owner_of
from chalicelib.platform.http.fields import Limit, ShortText
from chalicelib.platform.http.schemas import Dated, Output
from chalicelib.platform.http.view import Call
from chalicelib.platform.storage.pages import page_after

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


def create_secure_payment(call: Call[schemas.CreateSecurePayment, None]) -> schemas.SecurePaymentCreated:
    payable = flows.create(call.services, owner_of(call), call.body.draft())
    return schemas.SecurePaymentCreated.of(payable, call.services.settings.pay_url)


def update_secure_payment(call: Call[schemas.UpdateSecurePayment, None]) -> schemas.SecurePaymentUpdated:
    token, viewer = call.path["token"], reading.Viewer.of(call.caller)
    payable = flows.change_expiry(call.services, token, viewer, call.actor, call.body.expires_at)
    return schemas.SecurePaymentUpdated.from_record(payable.link)


def look_up_secure_payment(call: Call[None, LookupQuery]) -> schemas.SecurePaymentFound | LinksPage:
    if not finds_links(call.caller):
        raise Forbidden(
            "A client ID is public, and the response has the tokens of links: send an API key, or sign in for a session"
        )
    if call.query.requestId is None:
        return _page(call)
    return _look_up(call, call.query.requestId)


def preview_fees(call: Call[FeePreview, None]) -> FeePreviewAnswer:
    body = call.body
    fee = owner_of(call).settings.fee
    plan = preview(body.amount, body.currency, fee, Flow(body.flow), body.defaultFeeBearer or "payer")
    shown = dict(fee_plan_answer(plan))
    if not body.payees:
        return FeePreviewAnswer(**shown)
    found = find_warnings(call.services, call.caller, body.currency, body.payees)
    return FeePreviewAnswer(**shown, warnings=[PayeeWarning(payee=payee, message=said) for payee, said in found])


def _page(call: Call[None, LookupQuery]) -> LinksPage:
    query, services = call.query, call.services
    client_id = call.caller.finds_of(query.clientId)
    listing = reading.listing(call.caller.account_id, query.reference, query.status, client_id, query.first, query.last)
    page = page_after(services.store, Link, listing, query.cursor, query.limit)
    private = [may(call.caller, Use.READ_PRIVATE, link) for link in page.records]
    links = [
        ListedLink.of(link, services.settings.pay_url, shows_payer=shown)
        for link, shown in zip(page.records, private, strict=True)
    ]
    paging = LinksPagination(limit=query.limit, hasMore=page.cursor is not None, nextCursor=page.cursor)
    return LinksPage(securePayments=links, pagination=paging)


def _look_up(call: Call[None, LookupQuery], request_id: str) -> schemas.SecurePaymentFound:
    services, now = call.services, call.services.clock()
    payable = reading.load_by_request(services, request_id, reading.Viewer.of(call.caller))
    token = payable.link.token
    is_claimed = token in multicalls.find_claimed_tokens(services, {token: payable}, now)
    reason = block_reason(payable, payable.link, is_claimed, now)
    client_branding = branding.of_client(services, payable.link.client_id)
    return _answer_found(payable, reason, now, services.settings.pay_url, client_branding)


def _answer_found(
    payable: PayableLink, reason: Reason | None, now: datetime, pay_url: str, branding: PageBranding | None
) -> schemas.SecurePaymentFound:
    link, first = payable.link, payable.requests[0]
    currencies = {request.currency for request in payable.requests}
    has_one_destination = len({(request.currency, request.payee) for request in payable.requests}) == 1
    return schemas.SecurePaymentFound.from_record(
        link,
        securePaymentUrl=schemas.page_url(link, pay_url),
        status=shown_status(status_at(link, now)),
        paymentType="batch" if link.payment_type is PaymentType.BATCH else "single",
        payerAddress=None,
        payerKytResults=[],
        payeeKytResults=[],
        destination=schemas.destination_answer(first) if has_one_destination else None,
        claimedDestination=None,
        orchestratorId=None,
        feePlan=fee_plan_or_null(plan_of(payable)),
        network=first.network,
        currency=first.currency if len(currencies) == 1 else None,
        executionKind=None,
        identityMode="client_id" if link.client_id else "manual_dashboard",
        branding=schemas.Branding(
            whitelabelEnabled=branding is not None, source="client_id" if branding else "service"
        ),
        childExecutable=reason is None,
        blockReason=reason,
    )
