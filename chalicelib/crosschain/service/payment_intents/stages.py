"""Decides what happens to the tokens of a payment intent next.

    OFFERED   signed: the request is locked from then on
    TAKING    the call `take` is made, or not before the deadline     FAILED     it never can be made
    TAKEN     one call `spend`: into the bridge, or, if there is no   REFUNDED   it went back to the payer
              route for what was taken, back to the payer
    BRIDGED   followed as other payments from another chain           SETTLED, PARTIAL, REFUNDED
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.chains.calldata.bridges import across
from chalicelib.chains.calldata.tokens import permit2
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, PERMIT2, address_of
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.crosschain.core.bridged_calls import read_source
from chalicelib.crosschain.core.records import BridgeTransfer
from chalicelib.crosschain.service.payment_intents.records import LIFETIME, End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import deadline_of
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.payments.events import Counted
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, Proof
from chalicelib.payments.requests.records import Request
from chalicelib.relayer.custody import MOST_SPENDS, Custody, Next
from chalicelib.relayer.records import CallStatus, Taking
from chalicelib.relayer.rules import SENT_BEFORE, Call, Use, signature_gas

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

TAKEN_LATEST = timedelta(minutes=10)
"""How long after the deadline, by our clock, no block can accept the call any more that takes the tokens."""
BRIDGED_WITHIN = timedelta(minutes=15)
"""How long a route is looked for after the tokens were taken; then they are returned."""
OVERDUE_AFTER = timedelta(hours=2)
"""How long after its acceptance a payment is in the service's hands until somebody has to look at it."""
MIN_DELAY, MAX_DELAY = timedelta(seconds=10), timedelta(minutes=5)
_CHECKS_PER_AGE = 8
_SIGNED_GAS = 200_000
"""Of a call with the payer's signature, without what a contract wallet needs to check that."""
_MOST_GAS = {"permit": 200_000, "take": 500_000, "approve": 150_000, "spend": 600_000}
"""The most gas of the calls, by the first word of their step."""
_FOLLOWING_GAS = 450_000
"""Of the calls that follow the taking: an approval, and a deposit or a transfer back."""
_END = {
    AnnouncedStatus.SETTLED: End.SETTLED,
    AnnouncedStatus.PARTIAL: End.PARTIAL,
    AnnouncedStatus.REFUNDED: End.REFUNDED,
}


def after_take(intent: PaymentIntent, take: CallStatus | None, now: datetime) -> Next:
    """What follows while the tokens are to be taken. `take` is what became of the call that takes them; None if none
    was accepted."""
    if take is None:
        return Next.FAIL if cannot_be_taken(intent, now) else Next.SUBMIT
    if take is CallStatus.UNKNOWN:
        return Next.WAIT
    return Next.TAKEN if take is CallStatus.SUCCEEDED else Next.FAIL


def call_key(intent: PaymentIntent, step: str) -> str:
    """The key of a call of the relayer."""
    return f"permit/{intent.intent_id}/{step}"


def call_of(intent: PaymentIntent, step: str, made: Transaction, is_contract: "Agreed[bool] | None" = None) -> Call:
    """The call of a step. Permit2, and tokens that take permits, ask the code of the payer's address about a signature,
    if there is some: then `take` and `permit` run that code.

    From the taking on the service has the tokens: what brings them on or back is counted with it.
    """
    key, kind = call_key(intent, step), step.partition("/")[0]
    call = Call(key, intent.network, made.to, made.data, made.value, _MOST_GAS[kind], account_id=intent.account_id)
    if kind in ("take", "spend"):
        call = replace(call, moves=custody_of(intent).move(inward=kind == "take"))
    if kind not in ("permit", "take"):
        return replace(call, use=Use.PREPAID)
    call = replace(call, payers=(intent.payer,))
    if kind == "take":
        spender, token = address_of(PERMIT2, intent.network), intent.permit.source.token
        takes = Taking(intent.payer, token, spender, intent.taking)
        call = replace(call, prepays=_FOLLOWING_GAS, takes=takes, follows=call_key(intent, "permit"))
    if is_contract is not None and is_contract.value:
        return replace(call, gas_limit=_SIGNED_GAS + signature_gas(intent.network), runs_foreign_code=True)
    return call


def custody_of(intent: PaymentIntent) -> Custody:
    """What is taken for a payment intent into the service's account, which is the spender of the permit."""
    token, counts = intent.permit.source.token, (intent.approvals, intent.spends)
    return Custody(f"permit/{intent.intent_id}", intent.network, intent.permit.spender, token, intent.taking, *counts)


