"""Makes the payments that payers have signed: takes the tokens, brings them into the bridge or back, follows them.

    by_due index ── run_due ── TAKING   relayer: permit, take
                               TAKEN    relayer: approve, spend (a route of the bridge, or a transfer to the payer)
                               BRIDGED  both chains, as for every payment from another chain

Every look at a payment intent may be repeated, or made by two workers at once (relayer/custody.py).
"""

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.base.turns import in_turn
from chalicelib.chains.calldata.tokens import erc20, erc2612
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.agreement import read_agreed_code
from chalicelib.crosschain.service.payment_intents import locked_rates, locks, rules, stages, store
from chalicelib.crosschain.service.payment_intents.flows import is_wanted, trouble
from chalicelib.crosschain.service.payment_intents.hints import queue_look
from chalicelib.crosschain.service.payment_intents.locks import facts_of
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.router import flows as router
from chalicelib.payments.announcements.checks import check_transactions
from chalicelib.payments.links.records import Payable
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.custody import Next, approve, find_next
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Submission, SubmissionStatus

_DUE_PER_SHARD = 1_000
"""So many are read, a hundred at once; there is time for fewer."""
_TIME_PER_RUN = timedelta(seconds=40)
_STEPS_AT_ONCE = 4
"""How many steps of one payment intent one run takes, if none of them has to wait for a chain."""
UNDONE = "a fork of the chain has undone the taking of the tokens"
GIVEN_BACK = "The payment could not be brought to the chain of the request, and the payer has it back"


def run_due(services: Services) -> int:
    """Takes the next steps of payment intents that are due, of one of each account in turn; returns how many were
    looked at. One query for each shard, and a read for each hundred payment intents.

    A node that does not answer is asked no more in this run. A failure is logged and stops no other payment intent;
    raises SweepIncomplete then.
    """
    now, unavailable = services.clock(), set[str]()

    def run(intent_id: str) -> int:
        advance(services, intent_id, unavailable)
        return 1

    due = store.due(services.store, now, _DUE_PER_SHARD, services.entropy(1)[0])
    with sweeping.Sweep(services.log) as sweep:
        found = sweep.read(partial(store.payment_intents, services.store), due)
        turns = [each.intent_id for each in in_turn(found, lambda each: each.account_id)]
        in_time = sweeping.in_time(services.log, services.clock, now + _TIME_PER_RUN, turns)
        return sum(sweep.run(run, each) for each in in_time)


def follow_payment_intent(services: Services, body: str) -> None:
    """Takes the steps of the payment intent that a message names, and queues the next look at it."""
    intent_id = json.loads(body)["paymentIntent"]
    advance(services, intent_id, set())
    intent = store.payment_intent(services.store, intent_id)
    if intent is not None:
        queue_look(services, intent)


def advance(services: Services, intent_id: str, unavailable: set[str]) -> None:
    """Takes the steps of a payment intent that can be taken now. A network that does not answer is added to
    `unavailable`; a payment intent of such a network is left for a later run."""
    for _ in range(_STEPS_AT_ONCE):
        intent = store.payment_intent(services.store, intent_id)
        if intent is None or intent.check_at is None or intent.check_at > services.clock():
            return
        if intent.network in unavailable:
            return
        _watch(services, intent)
        try:
            _step(services, intent)
        except ChainUnavailable as error:
            services.log.error("payment intent waits", extra={**facts_of(intent), "reason": error.message})
            unavailable.add(intent.network)
        except WriteConflict:
            return  # another worker was faster, or a payment of the request was recorded: looked at again


def _step(services: Services, intent: PaymentIntent) -> None:
    request = request_store.request(services.store, intent.request_id)
    assert request is not None, "a payment intent is of a stored request"
    if intent.stage is Stage.TAKING:
        _take(services, intent, request)
    elif intent.stage is Stage.TAKEN:
        _spend(services, intent, request)
    elif intent.stage is Stage.BRIDGED:
        _follow(services, intent, request)


