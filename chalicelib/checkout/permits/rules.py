"""Decides what a payment intent is, whether a signature of it is accepted, and what happens to the tokens next.

    OFFERED   signed: the request is locked from then on
    TAKING    the call `take` is made, or not before the deadline     FAILED     it never can be made
    TAKEN     one call `spend`: into the bridge, or, if there is no   REFUNDED   it went back to the payer
              route for what was taken, back to the payer
    BRIDGED   followed as other payments from another chain           SETTLED, PARTIAL, REFUNDED

Every step is written before its call is submitted, and a call is accepted once for each key. So at any time at most one
of the calls that spend the tokens can be executed; the next one is decided when the one before has failed for good.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits
from chalicelib.bridging.rules import Purpose, Route, Wanted, read_source
from chalicelib.calldata import across, permit2
from chalicelib.calldata.permit2 import PaymentPermit
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.catalogue.networks import network
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.checkout.permits.records import LIFETIME, End, PaymentIntent, Stage
from chalicelib.checkout.rules import Position
from chalicelib.links.crossings import Crossing
from chalicelib.links.records import Intent, IntentStatus, Proof
from chalicelib.requests.offramps.records import Order
from chalicelib.requests.offramps.rules import OVER
from chalicelib.requests.records import Request, RequestStatus
from chalicelib.requests.rules import currency_of

MARGIN_BPS = 50
"""How much more than the quoted route costs is signed: it is quoted anew before the tokens are taken."""
PROCESSED_IN = timedelta(hours=5)
LEAST_TIME_TO_TAKE = timedelta(minutes=2)
"""Before the deadline: a signature is accepted no later."""
TAKEN_AFTER_QUOTE = timedelta(minutes=10)
"""How long the signature of a converted amount is good after its rate, which is not kept by delaying the payment."""
RATE_HELD = timedelta(minutes=30)
"""How long its rate is held from when the tokens were taken."""
TAKEN_LATEST = timedelta(minutes=10)
"""How long after the deadline, by our clock, no block can accept the call any more that takes the tokens."""
BRIDGED_WITHIN = timedelta(minutes=15)
"""How long a route is looked for after the tokens were taken; then they are returned."""
MOST_SPENDS = 5
"""After so many calls that failed the tokens are returned."""
OVERDUE_AFTER = timedelta(hours=2)
"""How long after its acceptance a payment is in the service's hands until somebody has to look at it."""
MIN_DELAY, MAX_DELAY = timedelta(seconds=10), timedelta(minutes=5)
_CHECKS_PER_AGE = 8
_NONCE_BITS = 64
_END = {
    IntentStatus.SETTLED: End.SETTLED,
    IntentStatus.PARTIAL: End.PARTIAL,
    IntentStatus.REFUNDED: End.REFUNDED,
}


@frozen
class Wish:
    """A payment that a payer may sign, of the caller with this `client_id`: by which route, taken by the `executor`."""

    position: Position
    client_id: str | None
    route: Route
    executor: str


@frozen
class Signed:
    """What a payer has signed: a signature as bytes, with the nonce and the deadline that they say it is for."""

    signature: bytes
    nonce: str
    deadline: str


def check_signable(request: Request) -> None:
    """Raises BadRequest for a request that is not paid by a signature."""
    if request.link_token is not None:
        raise BadRequest(
            "A request of a link is not paid by a payment intent: pay the link from another chain with "
            "/v2/secure-payments/{token}/pay, or omit chain and token"
        )
    if request.recurring_payment_id is not None:
        raise BadRequest("A payment of a schedule is not made by a payment intent: omit chain and token to pay it now")


