"""Executes a refund, whose tokens come from the merchant's wallet and pass through the service's own account.

    take    transferFrom of the merchant, by its allowance to the service's account
    approve the amount, or all that is in the service's account if that is more, for the escrow's collector of refunds;
            right after the take, whose end it does not need, unless that much is approved
    spend   the refund; or, if it cannot be made any more, the transfer back to the merchant
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.errors import Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.commerce.core.expiry import is_too_late
from chalicelib.commerce.core.records import CommercePayment, PendingOperation
from chalicelib.commerce.service import operation_steps, rules
from chalicelib.commerce.service.transactions import contracts_of, operation_call, token_address
from chalicelib.platform.services import Services
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.custody import MOST_SPENDS, Custody, Next, approve, find_next
from chalicelib.relayer.records import CallStatus, Taking
from chalicelib.relayer.rules import SENT_BEFORE, Submission, SubmissionStatus

RETURNED_AFTER = timedelta(minutes=30)
"""How long after its beginning a refund is tried whose tokens were taken, before the merchant has them back."""
OVERDUE_AFTER = timedelta(hours=1)
"""After that somebody has to look: they can neither be refunded nor given back."""
TAKE, APPROVE, SPEND = "take", "approve", "spend"
RETURNED = "the refund could not be made, and the merchant has the tokens back"


def check_funds(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Raises Conflict unless the tokens can be taken from the merchant's wallet: at most what it has received, and has
    allowed to the service's account, as every node says that answers: one alone could stop all refunds. What one of
    them is wrong to say is seen when the taking is run. One call to each node. Raises as `combine_answers`."""
    most = rules.most_returned(payment)
    if pending.amount > most:
        raise Conflict(
            f"The merchant has received {most} base units that were not refunded, as fees are not taken back: "
            "refund at most that, or send the rest from your own wallet"
        )
    token, account = token_address(payment), payment.operator
    found = combine_answers(
        services.chains.evm(payment.network),
        lambda node: node.read_wallet(payment.receiver, [token], account).tokens[token],
        lambda said: max(said, key=lambda each: min(each.balance, each.allowance, pending.amount)),
    ).value
    if found.balance < pending.amount:
        raise Conflict(f"The merchant's wallet {payment.receiver} has {found.balance} base units of {payment.currency}")
    if found.allowance < pending.amount:
        raise Conflict(
            f"The merchant's wallet {payment.receiver} has allowed {found.allowance} base units of "
            f"{payment.currency} to {account}: it has to approve at least {pending.amount} there first"
        )


def start_refund(payment: CommercePayment, pending: PendingOperation) -> PendingOperation:
    """A reserved refund with the keys of its first calls."""
    keys = (rules.call_key(payment, pending, f"{APPROVE}/1"), rules.call_key(payment, pending, f"{TAKE}/1"))
    return replace(pending, step=TAKE, call_keys=keys)


