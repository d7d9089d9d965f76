"""The steps of an operation that the service executes: submits its call, and follows that until its event is recorded.

    (reserved) ── submit ── UNKNOWN ── SUCCEEDED ── the recorder posts the event: nothing is pending any more; without
                    │          │                    one a capture, void or refund goes back once that was read again
                    └── REFUSED       └── REVERTED, SUPERSEDED ── goes back with the reason

A refund has more steps (refunds.py).
"""

from dataclasses import replace

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import Conflict
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.nodes.agreement import read_agreed_code
from chalicelib.commerce.core.expiry import vanishes_at
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.core.rules import take_back_operation
from chalicelib.commerce.service import rules
from chalicelib.commerce.service.operation_table import BY_KIND
from chalicelib.commerce.service.transactions import contracts_of, hash_for, token_address
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Reference
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import CallStatus, RelayedCall, Taking
from chalicelib.relayer.rules import Call, Submission, SubmissionStatus, Use, signature_gas

MOST_GAS = 600_000
"""Of one call that runs no code of strangers."""
COLLECT_GAS = 300_000
"""Of taking the payer's tokens by a signature, without what the payer's wallet needs to check it."""
_FOLLOWING_GAS = 200_000
"""Of a call that has to follow another one: a capture, a void, an approval, a refund."""
_SIGNED = (Collector.ERC3009, Collector.PERMIT2)
NO_EVENT = "the transaction was made, and the escrow has no event of it"


def submit(
    services: Services,
    payment: CommercePayment,
    key: str,
    made: Transaction,
    takes: Taking | None = None,
    moves: Move | None = None,
) -> Submission:
    """Submits one call, if the service's account still is the operator. Raises ChainUnavailable."""
    if (reason := trouble(services, payment)) is not None:
        return Submission(key, SubmissionStatus.POSTPONED, reason)
    call = replace(call_of(services, payment, key, made, takes), moves=moves)
    (submission,) = relayer_flows.submit(services, [call])
    if submission.status is not SubmissionStatus.ACCEPTED:
        facts = {"payable": payment.payable_id, "network": payment.network, "reason": submission.reason}
        services.log.warning("commerce call refused", extra=facts)
    return submission


def call_of(
    services: Services, payment: CommercePayment, key: str, made: Transaction, takes: Taking | None = None
) -> Call:
    """The call of a step of the pending operation. One call to the node if the payer has signed.

    Raises Conflict for the signature of a wallet that is not deployed, unless its factory is one of the settings'.
    """
    pending = payment.pending
    assert pending is not None, "a step is of a pending operation"
    call = Call(key, payment.network, made.to, made.data, made.value, MOST_GAS, takes, account_id=payment.account_id)
    match pending.kind:
        case OperationKind.AUTHORIZE:
            call = _taking(services, payment, pending, call)
            return _limit_foreign_code(services, pending, replace(call, prepays=2 * _FOLLOWING_GAS))
        case OperationKind.CHARGE:
            return _limit_foreign_code(services, pending, _taking(services, payment, pending, call))
        case OperationKind.CAPTURE:
            return replace(call, use=Use.PROTECTED if payment.captured else Use.PREPAID)
        case OperationKind.VOID:
            return replace(call, use=Use.PREPAID)
        case OperationKind.REFUND if takes is not None:
            return replace(call, use=Use.PROTECTED, prepays=2 * _FOLLOWING_GAS)
        case OperationKind.REFUND:
            return replace(call, use=Use.PREPAID)


def _taking(services: Services, payment: CommercePayment, pending: PendingOperation, call: Call) -> Call:
    """The call with what an authorization or charge takes from its payer: by an allowance for the contract that takes
    it, or by a transfer that the payer has signed."""
    assert pending.payer is not None, "who pays is known when the operation is reserved"
    contracts = contracts_of(payment, services.settings.escrow_contracts)
    spenders = {
        Collector.PRE_APPROVAL: contracts.pre_approval,
        Collector.ERC3009: contracts.erc3009,
        Collector.PERMIT2: address_of(PERMIT2, payment.network),
    }
    takes = Taking(pending.payer, token_address(payment), spenders[pending.collector], pending.amount)
    return replace(call, takes=takes, payers=(pending.payer,))


def _limit_foreign_code(services: Services, pending: PendingOperation, call: Call) -> Call:
    """The call with what the payer's wallet may take, if its code checks the signature."""
    if pending.collector not in _SIGNED or pending.payer is None:
        return call
    factory = erc6492.factory_of(bytes.fromhex(pending.signature or ""))
    allowed = {each.lower() for each in services.settings.relayer_wallet_factories}
    if factory is not None and factory not in allowed:
        raise Conflict(
            "The signature is of a wallet that is not deployed yet (ERC-6492), which is not accepted: deploy the "
            "wallet first, or send the payer's own transactions"
        )
    deploys = factory is not None
    if not deploys and not read_agreed_code(services.chains.evm(call.network), pending.payer).value:
        return call
    gas = COLLECT_GAS + signature_gas(call.network, deploys)
    return replace(call, gas_limit=gas, runs_foreign_code=True)


