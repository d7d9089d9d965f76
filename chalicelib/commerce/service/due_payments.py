"""Runs the commerce payments that are due: follows what is executed, collects what was pre-approved, tells expiries.

    by_due index ── run_due ── pending operation     its next steps
                               pre-approved          authorized, as if it had been asked for
                               expired               the merchant is notified (payments/recording/causes/postings.py)
                               open                  the books are compared with the escrow's, once a day
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

from chalicelib.base.errors import ChainUnavailable, Conflict
from chalicelib.base.turns import in_turn
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.commerce.core.expiry import has_ended, has_expired
from chalicelib.commerce.core.records import CommercePayment, OperationKind
from chalicelib.commerce.core.rules import Refusal, reserve
from chalicelib.commerce.service import execution, rules, store
from chalicelib.commerce.service.reading import read_until
from chalicelib.commerce.service.transactions import contracts_of, hash_for, token_address
from chalicelib.payments.events import number_events
from chalicelib.payments.links import store as link_store
from chalicelib.payments.recording.causes import postings
from chalicelib.payments.recording.reconciliation import reconcile_escrow
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer.delays import find_delays
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event

_DUE_PER_SHARD = 1_000
"""So many are read, a hundred at once; there is time for fewer."""
_TIME_PER_RUN = timedelta(seconds=40)
_STEPS_AT_ONCE = 4
"""How many steps of one payment one run takes, if none of them has to wait for the chain."""


def run_due(services: Services) -> int:
    """Looks at the payments that are due, one of each account in turn; returns at how many. One query for each shard of
    the index, and a read for each hundred payments.

    So who has many, such as payments that were pre-approved without tokens, delays but their own. A node that does not
    answer is asked no more in this run. A failure is logged and stops no other payment; raises SweepIncomplete then.
    """
    now, unavailable = services.clock(), set[str]()

    def run(payable_id: str) -> int:
        look(services, payable_id, unavailable)
        return 1

    due = store.due(services.store, now, _DUE_PER_SHARD, services.entropy(1)[0])
    with sweeping.Sweep(services.log) as sweep:
        found = sweep.read(partial(store.payments, services.store), due)
        turns = [each.payable_id for each in in_turn(found, lambda each: each.account_id)]
        in_time = sweeping.in_time(services.log, services.clock, now + _TIME_PER_RUN, turns)
        return sum(sweep.run(run, each) for each in in_time)


def look(services: Services, payable_id: str, unavailable: set[str]) -> None:
    """Takes the steps of a payment that can be taken now. A network that does not answer is added to `unavailable`; a
    payment of such a network is left for a later run."""
    for _ in range(_STEPS_AT_ONCE):
        payment, now = store.payment(services.store, payable_id), services.clock()
        if payment is None or payment.check_at is None or payment.check_at > now:
            return
        if payment.network in unavailable:
            return
        try:
            _step(services, payment, now)
        except ChainUnavailable as error:
            services.log.error("commerce payment waits", extra={"payable": payable_id, "reason": error.message})
            unavailable.add(payment.network)
        except WriteConflict:
            return  # another worker or the recorder was faster: looked at again


def _step(services: Services, payment: CommercePayment, now: datetime) -> None:
    if payment.pending is not None:
        execution.advance(services, payment)
    elif rules.may_collect(payment, now):
        _collect(services, payment, now)
    else:
        _close(services, payment, now)


def _collect(services: Services, payment: CommercePayment, now: datetime) -> None:
    """Authorizes what a payer has pre-approved. What the chain refuses now is tried again later."""
    try:
        execution.check_operator(services, payment)
        after = _authorize_next(services, payment, now)
    except Conflict as error:
        facts = {"payable": payment.payable_id, "reason": error.message}
        services.log.error("commerce payment is not collected", extra=facts)
        after = payment
    if after.pending is None:
        services.store.write(replace(after, check_at=rules.next_look(after, now)))


def _authorize_next(services: Services, payment: CommercePayment, now: datetime) -> CommercePayment:
    """The payment with the authorization of its next payer, if there is one whose calls do not wait."""
    known = _with_next_payer(services, payment)
    if known is None:
        return payment
    operation = rules.operation_of(known, OperationKind.AUTHORIZE, rules.Asked(), {})
    pending = reserve(known, operation, now)
    assert not isinstance(pending, Refusal), "it may be collected now"
    return execution.advance(services, execution.begin(services, known, pending))


def _with_next_payer(services: Services, payment: CommercePayment) -> CommercePayment | None:
    """The payment whose next payer is one that can pay now, if there is one: anybody may pre-approve an open payment,
    with tokens or without. Of several nodes each names some, as one alone could name a wallet without tokens each time:
    one that the chain refuses is the last to be tried again. None if the calls of all of them wait. Two reads, and a
    call to each node if there are several. Raises as `combine_answers`."""
    if payment.payer is not None:
        return payment
    approved = payment.pre_approved_by
    delays = find_delays(services, payment.network, approved)
    able: Sequence[str] = [each for each in approved if delays[each].reason is None]
    if len(able) > 1:
        contracts = contracts_of(payment, services.settings.escrow_contracts)
        wallets = {each: hash_for(payment, each, contracts) for each in able}
        found: tuple[str, ...] = combine_answers(
            services.chains.evm(payment.network),
            lambda node: node.read_able_payers(token_address(payment), payment.amount, wallets),
            lambda said: tuple(chain.from_iterable(said)),
        ).value
        able = found or able
    return replace(payment, pre_approved_by=tuple(sorted(approved, key=able.__contains__))) if able else None


def _close(services: Services, payment: CommercePayment, now: datetime) -> None:
    """Tells that a payment has expired, once its chain was read past that; compares its books with the escrow's.

    An expiry that is over by the clock alone is looked at again soon.
    """
    requests, events = tuple[Request, ...](), tuple[Event, ...]()
    after = replace(payment, check_at=rules.next_look(payment, now))
    until = read_until(services, payment)
    if has_ended(payment, until):
        payable = link_store.load_payable(services.store, payment.payable_id)
        assert payable is not None, "a payment has a link"
        after, event = postings.expire_payment(after, payable.requests[0], webhooks.event_context(services))
        if event is not None:
            requests, events = number_events(payable.requests[:1], [event])
    elif has_expired(payment, now):
        after = replace(after, check_at=now + rules.RETRY_DELAY)
    services.store.write(after, *requests, *events)
    webhooks.queue_publishing(services, events)
    reconcile_escrow(services, payment.payable_id)