def take_call(intent: PaymentIntent) -> Transaction:
    """Takes the tokens; it is the same however often it is built."""
    assert intent.signature is not None, "it is accepted"
    return permit2.take(intent.permit, intent.taking, bytes.fromhex(intent.signature[2:]))


def may_take(intent: PaymentIntent, now: datetime) -> bool:
    """Whether the call that takes the tokens is in time, and its block, too."""
    return now <= deadline_of(intent.permit) - SENT_BEFORE


def cannot_be_taken(intent: PaymentIntent, now: datetime) -> bool:
    """Whether no block accepts the call any more that takes the tokens, if none was accepted by the relayer."""
    return now > deadline_of(intent.permit) + TAKEN_LATEST


def is_given_up(intent: PaymentIntent, now: datetime) -> bool:
    """Whether no route is looked for any more for the tokens that were taken, which go back to the payer."""
    assert intent.taken_at is not None, "they were taken"
    return now > intent.taken_at + BRIDGED_WITHIN or intent.spends > MOST_SPENDS


def deposit_of(intent: PaymentIntent, route: Route) -> Transaction | None:
    """The deposit of a route with all that was taken; None if it needs more than that.

    It is made in the bridge itself, also where the route leads through the router's contract. Whoever fills it gets
    what is more than needed.
    """
    source = find_network(intent.network)
    made = read_source(source, route.transaction.to, route.transaction.data) if source is not None else None
    assert made is not None, "a verified route makes a deposit"
    if made.deposit.input_amount > intent.taking:
        return None
    data = across.encode_deposit(replace(made.deposit, input_amount=intent.taking))
    return Transaction(address_of(ACROSS_SPOKE_POOL, intent.network), data, 0)


def enter_taken(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    return replace(intent, stage=Stage.TAKEN, taken_at=now, reason=None, check_at=now)


def enter_bridged(intent: PaymentIntent, request: Request, tx_hash: str, now: datetime) -> PaymentIntent:
    """The payment intent whose tokens were deposited by a transaction: it is followed as an announced one."""
    announced = AnnouncedTransaction(
        link_token=request.payable_id,
        announced_id=intent.intent_id,
        network=intent.network,
        safe_tx_hash=None,
        wallet=intent.permit.spender,
        nonce=None,
        deadline=None,
        payer_address=intent.payer,
        status=AnnouncedStatus.PENDING,
        created_at=now,
        ends_at=now + LIFETIME,
        check_at=now,
        scanned_to=0,
        transaction_hash=tx_hash,
        account_id=intent.account_id,
        proof=Proof.SENT,
        bridge_transfer=BridgeTransfer(request.network, now, intent.searched_to),
    )
    return replace(intent, stage=Stage.BRIDGED, announced=announced, reason=None, check_at=now)


def undone(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    """The payment intent whose deposit a fork has undone, or put into another transaction."""
    return replace(intent, stage=Stage.TAKEN, announced=None, check_at=now)


def follow_bridge(intent: PaymentIntent, announced: AnnouncedTransaction, now: datetime) -> PaymentIntent:
    """The payment intent after a check of its bridge transfer.

    The relayer has said that the deposit was made: should the chain contradict that, somebody has to look at it, and
    the bridge transfer stays as it was.
    """
    after = replace(intent, announced=announced, check_at=announced.check_at)
    if announced.status is AnnouncedStatus.PENDING:
        return after
    reason = announced.bridge_transfer.reason if announced.bridge_transfer is not None else None
    if (end := _END.get(announced.status)) is not None:
        return end_intent(replace(after, reason=reason), end, now)
    return replace(postpone_check(intent, now), reason=reason)


def is_contradicted(intent: PaymentIntent, announced: AnnouncedTransaction) -> bool:
    """Whether the source chain says that there was no deposit, where the relayer has said that it was made."""
    return intent.end is None and announced.status is not AnnouncedStatus.PENDING


def amount_counted(intent: PaymentIntent) -> Counted:
    """What the payment counts for, or would have: what its payer was offered."""
    return Counted(intent.owed, intent.due, intent.rate)


def end_intent(intent: PaymentIntent, end: End, now: datetime) -> PaymentIntent:
    return replace(intent, stage=Stage.ENDED, end=end, ended_at=now, check_at=None)


def postpone_check(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    """The payment intent with its next check: the longer it takes, the later."""
    since = intent.taken_at or intent.accepted_at or intent.created_at
    return replace(intent, check_at=now + min(max((now - since) / _CHECKS_PER_AGE, MIN_DELAY), MAX_DELAY))


def is_overdue(intent: PaymentIntent, now: datetime) -> bool:
    """Whether tokens are in the service's account for so long that somebody has to look at them."""
    return intent.stage is Stage.TAKEN and intent.taken_at is not None and now > intent.taken_at + OVERDUE_AFTER
