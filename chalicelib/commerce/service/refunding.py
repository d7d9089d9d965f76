"""Executes a refund, whose tokens come from the merchant's wallet and pass through the service's own account.

    take    transferFrom of the merchant, by its allowance to the service's account
    approve the amount, or all that is in the service's account if that is more, for the escrow's collector of refunds;
            right after the take, whose end it does not need
    spend   the refund; or, if it cannot be made any more, the transfer back to the merchant

The service's account has tokens of others on their way, too. So nothing is spent before exactly as much was taken for
it, as deep in the chain as confirmations demand, by the relayer's ledger, and only by a call whose key is a `spend`;
the next number is used only after the call of the last one is proven to have failed.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.commerce.core.expiry import is_too_late
from chalicelib.commerce.core.records import CommercePayment, PendingOperation
from chalicelib.commerce.service import rules, steps
from chalicelib.commerce.service.calls import contracts_of, operation_call, token_address
from chalicelib.platform.services import Services
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import CallStatus, Taking
from chalicelib.relayer.rules import SubmissionStatus

RETURNED_AFTER = timedelta(minutes=30)
"""How long after its beginning a refund is tried whose tokens were taken, before the merchant has them back."""
OVERDUE_AFTER = timedelta(hours=1)
"""After that somebody has to look: they can neither be refunded nor given back."""
MOST_SPENDS = 5
TAKE, APPROVE, SPEND = "take", "approve", "spend"
RETURNED = "the refund could not be made, and the merchant has the tokens back"


def check_funds(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Raises Conflict unless the tokens can be taken from the merchant's wallet: at most what it has received, and has
    allowed to the service's account. One call to the node; raises ChainUnavailable."""
    most = rules.most_returned(payment)
    if pending.amount > most:
        raise Conflict(
            f"The merchant has received {most} base units that were not refunded, as fees are not taken back: "
            "refund at most that, or send the rest from your own wallet"
        )
    token, account = token_address(payment), payment.operator
    found = services.chains.evm(payment.network).read_wallet(payment.receiver, [token], account).tokens[token]
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
    key = pending.call_keys[-1]
    known = relayer_flows.outcome(services, key)
    if known is None and rules.gives_up(payment, pending, services.clock()):
        return steps.give_up(services, payment, key, rules.TOO_LATE)
    if known is None:
        token, taking = token_address(payment), BaseUnits(pending.amount)
        made = erc20.transfer_from(token, payment.receiver, payment.operator, taking)
        takes = Taking(payment.receiver, token, payment.operator, taking)
        submission = steps.submit(services, payment, key, made, takes, _move(payment, pending, inward=True))
        if submission.status is SubmissionStatus.ACCEPTED:
            _approve(services, payment, pending)
        return steps.after_submission(services, payment, submission)
    if known.status is not CallStatus.SUCCEEDED:
        return steps.after_outcome(services, payment, known)
    first = rules.call_key(payment, pending, f"{SPEND}/1")
    taken = replace(pending, step=SPEND, call_keys=(*pending.call_keys, first), transaction_hash=None)
    return steps.go_on(services, replace(payment, pending=taken))


