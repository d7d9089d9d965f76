"""Which payables are moved to the archive, and under which name."""

from datetime import UTC, datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record
from chalicelib.payments.links.records import Link, LinkStatus, Payable, PaymentType
from chalicelib.payments.requests.payments.records import Payment, SentRefund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request, RequestStatus

_PLAIN = (PaymentType.SINGLE, PaymentType.BATCH)


@frozen
class Archived:
    """A payable as a line of the archive has it, with the payments, refunds and other transfers of its requests."""

    payable: Payable
    payments: tuple[Payment, ...] = ()
    refunds: tuple[SentRefund, ...] = ()
    others: tuple[UnmatchedTransfer, ...] = ()

    @property
    def account_id(self) -> str:
        return self.payable.requests[0].account_id

    @property
    def payable_id(self) -> str:
        return self.payable.requests[0].payable_id

    @property
    def last_at(self) -> datetime:
        """When the last payment, refund or other transfer of the payable was made or found."""
        times = [max(each.at, each.detected_at) for each in (*self.payments, *self.refunds)]
        return max(times + [max(each.paid_at or each.detected_at, each.detected_at) for each in self.others])

    @property
    def records(self) -> tuple[Record, ...]:
        found = (self.payable.link, self.payable.announcements)
        stored = tuple(each for each in found if each is not None)
        return (*stored, *self.payable.requests, *self.payments, *self.refunds, *self.others)


def may_be_due(record: Record, before: datetime) -> bool:
    """Whether the payable of a link, or of a request without a link, can have been paid before an instant."""
    if isinstance(record, Link):
        return record.status is LinkStatus.COMPLETED and (record.completed_at or before) <= before
    if isinstance(record, Request) and record.link_token is None:
        return record.status is RequestStatus.PAID and record.created_at <= before
    return False


def is_finished(payable: Payable) -> bool:
    """Whether nothing can follow of a paid payable but what somebody sends unasked.

    Not of what other records name or read: commerce payments, off-ramp orders, what recurs, children of multicalls, and
    batches of merged links.
    """
    link = payable.link
    if link is not None and (
        link.status is not LinkStatus.COMPLETED
        or link.payment_type not in _PLAIN
        or link.parent_token is not None
        or link.merged_tokens
    ):
        return False
    if payable.commerce is not None or payable.order is not None or payable.is_locked:
        return False
    return bool(payable.requests) and all(_is_finished(each) for each in payable.requests)


def _is_finished(request: Request) -> bool:
    is_plain = request.recurrence is None and request.recurring_payment_id is None and request.fiat is None
    return is_plain and request.status is RequestStatus.PAID and not request.is_moved and not request.is_executed


def is_due(archived: Archived, before: datetime) -> bool:
    """Whether a finished payable had its last transfer before an instant. One without a listed payment is never due."""
    return bool(archived.payments) and archived.last_at <= before


def month_of(instant: datetime) -> str:
    """The month that an instant is in, in UTC: `2025-10`."""
    return instant.astimezone(UTC).strftime("%Y-%m")


def prefix_of(account_id: str, month: str) -> str:
    """What the names of all objects of an account and month begin with, in the form by which Athena knows columns."""
    return f"requests/account={account_id}/month={month}/"
