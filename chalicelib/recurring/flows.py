"""Creates recurring payouts, activates them by their payers' signatures, shows, cancels and resumes them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest, ChainUnavailable, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.payments.links.fees import rules as fees
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.access.callers import Owner, check_executes
from chalicelib.platform.access.ownership import check_changes, sees
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.pages import Listing, page_after
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.recurring import periods, rules, steps, store
from chalicelib.recurring.creation import Fees, Plan, create_recurring
from chalicelib.recurring.periods import Step
from chalicelib.recurring.records import RECURRING_PAYOUTS, Period, RecurringPayment
from chalicelib.relayer import flows as relayer_flows
from chalicelib.webhooks import flows as webhooks

CANCEL, UNPAUSE = "cancel", "unpause"


@frozen
class Allowance:
    """What the contract may take of a payer's token, and what it has to be allowed to take, in base units.

    `existing` is the part of `needed` that other recurring payouts of the payer take. `approvals` are the transactions
    that the payer has to send first.
    """

    needed: BaseUnits
    current: int
    existing: BaseUnits
    approvals: tuple[Transaction, ...]


@frozen
class Created:
    """A recurring payout that waits for the signature of its payer."""

    schedule: RecurringPayment
    allowance: Allowance


@frozen
class Cancelled:
    """A cancelled recurring payout, and the transactions that lower the payer's allowance to what others still take.

    There are none if the allowance is below that already.
    """

    schedule: RecurringPayment
    approvals: tuple[Transaction, ...]


def create(services: Services, owner: Owner, draft: Draft, fee: Fee, plan: Plan) -> Created:
    """Creates a recurring payout, which its payer has to sign. One read and one write, after everything was checked.

    Raises BadRequest with what to change, Forbidden if the client id may not create it or have it executed,
    ChainUnavailable if the node does not tell the payer's allowance.
    """
    check_executes(owner)
    template = requests.payout(services, owner, draft)
    family, own = family_of(currency_of(template)), own_addresses(services)
    charged = fees.resolve(fee, owner.settings.fee, family, own)
    each = Fees(charged, services.settings.recurring_relayer_fees)
    schedule = create_recurring(template, plan, each, ("recurrence",), services.clock(), services.entropy)
    if not relayer_flows.can_submit(services, schedule.network):
        raise BadRequest(
            f"This deployment makes no recurring payments on {schedule.network}: its operator has to set RELAYER_KEYS"
        )
    requests.check_limits(services, owner, (template,), charged.address if charged.is_charged else None)
    allowance = _allowance(services, schedule)
    requests.start_reading(services, (schedule.network,))
    services.store.write(schedule)
    return Created(schedule, allowance)


def activate(services: Services, owner: Owner, recurring_id: str, signature: str) -> RecurringPayment:
    """Activates a recurring payout by its payer's signature, and creates its first request. One query, one write.

    Raises NotFound, Forbidden, BadRequest, and WriteConflict after five conflicts.
    """

    def decide(schedule: RecurringPayment) -> Step:
        return rules.activate_schedule(schedule, signature, webhooks.event_context(services))

    return _change_schedule(services, owner, recurring_id, decide)


def find(services: Services, owner: Owner, recurring_id: str) -> tuple[RecurringPayment, tuple[Period, ...]]:
    """A recurring payout with its periods that have requests, as its payments are now (`_count_period`). Raises
    NotFound."""
    found, known = store.with_periods(services.store, recurring_id)
    step = _count_period(services, _check_payer(services, owner, found))
    changed = {each.number: each for each in step.records if isinstance(each, Period)}
    return step.schedule, tuple(changed.get(each.number, each) for each in known)


def find_unsigned(services: Services, owner: Owner, recurring_id: str) -> Created:
    """A recurring payout that waits for its payer, with what the payer has to allow now. Two reads, one or two calls to
    the node.

    Raises NotFound, BadRequest if it was signed or has ended, ChainUnavailable if the node does not tell the allowance.
    """
    schedule = _check_payer(services, owner, store.recurring(services.store, recurring_id))
    rules.check_unsigned(schedule)
    return Created(schedule, _allowance(services, schedule))


def list_own(
    services: Services, owner: Owner, cursor: str | None, limit: int
) -> tuple[list[RecurringPayment], str | None]:
    """A page of the account's recurring payouts, newest first, of those that the owner sees, and the cursor of the next
    page. Those that nobody has signed for 30 days are left out."""
    listing = Listing(owner.account_id, RECURRING_PAYOUTS, {})
    page, now = page_after(services.store, RecurringPayment, listing, cursor, limit), services.clock()
    found = [each for each in page.records if sees(owner, each) and not _is_over(each, now)]
    return found, page.cursor


def cancel(services: Services, owner: Owner, recurring_id: str) -> Cancelled:
    """Cancels a recurring payout; a payment that was sent before can still be made. One query, one write, two reads.

    Raises NotFound, Forbidden, BadRequest if it has ended, and WriteConflict after five conflicts.
    """
    after = _change_schedule(services, owner, recurring_id, lambda each: rules.cancel_schedule(each, services.clock()))
    kept = store.commitment(services.store, periods.commitment_of(after)).committed
    with suppress(ChainUnavailable):
        current = _current_allowance(services, after)
        return Cancelled(after, _approvals(services, after, kept, current) if current > kept else ())
    return Cancelled(after, (_approve(after, kept),))


def resume(services: Services, owner: Owner, recurring_id: str) -> RecurringPayment:
    """Resumes a paused recurring payout, whose missed payments are made now. One query, one write.

    Raises NotFound, BadRequest if it is not paused, Forbidden for a credential that does not change or execute it,
    and WriteConflict after five conflicts.
    """
    check_executes(owner)
    return _change_schedule(services, owner, recurring_id, lambda each: rules.resume_schedule(each, services.clock()))


def change(services: Services, owner: Owner, recurring_id: str, action: str) -> Cancelled | RecurringPayment:
    """Cancels or resumes a recurring payout. Raises BadRequest for another action, and as `cancel` and `resume`."""
    if action == CANCEL:
        return cancel(services, owner, recurring_id)
    if action == UNPAUSE:
        return resume(services, owner, recurring_id)
    raise BadRequest(f"Invalid action: {action[:80]}")


@retry_conflicts(5)
def _change_schedule(
    services: Services, owner: Owner, recurring_id: str, decide: Callable[[RecurringPayment], Step]
) -> RecurringPayment:
    schedule = _check_payer(services, owner, store.recurring(services.store, recurring_id))
    check_changes(owner, schedule)
    step = _after(_count_period(services, schedule), decide)
    steps.write(services, schedule, step)
    return step.schedule


def _count_period(services: Services, schedule: RecurringPayment) -> Step:
    """What counts the payment of the period in work, if that is recorded: merchants are notified of it at once, and the
    run that counts it comes up to a minute later. One read if there is a request, one query more if it is paid."""
    if schedule.request_id is None:
        return Step(schedule)
    known = store.in_work(services.store, [schedule], ())
    request, period = known.requests.get(schedule.request_id), known.periods.get(schedule.recurring_id)
    if request is None or period is None or not periods.is_paid(request):
        return Step(schedule)
    payment = store.completing_payment(services.store, request)
    return periods.count_period(schedule, period, payment, services.clock())


def _after(first: Step, decide: Callable[[RecurringPayment], Step]) -> Step:
    """A decision about a recurring payout that another step has changed, as one step of both."""
    second = decide(first.schedule)
    return replace(second, records=(*first.records, *second.records), events=(*first.events, *second.events))


def _check_payer(services: Services, owner: Owner, schedule: RecurringPayment | None) -> RecurringPayment:
    if schedule is None or not sees(owner, schedule):
        raise NotFound("Recurring payment not found")
    if _is_over(schedule, services.clock()):
        raise NotFound("Recurring payment not found")
    return schedule


def _is_over(schedule: RecurringPayment, now: datetime) -> bool:
    """Whether nobody has signed it in time, though it may not be deleted yet."""
    return schedule.vanishes_at is not None and schedule.vanishes_at <= now


def _allowance(services: Services, schedule: RecurringPayment) -> Allowance:
    """What the payer has to allow with a new recurring payout. One read, one or two calls to the node."""
    current = _current_allowance(services, schedule)
    existing = store.commitment(services.store, periods.commitment_of(schedule)).committed
    needed = BaseUnits(existing + schedule.remaining)
    approvals = _approvals(services, schedule, needed, current) if current < needed else ()
    return Allowance(needed, current, existing, approvals)


def _current_allowance(services: Services, schedule: RecurringPayment) -> int:
    return steps.holdings(services, schedule).allowance


def _approvals(services: Services, schedule: RecurringPayment, amount: int, current: int) -> tuple[Transaction, ...]:
    """The approval of an amount, after a withdrawal if the token refuses to change an allowance that is not zero."""
    grant = _approve(schedule, amount)
    if amount and current and amount != current:
        chain = services.chains.of(schedule.network)
        if chain.which_revert(schedule.permit.subscriber, [grant])[0]:
            return _approve(schedule, 0), grant
    return (grant,)


def _approve(schedule: RecurringPayment, amount: int) -> Transaction:
    return erc20.approve(schedule.permit.token, address_of(RECURRING_PROXY, schedule.network), amount)