def _spend(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment:
    """Has what was taken refunded, or returned: each key accepts one call, whichever of the two came first."""
    key = _keys(pending, SPEND)[-1]
    known = relayer_flows.find_accepted(services, key)
    if known is not None:
        return _after_spend(services, payment, pending, *known)
    (take,) = _keys(pending, TAKE)
    taken = relayer_flows.outcome(services, take)
    if taken is None or taken.status is not CallStatus.SUCCEEDED:  # since a fork deeper than the confirmations
        return steps.keep(services, payment) if taken is None else steps.after_outcome(services, payment, taken)
    _watch(services, payment, pending)
    if is_returned(payment, pending, services.clock()):
        made = erc20.transfer(token_address(payment), payment.receiver, pending.amount)
    else:
        if (not_yet := _submit_approval(services, payment, pending)) is not None:
            return not_yet
        made = operation_call(payment, pending, contracts_of(payment, services.settings.escrow_contracts))
    submission = steps.submit(services, payment, key, made, moves=_move(payment, pending, inward=False))
    assert payment.pending is not None
    sent = relayer_flows.find_hash(services, key) if submission.status is SubmissionStatus.ACCEPTED else None
    return steps.keep(services, replace(payment, pending=replace(payment.pending, transaction_hash=sent)))


def _after_spend(
    services: Services, payment: CommercePayment, pending: PendingOperation, outcome: Outcome, made: Transaction
) -> CommercePayment:
    if outcome.status is CallStatus.UNKNOWN or steps.has_event_to_come(services, payment, outcome):
        return steps.keep(services, payment)
    if outcome.status is not CallStatus.SUCCEEDED:  # it never can be executed any more
        following = rules.call_key(payment, pending, f"{SPEND}/{len(_keys(pending, SPEND)) + 1}")
        again = replace(pending, call_keys=(*pending.call_keys, following), transaction_hash=None)
        return steps.go_on(services, replace(payment, pending=again))
    if same_address(made.to, token_address(payment)):
        return steps.go_back(services, payment, RETURNED)
    return steps.after_outcome(services, payment, outcome)


def is_returned(payment: CommercePayment, pending: PendingOperation, now: datetime) -> bool:
    """Whether the tokens that were taken go back to the merchant, and no refund is tried any more."""
    is_late = is_too_late(payment, pending.kind, now) or now > pending.submitted_at + RETURNED_AFTER
    return is_late or len(_keys(pending, SPEND)) > MOST_SPENDS or pending.amount > payment.refundable


def _submit_approval(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment | None:
    """None if the collector of refunds may take the amount; else the payment as it is stored, after a call was
    submitted that approves it.

    Another refund may need an approval at the same time, and replace one that was submitted before the tokens of this
    one were there: then it is made again.
    """
    token, spender = token_address(payment), _collector(services, payment)
    reading = services.chains.evm(payment.network).read_wallet(payment.operator, [token], spender)
    if reading.tokens[token].allowance >= pending.amount:
        return None
    keys = _keys(pending, APPROVE)
    known = relayer_flows.outcome(services, keys[-1])
    if known is not None and known.status is not CallStatus.UNKNOWN:
        following = rules.call_key(payment, pending, f"{APPROVE}/{len(keys) + 1}")
        more = replace(pending, call_keys=(*pending.call_keys, following))
        return steps.go_on(services, replace(payment, pending=more))
    if known is None:
        _approve(services, payment, pending)
    return steps.keep(services, payment)


def _approve(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Submits the approval, by the newest of its keys: of all that is in the service's account. Were it of the amount
    alone, refunds of others, of next to nothing, would replace it again and again. The collector takes only what an
    operation of the service's own account tells it to."""
    key, token, spender = _keys(pending, APPROVE)[-1], token_address(payment), _collector(services, payment)
    reading = services.chains.evm(payment.network).read_wallet(payment.operator, [token], spender)
    amount = max(reading.tokens[token].balance, pending.amount)
    submission = steps.submit(services, payment, key, erc20.approve(token, spender, amount))
    if submission.status is SubmissionStatus.REFUSED:  # some tokens refuse to change what is not zero
        steps.submit(services, payment, key, erc20.approve(token, spender, 0))


def _move(payment: CommercePayment, pending: PendingOperation, inward: bool) -> Move:
    """The tokens of a refund on their way into the service's account, or out of it."""
    owner = f"commerce/{payment.request_id}/{pending.number}"
    return Move(owner, token_address(payment), BaseUnits(pending.amount), inward)


def _collector(services: Services, payment: CommercePayment) -> str:
    return contracts_of(payment, services.settings.escrow_contracts).operator_refund


def _watch(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Logs tokens that are in the service's account for long; an alarm is made of it (infra/alarms.py)."""
    if services.clock() <= pending.submitted_at + OVERDUE_AFTER:
        return
    facts = {"payable": payment.payable_id, "network": payment.network, "amount": pending.amount}
    reason = steps.trouble(services, payment)
    services.log.error("commerce refund overdue", extra={**facts, "account": payment.operator, "reason": reason})


def _keys(pending: PendingOperation, step: str) -> list[str]:
    return [each for each in pending.call_keys if f"/{step}/" in each]
