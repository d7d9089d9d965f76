"""Views that create a secure payment link and look one up by a request id."""

from datetime import datetime

from chalicelib.accounts.branding import flows as brandings
from chalicelib.accounts.branding.records import PageBranding
from chalicelib.base.errors import Forbidden
from chalicelib.base.timestamps import iso
from chalicelib.payments.links import flows as links
from chalicelib.payments.links import reading
from chalicelib.payments.links.fees.rules import plan_of
from chalicelib.payments.links.fees.schemas import fee_plan_or_null
from chalicelib.payments.links.listed import LinksPage, LinksPagination, ListedLink, LookupQuery
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls.children import Reason, block_reason
from chalicelib.payments.links.records import Link, PayableLink, PaymentType
from chalicelib.payments.links.rules import check_unlocked, shown_status, status_at
from chalicelib.payments.links.schemas import (
    Branding,
    CreateSecurePayment,
    SecurePaymentCreated,
    SecurePaymentFound,
    destination_answer,
    page_url,
)
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.schemas import iso_or_none
from chalicelib.platform.http.view import Call
from chalicelib.platform.storage.pages import page_after


def create_secure_payment(call: Call[CreateSecurePayment, None]) -> SecurePaymentCreated:
    payment = links.create(call.services, call.caller.owner, call.body.draft())
    return SecurePaymentCreated.of(payment, call.services.settings.pay_url)


def look_up_secure_payment(call: Call[None, LookupQuery]) -> SecurePaymentFound | LinksPage:
    if call.caller.mode is Mode.CLIENT_ID:
        raise Forbidden(
            "A client ID is public, and the response has the tokens of links: send an API key, or sign in for a session"
        )
    if call.query.requestId is None:
        return _page(call)
    return _look_up(call, call.query.requestId)


def _page(call: Call[None, LookupQuery]) -> LinksPage:
    query, services = call.query, call.services
    client_id = call.caller.finds_of(query.clientId)
    listing = reading.listing(call.caller.account_id, query.reference, query.status, client_id, query.first, query.last)
    page = page_after(services.store, Link, listing, query.cursor, query.limit)
    links = [ListedLink.of(link, services.settings.pay_url) for link in page.records]
    paging = LinksPagination(limit=query.limit, hasMore=page.cursor is not None, nextCursor=page.cursor)
    return LinksPage(securePayments=links, pagination=paging)


def _look_up(call: Call[None, LookupQuery], request_id: str) -> SecurePaymentFound:
    services, now = call.services, call.services.clock()
    payment = reading.load_by_request(services, request_id, call.caller.account_id, call.caller.client_id)
    check_unlocked(payment)
    token = payment.link.token
    is_held = token in multicalls.held_tokens(services, {token: payment}, now)
    reason = block_reason(payment, payment.link, is_held, now)
    client_branding = brandings.of_client(services, payment.link.client_id)
    return _found(payment, reason, now, services.settings.pay_url, client_branding)


def _found(
    payment: PayableLink, reason: Reason | None, now: datetime, pay_url: str, branding: PageBranding | None
) -> SecurePaymentFound:
    link, first = payment.link, payment.requests[0]
    currencies = {request.currency for request in payment.requests}
    has_one_destination = len({(request.currency, request.payee) for request in payment.requests}) == 1
    return SecurePaymentFound(
        token=link.token,
        securePaymentUrl=page_url(link, pay_url),
        status=shown_status(status_at(link, now)),
        paymentType="batch" if link.payment_type is PaymentType.BATCH else "single",
        createdAt=iso(link.created_at),
        expiresAt=iso(link.expires_at),
        redirectUrl=link.redirect_url,
        redirectLabel=link.redirect_label,
        completedAt=iso_or_none(link.completed_at),
        payerAddress=None,
        payerKytResults=[],
        payeeKytResults=[],
        destination=destination_answer(first) if has_one_destination else None,
        claimedDestination=None,
        orchestratorId=None,
        feePlan=fee_plan_or_null(plan_of(payment)),
        network=first.network,
        currency=first.currency if len(currencies) == 1 else None,
        executionKind=None,
        identityMode="client_id" if link.client_id else "manual_dashboard",
        clientId=link.client_id,
        branding=Branding(whitelabelEnabled=branding is not None, source="client_id" if branding else "service"),
        childExecutable=reason is None,
        blockReason=reason,
    )