def _take(services: Services, intent: PaymentIntent, request: Request) -> None:
    """Has the tokens taken, until that is done or can be done no more."""
    now, known = services.clock(), relayer_flows.outcome(services, stages.call_key(intent, "take"))
    following = stages.after_take(intent, known.status if known is not None else None, now)
    if following is Next.TAKEN:
        services.store.write(stages.enter_taken(intent, now), *locked_rates.begin_lock(intent, now))
    elif following is Next.WAIT:
        services.store.write(stages.postpone_check(intent, now))
    elif following is Next.FAIL:
        why = known.reason if known is not None else intent.reason
        late = f"{locks.NOTHING_TAKEN} before its deadline"
        locks.end(services, replace(intent, reason=f"{late}: {why}" if why else late), request, End.FAILED)
    elif (gone := _why_gone(services, intent)) is not None:
        locks.give_up(services, intent, request, gone)
    else:
        refused, is_last = None, False
        if stages.may_take(intent, now) and is_wanted(services, request):
            refused = trouble(services, intent)
            if refused is None:
                refused, is_last = _submit_take(services, intent)
        if refused is not None and is_last and rules.may_contradict(intent, now):
            locks.give_up(services, intent, request, refused)
        else:
            services.store.write(stages.postpone_check(replace(intent, reason=refused or intent.reason), now))


def _why_gone(services: Services, intent: PaymentIntent) -> str | None:
    """Why the tokens cannot be taken any more, though no call was accepted that takes them. At most one call to
    each node of the source. Raises ChainUnavailable."""
    return locks.why_gone(services, intent) if rules.may_contradict(intent, services.clock()) else None


def _submit_take(services: Services, intent: PaymentIntent) -> tuple[str | None, bool]:
    """Submits the call that takes the tokens, and while it would be reverted the approval if one was signed; returns
    why the first is not accepted, and whether it never will be: the payer's code refuses it as it would be sent, though
    it may not in a dry run (_gone).

    The approval may be refused because somebody else has sent it: what counts is whether the tokens can be taken.
    """
    is_contract = read_agreed_code(services.chains.evm(intent.network), intent.payer)
    (taken,) = relayer_flows.submit(
        services, [stages.call_of(intent, "take", stages.take_call(intent), is_contract)]
    )
    is_last = is_contract.value and taken.status is SubmissionStatus.REFUSED
    if taken.status is SubmissionStatus.REFUSED and intent.approval_signature and intent.token_permit is not None:
        permit = erc2612.permit_transaction(intent.token_permit, bytes.fromhex(intent.approval_signature[2:]))
        (approved,) = relayer_flows.submit(services, [stages.call_of(intent, "permit", permit, is_contract)])
        is_last = is_last and not _may_come(services, approved)
    return _refusal(services, intent, taken), is_last


def _may_come(services: Services, approval: Submission) -> bool:
    """Whether an approval that was submitted is still to have its effect. One read at most."""
    if approval.status is not SubmissionStatus.ACCEPTED:
        return approval.status is not SubmissionStatus.REFUSED
    known = relayer_flows.outcome(services, approval.key)
    return known is None or known.status is CallStatus.UNKNOWN


def _spend(services: Services, intent: PaymentIntent, request: Request) -> None:
    """Has the tokens that were taken brought into the bridge, or back to the payer.

    After a fork that gave them back to the payer others' tokens may be in the account: those are not spent.
    """
    now = services.clock()
    following, known = find_next(services, stages.custody_of(intent), stages.call_key(intent, "take"))
    if following is Next.FAIL:  # since a deep fork
        locks.end(services, replace(intent, reason=locks.NOTHING_TAKEN), request, End.FAILED)
    elif following is Next.SUBMIT:
        reason = trouble(services, intent)
        after = replace(intent, reason=reason) if reason else _submit_spend(services, intent, request)
        services.store.write(stages.postpone_check(after, now))
    elif following in (Next.UNDONE, Next.WAIT) or known is None:
        reason = UNDONE if following is Next.UNDONE else intent.reason
        services.store.write(stages.postpone_check(replace(intent, reason=reason), now))
    elif following is Next.SPEND_AGAIN:
        services.store.write(replace(intent, spends=intent.spends + 1, reason=known.reason, check_at=now))
    elif following is Next.RETURNED:
        back = replace(intent, returned_by=known.tx_hash, reason=GIVEN_BACK)
        locks.end(services, back, request, End.REFUNDED)
    else:
        assert known.tx_hash is not None, "a call that succeeded has a transaction"
        services.store.write(stages.enter_bridged(intent, request, known.tx_hash, now))