def after_submission(services: Services, payment: CommercePayment, submission: Submission) -> CommercePayment:
    """The payment after its call was submitted: with the transaction's hash, or without the operation if refused."""
    assert payment.pending is not None
    if submission.status is SubmissionStatus.REFUSED:
        return give_up(services, payment, submission.key, submission.reason or "the call would revert")
    sent = relayer_flows.find_hash(services, submission.key)
    return keep(services, replace(payment, pending=replace(payment.pending, transaction_hash=sent)))


def after_outcome(services: Services, payment: CommercePayment, known: Outcome) -> CommercePayment:
    """The payment by what became of its call. One that succeeded ends with its event, which the recorder posts, and
    which a node may leave out until the block is read again: what went back before might be made twice. One that failed
    goes back once its block was read without an event.

    What has taken a payer's tokens never goes back without its event, as another wallet's would be taken then, too.
    """
    assert payment.pending is not None
    if known.status is CallStatus.UNKNOWN or has_event_to_come(services, payment, known):
        return keep(services, payment)
    if known.status is not CallStatus.SUCCEEDED:
        return go_back(services, payment, known.reason or "another transaction took its place")
    is_over = is_recorded(services, payment, known, is_again=True)
    if is_over:
        facts = {"payable": payment.payable_id, "transaction": known.tx_hash}
        services.log.error("commerce payment has no event", extra=facts)
    if is_over and not BY_KIND[payment.pending.kind].takes_payer:
        return go_back(services, payment, NO_EVENT)
    return keep(services, replace(payment, pending=replace(payment.pending, transaction_hash=known.tx_hash)))


def has_event_to_come(services: Services, payment: CommercePayment, known: Outcome) -> bool:
    """Whether an event may still contradict that a call had no effect: the logs of its block are not recorded yet."""
    return known.status is CallStatus.REVERTED and not is_recorded(services, payment, known)


def is_recorded(services: Services, payment: CommercePayment, known: Outcome, is_again: bool = False) -> bool:
    """Whether everything of the block of a transaction is recorded, also what was found when it was read again if
    `is_again`, which begins ten minutes after it was read first. Two reads."""
    cursor = scan_store.cursor(services.store, payment.network)
    if cursor is None or known.block_number is None:
        return False
    if (cursor.read_again_to if is_again else cursor.scanned_to) < known.block_number:
        return False
    return not scan_store.has_work(services.store, (payment.payable_id,))


def go_back(services: Services, payment: CommercePayment, reason: str, *withdrawn: RelayedCall) -> CommercePayment:
    """Ends the pending operation without an effect. Raises WriteConflict."""
    written = services.store.write(take_back_operation(payment, reason, services.clock()), *withdrawn)
    services.log.info("commerce operation went back", extra={"payable": payment.payable_id, "reason": reason})
    return written


def give_up(services: Services, payment: CommercePayment, key: str, reason: str) -> CommercePayment:
    """Ends the pending operation whose call was not accepted, and never is from then on.

    Raises WriteConflict if another worker has submitted the call in the meantime, too: then it goes on.
    """
    return go_back(services, payment, reason, relayer_flows.withdrawal(services, payment.network, key, reason))


def keep(services: Services, payment: CommercePayment) -> CommercePayment:
    """Looks at the pending operation again later. Raises WriteConflict."""
    return services.store.write(rules.postpone_check(payment, services.clock()))


def trouble(services: Services, payment: CommercePayment) -> str | None:
    """Why the service can submit nothing for a payment: it has no account on the network, or another one by now."""
    if not relayer_flows.can_submit(services, payment.network):
        return f"The service sends no transactions on {payment.network} any more"
    if not same_address(relayer_flows.account_address(services, payment.network), payment.operator):
        return f"The service's account on {payment.network} is not the operator {payment.operator} any more"
    return None


def references(services: Services, payment: CommercePayment, pending: PendingOperation) -> tuple[Reference, ...]:
    """The entry that finds the payment by its hash with the payer of an operation, unless it is stored. One read."""
    if payment.payment_hash is not None or pending.payer is None:
        return ()
    return reference_for(services, payment, pending.payer)


def reference_for(services: Services, payment: CommercePayment, payer: str) -> tuple[Reference, ...]:
    """The entry that finds the payment by its hash with a wallet that may pay, unless it is stored. One read."""
    topic = hash_for(payment, payer, contracts_of(payment, services.settings.escrow_contracts))
    if request_store.references(services.store, (topic,)):
        return ()
    return (reference_of(payment, payer, topic),)


def reference_of(payment: CommercePayment, payer: str, topic: str) -> Reference:
    """The entry of a payer. It vanishes after the last moment in which that wallet could pay, unless it is the buyer's;
    the recorder keeps that of the wallet that pays."""
    ends, account = vanishes_at(payment), payment.account_id
    return Reference(topic, payment.payable_id, 0, payer=payer, expires_at=ends, account_id=account)
