"""The lock of a request by a signed payment: it ends when the tokens cannot be taken any more, or if it is withdrawn.

Who signs and is accepted keeps everybody else from paying. So whoever asks for such a request has it read whether the
payer still has the tokens and lets them be taken, as the worker does (running.py). What was submitted to be taken is
never given up: that is a conditional write. With an end the request is written, which can be paid again from then on.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable, Conflict, NotFound
from chalicelib.chains.calldata.tokens import erc2612
from chalicelib.chains.nodes.agreement import agree
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.crosschain.service.payment_intents import locked_rates, rules, stages, store
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import RequestExecuted
from chalicelib.payments.events import failed_event, number_events
from chalicelib.payments.requests import executions
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.quotes.records import LockedRate
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Add, WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import CallStatus, RelayedCall
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.records import Event

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

PERMIT_GAS, TAKE_GAS = 200_000, 500_000
"""The most gas of the calls that are tried before a signature is accepted. Permit2 asks a contract wallet about its
signature, so that its code runs."""
WITHDRAWN = "the owner of the request has withdrawn it"


NOTHING_TAKEN = "Nothing was taken: the payment could not be begun"
Also = tuple[Payment | Add | LockedRate | RelayedCall, ...]


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
                give_up(replace(services, store=services.store.apart), intent, request, why)
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
        services.store.write(replace(ended, reason=f"{NOTHING_TAKEN}: {WITHDRAWN}"))
        return
    known = relayer_flows.outcome(services, stages.call_key(intent, "take"))
    if known is not None and known.status in (CallStatus.UNKNOWN, CallStatus.SUCCEEDED):
        raise Conflict("The tokens of this payment intent are being taken: wait for its end")
    if known is not None:
        raise Conflict("This payment intent is about to end, because its tokens could not be taken: wait for its end")
    request = request_store.request(services.store, intent.request_id)
    assert request is not None, "a payment intent is of a stored request"
    give_up(services, intent, request, WITHDRAWN)


def end(services: Services, intent: PaymentIntent, request: Request, how: End, also: Also = ()) -> None:
    """Ends a payment intent that never got into the bridge, and tells the merchant why, unless the request is paid."""
    ended, events = stages.end_intent(intent, how, services.clock()), tuple[Event, ...]()
    if request.status is not RequestStatus.PAID:
        status = "bounced" if how is End.REFUNDED else "failed"
        context, facts = webhooks.event_context(services), {"network": intent.network, "subStatus": status}
        events = (
            failed_event(request, intent.reason, context, stages.amount_counted(intent), intent.returned_by, **facts),
        )
    write(services, ended, request, (*locked_rates.end_lock(services, intent), *also), events)


def give_up(services: Services, intent: PaymentIntent, request: Request, why: str) -> None:
    """Ends a payment intent of which nothing was taken, in words why. From then on no worker can have it taken.

    Raises WriteConflict if one has done so in the meantime, and if anything else has changed: then nothing is written.
    """
    withdrawn = relayer_flows.withdrawal(services, intent.network, stages.call_key(intent, "take"), why)
    end(services, replace(intent, reason=f"{NOTHING_TAKEN}: {why}"), request, End.FAILED, (withdrawn,))


def write(services: Services, intent: PaymentIntent, request: Request, also: Also, events: tuple[Event, ...]) -> None:
    """Writes the end with its events and the request, which can be paid again from then on, in one transaction."""
    assert intent.end is not None and request.execution is not None, "it was accepted and has ended"
    execution = executions.end_execution(request.execution, ExecutionStatus(intent.end.value))
    requests, events = number_events([replace(request, execution=execution)], events)
    services.store.write(intent, *requests, *also, *events)
    webhooks.queue_publishing(services, events)
    services.log.info("payment intent ended", extra={**facts_of(intent), "end": intent.end.value})


def facts_of(intent: PaymentIntent) -> dict[str, str]:
    """What lines of the log say of a payment intent."""
    return {"intent_id": intent.intent_id, "network": intent.network, "stage": intent.stage.value}
