"""Creation of recurring payouts: what a merchant sends, the checks on it, and the permit for the payer to sign."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.addresses import ZERO_ADDRESS, address_of_family, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import Fee, parse_amount
from chalicelib.chains.calldata.recurring import SchedulePermit
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chains.catalogue.networks import relayer_limits
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.requests.calendar import MAX_PERIODS, due_at, period_seconds
from chalicelib.payments.requests.creation import check_start
from chalicelib.payments.requests.field_problems import Path, parse_field, refuse_field
from chalicelib.payments.requests.records import Frequency, Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.recurring.records import RecurringPayment

LARGEST_PAYMENT = 10**30
"""The most base units of one payment with its fee. DynamoDB counts with 38 digits: what a payer committed to fits in
them, up to some hundred thousand payouts of this size."""
FEWEST_PAYMENTS = 2
DEADLINE_AFTER = timedelta(days=90)
"""How long after its last date a permit can be used: for payments that were paused and are made up for."""
_LATEST_START = 2**32 - 1
_NONCE_BYTES = 15
"""As many random bytes as 38 digits hold. Together with the other members they make each permit unique."""


@frozen
class Plan:
    """When a recurring payout is paid and by whom, as sent."""

    start_date: str
    frequency: Frequency
    total_payments: int
    payer: str


@frozen
class Fees:
    """What the payer pays with each payment beside the amount: the platform's fee, and to the service's own account
    what `by_currency` has for the id of the token, or else the network's fee, in human-readable amounts. Each listed
    token is worth about a US dollar."""

    platform: Fee
    by_currency: Mapping[str, str]


def create_recurring(
    template: Request, plan: Plan, fees: Fees, path: Path, now: datetime, entropy: Entropy
) -> RecurringPayment:
    """The new recurring payout, which its payer has to sign. `path` is where the plan stands in the body.

    `template` is the request of a payout, checked but not written. Raises ValidationFailed or BadRequest.
    """
    _check_currency(template)
    start = check_start(plan.start_date, (*path, "startDate"), now)
    if not FEWEST_PAYMENTS <= plan.total_payments <= MAX_PERIODS:
        raise refuse_field(
            (*path, "totalPayments"),
            f"must be from {FEWEST_PAYMENTS} to {MAX_PERIODS}: the contract numbers payments with one byte",
        )
    payer, last = _payer(template, plan, path), _last_payment(start, plan, path)
    fee, relayer_fee = fees.platform, _relayer_fee(fees, currency_of(template))
    amount, fee_amount = template.amount, fee.on(template.amount)
    if amount + fee_amount + relayer_fee > LARGEST_PAYMENT:
        raise BadRequest("The amount with its fees is larger than a recurring payment can be: pay a part of it")
    recurring_id = ids.ulid(now, entropy)
    return RecurringPayment(
        recurring_id=recurring_id,
        template=replace(
            template,
            payer=payer,
            fee_percentage=fee.percentage,
            fee_address=fee.address,
            recurring_payment_id=recurring_id,
        ),
        permit=SchedulePermit(
            subscriber=payer,
            token=currency_of(template).address,
            recipient=template.payee,
            fee_address=fee.address if fee_amount and fee.address else ZERO_ADDRESS,
            amount=amount,
            fee_amount=fee_amount,
            relayer_fee=relayer_fee,
            period_seconds=period_seconds(start, plan.frequency, plan.total_payments),
            first_payment=int(start.timestamp()),
            total_payments=plan.total_payments,
            nonce=int.from_bytes(entropy(_NONCE_BYTES), "big"),
            deadline=int((last + DEADLINE_AFTER).timestamp()),
            strict_order=False,
        ),
        start=start,
        frequency=plan.frequency,
        created_at=now,
    )


def _last_payment(start: datetime, plan: Plan, path: Path) -> datetime:
    try:
        last = due_at(start, plan.frequency, plan.total_payments)
    except (ValueError, OverflowError):
        last = None
    if last is None or int(start.timestamp()) > _LATEST_START:
        raise refuse_field((*path, "startDate"), "is too late: the contract knows no dates after 2106-02-07")
    return last


def _relayer_fee(fees: Fees, token: Token) -> int:
    amount = fees.by_currency.get(token.id, relayer_limits(token.network).recurring_fee)
    return parse_amount(amount, token.decimals) if amount != "0" else 0


def _check_currency(template: Request) -> None:
    """Raises BadRequest unless the contract can pay the request: a fixed amount of an ERC-20 token."""
    token = currency_of(template)
    if template.network == "tron" or token.is_native:
        raise refuse_field(
            ("paymentCurrency",), f"{token.id} cannot be paid by recurring payouts: choose an ERC-20 token"
        )
    if template.invoice_currency is not None:
        raise refuse_field(
            ("invoiceCurrency",),
            f"must be {token.id}, as paymentCurrency: the payer of a recurring payout signs a fixed amount of a token",
        )
    try:
        address_of(RECURRING_PROXY, template.network)
    except LookupError:
        raise refuse_field(
            ("paymentCurrency",), f"is on {template.network}, where the contract of recurring payouts is not deployed"
        ) from None


def _payer(template: Request, plan: Plan, path: Path) -> str:
    where = (*path, "payer")
    payer = parse_field(where, lambda text: address_of_family(text, "evm"), plan.payer)
    if same_address(payer, template.payee):
        raise refuse_field(where, f"is the payee {template.payee}: give the wallet that pays")
    return payer