def advance(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment:
    """The payment after the next step of its refund: the tokens are taken, or given to the payer."""
    return _take(services, payment, pending) if pending.step == TAKE else _spend(services, payment, pending)


def _take(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment:
    key, custody = pending.call_keys[-1], _custody(payment, pending)
    known = relayer_flows.outcome(services, key)
    if known is None and rules.gives_up(payment, pending, services.clock()):
        return operation_steps.give_up(services, payment, key, rules.TOO_LATE)
    if known is None:
        made = erc20.transfer_from(custody.token, payment.receiver, custody.account, custody.amount)
        takes = Taking(payment.receiver, custody.token, custody.account, custody.amount)
        submission = operation_steps.submit(services, payment, key, made, takes, custody.move(inward=True))
        if submission.status is SubmissionStatus.ACCEPTED:
            _approve(services, payment, pending)
        return operation_steps.after_submission(services, payment, submission)
    if known.status is not CallStatus.SUCCEEDED:
        return operation_steps.after_outcome(services, payment, known)
    return _go_on(services, payment, pending, SPEND)


def _spend(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment:
    """Has what was taken refunded, or returned: each key accepts one call, whichever of the two came first."""
    custody = _custody(payment, pending)
    following, known = find_next(services, custody, rules.call_key(payment, pending, f"{TAKE}/1"))
    if known is not None and operation_steps.has_event_to_come(services, payment, known):
        return operation_steps.keep(services, payment)
    if following is Next.SPEND_AGAIN:
        return _go_on(services, payment, pending, SPEND)
    if following is Next.RETURNED:
        return operation_steps.go_back(services, payment, RETURNED)
    if following is not Next.SUBMIT:
        if known is None:
            return operation_steps.keep(services, payment)
        return operation_steps.after_outcome(services, payment, known)
    _watch(services, payment, pending)
    if is_returned(payment, pending, services.clock()):
        made = erc20.transfer(custody.token, payment.receiver, custody.amount)
    else:
        following = _approve(services, payment, pending)
        if following is Next.APPROVE_AGAIN:
            return _go_on(services, payment, pending, APPROVE)
        if following is Next.WAIT:
            return operation_steps.keep(services, payment)
        made = operation_call(payment, pending, contracts_of(payment, services.settings.escrow_contracts))
    key = rules.call_key(payment, pending, f"{SPEND}/{custody.spends}")
    submission = operation_steps.submit(services, payment, key, made, moves=custody.move(inward=False))
    sent = relayer_flows.find_hash(services, key) if submission.status is SubmissionStatus.ACCEPTED else None
    return operation_steps.keep(services, replace(payment, pending=replace(pending, transaction_hash=sent)))


def _go_on(services: Services, payment: CommercePayment, pending: PendingOperation, step: str) -> CommercePayment:
    """Writes the refund, whose tokens were taken, with the key of its next call of a step, made at once."""
    key = rules.call_key(payment, pending, f"{step}/{_count_calls(pending, step) + 1}")
    after = replace(pending, step=SPEND, call_keys=(*pending.call_keys, key), transaction_hash=None)
    return services.store.write(replace(payment, pending=after))


def is_returned(payment: CommercePayment, pending: PendingOperation, now: datetime) -> bool:
    """Whether the tokens that were taken go back to the merchant, and no refund is tried any more: so long before
    its expiry that none is reverted for that."""
    is_late = is_too_late(payment, pending.kind, now + SENT_BEFORE) or now > pending.submitted_at + RETURNED_AFTER
    return is_late or _count_calls(pending, SPEND) > MOST_SPENDS or pending.amount > payment.refundable


def _approve(services: Services, payment: CommercePayment, pending: PendingOperation) -> Next:
    """Has the escrow's collector of refunds allowed to take the tokens, also before they are there."""
    spender = contracts_of(payment, services.settings.escrow_contracts).operator_refund

    def submit(step: str, made: Transaction) -> Submission:
        return operation_steps.submit(services, payment, rules.call_key(payment, pending, step), made)

    return approve(services, _custody(payment, pending), spender, submit)


def _custody(payment: CommercePayment, pending: PendingOperation) -> Custody:
    counts = _count_calls(pending, APPROVE), _count_calls(pending, SPEND)
    owner, token = f"commerce/{payment.request_id}/{pending.number}", token_address(payment)
    return Custody(owner, payment.network, payment.operator, token, BaseUnits(pending.amount), *counts)


def _watch(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Logs tokens that are in the service's account for long; an alarm is made of it (infra/alarms.py)."""
    if services.clock() > pending.submitted_at + OVERDUE_AFTER:
        facts = {"payable": payment.payable_id, "network": payment.network, "account": payment.operator}
        reason = operation_steps.trouble(services, payment)
        services.log.error("commerce refund overdue", extra={**facts, "amount": pending.amount, "reason": reason})


def _count_calls(pending: PendingOperation, step: str) -> int:
    return sum(f"/{step}/" in each for each in pending.call_keys)
