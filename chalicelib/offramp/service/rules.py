"""Which bank account a request is paid out to, and when that is refused."""

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import OVER, OrderReport
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import check_not_cancelled, currency_of, invoice_of


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


def is_converted(request: Request) -> bool:
    """Whether the rate of its payment decides how many tokens pay a request."""
    return invoice_of(request) != currency_of(request)


def may_be_amended(order: Order) -> bool:
    """Whether the provider may still take another amount: it has not begun to send fiat, and has not ended."""
    return order.status not in (*OVER, OrderStatus.SENDING_FIAT, OrderStatus.FIAT_SENT, OrderStatus.BOUNCED)


def waits_for_amount(request: Request, report: OrderReport) -> bool:
    """Whether a report counts only once the order is for what was paid: that fewer tokens arrived than were ordered
    may be because of the rate."""
    return report.status is OrderStatus.INSUFFICIENT_FUNDS and is_converted(request)


def check_unpaid(request: Request) -> None:
    """Raises RequestCancelled, and Conflict if a part was paid to the payee that the request has."""
    check_not_cancelled(request)
    if request.paid:
        raise Conflict("A part of this request has been paid to its payee: pay the rest there, to no bank account")
