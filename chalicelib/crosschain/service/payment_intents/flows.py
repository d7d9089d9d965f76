"""Offers payments from another chain to be signed, and accepts the signatures."""

import re
from dataclasses import replace

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.money import MAX_UINT256, Fee
from chalicelib.base.signatures import SIGNATURE_BYTES, with_large_v
from chalicelib.chains.calldata.reverts import NOT_THE_OWNERS
from chalicelib.chains.calldata.tokens import erc20, erc2612, permit2
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.agreement import combine_answers, read_agreed_code, read_agreed_wallet
from chalicelib.crosschain.service.payment_intents import rules, stages, store
from chalicelib.crosschain.service.payment_intents.hints import queue_look
from chalicelib.crosschain.service.payment_intents.locks import unlock_request
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import Signed, Wish
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.sources.rules import Payer, check_bridged, purpose_of, question_for
from chalicelib.offramp.core import store as offramp_store
from chalicelib.payments.payable import conversions
from chalicelib.payments.payable.rules import Owed, Position
from chalicelib.payments.requests import executions
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import check_not_cancelled, remaining
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.delays import check_not_delayed

_LONGEST_SIGNATURE = 4_096
"""In bytes. Contract wallets have longer signatures than keys; a call of the relayer has room for this."""
_SIGNATURE = re.compile(f"(?:0x)?((?:[0-9a-fA-F]{{2}}){{64,{_LONGEST_SIGNATURE}}})")


@frozen
class Offer:
    """A payment intent to be signed, and the approval of Permit2 if it is needed: one that is signed, which the payment
    intent has as `token_permit`, or one that is sent."""

    intent: PaymentIntent
    approval: Transaction | None


@frozen
class SentSignature:
    """A signature as it was sent, with the nonce and the deadline that it is for."""

    signature: str
    nonce: str
    deadline: str


def offer(services: Services, owner: Owner, position: Position, source: Token, paying: Payer) -> Offer:
    """Offers a payment from another chain to be signed. A quote, a call to each node of the source, up to two
    more, and one write.

    Raises BadRequest with what to change, also if the deployment cannot make the payment or there is no safe route.
    """
    request, network, payer = position.owed.request, source.network, paying.wallet
    rules.check_signable(request)
    check_bridged(position)
    executor = relayer_flows.account_address(services, network)
    wanted = question_for(position, source, paying)
    chain, contract = services.chains.evm(network), address_of(PERMIT2, network)
    reading = read_agreed_wallet(chain, payer, source.address, contract, payer).value
    if reading.is_contract and not read_agreed_code(services.chains.evm(request.network), payer).value:
        raise BadRequest(
            f"{payer} is a contract on {network} and not on {request.network}, where it gets the tokens if the payment "
            "fails: deploy it there first, or pay from a wallet with a key"
        )
    route, now = router.quote(services, wanted, purpose_of(position)), services.clock()
    wish = Wish(position, owner.client_id, route, executor)
    intent, approval = rules.offer_intent(wish, now, services.entropy), None
    if reading.tokens[source.address].allowance < intent.permit.most:
        permit = None
        if not reading.is_contract:  # a token's permit takes the signature of a key
            answers = chain.read_permit_answers(source.address, payer)
            deadline = intent.permit.deadline
            permit = erc2612.permit_of(answers, source.address, source.chain_id, payer, contract, deadline)
        intent = replace(intent, token_permit=permit)
        approval = erc20.approve(source.address, contract, MAX_UINT256) if permit is None else None
    services.store.write(intent)
    return Offer(intent, approval)


