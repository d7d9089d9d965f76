"""Which bank account a request is paid out to, the order that this needs, and what of the provider's answers counts."""

import re
from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.outbound.compliance import NewOrder, ProviderOrder
from chalicelib.payers.records import BankAccount, Payer
from chalicelib.requests.offramps.records import Order
from chalicelib.requests.offramps.rules import OVER, OrderReport
from chalicelib.requests.records import Request
from chalicelib.requests.rules import currency_of

_CODE = re.compile("[a-z][a-z0-9_]{0,39}")
_PREFIX = "offramp_"


@frozen
class ChosenAccount:
    """The bank account that a payer names with /pay, as sent."""

    client_user_id: str | None = None
    details_id: str | None = None

    @property
    def both(self) -> tuple[str, str] | None:
        """The id of the person and of the account; None unless both are given."""
        return (self.client_user_id, self.details_id) if self.client_user_id and self.details_id else None


NO_ACCOUNT = ChosenAccount()


def check_unchosen(account: ChosenAccount) -> None:
    """Raises BadRequest if a bank account is named for a request that is paid to a wallet. A `clientUserId` alone is
    ignored: some clients send it with every payment."""
    if account.details_id is not None:
        raise BadRequest("This request is paid to a wallet: it was created without isCryptoToFiatAvailable")


def request_id_of(order_id: str) -> str | None:
    """The request of an order; None for an id that this service never gives."""
    return order_id.removeprefix(_PREFIX) if order_id.startswith(_PREFIX) else None


def new_order(request: Request, payer: Payer, account: BankAccount, amount: BaseUnits) -> NewOrder:
    """What the provider is asked for: to send `amount`, in base units of the request's token, to the account."""
    token = currency_of(request)
    return NewOrder(
        order_id=f"{_PREFIX}{request.request_id}",
        user_id=payer.user_id,
        account_id=account.details_id,
        network=request.network,
        token=token.symbol,
        token_address="" if token.is_native else token.address,
        amount=format_amount(amount, token.decimals),
        reference=request.payment_reference,
    )


def order_of(request: Request, found: ProviderOrder, now: datetime) -> Order:
    """The record of an order that the provider has made, before anything is told of it."""
    return Order(
        request_id=request.request_id,
        account_id=request.account_id,
        user_id=found.user_id,
        details_id=found.account_id,
        provider_id=found.provider_id,
        fee=found.fee,
        created_at=now,
        changed_at=now,
    )


def report_of(found: ProviderOrder) -> OrderReport:
    """What the provider says of an order. A reason is taken if it is a code: a sentence could name the person."""
    reason = found.reason if found.reason and _CODE.fullmatch(found.reason) else None
    return OrderReport(found.sequence, found.status, reason)


def is_of(order: Order, found: ProviderOrder) -> bool:
    """Whether the provider speaks of this order with its bank account."""
    return (order.order_id, order.user_id, order.details_id) == (found.order_id, found.user_id, found.account_id)


def check_order(order: Order, payer: Payer, account: BankAccount) -> None:
    """Raises Conflict unless the order of a request pays out to this bank account, and is not over."""
    check_same(order.user_id, order.details_id, payer, account)
    if order.status in OVER:
        ended = f"The provider has ended the payout of this request ({order.status.value})"
        raise Conflict(f"{ended}: create a new request")


def check_same(user_id: str, details_id: str, payer: Payer, account: BankAccount) -> None:
    """Raises Conflict if another bank account was chosen first: the provider has one order for each request."""
    if (user_id, details_id) != (payer.user_id, account.details_id):
        raise Conflict("This request is paid out to another bank account: create a new request for this one")


def check_unpaid(request: Request) -> None:
    """Raises Conflict if a part was paid to the payee that the request has."""
    if request.paid:
        raise Conflict("A part of this request has been paid to its payee: pay the rest there, to no bank account")


def with_deposit(request: Request, address: str) -> Request:
    """The request as it is paid to the provider."""
    return replace(request, payee=address)
