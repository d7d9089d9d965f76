"""Off-ramp orders as the provider is asked for them, and what of its answers is taken."""

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.offramp.core.records import Order, order_id_of
from chalicelib.offramp.core.rules import OrderReport
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.outbound.compliance import NewOrder, ProviderOrder, ProviderUnavailable

_CODE = re.compile("[a-z][a-z0-9_]{0,39}")


def new_order(request: Request, user_id: str, details_id: str, amount: BaseUnits) -> NewOrder:
    """What the provider is asked for: to send `amount`, in base units of the request's token, to the account."""
    token = currency_of(request)
    return NewOrder(
        order_id=order_id_of(request.request_id),
        user_id=user_id,
        account_id=details_id,
        network=request.network,
        token=token.symbol,
        token_address="" if token.is_native else token.address,
        amount=format_amount(amount, token.decimals),
        reference=request.payment_reference,
    )


def order_of(request: Request, found: ProviderOrder, now: datetime) -> Order:
    """The record of an order that the provider has made, before anything is announced of it."""
    return Order(
        request_id=request.request_id,
        account_id=request.account_id,
        user_id=found.user_id,
        details_id=found.account_id,
        provider_id=found.provider_id,
        amount=found.amount,
        fee=found.fee,
        created_at=now,
        changed_at=now,
    )


def report_of(found: ProviderOrder) -> OrderReport:
    """What the provider says of an order. A reason is taken if it is a code: a sentence could name the person."""
    reason = found.reason if found.reason and _CODE.fullmatch(found.reason) else None
    return OrderReport(found.sequence, found.status, reason, found.amount, found.fee)


def is_for(amount_text: str, request: Request, amount: BaseUnits) -> bool:
    """Whether an order with this amount, in units of the token, is for `amount`; one without any is for none."""
    return amount_text != "" and Decimal(amount_text) == Decimal(format_amount(amount, currency_of(request).decimals))


def amount_paid_out(request: Request, payments: Iterable[Payment]) -> BaseUnits:
    """How many tokens of what was paid for a request are paid out: all, or of more than is owed the part that is owed,
    rounded up. What is beyond is the provider's to return."""
    tokens = sum(each.amount for each in payments if each.status is PaymentStatus.CONFIRMED)
    return BaseUnits(-(-tokens * request.amount // max(request.paid, request.amount)))


def is_of(order: Order, found: ProviderOrder) -> bool:
    """Whether the provider speaks of this order with its bank account."""
    return (order.order_id, order.user_id, order.details_id) == (found.order_id, found.user_id, found.account_id)


def deposit_address(request: Request, found: ProviderOrder, own: OwnAddresses) -> str:
    """Raises ProviderUnavailable if tokens that are sent to the address on the request's network would be lost."""
    try:
        return parse_recipient(found.deposit_address, family_of(currency_of(request)), own)
    except BadRequest as error:
        raise ProviderUnavailable(f"the deposit address cannot be paid: {error.message}") from None
