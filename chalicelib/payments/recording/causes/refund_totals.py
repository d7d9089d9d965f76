"""What a refund of a request's own token changes: its totals, and a line among the payments of its account.

    received    what the payments of the request moved, in base units of its token
    refunded    what of that was returned, never more: anybody can send more with the reference of a refund

A refund in another token returns what never counted, and changes neither. Nor do small refunds after many: anybody can
send dust, and each line is stored. What the escrow returns of a commerce payment counts as its event says, fees too.
"""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.records import Payable
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.recording.matching import MAX_SMALL_PAYMENTS, SMALL_PART, new_line
from chalicelib.payments.recording.valuation import Valuation
from chalicelib.payments.requests.payments.records import Direction, PaymentStatus, Refund, SentRefund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import LoggedTransfer


def count_refund(
    payable: Payable,
    request: Request,
    refund: Refund,
    transfer: LoggedTransfer,
    known: SentRefund | None,
    dollar_rate: Rate | None,
    now: datetime,
) -> tuple[Request, SentRefund | None]:
    """The request after a transfer sent a refund of it, and its line; None if nothing of it counts."""
    if known is not None and known.status is PaymentStatus.CONFIRMED:
        return request, known
    amount = BaseUnits(min(transfer.amount, max(request.received - request.refunded, 0)))
    is_dust = _is_small(transfer.amount, request) and request.refund_count >= MAX_SMALL_PAYMENTS
    if refund.currency != request.currency or not amount or is_dust:
        return request, None
    valuation = Valuation(BaseUnits(request.paid * amount // request.received), dollar_rate=dollar_rate)
    line = _line(payable, request, transfer, refund.payer, amount, valuation, now)
    return _with(request, amount), replace(line, version=known.version if known is not None else 0)


def count_escrow_refund(
    payable: Payable,
    request: Request,
    transfer: LoggedTransfer,
    known: SentRefund | None,
    dollar_rate: Rate | None,
    now: datetime,
) -> tuple[Request, SentRefund]:
    """The request after the escrow sent a refund of a commerce payment, and its line: a transfer to the payer."""
    if known is not None and known.status is PaymentStatus.CONFIRMED:
        return request, known
    valuation = Valuation(transfer.amount, dollar_rate=dollar_rate)
    line = _line(payable, request, transfer, transfer.payee, transfer.amount, valuation, now)
    return _with(request, transfer.amount), replace(line, version=known.version if known is not None else 0)


def is_noticed(request: Request, sent: SentRefund | None) -> bool:
    """Whether a refund returns a part of a request that is not small."""
    return sent is not None and not _is_small(sent.amount, request)


def remove_refund(request: Request, sent: SentRefund) -> tuple[Request, SentRefund]:
    """The request and the line without a refund that a fork has removed."""
    if sent.status is PaymentStatus.REVERSED:
        return request, sent
    after = replace(
        request,
        refunded=BaseUnits(request.refunded - sent.amount),
        refund_count=request.refund_count - 1,
    )
    return after, replace(sent, status=PaymentStatus.REVERSED)


def _is_small(amount: BaseUnits, request: Request) -> bool:
    return amount * SMALL_PART < request.received


def _with(request: Request, amount: BaseUnits) -> Request:
    refunded = BaseUnits(request.refunded + amount)
    return replace(request, refunded=refunded, refund_count=request.refund_count + 1)


def _line(
    payable: Payable,
    request: Request,
    transfer: LoggedTransfer,
    payee: str,
    amount: BaseUnits,
    valuation: Valuation,
    now: datetime,
) -> SentRefund:
    return replace(
        new_line(SentRefund, payable, request, transfer, valuation, now),
        amount=amount,
        fee_amount=BaseUnits(0),
        fee_address="",
        payer=transfer.payer or request.payee,
        payee=payee,
        direction=Direction.OUT,
    )