@retry_conflicts(5)  # the same may be sent twice, or a payment be recorded meanwhile
def accept(
    services: Services, owner: Owner, intent_id: str, sent: SentSignature, approval: SentSignature | None
) -> PaymentIntent:
    """Accepts the signature of a payment intent: from then on it is made, and its request is locked.

    The same signature again is accepted again. Two to three calls to the source's node, a quote, five reads, one write.
    Raises NotFound; BadRequest for another nonce or deadline, a signature that is not the payer's, or one that comes
    too late; Conflict if another signature was accepted, too many payments of the request were signed and not made, it
    is paid, something else is due of it now, the service has another account, or the payer's calls wait for a day;
    Locked while another payment intent of the request is made; WriteConflict after five conflicts.
    """
    signed = Signed(_bytes_of("signedPaymentIntent", sent.signature), sent.nonce, sent.deadline)
    allowed = None
    if approval is not None:
        text = _bytes_of("signedApprovalPermit", approval.signature)
        if len(text) != SIGNATURE_BYTES:
            raise BadRequest(f"signedApprovalPermit: the signature has {SIGNATURE_BYTES} bytes")
        allowed = Signed(text, approval.nonce, approval.deadline)
    is_public = owner.mode is Mode.CLIENT_ID
    intent = _visible(services, owner, intent_id)
    if intent.stage is not Stage.OFFERED:
        return _require_same_signature(intent, signed)
    rules.check_signed(intent, signed, allowed, services.clock())
    request = _open_request(services, intent)
    rules.check_not_repeated(request.execution, is_public)
    if (reason := trouble(services, intent)) is not None:
        raise Conflict(f"{reason[0].upper()}{reason[1:]}: get another payment intent from /pay, and sign that")
    check_not_delayed(services, intent.network, intent.payer)
    right = _check_signature(services, intent, signed.signature)
    made = _accept_intent(services, intent, request, right, allowed)
    _check_allowance(services, made, allowed)
    execution = executions.begin_execution(request.execution, intent.intent_id, is_public)
    services.store.write(made, replace(request, execution=execution))
    services.log.info("payment intent accepted", extra={"intent_id": intent_id, "network": intent.network})
    queue_look(services, made)
    return made


def _accept_intent(
    services: Services, intent: PaymentIntent, request: Request, signature: bytes, allowed: Signed | None
) -> PaymentIntent:
    """The accepted payment intent. What is taken is what a route costs now. One read, and a quote."""
    route = router.quote(services, rules.question_of(intent, request), rules.purpose_of(intent))
    if route.source_amount > intent.permit.most:
        raise Conflict("This payment costs more now than was signed: get another payment intent from /pay")
    cursor = scan_store.cursor(services.store, request.network)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {request.network} yet: try again in a minute")
    approval = allowed.signature if allowed is not None else None
    return rules.accept_intent(intent, signature, approval, route.source_amount, cursor.scanned_to, services.clock())


def _visible(services: Services, owner: Owner, intent_id: str) -> PaymentIntent:
    intent = store.payment_intent(services.store, intent_id)
    is_there = intent is not None and (intent.vanishes_at is None or intent.vanishes_at > services.clock())
    if intent is None or not is_there or not sees(owner, intent):
        raise NotFound("Payment intent data not found")
    return intent


def _require_same_signature(intent: PaymentIntent, signed: Signed) -> PaymentIntent:
    """The payment intent whose signature was accepted before. v may have been sent in either form. Raises Conflict."""
    if intent.end is End.FAILED:
        raise Conflict("This payment intent has ended, and nothing was taken: get another one from /pay, and sign that")
    known = bytes.fromhex((intent.signature or "0x")[2:])
    is_same = (signed.nonce, signed.deadline) == (str(intent.permit.nonce), str(intent.permit.deadline))
    if is_same and known in (signed.signature, with_large_v(signed.signature)):
        return intent
    raise Conflict("Another signature of this payment intent was accepted before")


def _open_request(services: Services, intent: PaymentIntent) -> Request:
    """The request, which is still to be paid as it was offered. One or two reads, and a query if its amount is
    converted. Raises Conflict and Locked."""
    request = request_store.request(services.store, intent.request_id)
    assert request is not None, "a payment intent is of a stored request"
    request = unlock_request(services, request)
    check_not_cancelled(request)
    if request.status is RequestStatus.PAID:
        raise Conflict("This request has already been paid")
    if not is_wanted(services, request):
        raise Conflict("The provider has ended the payout of this request: create a new request")
    if remaining(request) < intent.owed:
        raise Conflict("Less is due of this request now: get another payment intent from /pay, and sign that")
    if not 0 < conversions.least_due(services, Owed(request, intent.owed, Fee())) <= intent.due:
        raise Conflict(
            "The rate by which this amount is converted is not held any more: get another payment intent from /pay, "
            "and sign that"
        )
    return request