def offered(wish: Wish, now: datetime, entropy: Entropy) -> PaymentIntent:
    """The payment intent of a wish, without an approval. The nonces of no two are the same."""
    wanted, intent_id = wish.route.wanted, ids.ulid(now, entropy)
    owed, converted = wish.position.owed, wish.position.converted
    most = wish.route.source_amount * (10_000 + MARGIN_BPS) // 10_000
    net = min(most, in_source_units(wanted))
    deadline = now + LIFETIME
    if converted is not None and converted.ends_at is not None:
        deadline = min(deadline, converted.ends_at + TAKEN_AFTER_QUOTE)
    permit = PaymentPermit(
        network=wanted.source.network,
        source=permit2.End(wanted.payer, wanted.source.chain_id, wanted.source.address),
        destination=permit2.End(owed.request.payee, wanted.destination.chain_id, wanted.destination.address),
        net=net,
        fee=most - net,
        spender=wish.executor,
        nonce=(int(now.timestamp() * 1000) << _NONCE_BITS) | int.from_bytes(entropy(_NONCE_BITS // 8), "big"),
        deadline=int(deadline.timestamp()),
        processing_date=int((now + PROCESSED_IN).timestamp()),
        operator_id="0x" + keccak256(intent_id.encode()).hex(),
    )
    return PaymentIntent(
        intent_id=intent_id,
        account_id=owed.request.account_id,
        client_id=wish.client_id,
        request_id=owed.request.request_id,
        source=wanted.source.id,
        permit=permit,
        token_permit=None,
        call=wanted.call,
        amount=wanted.amount,
        due=wish.position.due.amount,
        owed=owed.amount,
        rate=converted.rate if converted is not None else None,
        created_at=now,
    )


def wanted_of(intent: PaymentIntent, request: Request) -> Wanted:
    """What the bridge is asked for. The payer is the depositor: what nobody brings in time is returned to them."""
    source = source_of(intent)
    return Wanted(source, currency_of(request), intent.payer, intent.payer, intent.call, intent.amount)


def purpose_of(intent: PaymentIntent) -> Purpose:
    """For what its routes are quoted."""
    return Purpose(intent.account_id, intent.request_id)


def source_of(intent: PaymentIntent) -> Token:
    token = token_with_id(intent.source)
    assert token is not None, "a stored payment intent is of a catalogued token"
    return token


def in_source_units(wanted: Wanted) -> int:
    """What arrives as so many units of the source token, rounded up: both are worth a dollar."""
    source: int = 10**wanted.source.decimals
    destination: int = 10**wanted.destination.decimals
    return -(-wanted.amount * source // destination)


def check_signed(intent: PaymentIntent, signed: Signed, approval: Signed | None, now: datetime) -> None:
    """Raises BadRequest unless what was signed is this payment intent and can still be accepted."""
    _check_same("signedPaymentIntent", signed, intent.permit.nonce, intent.permit.deadline)
    if now > deadline_of(intent.permit) - LEAST_TIME_TO_TAKE:
        raise BadRequest("This payment intent has expired: get another one from /pay, and sign that")
    if approval is None:
        return
    if intent.token_permit is None:
        raise BadRequest("signedApprovalPermit: this payment intent has no approvalPermitPayload; leave it out")
    _check_same("signedApprovalPermit", approval, intent.token_permit.nonce, intent.token_permit.deadline)


def accepted(
    intent: PaymentIntent, signature: bytes, approval: bytes | None, taking: BaseUnits, searched_to: int, now: datetime
) -> PaymentIntent:
    """The payment intent once its signature is known to be right; its tokens are taken from now on."""
    return replace(
        intent,
        stage=Stage.TAKING,
        signature="0x" + signature.hex(),
        approval_signature="0x" + approval.hex() if approval is not None else None,
        accepted_at=now,
        taking=taking,
        searched_to=searched_to,
        check_at=now,
    )


def deadline_of(permit: PaymentPermit) -> datetime:
    return datetime.fromtimestamp(permit.deadline, UTC)


def call_key(intent: PaymentIntent, step: str) -> str:
    """The key of a call of the relayer."""
    return f"permit/{intent.intent_id}/{step}"


def take_call(intent: PaymentIntent) -> Transaction:
    """Takes the tokens; it is the same however often it is built."""
    assert intent.signature is not None, "it is accepted"
    return permit2.take(intent.permit, intent.taking, bytes.fromhex(intent.signature[2:]))


def is_wanted(request: Request, order: Order | None) -> bool:
    """Whether a payment of a request is still to be made: it is not paid in another way, and the provider of its
    off-ramp order has not ended that."""
    return request.status is not RequestStatus.PAID and (order is None or order.status not in OVER)


def may_take(intent: PaymentIntent, now: datetime) -> bool:
    """Whether the call that takes the tokens is in time."""
    return now <= deadline_of(intent.permit)


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
    source = network(intent.network)
    made = read_source(source, route.transaction.to, route.transaction.data) if source is not None else None
    assert made is not None, "a verified route makes a deposit"
    if made.deposit.input_amount > intent.taking:
        return None
    data = across.encode_deposit(replace(made.deposit, input_amount=intent.taking))
    return Transaction(address_of(ACROSS_SPOKE_POOL, intent.network), data, 0)


def taken(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    return replace(intent, stage=Stage.TAKEN, taken_at=now, reason=None, check_at=now)


def bridged(intent: PaymentIntent, request: Request, tx_hash: str, now: datetime) -> PaymentIntent:
    """The payment intent whose tokens were deposited by a transaction: it is followed as an announced one."""
    crossing = Intent(
        link_token=request.bill_id,
        intent_id=intent.intent_id,
        network=intent.network,
        safe_tx_hash=None,
        wallet=intent.permit.spender,
        nonce=None,
        deadline=None,
        payer_address=intent.payer,
        status=IntentStatus.PENDING,
        created_at=now,
        ends_at=now + LIFETIME,
        check_at=now,
        scanned_to=0,
        transaction_hash=tx_hash,
        account_id=intent.account_id,
        proof=Proof.SENT,
        crossing=Crossing(request.network, now, intent.searched_to),
    )
    return replace(intent, stage=Stage.BRIDGED, crossing=crossing, reason=None, check_at=now)


def undone(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    """The payment intent whose deposit a fork has undone, or put into another transaction."""
    return replace(intent, stage=Stage.TAKEN, crossing=None, check_at=now)


def followed(intent: PaymentIntent, crossing: Intent, now: datetime) -> PaymentIntent:
    """The payment intent after a check of its crossing.

    The relayer has said that the deposit was made: should the chain contradict that, somebody has to look at it, and
    the crossing stays as it was.
    """
    after = replace(intent, crossing=crossing, check_at=crossing.check_at)
    if crossing.status is IntentStatus.PENDING:
        return after
    reason = crossing.crossing.reason if crossing.crossing is not None else None
    if (end := _END.get(crossing.status)) is not None:
        return ended(replace(after, reason=reason), end, now)
    return replace(postponed(intent, now), reason=reason)


def is_contradicted(intent: PaymentIntent, crossing: Intent) -> bool:
    """Whether the source chain says that there was no deposit, where the relayer has said that it was made."""
    return intent.end is None and crossing.status is not IntentStatus.PENDING


def ended(intent: PaymentIntent, end: End, now: datetime) -> PaymentIntent:
    return replace(intent, stage=Stage.ENDED, end=end, ended_at=now, check_at=None)


def postponed(intent: PaymentIntent, now: datetime) -> PaymentIntent:
    """The payment intent with its next check: the longer it takes, the later."""
    since = intent.taken_at or intent.accepted_at or intent.created_at
    return replace(intent, check_at=now + min(max((now - since) / _CHECKS_PER_AGE, MIN_DELAY), MAX_DELAY))


def is_overdue(intent: PaymentIntent, now: datetime) -> bool:
    """Whether tokens are in the service's account for so long that somebody has to look at them."""
    return intent.stage is Stage.TAKEN and intent.taken_at is not None and now > intent.taken_at + OVERDUE_AFTER


def _check_same(name: str, signed: Signed, nonce: int, deadline: int) -> None:
    if (signed.nonce, signed.deadline) != (str(nonce), str(deadline)):
        raise BadRequest(f"{name}: nonce and deadline have to be those of the payload that /pay gave")
