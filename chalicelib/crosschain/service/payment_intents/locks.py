"""The lock of a request by a signed payment: it ends when the tokens cannot be taken any more, or if it is withdrawn.

Who signs and is accepted keeps everybody else from paying. So whoever asks for such a request has it read whether the
payer still has the tokens and lets them be taken, as the worker does (running.py). What was submitted to be taken is
never given up: that is a conditional write.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable, Conflict, NotFound
from chalicelib.chains.calldata.tokens import erc2612
from chalicelib.chains.nodes.agreement import agree
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.crosschain.service.payment_intents import ending, rules, stages, store
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import RequestExecuted
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import CallStatus

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

PERMIT_GAS, TAKE_GAS = 200_000, 500_000
"""The most gas of the calls that are tried before a signature is accepted. Permit2 asks a contract wallet about its
signature, so that its code runs."""
WITHDRAWN = "the owner of the request has withdrawn it"


def unlock_request(services: Services, request: Request) -> Request:
    """The request as it is stored now, whose lock has ended if its reason has.

    Raises RequestExecuted while a payment of it is made that its payer has signed. Of a request that is locked up to
    three reads, one call to each node of the source and one write; nothing else.
    """
    if not request.is_executed or request.execution is None:
        return request
    intent = store.payment_intent(services.store, request.execution.intent_id)
    if intent is None or not rules.may_contradict(intent, services.clock()):
        raise RequestExecuted(request.execution)
    if relayer_flows.outcome(services, stages.call_key(intent, "take")) is None:
        try:
            why = why_gone(services, intent)
            if why is not None:
                ending.give_up(replace(services, store=services.store.apart), intent, request, why)
        except (ChainUnavailable, WriteConflict):  # not known, or a worker was faster
            pass
    now_stored = request_store.request(services.store, request.request_id) or request
    if now_stored.is_executed and now_stored.execution is not None:
        raise RequestExecuted(now_stored.execution)
    return now_stored


def why_gone(services: Services, intent: PaymentIntent) -> str | None:
    """Why the tokens cannot be taken now: the payer has moved them, for example, or withdrawn the approval or the
    signature; None if they can, or if an approval can be sent that was signed with it. One call to each of the source's
    nodes, which have to agree.

    Raises ChainUnavailable if they do not say.
    """
    calls = [(stages.take_call(intent), TAKE_GAS)]
    if intent.approval_signature is not None and intent.token_permit is not None:
        approval = erc2612.permit_transaction(intent.token_permit, bytes.fromhex(intent.approval_signature[2:]))
        calls.append((approval, PERMIT_GAS))

    def run(node: "EvmChain") -> tuple[StepResult, ...]:
        results = node.run_each(intent.permit.spender, calls)
        if any(each.success is None for each in results):
            raise ChainUnavailable(f"The {intent.network} node does not say whether the tokens can be taken: try again")
        return results

    results = agree(services.chains.evm(intent.network), run, compared=_may_be_taken).value
    return None if _may_be_taken(results) else results[0].reason or "the tokens cannot be taken"


def _may_be_taken(results: Sequence[StepResult]) -> bool:
    return any(each.success for each in results)


@retry_conflicts(5)  # a worker may begin to take the tokens, or a payment be recorded
def withdraw(services: Services, owner: Owner, intent_id: str) -> PaymentIntent:
    """Ends a payment intent of which nothing was taken, for the owner of its request; the same again changes nothing.

    One that is not signed yet cannot be signed any more. Raises NotFound, Conflict once its tokens are or may be taken,
    and WriteConflict after five conflicts.
    """
    intent = store.payment_intent(services.store, intent_id)
    if intent is None or not sees(owner, intent):
        raise NotFound("Payment intent data not found")
    if intent.end is End.FAILED:
        return intent
    if intent.stage not in (Stage.OFFERED, Stage.TAKING):
        raise Conflict("The tokens of this payment intent were taken: wait for its end")
    _withdraw(services, intent)
    return store.payment_intent(services.store, intent_id) or intent


def _withdraw(services: Services, intent: PaymentIntent) -> None:
    if intent.stage is Stage.OFFERED:
        ended = stages.end_intent(intent, End.FAILED, services.clock())
        services.store.write(replace(ended, reason=f"{ending.NOTHING_TAKEN}: {WITHDRAWN}"))
        return
    known = relayer_flows.outcome(services, stages.call_key(intent, "take"))
    if known is not None and known.status in (CallStatus.UNKNOWN, CallStatus.SUCCEEDED):
        raise Conflict("The tokens of this payment intent are being taken: wait for its end")
    if known is not None:
        raise Conflict("This payment intent is about to end, because its tokens could not be taken: wait for its end")
    request = request_store.request(services.store, intent.request_id)
    assert request is not None, "a payment intent is of a stored request"
    ending.give_up(services, intent, request, WITHDRAWN)