def is_wanted(services: Services, request: Request) -> bool:
    """Whether a payment of the request is still wanted. One read if the request is paid out to a bank account."""
    order = offramp_store.order(services.store, request.request_id) if request.is_crypto_to_fiat else None
    return rules.is_wanted(request, order)


def trouble(services: Services, intent: PaymentIntent) -> str | None:
    """Why nothing may be submitted: the tokens are, or were to come, into an account that is not the service's now."""
    if not relayer_flows.can_submit(services, intent.network):
        return f"the service sends no transactions on {intent.network} any more"
    if not same_address(relayer_flows.account_address(services, intent.network), intent.permit.spender):
        return f"the service's account on {intent.network} is not {intent.permit.spender} any more"
    return None


def _check_signature(services: Services, intent: PaymentIntent, signature: bytes) -> bytes:
    """The signature in the form in which Permit2 accepts it now, which judges it itself: it asks the code of a contract
    wallet, and recovers the key of other accounts. Raises BadRequest if it accepts none, ChainUnavailable."""
    is_contract, reason = read_agreed_code(services.chains.evm(intent.network), intent.payer), None
    for form in dict.fromkeys((signature, with_large_v(signature))):
        made = permit2.take(intent.permit, 0, form)
        judged = relayer_flows.try_call(
            services, intent.permit.spender, stages.call_of(intent, "take", made, is_contract)
        )
        if judged.success:
            return form
        reason = judged.reason
    if reason == NOT_THE_OWNERS:
        raise BadRequest(f"signedPaymentIntent: the signature is not that of {intent.payer} over this payment intent")
    raise BadRequest(f"signedPaymentIntent: Permit2 does not accept it: {reason}")


def _check_allowance(services: Services, intent: PaymentIntent, allowed: Signed | None) -> None:
    """Raises BadRequest unless Permit2 may take the tokens, or may once the approval that was signed is sent, as all
    nodes say; ChainUnavailable if they differ, as they do for a moment after an approval."""
    token, chain = rules.source_of(intent), services.chains.evm(intent.network)
    found = combine_answers(
        chain,
        lambda node: node.read_wallet(intent.payer, [token.address], address_of(PERMIT2, intent.network)),
        lambda said: [each.tokens[token.address] for each in said],
    ).value
    has = [each.balance >= intent.taking for each in found]
    may_take = [each.allowance >= intent.taking for each in found]
    if not any(has):
        raise BadRequest(f"{intent.payer} does not have enough {token.symbol} on {intent.network}")
    if all(has) and all(may_take):
        return
    is_signed = allowed is not None and intent.token_permit is not None
    if not all(has) or (any(may_take) and not is_signed):
        raise ChainUnavailable(
            f"The nodes of {intent.network} do not say the same of the payer's {token.symbol}: try again in a minute"
        )
    if allowed is None or intent.token_permit is None:
        raise BadRequest(
            "Permit2 may not take the tokens: send approvalCalldata first, or sign approvalPermitPayload too and send "
            "it as signedApprovalPermit"
        )
    approve = erc2612.permit_transaction(intent.token_permit, allowed.signature)
    call = stages.call_of(intent, "permit", approve, read_agreed_code(chain, intent.payer))
    judged = relayer_flows.try_call(services, intent.permit.spender, call)
    if not judged.success:
        raise BadRequest(f"signedApprovalPermit: {token.symbol} does not accept it: {judged.reason}")


def _bytes_of(name: str, text: str) -> bytes:
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise BadRequest(f"{name}: the signature has to be the hexadecimal digits of 64 to {_LONGEST_SIGNATURE} bytes")
    return bytes.fromhex(match[1])
