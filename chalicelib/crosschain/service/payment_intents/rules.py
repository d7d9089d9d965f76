"""Decides what a payment intent is, and whether a signature of it is accepted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import permit2
from chalicelib.chains.calldata.tokens.permit2 import PaymentPermit
from chalicelib.chains.catalogue.tokens import Token, require_token
from chalicelib.crosschain.service.payment_intents.records import LIFETIME, PaymentIntent, Stage
from chalicelib.crosschain.service.router.rules import Purpose, Route, Wanted
from chalicelib.crosschain.service.sources.rules import on_source
from chalicelib.offramp.core.records import Order
from chalicelib.offramp.core.rules import OVER
from chalicelib.payments.payable.rules import Position
from chalicelib.payments.requests.executions import Execution
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of

MARGIN_BPS = 50
"""How much more than the quoted route costs is signed: it is quoted anew before the tokens are taken."""
PROCESSED_IN = timedelta(hours=5)
LEAST_TIME_TO_TAKE = timedelta(minutes=2)
"""Before the deadline: a signature is accepted no later."""
TAKEN_AFTER_QUOTE = timedelta(minutes=10)
"""How long the signature of a converted amount is good after its rate, which is not kept by delaying the payment."""
MOST_UNMADE, MOST_UNMADE_PUBLIC = 10, 1
"""How many payments of a request may be accepted and not pay it, in all and from a client id alone, before no other one
is accepted: each of them keeps everybody else from paying for some time."""
COUNTS_AFTER = timedelta(seconds=30)
"""How long after a signature was accepted a reading counts that contradicts it: nodes behind one address may lag."""
_NONCE_BITS = 64


class RequestExecuted(Locked):
    """A payment of the request is being made that its payer has signed."""

    shown_by = "chalicelib.crosschain.service.payment_intents.schemas"

    def __init__(self, execution: Execution) -> None:
        super().__init__(f"This request is being paid by payment intent {execution.intent_id}: wait for its end")
        self.execution = execution


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


def offer_intent(wish: Wish, now: datetime, entropy: Entropy) -> PaymentIntent:
    """The payment intent of a wish, without an approval. The nonces of no two are the same."""
    wanted, intent_id = wish.route.wanted, ids.ulid(now, entropy)
    owed, converted = wish.position.owed, wish.position.converted
    most = wish.route.source_amount * (10_000 + MARGIN_BPS) // 10_000
    net = min(most, on_source(wanted.amount, wanted.destination, wanted.source))
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


def question_of(intent: PaymentIntent, request: Request) -> Wanted:
    """What the bridge is asked for. The payer is the depositor: what nobody brings in time is returned to them."""
    source = source_of(intent)
    return Wanted(source, currency_of(request), intent.payer, intent.payer, intent.call, intent.amount)


def purpose_of(intent: PaymentIntent) -> Purpose:
    """For what its routes are quoted."""
    return Purpose(intent.account_id, intent.request_id)


def source_of(intent: PaymentIntent) -> Token:
    return require_token(intent.source)


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


def check_not_repeated(execution: Execution | None, is_public: bool) -> None:
    """Raises Conflict if too many payments of the request were signed before, and did not pay it."""
    if execution is None:
        return
    if execution.unmade >= MOST_UNMADE:
        raise Conflict(
            f"{MOST_UNMADE} payments of this request were signed and not made: pay it with transactions on its own "
            "network, or create a new request"
        )
    if is_public and execution.unmade_public >= MOST_UNMADE_PUBLIC:
        raise Conflict(
            "A payment of this request was signed before and not made. Without an API key no other one is accepted: "
            "pay it with transactions on its own network, or send the signature with an API key"
        )


def may_contradict(intent: PaymentIntent, now: datetime) -> bool:
    """Whether a reading that the tokens cannot be taken counts: they may still be with the payer, who signed long
    enough ago."""
    return intent.stage is Stage.TAKING and intent.accepted_at is not None and now - intent.accepted_at >= COUNTS_AFTER


def accept_intent(
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


def is_wanted(request: Request, order: Order | None) -> bool:
    """Whether a payment of a request is still to be made: it is neither paid in another way nor cancelled, and the
    provider of its off-ramp order has not ended that."""
    return not request.is_closed and (order is None or order.status not in OVER)


def _check_same(name: str, signed: Signed, nonce: int, deadline: int) -> None:
    if (signed.nonce, signed.deadline) != (str(nonce), str(deadline)):
        raise BadRequest(f"{name}: nonce and deadline have to be those of the payload that /pay gave")