def _submit_spend(services: Services, intent: PaymentIntent, request: Request) -> PaymentIntent:
    """Submits the call that spends the tokens, if there is one now. The payment intent has as its reason why there is
    none, or why it is not accepted."""
    custody = stages.custody_of(intent)
    if stages.is_given_up(intent, services.clock()) or not is_wanted(services, request):
        made = erc20.transfer(custody.token, intent.payer, custody.amount)
    else:
        try:
            route = router.quote(services, rules.question_of(intent, request), rules.purpose_of(intent))
        except BadRequest as error:
            return replace(intent, reason=error.message)
        deposit = stages.deposit_of(intent, route)
        if deposit is None:
            return replace(intent, reason="every route takes more than was signed and taken")
        following = approve(services, custody, deposit.to, partial(_submit, services, intent))
        if following is not Next.SUBMIT:
            approvals = intent.approvals + (following is Next.APPROVE_AGAIN)
            return replace(intent, approvals=approvals, reason="the bridge's contract is being approved")
        made = deposit
    submission = _submit(services, intent, f"spend/{intent.spends}", made)
    return replace(intent, reason=_refusal(services, intent, submission))


def _submit(services: Services, intent: PaymentIntent, step: str, made: Transaction) -> Submission:
    (submission,) = relayer_flows.submit(services, [stages.call_of(intent, step, made)])
    return submission


def _follow(services: Services, intent: PaymentIntent, request: Request) -> None:
    """Follows the payment in the bridge; what was recorded of the request by then is read before it ends."""
    before = intent.announced
    assert before is not None, "it is in the bridge"
    spent = relayer_flows.outcome(services, stages.call_key(intent, f"spend/{intent.spends}"))
    if spent is not None and (spent.status, spent.tx_hash) != (CallStatus.SUCCEEDED, before.transaction_hash):
        services.store.write(stages.undone(intent, services.clock()))  # by a deep fork: it is seen what became of it
        return
    checked = check_transactions(
        services,
        Payable((request,)),
        lambda: Payable((request_store.request(services.store, intent.request_id) or request,)),
        [before],
        set(),
        offered=stages.amount_counted(intent),
    )
    made, rate = checked.conclusion, locked_rates.lock_of_deposit(services, intent, checked.observed[0])
    changed = stages.follow_bridge(intent, made.transactions[0], services.clock())
    if stages.is_contradicted(changed, made.transactions[0]):
        services.log.error("payment intent overdue", extra={**facts_of(changed), "reason": changed.reason})
    if changed.end is None:
        services.store.write(changed, *rate)
    else:
        (request,) = checked.payable.requests
        locks.write(services, changed, request, (*made.payments, *made.counts, *rate), made.events)


def _refusal(services: Services, intent: PaymentIntent, submission: Submission) -> str | None:
    if submission.status is SubmissionStatus.ACCEPTED:
        return None
    services.log.warning("payment intent refused", extra={**facts_of(intent), "reason": submission.reason})
    return submission.reason


def _watch(services: Services, intent: PaymentIntent) -> None:
    """Logs tokens that are in the service's account for long; an alarm is made of it (infra/alarms.py)."""
    if stages.is_overdue(intent, services.clock()):
        services.log.error("payment intent overdue", extra={**facts_of(intent), "reason": intent.reason})
