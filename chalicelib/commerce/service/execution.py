"""Executes the operations of commerce payments: reserves one, submits its calls, and follows it to its end.

    reserve ── written ── relayer ── the escrow's event, read by the scanner ── recorder posts it
                             └── refused, reverted or dropped ── goes back, with the reason

What is reserved is written before anything is submitted, and each call has a key that the relayer accepts once for
ever. So a process may die anywhere, two may work at once, and a caller may ask twice: the effect is one.
"""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.errors import ChainUnavailable, Conflict, Forbidden, Undone
from chalicelib.commerce.core.records import CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.core.rules import Operation, Refusal, begin_operation, reserve
from chalicelib.commerce.service import operation_steps, refunds, rules
from chalicelib.commerce.service.operation_table import BY_KIND
from chalicelib.commerce.service.reading import load_to_change
from chalicelib.commerce.service.rules import Asked
from chalicelib.commerce.service.transactions import contracts_of, operation_call
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.delays import find_delays
from chalicelib.relayer.keys.signer import NoRelayer


@retry_conflicts(5)
def execute(services: Services, owner: Owner, request_id: str, kind: OperationKind, asked: Asked) -> PendingOperation:
    """The operation that the service executes now.

    The same one again, while it is pending, is the same. Raises NotFound, Forbidden for a credential that does not
    change it and for a fee that takes a second person, ValidationFailed or Conflict for what the payment or the chain
    refuses, ChainUnavailable if the node does not say whether the payer's tokens can be taken, and WriteConflict after
    five conflicts.
    """
    payment = load_to_change(services, owner, request_id)
    rules.check_executes(payment, kind)
    from chalicelib.platform.own_accounts.flows import own_addresses  # no worker is asked for anything

    operation = rules.operation_of(payment, kind, asked, own_addresses(services))
    _check_fee(services, payment, operation)
    pending = reserve(payment, operation, services.clock())
    if isinstance(pending, Refusal):
        rules.raise_refusal(pending, kind)
    if payment.pending is not None:
        return replace(pending, transaction_hash=_hash_of(services, pending) or pending.transaction_hash)
    check_operator(services, payment)
    _check_time(services, payment, kind)
    if BY_KIND[kind].takes_payer:
        _check_collects(services, payment, pending)
    return _submit_reserved(services, begin(services, payment, pending))


def begin(services: Services, payment: CommercePayment, pending: PendingOperation) -> CommercePayment:
    """Writes a reserved operation, after the checks that are made of a refund. Raises Conflict, WriteConflict."""
    if pending.kind is OperationKind.REFUND:
        refunds.check_funds(services, payment, pending)
        started = refunds.start_refund(payment, pending)
    else:
        started = replace(pending, step="call", call_keys=(rules.call_key(payment, pending, "call/1"),))
    reserved = begin_operation(payment, started, services.clock())
    return services.store.write(reserved, *operation_steps.references(services, payment, pending))


def advance(services: Services, payment: CommercePayment) -> CommercePayment:
    """Takes the next step of the pending operation; returns the payment as it is stored then.

    Raises WriteConflict if another worker or the recorder was faster, ChainUnavailable, NoRelayer.
    """
    pending = payment.pending
    assert pending is not None, "nothing is pending"
    if pending.kind is OperationKind.REFUND:
        return refunds.advance(services, payment, pending)
    (key,) = pending.call_keys
    known = relayer_flows.outcome(services, key)
    if known is not None:
        return operation_steps.after_outcome(services, payment, known)
    if rules.gives_up(payment, pending, services.clock()):
        return operation_steps.give_up(services, payment, key, rules.TOO_LATE)
    call = operation_call(payment, pending, contracts_of(payment, services.settings.escrow_contracts))
    return operation_steps.after_submission(services, payment, operation_steps.submit(services, payment, key, call))


def check_operator(services: Services, payment: CommercePayment) -> None:
    """Raises Conflict if the service's account is not the operator of the payment any more."""
    contracts_of(payment, services.settings.escrow_contracts)
    if (trouble := operation_steps.trouble(services, payment)) is not None:
        raise Conflict(trouble)


def _check_fee(services: Services, payment: CommercePayment, operation: Operation) -> None:
    """Raises Forbidden if an account with approvals would pay a fee to somebody whom the operation alone names.

    Whoever has stolen an API key could name himself, and have all that is held. One read, for such an operation alone.
    """
    if not rules.names_fee_receiver(payment, operation):
        return
    from chalicelib.platform.access.credentials.store import has_approvals  # no worker takes a fee

    if has_approvals(services.store, payment.account_id):
        raise Forbidden(
            "This account has approvals, so an operation takes a fee only for the feeReceiver that the payment was "
            "created with: leave feeBps and feeReceiver out. A payment with minFeeBps and no feeReceiver can be voided"
        )


def _check_time(services: Services, payment: CommercePayment, kind: OperationKind) -> None:
    """Raises Conflict if an operation that takes tokens may come too late for the escrow."""
    if rules.takes_too_late(payment, kind, services.clock()):
        seconds = int((rules.time_needed(kind) or timedelta()).total_seconds())
        raise Conflict(f"Nothing was sent: less than {seconds} seconds are left in which the escrow takes it")


def _check_collects(services: Services, payment: CommercePayment, pending: PendingOperation) -> None:
    """Raises Conflict if the chain would refuse to take the payer's tokens now, or if any wallet may pay and the calls
    of this one wait. One call to the node; two reads at most if any wallet may pay.

    It is run before anything is reserved: anybody who knows a client id can send a signature that is not one, or name a
    wallet that has approved nothing or whose calls wait, and while such an authorization waited, the payer's own would
    be refused. The chain itself judges signatures, so those of contract wallets, too. Raises ChainUnavailable.
    """
    if payment.payer is None and pending.payer is not None:
        delay = find_delays(services, payment.network, [pending.payer])[pending.payer]
        if delay.reason is not None:
            raise Conflict(f"The service takes nothing from this wallet now, and nothing was sent: {delay.reason}")
    made = operation_call(payment, pending, contracts_of(payment, services.settings.escrow_contracts))
    call = operation_steps.call_of(services, replace(payment, pending=pending), "tried", made)
    run = relayer_flows.try_call(services, payment.operator, call)
    if not run.success:
        raise Conflict(f"The chain refuses it now, and nothing was sent: {run.reason}")


def _submit_reserved(services: Services, payment: CommercePayment) -> PendingOperation:
    """Submits what was reserved. Raises Undone if the chain refuses it now: then it has gone back."""
    assert payment.pending is not None
    try:
        after = advance(services, payment)
    except WriteConflict:
        return payment.pending  # the schedule goes on with it
    except (ChainUnavailable, NoRelayer) as error:
        services.log.error("commerce payment waits", extra={"payable": payment.payable_id, "reason": error.message})
        return payment.pending
    if after.pending is None:
        raise Undone(f"The chain refuses it now, and nothing was sent: {after.failure}")
    return after.pending


def _hash_of(services: Services, pending: PendingOperation) -> str | None:
    """The hash of the newest transaction of an operation, which is none of its approvals."""
    keys = [each for each in pending.call_keys if f"/{refunds.APPROVE}/" not in each]
    return relayer_flows.find_hash(services, keys[-1]) if keys else None
